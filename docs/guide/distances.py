#!/usr/bin/env python3
"""Looks up distances in a table of the encoding `byte`, without starting sternhalma.

    python3 distances.py 9x9-6.sht a1,b1,c1,a2,b2,a3     # the distance of a state
    python3 distances.py 9x9-6.sht --sample 100000        # statistics of random states

The first argument is the path of a file, not the name of a table: `sternhalma build`
prints the path. Errors are printed on stderr, with exit code 2.

Only the standard library is needed. With numpy, `Table.distances` answers whole
arrays of states at once. docs/reference/notation.md defines ranks, and docs/reference/table-format.md
the file.
"""

from __future__ import annotations

import math
import mmap
import random
import struct
import sys

try:
    import numpy
except ImportError:
    HAS_NUMPY = False
else:
    HAS_NUMPY = True

BYTE = 1  # the encoding with one byte per state


class Table:
    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            header = file.read(128)
            if header[:8] != b"\x89SHT\r\n\x1a\n":
                raise ValueError(f"{path}: this file is not a table")
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.size, self.pieces, self.within, encoding = header[24:28]
        if encoding != BYTE:
            raise ValueError(f"{path}: the encoding is not `byte`; `sternhalma convert` makes such a table")
        (self.states,) = struct.unpack_from("<Q", header, 32)
        (escape,) = struct.unpack_from("<I", header, 40)
        (self.offset,) = struct.unpack_from("<Q", header, 56)
        # Distances up to this one are exact; larger ones are upper bounds.
        self.exact_to = math.inf if escape == 0xFFFFFFFF else escape + 2
        self.index = self._goal_order()
        # choose[c][i] is the contribution of the i-th piece (from 0) on cell c.
        self.choose = [[math.comb(c, i + 1) for i in range(self.pieces)] for c in range(self.size**2)]

    def _goal_order(self) -> dict[tuple[int, int], int]:
        """Returns the index in goal order of each cell (x, y), for player x."""
        last = self.size - 1
        # Seen from the goal, the board is rotated by 180 degrees.
        cells = sorted((2 * last - x - y, last - x, x, y) for x in range(self.size) for y in range(self.size))
        return {(x, y): number for number, (_, _, x, y) in enumerate(cells)}

    def cells(self, state: str) -> list[int]:
        """Returns the cells, in goal order, of a state such as `a1,b1,c1,a2,b2,a3`."""
        try:
            cells = [self.index["abcdefghijk".index(name[:1]), int(name[1:]) - 1] for name in state.split(",")]
        except (KeyError, ValueError):
            last = f"{'abcdefghijk'[self.size - 1]}{self.size}"
            raise ValueError(f"{state}: expected cells from a1 to {last}, separated by commas") from None
        if len(cells) != self.pieces or len(set(cells)) != self.pieces:
            raise ValueError(f"{state}: expected {self.pieces} different cells")
        return sorted(cells)

    def rank(self, cells: list[int]) -> int:
        """Returns the rank of sorted cells."""
        return sum(self.choose[c][i] for i, c in enumerate(cells))

    def distance(self, cells: list[int]) -> int | None:
        """Returns the distance of sorted cells, or None if the table does not cover them."""
        rank = self.rank(cells)
        return self.bytes[self.offset + rank] if rank < self.states else None

    def array(self) -> numpy.ndarray:
        """Returns all distances as a numpy array, which reads the file on demand."""
        return numpy.memmap(self.path, numpy.uint8, "r", offset=self.offset, shape=(self.states,))

    def ranks(self, cells: numpy.ndarray) -> numpy.ndarray:
        """Returns the ranks of an array of shape (states, pieces) with sorted rows."""
        choose = numpy.array(self.choose, dtype=numpy.int64)
        return choose[cells, numpy.arange(self.pieces)].sum(axis=1)

    def distances(self, cells: numpy.ndarray) -> numpy.ndarray:
        """Returns the distances of such an array. All states must be covered."""
        return self.array()[self.ranks(cells)]


def sample(table: Table, count: int) -> None:
    """Prints the mean and the largest distance of random states."""
    generator = random.Random(1)
    states = [sorted(generator.sample(range(table.within), table.pieces)) for _ in range(count)]
    if HAS_NUMPY:
        distances = table.distances(numpy.array(states)).tolist()
    else:
        distances = [table.distance(cells) for cells in states]
    print(f"{count} random states, mean distance {sum(distances) / count:.3f}, largest {max(distances)}")


def answer(path: str, states: list[str]) -> None:
    """Prints the rank and the distance of each state."""
    table = Table(path)
    for state in states:
        cells = table.cells(state)
        distance = table.distance(cells)
        if distance is None:
            print(f"{state}  rank {table.rank(cells)}  not covered")
        else:
            exact = "exact" if distance <= table.exact_to else "upper bound"
            print(f"{state}  rank {table.rank(cells)}  distance {distance}  {exact}")


def main() -> None:
    arguments = sys.argv[1:]
    try:
        if len(arguments) == 3 and arguments[1] == "--sample":
            sample(Table(arguments[0]), int(arguments[2]))
        elif len(arguments) > 1 and "--sample" not in arguments:
            answer(arguments[0], arguments[1:])
        else:
            raise ValueError("usage: distances.py TABLE STATE... | distances.py TABLE --sample NUMBER")
    except (ValueError, KeyError, OSError) as error:
        print(f"distances.py: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
