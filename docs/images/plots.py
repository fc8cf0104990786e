#!/usr/bin/env python3
"""Draws the plots of the documentation as SVG files beside this script.

    python3 docs/images/plots.py

The data is in `layers.json` and in tables of the documents and tests, so a plot
changes with its table. The script needs only the standard library. `--check`
reports whether the files are what the script would write, and writes nothing.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from svg import HERE, picture, write_or_check

ROOT = HERE.parent.parent

Range = tuple[float, float]

INK, GRID = "#222222", "#d8d8d8"
COLOURS = ["#1f5f9e", "#b5561b", "#2b7a2b", "#7a3f8f"]


class Plot:
    """A plot with a title, axes and a legend. Scales are linear or logarithmic."""

    def __init__(
        self,
        title: str,
        width: int = 720,
        height: int = 400,
        left: int = 90,
        right: int = 30,
        top: int = 56,
        bottom: int = 56,
    ) -> None:
        self.title, self.width, self.height = title, width, height
        self.left, self.right, self.top, self.bottom = left, width - right, top, height - bottom
        self.parts: list[str] = []
        self.text(width / 2, 24, title, 15, weight="bold")

    def scales(self, across: Range, up: Range, log: str = "") -> None:
        """Sets the ranges of both axes; `log` names the logarithmic ones."""
        self.log = log
        self.ranges = {"x": tuple(map(self.scale("x"), across)), "y": tuple(map(self.scale("y"), up))}

    def scale(self, axis: str) -> Callable[[float], float]:
        return math.log10 if axis in self.log else float

    def x(self, value: float) -> float:
        low, high = self.ranges["x"]
        return self.left + (self.scale("x")(value) - low) / (high - low) * (self.right - self.left)

    def y(self, value: float) -> float:
        low, high = self.ranges["y"]
        return self.bottom - (self.scale("y")(value) - low) / (high - low) * (self.bottom - self.top)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int = 12,
        anchor: str = "middle",
        fill: str = INK,
        weight: str = "normal",
        turn: bool = False,
    ) -> None:
        turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}"'
            f' font-weight="{weight}"{turned}>{text}</text>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = GRID, width: int = 1) -> None:
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'
        )

    def dot(self, x: float, y: float, colour: str, radius: int = 4) -> None:
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')

    def path(self, points: Iterable[tuple[float, float]], colour: str) -> None:
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="2"/>')

    def ticks_x(self, values: Iterable[float], label: str, name: Callable[[float], str] = str) -> None:
        for value in values:
            self.line(self.x(value), self.top, self.x(value), self.bottom)
            self.text(self.x(value), self.bottom + 18, name(value))
        self.text((self.left + self.right) / 2, self.bottom + 42, label, 13)

    def ticks_y(self, values: Iterable[float], label: str, name: Callable[[float], str] = str) -> None:
        for value in values:
            self.line(self.left, self.y(value), self.right, self.y(value))
            self.text(self.left - 8, self.y(value) + 4, name(value), anchor="end")
        if label:
            self.text(22, (self.top + self.bottom) / 2, label, 13, turn=True)

    def legend(self, names: Iterable[tuple[str, str]], x: float | None = None) -> None:
        x = self.left + 4 if x is None else x
        for name, colour in names:
            self.dot(x, self.top - 14, colour)
            self.text(x + 10, self.top - 10, name, anchor="start")
            x += 32 + 7 * len(name)

    def svg(self) -> str:
        return picture(self.width, self.height, self.title, self.parts)


def rows(path: str, after: str) -> Iterator[list[str]]:
    """Yields the cells of the rows of the first table after a text in a document."""
    lines = (ROOT / path).read_text().split(after, 1)[1].splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("|---"))
    for line in lines[head + 1 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def number(text: str) -> float:
    """Returns the first number of a text, or 0 if there is no number."""
    found = re.search(r"\d[\d.]*", text.replace(",", ""))
    return float(found[0]) if found else 0.0


def short(value: float) -> str:
    """Returns a number as 1k, 1M, ..."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def distances() -> str:
    """The fraction of states at each distance, for several numbers of pieces."""
    layers = json.loads((HERE / "layers.json").read_text())["9x9"]
    plot = Plot("How far are random states from the goal? (9x9 board)")
    tallest = max(max(counts) / sum(counts) for counts in layers.values())
    plot.scales((0, max(map(len, layers.values()))), (0, 100 * tallest * 1.08))
    plot.ticks_x(range(0, max(map(len, layers.values())) + 1, 5), "distance in moves")
    plot.ticks_y(range(0, int(100 * tallest) + 2, 5), "share of all states", lambda value: f"{value}%")
    for counts, colour in zip(layers.values(), COLOURS, strict=False):
        points = [(plot.x(d), plot.y(100 * count / sum(counts))) for d, count in enumerate(counts)]
        plot.path(points, colour)
        for point in points:
            plot.dot(*point, colour, 3)
    plot.legend([(f"{pieces} pieces", colour) for pieces, colour in zip(layers, COLOURS, strict=False)])
    return plot.svg()


