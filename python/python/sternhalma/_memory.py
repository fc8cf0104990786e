"""Sizes of memory."""

from __future__ import annotations

import os
import re

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{unit}i": 1 << (10 * power) for power, unit in enumerate("kmgt", 1)}


def machine_memory() -> int:
    """Returns the memory of the machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def memory_of(memory: int | str | None) -> int:
    """Returns a number of bytes. The default is three quarters of the machine's memory."""
    if memory is None:
        return machine_memory() // 4 * 3
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", memory.lower())
        if match is None or match[2] not in _UNITS:
            raise ValueError(f"memory: expected a size such as '2GiB', got {memory!r}")
        memory = int(float(match[1]) * _UNITS[match[2]])
    if not 0 < memory < 2**64:
        raise ValueError(f"memory: expected a number of bytes above 0, got {memory}")
    return memory
