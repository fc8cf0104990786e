"""Fits distances by a sum of values of the occupied cells, and prints the error on other states.

python learn_distances.py --side 7 --pieces 6
"""

import argparse

import numpy as np

import sternhalma

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--side", type=int, default=7, help="cells per side of the board")
parser.add_argument("--pieces", type=int, default=6, help="pieces of the army")
parser.add_argument("--states", type=int, default=50_000, help="random states to learn from")
arguments = parser.parse_args()

board = sternhalma.Board(arguments.side, arguments.pieces)
rng = np.random.default_rng(1)


def sample(table: sternhalma.Table, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns random states as rows with a 1 per occupied cell, and their distances."""
    ranks = rng.integers(0, board.states, count)
    occupied = np.zeros((count, board.cells))
    np.put_along_axis(occupied, sternhalma.unrank(ranks, board=board), 1, axis=1)
    return occupied, table.distances(ranks).astype(float)


with sternhalma.build(board=board) as table:
    occupied, distances = sample(table, arguments.states)
    values, *_ = np.linalg.lstsq(occupied, distances)
    occupied, distances = sample(table, arguments.states)
    error, of_mean = np.abs(occupied @ values - distances), np.abs(distances - distances.mean()).mean()
    print(f"mean error {error.mean():.3f}, largest {error.max():.1f}; of the mean alone {of_mean:.3f}")

    # The value of each cell, with a1 at the bottom left.
    grid = np.full((board.side, board.side), np.nan)
    x, y = board.coordinates().T
    grid[y, x] = values
    print(np.array2string(grid[::-1], precision=2, suppress_small=True))
