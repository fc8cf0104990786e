"""The conclusions of the five papers, with our figures and verdicts.

`AUTHOR-YEAR/conclusions.toml` has the conclusions of a paper. `title`, `sentence` and `why` are text of the page,
`result-tables` is the number of figures in each table of the paper, `other-tables` are those that are played, but not
as a series of tournaments, and `[games]` names lists of games. A `[[conclusion]]` has these keys:

text       the conclusion
where      its place in the paper
side       where the true figure is if it holds: "more" or "less" than the reference, "alike" (within 5 points of it),
           "no-more" or "no-less" than it by 5 points, or "printed" (the figure of the paper, without a side)
reference  50 by default, and 0 for differences
figures    our figures; a conclusion without them was not played
note, cited  a further text; each {} in it is one of the cited figures
untestable   the reason why our games do not test the conclusion
elsewhere  the heading of the section of the page that has our figures, if there is no verdict

A figure has a `name` if there are several, and one of these sources:

of = [TABLE, A, B]      the mean score of A against B over the `games` of a series; with `each`, one figure per game
of = [TABLE, A]         the mean goals of A in games of one player
better = [TABLE, [A, B], [C, D]]   likewise, in each game for the pairing that scores more in the paper
draws = [TABLE, GAME]   the share of draws
pairing = [LOG, A, B]   the score of a pairing of a log on the board
board = "3"             on the board, of `player` (or all who move first), `against` some, by `seat`, in some `rounds`
                        or, with `each-round`, one figure per round; or the ratio of the `speeds` of two players

`minus` is a figure that is subtracted, over the same games. `before` is a pair of pairings whose difference is
subtracted too.
"""

import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from figures import HERE, BoardTable, Figure, Pairing, Table, fraction, mean, minus, pooled

# The limit of "equal", in points.
EQUAL = 5.0
# The family-wise level of the directions of a paper [Holm 1979].
LEVEL = 0.05

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
# Verdicts of conclusions, in the order of the summary.
MIXED, UNTESTABLE, NO_SIDE, NOT_PLAYED = "mixed", "not testable", "no side", "not played"

Spec = Mapping[str, Any]


class Direction(NamedTuple):
    """A hypothesis about a figure: the direction that it would show, and the p-value against the opposite."""

    word: str
    p_value: float


def limits(side: str, reference: float) -> list[float]:
    """Returns the limits of a side."""
    match side:
        case "alike":
            return [reference - EQUAL, reference + EQUAL]
        case "no-more":
            return [reference + EQUAL]
        case "no-less":
            return [reference - EQUAL]
    return [reference]


def direction(figure: Figure, side: str, reference: float) -> Direction:
    """Returns the direction of a figure, whatever its p-value is."""
    tests = [(abs(figure.value - border), figure.p_value(border), border) for border in limits(side, reference)]
    if side == "alike" and all(distance < 2 * EQUAL for distance, _, _ in tests):
        # Inside, both limits must be excluded.
        return Direction(HOLDS, max(p_value for _, p_value, _ in tests))
    _, p_value, border = min(tests)
    above = figure.value > border
    is_right = False if side == "alike" else above == (side in ("more", "no-less"))
    return Direction(HOLDS if is_right else FAILS, p_value)


