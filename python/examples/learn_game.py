"""Learns the values of the states of tic-tac-toe by playing against itself, and prints results against random moves.

    python learn_game.py --matches 20000

The values are in a table by the observation (temporal differences of afterstates). All lanes play at once.
"""

import argparse

import numpy as np

from sternhalma import ggp, rl

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--matches", type=int, default=20_000, help="matches to learn from")
parser.add_argument("--lanes", type=int, default=512, help="matches at once")
arguments = parser.parse_args()

game = ggp.Game.open("tic-tac-toe")
lanes, moves = arguments.lanes, game.max_moves
rng = np.random.default_rng(1)
# A state is the number that its observation has in base 2; values are those of the role that moved into the state.
weights = 1 << np.arange(len(game.fluents), dtype=np.uint64)
values: dict[int, float] = {}


def keys(environment: rl.VectorGame) -> np.ndarray:
    """Returns the number of the state of each lane."""
    return environment.state.observation @ weights


def afterstates(environment: rl.VectorGame) -> np.ndarray:
    """Returns the value of the state after each action of each lane, and -inf for illegal actions."""
    found = np.full((lanes, moves), -np.inf)
    legal = environment.state.legal.copy()
    player = environment.state.player.copy()
    for action in range(moves):
        mask = legal[:, action] & (player >= 0)
        if mask.any():
            copy = environment.clone()
            state = copy.step(np.full(lanes, action), mask=mask)
            known = np.array([values.get(int(key), 0.0) for key in keys(copy)[mask]])
            reward = state.reward[mask, player[mask]]
            found[mask, action] = np.where(state.terminated[mask], reward, known)
    return found


def choose(environment: rl.VectorGame, exploration: float) -> np.ndarray:
    """Returns the best action of each lane, or a random one."""
    ratings = afterstates(environment) + rng.random((lanes, moves)) * 1e-6
    random = environment.random_actions()
    return np.where(rng.random(lanes) < exploration, random, ratings.argmax(axis=1))


def learn() -> None:
    """Plays matches against itself, and moves each value towards that of the next state of the same role."""
    environment = rl.VectorGame(game, lanes)
    last: list[list[int | None]] = [[None, None] for _ in range(lanes)]
    ended = 0
    while ended < arguments.matches:
        player = environment.state.player.copy()
        state = environment.step(choose(environment, 0.2))
        for lane, key in enumerate(keys(environment).tolist()):
            if player[lane] < 0:
                last[lane] = [None, None]
                continue
            target = float(state.reward[lane, player[lane]]) if state.terminated[lane] else values.get(key, 0.0)
            updates = [(last[lane][player[lane]], target)]
            if state.terminated[lane]:
                updates += [(last[lane][1 - player[lane]], float(state.reward[lane, 1 - player[lane]]))]
            for before, value in updates:
                if before is not None:
                    values[before] = values.get(before, 0.0) + 0.2 * (value - values.get(before, 0.0))
            last[lane][player[lane]] = key
            ended += int(state.terminated[lane])


def mean_reward(role: int, trained: bool) -> float:
    """Returns the mean reward of a role in one match per lane; the other role plays at random."""
    environment = rl.VectorGame(game, lanes, autoreset=False)
    environment.reset(seed=7)
    total = np.zeros(lanes)
    while not environment.state.terminated.all():
        own = environment.state.player == role
        random = environment.random_actions().copy()
        actions = np.where(own, choose(environment, 0.0), random) if trained else random
        total += environment.step(actions).reward[:, role]
    return float(total.mean())


before = [mean_reward(role, False) for role in range(2)]
learn()
after = [mean_reward(role, True) for role in range(2)]
for role, name in enumerate(game.roles):
    print(f"{name}: mean reward {before[role]:+.2f} with random moves, {after[role]:+.2f} with learnt values")