def blocks() -> str:
    """Size and speed of zstd tables by the number of states per block."""
    table = [[number(cell) for cell in row] for row in rows("docs/research/compression.md", "### 6 pieces on 9x9")]
    plot = Plot("zstd: larger blocks are smaller and slower (6 pieces, 9x9)", right=90)
    states = [row[0] for row in table]
    plot.scales((states[0], states[-1]), (0, 2.6), log="x")
    plot.ticks_x(states, "states per block", lambda value: short(value / 1.024) if value >= 1000 else f"{value:g}")
    plot.ticks_y([0, 0.5, 1, 1.5, 2, 2.5], "bits per state")
    plot.path([(plot.x(row[0]), plot.y(row[1])) for row in table], COLOURS[0])
    for row in table:
        plot.dot(plot.x(row[0]), plot.y(row[1]), COLOURS[0])
    plot.scales((states[0], states[-1]), (0, 312_000), log="x")
    for value in range(0, 300_001, 60_000):
        plot.text(plot.right + 8, plot.y(value) + 4, short(value), anchor="start", fill=COLOURS[1])
    plot.text(plot.width - 18, (plot.top + plot.bottom) / 2, "look-ups per second", 13, fill=COLOURS[1], turn=True)
    plot.path([(plot.x(row[0]), plot.y(row[2])) for row in table], COLOURS[1])
    for row in table:
        plot.dot(plot.x(row[0]), plot.y(row[2]), COLOURS[1])
    plot.legend([("bits per state (left)", COLOURS[0]), ("look-ups per second (right)", COLOURS[1])])
    return plot.svg()


def solve(matrix: list[list[float]], vector: list[float]) -> list[float]:
    """Returns the solution of linear equations."""
    rows_of = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    for pivot in range(len(rows_of)):
        best = max(range(pivot, len(rows_of)), key=lambda row: abs(rows_of[row][pivot]))
        rows_of[pivot], rows_of[best] = rows_of[best], rows_of[pivot]
        for row in range(len(rows_of)):
            if row != pivot:
                factor = rows_of[row][pivot] / rows_of[pivot][pivot]
                rows_of[row] = [a - factor * b for a, b in zip(rows_of[row], rows_of[pivot], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows_of)]


def fit_elo(games: list[tuple[int, int, float, int]], names: Sequence[str]) -> list[tuple[float, float]]:
    """Fits the Elo of each player and the advantage of the first move [Bradley and Terry 1952].

    `games` has (first, second, share of the points of the first, number of games). The mean Elo is
    0. Returns for each player its Elo and half of its 95% interval.
    """
    count = len(names)
    weights = [0.0] * (count + 1)  # strengths, and the advantage, in units of a logistic

    def terms(first: int, second: int) -> list[float]:
        row = [0.0] * (count + 1)
        row[first] += 1
        row[second] -= 1
        row[count] = 1
        return row

    for _ in range(100):
        gradient = [0.0] * (count + 1)
        # The strengths are only determined up to a constant; this fixes their sum.
        hessian = [[1.0 if i < count and j < count else 0.0 for j in range(count + 1)] for i in range(count + 1)]
        for first, second, share, number_of in games:
            row = terms(first, second)
            expected = 1 / (1 + math.exp(-sum(a * b for a, b in zip(row, weights, strict=True))))
            for i in range(count + 1):
                gradient[i] += row[i] * number_of * (share - expected)
                for j in range(count + 1):
                    hessian[i][j] += row[i] * row[j] * number_of * expected * (1 - expected)
        weights = [weight + step for weight, step in zip(weights, solve(hessian, gradient), strict=True)]
    mean = sum(weights[:count]) / count
    unit = 400 / math.log(10)
    variances = [solve(hessian, [float(i == j) for j in range(count + 1)])[i] - 1 / count**2 for i in range(count)]
    return [(unit * (weights[i] - mean), 1.96 * unit * math.sqrt(variances[i])) for i in range(count)]


