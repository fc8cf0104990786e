"""Figures of the reproduction, computed from logs: means, differences and their intervals."""

import csv
import json
import math
import subprocess
import sys
import tomllib
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

# The command line program.
Program = str | Path


class Figure(NamedTuple):
    """A mean with its interval and number of games, the mean of the paper, and the number of games in the file of the
    experiment, if it has one. The mean and the interval of a figure without games are not numbers."""

    value: float
    low: float
    high: float
    games: int
    paper: float | None
    planned: int | None = None

    @property
    def is_played(self) -> bool:
        """Whether the figure has games."""
        return self.games > 0


NOT_PLAYED = Figure(math.nan, math.nan, math.nan, 0, None)

# Figures of a column of a table, by game, and of the pairings of a tournament.
Column = dict[str, Figure]
Pairings = dict[tuple[str, str], Figure]

# Rulesheets that are not the game of the papers, and the name of the right one. Their
# results have no figure of a paper beside them, and do not count in means and verdicts.
RIGHT_GAMES = {"skirmish": "skirmish_final"}


def wilson(points: float, games: int) -> tuple[float, float]:
    """Returns the 95% interval of a fraction, in percent [Wilson 1927]."""
    z = 1.959963984540054
    share, weight = points / games, z * z / games
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / games + weight / (4 * games))
    return 100 * (centre - half), 100 * (centre + half)


def mean_of_paper(figures: Iterable[Figure]) -> float | None:
    """Returns the unweighted mean of the paper's figures, or none if one is unknown."""
    papers = [figure.paper for figure in figures]
    known = [paper for paper in papers if paper is not None]
    return sum(known) / len(known) if len(known) == len(papers) else None


def fraction(points: float, games: int, paper: float | None = None) -> Figure:
    """Returns the figure of a number of points."""
    return Figure(100 * points / games, *wilson(points, games), games, paper)


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
    low = value - math.sqrt(sum((figure.value - figure.low) ** 2 for figure in figures)) / count
    high = value + math.sqrt(sum((figure.high - figure.value) ** 2 for figure in figures)) / count
    return Figure(value, low, high, sum(figure.games for figure in figures), mean_of_paper(figures))


def minus(a: Figure, b: Figure) -> Figure:
    """Returns the difference of two figures."""
    value = a.value - b.value
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    high = value + math.hypot(a.high - a.value, b.value - b.low)
    paper = None if a.paper is None or b.paper is None else a.paper - b.paper
    return Figure(value, low, high, a.games + b.games, paper)


def difference(first: Column, second: Column) -> Figure | None:
    """Returns the difference of the means of two columns, over the games of both."""
    both = [name for name in first if name in second]
    a, b = (mean(column[name] for name in both) for column in (first, second))
    return None if a is None or b is None else minus(a, b)


def opposite(figure: Figure) -> Figure:
    """Returns the figure of the other player."""
    paper = None if figure.paper is None else 100 - figure.paper
    return figure._replace(value=100 - figure.value, low=100 - figure.high, high=100 - figure.low, paper=paper)


