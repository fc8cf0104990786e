#!/usr/bin/env python3
"""Fetches the public rulesheets of the experiments: fetch.py [NAME...] [--from DIR].

rulesheets.tsv lists the repository, the pinned commit, the path and the SHA-256 of each
rulesheet. Without names, all of them are written to the folder `rulesheets` beside this
script, where the tournament files find them. A file that is there already is only checked.
A rulesheet is written only if its SHA-256 matches.

Exit code: 0 all rulesheets are there, 1 some are not, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import os
import re
import sys
import urllib.error
import urllib.request

Row = dict[str, str]

HERE = os.path.dirname(os.path.abspath(__file__))
RAW = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def statements(text: str) -> str:
    """Returns the statements of a rulesheet in one pair of parentheses, one per line.

    The result ends with an empty line, as the files that were used in the experiments do.
    """
    depth, start, lines = 0, None, []
    for at, char in enumerate(text):
        if char == "(":
            depth += 1
            start = at if depth == 2 else start
        elif char == ")":
            depth -= 1
            if depth == 1:
                lines.append(text[start : at + 1])
    return "\n".join(lines) + "\n\n"


def sql_row(text: str, name: str) -> str:
    """Returns the rulesheet of a game in a dump of the Dresden game server."""
    row = re.search(rf"\('{re.escape(name)}', '((?:[^'\\]|\\.|'')*)'", text)
    if row is None:
        raise ValueError(f"no row `{name}`")
    escapes = {"n": "\n", "r": "", "t": "\t"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), row[1]).replace("''", "'")


def extract(data: bytes, member: str) -> bytes:
    """Returns the rulesheet in a file. `member` is empty, `json:FIELD` or `sql:NAME`."""
    kind, _, name = member.partition(":")
    if kind == "json":
        return statements(json.loads(gzip.decompress(data))[name]).encode()
    if kind == "sql":
        return sql_row(data.decode(errors="replace"), name).encode()
    return data


def content(row: Row, source: str | None) -> bytes:
    """Returns the bytes of a rulesheet from a folder or from its repository."""
    if source is not None:
        with open(os.path.join(source, f"{row['name']}.kif"), "rb") as file:
            return file.read()
    with urllib.request.urlopen(RAW.format(**row), timeout=60) as answer:
        return extract(answer.read(), row["member"])


def is_pinned(row: Row, data: bytes) -> bool:
    return hashlib.sha256(data).hexdigest() == row["sha256"]


def provide(row: Row, source: str | None, folder: str) -> str:
    """Makes sure that a rulesheet is in the folder. Returns what was done."""
    path = os.path.join(folder, f"{row['name']}.kif")
    if os.path.exists(path):
        with open(path, "rb") as file:
            if is_pinned(row, file.read()):
                return "is there"
        raise ValueError(f"{path} is another file; remove it to fetch the rulesheet")
    data = content(row, source)
    if not is_pinned(row, data):
        raise ValueError(f"expected SHA-256 {row['sha256']}, got {hashlib.sha256(data).hexdigest()}")
    partial = path + ".partial"
    with open(partial, "wb") as file:
        file.write(data)
    os.replace(partial, path)
    return "fetched"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="rulesheet [default: all]")
    parser.add_argument("--from", dest="source", metavar="DIR", help="copy NAME.kif from a folder, without a network")
    parser.add_argument(
        "--list",
        default=os.path.join(HERE, "rulesheets.tsv"),
        metavar="FILE",
        help="list of rulesheets [default: rulesheets.tsv beside this script]",
    )
    parser.add_argument(
        "--to",
        default=os.path.join(HERE, "rulesheets"),
        metavar="DIR",
        help="folder of the results [default: rulesheets beside this script]",
    )
    args = parser.parse_args()
    with open(args.list, newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file, delimiter="\t")}
    unknown = [name for name in args.names if name not in rows]
    if unknown:
        parser.error(f"{args.list} does not list {', '.join(unknown)}")
    os.makedirs(args.to, exist_ok=True)
    missing = 0
    for name in args.names or rows:
        try:
            print(f"{name}: {provide(rows[name], args.source, args.to)}")
        except (OSError, ValueError, KeyError, urllib.error.URLError) as error:
            print(f"{name}: error: {error}", file=sys.stderr)
            missing += 1
    if missing:
        print(f"{missing} of {len(args.names or rows)} rulesheets are not there", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
