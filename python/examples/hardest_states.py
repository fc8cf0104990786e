"""Prints the states that are farthest from the goal, and how the distances are spread.

python hardest_states.py --side 7 --pieces 6
"""

import argparse

import numpy as np

import sternhalma

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--side", type=int, default=7, help="cells per side of the board")
parser.add_argument("--pieces", type=int, default=6, help="pieces of the army")
arguments = parser.parse_args()

board = sternhalma.Board(arguments.side, arguments.pieces)
with sternhalma.build(board=board) as table:
    print(f"{board}: {table.states} states, start distance {table.distance('startpos')}")
    for distance, states in enumerate(table.layers.tolist()):
        print(f"{distance:3} {states:12} {'#' * round(60 * states / int(table.layers.max()))}")
    farthest = [first + np.flatnonzero(part == table.max_distance) for first, part in table.chunks()]
    texts = sternhalma.format(sternhalma.unrank(np.concatenate(farthest), board=board), board=board)
    print(f"{len(texts)} states need {table.max_distance} moves, for example {texts[0]}")
