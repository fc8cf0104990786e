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
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import strategies
from conclusions import (
    FAILS,
    HOLDS,
    MIXED,
    NO_SIDE,
    NOT_PLAYED,
    UNDECIDED,
    UNTESTABLE,
    Paper,
    Sources,
    anchor,
    outliers,
    print_games,
    print_list,
    print_share,
    ratio,
)
from figures import (
    HERE,
    BoardTable,
    Figure,
    Pairing,
    Program,
    Table,
    mean,
    opposite,
    read_file,
    read_pairings,
    read_seats,
    series_names,
)

DOCUMENT = HERE.parent / "docs" / "research" / "reproduction.md"
TARGET = HERE.parent / "target"

PAPERS = ("roschke-2013", "tak-2012", "tak-2014", "sironi-2018", "swiechowski-2014")

# Names of rulesheets in rows. `skirmish` has a longer one beside figures of a paper.
NAMES = {"skirmish": "skirmish (ggp-base's full chess set)"}
OTHER_NAMES = {
    "skirmish": "skirmish (ggp-base's full chess set; the papers' game has bishops, knights, rooks and pawns)"
}

# The end of the names of series with 2,500 simulations per step in place of 500.
MORE_SIMULATIONS = "-2500"

# The most lines of a difference that --check prints.
DIFFERENCE_LINES = 20

# The figures of a column of a table, by game.
Column = Mapping[str, Figure]


