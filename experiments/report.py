#!/usr/bin/env python3
"""Writes the results of the logs in experiments/results/ into docs/research/reproduction.md.

The script replaces the text between the markers of that document: the rows of
tables, sentences with figures, and the verdicts on conclusions.

    cargo build --release && experiments/report.py

With --check the script changes nothing. It prints the lines that differ from
what the logs give, and exits with 1 if there are any.
"""

import argparse
import difflib
import math
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import strategies
from conclusions import (
    VERDICTS,
    Paper,
    better_by_the_paper,
    board,
    decay,
    mini,
    ngrams,
    print_games,
    print_list,
    print_share,
    ratio,
    tuning,
)
from figures import HERE, RESULTS, BoardTable, Column, Figure, Pairings, Program, Table, mean, opposite, read_pairings

DOCUMENT = HERE.parent / "docs" / "research" / "reproduction.md"
TARGET = HERE.parent / "target"

# Names of rulesheets in rows. `skirmish` has a longer one beside figures of a paper.
NAMES = {"skirmish": "skirmish (ggp-base's full chess set)"}
OTHER_NAMES = {
    "skirmish": "skirmish (ggp-base's full chess set; the papers' game has bishops, knights, rooks and pawns)"
}

# The end of the names of series with 2,500 simulations per step in place of 500.
MORE_SIMULATIONS = "-2500"

# The most lines of a difference that --check prints.
DIFFERENCE_LINES = 20


def anchor(title: str) -> str:
    """Returns the anchor of a heading."""
    return title.lower().replace(" ", "-")


