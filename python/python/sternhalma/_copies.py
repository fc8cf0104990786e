"""How objects are copied and pickled."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, SupportsIndex

from ._errors import CopyError


class Immutable:
    """An object that never changes, so that a copy is the same object."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class Unpicklable:
    """An object that cannot be pickled, nor copied unless a subclass defines how.

    `_refusal` says what to do instead.
    """

    __slots__ = ()

    _refusal: ClassVar[str]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise CopyError(self._refusal)
