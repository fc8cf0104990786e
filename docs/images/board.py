#!/usr/bin/env python3
"""Draws the boards of the documentation as SVG files beside this script.

    python3 docs/images/board.py

The script needs only the standard library. `--check` reports whether the files
are what the script would write, and writes nothing.
"""

import math

from svg import picture, write_or_check

Point = tuple[float, float]
Cell = tuple[int, int]

STEP = 52  # the distance of two neighbours
RISE = STEP * math.sqrt(3) / 2  # the height of a row
RADIUS = 17

INK, EDGE, EMPTY, FAINT = "#222222", "#8a8a8a", "#ffffff", "#c8c8c8"
X_HOME, O_HOME, COVERED = "#cfe3f7", "#f9dcc4", "#d9ecd0"
X_PIECE, O_PIECE, ARROW = "#1f5f9e", "#b5561b", "#2b7a2b"


def name(x: int, y: int) -> str:
    """Returns the name of a cell."""
    return f"{'abcdefghijk'[x]}{y + 1}"


def cell(text: str) -> Cell:
    """Returns the coordinates of a cell."""
    return "abcdefghijk".index(text[0]), int(text[1:]) - 1


def goal_order(size: int) -> list[Cell]:
    """Returns the cells in the order of ranks, for the player that moves away from a1."""
    from_a1 = sorted(((x, y) for x in range(size) for y in range(size)), key=lambda at: (sum(at), at[0]))
    return [(size - 1 - x, size - 1 - y) for x, y in from_a1]


class Drawing:
    """An SVG picture whose lowest row is row 0, centred."""

    def __init__(self, columns: int, rows: int, margin: int = 70) -> None:
        self.width = columns * STEP + 2 * margin
        self.height = (rows - 1) * RISE + 2 * margin
        self.bottom = self.height - margin
        self.parts: list[str] = []

    def at(self, across: int, row: int) -> Point:
        """Returns the point `across` half steps right of the centre, in a row."""
        return self.width / 2 + across * STEP / 2, self.bottom - row * RISE

    def place(self, x: int, y: int) -> Point:
        return self.at(x - y, x + y)

    def circle(self, point: Point, fill: str, edge: str = EDGE, radius: int = RADIUS) -> None:
        self.parts.append(
            f'<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="{radius}" fill="{fill}" stroke="{edge}"/>'
        )

    def text(
        self,
        point: Point,
        text: object,
        size: int = 12,
        fill: str = INK,
        anchor: str = "middle",
        weight: str = "normal",
    ) -> None:
        self.parts.append(
            f'<text x="{point[0]:.1f}" y="{point[1] + size * 0.35:.1f}" font-size="{size}" fill="{fill}"'
            f' text-anchor="{anchor}" font-weight="{weight}">{text}</text>'
        )

    def arrow(self, start: Point, end: Point) -> None:
        """Draws an arrow between the edges of two cells."""
        length = math.dist(start, end)
        across, down = (end[0] - start[0]) / length, (end[1] - start[1]) / length
        points = start[0] + across * RADIUS, start[1] + down * RADIUS, end[0] - across * RADIUS, end[1] - down * RADIUS
        x1, y1, x2, y2 = (f"{number:.1f}" for number in points)
        self.parts.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{ARROW}" stroke-width="2.5"'
            ' marker-end="url(#head)"/>'
        )

    def svg(self, title: str) -> str:
        marker = (
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" markerHeight="6"'
            f' orient="auto"><path d="M0 0L10 5L0 10z" fill="{ARROW}"/></marker></defs>'
        )
        return picture(self.width, self.height, title, [marker, *self.parts])


def board() -> str:
    """The 9x9 board with all names and both homes for six pieces."""
    drawing = Drawing(9, 17)
    order = goal_order(9)
    fills = dict.fromkeys(order[:6], O_HOME) | dict.fromkeys(order[-6:], X_HOME)
    for at in order:
        point = drawing.place(*at)
        drawing.circle(point, fills.get(at, EMPTY))
        drawing.text(point, name(*at))
    top, bottom = drawing.place(8, 8), drawing.place(0, 0)
    for point, lines, fill in (
        (top, ("home of o,", "goal of x"), O_PIECE),
        (bottom, ("home of x,", "goal of o"), X_PIECE),
    ):
        for number, line in enumerate(lines):
            drawing.text((point[0] + 80, point[1] + 18 * number - 9), line, 14, fill, "start", "bold")
    for row in range(17):
        drawing.text((28, drawing.at(0, row)[1]), f"row {row}", 11, EDGE)
    return drawing.svg("The 9x9 board with the names of its cells, and the homes for six pieces")


