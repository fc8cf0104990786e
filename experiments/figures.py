"""Figures of the reproduction, computed from logs: means, differences and their intervals."""

import csv
import json
import math
import subprocess
import sys
import tomllib
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

# The command line program.
Program = str | Path

# The quantile of the normal distribution for an interval of 95%.
Z95 = 1.959963984540054

# Rulesheets that are not the game of the papers, and the name of the right one. Their
# results have no figure of a paper beside them, and do not count in means and verdicts.
RIGHT_GAMES = {"skirmish": "skirmish_final"}

# The interval of a figure for a quantile of the normal distribution.
Interval = Callable[[float], tuple[float, float]]

# The players of a column of a table: two that play each other, or one that plays alone.
Pairing = tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A mean with its interval and number of games, the mean of the paper, and the number of games in the file of the
    experiment, if it has one."""

    value: float
    games: int
    interval: Interval
    paper: float | None = None
    planned: int | None = None

    @property
    def low(self) -> float:
        """The lower end of the 95% interval."""
        return self.interval(Z95)[0]

    @property
    def high(self) -> float:
        """The upper end of the 95% interval."""
        return self.interval(Z95)[1]

    @property
    def has_paper_inside(self) -> bool:
        """Whether the figure of the paper is in the 95% interval."""
        return self.paper is not None and self.low <= self.paper <= self.high

    def without_paper(self) -> "Figure":
        """Returns our figure alone."""
        return replace(self, paper=None)

    def p_value(self, reference: float) -> float:
        """Returns the two-sided p-value of the hypothesis that the true figure is `reference`: the largest error for
        which the interval excludes it."""
        side = self.value - reference
        if side == 0:
            return 1.0
        low, high = 0.0, 40.0
        for _ in range(60):
            middle = (low + high) / 2
            bounds = self.interval(middle)
            excludes = bounds[0] > reference if side > 0 else bounds[1] < reference
            low, high = (middle, high) if excludes else (low, middle)
        return math.erfc(low / math.sqrt(2))


def wilson(points: float, games: int, z: float) -> tuple[float, float]:
    """Returns the interval of a fraction, in percent [Wilson 1927]."""
    share, weight = points / games, z * z / games
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / games + weight / (4 * games))
    return 100 * (centre - half), 100 * (centre + half)


def fraction(points: float, games: int, paper: float | None = None) -> Figure:
    """Returns the figure of a number of points."""
    return Figure(100 * points / games, games, lambda z: wilson(points, games, z), paper)


def sample_mean(value: float, games: int, interval: tuple[float, float], paper: float | None = None) -> Figure:
    """Returns the figure of a mean with a normal distribution, given its 95% interval."""
    error = (interval[1] - interval[0]) / (2 * Z95)
    return Figure(value, games, lambda z: (value - z * error, value + z * error), paper)


def mean_of_paper(figures: Iterable[Figure]) -> float | None:
    """Returns the unweighted mean of the paper's figures, or none if one is unknown."""
    papers = [figure.paper for figure in figures]
    known = [paper for paper in papers if paper is not None]
    return sum(known) / len(known) if len(known) == len(papers) else None


def pooled(figures: Iterable[Figure]) -> Figure:
    """Returns the figure of all games of some figures together."""
    figures = list(figures)
    points = sum(figure.value * figure.games / 100 for figure in figures)
    return fraction(points, sum(figure.games for figure in figures), mean_of_paper(figures))


def mean(figures: Iterable[Figure]) -> Figure | None:
    """Returns the unweighted mean of figures, with an interval computed from theirs [Zou and Donner 2008]."""
    figures = list(figures)
    if not figures:
        return None
    count = len(figures)
    value = sum(figure.value for figure in figures) / count

    def interval(z: float) -> tuple[float, float]:
        bounds = [(figure.value, *figure.interval(z)) for figure in figures]
        below = math.sqrt(sum((value - low) ** 2 for value, low, _ in bounds))
        above = math.sqrt(sum((high - value) ** 2 for value, _, high in bounds))
        return value - below / count, value + above / count

    return Figure(value, sum(figure.games for figure in figures), interval, mean_of_paper(figures))


