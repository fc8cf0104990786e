#!/usr/bin/env python3
"""Measures MINI-Player's strategies for docs/research/reproduction.md.

For Table IX of the paper, the strategies are assessed after the start clock in
nine games, with each model of the opponents. For Figures 2 and 3, simulations
of Checkers are allocated to the strategies by each mechanism.

    cargo build --release && experiments/strategies.py

The output of each command is a line of results/swiechowski-2014/strategies.ndjson.gz. The
rulesheets come from fetch.py.
"""

import argparse
import gzip
import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from figures import HERE, RESULTS

# What is measured, the game, and the options of `gdl strategies`.
Command = tuple[dict[str, str], str, list[str]]
# A line of the log.
Line = dict[str, Any]

LOG = RESULTS / "swiechowski-2014" / "strategies.ndjson.gz"
GAMES = [
    "connect4",
    "cephalopod_micro",
    "free_for_all_2p",
    "pentago",
    "nine_board_tictactoe",
    "connect4_suicide",
    "checkers",
    "farming_quandries",
    "pilgrimage",
]
STRATEGIES = ["R", "AGE", "SSC", "M", "E", "HH"]

# Table IX of the paper: the mean goals, in the order of STRATEGIES.
TABLE_IX = {
    "connect4": [54.6, 78.1, 54.0, 55.0, 58.3, 80.6],
    "cephalopod_micro": [49.1, 34.9, 42.6, 44.3, 34.8, 57.9],
    "free_for_all_2p": [52.4, 68.0, 84.5, 58.5, 94.5, 76.2],
    "pentago": [48.9, 75.7, 45.7, 43.1, 45.4, 47.0],
    "nine_board_tictactoe": [51.3, 71.8, 46.6, 49.7, 48.5, 32.0],
    "connect4_suicide": [54.1, 51.4, 49.6, 49.0, 45.0, 59.2],
    "checkers": [48.8, 77.7, 78.5, 64.1, 75.0, 54.7],
    "farming_quandries": [1.0, 2.5, 1.5, 0.9, 37.2, 1.0],
    "pilgrimage": [0.1, 0.2, 0.2, 0.3, 0.9, 0.4],
}
MODELS = ["hh", "tree", "random"]

# Figures 2 and 3: the shares of the best and of the worst strategy in percent, read off the figures.
FIGURES = {"ucb": ("A: UCB, b = 5", 50, 5), "static": ("B: static", 50, 5), "square": ("C: square", 25, 15)}
TABLE_SEEDS, FIGURE_SEEDS = range(1, 11), range(1, 31)


def commands() -> Iterator[Command]:
    """Returns the experiments: what is measured, the game, and the options of `gdl strategies`."""
    for game in GAMES:
        for model in MODELS:
            for seed in TABLE_SEEDS:
                yield (
                    {"table": "IX", "game": game, "model": model},
                    game,
                    ["--policy", f"mini-1-s,opponents={model}", "--start", "900", "--seed", str(seed)],
                )
    for allocation in FIGURES:
        for seed in FIGURE_SEEDS:
            policy = "mini" if allocation == "ucb" else f"mini,allocation={allocation}"
            yield (
                {"table": "figures", "game": "checkers", "allocation": allocation},
                "checkers",
                [
                    "--policy",
                    policy,
                    "--start",
                    "900",
                    "--simulations",
                    "20000",
                    "--every",
                    "20000",
                    "--seed",
                    str(seed),
                ],
            )


def read() -> list[Line]:
    """Returns the lines of the log."""
    with gzip.open(LOG, "rt") as lines:
        return [json.loads(line) for line in lines]


def means(lines: list[Line], game: str, model: str) -> list[float]:
    """Returns the mean goal of each strategy after the start clock, over all seeds."""
    starts = [
        line["start"]["strategies"]
        for line in lines
        if line["table"] == "IX" and (line["game"], line["model"]) == (game, model)
    ]
    assert len(starts) == len(TABLE_SEEDS)
    return [
        sum(row["mean"] for start in starts for row in start if row["strategy"] == name) / len(starts)
        for name in STRATEGIES
    ]


def print_table(lines: list[Line], model: str = "tree") -> list[str]:
    """Returns the rows of Table IX."""
    rows = []
    for game in GAMES:
        cells = [
            f"**{paper}** {ours:.1f}" for paper, ours in zip(TABLE_IX[game], means(lines, game, model), strict=True)
        ]
        rows.append(f"| {game} | {' | '.join(cells)} |")
    return rows


def print_models(lines: list[Line]) -> list[str]:
    """Returns the rows of the models of the opponents: R in Checkers, and mean differences from the paper."""
    rows = []
    for model in MODELS:
        errors = [
            [abs(ours - paper) for ours, paper in zip(means(lines, game, model), TABLE_IX[game], strict=True)]
            for game in GAMES
        ]
        random = sum(error[0] for error in errors) / len(errors)
        others = sum(sum(error[1:]) / (len(error) - 1) for error in errors) / len(errors)
        rows.append(f"| `{model}` | {means(lines, 'checkers', model)[0]:.1f} | {random:.1f} | {others:.1f} |")
    return rows


def spread(shares: list[list[float]], place: int) -> str:
    """Returns the mean of the shares at a place of each search, with the smallest and the largest one."""
    column = [share[place] for share in shares]
    return f"{sum(column) / len(column):.1f}% ({min(column):.1f} to {max(column):.1f})"


def print_shares(lines: list[Line]) -> list[str]:
    """Returns the rows of the figures: the mean shares of the most and of the least used strategy, by search."""
    rows = []
    for allocation, (title, best, worst) in FIGURES.items():
        found = [line["move"][-1] for line in lines if line["table"] == "figures" and line["allocation"] == allocation]
        assert len(found) == len(FIGURE_SEEDS)
        shares = [
            sorted(100 * row["simulations"] / move["simulations"] for row in move["strategies"]) for move in found
        ]
        rows.append(f"| {title} | **about {best}%** {spread(shares, -1)} | **about {worst}%** {spread(shares, 0)} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--program",
        metavar="PATH",
        default=HERE.parent / "target" / "release" / "sternhalma",
        help="sternhalma [default: target/release/sternhalma]",
    )
    parser.add_argument("--threads", type=int, default=1, help="simultaneous searches [default: 1]")
    args = parser.parse_args()

    def run(command: Command) -> Line:
        key, game, options = command
        file = f"experiments/rulesheets/{game}.kif"
        answer = subprocess.run(
            [args.program, "gdl", "strategies", file, *options, "--json"],
            cwd=HERE.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found: Line = key | json.loads(answer)
        return found

    with ThreadPoolExecutor(args.threads) as pool:
        lines = list(pool.map(run, commands()))
    # No time in the header, so that the same results give the same file.
    with open(LOG, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
        packed.write("".join(json.dumps(line) + "\n" for line in lines).encode())


if __name__ == "__main__":
    main()
