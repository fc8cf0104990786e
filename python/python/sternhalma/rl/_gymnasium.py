"""Environments of Gymnasium."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from .._arrays import check_actions, is_integer, role_of, shown
from .._errors import ArgumentError, ArgumentTypeError, CallError, IllegalAction
from ._vector import Autoreset, VectorEnvironment
from ._wrapper_base import Illegal, Opponent, Wrapper, step_only

_MODES: dict[Autoreset, AutoresetMode] = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    False: AutoresetMode.DISABLED,
}
_MOST_OPENINGS = 1000


class _Agent:
    """One agent in all lanes, with the roles that opponents play."""

    def __init__(
        self,
        environment: VectorEnvironment,
        role: int | str | None,
        opponent: Opponent | Literal["random"] | None,
        illegal: Illegal,
    ) -> None:
        if environment.simultaneous and len(environment.roles) > 1:
            raise ArgumentError("several roles of the environment move at once; Gymnasium has one agent")
        if len(environment.state.observation) != environment.lanes:
            raise ArgumentError("the environment is packed; expected one with observations")
        if opponent is None and role is not None and len(environment.roles) > 1:
            raise ArgumentError("opponent: expected one for the other roles")
        self.environment = environment
        self.state = environment.state
        self.role = 0 if role is None else role_of(role, environment.roles)
        self.opponent = opponent
        self.illegal = illegal
        self.lanes = np.arange(environment.lanes)
        self.legal = self.state.legal.reshape(environment.lanes, environment.max_moves)

    def spaces(self) -> tuple[spaces.Space[Any], spaces.Discrete]:
        """Returns the spaces of observations and of actions of one lane."""
        observation = spaces.Box(0, 1, self.environment.observation_shape, np.uint8)
        return observation, spaces.Discrete(self.environment.max_moves)

    def begin(self, mask: NDArray[np.bool_], seed: int | None = None) -> None:
        """Begins matches in some lanes, up to the first move of the agent."""
        self.environment.reset(seed=seed, mask=mask)
        restart = getattr(self.opponent, "reset", None)
        if seed is not None and restart is not None:
            restart(seed)
        for _ in range(_MOST_OPENINGS):
            self.respond(mask, np.zeros(len(mask), np.float32))
            # A match may end before the agent moves.
            mask = mask & (self.state.terminated | self.state.truncated)
            if not mask.any():
                return
            self.environment.reset(mask=mask)
        raise CallError("matches end before the agent moves")

    def respond(self, mask: NDArray[np.bool_], reward: NDArray[np.float32]) -> None:
        """Plays for the opponents in some lanes until the agent is to move, and adds the rewards of the agent."""
        while self.opponent is not None:
            waiting = mask & (self.state.player != self.role) & ~(self.state.terminated | self.state.truncated)
            if not waiting.any():
                return
            environment = self.environment
            random = self.opponent == "random"
            actions = environment.random_actions() if random else self.opponent(environment, waiting)  # type: ignore[operator]
            step_only(environment, actions, waiting)
            reward += self.state.reward[:, self.role]

    def play(self, actions: ArrayLike, mask: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Plays an action in some lanes, and those of the opponents. Returns rewards, and where actions are illegal."""
        chosen = check_actions(actions).reshape(self.lanes.shape)
        within = (chosen >= 0) & (chosen < self.environment.max_moves)
        safe = np.where(within, chosen, 0).astype(np.int32)
        wrong = mask & ~(within & self.legal[self.lanes, safe])
        if self.illegal == "raise" and wrong.any():
            lane = int(np.flatnonzero(wrong)[0])
            raise IllegalAction(f"lane {lane}: {chosen[lane]} is not a legal action")
        mask = mask & ~wrong
        roles = self.state.player.copy() if self.opponent is None else np.full(len(mask), self.role)
        simultaneous = self.environment.simultaneous
        step_only(self.environment, safe.reshape(-1, 1) if simultaneous else safe, mask)
        # The role is -1 only where nothing was played.
        reward = self.state.reward[self.lanes, roles].copy()
        self.respond(mask, reward)
        lowest = getattr(self.environment, "reward_range", (-1.0, 1.0))[0]
        reward[wrong] = lowest
        return reward, wrong


