"""Chinese Checkers for two players as a vectorised environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _native
from .._arrays import _integers, check_actions, contiguous
from .._board import DEFAULT_BOARD
from .._copies import Unpicklable
from .._native import Board, Position
from .._resources import threads_of
from .._table import Table
from ._vector import Autoreset, VectorState, mode_name

_ROLES: tuple[Literal["x", "o"], ...] = ("x", "o")


class VectorChineseCheckers(Unpicklable):
    """Many matches of Chinese Checkers for two players, which advance together.

    The class satisfies `VectorEnvironment`. The roles are x and o, and x moves first. `threads` share the lanes; 0 is
    one per processor core. `autoreset` is what happens to the lanes whose match is over: "next_step", "same_step" or
    `False`, as in `Autoreset`. It may be changed between two calls.

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

    One thread at a time may use an environment; others get a `RuntimeError` while it steps.

    Raises `BoardError` if the armies overlap, `NotationError` if there is no such rule set, and `ValueError` if the
    table is of another board.
    """

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
        for name, value, least in [("lanes", lanes, 1), ("ply_limit", ply_limit, 1)]:
            if value < least:
                raise ValueError(f"{name}: expected {least} or more, got {value}")
        if not np.isfinite(shaping):
            raise ValueError(f"shaping: expected a finite number, got {shaping}")
        if shaping and table is None:
            raise ValueError("shaping: expected a table too")
        mode_name(autoreset)
        threads = threads_of(threads)
        self.autoreset: Autoreset = autoreset
        self._board, self._table, self._ply_limit, self._rules = board, table, ply_limit, rules
        self._state = VectorState(
            np.zeros((lanes, 2 * board.cells), np.uint8),
            np.zeros((lanes, board.cells**2 + 1), np.bool_),
            np.zeros(lanes, np.int8),
            np.zeros((lanes, 2), np.float32),
            np.zeros(lanes, np.bool_),
            np.zeros(lanes, np.bool_),
            np.zeros(lanes, np.uint32),
        )
        self._final = np.zeros_like(self._state.observation)
        native = None if table is None else table._native
        self._native = _native.CheckersLanes(board, threads, native, shaping, ply_limit, rules, self._arrays())
        self._make_outputs()

    def _arrays(self) -> dict[str, Any]:
        return {**self._state._asdict(), "final_observation": self._final}

    def _make_outputs(self) -> None:
        """Makes the arrays that methods return."""
        self._random = np.zeros(self.lanes, np.int32)
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
    def lanes(self) -> int:
        """The number of lanes."""
        return len(self._state.player)

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of the roles: x and o."""
        return _ROLES

    @property
    def simultaneous(self) -> bool:
        """Whether each role has an action: no."""
        return False

    @property
    def max_moves(self) -> int:
        """The number of actions: the square of the number of cells, and a pass."""
        return self._board.cells**2 + 1

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of the observation of one lane."""
        return self._state.observation.shape[1:]

    @property
    def state(self) -> VectorState:
        """The arrays, which are always the same."""
        return self._state

    @property
    def final_observation(self) -> NDArray[np.uint8]:
        """The last observation of the matches that ended in the last step, if `autoreset` is "same_step".

        The rows of other lanes have no meaning.
        """
        return self._final

    def reset(self, *, seed: int | None = None, mask: ArrayLike | None = None) -> VectorState:
        """Begins a new match in all lanes, or in those in which `mask` (bool, (lanes,)) is true.

        `seed` seeds the generators of the random actions of all lanes. Without it, they continue. An environment that
        was never seeded has the seed 0.

        Raises `ValueError` if the mask has another shape, or the seed is not from 0 to 2**64 - 1.
        """
        if seed is not None and not 0 <= seed < 2**64:
            raise ValueError(f"seed: expected 0 to 2**64 - 1, got {seed}")
        self._native.reset(seed, None if mask is None else self._mask(mask))
        return self._state

    def step(self, actions: ArrayLike, *, mask: ArrayLike | None = None) -> VectorState:
        """Plays an action in each lane: integers of shape (lanes,).

        If there is a `mask` (bool, (lanes,)), the lanes in which it is false do not change. Their reward is 0.

        Raises `IllegalAction` with the first lane whose action is not legal; no lane changes then.
        """
        array = np.asarray(actions)
        if array.shape != (self.lanes,):
            raise ValueError(f"actions: expected the shape ({self.lanes},), got {array.shape}")
        check_actions(array)
        selected = None if mask is None else self._mask(mask)
        self._native.step(contiguous(array, np.int64), selected, mode_name(self.autoreset))
        return self._state

    def random_actions(self) -> NDArray[np.int32]:
        """Returns a uniformly random legal action for each lane, as int32 of shape (lanes,).

        The array is always the same. The action of a lane whose match is over is 0.
        """
        self._native.random_actions(self._random)
        return self._random

    def set_state(self, mask: ArrayLike, rows: Sequence[str | Position] | ArrayLike) -> VectorState:
        """Puts the lanes in which `mask` (bool, (lanes,)) is true in given states, one row per such lane.

        A row is a `Position`, a position string, or in an array of integers of the shape (n, 2 * pieces + 1): the cells
        of x, the cells of o, and the player to move, 0 or 1. Cells have their usual numbers. The number of steps of
        these lanes is 0 afterwards. The ply of a position counts towards the limit; in an array it is 0. The position
        is the first that counts for repetition.

        Raises `NotationError` or `StateError` with the first row that is no state of the board, and `ValueError` if the
        number of rows is another. No lane changes then.
        """
        lanes = np.flatnonzero(self._mask(mask)).tolist()
        texts = [row for row in rows if isinstance(row, str | Position)] if isinstance(rows, Sequence) else []
        if texts and len(texts) == len(rows):  # type: ignore[arg-type]
            self._native.set_positions(lanes, [self._position(row) for row in texts])
            return self._state
        array = _integers(rows, 255, "number")  # type: ignore[arg-type]
        width = 2 * self._board.pieces + 1
        if array.ndim != 2 or array.shape[1] != width:
            raise ValueError(f"rows: expected the shape (n, {width}), got {array.shape}")
        self._native.set_cells(lanes, contiguous(array, np.uint8))
        return self._state

    def clone(self) -> Self:
        """Returns an independent environment in the same states, with the same generators of random actions.

        `copy.copy` and `copy.deepcopy` do the same. An environment cannot be pickled.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._state, other._final = self._state.copy(), self._final.copy()
        other._native = self._native.copy(other._arrays())
        other._make_outputs()
        return other

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def action_name(self, role: int, action: int) -> str:
        """Returns the move of an action of a role, such as "c1-e3" or "pass", with the usual names of the cells.

        Raises `IndexError` if there is none.
        """
        name = None
        if 0 <= role < 2 and 0 <= action < self.max_moves:
            name = self._native.action_text(_ROLES[role], action)
        if name is None:
            raise IndexError(f"there is no action {action} of role {role}")
        return name

    def position(self, lane: int) -> Position:
        """Returns the position of a lane. Raises `IndexError` if there is no such lane."""
        if not 0 <= lane < self.lanes:
            raise IndexError(f"there is no lane {lane}; the lanes are 0 to {self.lanes - 1}")
        return self._position(self._native.position(lane))

    def distances(self) -> NDArray[np.uint8]:
        """Returns the distances of both armies in each lane: uint8 (lanes, 2), of x and of o.

        The array is always the same. A distance is `OUTSIDE` if the table does not cover the army.

        Raises `ValueError` without a table, and `DamagedTable`.
        """
        self._native.distances(self._distances)
        return self._distances

    def teacher(self) -> NDArray[np.bool_]:
        """Returns the legal actions after which the distance of the own army is smallest: bool (lanes, max_moves).

        The array is always the same. All legal actions are selected if the table covers none of these armies, and if
        the match is over.

        Raises `ValueError` without a table, and `DamagedTable`.
        """
        if self._teacher is None:
            self._teacher = np.zeros_like(self._state.legal)
        self._native.best_actions(self._teacher)
        return self._teacher

    def _position(self, row: str | Position) -> Position:
        if isinstance(row, Position):
            return row
        return Position(row, board=self._board, ply_limit=self._ply_limit, rules=self._rules)

    def _mask(self, mask: ArrayLike) -> NDArray[np.bool_]:
        """Returns a copy of a mask, which may be one of the arrays of the environment."""
        array = np.asarray(mask)
        if array.dtype != np.bool_ or array.shape != (self.lanes,):
            raise ValueError(f"mask: expected bool of shape ({self.lanes},), got {array.dtype} of shape {array.shape}")
        return array.copy()
