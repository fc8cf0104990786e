"""The interface of vectorised environments."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _native
from .._arrays import shown
from .._errors import ArgumentError

Autoreset = Literal["next_step", "same_step", False]
"""A mode of `VectorEnvironment.autoreset`."""


_MODES = {"next_step": _native.Autoreset.NextStep, "same_step": _native.Autoreset.SameStep}


def mode_of(autoreset: Autoreset) -> _native.Autoreset:
    """Returns a mode as the compiled module takes it.

    Raises `ArgumentError` if there is no such mode.
    """
    if autoreset is False:
        return _native.Autoreset.Never
    if autoreset not in ("next_step", "same_step"):
        raise ArgumentError(f"autoreset: expected 'next_step', 'same_step' or False, got {shown(autoreset)}")
    return _MODES[autoreset]


class VectorState(NamedTuple):
    """The arrays of an environment, which have one row per lane.

    The environment reuses the arrays: each call of `reset`, `set_state` and `step` writes new values to them. `copy`
    returns fresh arrays.

    `observation` is uint8 of shape (lanes, *observation_shape), with the values 0 and 1.

    `legal` has the legal actions of the role to move: bool (lanes, max_moves), or (lanes, roles, max_moves) if the
    environment is simultaneous. All actions are legal in a lane whose match is over; they are ignored.

    `player` is the role to move: int8 (lanes,), with -1 if several roles have a choice or the match is over.

    `reward` has the reward of each role for the last step: float32 (lanes, roles).

    `terminated` and `truncated`, both bool (lanes,), say whether the match ended by the rules or by a limit of steps.

    `steps` is the number of steps played in the match: uint32 (lanes,).
    """

    observation: NDArray[np.uint8]
    legal: NDArray[np.bool_]
    player: NDArray[np.int8]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    steps: NDArray[np.uint32]

    def copy(self) -> VectorState:
        """Returns the same values in fresh arrays."""
        return VectorState(
            self.observation.copy(),
            self.legal.copy(),
            self.player.copy(),
            self.reward.copy(),
            self.terminated.copy(),
            self.truncated.copy(),
            self.steps.copy(),
        )

    def __copy__(self) -> VectorState:
        return self.copy()


@runtime_checkable
class VectorEnvironment(Protocol):
    """Many matches of one game, which advance together; each has a *lane*.

    `VectorGame` and `VectorChineseCheckers` satisfy this interface, and the wrappers for Gymnasium and
    PettingZoo need nothing else. The same seeds and actions give the same results for any number of threads.
    """

    @property
    def autoreset(self) -> Autoreset:
        """What happens to the lanes whose match is over. It may be changed between two calls.

        With "next_step", the next step begins a new match and ignores the action of the lane. The reward of this step
        is 0. With "same_step", the step that ends a match also begins a new one. The state has the observation, the
        legal moves, the player and the number of steps of the new match, but the reward and the flags of the old one.
        With `False`, the lane does not change, and its reward is 0, until `reset` or `set_state`.

        Raises `ArgumentError` if there is no such mode.
        """
        ...

    @autoreset.setter
    def autoreset(self, autoreset: Autoreset) -> None: ...

    @property
    def lanes(self) -> int:
        """The number of lanes."""
        ...

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of the roles."""
        ...

    @property
    def simultaneous(self) -> bool:
        """Whether several roles may have a choice at once, so that each role has an action."""
        ...

    @property
    def max_moves(self) -> int:
        """The number of actions: an action is an integer from 0 to `max_moves` - 1."""
        ...

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of the observation of one lane."""
        ...

    @property
    def state(self) -> VectorState:
        """The arrays, which are always the same."""
        ...

    @property
    def final_observation(self) -> NDArray[np.uint8]:
        """The last observation of the matches that ended in the last step, in the shape of `observation`.

        The rows of other lanes have no meaning. The array is written only if `autoreset` is "same_step".
        """
        ...

    def reset(self, *, seed: int | None = None, mask: ArrayLike | None = None) -> VectorState:
        """Begins a new match in all lanes, or in those in which `mask` (bool, (lanes,)) is true.

        Their rewards are 0 afterwards. `seed` seeds the generators of random actions; without it, they continue. An
        environment that was never seeded has the seed 0.

        Raises `ArgumentError` if the mask has another shape, or the seed is not from 0 to 2**64 - 1.
        """
        ...

    def step(self, actions: ArrayLike, *, mask: ArrayLike | None = None) -> VectorState:
        """Plays an action in each lane: integers of shape (lanes,), or (lanes, roles) if simultaneous.

        The other roles play their only legal move. If there is a `mask` (bool, (lanes,)), the lanes in which it is
        false do not change, whatever their action is. Their reward is 0.

        Raises `IllegalAction` with the first lane whose action is not legal; no lane changes then. Raises
        `ArgumentTypeError` if actions are not integers, and `ArgumentError` if an array has another shape.
        """
        ...

    def random_actions(self) -> NDArray[np.int32]:
        """Returns a uniformly random legal action for each lane, in the shape that `step` takes.

        The array is always the same. The action of a lane whose match is over is 0.
        """
        ...

    def set_state(self, mask: ArrayLike, rows: Any) -> VectorState:
        """Puts the lanes in which `mask` (bool, (lanes,)) is true in given states, one row per such lane.

        The number of steps of these lanes is 0 afterwards. The form of a row depends on the environment.
        """
        ...

    def clone(self) -> Self:
        """Returns an independent environment in the same states, with the same generators of random actions.

        `copy.copy` and `copy.deepcopy` do the same. An environment cannot be pickled.
        """
        ...

    def action_name(self, role: int, action: int) -> str:
        """Returns the name of an action of a role.

        Raises `IndexOutOfRange` if there is none.
        """
        ...