def show(program: Program, log: Path, *options: str | Path) -> Any:
    """Returns what `tournament show` prints about a log or a directory of logs.

    Exits with an error if a search reached the memory limit.
    """
    command = [program, "tournament", "show", log, *options, "--json"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    if '"memory_limited"' in output:
        sys.exit(f"{log}: searches reached the memory limit; play these games again with more memory")
    return json.loads(output)


class Table:
    """The cells of a series of tournaments by game. A cell without games only has the figure of the paper."""

    def __init__(self, experiment: str, program: Program) -> None:
        file = HERE / f"{experiment}.toml"
        # The cells by game, and those of rulesheets that are another game.
        self.games: dict[str, list[Figure]] = {}
        self.others: dict[str, list[Figure]] = {}
        # By game: the score of first movers, and the number of games in the file.
        self.first: dict[str, dict[str, Any]] = {}
        self.planned: dict[str, int] = {}
        # The games whose rulesheets were written for this project.
        self.ours: set[str] = set()
        on_demand = self.read(tomllib.loads(file.read_text()))
        for table in show(program, RESULTS / experiment, "-f", file)["tables"]:
            for game in table["games"]:
                name = game["game"]
                self.first[name] = game["rounds"][0]["first"]
                if name in on_demand:
                    self.games[name] = on_demand.pop(name)
                self.add(name, zip(table["pairings"], game["cells"], strict=True))
        self.is_share = len(self.pairings) == len(next(iter(self.games.values())))

    def read(self, settings: dict[str, Any]) -> dict[str, list[Figure]]:
        """Enters the games of a file, without results. Returns those on demand."""

        def is_default(entry: str) -> bool:
            return entry not in settings.get("on-demand", [])

        default = [all(map(is_default, pairing)) for pairing in settings["pairings"]]
        self.pairings = [pairing for pairing, shown in zip(settings["pairings"], default, strict=True) if shown]
        names = [game["name"] for game in settings["game"]]
        has_papers = any("paper" in game for game in settings["game"])
        on_demand: dict[str, list[Figure]] = {}
        for game in settings["game"]:
            name = game["name"]
            self.planned[name] = game.get("games", settings["games"])
            if has_papers and name in RIGHT_GAMES:
                name = RIGHT_GAMES[name]
                if name in names:
                    continue
            papers = game.get("paper", [None] * len(default))
            papers = [paper for paper, shown in zip(papers, default, strict=True) if shown]
            papers = [paper for cell in papers for paper in (cell if isinstance(cell, list) else [cell])]
            # Without figures of a paper, the number of cells is known from the first game that was played.
            cells = on_demand if game.get("on-demand") is True else self.games
            cells[name] = [NOT_PLAYED._replace(paper=paper) for paper in papers]
            if game.get("ours"):
                self.ours.add(name)
        return on_demand

    def add(self, name: str, played: Iterable[tuple[list[str], dict[str, Any]]]) -> None:
        """Enters the results of a game: pairs of a pairing and its cell."""
        found = {tuple(pairing): cell["figures"] for pairing, cell in played}
        width = max(map(len, found.values()))
        figures = [figure for pairing in self.pairings for figure in found.get(tuple(pairing), [None] * width)]
        if name not in self.games:
            assert name in RIGHT_GAMES, f"{name} is not in the file"
            self.others[name] = [NOT_PLAYED] * len(figures)
        for cells in self.games.values():
            cells += [NOT_PLAYED] * (len(figures) - len(cells))
        cells = self.games.get(name) or self.others[name]
        # In a one-player game each player of a pairing plays its part of the games alone.
        planned = self.planned[name] // width
        for number, figure in enumerate(figures):
            if figure and figure["games"] > 0:
                low, high = figure["interval"]
                cells[number] = Figure(figure["value"], low, high, figure["games"], cells[number].paper, planned)

    def column(self, column: int, games: Iterable[str] | None = None) -> Column:
        """Returns the played figures of a column, by game."""
        names = self.games if games is None else games
        cells = {name: self.games[name][column] for name in names if name in self.games}
        return {name: cell for name, cell in cells.items() if cell.is_played}

    def columns(self) -> list[Column]:
        """Returns the figures of each column, by game, with those that were not played."""
        width = max(len(cells) for cells in self.games.values())
        return [{game: cells[column] for game, cells in self.games.items()} for column in range(width)]


def of_score(score: dict[str, Any]) -> Figure:
    """Returns the figure of a score that `tournament show` prints."""
    return fraction(score["rate"] * score["games"], score["games"])


def read_pairings(log: str, program: Program) -> tuple[dict[tuple[str, str], Figure], Figure]:
    """Returns the figure of each pairing of a packed log, for the player that is named first, and the figure of the
    players who move first."""
    played = show(program, RESULTS / f"{log}.ndjson.zst")["rounds"][0]
    pairings = {(pairing["a"], pairing["b"]): of_score(pairing["score"]) for pairing in played["pairings"]}
    return pairings, of_score(played["first"])


class BoardTable:
    """The cells of a table on the Chinese Checkers board, by round, first and second player.

    `board-cells.tsv` has the figures of the paper, and the logs in `results/` have ours. The
    cells of a later log replace those of an earlier one.
    """

    def __init__(self, table: str, logs: list[str], program: Program) -> None:
        self.cells: dict[tuple[str, str, str], Figure] = {}
        # Node expansions per second, by player and round.
        self.speeds: dict[str, dict[str, float]] = {}
        with open(HERE / "board-cells.tsv", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["table"] == table:
                    key = row["round"], row["first"], row["second"]
                    self.cells[key] = NOT_PLAYED._replace(paper=float(row["paper"]))
        self.rounds = list(dict.fromkeys(name for name, _, _ in self.cells))
        self.players = list(dict.fromkeys(first for _, first, _ in self.cells))
        for log in [RESULTS / f"{name}.ndjson.zst" for name in logs]:
            for number, played in enumerate(show(program, log)["rounds"] if log.exists() else []):
                for pairing in played["pairings"]:
                    self.add(self.rounds[number], pairing)
                for entrant in played["entrants"]:
                    spent = entrant["spent"]
                    if spent["moves"]:
                        speeds = self.speeds.setdefault(entrant["name"], {})
                        speeds[self.rounds[number]] = spent["expansions"] / spent["seconds"]
        for (name, first, second), cell in self.cells.items():
            if not cell.is_played:
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
            if score and score["games"] and key in self.cells:
                figure = of_score(score)
                figure = figure if sign > 0 else opposite(figure)
                self.cells[key] = figure._replace(paper=self.cells[key].paper)

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

    @staticmethod
    def selects(name: str, other: str, others: Container[str] | None, rounds: Container[str] | None) -> bool:
        """Returns whether a cell against a player in a round is among those asked for."""
        return (others is None or other in others) and (rounds is None or name in rounds)
