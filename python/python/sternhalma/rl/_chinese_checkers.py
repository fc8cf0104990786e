"""Chinese Checkers for two players as a vectorised environment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arguments import COUNT32, INT64, check
from .._arrays import contiguous, integers_of
from .._board import DEFAULT_BOARD
from .._errors import ArgumentError, IndexOutOfRange
from .._native import Board, CheckersLanes, Position
from .._resources import threads_of
from .._table import Table
from ._environment import NativeEnvironment, NativeLanes
from ._vector import Autoreset, VectorState

_ROLES = ("x", "o")

#: More lanes need more memory than machines have.
LANES = (1, 2**32 - 1)
FLOAT32 = (-3.4e38, 3.4e38)


class VectorChineseCheckers(NativeEnvironment):
    """Many matches of Chinese Checkers for two players, which advance together.

    The roles are x and o, and x moves first. `threads` share the lanes; 0 is one per processor core. `autoreset` is
    what happens to the lanes whose match is over, as in `VectorEnvironment`.

    The player to move sees the board from its own home: for x, cells have their usual numbers, and for o the board is
    turned, so that cell c has the number `board.cells - 1 - c`. The observation has the shape (2 * cells,): a plane
    with the pieces of the player to move, and one with those of the other. The action `source * cells + target` moves
    a piece, in the same numbers. The last action is a pass, which is legal only if there is no move.

    The winner's reward is 1, the loser's is -1, and a draw has 0. A match is truncated as a draw at the ply
    `ply_limit`, and terminated by a win or by two passes in a row. `rules` is the rule set, as in `Position`: under
    "blocked-goal" no move may seal the goal of the other player, unless it wins, and the third occurrence of a position
    terminates the match as a draw; "paper" has neither rule.

    With a `table` of the board, `distances` and `teacher` look up exact distances. `shaping` adds to each reward the
    change of the player's lead in the step, multiplied by this number; the lead is the distance of the other army minus
    that of the own. Distances that the table does not cover are estimated for it.

    One thread at a time may use an environment; others get a `CallError` while it steps.

    Raises `BoardError` if the armies overlap, `NotationError` if there is no such rule set, and `ArgumentError` if
    the table is of another board.
    """

    _native: CheckersLanes

    _refusal = "a VectorChineseCheckers cannot be pickled; pickle the positions of its lanes, and set them again"

    def __init__(
        self,
        board: Board = DEFAULT_BOARD,
        lanes: int = 512,
        *,
        threads: int = 1,
        table: Table | None = None,
        shaping: float = 0.0,
        ply_limit: int = 1000,
        rules: str = "blocked-goal",
        autoreset: Autoreset = "next_step",
    ) -> None:
        check(VectorChineseCheckers.__init__, locals(), lanes=LANES, ply_limit=COUNT32, shaping=FLOAT32)
        if shaping and table is None:
            raise ArgumentError("shaping: expected a table too")
        native = CheckersLanes(
            board=board,
            lanes=lanes,
            threads=threads_of(threads),
            table=None if table is None else table._native,
            shaping=shaping,
            ply_limit=ply_limit,
            rules=rules,
        )
        super().__init__(native, autoreset)
        self._board, self._table, self._ply_limit, self._rules = board, table, ply_limit, rules

    def _attach(self, native: NativeLanes) -> None:
        super()._attach(native)
        self._distances = np.zeros((self.lanes, 2), np.uint8)
        self._teacher: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return f"<sternhalma.rl.VectorChineseCheckers: {self.lanes} lanes of {self._board}>"

    @property
    def board(self) -> Board:
        """The board and the number of pieces of an army."""
        return self._board

    @property
    def table(self) -> Table | None:
        """The table, if there is one."""
        return self._table

    @property
    def roles(self) -> tuple[str, ...]:
        return _ROLES

    def set_state(self, mask: ArrayLike, rows: Sequence[str | Position] | ArrayLike) -> VectorState:
        """Puts the lanes in which `mask` (bool, (lanes,)) is true in given states, one row per such lane.

        A row is a `Position`, a position string, or in an array of integers of the shape (n, 2 * pieces + 1): the cells
        of x, the cells of o, and the player to move, 0 or 1. Cells have their usual numbers. The number of steps of
        these lanes is 0 afterwards. The ply of a position counts towards the limit; in an array it is 0. The position
        is the first that counts for repetition.

        Raises `NotationError` or `StateError` with the first row that is no state of the board, and `ArgumentError` if
        the number of rows is another. No lane changes then.
        """
        selected = self._mask(mask)
        texts = [row for row in rows if isinstance(row, str | Position)] if isinstance(rows, Sequence) else []
        if texts and len(texts) == len(rows):  # type: ignore[arg-type]
            self._native.set_positions(selected, [self._position(row) for row in texts])
            return self._state
        array = integers_of(rows, 255, "number")  # type: ignore[arg-type]
        width = 2 * self._board.pieces + 1
        if array.ndim != 2 or array.shape[1] != width:
            raise ArgumentError(f"rows: expected the shape (n, {width}), got {array.shape}")
        self._native.set_cells(selected, contiguous(array, np.uint8))
        return self._state

    def position(self, lane: int) -> Position:
        """Returns the position of a lane. Raises `IndexOutOfRange` if there is no such lane."""
        check(VectorChineseCheckers.position, locals(), lane=INT64)
        if not 0 <= lane < self.lanes:
            raise IndexOutOfRange(f"there is no lane {lane}; the lanes are 0 to {self.lanes - 1}")
        return self._position(self._native.position(lane))

    def distances(self) -> NDArray[np.uint8]:
        """Returns the distances of both armies in each lane: uint8 (lanes, 2), of x and of o.

        The array is always the same. A distance is `OUTSIDE` if the table does not cover the army.

        Raises `ArgumentError` without a table, and `DamagedTable`.
        """
        self._native.distances(self._distances)
        return self._distances

    def teacher(self) -> NDArray[np.bool_]:
        """Returns the legal actions after which the distance of the own army is smallest: bool (lanes, max_moves).

        The array is always the same. All legal actions are selected if the table covers none of these armies, and if
        the match is over.

        Raises `ArgumentError` without a table, and `DamagedTable`.
        """
        if self._teacher is None:
            self._teacher = np.zeros_like(self._state.legal)
        self._native.best_actions(self._teacher)
        return self._teacher

    def _position(self, row: str | Position) -> Position:
        if isinstance(row, Position):
            return row
        return Position(row, board=self._board, ply_limit=self._ply_limit, rules=self._rules)
