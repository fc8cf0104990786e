#!/usr/bin/env python3
"""A small player of Chinese Checkers that speaks the engine protocol.

    sternhalma match 'ugi:python3 docs/guide/engine.py --side 7 --pieces 3' greedy \\
        --side 7 --pieces 3 --games 4

docs/guide/rules.md has the rules and docs/reference/ugi.md the protocol. The player looks one
move ahead: `value` is the place for a better idea.
"""

from __future__ import annotations

import argparse
import random
import sys
from typing import Tuple

Cell = Tuple[int, int]
Move = Tuple[Cell, Cell]

LETTERS = "abcdefghijk"
STEPS = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)]


def name(cell: Cell) -> str:
    return f"{LETTERS[cell[0]]}{cell[1] + 1}"


def cell(text: str) -> Cell:
    return LETTERS.index(text[0]), int(text[1:]) - 1


class Position:
    """Both armies (sets of cells), the side to move (0 is x), and the size of the board."""

    def __init__(self, size: int, armies: list[set[Cell]], side: int) -> None:
        self.size, self.armies, self.side = size, armies, side

    @classmethod
    def start(cls, size: int, pieces: int) -> Position:
        # The home of x: the cells nearest a1, by row, and within a row by column.
        order = sorted(((x, y) for x in range(size) for y in range(size)), key=lambda at: (sum(at), at[0]))
        home = set(order[:pieces])
        return cls(size, [home, {(size - 1 - x, size - 1 - y) for x, y in home}], 0)

    @classmethod
    def parse(cls, rows: str, player: str) -> Position:
        lines = rows.split("/")
        armies: list[set[Cell]] = [set(), set()]
        for y, row in enumerate(reversed(lines)):
            x, number = 0, ""
            for character in row + "/":
                if character.isdigit():
                    number += character
                    continue
                x, number = x + int(number or 0), ""
                if character in "xo":
                    armies["xo".index(character)].add((x, y))
                    x += 1
        return cls(len(lines), armies, "xo".index(player))

    def moves(self) -> list[Move]:
        """Returns all legal moves as pairs of cells."""
        occupied = self.armies[0] | self.armies[1]

        def free(at: Cell) -> bool:
            return 0 <= at[0] < self.size and 0 <= at[1] < self.size and at not in occupied

        found = []
        for start in sorted(self.armies[self.side]):
            occupied.discard(start)  # during a chain of jumps this cell is empty
            reached = {start}
            waiting = [start]
            while waiting:
                x, y = waiting.pop()
                for dx, dy in STEPS:
                    over, to = (x + dx, y + dy), (x + 2 * dx, y + 2 * dy)
                    if over in occupied and free(to) and to not in reached:
                        reached.add(to)
                        waiting.append(to)
            reached |= {(start[0] + dx, start[1] + dy) for dx, dy in STEPS if free((start[0] + dx, start[1] + dy))}
            occupied.add(start)
            found += [(start, to) for to in sorted(reached - {start})]
        return found

    def play(self, text: str) -> None:
        """Plays a move such as `c1-e3`, or `pass`."""
        if text != "pass":
            start, to = map(cell, text.split("-"))
            self.armies[self.side].remove(start)
            self.armies[self.side].add(to)
        self.side = 1 - self.side

    def value(self, move: Move, behind: float) -> float:
        """Returns the rows that a move gains, plus `behind` for each row that its piece has yet to go."""
        direction = 1 if self.side == 0 else -1
        start, to = (sum(at) * direction for at in move)
        return (to - start) - behind * start


class Engine:
    def __init__(self, size: int, pieces: int, behind: float) -> None:
        self.size, self.pieces, self.behind = size, pieces, behind
        self.random = random.Random(1)
        self.position = Position.start(size, pieces)
        self.held: str | None = None  # the answer to `go infinite`, until `stop`

    def best(self) -> str:
        moves = self.position.moves()
        if not moves:
            return "pass"
        start, to = max(moves, key=lambda move: (self.position.value(move, self.behind), self.random.random()))
        return f"{name(start)}-{name(to)}"

    def set_position(self, words: list[str]) -> None:
        if words[0] == "startpos":
            self.position, rest = Position.start(self.size, self.pieces), words[1:]
        else:  # fen ROWS PLAYER PLY
            self.position, rest = Position.parse(words[1], words[2]), words[4:]
        for move in rest[1:]:  # the first word is `moves`
            self.position.play(move)

    def run(self) -> None:
        for line in sys.stdin:
            words = line.split()
            command = words[0] if words else ""
            if command == "ugi":
                print(f"id name Tutorial, behind {self.behind:g}\nid author you")
                print("option name Seed type spin default 1 min 0 max 4294967295\nugiok")
            elif command == "setoption" and words[2].lower() == "seed":
                self.random = random.Random(int(words[4]))
            elif command == "isready":
                print("readyok")
            elif command == "uginewgame":
                self.position = Position.start(self.size, self.pieces)
            elif command == "position":
                self.set_position(words[1:])
            elif command == "go" and "infinite" in words:
                self.held = self.best()
            elif command == "go":
                print("bestmove", self.best())
            elif command == "stop" and self.held:
                print("bestmove", self.held)
                self.held = None
            elif command == "quit":
                return
            sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=int, default=9)
    parser.add_argument("--pieces", type=int, default=6)
    parser.add_argument("--behind", type=float, default=0.1)
    args = parser.parse_args()
    Engine(args.side, args.pieces, args.behind).run()
