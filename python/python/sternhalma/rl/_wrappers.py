"""Wrappers for the interfaces of other packages, which are imported when they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._arguments import check
from .._errors import MissingPackage
from .._resources import memory_of, warn_of_removed
from ..ggp._game import DEFAULT_MEMORY
from ._vector import VectorEnvironment
from ._vector_game import VectorGame
from ._wrapper_base import Illegal, Opponent

if TYPE_CHECKING:
    import gymnasium as gym
    from gymnasium.vector import VectorEnv
    from pettingzoo import AECEnv


@contextmanager
def _extra(name: str) -> Iterator[None]:
    """Names the extra of this package that has a missing one.

    Raises `MissingPackage`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or name).split(".")[0]
        text = f"rl.{name} needs the package {package}; `pip install 'sternhalma[{name}]'` installs it"
        raise MissingPackage(f"{text} (in a copy of the repository: './python[{name}]')", name=package) from None


class PolicyOpponent:
    """An opponent that searches each state by a policy, such as "uct", with a number of playouts per move.

    The lanes are searched one by one, so that few lanes and few playouts are advisable. Every search has a seed of its
    own. A reset of the environment with a seed restarts the sequence of these seeds.
    """

    __slots__ = ("_searches", "playouts", "policy", "seed")

    def __init__(self, policy: str = "uct", *, playouts: int = 100, seed: int = 1) -> None:
        check(PolicyOpponent.__init__, locals())
        warn_of_removed(policy)
        self.policy = policy
        self.playouts = playouts
        self.seed = seed
        self._searches = 0

    def reset(self, seed: int) -> None:
        """Restarts the sequence of search seeds at `seed`."""
        check(PolicyOpponent.reset, locals())
        self.seed = seed
        self._searches = 0

    def __call__(self, environment: VectorGame, mask: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Returns an action for each lane of the mask."""
        game, state, memory = environment.game, environment.state, memory_of(DEFAULT_MEMORY)
        actions = np.zeros(environment.lanes, np.int32)
        for lane in np.flatnonzero(mask):
            role, seed = int(state.player[lane]), (self.seed + self._searches) % 2**64
            root = game.state(state.observation[lane])
            found = game._search(root, self.policy, role, self.playouts, None, seed, memory)
            actions[lane] = game.moves[game.roles[role]].index(found.move)
            self._searches += 1
        return actions


def gymnasium(
    environment: VectorEnvironment,
    *,
    role: int | str | None = None,
    opponent: Opponent | Literal["random"] | None = None,
    illegal: Illegal = "terminate",
    copy: bool = True,
) -> VectorEnv[Any, Any, Any]:
    """Returns a `gymnasium.vector.VectorEnv` of the lanes, for one agent.

    With an `opponent`, the agent plays `role` (by default the first), and the opponent all other roles; "random"
    chooses legal actions uniformly. Without one, the agent moves for the role to move, and the reward is that role's.
    `info["action_mask"]` has the legal actions, bool (lanes, max_moves), and `info["player"]` the role to move.

    `autoreset` of the environment is the mode in `metadata["autoreset_mode"]`. An environment has one wrapper, which
    begins its matches. `reset` takes a seed, or a list of one seed per lane. In the mode "same_step",
    `info["final_obs"]` has the last observations. An illegal action ends the match with the lowest reward
    ("terminate"), with `info["illegal"]`, or raises `IllegalAction` ("raise"). Arrays are copies, unless `copy` is
    false.

    Raises `MissingPackage` without gymnasium, and `ArgumentError` if the environment is simultaneous or packed, or has
    a wrapper. `step` raises `ArgumentTypeError` for actions that are not integers.
    """
    check(gymnasium, locals())
    with _extra("gymnasium"):
        from ._gymnasium import GymnasiumVector

    return GymnasiumVector(environment, role, opponent, illegal, copy)


def gymnasium_single(
    environment: VectorEnvironment,
    *,
    role: int | str | None = None,
    opponent: Opponent | Literal["random"] | None = None,
    illegal: Illegal = "terminate",
) -> gym.Env[Any, Any]:
    """Returns a `gymnasium.Env` of an environment with one lane, for one agent.

    The arguments are those of `gymnasium`. The environment does not begin a new match by itself.

    Raises `MissingPackage` without gymnasium, and `ArgumentError` as `gymnasium` does and if there are several lanes.
    """
    check(gymnasium_single, locals())
    with _extra("gymnasium"):
        from ._gymnasium import GymnasiumSingle

    return GymnasiumSingle(environment, role, opponent, illegal)


def pettingzoo(environment: VectorEnvironment, *, name: str = "sternhalma") -> AECEnv:
    """Returns a `pettingzoo.AECEnv` of an environment with one lane, with one agent per role.

    An observation has the entries "observation" and "action_mask" (int8). The mask of an agent that is not to move is
    0. If the environment is simultaneous, the agents choose one after another, and then play at once.

    Raises `MissingPackage` without pettingzoo, and `ArgumentError` if there are several lanes, or the environment has a
    wrapper.
    """
    check(pettingzoo, locals())
    with _extra("pettingzoo"):
        from ._pettingzoo import PettingZoo

    return PettingZoo(environment, name)
