"""Sizes of memory, numbers of threads, and notices about arguments as warnings."""

from __future__ import annotations

import re
import warnings

from . import _native
from ._arrays import shown
from ._errors import ArgumentError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{unit}i": 1 << (10 * power) for power, unit in enumerate("kmgt", 1)}


def machine_memory() -> int:
    """Returns the memory of the machine that this process may use, in bytes."""
    return _native.machine_memory()


def memory_of(memory: int | str | None) -> int:
    """Returns a number of bytes. The default is three quarters of the machine's memory."""
    if memory is None:
        return _native.default_memory_limit()
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", memory.lower())
        if match is None or match[2] not in _UNITS:
            raise ArgumentError(f"memory: expected a size such as '2GiB', got {shown(memory)}")
        memory = int(min(float(match[1]) * _UNITS[match[2]], 2.0**64))
    if not 0 < memory < 2**64:
        raise ArgumentError(f"memory: expected a number of bytes above 0, got {memory}")
    return memory


def search_memory_of(memory: int | str | None) -> int:
    """Returns the memory limit of searches, at most the available memory, with a warning if it is less than the given
    one. The default is a quarter of the machine's memory."""
    limit, notice = _native.search_memory(None if memory is None else memory_of(memory))
    _warn(notice)
    return limit


def threads_of(threads: int) -> int:
    """Returns a number of threads, which is 0 for one per processor core, with a warning if the given number is larger
    than the largest one of the machine."""
    if threads < 0:
        raise ArgumentError(f"threads: expected 0 or more, got {threads}")
    count, notice = _native.thread_count(min(threads, 2**32 - 1))
    _warn(notice)
    return count


def warn_of_removed(text: str) -> None:
    """Warns if the text of a player or policy has a parameter of earlier versions, which has no effect."""
    _warn(_native.removal_notice(text))


def _warn(notice: str | None) -> None:
    if notice is not None:
        # The warning is about the call of the public function.
        warnings.warn(notice, RuntimeWarning, stacklevel=4)