class GymnasiumVector(Wrapper, VectorEnv[Any, Any, Any]):
    """The lanes of an environment, for one agent."""

    def __init__(
        self,
        environment: VectorEnvironment,
        role: int | str | None,
        opponent: Opponent | Literal["random"] | None,
        illegal: Illegal,
        copy: bool,
    ) -> None:
        self._agent = _Agent(environment, role, opponent, illegal)
        self._mode = environment.autoreset
        self._take_over(environment)
        self._copy = copy
        self.num_envs = environment.lanes
        self.metadata = {"render_modes": [], "autoreset_mode": _MODES[self._mode]}
        self.single_observation_space, self.single_action_space = self._agent.spaces()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._over = np.zeros(self.num_envs, np.bool_)
        self._terminated = np.zeros(self.num_envs, np.bool_)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins a match in all lanes, or in those of the mask `options["reset_mask"]`.

        A list of seeds has one seed per lane, or only `None`. The same list gives the same matches, but a lane depends
        on the whole list.
        """
        if isinstance(seed, Sequence | np.ndarray):
            seed = self._seed_of(list(seed))
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask")
        mask = np.ones(self.num_envs, np.bool_) if mask is None else np.asarray(mask)
        self._agent.begin(mask, seed)
        self._over &= ~mask
        self._terminated &= ~mask
        return self._observation(), self._info()

    def _seed_of(self, seeds: list[int | None]) -> int | None:
        """Returns one seed for all lanes, which depends on the seeds of all lanes."""
        if len(seeds) != self.num_envs:
            raise ArgumentError(f"seed: expected {self.num_envs} seeds, one per lane, got {len(seeds)}")
        given = [seed for seed in seeds if seed is not None]
        if not given:
            return None
        if len(given) < len(seeds):
            raise ArgumentError("seed: expected a seed for every lane or for none, got some of both")
        for seed in given:
            if not is_integer(seed):
                raise ArgumentTypeError(f"seed: expected integers, got {shown(seed)}")
            if seed < 0:
                raise ArgumentError(f"seed: expected 0 or more, got {seed}")
        return int(np.random.SeedSequence(given).generate_state(1, np.uint64)[0])

    def step(self, actions: ArrayLike) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Plays an action in each lane."""
        agent, state = self._agent, self._agent.state
        restart = self._over if self._mode == "next_step" else np.zeros_like(self._over)
        active = ~self._over
        reward, wrong = agent.play(actions, active)
        if restart.any():
            agent.begin(restart)
        # Lanes that stay over keep their flags.
        stays = self._over & ~restart
        terminated = np.where(stays, self._terminated, state.terminated | wrong)
        truncated = np.where(stays, ~self._terminated, state.truncated & ~wrong)
        over = terminated | truncated
        final: dict[str, Any] = {}
        if self._mode == "same_step" and over.any():
            final = self._final(over)
            agent.begin(over)
            over = np.zeros_like(over)
        self._over, self._terminated = over, terminated.copy()
        info = self._info() | final
        if wrong.any():
            info |= {"illegal": wrong, "_illegal": wrong}
        return self._observation(), reward, terminated, truncated, info

    def _final(self, over: NDArray[np.bool_]) -> dict[str, Any]:
        """Returns the last observations of matches that are over."""
        final = np.full(self.num_envs, None, dtype=object)
        for lane in np.flatnonzero(over):
            final[lane] = self._agent.state.observation[lane].copy()
        return {"final_obs": final, "_final_obs": over.copy()}

    def _observation(self) -> NDArray[np.uint8]:
        observation = self._agent.state.observation
        return observation.copy() if self._copy else observation

    def _info(self) -> dict[str, Any]:
        info = {"action_mask": self._agent.legal, "player": self._agent.state.player}
        return {name: array.copy() if self._copy else array for name, array in info.items()}


class GymnasiumSingle(Wrapper, gym.Env[Any, Any]):
    """The only lane of an environment, for one agent."""

    def __init__(
        self,
        environment: VectorEnvironment,
        role: int | str | None,
        opponent: Opponent | Literal["random"] | None,
        illegal: Illegal,
    ) -> None:
        if environment.lanes != 1:
            raise ArgumentError(f"expected an environment with 1 lane, got {environment.lanes}")
        self._agent = _Agent(environment, role, opponent, illegal)
        self._take_over(environment)
        self.metadata = {"render_modes": []}
        self.observation_space, self.action_space = self._agent.spaces()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins a match."""
        super().reset(seed=seed)
        self._agent.begin(np.ones(1, np.bool_), seed)
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays an action."""
        state = self._agent.state
        reward, wrong = self._agent.play([action], np.ones(1, np.bool_))
        illegal = bool(wrong[0])
        info = self._info() | ({"illegal": True} if illegal else {})
        terminated, truncated = bool(state.terminated[0]) or illegal, bool(state.truncated[0]) and not illegal
        return self._observation(), float(reward[0]), terminated, truncated, info

    def _observation(self) -> Any:
        return self._agent.state.observation[0].copy()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._agent.legal[0].copy(), "player": int(self._agent.state.player[0])}
