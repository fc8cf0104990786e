"""Plays a small tournament, and prints the standings and the ten longest games.

    python play_tournament.py --side 5 --pieces 3 --log games.ndjson

With --log, the same command resumes an interrupted tournament.
"""

import argparse

import numpy as np

import sternhalma

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--side", type=int, default=5, help="cells per side of the board")
parser.add_argument("--pieces", type=int, default=3, help="pieces of each army")
parser.add_argument("--games", type=int, default=10, help="games per pairing")
parser.add_argument("--log", help="file to which each game is added")
arguments = parser.parse_args()

board = sternhalma.Board(arguments.side, arguments.pieces)
players = {"search": "heur0", "playouts": "base0", "greedy": "greedy"}
results = sternhalma.tournament(
    players, board=board, table="estimate", games=arguments.games, nodes=200, log=arguments.log
)
print(results)

games = results.games()
for game in np.argsort(-games["plies"], kind="stable")[:10]:
    print(games["player_1"][game], games["result"][game], games["player_2"][game], *games["moves"][game][:6], "...")