def moves() -> str:
    """All moves of the piece on b2, as in the example of docs/guide/rules.md."""
    drawing = Drawing(7, 13, 50)
    x_army, o_army = {"b2", "c2", "e3"}, {"d3", "f7", "g7"}

    def middle(text: str) -> Point:
        return drawing.place(*cell(text))

    for to in ("a2", "b1", "a3", "c1", "b3"):
        drawing.arrow(middle("b2"), middle(to))
    for start, end in (("b2", "d2"), ("d2", "d4"), ("d4", "f2")):
        drawing.arrow(middle(start), middle(end))
    for at in goal_order(7):
        point, text = drawing.place(*at), name(*at)
        fill = X_PIECE if text in x_army else O_PIECE if text in o_army else EMPTY
        drawing.circle(point, fill)
        drawing.text(point, text, 12, EMPTY if fill != EMPTY else INK)
    return drawing.svg("The moves of the piece on b2: five steps, and a chain of up to three jumps")


def seals() -> str:
    """Three sealed goals of o on the 9x9 board: with the tip, two rows, and a cell at the edge empty."""
    drawing = Drawing(21, 6, 40)
    patterns = (
        ("1 cell, 4 pieces", {"a1"}, {"a2", "b1", "a3", "c1"}),
        ("3 cells, 7 pieces", {"a1", "a2", "b1"}, {"a3", "b2", "c1", "a4", "b3", "c2", "d1"}),
        ("1 cell, 8 pieces", {"d1"}, {"b1", "c1", "c2", "b3", "d2", "d3", "e1", "f1"}),
    )
    for number, (title, region, wall) in enumerate(patterns):
        for x, y in goal_order(9):
            if x + y > 5:
                continue
            across, row = x - y + 14 * (number - 1), x + y
            point, text = drawing.at(across, row), name(x, y)
            fill = X_PIECE if text in wall else COVERED if text in region else EMPTY
            drawing.circle(point, fill, INK if text in region else EDGE)
            drawing.text(point, text, 12, EMPTY if fill == X_PIECE else INK)
        left = drawing.at(14 * (number - 1), 0)
        drawing.text((left[0], left[1] + 30), title, 14)
    return drawing.svg("Three sealed goals: the sealed cells are green, and the pieces of the wall blue")


def parts() -> str:
    """Parts of the board: walls of x with pieces of o behind them."""
    drawing = Drawing(28, 6, 40)
    wall = {"a3", "b2", "c1", "a4", "b3", "c2", "d1"}
    patterns: tuple[tuple[str, set[str], set[str], set[str]], ...] = (
        ("1. sealed", {"a1", "a2", "b1"}, wall, {"a1", "b1"}),
        ("2. not sealed", set(), wall, {"a1", "a2", "b1"}),
        ("3. x wins", set(), {"i8", "h9", "i7", "h8", "g9"}, {"i9"}),
        ("4. not sealed", set(), {"b9", "a8", "b8", "c9", "a7", "c7"}, {"a9"}),
    )
    for number, (title, region, blue, orange) in enumerate(patterns):
        for x, y in goal_order(9):
            # The home of o at the top is turned, so that its tip points down. The side corner is not.
            down, right = {2: (16 - x - y, y - x), 3: (x + y - 5, x - y + 5)}.get(number, (x + y, x - y))
            if number == 3 and not (x <= 3 and y >= 5 and down >= 0):
                continue
            if down > 5:
                continue
            point, text = drawing.at(right + 14 * number - 21, down), name(x, y)
            fill = X_PIECE if text in blue else O_PIECE if text in orange else COVERED if text in region else EMPTY
            drawing.circle(point, fill, INK if text in region else EDGE)
            drawing.text(point, text, 12, EMPTY if fill in (X_PIECE, O_PIECE) else INK)
        left = drawing.at(14 * number - 21, 0)
        drawing.text((left[0], left[1] + 30), title, 14)
    return drawing.svg("Four walls of blue pieces with orange pieces behind them; the sealed cells are green")


def star() -> str:
    """The star board with 121 holes; the diamond is its part between two points."""
    drawing = Drawing(13, 17, 40)
    widths = [1, 2, 3, 4, 13, 12, 11, 10, 9]
    for row in range(17):
        width, inner = widths[min(row, 16 - row)], min(row, 16 - row) + 1
        for number in range(width):
            across = 2 * number - (width - 1)
            in_diamond = abs(across) < inner
            home = X_HOME if row < 4 else O_HOME if row > 12 else COVERED
            drawing.circle(drawing.at(across, row), home if in_diamond else EMPTY, EDGE if in_diamond else FAINT)
    return drawing.svg("The star board with 121 holes; the 81 coloured holes are the 9x9 diamond")


def prefix() -> str:
    """The cells of a prefix of 42 cells, numbered in goal order."""
    drawing = Drawing(9, 17, 40)
    for number, at in enumerate(goal_order(9)):
        point = drawing.place(*at)
        drawing.circle(point, COVERED if number < 42 else EMPTY)
        drawing.text(point, number, 12, INK if number < 42 else EDGE)
    return drawing.svg("The cells of the 9x9 board in goal order; a prefix of 42 cells is coloured")


if __name__ == "__main__":
    write_or_check({"board": board, "moves": moves, "seals": seals, "parts": parts, "star": star, "prefix": prefix})
