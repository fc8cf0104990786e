"""Pictures of boards."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import check
from ._arrays import array_of, cells_of, is_integer, shown
from ._board import DEFAULT_BOARD
from ._copies import Immutable
from ._errors import ArgumentError, ArgumentTypeError, FileError, NotationError
from ._native import Board, Position

#: The distance of two neighbours, the height of a row, and the radius of a cell.
STEP, RISE, RADIUS = 44.0, 44.0 * math.sqrt(3) / 2, 17.0

_PIECES = {"x": "#1f5f9e", "o": "#b5561b"}
_HOMES = {"x": "#cfe3f7", "o": "#f9dcc4"}
_ARROW, _INK, _EDGE, _EMPTY = "#2b7a2b", "#222222", "#8a8a8a", "#ffffff"
#: The colours of the smallest and the largest value of `heat`.
_COLD, _HOT = (255, 247, 205), (177, 30, 80)

_Point = tuple[float, float]


class Drawing(Immutable):
    """A picture in the format SVG, which notebooks show. `svg` is its text."""

    __slots__ = ("svg",)

    svg: str

    def __init__(self, svg: str) -> None:
        check(Drawing.__init__, locals())
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<sternhalma.Drawing of {len(self.svg)} characters>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to a file, which is replaced. Raises `FileError` if it cannot be written."""
        check(Drawing.save, locals())
        try:
            Path(path).write_text(self.svg, encoding="utf-8")
        except (OSError, ValueError) as error:
            raise FileError(f"{os.fspath(path)}: cannot write the picture: {error}") from None


def name_of(board: Board, cell: int) -> str:
    """Returns the name of a cell."""
    x, y = board.coordinates()[cell].tolist()
    return f"{'abcdefghijk'[x]}{y + 1}"


