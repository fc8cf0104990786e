#!/usr/bin/env python3
"""Looks up distances in a table of the encoding `byte`, without starting sternhalma.

    python3 distances.py 9x9-6.sht a1,b1,c1,a2,b2,a3     # the distance of a state
    python3 distances.py 9x9-6.sht --sample 100000        # statistics of random states

Only the standard library is needed. With numpy, `Table.distances` answers whole
arrays of states at once. docs/notation.md defines ranks, and docs/table-format.md
the file.
"""

import math
import mmap
import random
import struct
import sys

try:
    import numpy
except ImportError:
    numpy = None

BYTE = 1  # the encoding with one byte per state


class Table:
    def __init__(self, path):
        self.path = path
        self.file = open(path, "rb")
        header = self.file.read(128)
        if header[:8] != b"\x89SHT\r\n\x1a\n":
            sys.exit(f"{path}: this file is not a table")
        self.size, self.pieces, self.within, encoding = header[24:28]
        if encoding != BYTE:
            sys.exit(f"{path}: the encoding is not `byte`; `sternhalma convert` makes such a table")
        (self.states,) = struct.unpack_from("<Q", header, 32)
        (escape,) = struct.unpack_from("<I", header, 40)
        (self.offset,) = struct.unpack_from("<Q", header, 56)
        # Distances up to this one are exact; larger ones are upper bounds.
        self.exact_to = math.inf if escape == 0xFFFFFFFF else escape + 2
        self.bytes = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ)
        self.index = self._goal_order()
        # choose[c][i] is the contribution of the i-th piece (from 0) on cell c.
        self.choose = [[math.comb(c, i + 1) for i in range(self.pieces)] for c in range(self.size**2)]

    def _goal_order(self):
        """Returns the index in goal order of each cell (x, y), for player x."""
        last = self.size - 1
        # Seen from the goal, the board is rotated by 180 degrees.
        cells = sorted((2 * last - x - y, last - x, x, y) for x in range(self.size) for y in range(self.size))
        return {(x, y): number for number, (_, _, x, y) in enumerate(cells)}

    def cells(self, state):
        """Returns the cells, in goal order, of a state such as `a1,b1,c1,a2,b2,a3`."""
        cells = [self.index["abcdefghijk".index(name[0]), int(name[1:]) - 1] for name in state.split(",")]
        if len(set(cells)) != self.pieces:
            sys.exit(f"{state}: expected {self.pieces} different cells")
        return sorted(cells)

    def rank(self, cells):
        """Returns the rank of sorted cells."""
        return sum(self.choose[c][i] for i, c in enumerate(cells))

    def distance(self, cells):
        """Returns the distance of sorted cells, or None if the table does not cover them."""
        rank = self.rank(cells)
        return self.bytes[self.offset + rank] if rank < self.states else None

    def array(self):
        """Returns all distances as a numpy array, which reads the file on demand."""
        return numpy.memmap(self.path, numpy.uint8, "r", offset=self.offset, shape=(self.states,))

    def ranks(self, cells):
        """Returns the ranks of an array of shape (states, pieces) with sorted rows."""
        choose = numpy.array(self.choose, dtype=numpy.int64)
        return choose[cells, numpy.arange(self.pieces)].sum(axis=1)

    def distances(self, cells):
        """Returns the distances of such an array. All states must be covered."""
        return self.array()[self.ranks(cells)]


def sample(table, count):
    """Prints the mean and the largest distance of random states."""
    generator = random.Random(1)
    states = [sorted(generator.sample(range(table.within), table.pieces)) for _ in range(count)]
    if numpy:
        distances = table.distances(numpy.array(states)).tolist()
    else:
        distances = [table.distance(cells) for cells in states]
    print(f"{count} random states, mean distance {sum(distances) / count:.3f}, largest {max(distances)}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    table = Table(sys.argv[1])
    if sys.argv[2] == "--sample":
        return sample(table, int(sys.argv[3]))
    for state in sys.argv[2:]:
        cells = table.cells(state)
        distance = table.distance(cells)
        if distance is None:
            print(f"{state}  rank {table.rank(cells)}  not covered")
        else:
            exact = "exact" if distance <= table.exact_to else "upper bound"
            print(f"{state}  rank {table.rank(cells)}  distance {distance}  {exact}")


if __name__ == "__main__":
    main()
