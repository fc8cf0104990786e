"""Figures of the reproduction, computed from logs: means, differences and their intervals."""

import csv
import json
import math
import subprocess
import sys
import tomllib
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

# A mean with its interval and number of games, the mean of the paper, and the number of
# games in the file of the experiment, if it has one.
Figure = namedtuple("Figure", "value low high games paper planned", defaults=[None])
NOT_PLAYED = Figure(None, None, None, 0, None)

# Rulesheets that are not the game of the papers, and the name of the right one. Their
# results have no figure of a paper beside them, and do not count in means and verdicts.
RIGHT_GAMES = {"skirmish": "skirmish_final"}


def wilson(points, games):
    """Returns the 95% interval of a fraction, in percent [Wilson 1927]."""
    z = 1.959963984540054
    share, weight = points / games, z * z / games
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / games + weight / (4 * games))
    return 100 * (centre - half), 100 * (centre + half)


def mean_of_paper(figures):
    """Returns the unweighted mean of the paper's figures, or none if one is unknown."""
    papers = [figure.paper for figure in figures]
    return None if None in papers else sum(papers) / len(papers)


def fraction(points, games, paper=None):
    """Returns the figure of a number of points."""
    return Figure(100 * points / games, *wilson(points, games), games, paper)


def pooled(figures):
    """Returns the figure of all games of some figures together."""
    figures = list(figures)
    points = sum(figure.value * figure.games / 100 for figure in figures)
    return fraction(points, sum(figure.games for figure in figures), mean_of_paper(figures))


def mean(figures):
    """Returns the unweighted mean of figures, with an interval computed from theirs [Zou and Donner 2008]."""
    figures = list(figures)
    if not figures:
        return None
    count = len(figures)
    value = sum(figure.value for figure in figures) / count
    low = value - math.sqrt(sum((figure.value - figure.low) ** 2 for figure in figures)) / count
    high = value + math.sqrt(sum((figure.high - figure.value) ** 2 for figure in figures)) / count
    return Figure(value, low, high, sum(figure.games for figure in figures), mean_of_paper(figures))


def minus(a, b):
    """Returns the difference of two figures."""
    value = a.value - b.value
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    high = value + math.hypot(a.high - a.value, b.value - b.low)
    paper = None if None in (a.paper, b.paper) else a.paper - b.paper
    return Figure(value, low, high, a.games + b.games, paper)


def difference(first, second):
    """Returns the difference of the means of two columns, over the games of both."""
    both = [name for name in first if name in second]
    return minus(mean(first[name] for name in both), mean(second[name] for name in both)) if both else None


def opposite(figure):
    """Returns the figure of the other player."""
    paper = None if figure.paper is None else 100 - figure.paper
    return figure._replace(value=100 - figure.value, low=100 - figure.high, high=100 - figure.low, paper=paper)


def show(program, log, *options):
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

    def __init__(self, experiment, program):
        file = HERE / f"{experiment}.toml"
        # The cells by game, and those of rulesheets that are another game.
        self.games, self.others = {}, {}
        # By game: the score of first movers, and the number of games in the file.
        self.first, self.planned = {}, {}
        # The games whose rulesheets were written for this project.
        self.ours = set()
        on_demand = self.read(tomllib.loads(file.read_text()))
        for table in show(program, RESULTS / experiment, "-f", file)["tables"]:
            for game in table["games"]:
                name = game["game"]
                self.first[name] = game["rounds"][0]["first"]
                if name in on_demand:
                    self.games[name] = on_demand.pop(name)
                self.add(name, zip(table["pairings"], game["cells"]))
        self.is_share = len(self.pairings) == len(next(iter(self.games.values())))

    def read(self, settings):
        """Enters the games of a file, without results. Returns those on demand."""
        is_default = lambda entry: entry not in settings.get("on-demand", [])
        default = [all(map(is_default, pairing)) for pairing in settings["pairings"]]
        self.pairings = [pairing for pairing, shown in zip(settings["pairings"], default) if shown]
        names = [game["name"] for game in settings["game"]]
        has_papers = any("paper" in game for game in settings["game"])
        on_demand = {}
        for game in settings["game"]:
            name = game["name"]
            self.planned[name] = game.get("games", settings["games"])
            if has_papers and name in RIGHT_GAMES:
                name = RIGHT_GAMES[name]
                if name in names:
                    continue
            papers = game.get("paper", [None] * len(default))
            papers = [paper for paper, shown in zip(papers, default) if shown]
            papers = [paper for cell in papers for paper in (cell if isinstance(cell, list) else [cell])]
            # Without figures of a paper, the number of cells is known from the first game that was played.
            cells = on_demand if game.get("on-demand") is True else self.games
            cells[name] = [NOT_PLAYED._replace(paper=paper) for paper in papers]
            if game.get("ours"):
                self.ours.add(name)
        return on_demand

    def add(self, name, played):
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
                value, bounds, games = figure["value"], figure["interval"], figure["games"]
                cells[number] = Figure(value, *bounds, games, cells[number].paper, planned=planned)

    def column(self, column, games=None):
        """Returns the played figures of a column, by game."""
        names = self.games if games is None else games
        cells = {name: self.games[name][column] for name in names if name in self.games}
        return {name: cell for name, cell in cells.items() if cell.value is not None}

    def columns(self):
        """Returns the figures of each column, by game, with those that were not played."""
        width = max(len(cells) for cells in self.games.values())
        return [{game: cells[column] for game, cells in self.games.items()} for column in range(width)]


def of_score(score):
    """Returns the figure of a score that `tournament show` prints."""
    return fraction(score["rate"] * score["games"], score["games"])


def read_pairings(log, program):
    """Returns the figure of each pairing of a packed log, for the player that is named first, and the figure of the players who move first."""
    played = show(program, RESULTS / f"{log}.ndjson.zst")["rounds"][0]
    pairings = {(pairing["a"], pairing["b"]): of_score(pairing["score"]) for pairing in played["pairings"]}
    return pairings, of_score(played["first"])


class BoardTable:
    """The cells of a table on the Chinese Checkers board, by round, first and second player.

    `board-cells.tsv` has the figures of the paper, and the logs in `results/` have ours. The
    cells of a later log replace those of an earlier one.
    """

    def __init__(self, table, logs, program):
        self.cells = {}
        # Node expansions per second, by player and round.
        self.speeds = {}
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
            if cell.value is None:
                sys.exit(f"Table {table} on the board: no log has games of {first} against {second} ({name})")

    def add(self, name, pairing):
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

    def first_mover(self):
        """Returns the figure of the players who move first."""
        return pooled(self.cells.values())

    def first(self, player, others=None, rounds=None):
        """Returns the figures of a player that moves first, against others."""
        cells = self.cells.items()
        return [cell for (name, a, b), cell in cells if a == player != b and self.selects(name, b, others, rounds)]

    def second(self, player, others=None, rounds=None):
        """Returns the figures of a player that moves second, against others."""
        cells = self.cells.items()
        chosen = [cell for (name, a, b), cell in cells if b == player != a and self.selects(name, a, others, rounds)]
        return [opposite(cell) for cell in chosen]

    def both(self, player, others=None, rounds=None):
        """Returns the pooled figure of a player against others, on both sides."""
        return pooled(self.first(player, others, rounds) + self.second(player, others, rounds))

    @staticmethod
    def selects(name, other, others, rounds):
        """Returns whether a cell against a player in a round is among those asked for."""
        return (others is None or other in others) and (rounds is None or name in rounds)
