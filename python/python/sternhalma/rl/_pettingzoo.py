"""Environments of PettingZoo."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from .._arrays import check_actions, shown
from .._errors import ArgumentError, ArgumentTypeError, CallError, IllegalAction
from ._vector import VectorEnvironment
from ._wrapper_base import Wrapper, step_only


class PettingZoo(Wrapper, AECEnv):  # type: ignore[misc]
    """The only lane of an environment, with one agent per role."""

    def __init__(self, environment: VectorEnvironment, name: str) -> None:
        super().__init__()
        if environment.lanes != 1:
            raise ArgumentError(f"expected an environment with 1 lane, got {environment.lanes}")
        self._take_over(environment)
        self.metadata = {"render_modes": [], "name": name, "is_parallelizable": environment.simultaneous}
        self.render_mode = None
        self.possible_agents = list(environment.roles)
        self.agents: list[str] = []
        self._number = {agent: number for number, agent in enumerate(self.possible_agents)}
        shape, moves = environment.observation_shape, environment.max_moves
        entries: dict[str, spaces.Space[Any]] = {
            "observation": spaces.Box(0, 1, shape, np.uint8),
            "action_mask": spaces.Box(0, 1, (moves,), np.int8),
        }
        self.observation_spaces = {agent: spaces.Dict(entries) for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(moves) for agent in self.possible_agents}
        self._chosen: list[int] = []
        self._begun = False

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the space of the observations of an agent, which is always the same."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the space of the actions of an agent, which is always the same."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a match."""
        self.environment.reset(seed=seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._chosen = []
        self._begun = True
        self.agent_selection = self._next_agent()

    def _next_agent(self) -> str:
        """Returns the agent that chooses next."""
        player = int(self.environment.state.player[0])
        return self.possible_agents[len(self._chosen) if self.environment.simultaneous else max(player, 0)]

    def observe(self, agent: str) -> dict[str, Any]:
        """Returns the observation and the legal actions of an agent."""
        state = self.environment.state
        over = bool(state.terminated[0] or state.truncated[0])
        mask = np.zeros(self.environment.max_moves, np.int8)
        if self.environment.simultaneous:
            mask[:] = state.legal[0, self._number[agent]]
        elif self._number[agent] == state.player[0]:
            mask[:] = state.legal[0]
        if over:
            mask[:] = 0
        return {"observation": state.observation[0].copy(), "action_mask": mask}

    def step(self, action: Any) -> None:
        """Plays an action of the selected agent."""
        if not self._begun:
            raise CallError("no match has begun; call reset first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._chosen.append(self._check(agent, action))
        if not self.environment.simultaneous or len(self._chosen) == len(self.possible_agents):
            self._play()
        self.agent_selection = self._next_agent()
        self._accumulate_rewards()

    def _check(self, agent: str, action: Any) -> int:
        """Returns the action if it is legal."""
        if check_actions(action).ndim != 0:
            raise ArgumentTypeError(f"action: expected an integer, got {shown(action)}")
        legal = self.observe(agent)["action_mask"]
        if not (0 <= action < len(legal) and legal[action]):
            raise IllegalAction(f"{action} is not a legal action of {agent}")
        return int(action)

    def _play(self) -> None:
        """Plays the chosen actions."""
        actions = [self._chosen] if self.environment.simultaneous else self._chosen
        state = step_only(self.environment, actions)
        self._chosen = []
        for number, agent in enumerate(self.possible_agents):
            self.rewards[agent] = float(state.reward[0, number])
            self.terminations[agent] = bool(state.terminated[0])
            self.truncations[agent] = bool(state.truncated[0])

    def render(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""