@dataclass
class Conclusion:
    """A conclusion of a paper, with pairs of a name (empty for a single figure) and a figure."""

    text: str
    where: str
    side: str
    reference: float
    figures: list[tuple[str, Figure]]
    note: str
    untestable: str
    elsewhere: str
    is_difference: bool
    # The specified figures that have no games.
    missing: int
    # The direction of each figure after the correction for all figures of the paper.
    directions: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The direction of the conclusion."""
        if self.elsewhere:
            return NO_SIDE
        if not self.figures:
            return NOT_PLAYED
        if self.untestable:
            return UNTESTABLE
        if self.side == "printed":
            return NO_SIDE
        words = set(self.directions)
        return words.pop() if len(words) == 1 else MIXED

    def count(self, word: str) -> int:
        """Returns the number of figures with a direction."""
        return self.directions.count(word)

    def print_direction(self) -> str:
        """Returns the direction in words; several figures are counted."""
        if self.verdict == UNTESTABLE:
            return f"not testable ({self.untestable})"
        if self.verdict == MIXED:
            counts = [(word, self.count(word)) for word in (HOLDS, FAILS, UNDECIDED)]
            parts = [f"{word} in {number}" for word, number in counts if number]
            return f"{print_list(parts)} of {len(self.figures)}"
        several = {1: "", 2: " in both"}.get(len(self.figures), f" in all {len(self.figures)}")
        return f"{self.verdict}{several}"

    def print_size(self) -> str:
        """Returns how the figures of the paper compare with ours, or an empty text without them."""
        compared = [figure for _, figure in self.figures if figure.paper is not None]
        if not compared:
            return ""
        inside = sum(figure.has_paper_inside for figure in compared)
        if len(compared) > 1:
            verb = "contains" if inside < 2 else "contain"
            return f"{inside or 'none'} of {len(compared)} intervals {verb} the paper's figure"
        [figure] = compared
        assert figure.paper is not None
        if inside:
            return "the paper's figure is inside"
        change = figure.value - figure.paper
        if self.side == "printed":
            return "the paper's figure is outside"
        if self.side not in ("more", "less"):
            return f"ours differs by {print_points(change)} points"
        stronger = (change > 0) == (self.side == "more")
        return f"ours is {'stronger' if stronger else 'weaker'} by {abs(change):.1f} points"

    def show(self, figure: Figure) -> str:
        """Returns a figure in words."""
        if self.side == "printed":
            return print_ratio(figure)
        return print_difference(figure) if self.is_difference else print_share(figure, 1)

    def __str__(self) -> str:
        head = f"- **{self.text}** ({self.where})"
        note = f" {self.note}" if self.note else ""
        if self.elsewhere:
            return f"{head} *No verdict*: [{self.elsewhere}](#{anchor(self.elsewhere)}) has our figures.{note}"
        if not self.figures:
            return f"{head} *Not played.*{note}"
        words = self.print_direction() if self.verdict != NO_SIDE else self.print_size()
        verdict = words[0].upper() + words[1:]
        size = self.print_size() if self.verdict not in (UNTESTABLE, NO_SIDE) else ""
        shown = [f"{name} {self.show(figure)}".strip() for name, figure in self.figures]
        if self.missing:
            shown.append(f"{self.missing} more were not played")
        return f"{head} *{'; '.join(filter(None, [verdict, size]))}*: {'; '.join(shown)}.{note}"


def anchor(title: str) -> str:
    """Returns the anchor of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def print_list(items: list[str]) -> str:
    """Returns a list in words: "a, b and c"."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def print_points(number: float) -> str:
    """Returns a difference with its sign."""
    return f"{'−' if number < 0 else '+'}{abs(number):.1f}"


def print_games(figure: Figure) -> str:
    """Returns the number of games of a figure, and that of the file if it was stopped early."""
    return (
        f"{figure.games} of {figure.planned}" if figure.planned and figure.games < figure.planned else str(figure.games)
    )


def print_share(figure: Figure, digits: int) -> str:
    """Returns a percentage with its interval and its number of games, after the figure of the paper."""
    paper = "" if figure.paper is None else f"**{figure.paper:.1f}%** "
    low, high = max(figure.low, 0), min(figure.high, 100)
    return f"{paper}{figure.value:.1f}% ({low:.{digits}f} to {high:.{digits}f}; {print_games(figure)})"


def print_difference(figure: Figure) -> str:
    """Returns a difference of percentages in the same form."""
    paper = "" if figure.paper is None else f"**{print_points(figure.paper)}** "
    bounds = f"{print_points(figure.low)} to {print_points(figure.high)}"
    return f"{paper}{print_points(figure.value)} points ({bounds}; {figure.games})"


def print_ratio(figure: Figure) -> str:
    """Returns a ratio in the same form, with the range of its values in place of an interval."""
    return f"**{figure.paper:.1f}** {figure.value:.2f} ({figure.low:.2f} to {figure.high:.2f}; {figure.games})"


@dataclass
class Sources:
    """What figures are computed from: series by name, tables on the board by number, and pairings of logs."""

    tables: Mapping[str, Table]
    boards: Mapping[str, BoardTable]
    pairings: Callable[[str], Mapping[Pairing, Figure]]


class Paper:
    """A paper: the text of its section, and its conclusions."""

    def __init__(self, folder: str, sources: Sources) -> None:
        self.folder, self.sources = folder, sources
        keys = tomllib.loads((HERE / folder / "conclusions.toml").read_text())
        self.title: str = keys["title"]
        self.sentence: str = keys["sentence"]
        self.why: str = keys["why"].strip()
        self.result_tables: dict[str, int] = keys["result-tables"]
        # Tables that no series has, and the figures of the paper in them.
        self.others: list[str] = keys.get("other-tables", [])
        self.also_played = sum(self.result_tables[name] for name in self.others)
        self.games: dict[str, list[str]] = keys.get("games", {})
        for table in sources.tables.values():
            if table.name.startswith(f"{folder}/") and table.other_revisions:
                names = ", ".join(sorted(table.other_revisions))
                sys.exit(f"{table.name}: the program has another revision of {names}; play these games again")
        self.conclusions = [self.conclusion(spec) for spec in keys["conclusion"]]
        self.decide()

    def conclusion(self, spec: Spec) -> Conclusion:
        """Returns a conclusion without directions."""
        found = [list(self.evaluate(figure)) for figure in spec.get("figures", [])]
        figures = [named for several in found for named in several]
        is_difference = any("minus" in figure for figure in spec.get("figures", []))
        cited = [self.one(figure) for figure in spec.get("cited", [])]
        note = spec.get("note", "")
        if cited:
            note = note.format(*(print_share(figure.without_paper(), 1) if figure else "–" for figure in cited))
        reference = float(spec.get("reference", 0 if is_difference else 50))
        return Conclusion(
            text=spec["text"],
            where=spec["where"],
            side=spec.get("side", "more"),
            reference=reference,
            figures=figures,
            note=note,
            untestable=spec.get("untestable", ""),
            elsewhere=spec.get("elsewhere", ""),
            is_difference=is_difference,
            missing=sum(not several for several in found),
        )

    def decide(self) -> None:
        """Enters the directions, with the correction of [Holm 1979] for all figures of the paper."""
        tests = []
        for conclusion in self.conclusions:
            if conclusion.side == "printed" or conclusion.untestable:
                continue
            conclusion.directions = [UNDECIDED] * len(conclusion.figures)
            for number, (_, figure) in enumerate(conclusion.figures):
                found = direction(figure, conclusion.side, conclusion.reference)
                tests.append((found.p_value, conclusion, number, found.word))
        tests.sort(key=lambda test: test[0])
        for rank, (p_value, conclusion, number, word) in enumerate(tests):
            if p_value > LEVEL / (len(tests) - rank):
                break
            conclusion.directions[number] = word

    def count(self, verdict: str) -> int:
        """Returns the number of conclusions with a verdict."""
        return sum(conclusion.verdict == verdict for conclusion in self.conclusions)

    def evaluate(self, spec: Spec) -> Iterator[tuple[str, Figure]]:
        """Yields the figures of a specification that were played, with their names."""
        name = spec.get("name", "")
        if spec.get("each"):
            a = self.column(spec)
            b = self.column(spec["minus"]) if "minus" in spec else None
            for game, figure in a.items():
                if b is None:
                    yield game, figure
                elif game in b:
                    yield game, minus(figure, b[game])
        elif spec.get("each-round"):
            board = self.sources.boards[spec["board"]]
            for label in spec.get("rounds", board.rounds):
                yield label.removesuffix(" playouts"), self.on_board({**spec, "rounds": [label]})
        elif (single := self.one(spec)) is not None:
            yield name, single

    def one(self, spec: Spec) -> Figure | None:
        """Returns the single figure of a specification, or none if it was not played."""
        if "board" in spec:
            figure = self.on_board(spec)
            return minus(figure, self.on_board(spec["minus"])) if "minus" in spec else figure
        if "pairing" in spec:
            log, a, b = spec["pairing"]
            return self.sources.pairings(f"{self.folder}/{log}").get((a, b))
        if "draws" in spec:
            table, game = spec["draws"]
            score = self.table(table).first.get(game)
            return fraction(score["draws"], score["games"]) if score else None
        columns = [self.column(spec)]
        if "minus" in spec:
            columns.append(self.column(spec["minus"]))
        columns += [self.column({"of": pairing, "games": spec.get("games")}) for pairing in spec.get("before", [])]
        games = [game for game in columns[0] if all(game in column for column in columns)]
        means = [mean(column[game] for game in games) for column in columns]
        differences = [minus(a, b) if b else a for a, b in zip(means[::2], [*means[1::2], None], strict=False) if a]
        return minus(*differences) if len(differences) == 2 else next(iter(differences), None)

    def table(self, name: str) -> Table:
        """Returns a series of this paper."""
        return self.sources.tables[f"{self.folder}/{name}"]

    def column(self, spec: Spec) -> dict[str, Figure]:
        """Returns figures by game."""
        games = spec.get("games")
        chosen = self.games[games] if isinstance(games, str) else games
        if "better" in spec:
            name, *pairings = spec["better"]
            columns = [self.table(name).column(tuple(pairing), chosen) for pairing in pairings]
            shared = [game for game in columns[0] if all(game in column for column in columns)]
            return {
                game: max((column[game] for column in columns), key=lambda cell: cell.paper or 0.0) for game in shared
            }
        name, *players = spec["of"]
        return self.table(name).column(tuple(players), chosen)

    def on_board(self, spec: Spec) -> Figure:
        """Returns a figure of a table on the board."""
        board = self.sources.boards[spec["board"]]
        if "speeds" in spec:
            first, second = spec["speeds"]
            return ratio(board, first, second, spec["paper"])
        if "player" not in spec:
            return board.first_mover().without_paper()
        chosen = spec["player"], spec.get("against"), spec.get("rounds")
        match spec.get("seat"):
            case "first":
                return pooled(board.first(*chosen))
            case "second":
                return pooled(board.second(*chosen))
        return board.both(*chosen)

    def compared(self) -> list[Figure]:
        """Returns the played figures of the tables of the paper."""
        boards = self.sources.boards.values() if self.folder == "roschke-2013" else ()
        return [figure for table in (*boards, *self.result_series()) for figure in table.compared()]

    def tables_played(self) -> int:
        """Returns the number of tables of the paper with games."""
        boards = len(self.sources.boards) if self.folder == "roschke-2013" else 0
        return boards + len(self.others) + sum(bool(table.games) for table in self.result_series())

    def result_series(self) -> list[Table]:
        """Returns the series that are tables of the paper, with its budget or ours, in their order."""
        tables = [table for name, table in self.sources.tables.items() if name.startswith(f"{self.folder}/table-")]
        return [table for table in tables if table.name.split("-")[-1].isdecimal() and table.name.count("-") == 2]


def ratio(table: BoardTable, first: str, second: str, paper: float) -> Figure:
    """Returns the ratio of two players' expansions per second in the last round, with the range over all rounds."""
    ratios = [table.speeds[first][name] / table.speeds[second][name] for name in table.rounds]
    games = sum(cell.games for cell in table.cells.values())
    return Figure(ratios[-1], games, lambda _: (min(ratios), max(ratios)), paper)


def outliers(tables: Iterable[Table]) -> list[str]:
    """Returns the figures of single games that are on the other side of 50% than those of the paper."""
    found = []
    for table in tables:
        number = table.name.rsplit("-", 1)[1]
        for game, cells in table.games.items():
            for pairing, cell in cells.items():
                if cell.paper is None:
                    continue
                over = cell.high < 50 < cell.paper and cell.paper > cell.high + 10
                under = cell.low > 50 > cell.paper and cell.paper < cell.low - 10
                if (over or under) and len(pairing) == 2:
                    shown = print_share(replace(cell, planned=None), 0)
                    found.append(f"{game} in Table {number} ({' against '.join(pairing)}: {shown})")
    return found
