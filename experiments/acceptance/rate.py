#!/usr/bin/env python3
"""Compares the speed of programs that speak the engine protocol.

    rate.py --nodes 50000 'sternhalma ugi --rules paper' 'old/bin/sternhalma ugi'
    rate.py --depth 10 --openings FILE 'sternhalma ugi' 'sternhalma ugi --player sternhalma,threads=2'

Each program searches the first positions of a file of openings, in turn with the others. Prints, per program, the
median time of all searches together over the rounds, the relative speed, and with --nodes the node expansions per
second. Only `go` commands are timed. Each round starts the programs again.
"""

import argparse
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

OPENINGS = pathlib.Path(__file__).parent.parent / "openings" / "9x9-6-development.txt"


class Program:
    def __init__(self, command: str) -> None:
        words = shlex.split(command)
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        self.ask("ugi", "ugiok")
        self.ask("isready", "readyok")

    def send(self, line: str) -> None:
        self.input.write(line + "\n")

    def ask(self, line: str, answer: str) -> None:
        self.send(line)
        for got in self.output:
            if got.split()[:1] == [answer]:
                return
        sys.exit(f"a program ended before it answered `{line}`")

    def search(self, position: str, limit: str) -> float:
        """Searches a position, and returns the seconds."""
        self.send("uginewgame")
        self.send(f"position {position if position.startswith('startpos') else 'fen ' + position}")
        self.ask("isready", "readyok")
        start = time.perf_counter()
        self.ask(f"go {limit}", "bestmove")
        return time.perf_counter() - start

    def end(self) -> None:
        self.send("quit")
        self.process.wait()


def seconds(command: str, positions: list[str], limit: str) -> float:
    program = Program(command)
    # The first search reads the table.
    program.search(positions[0], limit)
    total = sum(program.search(position, limit) for position in positions)
    program.end()
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    limits = parser.add_mutually_exclusive_group(required=True)
    limits.add_argument("--nodes", type=int, help="node expansions per search")
    limits.add_argument("--depth", type=int, help="plies per search")
    parser.add_argument("--openings", type=pathlib.Path, default=OPENINGS, help="file of positions")
    parser.add_argument("--positions", type=int, default=50, help="number of positions (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default: %(default)s)")
    parser.add_argument("command", nargs="+", help="command line of a program")
    options = parser.parse_args()
    lines = [line.strip() for line in options.openings.read_text().splitlines()]
    positions = [line for line in lines if line and not line.startswith("#")][: options.positions]
    limit = f"nodes {options.nodes}" if options.nodes else f"depth {options.depth}"
    rounds = [[seconds(command, positions, limit) for command in options.command] for _ in range(options.rounds)]
    medians = [statistics.median(times) for times in zip(*rounds, strict=True)]
    for command, median in zip(options.command, medians, strict=True):
        rate = f"  {options.nodes * len(positions) / median / 1000:8.1f} kN/s" if options.nodes else ""
        print(f"{median:8.2f} s  {medians[0] / median:5.2f}{rate}  {command}")


if __name__ == "__main__":
    main()
