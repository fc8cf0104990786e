"""Matches of a rulesheet that advance together."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _native
from .._arrays import check_actions, contiguous
from .._copies import Unpicklable
from .._errors import IllegalAction
from .._resources import threads_of
from ..ggp import Game
from ._vector import Autoreset, VectorState, mode_name

_MOST_LANES = 1 << 16


class VectorGame(Unpicklable):
    """Many matches of a rulesheet, which advance 512 at once.

    An action is the index of a move in `game.moves[role]`. The observation of a lane is its state: one byte per fluent
    of `game.fluents`. Matches of different lanes may be at different steps.

    The reward of a role at the end of its match follows from its goal: `reward_range` has the rewards for the goals 0
    and 100. By default this is (-1, 1) if there are two roles whose goals sum to 100, and (0, 1) otherwise.
    `simultaneous` gives each role an action; the default is found by random matches. A match is truncated after
    `max_steps`. With `packed`, only the bit planes are written, and `observation` and `legal` have no rows.

    Results do not depend on `threads`; 0 is one per processor core. 512 lanes take about 4 MiB.

    Raises `RulesheetError` if the initial state is terminal, or a rulesheet is too large. `step` and `set_state` raise
    it too if several roles have a choice in an environment that is not simultaneous.

    >>> from sternhalma.ggp import Game, games
    >>> environment = VectorGame(Game(games()["tic-tac-toe"]), lanes=1000)
    >>> state = environment.reset(seed=1)
    >>> for _ in range(5):
    ...     state = environment.step(environment.random_actions())
    >>> state.observation.shape, state.legal.shape, int(state.terminated.sum())
    ((1000, 29), (1000, 10), 79)
    """

    __slots__ = (
        "__weakref__",
        "_actions",
        "_final",
        "_flat_actions",
        "_legal_planes",
        "_native",
        "_planes",
        "_state",
        "autoreset",
        "game",
    )

    _refusal = "a VectorGame cannot be pickled; pickle its game and the rows of its observation, and set them again"

    game: Game
    """The game."""
    autoreset: Autoreset
    """What happens to the lanes whose match is over. It may be changed between two calls."""

    def __init__(
        self,
        game: Game,
        lanes: int = 512,
        *,
        threads: int = 1,
        autoreset: Autoreset = "next_step",
        max_steps: int | None = None,
        simultaneous: bool | None = None,
        reward_range: tuple[float, float] | None = None,
        packed: bool = False,
    ) -> None:
        if not 1 <= lanes <= _MOST_LANES:
            raise ValueError(f"lanes: expected 1 to {_MOST_LANES}, got {lanes}")
        if max_steps is not None and not 1 <= max_steps < 2**32:
            raise ValueError(f"max_steps: expected 1 to {2**32 - 1}, got {max_steps}")
        mode_name(autoreset)
        native = _native.VectorGame(
            game._native, lanes, threads_of(threads), simultaneous, reward_range, max_steps, packed
        )
        self._set(game, native, lanes, packed, autoreset)
        self.reset()

    def _set(self, game: Game, native: _native.VectorGame, lanes: int, packed: bool, autoreset: Autoreset) -> None:
        """Sets all attributes."""
        self.game = game
        self.autoreset = autoreset
        self._native = native
        roles, fluents, moves = len(game.roles), len(game.fluents), native.max_moves
        choices = (roles, moves) if native.simultaneous else (moves,)
        blocks, rows = -(-lanes // 512), 0 if packed else lanes
        (observation, legal, planes, legal_planes, player, reward, terminated, truncated, steps, final) = native.arrays
        self._state = VectorState(
            observation.reshape(rows, fluents),
            legal.view(np.bool_).reshape(rows, *choices),
            player,
            reward.reshape(lanes, roles),
            terminated.view(np.bool_),
            truncated.view(np.bool_),
            steps,
        )
        self._final: NDArray[np.uint8] = final.reshape(rows, fluents)
        self._planes: NDArray[np.uint64] = planes.reshape(blocks, fluents, 8)
        self._legal_planes: NDArray[np.uint64] = legal_planes.reshape(blocks, *choices, 8)
        shape = (lanes, roles) if native.simultaneous else (lanes,)
        self._actions = np.zeros(shape, np.int32)
        self._flat_actions = self._actions.reshape(-1)

    def __repr__(self) -> str:
        return f"<sternhalma.rl.VectorGame of {', '.join(self.roles)}: {self.lanes} lanes>"

    @property
    def lanes(self) -> int:
        """The number of lanes."""
        return len(self._state.player)

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of the roles."""
        return self.game.roles

    @property
    def simultaneous(self) -> bool:
        """Whether several roles may have a choice at once, so that each role has an action."""
        return self._native.simultaneous

    @property
    def max_moves(self) -> int:
        """The number of actions: an action is an integer from 0 to `max_moves` - 1."""
        return self._native.max_moves

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of the observation of one lane: (fluents,)."""
        return (len(self.game.fluents),)

    @property
    def reward_range(self) -> tuple[float, float]:
        """The rewards for the goals 0 and 100."""
        return self._native.reward_range

    @property
    def state(self) -> VectorState:
        """The arrays, which are always the same."""
        return self._state

    @property
    def final_observation(self) -> NDArray[np.uint8]:
        """The last observation of the matches that ended in the last step: uint8 (lanes, fluents).

        The rows of other lanes have no meaning. The array is written only if `autoreset` is "same_step".
        """
        return self._final

    @property
    def planes(self) -> NDArray[np.uint64]:
        """The observations in bits: uint64 (blocks, fluents, 8), written in each step.

        The fluent f of lane 512 b + 64 w + i is bit i of `planes[b, f, w]`. Bits beyond the lanes have no meaning.
        """
        return self._planes

    @property
    def legal_planes(self) -> NDArray[np.uint64]:
        """The legal actions in bits, as in `planes`: uint64 (blocks, max_moves, 8), or (blocks, roles, max_moves, 8) if
        the environment is simultaneous."""
        return self._legal_planes

    def reset(self, *, seed: int | None = None, mask: ArrayLike | None = None) -> VectorState:
        """Begins a new match in all lanes, or in those in which `mask` (bool, (lanes,)) is true.

        Their rewards are 0 afterwards. `seed` seeds the generators of random actions of all lanes; without it, they
        continue. An environment that was never seeded has the seed 0.

        Raises `ValueError` if the mask has another shape, or the seed is not from 0 to 2**64 - 1.
        """
        if seed is not None and not 0 <= seed < 2**64:
            raise ValueError(f"seed: expected 0 to 2**64 - 1, got {seed}")
        self._native.reset(seed, None if mask is None else self._mask(mask))
        return self._state

    def step(self, actions: ArrayLike, *, mask: ArrayLike | None = None) -> VectorState:
        """Plays an action in each lane: integers of shape (lanes,), or (lanes, roles) if simultaneous.

        The other roles play their only legal move. If there is a `mask` (bool, (lanes,)), the lanes in which it is
        false do not change, whatever their action is. Their reward is 0.

        Raises `IllegalAction` with the first lane whose action is not legal; no lane changes then.
        """
        flat = self._flat_actions if actions is self._actions else self._actions_of(actions)
        try:
            self._native.step(flat, None if mask is None else self._mask(mask), mode_name(self.autoreset))
        except IllegalAction as error:
            lane = error.args[0]
            if not isinstance(lane, int):
                raise
            raise IllegalAction(self._complaint(lane, np.asarray(actions)[lane])) from None
        return self._state

    def random_actions(self) -> NDArray[np.int32]:
        """Returns a uniformly random legal action for each lane, in the shape that `step` takes.

        The array is always the same. The action of a lane whose match is over is 0.
        """
        self._native.random_actions(self._flat_actions)
        return self._actions

    def set_state(self, mask: ArrayLike, rows: ArrayLike) -> VectorState:
        """Puts the lanes in which `mask` (bool, (lanes,)) is true in given states.

        `rows` has one row of fluents per such lane, such as `State.row` or a row of an observation. The number of steps
        of these lanes is 0 afterwards. If the state is terminal, its goals are the rewards.

        Raises `ValueError` if an array has another shape.
        """
        lanes = self._mask(mask)
        values = contiguous(np.asarray(rows) != 0, np.uint8)
        expected = (int(lanes.sum()), len(self.game.fluents))
        if values.shape != expected:
            raise ValueError(f"rows: expected the shape {expected}, got {values.shape}")
        self._native.set_state(lanes, values.reshape(-1))
        return self._state

    def clone(self) -> Self:
        """Returns an independent environment in the same states, with the same generators of random actions.

        `copy.copy` and `copy.deepcopy` do the same. An environment cannot be pickled.
        """
        other = object.__new__(type(self))
        packed = len(self._state.observation) == 0
        other._set(self.game, self._native.clone(), self.lanes, packed, self.autoreset)
        return other

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def action_name(self, role: int, action: int) -> str:
        """Returns the name of an action of a role.

        Raises `IndexError` if there is none.
        """
        if role < 0 or action < 0:
            raise IndexError(f"there is no action {action} of role {role}")
        return self.game.moves[self.roles[role]][action]

    def _mask(self, mask: ArrayLike) -> NDArray[np.uint8]:
        array = np.asarray(mask)
        if array.dtype != np.bool_ or array.shape != (self.lanes,):
            raise ValueError(f"mask: expected bool of the shape ({self.lanes},), got {array.dtype} of {array.shape}")
        return np.ascontiguousarray(array).view(np.uint8)

    def _actions_of(self, actions: ArrayLike) -> NDArray[np.int32]:
        array = np.asarray(actions)
        if array.shape != self._actions.shape:
            raise ValueError(f"actions: expected the shape {self._actions.shape}, got {array.shape}")
        check_actions(array)
        if array.dtype.itemsize >= 4 and array.dtype != np.int32:
            # Integers that do not fit are illegal, and stay so.
            array = array.clip(-1 if array.dtype.kind == "i" else 0, 2**16)
        return contiguous(array, np.int32).reshape(-1)

    def _complaint(self, lane: int, actions: Any) -> str:
        """Returns the message for illegal actions of a lane."""
        player = int(self._state.player[lane])
        if self.simultaneous:
            return f"lane {lane}: {actions.tolist()} are not legal actions of {', '.join(self.roles)}"
        moves = self.game.moves[self.roles[player]]
        name = f" ({moves[actions]})" if 0 <= actions < len(moves) else ""
        return f"lane {lane}: {actions}{name} is not a legal action of {self.roles[player]}"