def print_summary(papers: Iterable[Paper]) -> list[str]:
    """Returns the lines of the summary: what was played, how near the figures are, verdicts, and a sentence each."""
    verdicts = [HOLDS, MIXED, FAILS, UNDECIDED, UNTESTABLE, NO_SIDE, NOT_PLAYED]
    heads = ["tables", "figures", "inside", "mean difference", "conclusions", *verdicts]
    lines = [f"| paper | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    played = printed = inside = comparable = 0
    totals = [0] * (len(verdicts) + 1)
    for paper in papers:
        compared = paper.compared()
        number, all_figures = len(compared) + paper.also_played, sum(paper.result_tables.values())
        near = sum(figure.has_paper_inside for figure in compared)
        gap = sum(abs(figure.value - (figure.paper or 0)) for figure in compared) / len(compared)
        counts = [len(paper.conclusions), *map(paper.count, verdicts)]
        cells = [
            f"{paper.tables_played()} of {len(paper.result_tables)}",
            f"{number} of {all_figures}",
            f"{near} of {len(compared)}",
            f"{gap:.1f}",
            *map(str, counts),
        ]
        lines.append(f"| [{paper.title}](#{anchor(paper.title)}) | {' | '.join(cells)} |")
        played, printed = played + number, printed + all_figures
        inside, comparable = inside + near, comparable + len(compared)
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
    lines.append(f"| all | | {played} of {printed} | {inside} of {comparable} | | {' | '.join(map(str, totals))} |")
    return [*lines, *(line for paper in papers for line in ("", f"**{paper.title}.** {paper.sentence}"))]


def print_conclusions(paper: Paper) -> list[str]:
    """Returns the lines for the conclusions of a paper, with our figures."""
    lines = [paper.why, "", *map(str, paper.conclusions)]
    if found := outliers(paper.result_series()):
        title = (
            "**Single games on the other side of 50%**, "
            "with the paper's figure more than 10 points outside our interval"
        )
        lines.append(f"- {title}: {'; '.join(found)}.")
    return lines


def name_of(table: Table, game: str) -> str:
    """Returns the name of a game in the rows of tables."""
    name = NAMES.get(game, game)
    marks = [" †"] * (game in table.ours) + [" ¶"] * bool(table.other_revisions)
    return "".join([name, *marks])


def print_cell(cell: Figure | None, paper: float | None, is_share: bool, digits: int = 0) -> str:
    """Returns a cell of a table: the figure of the paper, and ours."""
    unit = "%" if is_share else ""
    if cell is None:
        return "–" if paper is None else f"**{paper:.1f}{unit}** –"
    if is_share:
        return print_share(cell, digits)
    printed = "" if cell.paper is None else f"**{cell.paper:.1f}** "
    return f"{printed}{cell.value:.1f} ({cell.low:.{digits}f} to {cell.high:.{digits}f}; {print_games(cell)})"


def print_rows(table: Table, pairings: list[Pairing] | None = None, further: Iterable[Column] = ()) -> list[str]:
    """Returns one row per game and their mean. `further` are columns after those of the pairings.

    Games that no pairing has are left out. The rows of rulesheets that are another game follow the mean, which does not
    include them.
    """
    pairings = table.pairings if pairings is None else pairings
    is_share = all(len(pairing) == 2 for pairing in pairings)
    columns: list[Column] = [*map(table.column, pairings), *further]
    lines = []
    for game, papers in table.papers.items():
        if not any(pairing in papers for pairing in pairings) and not any(game in column for column in columns):
            continue
        printed = [papers.get(pairing) for pairing in pairings] + [None] * (len(columns) - len(pairings))
        cells = [print_cell(column.get(game), paper, is_share) for column, paper in zip(columns, printed, strict=True)]
        lines.append(f"| {name_of(table, game)} | {' | '.join(cells)} |")
    means = [print_cell(mean(column.values()), None, is_share, 1) for column in columns]
    lines.append(f"| mean | {' | '.join(means)} |")
    for game, others in table.others.items():
        cells = [print_cell(others.get(pairing), None, is_share) for pairing in pairings]
        lines.append(f"| {OTHER_NAMES[game]} | {' | '.join(cells)} |")
    return lines


def print_own(nst: Table, base: Table) -> list[str]:
    """Returns one row per game of two tables of our own player, their means, and whether the aim is reached."""
    columns, games = [], []
    for table in (nst, base):
        columns.append(table.column(table.pairings[0]))
        games += [(game, name_of(table, game)) for game in table.papers]
    lines = []
    for game, name in sorted(set(games)):
        cells = [print_share(column[game], 0) if game in column else "–" for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = [mean(column.values()) for column in columns]
    lines.append(f"| mean | {' | '.join(print_cell(of, None, True, 1) for of in means)} |")
    reached = ["yes" if of is not None and of.value >= 60 and of.low > 55 else "no" for of in means]
    return [*lines, f"| at least 60%, with a lower bound above 55% | {' | '.join(reached)} |"]


def print_more_simulations(tables: Mapping[str, Table], game: str) -> list[str]:
    """Returns one row per pairing of the series with more simulations: the scores in a game with fewer and with
    more."""
    lines = []
    for name, more in tables.items():
        if not name.endswith(MORE_SIMULATIONS):
            continue
        fewer = tables[name.removesuffix(MORE_SIMULATIONS)]
        for pairing in more.pairings:
            cells = [fewer.games[game].get(pairing), more.games[game][pairing].without_paper()]
            printed = " | ".join(print_cell(cell, None, True) for cell in cells)
            lines.append(f"| `{name}` | {' against '.join(pairing)} | {printed} |")
    return lines


def print_changes(table: Table, gains: tuple[str, str], only_second: bool) -> list[str]:
    """Returns one row per pairing of a table that changes one part: name, games,
    points, and verdict."""
    lines = []
    for pairing in table.order:
        cells = table.column(pairing)
        figure = mean(cells.values())
        marks = [f"{player} ¶" if player in table.other_revisions else player for player in pairing]
        name = marks[1] if only_second else " | ".join(marks)
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
    return f"**{cell.paper:g}%** {print_share(cell.without_paper(), 0)}"


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
    listed = ", ".join(f"{player} {print_share(scores[player].without_paper(), 0)}" for player in best_first)
    first = print_share(table.first_mover().without_paper(), 0)
    return [f"Over all games against others: {listed}. The player who moves first scores {first}."]


def print_speeds(table: BoardTable) -> list[str]:
    """Returns sentences with the node expansions per second of the players in each round."""
    millions = {
        player: [f"{speeds[name] / 1e6:.2f}" for name in table.rounds] for player, speeds in table.speeds.items()
    }
    listed = "; ".join(f"{player} {print_list(speeds)}" for player, speeds in millions.items())
    first, *others = table.speeds
    ratios = [f"{ratio(table, first, other, math.nan).value:.2f} times those of {other}" for other in others]
    return [
        f"These are the node expansions per second, in millions, over all games of a time: {listed}. "
        f"At {table.rounds[-1].split(' (')[0]} the expansions of {first} are {print_list(ratios)}."
    ]


# The score of end0 against base0 in the paper's Table 3: in all games, moving first, and moving second.
END0_OF_THE_PAPER = (40.5, 43.0, 38.0)

# The readings of the separation of armies: where the test applies, and who wins a tie.
TESTS = ("beyond", "tree", "root")
TIES = ("mover", "other", "x", "draw")


def read_readings(program: Program, own: BoardTable) -> dict[Pairing, tuple[Figure, Figure, Figure]]:
    """Returns the scores of the endgame player against base0 by reading, over all games and by seat. `own` has the
    games of the reading of end0."""
    [first], [second] = own.first("end0", ["base0"]), own.second("end0", ["base0"])
    rows: dict[Pairing, tuple[Figure, Figure, Figure]] = {
        ("beyond", "mover"): (own.both("end0", ["base0"]), first, second)
    }
    name = "roschke-2013/end0-readings"
    games = read_file(HERE / f"{name}.toml")["games"]
    half = games // 2
    for (player, _), (both, moving_first, moving_second) in read_seats(name, program).items():
        rows[tuple(player.split())] = (
            replace(both, planned=games),
            replace(moving_first, planned=half),
            replace(moving_second, planned=half),
        )
    return {(test, ties): rows[test, ties] for test in TESTS for ties in TIES if (test, ties) in rows}


def print_readings(readings: Mapping[Pairing, tuple[Figure, Figure, Figure]]) -> list[str]:
    """Returns one row per reading."""
    return [
        f"| `{test}` | `{ties}` | {' | '.join(print_share(figure.without_paper(), 0) for figure in figures)} |"
        for (test, ties), figures in readings.items()
    ]


def print_nearest(readings: Mapping[Pairing, tuple[Figure, Figure, Figure]]) -> list[str]:
    """Returns sentences about the readings whose intervals contain the figures of the paper: in all games, and for both
    seats."""

    def contains(figure: Figure, paper: float) -> bool:
        return figure.low <= paper <= figure.high

    both, first, second = END0_OF_THE_PAPER
    names = {reading: f"`{reading[0]}` with ties to `{reading[1]}`" for reading in readings}
    near = [names[reading] for reading, (figure, _, _) in readings.items() if contains(figure, both)]
    by_seat = [
        names[reading]
        for reading, (_, moving_first, moving_second) in readings.items()
        if contains(moving_first, first) and contains(moving_second, second)
    ]
    complete = all(figure.games == (figure.planned or figure.games) for figure, _, _ in readings.values())
    end = "" if complete else " The games are not complete."
    seats = (
        f"{print_list(by_seat)} also has both figures by seat." if by_seat else "No reading has both figures by seat."
    )
    return [
        f"The paper's figure for all games is inside the interval of {print_list(near) if near else 'no reading'}. "
        f"{seats}{end}"
    ]


def print_prefixes(pairings: Mapping[Pairing, Figure]) -> list[str]:
    """Returns one row per prefix of the table: its fraction of the table, and its score against the whole table."""

    def states(cells: int) -> int:
        return math.comb(cells, 6)

    lines = []
    for (_, prefix), whole in pairings.items():
        part = 100 * states(int(prefix.removeprefix("within "))) / states(81)
        lines.append(f"| {prefix} | {part:.1f}% | {print_share(opposite(whole), 0)} |")
    return lines


def write(document: str, marker: str, lines: list[str], pairings: list[Pairing] | None = None) -> str:
    """Returns the document with other lines between a marker and its end.

    `pairings` are those of a table without its head: the head in the document is kept if it has as many columns.
    """
    begin = f"<!-- {marker} -->"
    assert document.count(begin) == 1, marker
    before, rest = document.split(begin)
    old, after = rest.split("<!-- end -->", 1)
    if pairings is not None:
        head = re.findall(r"^\|.*$", old, re.MULTILINE)[:2]
        if head[0].count("|") != lines[0].count("|"):
            names = " | ".join(" against ".join(pairing) for pairing in pairings)
            head = [f"| game | {names} |", "|---" * (len(pairings) + 1) + "|"]
        lines = head + lines
    return "\n".join([f"{before}{begin}", "", *lines, "", f"<!-- end -->{after}"])


def read_tables(program: Program) -> dict[str, Table]:
    """Returns the tables of all series, by name."""
    names = series_names()
    with ThreadPoolExecutor() as pool:
        return dict(zip(names, pool.map(lambda name: Table(name, program), names), strict=True))


def update(document: str, program: Program) -> str:
    """Returns the document with the figures and verdicts that the logs give."""
    tables = read_tables(program)
    boards = {
        number: BoardTable(number, [f"roschke-2013/{name}" for name in names], program)
        for number, names in {"3": ["table-3"], "4": ["table-4-short", "table-4"], "5": ["table-5-fortieth"]}.items()
    }
    for number, board in boards.items():
        rows = print_matrix(board) if number == "3" else print_rounds(board)
        document = write(document, f"board {number}", rows, [])
        document = write(document, f"scores {number}", print_scores(board))
    document = write(document, "speeds 5", print_speeds(boards["5"]))
    for name, table in tables.items():
        if f"<!-- table {name} -->" not in document:
            continue
        further: list[Column] = []
        if name == "sironi-2018/table-5":
            # The better of NMC and LSI in the paper's Table 1.
            tuners = [tables["sironi-2018/table-1"].column((tuner, "base")) for tuner in ("nmc", "lsi")]
            shared = tuners[0].keys() & tuners[1].keys()
            further = [{game: max((of[game] for of in tuners), key=lambda cell: cell.paper or 0) for game in shared}]
        document = write(document, f"table {name}", print_rows(table, further=further), table.pairings)
    readings = read_readings(program, boards["3"])
    document = write(document, "readings", print_readings(readings), [])
    document = write(document, "readings near", print_nearest(readings))
    prefixes, first = read_pairings("roschke-2013/prefixes", program)
    document = write(document, "roschke-2013/prefixes", print_prefixes(prefixes), [])
    document = write(
        document, "prefixes first", [f"The player who moves first wins {print_share(first, 0)} of these games."]
    )
    document = write(document, "skirmish 2500", print_more_simulations(tables, "skirmish_final"), [])
    pairings: Callable[[str], Mapping[Pairing, Figure]] = cache(lambda log: read_pairings(log, program)[0])
    papers = [Paper(folder, Sources(tables, boards, pairings)) for folder in PAPERS]
    for paper in papers:
        document = write(document, f"conclusions {paper.folder}", print_conclusions(paper))
    document = write(document, "summary", print_summary(papers))
    document = write(document, "own", print_own(tables["own/nst"], tables["own/base"]), [])
    for name in ("own/lanes", "own/adaptation", "own/adaptation-decay", "own/priors-alone", "own/shares"):
        document = write(document, name, print_rows(tables[name]), tables[name].pairings)
    prior, *others = (tables[f"own/adaptation-{name}"] for name in ("prior", "omega", "epsilon"))
    further = [table.column(pairing) for table in others for pairing in table.pairings]
    rows = print_rows(prior, further=further)
    document = write(document, "own/adaptation-prior", rows, [])
    measured = strategies.read()
    document = write(document, "swiechowski-2014/strategies", strategies.print_table(measured), [])
    document = write(document, "opponents", strategies.print_models(measured), [])
    document = write(document, "allocations", strategies.print_shares(measured), [])
    for name in ("own/parts", "own/roles"):
        lines = print_changes(tables[name], ("the part is a gain", "the part is a loss"), True)
        document = write(document, name, lines, [])
    for marker, names in {
        "own/variations": ("own/variations", "own/variations-mini"),
        "own/priors": ("own/priors", "own/priors-mini"),
    }.items():
        lines = [line for name in names for line in print_changes(tables[name], ("a gain", "a loss"), False)]
        document = write(document, marker, lines, [])
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
