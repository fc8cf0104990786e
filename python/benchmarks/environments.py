#!/usr/bin/env python3
"""Compares the steps per second of environments with random actions, on one core.

    python environments.py --peers /path/to/venv/bin/python

Each environment runs in a process of its own, on the first core, in several rounds that alternate. The rate of a round
is the steps by the processor time of the process; the table has medians. `--peers` is the interpreter of a virtual
environment with `pip install pgx open_spiel envpool pufferlib`, or those of them that can be installed; peers that
cannot be imported are listed with the reason. With `--program`, the rate of `sternhalma gdl bench --engine lanes` is
measured in the same rounds.

The vectorised environments choose random legal actions for all lanes, and play them. OpenSpiel plays one state at a
time, with a random legal action of each state, from Python.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

LANES = {"sternhalma": 4096, "sternhalma packed": 4096, "pgx": 4096, "envpool": 256, "pufferlib": 4096}
GAMES = {"connect-four": ["pgx", "open_spiel", "envpool", "pufferlib"], "breakthrough": ["open_spiel"]}


def rate(steps: Callable[[], int], seconds: float) -> float:
    """Returns the steps per second of processor time."""
    steps()
    count, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        count += steps()
    return count / (time.process_time() - start)


def sternhalma_steps(game: str, lanes: int, packed: bool) -> Callable[[], int]:
    from sternhalma import ggp, rl

    environment = rl.VectorGame(ggp.Game(ggp.games()[game]), lanes, packed=packed, autoreset="same_step")
    environment.reset(seed=1)

    def steps() -> int:
        for _ in range(100):
            environment.step(environment.random_actions())
        return 100 * lanes

    return steps


def pgx_steps(game: str, lanes: int) -> Callable[[], int]:
    import jax
    import pgx
    from pgx.experimental.utils import act_randomly
    from pgx.experimental.wrappers import auto_reset

    environment = pgx.make(game.replace("-", "_"))
    step = jax.vmap(auto_reset(environment.step, environment.init))

    @jax.jit
    def many(state, key):  # type: ignore[no-untyped-def]
        def one(carry, _):  # type: ignore[no-untyped-def]
            state, key = carry
            key, chosen, begun = jax.random.split(key, 3)
            actions = act_randomly(chosen, state.legal_action_mask)
            return (step(state, actions, jax.random.split(begun, lanes)), key), None

        return jax.lax.scan(one, (state, key), None, length=100)[0]

    key = jax.random.PRNGKey(0)
    current = [jax.jit(jax.vmap(environment.init))(jax.random.split(key, lanes)), key]

    def steps() -> int:
        current[:] = many(*current)
        jax.block_until_ready(current)
        return 100 * lanes

    return steps


def open_spiel_steps(game: str) -> Callable[[], int]:
    import random

    import pyspiel

    rules = pyspiel.load_game(game.replace("-", "_"))

    def steps() -> int:
        count = 0
        for _ in range(20):
            state = rules.new_initial_state()
            while not state.is_terminal():
                state.apply_action(random.choice(state.legal_actions()))
                count += 1
        return count

    return steps


def envpool_steps(game: str, lanes: int) -> Callable[[], int]:
    import envpool
    import numpy as np

    environment = envpool.make("ConnectFour-v1", env_type="gymnasium", num_envs=lanes, num_threads=1)
    mask = [environment.reset()[1]["legal_action_mask"]]
    rng = np.random.default_rng(0)

    def steps() -> int:
        for _ in range(20):
            actions = (rng.random((lanes, 7), np.float32) * mask[0]).argmax(axis=1).astype(np.int32)
            mask[0] = environment.step(actions)[4]["legal_action_mask"]
        return 20 * lanes

    return steps


def pufferlib_steps(game: str, lanes: int) -> Callable[[], int]:
    import numpy as np
    from pufferlib.ocean.connect4.connect4 import Connect4

    environment = Connect4(num_envs=lanes)
    environment.reset()
    rng = np.random.default_rng(0)

    def steps() -> int:
        for _ in range(100):
            # There is no mask of legal actions. The environment plays both sides in one step.
            environment.step(rng.integers(0, 7, lanes, dtype=np.int32))
        return 100 * lanes

    return steps


def worker(name: str, game: str, seconds: float) -> None:
    """Prints the rate of an environment, or the reason why there is none."""
    try:
        if name.startswith("sternhalma"):
            steps = sternhalma_steps(game, LANES[name], name.endswith("packed"))
        elif name == "open_spiel":
            steps = open_spiel_steps(game)
        else:
            steps = {"pgx": pgx_steps, "envpool": envpool_steps, "pufferlib": pufferlib_steps}[name](game, LANES[name])
        print(json.dumps({"rate": rate(steps, seconds)}))
    except Exception as error:
        print(json.dumps({"reason": f"{type(error).__name__}: {error}"}))


def run(python: str, name: str, game: str, seconds: float) -> dict[str, float | str]:
    """Measures an environment in a process of its own."""
    command = [python, __file__, "--worker", name, "--game", game, "--seconds", str(seconds)]
    one = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **one}, check=False)
    lines = done.stdout.strip().splitlines()
    return dict(json.loads(lines[-1])) if lines else {"reason": (done.stderr.strip().splitlines() or ["no output"])[-1]}


def lanes_rate(program: str, game: str, seconds: float) -> dict[str, float | str]:
    """Measures random playouts in lanes with the command line."""
    import tempfile

    from sternhalma import ggp

    with tempfile.NamedTemporaryFile("w", suffix=".kif") as file:
        file.write(ggp.games()[game])
        file.flush()
        command = [program, "gdl", "bench", "--engine", "lanes", "--seconds", str(seconds), "--json", file.name]
        report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {"rate": report["lanes"]["steps_per_s"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="interpreter that has the peers")
    parser.add_argument("--program", help="program `sternhalma`, for the rate of its lanes")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds per round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--game", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.game, options.seconds)
        return
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for game, peers in GAMES.items():
        names = ["sternhalma", "sternhalma packed"] + (peers if options.peers else [])
        found: dict[str, list[dict[str, float | str]]] = {}
        for _ in range(options.rounds):
            if options.program:
                found.setdefault("lanes alone", []).append(lanes_rate(options.program, game, options.seconds))
            for name in names:
                python = sys.executable if name.startswith("sternhalma") else options.peers
                found.setdefault(name, []).append(run(python, name, game, options.seconds))
        print(f"{game}:")
        rates = {}
        for name, rows in found.items():
            values = [float(row["rate"]) for row in rows if "rate" in row]
            if values:
                rates[name] = statistics.median(values)
                print(f"  {name:20} {rates[name] / 1e6:10.3f} M steps/s", flush=True)
            else:
                print(f"  {name:20} {str(rows[0]['reason']).splitlines()[0]}", flush=True)
        best = max((rates[name] for name in peers if name in rates and name != "pufferlib"), default=None)
        for name in ("sternhalma", "sternhalma packed"):
            if best is not None:
                print(f"  {name}: {rates[name] / best:.1f} times the fastest peer")
            if "lanes alone" in rates:
                print(f"  {name}: {rates[name] / rates['lanes alone']:.1%} of the lanes alone")


if __name__ == "__main__":
    main()
