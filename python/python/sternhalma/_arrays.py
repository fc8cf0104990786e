"""Conversion of arguments to the arrays of the compiled module."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._errors import ArgumentError, ArgumentTypeError, StateError

# A number, several, and rows of several. The type of an array does not have the number of its dimensions, so that a
# function has results of any type if an array of one dimension is a single state for it.
Integer = int | np.integer[Any]
Row = Sequence[int]
Rows = Sequence[Row]

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 80


def shown(value: object) -> str:
    """Returns a value as it is shown in messages, shortened."""
    return _REPR.repr(value)


def is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


#: What to do with texts in place of integers.
_REMEDIES = {
    "rank": "sternhalma.parse(texts, board=...) returns the cells of texts; `distances` looks them up as `cells=`",
    "cell": "sternhalma.parse(texts, board=...) returns the cells of texts",
    "number": "expected position strings in a list, or numbers",
}


def array_of(values: Any, what: str) -> NDArray[Any]:
    """Returns an array of values. Raises `ArgumentError` or `ArgumentTypeError` if NumPy cannot make one."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        kind = ArgumentError if isinstance(error, ValueError) else ArgumentTypeError
        raise kind(f"{what}s: expected an array, got {shown(values)}: {error}") from None


def truth_values_of(rows: ArrayLike) -> NDArray[np.uint8]:
    """Returns whether each value of rows is not 0. Raises `ArgumentTypeError` if they are not numbers."""
    array = array_of(rows, "row")
    if array.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"rows: expected numbers or truth values, got an array of {array.dtype}")
    return contiguous(array != 0, np.uint8)


def integers_of(values: ArrayLike, limit: int, what: str) -> NDArray[Any]:
    """Returns an array of integers from 0 to `limit`."""
    array = array_of(values, what)
    if array.dtype.kind in "UT":
        raise ArgumentTypeError(f"{what}s: expected integers, got texts; {_REMEDIES[what]}")
    if array.dtype.kind not in "iu":
        # NumPy makes floats or objects of large integers in lists, and floats of nothing.
        is_open = array.dtype.kind == "O" or array.size == 0 or not isinstance(values, np.ndarray)
        objects = np.asarray(values, dtype=np.object_)
        if not (is_open and all(map(is_integer, objects.flat))):
            raise ArgumentTypeError(f"{what}s: expected integers, got an array of {array.dtype}")
        array = objects
    is_signed = array.dtype.kind != "u"
    is_wide = array.dtype.kind == "O" or np.iinfo(array.dtype).max > limit
    if is_signed or is_wide:
        bad = (array < 0) | (array > limit) if is_wide else array < 0
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            raise StateError(f"{what} {place}: {array.flat[place]} is not between 0 and {limit}")
    return array


def role_of(role: Any, roles: Sequence[str]) -> int:
    """Returns the index of a role, which is an index or a name.

    Raises `ArgumentTypeError` if it is neither, and `ArgumentError` if there is no such role.
    """
    if isinstance(role, str):
        if role not in roles:
            raise ArgumentError(f"role: there is no role {shown(role)}; the roles are {', '.join(roles)}")
        return roles.index(role)
    if not is_integer(role):
        raise ArgumentTypeError(f"role: expected an index or a name, got {shown(role)}")
    if not 0 <= role < len(roles):
        raise ArgumentError(f"role: there is no role {role}; expected 0 to {len(roles) - 1}")
    return int(role)


def contiguous(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Returns an array as the compiled module takes it: contiguous, aligned, and of a type.

    It may be the same array.
    """
    return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def check_actions(actions: ArrayLike) -> NDArray[Any]:
    """Returns actions as an array of integers of any type.

    Raises `ArgumentTypeError` if they are not integers.
    """
    array = array_of(actions, "action")
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"actions: expected integers, got an array of {array.dtype}")
    return array


def ranks_of(ranks: ArrayLike) -> tuple[NDArray[np.uint64], tuple[int, ...]]:
    """Returns ranks as a contiguous vector, and their shape."""
    array = integers_of(ranks, 2**64 - 1, "rank")
    return contiguous(array, np.uint64).reshape(-1), array.shape


def cells_of(cells: ArrayLike, pieces: int) -> tuple[NDArray[np.uint8], tuple[int, ...]]:
    """Returns cells as contiguous rows of `pieces` cells, and the shape without the last dimension."""
    array = integers_of(cells, 255, "cell")
    if array.ndim == 0 or array.shape[-1] != pieces:
        raise StateError(f"expected {pieces} cells in the last dimension, got an array of shape {array.shape}")
    rows = contiguous(array, np.uint8).reshape(-1, pieces)
    return rows, array.shape[:-1]


def output_of(out: NDArray[np.uint8] | None, shape: tuple[int, ...]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Returns an array for distances of this shape, `out` if it is given, and a contiguous vector to write to.

    If `out` is not contiguous, the vector is another array.
    """
    if out is None:
        out = np.empty(shape, dtype=np.uint8)
    elif not isinstance(out, np.ndarray) or out.dtype != np.uint8 or out.shape != shape:
        found = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ArgumentError(f"out: expected an array of uint8 of shape {shape}, got {found}")
    elif not out.flags.writeable:
        raise ArgumentError("out: the array is read-only")
    if out.flags.c_contiguous:
        return out, out.reshape(-1)
    return out, np.empty(out.size, dtype=np.uint8)
