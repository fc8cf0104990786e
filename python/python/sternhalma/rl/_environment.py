"""What the vectorised environments share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arguments import INT64, UINT64, check, check_range
from .._arrays import array_of, check_actions, contiguous, is_integer, shown
from .._copies import Unpicklable
from .._errors import ArgumentError, ArgumentTypeError, IndexOutOfRange
from .._native import CheckersLanes, VectorGame
from ._vector import Autoreset, VectorEnvironment, VectorState, mode_of

NativeLanes = CheckersLanes | VectorGame


class NativeEnvironment(Unpicklable, VectorEnvironment):
    """Lanes that the compiled module advances. The documentation of members is that of `VectorEnvironment`."""

    _native: NativeLanes

    def __init__(self, native: NativeLanes, autoreset: Autoreset) -> None:
        self.autoreset = autoreset
        self._attach(native)

    def _attach(self, native: NativeLanes) -> None:
        """Sets the lanes and their arrays."""
        arrays = native.arrays
        self._native, self._arrays = native, arrays
        self._state = VectorState(*(getattr(arrays, name) for name in VectorState._fields))
        shape = arrays.reward.shape if native.simultaneous else arrays.player.shape
        self._random = np.zeros(shape, np.int32)

    @property
    def autoreset(self) -> Autoreset:
        return self._autoreset

    @autoreset.setter
    def autoreset(self, autoreset: Autoreset) -> None:
        self._mode, self._autoreset = mode_of(autoreset), autoreset

    @property
    def lanes(self) -> int:
        return len(self._state.player)

    @property
    def simultaneous(self) -> bool:
        return self._native.simultaneous

    @property
    def max_moves(self) -> int:
        return self._native.max_moves

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return self._state.observation.shape[1:]

    @property
    def state(self) -> VectorState:
        return self._state

    @property
    def final_observation(self) -> NDArray[np.uint8]:
        return self._arrays.final_observation

    def reset(self, *, seed: int | None = None, mask: ArrayLike | None = None) -> VectorState:
        if seed is not None:
            if not is_integer(seed):
                raise ArgumentTypeError(f"seed: expected an integer or None, got {shown(seed)}")
            check_range("seed", seed, UINT64)
        self._native.reset(seed, None if mask is None else self._mask(mask))
        return self._state

    def step(self, actions: ArrayLike, *, mask: ArrayLike | None = None) -> VectorState:
        given = array_of(actions, "action")
        array = self._random if given is self._random else self._actions_of(given)
        self._native.step(array, given, None if mask is None else self._mask(mask), self._mode)
        return self._state

    def random_actions(self) -> NDArray[np.int32]:
        self._native.random_actions(self._random)
        return self._random

    def clone(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._attach(self._native.clone())
        return other

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def action_name(self, role: int, action: int) -> str:
        check(NativeEnvironment.action_name, locals(), role=INT64, action=INT64)
        name = self._native.action_name(role, action) if role >= 0 and action >= 0 else None
        if name is None:
            raise IndexOutOfRange(f"there is no action {action} of role {role}")
        return name

    def _actions_of(self, actions: NDArray[Any]) -> NDArray[np.int32]:
        """Returns actions as the compiled module takes them."""
        if actions.shape != self._random.shape:
            raise ArgumentError(f"actions: expected the shape {self._random.shape}, got {actions.shape}")
        check_actions(actions)
        if actions.dtype.itemsize >= 4 and actions.dtype != np.int32:
            # Integers that do not fit are illegal, and stay so.
            actions = actions.clip(-1 if actions.dtype.kind == "i" else 0, 2**31 - 1)
        return contiguous(actions, np.int32)

    def _mask(self, mask: ArrayLike) -> NDArray[np.bool_]:
        """Returns a copy of a mask, which may be one of the arrays of the environment."""
        array = array_of(mask, "mask")
        if array.dtype != np.bool_ or array.shape != (self.lanes,):
            raise ArgumentError(
                f"mask: expected bool of shape ({self.lanes},), got {array.dtype} of shape {array.shape}"
            )
        return array.copy()