def minus(a: Figure, b: Figure) -> Figure:
    """Returns the difference of two figures."""
    value = a.value - b.value

    def interval(z: float) -> tuple[float, float]:
        (a_low, a_high), (b_low, b_high) = a.interval(z), b.interval(z)
        return (
            value - math.hypot(a.value - a_low, b_high - b.value),
            value + math.hypot(a_high - a.value, b.value - b_low),
        )

    paper = None if a.paper is None or b.paper is None else a.paper - b.paper
    return Figure(value, a.games + b.games, interval, paper)


def opposite(figure: Figure) -> Figure:
    """Returns the figure of the other player."""

    def interval(z: float) -> tuple[float, float]:
        low, high = figure.interval(z)
        return 100 - high, 100 - low

    paper = None if figure.paper is None else 100 - figure.paper
    return replace(figure, value=100 - figure.value, interval=interval, paper=paper)


def show(program: Program, log: Path, *options: str | Path) -> Any:
    """Returns what `tournament show` prints about a log or a directory of logs.

    Exits with an error if a search reached the memory limit.
    """
    command = [program, "tournament", "show", log, *options, "--json"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    if '"memory_limited"' in output:
        sys.exit(f"{log}: searches reached the memory limit; play these games again with more memory")
    return json.loads(output)


def read_file(file: Path) -> dict[str, Any]:
    """Returns the keys of a tournament file, with those of its base."""
    keys = tomllib.loads(file.read_text())
    base = keys.pop("base", None)
    return {**read_file(file.with_name(base)), **keys} if base else keys


def series_names() -> list[str]:
    """Returns the names of all series of games, e.g. `tak-2012/table-1`, in the order of their files."""
    names = [
        f"{file.parent.name}/{file.stem}"
        for file in sorted(HERE.glob("*-20*/*.toml")) + sorted(HERE.glob("own/*.toml"))
    ]
    return [name for name in names if (HERE / f"{name}.toml").exists() and "game" in read_file(HERE / f"{name}.toml")]


class Table:
    """The figures of a series of tournaments, by game and pairing, and those of the paper."""

    def __init__(self, name: str, program: Program) -> None:
        self.name = name
        settings = read_file(HERE / f"{name}.toml")
        # The played figures by game, and those of rulesheets that are another game.
        self.games: dict[str, dict[Pairing, Figure]] = {}
        self.others: dict[str, dict[Pairing, Figure]] = {}
        # The figures of the paper by game. Those that are not numbers are missing in our copy of the paper.
        self.papers: dict[str, dict[Pairing, float]] = {}
        # By game: the games of the file, and the score of first movers.
        self.planned: dict[str, int] = {}
        self.first: dict[str, dict[str, Any]] = {}
        # The games whose rulesheets were written for this project.
        self.ours: set[str] = set()
        # The players of another revision than in the program: it does not play their games again.
        self.other_revisions: set[str] = set()
        self.read(settings)
        log = RESULTS / name
        for table in show(program, log, "-f", HERE / f"{name}.toml")["tables"] if log.exists() else []:
            for game in table["games"]:
                self.first[game["game"]] = game["rounds"][0]["first"]
                self.other_revisions |= set(game.get("other_revisions", []))
                for pairing, cell in zip(table["pairings"], game["cells"], strict=True):
                    self.add(game["game"], tuple(pairing), cell["figures"])
        # The pairings with games, in the order of the file.
        played = {pairing for cells in (*self.games.values(), *self.others.values()) for pairing in cells}
        self.pairings = [pairing for pairing in self.order if pairing in played]

    def read(self, settings: dict[str, Any]) -> None:
        """Enters the games and pairings of a file."""
        self.order: list[Pairing] = []
        names = [game["name"] for game in settings["game"]]
        for game in settings["game"]:
            name = game["name"]
            self.planned[name] = game.get("games", settings["games"])
            papers = game.get("paper", [])
            if game.get("ours"):
                self.ours.add(name)
            if name in RIGHT_GAMES and any("paper" in other for other in settings["game"]):
                name = RIGHT_GAMES[name]
                if name in names:
                    continue
            figures = self.papers.setdefault(name, {})
            for number, (a, b) in enumerate(game.get("pairings", settings.get("pairings", []))):
                paper = papers[number] if number < len(papers) else math.nan
                # In a one-player game each player of a pairing plays its part of the games alone.
                columns: list[tuple[Pairing, float]] = (
                    [((a, b), paper)] if not isinstance(paper, list) else [((a,), paper[0]), ((b,), paper[1])]
                )
                for pairing, figure in columns:
                    if pairing not in self.order:
                        self.order.append(pairing)
                    if not math.isnan(figure):
                        figures[pairing] = figure

    def add(self, name: str, pairing: Pairing, figures: list[dict[str, Any] | None]) -> None:
        """Enters the results of a pairing in a game."""
        is_other = name not in self.papers
        assert not is_other or name in RIGHT_GAMES, f"{name} is not in the file of {self.name}"
        cells = (self.others if is_other else self.games).setdefault(name, {})
        pairings = [pairing] if len(figures) == 1 else [(player,) for player in pairing]
        for key, figure in zip(pairings, figures, strict=True):
            if key not in self.order:
                self.order.append(key)
            if figure and figure["games"] > 0:
                paper = self.papers.get(name, {}).get(key)
                value, count = figure["value"], figure["games"]
                # Goals have a normal distribution; points are a fraction of the games.
                is_alone = len(key) == 1
                found = (
                    sample_mean(value, count, figure["interval"], paper)
                    if is_alone
                    else fraction(value * count / 100, count, paper)
                )
                cells[key] = replace(found, planned=self.planned[name] // len(figures))

    def column(self, pairing: Pairing, games: Container[str] | None = None) -> dict[str, Figure]:
        """Returns the figures of a pairing by game, for the player that is named first."""
        column = {}
        for game in self.papers:
            cells = self.games.get(game, {})
            if games is not None and game not in games:
                continue
            if pairing in cells:
                column[game] = cells[pairing]
            elif pairing[::-1] in cells:
                column[game] = opposite(cells[pairing[::-1]])
        return column

    def compared(self) -> list[Figure]:
        """Returns the played figures that have one of the paper."""
        return [cell for cells in self.games.values() for cell in cells.values() if cell.paper is not None]

    @property
    def printed(self) -> int:
        """The number of figures of the paper."""
        return sum(map(len, self.papers.values()))


def of_score(score: dict[str, Any]) -> Figure:
    """Returns the figure of a score that `tournament show` prints."""
    return fraction(score["rate"] * score["games"], score["games"])


def read_pairings(log: str, program: Program) -> tuple[dict[Pairing, Figure], Figure]:
    """Returns the figure of each pairing of a packed log, for the player that is named first, and the figure of the
    players who move first."""
    played = show(program, RESULTS / f"{log}.ndjson.zst")["rounds"][0]
    pairings: dict[Pairing, Figure] = {
        (pairing["a"], pairing["b"]): of_score(pairing["score"]) for pairing in played["pairings"]
    }
    return pairings, of_score(played["first"])


def read_seats(log: str, program: Program) -> dict[Pairing, tuple[Figure, Figure, Figure]]:
    """Returns the figures of each pairing of a packed log, for the player that is named first: of all games, and of
    those in which it moves first and second."""
    played = show(program, RESULTS / f"{log}.ndjson.zst")["rounds"][0]
    return {
        (pairing["a"], pairing["b"]): (
            of_score(pairing["score"]),
            of_score(pairing["a_first"]),
            # The score is that of the player that is named first, whoever moves first.
            of_score(pairing["b_first"]),
        )
        for pairing in played["pairings"]
        if pairing["score"]["games"]
    }


# A cell of a table on the board: the round, the first and the second player.
Cell = tuple[str, str, str]


class BoardTable:
    """The cells of a table on the Chinese Checkers board, by round, first and second player.

    `board-cells.tsv` has the figures of the paper, and the logs in `results/` have ours. The
    cells of a later log replace those of an earlier one.
    """

    def __init__(self, table: str, logs: list[str], program: Program) -> None:
        self.cells: dict[Cell, Figure] = {}
        self.papers: dict[Cell, float] = {}
        # Node expansions per second, by player and round.
        self.speeds: dict[str, dict[str, float]] = {}
        with open(HERE / "board-cells.tsv", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["table"] == table:
                    self.papers[row["round"], row["first"], row["second"]] = float(row["paper"])
        self.rounds = list(dict.fromkeys(name for name, _, _ in self.papers))
        self.players = list(dict.fromkeys(first for _, first, _ in self.papers))
        for log in [RESULTS / f"{name}.ndjson.zst" for name in logs]:
            for number, played in enumerate(show(program, log)["rounds"] if log.exists() else []):
                for pairing in played["pairings"]:
                    self.add(self.rounds[number], pairing)
                for entrant in played["entrants"]:
                    spent = entrant["spent"]
                    if spent["moves"]:
                        speeds = self.speeds.setdefault(entrant["name"], {})
                        speeds[self.rounds[number]] = spent["expansions"] / spent["seconds"]
        self.cells = {key: self.cells[key] for key in self.papers if key in self.cells}
        if missing := self.papers.keys() - self.cells.keys():
            name, first, second = missing.pop()
            sys.exit(f"Table {table} on the board: no log has games of {first} against {second} ({name})")

    def add(self, name: str, pairing: dict[str, Any]) -> None:
        """Enters the results of a pairing in the round with a name."""
        a, b = pairing["a"], pairing["b"]
        if a == b:
            scores = [(a, a, pairing["first"], 1)]
        else:
            scores = [(a, b, pairing["a_first"], 1), (b, a, pairing["b_first"], -1)]
        for first, second, score, sign in scores:
            key = name, first, second
            if score and score["games"] and key in self.papers:
                figure = of_score(score) if sign > 0 else opposite(of_score(score))
                self.cells[key] = replace(figure, paper=self.papers[key])

    def first_mover(self) -> Figure:
        """Returns the figure of the players who move first."""
        return pooled(self.cells.values())

    def first(
        self, player: str, others: Container[str] | None = None, rounds: Container[str] | None = None
    ) -> list[Figure]:
        """Returns the figures of a player that moves first, against others."""
        cells = self.cells.items()
        return [cell for (name, a, b), cell in cells if a == player != b and self.selects(name, b, others, rounds)]

    def second(
        self, player: str, others: Container[str] | None = None, rounds: Container[str] | None = None
    ) -> list[Figure]:
        """Returns the figures of a player that moves second, against others."""
        cells = self.cells.items()
        chosen = [cell for (name, a, b), cell in cells if b == player != a and self.selects(name, a, others, rounds)]
        return [opposite(cell) for cell in chosen]

    def both(self, player: str, others: Container[str] | None = None, rounds: Container[str] | None = None) -> Figure:
        """Returns the pooled figure of a player against others, on both sides."""
        return pooled(self.first(player, others, rounds) + self.second(player, others, rounds))

    def compared(self) -> list[Figure]:
        """Returns the played figures; all have one of the paper."""
        return list(self.cells.values())

    @property
    def printed(self) -> int:
        """The number of figures of the paper."""
        return len(self.papers)

    @staticmethod
    def selects(name: str, other: str, others: Container[str] | None, rounds: Container[str] | None) -> bool:
        """Returns whether a cell against a player in a round is among those asked for."""
        return (others is None or other in others) and (rounds is None or name in rounds)
