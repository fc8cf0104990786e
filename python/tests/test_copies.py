"""Copies and pickles, also in another process."""

import copy
import multiprocessing
import os
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sternhalma as sh
from sternhalma import ggp, rl

BOARD = sh.Board(5, 3)
SHUFFLE = ["b1-c1", "d5-c5", "c1-b1", "c5-d5", "b1-c1", "d5-c5", "c1-b1"]
DUPLICATES: list[Any] = [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]


def describe(thing: Any) -> Any:
    """Returns what identifies an object, also in another process."""
    if isinstance(thing, sh.Position):
        # The last move of the shuffle repeats the position for the third time.
        after = thing.play("c5-d5").result if thing.ply == len(SHUFFLE) else None
        return str(thing), thing.rules, thing.ply_limit, after
    if isinstance(thing, sh.Table):
        return thing.path, thing.checksum, thing.distance("startpos")
    if isinstance(thing, sh.Results):
        return str(thing), thing.schedule, thing.games()["moves"]
    if isinstance(thing, ggp.Game):
        return thing.text, thing.roles, thing.findings
    if isinstance(thing, ggp.State):
        return thing.facts, thing.legal, thing.game.search(thing, playouts=20).move
    if isinstance(thing, sh.RulesheetError):
        return str(thing), thing.findings
    return repr(thing)


def fail() -> None:
    """Raises an exception of this package with attributes."""
    ggp.Game("(role x) (role")


def shuffled(rules: str) -> sh.Position:
    position = sh.Position(board=BOARD, ply_limit=77, rules=rules)
    for move in SHUFFLE:
        position = position.play(move)
    return position


@pytest.fixture
def things(tmp_path: Path) -> list[Any]:
    game = ggp.Game(ggp.games()["tic-tac-toe"])
    return [
        *map(shuffled, ["paper", "blocked-goal-1", "blocked-goal"]),
        sh.Position("2xx/2x1/4/ooo1 o 20"),
        sh.build(board=BOARD, path=tmp_path / "t.sht"),
        sh.tournament(["greedy", "random"], board=BOARD, games=2, nodes=10, ply_limit=20),
        game,
        game.initial().play("mark 2 2"),
        BOARD,
        sh.players(),
        sh.Search("a1-a2", ("lead", 1.5), 1, 2, 3, 0.5, ["a1-a2"]),
    ]


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_copies_are_the_same(things: list[Any], duplicate: Any) -> None:
    for thing in things:
        other = duplicate(thing)
        assert describe(other) == describe(thing) and type(other) is type(thing)


def test_another_process_gets_the_same(things: list[Any]) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        assert list(processes.map(describe, things)) == list(map(describe, things))
        with pytest.raises(sh.RulesheetError) as raised:
            processes.submit(fail).result()
    with pytest.raises(sh.RulesheetError) as expected:
        fail()
    assert describe(raised.value) == describe(expected.value)


def test_a_pickled_position_keeps_its_repetitions() -> None:
    for rules, result in [("paper", None), ("blocked-goal-1", "draw"), ("blocked-goal", "draw")]:
        position = shuffled(rules)
        loaded = pickle.loads(pickle.dumps(position))
        assert loaded == position and hash(loaded) == hash(position)
        over = loaded.play("c5-d5")
        assert over.result == result and pickle.loads(pickle.dumps(over)).result == result
    assert copy.copy(position) is position and copy.deepcopy([position])[0] is position


def test_a_copied_table_is_open_until_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.sht"
    sh.build(board=BOARD, path=path)
    monkeypatch.chdir(tmp_path)
    table = sh.open("t.sht", checked=False, load_budget=100)
    monkeypatch.chdir("/")
    for duplicate in DUPLICATES:
        other = duplicate(table)
        other.close()
        assert table.distance("startpos") > 0 and other.closed
    data = pickle.dumps(table)
    table.close()
    assert pickle.loads(data).path == os.path.realpath(path)
    for duplicate in DUPLICATES:
        with pytest.raises(ValueError, match="the table is closed"):
            duplicate(table)
    sh.build(board=BOARD, within=20, path=tmp_path / "other.sht")
    shutil.copy(tmp_path / "other.sht", path)
    with pytest.raises(sh.TableError, match="is not the table that was copied"):
        pickle.loads(data)
    path.unlink()
    with pytest.raises(sh.TableNotFound):
        pickle.loads(data)


def test_states_of_games_pickled_apart_are_not_equal() -> None:
    game = ggp.Game(ggp.games()["tic-tac-toe"])
    state = game.initial()
    assert copy.deepcopy(state).game is copy.deepcopy(game) is game
    same, loaded = pickle.loads(pickle.dumps([game, state]))
    assert loaded.game is same and loaded == same.initial() != state
    with pytest.raises(ValueError, match=r"another game; game.state\(state.row\)"):
        game.search(loaded, playouts=1)
    assert game.state(loaded.row) == state


def test_what_cannot_be_copied_says_what_to_do(sternhalma: Any) -> None:
    player = sh.Player("greedy", board=BOARD)
    with pytest.raises(TypeError, match="a Player cannot be copied or pickled; create another one"):
        pickle.dumps({"player": player})
    wrapper = rl.gymnasium(rl.VectorGame(ggp.Game(ggp.games()["tic-tac-toe"]), 1))
    for thing, advice in [(player, "create another"), (wrapper, "clone of the environment")]:
        for duplicate in DUPLICATES:
            with pytest.raises(TypeError, match=f"cannot be copied or pickled.*; .*{advice}"):
                duplicate(thing)


def test_copies_of_environments_are_independent() -> None:
    environments: list[Any] = [
        rl.VectorGame(ggp.Game(ggp.games()["tic-tac-toe"]), 2),
        rl.VectorChineseCheckers(sh.Board(4, 3), lanes=2),
    ]
    for environment in environments:
        for duplicate in [copy.copy, copy.deepcopy]:
            environment.reset()
            other, state = duplicate(environment), duplicate(environment.state)
            environment.step(environment.random_actions())
            assert environment.state.steps.tolist() == [1, 1]
            assert other.state.steps.tolist() == state.steps.tolist() == [0, 0]
        with pytest.raises(TypeError, match=r"cannot be pickled; pickle .* and set them again"):
            pickle.dumps(environment)


def test_a_copied_opponent_continues_alone() -> None:
    opponent = rl.PolicyOpponent(playouts=10, seed=3)
    environment = rl.VectorGame(ggp.Game(ggp.games()["connect-four"]), 1)
    for duplicate in DUPLICATES:
        other = duplicate(opponent)
        chosen = [opponent(environment, np.ones(1, np.bool_))[0] for _ in range(3)]
        assert [other(environment, np.ones(1, np.bool_))[0] for _ in range(3)] == chosen
