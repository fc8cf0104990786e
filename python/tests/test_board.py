"""Ranks, notation and moves, compared with brute force."""

import pickle
from collections.abc import Callable
from math import comb
from typing import Any, assert_type

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sternhalma as sh

BOARD = sh.Board(9, 6)
PLAYERS = ["x", "o"]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def armies(side: int, pieces: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, side * side - 1), min_size=pieces, max_size=pieces, unique=True)


@st.composite
def boards_and_armies(draw: st.DrawFn) -> tuple[sh.Board, list[list[int]]]:
    side, pieces = draw(st.sampled_from([(3, 1), (4, 3), (5, 6), (9, 6), (9, 10), (11, 15)]))
    return sh.Board(side, pieces), draw(st.lists(armies(side, pieces), max_size=20))


def test_a_board_has_its_properties() -> None:
    board = sh.Board(9, 10)
    assert (board.side, board.pieces, board.cells, board.states) == (9, 10, 81, comb(81, 10))
    assert board.home().tolist() == list(range(10)) == board.goal("o").tolist()
    assert board.goal().tolist() == list(range(71, 81)) == board.home("o").tolist()
    assert repr(board) == "Board(side=9, pieces=10)"
    assert board == sh.Board(side=9, pieces=10) != sh.Board()
    assert len({board, sh.Board(9, 10), sh.Board()}) == 2
    assert pickle.loads(pickle.dumps(board)) == board


@pytest.mark.parametrize("side", [3, 5, 9, 11])
def test_coordinates_follow_the_rows(side: int) -> None:
    coordinates = sh.Board(side, 1).coordinates()
    assert coordinates.dtype == np.uint8
    assert [tuple(place) for place in coordinates.tolist()] == oracle.places(side)


@pytest.mark.parametrize(("side", "pieces"), [(2, 1), (12, 6), (9, 0), (9, 16), (4, 17)])
def test_invalid_boards_are_refused(side: int, pieces: int) -> None:
    with pytest.raises(sh.BoardError):
        sh.Board(side, pieces)


@given(boards_and_armies(), st.sampled_from(PLAYERS), st.sampled_from(INTEGERS))
def test_ranks_are_those_of_the_number_system(
    case: tuple[sh.Board, list[list[int]]], player: str, dtype: type[np.integer[Any]]
) -> None:
    board, rows = case
    cells = np.array(rows, dtype=dtype).reshape(-1, board.pieces)
    ranks = sh.rank(cells, board=board, player=player)
    assert ranks.dtype == np.uint64
    assert ranks.tolist() == [oracle.rank(board.side, row, player) for row in rows]
    back = sh.unrank(ranks, board=board, player=player)
    assert back.dtype == np.uint8
    assert back.tolist() == [sorted(row) for row in rows]


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("pieces", range(1, 16))
def test_armies_of_any_size_have_ranks_or_faults(pieces: int, player: str) -> None:
    rng = np.random.default_rng(pieces)
    board = sh.Board(11, pieces)
    rows = np.array([rng.permutation(121)[:pieces] for _ in range(50)])
    assert sh.rank(rows, board=board, player=player).tolist() == [oracle.rank(11, row, player) for row in rows.tolist()]
    for place in range(pieces):
        for wrong in (121, 127, 128, 200, 255, rows[7, place - 1]):
            cells = rows.copy()
            cells[7, place] = wrong
            if wrong < 121 and pieces == 1:
                continue
            with pytest.raises(sh.StateError, match="state 7: "):
                sh.rank(cells, board=board, player=player)
            with pytest.raises(sh.StateError, match="state 7: "):
                sh.rank(np.sort(cells, axis=1), board=board, player=player)


@pytest.mark.parametrize("player", PLAYERS)
def test_all_ranks_of_small_boards_invert(player: str) -> None:
    for side, pieces in [(3, 2), (4, 3), (5, 4)]:
        board = sh.Board(side, pieces)
        ranks = np.arange(board.states, dtype=np.uint64)
        cells = sh.unrank(ranks, board=board, player=player)
        assert (np.diff(cells.astype(int), axis=1) > 0).all()
        assert (sh.rank(cells[:, ::-1], board=board, player=player) == ranks).all()


def test_leading_dimensions_are_free() -> None:
    ranks = np.arange(24).reshape(2, 3, 4)
    cells = BOARD.unrank(ranks)
    assert cells.shape == (2, 3, 4, 6)
    assert (BOARD.rank(cells) == ranks).all()
    assert (BOARD.rank(cells.transpose(2, 0, 1, 3)) == ranks.transpose(2, 0, 1)).all()
    assert (BOARD.rank(np.asfortranarray(cells)) == ranks).all()
    assert BOARD.format(cells).shape == (2, 3, 4)
    assert (BOARD.parse(BOARD.format(cells)) == cells).all()
    one = BOARD.rank(cells[1, 2, 3])
    assert one == 23 and np.ndim(one) == 0
    assert BOARD.unrank(23).tolist() == cells[1, 2, 3].tolist()
    assert BOARD.unrank([]).shape == (0, 6) and BOARD.rank(np.empty((0, 6), np.uint8)).shape == (0,)
    assert BOARD.parse([]).shape == (0, 6)


