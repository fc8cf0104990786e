"""Ranks, notation and moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._arguments import check
from ._arrays import Row, Rows, array_of, cells_of, ranks_of
from ._errors import ArgumentTypeError, NotationError
from ._native import Board

DEFAULT_BOARD = Board()


class Moves(NamedTuple):
    """Moves of several states. Those of state i are at `offsets[i]` to `offsets[i + 1]`."""

    offsets: NDArray[np.uint64]
    source: NDArray[np.uint8]
    target: NDArray[np.uint8]


@overload
def rank(cells: Row, *, board: Board, player: str = ...) -> np.uint64: ...
@overload
def rank(cells: Rows, *, board: Board, player: str = ...) -> NDArray[np.uint64]: ...
@overload
def rank(cells: ArrayLike, *, board: Board, player: str = ...) -> Any: ...
def rank(cells: ArrayLike, *, board: Board, player: str = "x") -> np.uint64 | NDArray[np.uint64]:
    """Returns the ranks of states.

    `cells` has the shape (..., pieces): the numbers of the cells of an army, in any order. Cell 0 is a1; cells are
    numbered by rows x + y and then by x (`Board.coordinates`). `player` is "x", whose home is at a1, or "o". The result
    has the shape (...) and the dtype uint64; that of a single state is a scalar.

    Raises `StateError` with the index of the first row that is not an army.

    >>> import sternhalma
    >>> sternhalma.rank([0, 1, 2, 3, 4, 5], board=sternhalma.Board(9, 6))
    np.uint64(324540215)
    """
    check(rank, locals())
    rows, shape = cells_of(cells, board.pieces)
    ranks: np.uint64 | NDArray[np.uint64] = _native.rank(board, rows, player).reshape(shape)[()]
    return ranks


def unrank(ranks: ArrayLike, *, board: Board, player: str = "x") -> NDArray[np.uint8]:
    """Returns the cells of the states with some ranks, in ascending order.

    The result has the shape of `ranks` and one more dimension for the pieces. Its dtype is uint8.

    Raises `StateError` with the index of the first rank that no state of the board has.

    >>> import sternhalma
    >>> sternhalma.unrank([0, 1], board=sternhalma.Board(9, 6)).tolist()
    [[75, 76, 77, 78, 79, 80], [74, 76, 77, 78, 79, 80]]
    """
    check(unrank, locals())
    vector, shape = ranks_of(ranks)
    return _native.unrank(board, vector, player).reshape((*shape, board.pieces))


def parse(text: str | Sequence[str] | NDArray[np.str_], *, board: Board, player: str = "x") -> NDArray[np.uint8]:
    """Returns the cells of the states that texts describe.

    A text is a list of cells ("a1,b1,c1,a2,b2,a3"), a position, "startpos", or "#RANK". The result has the shape of
    `text` and one more dimension for the pieces.

    Raises `NotationError` with the index of the first text that is no state.

    >>> import sternhalma
    >>> sternhalma.parse("a1,b1,c1,a2,b2,a3", board=sternhalma.Board(9, 6)).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    check(parse, locals())
    texts = array_of(text, "text")
    if texts.size == 0:
        texts = texts.astype(np.str_)
    if texts.dtype.kind not in "UT":
        raise ArgumentTypeError(f"text: expected texts, got an array of {texts.dtype}")
    try:
        cells = _native.parse(board, texts.reshape(-1).tolist(), player)
    except UnicodeEncodeError as error:
        raise NotationError(f"text: {error}") from None
    return cells.reshape((*texts.shape, board.pieces))


@overload
def format(cells: Row, *, board: Board) -> str: ...
@overload
def format(cells: Rows, *, board: Board) -> NDArray[np.str_]: ...
@overload
def format(cells: ArrayLike, *, board: Board) -> Any: ...
def format(cells: ArrayLike, *, board: Board) -> str | NDArray[np.str_]:
    """Returns the texts of states: the names of their cells. A single state gives a string, others an array.

    Raises `StateError` with the index of the first row that is not an army.

    >>> import sternhalma
    >>> sternhalma.format([5, 4, 3, 2, 1, 0], board=sternhalma.Board(9, 6))
    'a1,a2,b1,a3,b2,c1'
    """
    check(format, locals())
    rows, shape = cells_of(cells, board.pieces)
    texts = _native.format_cells(board, rows)
    return texts[0] if shape == () else np.array(texts, dtype=np.str_).reshape(shape)


@overload
def format_moves(moves: Row, *, board: Board) -> str: ...
@overload
def format_moves(moves: Rows, *, board: Board) -> NDArray[np.str_]: ...
@overload
def format_moves(moves: ArrayLike, *, board: Board) -> Any: ...
def format_moves(moves: ArrayLike, *, board: Board) -> str | NDArray[np.str_]:
    """Returns the texts of moves, which have the shape (..., 2): a source and a destination.

    Raises `StateError` if there is no such cell.

    >>> import sternhalma
    >>> sternhalma.format_moves([[5, 9], [0, 12]], board=sternhalma.Board(9, 6)).tolist()
    ['c1-d1', 'a1-c3']
    """
    check(format_moves, locals())
    rows, shape = cells_of(moves, 2)
    texts = _native.format_moves(board, rows)
    return texts[0] if shape == () else np.array(texts, dtype=np.str_).reshape(shape)


def moves(cells: ArrayLike, *, board: Board) -> Moves:
    """Returns the moves of armies that are alone on the board.

    `cells` has the shape (..., pieces). The moves are ordered by the rows of `cells`, then by source and destination.

    Raises `StateError` with the index of the first row that is not an army.

    >>> import sternhalma
    >>> board = sternhalma.Board(9, 6)
    >>> moves = sternhalma.moves(board.home(), board=board)
    >>> moves.offsets.tolist(), moves.source.tolist()
    ([0, 10], [1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    """
    check(moves, locals())
    rows, _ = cells_of(cells, board.pieces)
    return Moves(*_native.moves(board, rows))
