"""The wrappers for Gymnasium and PettingZoo."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test

import sternhalma as sh
from sternhalma import ggp, rl

GAMES = {name: ggp.Game(text) for name, text in ggp.games().items()}


def first_legal(environment: rl.VectorGame, mask: Any) -> Any:
    """An opponent that plays the first legal action."""
    assert (environment.state.player[mask] != -1).all()
    return environment.state.legal.argmax(axis=1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["tic-tac-toe", "connect-four"])
@pytest.mark.parametrize("opponent", [None, "random", first_legal, rl.PolicyOpponent(playouts=10)])
def test_single_environments_pass_the_check(name: str, opponent: Any) -> None:
    check_env(rl.gymnasium_single(rl.VectorGame(GAMES[name], 1), opponent=opponent))


def test_a_seeded_reset_repeats_the_moves_of_a_search() -> None:
    environment = rl.gymnasium_single(
        rl.VectorGame(GAMES["connect-four"], 1), opponent=rl.PolicyOpponent(playouts=10), role=1
    )

    def opening(seed: int) -> list[Any]:
        observation, info = environment.reset(seed=seed)
        found = [observation]
        for _ in range(3):
            observation, _, over, _, info = environment.step(np.flatnonzero(info["action_mask"])[0])
            assert not over
            found.append(observation)
        return found

    first, others = opening(5), [opening(seed) for seed in range(6, 12)]
    assert np.array_equal(first, opening(5))
    assert any(not np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("opponent", [None, first_legal])
@pytest.mark.parametrize("mode", ["next_step", "same_step", False])
@pytest.mark.parametrize("role", [0, "o"])
def test_the_vector_agrees_with_single_environments(opponent: Any, mode: rl.Autoreset, role: int | str) -> None:
    lanes, game, rng = 6, GAMES["tic-tac-toe"], np.random.default_rng(4)
    side = role if opponent else None
    vector = rl.gymnasium(rl.VectorGame(game, lanes, autoreset=mode), role=side, opponent=opponent)
    singles = [rl.gymnasium_single(rl.VectorGame(game, 1), role=side, opponent=opponent) for _ in range(lanes)]
    observation, info = vector.reset(seed=1)
    starts = [single.reset() for single in singles]
    assert all(np.array_equal(observation[lane], start[0]) for lane, start in enumerate(starts))
    over = np.zeros(lanes, np.bool_)
    ends = illegal = 0
    for _ in range(60):
        masks = info["action_mask"]
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        if rng.random() < 0.2:
            actions[rng.integers(lanes)] = rng.integers(vector.single_action_space.n)  # type: ignore[attr-defined]
        observation, reward, terminated, truncated, info = vector.step(actions)
        assert not truncated.any()
        for lane, single in enumerate(singles):
            row = observation[lane]
            if over[lane] and mode == "next_step":
                expected: tuple[Any, ...] = (single.reset()[0], 0.0, False)
            elif over[lane]:
                assert reward[lane] == 0 and terminated[lane]
                continue
            else:
                found = single.step(int(actions[lane]))
                expected = found[:3]
                illegal += "illegal" in found[4]
                assert bool(info.get("illegal", np.zeros(lanes))[lane]) == ("illegal" in found[4])
                if found[2] and mode == "same_step":
                    assert info["_final_obs"][lane] and np.array_equal(info["final_obs"][lane], found[0])
                    expected = (single.reset()[0], *expected[1:])
            ends += bool(expected[2])
            assert np.array_equal(row, expected[0])
            assert (reward[lane], terminated[lane]) == pytest.approx(expected[1:])
        over = terminated & (mode != "same_step")
        if not mode and over.all():
            break
    if not mode:
        reset = over & (np.arange(lanes) % 2 == 0)
        observation, info = vector.reset(options={"reset_mask": reset})
        assert np.array_equal(observation[reset], np.array([single.reset()[0] for single in singles])[reset])
    assert ends > 5 and (illegal > 0 or not mode)
    assert vector.metadata["autoreset_mode"].value == {"next_step": "NextStep", "same_step": "SameStep"}.get(
        str(mode), "Disabled"
    )


def test_agents_see_only_their_own_moves() -> None:
    environment = rl.VectorGame(GAMES["connect-four"], 200)
    vector = rl.gymnasium(environment, role=1, opponent="random")
    _, info = vector.reset(seed=3)
    total = np.zeros(200)
    for _ in range(100):
        assert np.isin(info["player"], [1, -1]).all()
        _, reward, terminated, _, info = vector.step([mask.argmax() for mask in info["action_mask"]])
        assert (reward[~terminated] == 0).all() and np.isin(reward, [-1, 0, 1]).all()
        total += reward
    # The first legal column wins against random moves more often than not.
    assert total.sum() > 100


def test_wrong_uses_of_wrappers() -> None:
    game = GAMES["tic-tac-toe"]
    strict = rl.gymnasium(rl.VectorGame(game, 3), illegal="raise")
    strict.reset()
    with pytest.raises(sh.IllegalAction, match="lane 1"):
        strict.step([0, 9, 50])
    wrong: list[Any] = [
        lambda: rl.gymnasium(rl.VectorGame(GAMES["matching-pennies"], 2)),
        lambda: rl.gymnasium(rl.VectorGame(game, 2, packed=True)),
        lambda: rl.gymnasium(rl.VectorGame(game, 2), role=1),
        lambda: rl.gymnasium(rl.VectorGame(game, 2), role=2, opponent="random"),
        lambda: rl.gymnasium(rl.VectorGame(game, 2), role="z", opponent="random"),
        lambda: rl.gymnasium(rl.VectorGame(game, 2), illegal="ignore"),  # type: ignore[arg-type]
        lambda: rl.gymnasium_single(rl.VectorGame(game, 2)),
        lambda: rl.pettingzoo(rl.VectorGame(game, 2)),
    ]
    for call in wrong:
        with pytest.raises(ValueError):
            call()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["tic-tac-toe", "connect-four", "matching-pennies", "odd-one-out", "othello"])
def test_pettingzoo_accepts_the_environment(name: str) -> None:
    api_test(rl.pettingzoo(rl.VectorGame(GAMES[name], 1)), num_cycles=200)
    seed_test(lambda: rl.pettingzoo(rl.VectorGame(GAMES[name], 1)), num_cycles=50)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opponent", [None, "random"])
def test_chinese_checkers_passes_the_checks(opponent: Any) -> None:
    def one_lane() -> rl.VectorChineseCheckers:
        return rl.VectorChineseCheckers(sh.Board(4, 3), lanes=1, ply_limit=60)

    check_env(rl.gymnasium_single(one_lane(), opponent=opponent))
    api_test(rl.pettingzoo(one_lane()), num_cycles=200)
    seed_test(lambda: rl.pettingzoo(one_lane()), num_cycles=50)


def test_agents_of_pettingzoo_play_a_match() -> None:
    environment = rl.pettingzoo(rl.VectorGame(GAMES["tic-tac-toe"], 1))
    environment.reset()
    state, rewards = GAMES["tic-tac-toe"].initial(), {"x": 0.0, "o": 0.0}
    for agent in environment.agent_iter():
        observation, reward, terminated, truncated, _ = environment.last()
        rewards[agent] += reward
        assert not truncated and terminated == state.terminal
        assert np.array_equal(observation["observation"], state.row)
        if terminated:
            environment.step(None)
            continue
        with pytest.raises(sh.IllegalAction):
            environment.step(77)
        action = int(observation["action_mask"].argmax())
        state = state.play(GAMES["tic-tac-toe"].moves[agent][action])
        environment.step(action)
    assert rewards == {"x": 1.0, "o": -1.0}


def test_spaces_are_those_of_gymnasium() -> None:
    vector = rl.gymnasium(rl.VectorGame(GAMES["tic-tac-toe"], 3))
    observation, _ = vector.reset()
    assert vector.observation_space.contains(observation)
    assert isinstance(vector.single_action_space, gymnasium.spaces.Discrete)
    assert isinstance(vector, gymnasium.vector.VectorEnv)


def test_wrappers_refuse_actions_that_are_no_integers() -> None:
    game = GAMES["tic-tac-toe"]
    vector, single = rl.gymnasium(rl.VectorGame(game, 2)), rl.gymnasium_single(rl.VectorGame(game, 1))
    agents = rl.pettingzoo(rl.VectorGame(game, 1))
    vector.reset(), single.reset(), agents.reset()
    wrong: list[Any] = [0.5, 1.0, float("nan"), True, None]
    for action in wrong:
        with pytest.raises(TypeError, match="actions: expected integers"):
            vector.step([action, action])
        for environment in [single, agents]:
            with pytest.raises(TypeError, match="actions: expected integers"):
                environment.step(action)
    with pytest.raises(TypeError, match="action: expected an integer"):
        agents.step([1])


def test_actions_need_not_be_aligned() -> None:
    environments: list[Any] = [rl.VectorGame(GAMES["tic-tac-toe"], 8), rl.VectorChineseCheckers(sh.Board(4, 3), 8)]
    for environment in environments:
        for dtype in [np.int16, np.int32, np.int64, np.uint64]:
            environment.reset(seed=1)
            chosen = environment.random_actions().astype(dtype)
            misaligned = np.zeros(chosen.nbytes + 1, np.uint8)[1:].view(dtype)
            misaligned[:] = chosen
            assert not misaligned.flags.aligned
            expected = environment.clone().step(chosen).observation
            assert np.array_equal(environment.step(misaligned).observation, expected)


def test_wrong_roles_are_named() -> None:
    def wrap(role: Any) -> Any:
        return rl.gymnasium(rl.VectorGame(GAMES["tic-tac-toe"], 2), role=role, opponent="random")

    for role, error in [("q", ValueError), (2, ValueError), (-1, ValueError), (True, TypeError), (0.0, TypeError)]:
        with pytest.raises(error, match="role: "):
            wrap(role)
        with pytest.raises(error, match="role: "):
            GAMES["tic-tac-toe"].search(role=role, playouts=1)  # type: ignore[arg-type]


def test_agents_need_a_reset() -> None:
    with pytest.raises(RuntimeError, match="call reset first"):
        rl.pettingzoo(rl.VectorGame(GAMES["tic-tac-toe"], 1)).step(0)


def test_lists_of_seeds_repeat_matches() -> None:
    def first(seed: Any) -> Any:
        vector = rl.gymnasium(rl.VectorGame(GAMES["connect-four"], 3), role=1, opponent="random")
        return vector.reset(seed=seed)[0]

    found = [first([seed, 2, 3]) for seed in range(8)]
    assert np.array_equal(first([0, 2, 3]), found[0])
    assert any(not np.array_equal(found[0], other) for other in found)
    assert first([None] * 3).shape == found[0].shape
    for same in [(0, 2, 3), np.array([0, 2, 3])]:
        assert np.array_equal(first(same), found[0])
    for wrong in [[1, 2], [1, None, 3], [1, -2, 3]]:
        with pytest.raises(ValueError, match="seed: "):
            first(wrong)
    with pytest.raises(TypeError, match=r"seed: expected integers, got 0.5"):
        first([1, 0.5, 3])


def test_an_environment_has_one_wrapper() -> None:
    environment = rl.VectorGame(GAMES["tic-tac-toe"], 1, autoreset="same_step")
    rl.gymnasium(environment)
    for wrap in [rl.gymnasium, rl.gymnasium_single, rl.pettingzoo]:
        with pytest.raises(ValueError, match=r"has a wrapper, .* wrap a clone"):
            wrap(environment)  # type: ignore[operator]
    # A clone keeps the mode.
    assert environment.autoreset == "same_step"
    assert rl.gymnasium(environment.clone()).metadata["autoreset_mode"].value == "SameStep"
