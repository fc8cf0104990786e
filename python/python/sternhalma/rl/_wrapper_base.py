"""What the wrappers have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._copies import Unpicklable
from .._errors import ArgumentError
from ._vector import VectorEnvironment, VectorState

Opponent = Callable[[Any, NDArray[np.bool_]], ArrayLike]
"""A function that moves for the other roles.

Its arguments are the environment and a mask of lanes, bool (lanes,). It returns one action per lane, as `step` takes
them; only those of the lanes in the mask count. If it has a method `reset(seed)`, a reset of the environment with a
seed calls it, so that matches after it can be repeated.
"""

Illegal = Literal["terminate", "raise"]


_taken: WeakSet[VectorEnvironment] = WeakSet()


class Wrapper(Unpicklable):
    """The only wrapper of an environment, which begins its matches."""

    environment: VectorEnvironment

    _refusal = "a wrapper cannot be copied or pickled; wrap a clone of the environment instead, and reset it"

    def _take_over(self, environment: VectorEnvironment) -> None:
        """Makes this the wrapper of an environment.

        Raises `ArgumentError` if the environment has one.
        """
        if environment in _taken:
            raise ArgumentError(
                "the environment has a wrapper, which begins its matches; wrap a clone of the environment"
            )
        _taken.add(environment)
        self.environment = environment


def step_only(environment: VectorEnvironment, actions: ArrayLike, mask: ArrayLike | None = None) -> VectorState:
    """Plays actions without beginning new matches, whatever the mode of the environment."""
    mode, environment.autoreset = environment.autoreset, False
    try:
        return environment.step(actions, mask=mask)
    finally:
        environment.autoreset = mode
