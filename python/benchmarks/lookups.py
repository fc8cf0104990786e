#!/usr/bin/env python3
"""Prints the rates of ranks and look-ups: medians of several runs on one core.

The table of six pieces on the 9x9 board is built if it does not exist. `cargo bench --bench tables` measures the Rust
libraries with the same table ("look-up of ranks", "look-up of a batch", "rank", "unrank anywhere").
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import sternhalma

RUNS = 7


def seconds(work: Callable[[], object]) -> float:
    """Returns the median time of a call."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=10_000_000, help="random states per batch")
    count = parser.parse_args().states
    board = sternhalma.Board(9, 6)
    rng = np.random.default_rng(9)
    ranks = rng.integers(0, board.states, count, dtype=np.uint64)
    cells = sternhalma.unrank(ranks, board=board)
    mixed = rng.permuted(cells, axis=1)
    out = np.empty(count, np.uint8)
    with sternhalma.build(board=board) as table:
        batches: list[tuple[str, Callable[[], object]]] = [
            ("rank", lambda: sternhalma.rank(cells, board=board)),
            ("rank, cells in any order", lambda: sternhalma.rank(mixed, board=board)),
            ("unrank", lambda: sternhalma.unrank(ranks, board=board)),
            ("distances of ranks", lambda: table.distances(ranks, out=out)),
            ("distances of cells", lambda: table.distances(cells=cells, out=out)),
            ("distances of cells in any order", lambda: table.distances(cells=mixed, out=out)),
        ]
        for name, work in batches:
            print(f"{name:32} {count / seconds(work) / 1e6:8.1f} M states/s", flush=True)
        few = [int(rank) for rank in ranks[:200_000]]
        lists = cells[: len(few)].tolist()

        def one_by_one(states: list[int] | list[list[int]]) -> None:
            distance = table.distance
            for state in states:
                distance(state)

        for name, states in [("distance of a rank", few), ("distance of a list of cells", lists)]:
            print(f"{name:32} {seconds(partial(one_by_one, states)) / len(few) * 1e9:8.0f} ns")


if __name__ == "__main__":
    main()