def elo() -> str:
    """Elo of the players of [Roschke and Sturtevant 2013], from the games of Table 3."""
    table = list(rows("docs/research/reproduction.md", "### Table 3: 100,000"))
    names = [row[0] for row in table]
    games = []
    for first, row in enumerate(table):
        for second, cell in enumerate(row[1:]):
            found = re.search(r"\*\* ([\d.]+)% \(.*; (\d+)\)", cell)
            if found and first != second:
                games.append((first, second, float(found[1]) / 100, int(found[2])))
    fitted = [(name, *rating) for name, rating in zip(names, fit_elo(games, names), strict=True)]
    return rating_plot("Strength of the paper's players (100,000 expansions per move)", fitted, 100, 300)


def ratings() -> str:
    """The rating list of the players. Bounds are drawn without an interval."""
    listed = []
    for name, text, half, *_ in rows("docs/guide/players.md", "# Players"):
        rating = re.search(r"-?[\d.]+", text)
        assert rating is not None, text
        listed.append((name.strip("`"), float(rating[0]), number(half)))
    return rating_plot("Ratings of the players (5000 nodes per move)", listed, 200, 380)


def rating_plot(title: str, fitted: list[tuple[str, float, float]], step: int, height: int) -> str:
    """Plots players with their Elo and half of its interval, the best at the top."""
    fitted = sorted(fitted, key=lambda entry: entry[1])
    plot = Plot(title, height=height, left=110)
    low = math.floor(min(value - half for _, value, half in fitted) / step) * step
    high = math.ceil(max(value + half for _, value, half in fitted) / step) * step
    plot.scales((low, high), (-0.7, len(fitted) - 0.3))
    plot.ticks_x(range(low, high + 1, step), "Elo, mean 0, with 95% intervals")
    for place, (name, value, half) in enumerate(fitted):
        y = plot.y(place)
        plot.text(plot.left - 10, y + 4, name, 13, "end")
        plot.line(plot.x(value - half), y, plot.x(value + half), y, COLOURS[0], 3)
        plot.dot(plot.x(value), y, COLOURS[0], 6)
    return plot.svg()


def reasoners() -> str:
    """Random playouts per second: lanes, one match at a time, and the best public reasoner."""
    public = {}
    for line in (ROOT / "ggp/tests/data/public-reasoners.tsv").read_text().splitlines()[1:]:
        game, _, rate, *_ = line.split("\t")
        public[game] = float(rate)
    ours = {row[0]: row[3:5] for row in rows("docs/reference/gdl.md", "The table shows one run")}
    games = sorted((game for game in public if game in ours), key=lambda game: number(ours[game][1]))
    plot = Plot("Random playouts per second", height=90 + 24 * len(games) + 30, left=170)
    lowest = min(public[game] for game in games)
    plot.scales((10 ** math.floor(math.log10(lowest)), 1e8), (-0.7, len(games) - 0.3), log="x")
    powers = range(math.floor(math.log10(lowest)), 9)
    plot.ticks_x([10.0**power for power in powers], "playouts per second, one core (logarithmic)", short)
    for place, game in enumerate(games):
        y = plot.y(place)
        plot.text(plot.left - 10, y + 4, game, 12, "end")
        rates = [number(cell) for cell in ours[game]] + [public[game]]
        shown = [(plot.x(rate), colour) for rate, colour in zip(rates, COLOURS, strict=False) if rate]
        plot.line(min(shown)[0], y, max(shown)[0], y)
        for x, colour in shown:
            plot.dot(x, y, colour, 5)
    names = ["512 matches at once", "one match at a time", "best public reasoner"]
    plot.legend(zip(names, COLOURS, strict=False))
    return plot.svg()


def scaling() -> str:
    """Predicted time of the table with ten pieces by the number of processes and the rate of the links."""
    table = [[number(cell) for cell in row] for row in rows("docs/research/cluster.md", "**Predictions**")]
    processes = [row[0] for row in table]
    plot = Plot("Predicted time of the table with ten pieces, 16 cores per process", height=340)
    plot.scales((processes[0], processes[-1]), (1, 30), log="xy")
    plot.ticks_x(processes, "processes", short)
    plot.ticks_y([1, 2, 5, 10, 20], "minutes")
    links = ["1 Gbit/s", "10 Gbit/s", "100 Gbit/s"]
    for column, colour in zip(range(-3, 0), COLOURS, strict=False):
        points = [(plot.x(row[0]), plot.y(row[column])) for row in table]
        plot.path(points, colour)
        for point in points:
            plot.dot(*point, colour)
    plot.legend(zip(links, COLOURS, strict=False))
    return plot.svg()


if __name__ == "__main__":
    write_or_check(
        {
            "distances": distances,
            "blocks": blocks,
            "elo": elo,
            "ratings": ratings,
            "reasoners": reasoners,
            "scaling": scaling,
        }
    )