class _Canvas:
    """The parts of a picture of a board, with a1 at the bottom."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.names = {name_of(board, cell): cell for cell in range(board.cells)}
        x, y = board.coordinates().astype(int).T
        margin = STEP
        self.width = 2 * margin + (board.side - 1) * STEP
        self.height = 2 * margin + 2 * (board.side - 1) * RISE
        self.points: list[_Point] = [
            (self.width / 2 + float(across) * STEP / 2, self.height - margin - float(row) * RISE)
            for across, row in zip(x - y, x + y, strict=True)
        ]
        self.parts: list[str] = []

    def cell(self, what: Any) -> int:
        """Returns the number of a cell, which is a number or a name."""
        number = self.names.get(what.lower()) if isinstance(what, str) else int(what) if is_integer(what) else None
        if number is None or not 0 <= number < self.board.cells:
            raise NotationError(
                f"there is no cell {shown(what)}; the cells of {self.board} are a1 to {list(self.names)[-1]}"
            )
        return number

    def move(self, what: Any) -> tuple[int, int] | None:
        """Returns the cells of a move, which is a text or a pair of cells, or `None` for a pass."""
        if isinstance(what, str):
            if what == "pass":
                return None
            what = what.split("-")
        is_pair = isinstance(what, Sequence) or (isinstance(what, np.ndarray) and what.ndim == 1)
        if not is_pair or len(what) != 2:
            raise NotationError(f"expected a move such as 'c1-e3' or a pair of cells, got {shown(what)}")
        return self.cell(what[0]), self.cell(what[1])

    def circle(self, cell: int, radius: float, fill: str, edge: str) -> None:
        x, y = self.points[cell]
        self.parts.append(f'<circle cx="{x:.0f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="{edge}"/>')

    def text(self, cell: int, text: str, fill: str, size: float, is_bold: bool = False) -> None:
        x, y = self.points[cell]
        style = f'font-size="{size:g}" fill="{fill}"' + (' font-weight="bold"' if is_bold else "")
        self.parts.append(f'<text x="{x:.0f}" y="{y + size * 0.35:.1f}" {style}>{escape(text)}</text>')

    def arrow(self, start: int, end: int) -> None:
        """Draws an arrow from a cell to the edge of another one."""
        (x1, y1), (x2, y2) = self.points[start], self.points[end]
        length = math.dist((x1, y1), (x2, y2)) or 1
        across, down = (x2 - x1) / length * RADIUS, (y2 - y1) / length * RADIUS
        line = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2 - across:.1f}" y2="{y2 - down:.1f}"'
        self.parts.append(f'<line {line} stroke="{_ARROW}" stroke-width="3" marker-end="url(#arrow)"/>')

    def svg(self, title: str, size: float) -> str:
        marker = (
            '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="5" markerHeight="5"'
            f' orient="auto"><path d="M0 0L10 5L0 10z" fill="{_ARROW}"/></marker></defs>'
        )
        view = f'width="{size * self.width / self.height:.0f}" height="{size:.0f}"'
        box = f'viewBox="0 0 {self.width:.1f} {self.height:.1f}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {view} {box} font-family="sans-serif" text-anchor="middle"'
            ' role="img">',
            f"<title>{escape(title)}</title>",
            marker,
            f'<rect width="{self.width:.1f}" height="{self.height:.1f}" rx="8" fill="{_EMPTY}"/>',
            *self.parts,
            "</svg>",
        ]
        return "\n".join(parts) + "\n"


def draw(
    what: Position | Board | ArrayLike,
    *,
    board: Board | None = None,
    player: str = "x",
    last_move: str | Sequence[int] | None = None,
    arrows: ArrayLike | Sequence[str] = (),
    marks: Mapping[str | int, object] | None = None,
    heat: ArrayLike | None = None,
    coordinates: bool = True,
    size: float = 400,
) -> Drawing:
    """Draws a position, a board, or an army, with a1 at the bottom.

    `what` is a `Position`; a `Board`, which is drawn without pieces; or the cells of the army of `player` on `board`.
    The pieces of x are blue and those of o are orange, and the homes of both have these colours in light.

    `last_move` is drawn as an arrow; that of a position is by default its own. `arrows` are further moves, texts or
    rows of a source and a destination, such as those of `Table.line`. `marks` writes short texts on cells, by their
    names or numbers. `heat` has one value per cell, NaN for none, and colours the cells from the smallest to the
    largest value. `coordinates` writes the names of the cells. `size` is the height in pixels.

    Notebooks show the picture, and a `Position` or a `Board` as its picture too.

    Raises `StateError` if cells are no army, and `NotationError` if there is no such cell.

    >>> import sternhalma
    >>> position = sternhalma.Position().play("c1-c2")
    >>> drawing = sternhalma.draw(position, marks={"c3": "!"}, size=300)
    >>> drawing.svg.startswith("<svg"), drawing.svg.count("marker-end")
    (True, 1)
    """
    check(draw, locals(), size=(1, 1e5))
    board = _board_of(what, board)
    canvas = _Canvas(board)
    pieces = _pieces_of(what, board, player)
    if last_move is None and isinstance(what, Position):
        last_move = what.last_move
    fills = _fills(board) if heat is None else _heat_colours(heat, board)
    for cell, fill in enumerate(fills):
        canvas.circle(cell, RADIUS, fill, _EDGE)
    for cell, owner in pieces.items():
        # The colours of `heat` stay visible around pieces.
        canvas.circle(cell, RADIUS - (1 if heat is None else 4), _PIECES[owner], _INK)
    shown_moves = [*([] if last_move is None else [last_move]), *_rows_of(arrows)]
    moves = [move for move in map(canvas.move, shown_moves) if move is not None]
    for start, end in moves:
        canvas.arrow(start, end)
    texts = {canvas.cell(cell): str(text) for cell, text in (marks or {}).items()}
    for name, cell in canvas.names.items():
        ink = _EMPTY if cell in pieces or _is_dark(fills[cell]) else _INK
        if cell in texts:
            canvas.text(cell, texts[cell], ink, 15 if len(texts[cell]) < 3 else 11, is_bold=True)
        elif coordinates:
            canvas.text(cell, name, ink, 11)
    return Drawing(canvas.svg(_title(what, board, pieces), size))


def _board_of(what: Any, board: Board | None) -> Board:
    """Returns the board of a thing to draw."""
    own = what.board if isinstance(what, Position) else what if isinstance(what, Board) else None
    if own is None and board is None:
        raise ArgumentTypeError(f"expected a Position, a Board, or cells with `board=`, got {shown(what)}")
    if own is not None and board is not None and own != board:
        raise ArgumentError(f"board: expected {own}, got {board}")
    return own or board or DEFAULT_BOARD


def _pieces_of(what: Any, board: Board, player: str) -> dict[int, str]:
    """Returns the players of the pieces by their cells."""
    if isinstance(what, Board):
        return {}
    if isinstance(what, Position):
        return {int(cell): owner for owner in _PIECES for cell in what.cells(owner)}
    rows, shape = cells_of(what, board.pieces)
    if shape != ():
        raise ArgumentError(f"expected the cells of one army, got an array of shape {(*shape, board.pieces)}")
    # The rank exists only if the cells are an army.
    board.rank(rows[0], player=player)
    return {int(cell): player for cell in rows[0]}


def _rows_of(moves: Any) -> list[Any]:
    """Returns moves in a list: texts, or pairs of cells."""
    if isinstance(moves, str):
        return moves.split()
    array = array_of(moves, "arrow")
    return list(array.tolist()) if array.ndim else [moves]


def _fills(board: Board) -> list[str]:
    """Returns the colours of the cells, with those of both homes."""
    fills = [_EMPTY] * board.cells
    for player, colour in _HOMES.items():
        for cell in board.home(player):
            fills[int(cell)] = colour
    return fills


def _heat_colours(heat: ArrayLike, board: Board) -> list[str]:
    """Returns the colours of values by cell."""
    values = array_of(heat, "heat value")
    if values.dtype.kind not in "biuf" or values.shape != (board.cells,):
        expected = f"heat: expected one number per cell, of the shape ({board.cells},)"
        raise ArgumentError(f"{expected}, got {values.dtype} of shape {values.shape}")
    finite: NDArray[np.float64] = values.astype(np.float64)
    known = np.isfinite(finite)
    low, high = (finite[known].min(), finite[known].max()) if known.any() else (0.0, 1.0)
    shares = (finite - low) / ((high - low) or 1.0)
    return [_blend(float(share)) if is_known else _EMPTY for share, is_known in zip(shares, known, strict=True)]


def _blend(share: float) -> str:
    """Returns a colour between those of the smallest and the largest value."""
    return "#" + "".join(f"{round(cold + (hot - cold) * share):02x}" for cold, hot in zip(_COLD, _HOT, strict=True))


def _is_dark(colour: str) -> bool:
    """Returns whether white text is easier to read on a colour than black text."""
    red, green, blue = (int(colour[first : first + 2], 16) for first in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 130


def _title(what: Any, board: Board, pieces: Mapping[int, str]) -> str:
    """Returns the description of a picture for those who cannot see it."""
    if isinstance(what, Position):
        return f"Position {what}"
    names = [name_of(board, cell) for cell in sorted(pieces)]
    army = f", {next(iter(pieces.values()))} on {', '.join(names)}" if pieces else ""
    return f"Board {board.side} x {board.side}{army}"
