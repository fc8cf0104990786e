"""Matches of a rulesheet that advance together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arguments import COUNT32, check
from .._arrays import truth_values_of
from .._errors import ArgumentError
from .._native import VectorGame as NativeGame
from .._resources import threads_of
from ..ggp import Game
from ._environment import NativeEnvironment
from ._vector import Autoreset, VectorState

_MOST_LANES = 1 << 16


class VectorGame(NativeEnvironment):
    """Many matches of a rulesheet, which advance 512 at once.

    `game` may also be the name of a built-in rulesheet such as "tic-tac-toe", or the path of one.

    An action is the index of a move in `game.moves[role]`. The observation of a lane is its state: one byte per fluent
    of `game.fluents`. Matches of different lanes may be at different steps.

    The reward of a role at the end of its match follows from its goal: `reward_range` has the rewards for the goals 0
    and 100. By default this is (-1, 1) if there are two roles whose goals sum to 100, and (0, 1) otherwise.
    `simultaneous` gives each role an action; the default is found by random matches. A match is truncated after
    `max_steps`. With `packed`, only the bit planes are written, and `observation` and `legal` have no rows.

    Results do not depend on `threads`; 0 is one per processor core. 512 lanes take about 4 MiB.

    Raises `RulesheetError` if the initial state is terminal, or a rulesheet is too large. `step` and `set_state` raise
    it too if several roles have a choice in an environment that is not simultaneous.

    >>> environment = VectorGame("tic-tac-toe", lanes=1000)
    >>> state = environment.reset(seed=1)
    >>> for _ in range(5):
    ...     state = environment.step(environment.random_actions())
    >>> state.observation.shape, state.legal.shape, int(state.terminated.sum())
    ((1000, 29), (1000, 10), 79)
    """

    _refusal = "a VectorGame cannot be pickled; pickle its game and the rows of its observation, and set them again"

    _native: NativeGame

    game: Game
    """The game."""

    def __init__(
        self,
        game: Game | str,
        lanes: int = 512,
        *,
        threads: int = 1,
        autoreset: Autoreset = "next_step",
        max_steps: int | None = None,
        simultaneous: bool | None = None,
        reward_range: tuple[float, float] | None = None,
        packed: bool = False,
    ) -> None:
        check(VectorGame.__init__, locals(), lanes=(1, _MOST_LANES), max_steps=COUNT32)
        game = Game.open(game) if isinstance(game, str) else game
        native = NativeGame(
            game=game._native,
            lanes=lanes,
            threads=threads_of(threads),
            simultaneous=simultaneous,
            rewards=reward_range,
            max_steps=max_steps,
            is_packed=packed,
        )
        super().__init__(native, autoreset)
        self.game = game
        self.reset()

    def __repr__(self) -> str:
        return f"<sternhalma.rl.VectorGame of {', '.join(self.roles)}: {self.lanes} lanes>"

    @property
    def roles(self) -> tuple[str, ...]:
        return self.game.roles

    @property
    def reward_range(self) -> tuple[float, float]:
        """The rewards for the goals 0 and 100."""
        return self._native.reward_range

    @property
    def planes(self) -> NDArray[np.uint64]:
        """The observations in bits: uint64 (blocks, fluents, 8), written in each step.

        The fluent f of lane 512 b + 64 w + i is bit i of `planes[b, f, w]`. Bits beyond the lanes have no meaning.
        """
        return self._arrays.planes

    @property
    def legal_planes(self) -> NDArray[np.uint64]:
        """The legal actions in bits, as in `planes`: uint64 (blocks, max_moves, 8), or (blocks, roles, max_moves, 8) if
        the environment is simultaneous."""
        return self._arrays.legal_planes

    def set_state(self, mask: ArrayLike, rows: ArrayLike) -> VectorState:
        """Puts the lanes in which `mask` (bool, (lanes,)) is true in given states.

        `rows` has one row of fluents per such lane, such as `State.row` or a row of an observation. The number of steps
        of these lanes is 0 afterwards. If the state is terminal, its goals are the rewards.

        Raises `ArgumentError` if an array has another shape.
        """
        selected = self._mask(mask)
        values = truth_values_of(rows)
        expected = (int(selected.sum()), len(self.game.fluents))
        if values.shape != expected:
            raise ArgumentError(f"rows: expected the shape {expected}, got {values.shape}")
        self._native.set_state(selected, values)
        return self._state