BAD_CELLS: list[tuple[Any, type[Exception], str]] = [
    ([[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 81]], sh.StateError, "state 1.*81"),
    ([[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 4]], sh.StateError, "state 1.*same cell"),
    ([[0, 1, 2, 3, 4, -1]], sh.StateError, "cell 5.*-1"),
    ([[0, 1, 2, 3, 4, 256]], sh.StateError, "cell 5.*256"),
    ([0, 1, 2], sh.StateError, "expected 6 cells"),
    (3, sh.StateError, "expected 6 cells"),
    ([0.0, 1, 2, 3, 4, 5], TypeError, "float64"),
    ([np.nan] * 6, TypeError, "float64"),
    ([2**70] * 6, sh.StateError, "cell 0"),
    ([True] * 6, TypeError, "bool"),
    (np.zeros(6), TypeError, "float64"),
    (np.array([None] * 6), TypeError, "object"),
    (["a1"] * 6, TypeError, "expected integers"),
    ([[0, 1], [2]], ValueError, "shape"),
    ([None] * 6, TypeError, "object"),
]


@pytest.mark.parametrize(("cells", "error", "text"), BAD_CELLS)
def test_bad_cells_are_refused(cells: Any, error: type[Exception], text: str) -> None:
    functions: list[Callable[[Any], object]] = [BOARD.rank, BOARD.format, BOARD.moves]
    for function in functions:
        with pytest.raises(error, match=text):
            function(cells)


@pytest.mark.parametrize("cell", range(81, 256))
def test_no_number_beyond_the_board_is_a_cell(cell: int) -> None:
    for player in PLAYERS:
        with pytest.raises(sh.StateError):
            BOARD.rank(np.array([0, 1, 2, 3, 4, cell], np.uint8), player=player)


def test_bad_ranks_are_refused() -> None:
    states = BOARD.states
    assert BOARD.unrank(states - 1).tolist() == list(range(6))
    bad = [([0, states], "state 1"), ([-1], "rank 0: -1"), ([5, 2**64], "rank 1"), ([2**64 - 1], "no state has rank")]
    for ranks, text in bad:
        with pytest.raises(sh.StateError, match=text):
            BOARD.unrank(ranks)
    for other in [[0.5], ["1"], [None], np.ones(2)]:
        with pytest.raises(TypeError):
            BOARD.unrank(other)  # type: ignore[arg-type]


def test_texts_of_states_are_read() -> None:
    home = list(range(6))
    for text in ["a1,a2,b1,a3,b2,c1", "c1,b2,a3,b1,a2,a1", "startpos", "#324540215"]:
        assert BOARD.parse(text).tolist() == home
    assert BOARD.parse("startpos", player="o").tolist() == list(range(75, 81))
    assert BOARD.parse(np.array([["startpos"], ["#0"]])).shape == (2, 1, 6)
    with pytest.raises(sh.NotationError, match="state 1"):
        BOARD.parse(["startpos", "z9"])
    with pytest.raises(sh.NotationError):
        BOARD.parse("a1,a1,a2,a3,b1,b2")
    with pytest.raises(TypeError):
        BOARD.parse([1, 2])  # type: ignore[list-item]
    with pytest.raises(sh.NotationError, match="player"):
        BOARD.rank(home, player="y")


@given(boards_and_armies())
def test_moves_are_steps_and_chains_of_jumps(case: tuple[sh.Board, list[list[int]]]) -> None:
    board, rows = case
    cells: NDArray[np.uint8] = np.array(rows, dtype=np.uint8).reshape(-1, board.pieces)
    found = sh.moves(cells, board=board)
    assert len(found.offsets) == len(rows) + 1 and found.offsets[-1] == len(found.source)
    for row, first, end in zip(rows, found.offsets[:-1], found.offsets[1:], strict=True):
        pairs = list(zip(found.source[first:end].tolist(), found.target[first:end].tolist(), strict=True))
        assert pairs == oracle.moves(board.side, set(row))


def test_texts_of_moves() -> None:
    moves = BOARD.moves(BOARD.home())
    texts = BOARD.format_moves(np.column_stack([moves.source, moves.target]))
    names = oracle.names(9)
    assert texts.tolist() == [f"{names[a]}-{names[b]}" for a, b in oracle.moves(9, set(range(6)))]
    assert BOARD.format_moves([5, 9]) == "c1-d1"
    with pytest.raises(sh.StateError, match="move 0"):
        BOARD.format_moves([[0, 81]])


def test_ranks_agree_with_the_command_line(sternhalma: Any) -> None:
    rng = np.random.default_rng(1)
    cells = BOARD.unrank(rng.integers(0, BOARD.states, 20))
    texts = BOARD.format(cells)
    assert [int(line) for line in sternhalma("rank", *texts).splitlines()] == BOARD.rank(cells).tolist()


def test_functions_need_a_board() -> None:
    # Cells of another board would be states of this one, without an error.
    for function in [sh.rank, sh.unrank, sh.parse, sh.format, sh.format_moves, sh.moves]:
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'board'"):
            function([0])  # type: ignore[operator]
    small = sh.Board(5, 3)
    assert (
        small.format(small.unrank([0, 1])).tolist() == sh.format(sh.unrank([0, 1], board=small), board=small).tolist()
    )
    assert small.rank(small.parse("a1,a2,b1", player="o"), player="o") == sh.rank([0, 1, 2], board=small, player="o")


def test_types_of_results_follow_from_arguments() -> None:
    one, two = [0, 1, 2, 3, 4, 5], [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]]
    assert type(assert_type(BOARD.rank(one), np.uint64)) is np.uint64
    assert type(assert_type(BOARD.rank(two), NDArray[np.uint64])) is np.ndarray
    assert type(assert_type(BOARD.format(one), str)) is str
    assert type(assert_type(BOARD.format(two), NDArray[np.str_])) is np.ndarray
    assert type(assert_type(BOARD.format_moves([0, 1]), str)) is str
    # An array may be a single state.
    assert type(BOARD.rank(np.array(one))) is np.uint64