def print_summary(papers: Collection[Paper]) -> list[str]:
    """Returns the lines of the summary: the number of conclusions with each verdict by paper, and the reasons."""
    verdicts = [verdict for verdict in VERDICTS if verdict]
    heads = [VERDICTS[verdict][1].removeprefix("are ") for verdict in verdicts]
    lines = [f"| paper | conclusions | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    rows = []
    for paper in papers:
        counts = paper.counts()
        rows.append([len(paper.conclusions), *(counts[verdict] for verdict in verdicts)])
        lines.append(f"| [{paper.title}](#{anchor(paper.title)}) | {' | '.join(map(str, rows[-1]))} |")
    lines.append(f"| all | {' | '.join(str(sum(column)) for column in zip(*rows, strict=True))} |")
    for paper in papers:
        lines += ["", f"**{paper.title}.** Of {len(paper.conclusions)} conclusions {paper.sentence()}. {paper.why}"]
    return lines


def print_verdicts(papers: Iterable[Paper]) -> list[str]:
    """Returns the lines of the list of all conclusions with their verdicts."""
    lines = []
    for paper in papers:
        lines += ["", f"**{paper.title}**", ""]
        lines += [f"- *{conclusion.verdict() or 'Not played'}*: {conclusion.text}" for conclusion in paper.conclusions]
    return lines[1:]


def print_conclusions(paper: Paper) -> list[str]:
    """Returns the lines for the conclusions of a paper, with our figures."""
    missing = []
    for table, name, _ in paper.tables:
        games = [game for game, cells in table.games.items() if not any(cell.is_played for cell in cells)]
        if games:
            missing.append(f"Table {name} {', '.join(games)}")
    lines = [f"The paper draws {len(paper.conclusions)} conclusions: {paper.sentence()}."]
    if missing:
        lines[0] += f" No games were played for {'; '.join(missing)}."
    lines += [""] + [str(conclusion) for conclusion in paper.conclusions]
    outliers = print_outliers(paper.tables)
    if outliers:
        title = (
            "**Single games on the other side of 50%**, "
            "with the paper's figure more than 10 points outside our interval"
        )
        lines.append(f"- {title}: {'; '.join(outliers)}.")
    return lines + [line for text in paper.after for line in ("", text)]


def print_outliers(tables: Iterable[tuple[Table, str, Sequence[str]]]) -> list[str]:
    """Returns the figures of single games that are on the other side of 50% than those of the paper."""
    outliers = []
    for table, name, columns in tables:
        for game, cells in table.games.items():
            for cell, column in zip(cells, columns, strict=False):
                if not cell.is_played or cell.paper is None:
                    continue
                over = cell.high < 50 < cell.paper and cell.paper > cell.high + 10
                under = cell.low > 50 > cell.paper and cell.paper < cell.low - 10
                if over or under:
                    label = f"{column}: " if column else ""
                    outliers.append(f"{game} in Table {name} ({label}{print_share(cell, 0)})")
    return outliers


def name_of(table: Table, game: str) -> str:
    """Returns the name of a game in the rows of tables."""
    name = NAMES.get(game, game)
    return f"{name} †" if game in table.ours else name


def print_cell(cell: Figure | None, is_share: bool, digits: int = 0) -> str:
    """Returns a cell of a table: the figure of the paper, and ours."""
    if cell is None:
        return "–"
    if not cell.is_played:
        return "–" if cell.paper is None else f"**{cell.paper:.1f}{'%' if is_share else ''}** –"
    if is_share:
        return print_share(cell, digits)
    paper = "" if cell.paper is None else f"**{cell.paper:.1f}** "
    return f"{paper}{cell.value:.1f} ({cell.low:.{digits}f} to {cell.high:.{digits}f}; {print_games(cell)})"


def print_rows(table: Table, columns: list[Column]) -> list[str]:
    """Returns one row per game and their mean; `columns` are the cells of each column, by game.

    The rows of rulesheets that are another game follow the mean, which does not include them.
    """
    lines = []
    for game in table.games:
        cells = [print_cell(column[game], table.is_share) for column in columns]
        lines.append(f"| {name_of(table, game)} | {' | '.join(cells)} |")
    means = [mean(cell for cell in column.values() if cell.is_played) for column in columns]
    lines.append(f"| mean | {' | '.join(print_cell(of, table.is_share, 1) for of in means)} |")
    for game, others in table.others.items():
        lines.append(f"| {OTHER_NAMES[game]} | {' | '.join(print_cell(cell, table.is_share) for cell in others)} |")
    return lines


def print_own(nst: Table, base: Table) -> list[str]:
    """Returns one row per game of two tables of our own player, their means, and whether the aim is reached."""
    columns, games = [], []
    for table in (nst, base):
        columns.append(table.column(0))
        games += [(game, name_of(table, game)) for game in table.games]
    lines = []
    for game, name in sorted(set(games)):
        cells = [print_share(column[game], 0) if game in column else "–" for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = [mean(column.values()) for column in columns]
    lines.append(f"| mean | {' | '.join(print_cell(of, True, 1) for of in means)} |")
    reached = ["yes" if of is not None and of.value >= 60 and of.low > 55 else "no" for of in means]
    return [*lines, f"| at least 60%, with a lower bound above 55% | {' | '.join(reached)} |"]


def print_more_simulations(tables: Mapping[str, Table], game: str) -> list[str]:
    """Returns one row per pairing of the series with more simulations: the scores in a game with fewer and with
    more."""
    lines = []
    for name in tables:
        if not name.endswith(MORE_SIMULATIONS):
            continue
        fewer, more = tables[name.removesuffix(MORE_SIMULATIONS)], tables[name]
        for column, pairing in enumerate(more.pairings):
            cells = [fewer.games[game][column], more.games[game][column]._replace(paper=None)]
            printed = " | ".join(print_cell(cell, True) for cell in cells)
            lines.append(f"| `{name}` | {' against '.join(pairing)} | {printed} |")
    return lines


def print_changes(table: Table, gains: tuple[str, str], only_second: bool) -> list[str]:
    """Returns one row per pairing of a table that changes one part: name, games,
    points, and verdict."""
    lines = []
    for column, pairing in enumerate(table.pairings):
        cells = table.column(column)
        figure = mean(cells.values())
        name = pairing[1] if only_second else " | ".join(pairing)
        if figure is None:
            lines.append(f"| {name} | 0 | – | |")
            continue
        verdict = gains[0] if figure.low > 50 else gains[1] if figure.high < 50 else "not shown"
        lines.append(f"| {name} | {len(cells)} | {print_share(figure, 1)} | {verdict} |")
    return lines


def print_board_cell(cell: Figure | None) -> str:
    """Returns a cell of a table on the board; the paper's figures have as many digits as in the paper."""
    if cell is None:
        return "–"
    return f"**{cell.paper:g}%** {print_share(cell._replace(paper=None), 0)}"


def print_matrix(table: BoardTable) -> list[str]:
    """Returns one row per player that moves first, with one column per player that moves second."""
    lines = []
    for first in table.players:
        cells = [print_board_cell(table.cells.get((table.rounds[0], first, second))) for second in table.players]
        lines.append(f"| {first} | {' | '.join(cells)} |")
    return lines


def print_rounds(table: BoardTable) -> list[str]:
    """Returns one row per pair of players, with one column per round."""
    lines = []
    for first, second in dict.fromkeys((first, second) for _, first, second in table.cells):
        cells = [print_board_cell(table.cells[name, first, second]) for name in table.rounds]
        lines.append(f"| {first} | {second} | {' | '.join(cells)} |")
    return lines


def print_scores(table: BoardTable) -> list[str]:
    """Returns a sentence with the scores of the players on the board, best first, and of the first mover."""
    scores = {player: table.both(player) for player in table.players}
    best_first = sorted(scores, key=lambda player: -scores[player].value)
    listed = ", ".join(f"{player} {print_share(scores[player]._replace(paper=None), 0)}" for player in best_first)
    first = print_share(table.first_mover()._replace(paper=None), 0)
    return [f"Over all games against others: {listed}. The player who moves first scores {first}."]


def print_speeds(table: BoardTable) -> list[str]:
    """Returns sentences with the node expansions per second of the players in each round."""
    millions = {
        player: [f"{speeds[name] / 1e6:.2f}" for name in table.rounds] for player, speeds in table.speeds.items()
    }
    listed = "; ".join(f"{player} {print_list(speeds)}" for player, speeds in millions.items())
    first, *others = table.speeds
    ratios = [f"{ratio(table, first, other).value:.2f} times those of {other}" for other in others]
    return [
        f"These are the node expansions per second, in millions, over all games of a time: {listed}. "
        f"At {table.rounds[-1].split(' (')[0]} the expansions of {first} are {print_list(ratios)}."
    ]


def print_prefixes(pairings: Pairings) -> list[str]:
    """Returns one row per prefix of the table: its fraction of the table, and its score against the whole table."""

    def states(cells: int) -> int:
        return math.comb(cells, 6)

    lines = []
    for (_, prefix), whole in pairings.items():
        part = 100 * states(int(prefix.removeprefix("within "))) / states(81)
        lines.append(f"| {prefix} | {part:.1f}% | {print_share(opposite(whole), 0)} |")
    return lines


def write(document: str, marker: str, lines: list[str], keeps_head: bool) -> str:
    """Returns the document with other lines between a marker and its end; `keeps_head` keeps the head of a table
    there."""
    begin = f"<!-- {marker} -->"
    assert document.count(begin) == 1, marker
    before, rest = document.split(begin)
    old, after = rest.split("<!-- end -->", 1)
    if keeps_head:
        lines = re.findall(r"^\|.*$", old, re.MULTILINE)[:2] + lines
    return "\n".join([f"{before}{begin}", "", *lines, "", f"<!-- end -->{after}"])


def read_tables(program: Program) -> dict[str, Table]:
    """Returns the tables of all series that have logs, by name."""
    names = sorted(path.name for path in RESULTS.iterdir() if path.is_dir())
    with ThreadPoolExecutor() as pool:
        return dict(zip(names, pool.map(lambda name: Table(name, program), names), strict=True))


def update(document: str, program: Program) -> str:
    """Returns the document with the figures and verdicts that the logs give."""
    tables = read_tables(program)

    def of(*names: str) -> list[Table]:
        return [tables[name] for name in names]

    iii = BoardTable("3", ["table-3"], program)
    iv = BoardTable("4", ["table-4-short", "table-4"], program)
    v = BoardTable("5", ["table-5-fortieth"], program)
    for name, cells in {"3": iii, "4": iv, "5": v}.items():
        document = write(document, f"board {name}", print_matrix(cells) if name == "3" else print_rounds(cells), True)
        document = write(document, f"scores {name}", print_scores(cells), False)
    for name, table in tables.items():
        if f"<!-- table {name} -->" in document:
            columns = table.columns()
            if name == "tuning-5":
                columns.append(better_by_the_paper(tables["tuning-1"]))
            document = write(document, f"table {name}", print_rows(table, columns), True)
    document = write(document, "speeds 5", print_speeds(v), False)
    prefixes, first = read_pairings("prefixes", program)
    document = write(document, "prefixes", print_prefixes(prefixes), True)
    document = write(
        document, "prefixes first", [f"The player who moves first wins {print_share(first, 0)} of these games."], False
    )
    document = write(document, "skirmish 2500", print_more_simulations(tables, "skirmish_final"), True)
    filters: Pairings = {}
    for kind in ("base", "heur", "end"):
        filters |= read_pairings(f"filters-{kind}", program)[0]
    papers = {
        "board": board(iii, iv, v, filters),
        "ngrams": ngrams(
            *of(
                "ngrams-1",
                "ngrams-5",
                "ngrams-7",
                "ngrams-10",
                "looked-gibbs",
                "looked-gibbs-2000",
                "ngrams-1-2500",
                "ngrams-5-2500",
            )
        ),
        "decay": decay(*of("decay-2", "decay-4", "decay-6", "decay-9", "decay-12")),
        "tuning": tuning(*of("tuning-1", "tuning-3", "tuning-5", "looked-lsi", "tuning-forms")),
        "mini": mini(*of("mini-5", "mini-6", "mini-10")),
    }
    for name, paper in papers.items():
        document = write(document, f"conclusions {name}", print_conclusions(paper), False)
    document = write(document, "summary", print_summary(papers.values()), False)
    document = write(document, "verdicts", print_verdicts(papers.values()), False)
    document = write(document, "own", print_own(*of("own-nst", "own-base")), True)
    for name in ("lanes", "adaptation", "adaptation-decay", "priors-alone", "shares"):
        document = write(document, name, print_rows(tables[name], tables[name].columns()), True)
    priors = of("adaptation-prior", "adaptation-omega", "adaptation-epsilon")
    columns = [column for table in priors for column in table.columns()]
    document = write(document, "adaptation-prior", print_rows(priors[0], columns), True)
    measured = strategies.read()
    document = write(document, "strategies", strategies.print_table(measured), True)
    document = write(document, "opponents", strategies.print_models(measured), True)
    document = write(document, "allocations", strategies.print_shares(measured), True)
    for name in ("parts", "roles"):
        lines = print_changes(tables[name], ("the part is a gain", "the part is a loss"), True)
        document = write(document, name, lines, True)
    for marker, names in {"variations": ("variations", "variations-mini"), "priors": ("priors", "priors-mini")}.items():
        lines = [line for table in of(*names) for line in print_changes(table, ("a gain", "a loss"), False)]
        document = write(document, marker, lines, True)
    return document


def check(old: str, new: str) -> int:
    """Prints the first lines that differ between two texts. Returns the exit code."""
    differences = difflib.unified_diff(old.splitlines(), new.splitlines(), "page", "logs", n=0, lineterm="")
    lines = [line if len(line) <= 400 else f"{line[:400]} ..." for line in differences]
    print(*lines[:DIFFERENCE_LINES], sep="\n", end="\n" if lines else "")
    if len(lines) > DIFFERENCE_LINES:
        print(f"... and {len(lines) - DIFFERENCE_LINES} further lines")
    if lines:
        print(f"{DOCUMENT.name} differs from the logs: run experiments/report.py", file=sys.stderr)
    return 1 if lines else 0


def find_program() -> Path | None:
    """Returns the release build of the program, or else its debug build."""
    builds = [TARGET / profile / "sternhalma" for profile in ("release", "debug")]
    return next((path for path in builds if path.exists()), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="report differences, and write nothing")
    parser.add_argument(
        "--program",
        metavar="PATH",
        default=find_program(),
        help="sternhalma [default: target/release/sternhalma, or else target/debug/sternhalma]",
    )
    args = parser.parse_args()
    if args.program is None:
        parser.error("there is no program in target/: run `cargo build --release`, or pass --program")
    old = DOCUMENT.read_text()
    new = update(old, args.program)
    if args.check:
        return check(old, new)
    DOCUMENT.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
