"""Chinese Checkers as a vectorised environment, compared with positions and with searches in Python."""

from typing import Any

import numpy as np
import oracle
import pytest

import sternhalma as sh
from sternhalma.rl import Autoreset, VectorChineseCheckers, VectorEnvironment

BOARD = sh.Board(4, 3)
CELLS = 16


def planes(position: sh.Position) -> list[int]:
    """Returns the observation of a position."""
    mover = position.player
    found = [0] * (2 * CELLS)
    for plane, player in enumerate([mover, "o" if mover == "x" else "x"]):
        for cell in position.cells(player).tolist():
            found[plane * CELLS + (cell if mover == "x" else CELLS - 1 - cell)] = 1
    return found


def actions(position: sh.Position) -> dict[int, Any]:
    """Returns the legal actions of a position with their moves, by the rules in Python."""
    own = position.cells(position.player).tolist()
    occupied = set(position.cells("x").tolist()) | set(position.cells("o").tolist())
    moves = [(cell, to) for cell in own for to in oracle.destinations(4, occupied, cell)]
    # For o the board is turned.
    first, sign = (0, 1) if position.player == "x" else (CELLS - 1, -1)
    seen = [(first + sign * source) * CELLS + first + sign * target for source, target in moves]
    return dict(zip(seen, moves, strict=True)) or {CELLS**2: "pass"}


class Match:
    """One lane, played by positions in Python."""

    def __init__(self, autoreset: Autoreset, ply_limit: int, rules: str) -> None:
        self.autoreset, self.ply_limit, self.rules = autoreset, ply_limit, rules
        self.begin()
        self.reward, self.flags = (0.0, 0.0), (False, False)
        self.final: list[int] | None = None

    def begin(self) -> None:
        self.position, self.steps = sh.Position(board=BOARD, ply_limit=self.ply_limit, rules=self.rules), 0

    def step(self, action: int) -> None:
        self.reward, self.final = (0.0, 0.0), None
        if self.position.result is not None:
            if self.autoreset == "next_step":
                self.begin()
                self.flags = (False, False)
            return
        self.position = self.position.play(actions(self.position)[action])
        self.steps += 1
        result = self.position.result
        self.reward = {"x": (1.0, -1.0), "o": (-1.0, 1.0)}.get(str(result), (0.0, 0.0))
        late = result == "draw" and self.position.ply >= self.ply_limit
        self.flags = (result is not None and not late, late)
        if result is not None and self.autoreset == "same_step":
            self.final = planes(self.position)
            self.begin()

    def check(self, env: VectorEnvironment, lane: int) -> None:
        state = env.state
        assert state.observation[lane].tolist() == planes(self.position)
        over = self.position.result is not None
        legal = list(range(CELLS**2 + 1)) if over else sorted(actions(self.position))
        assert np.flatnonzero(state.legal[lane]).tolist() == legal
        assert state.player[lane] == (-1 if over else "xo".index(self.position.player))
        assert tuple(state.reward[lane]) == self.reward and state.steps[lane] == self.steps
        assert (state.terminated[lane], state.truncated[lane]) == self.flags
        if self.final is not None:
            assert env.final_observation[lane].tolist() == self.final


@pytest.mark.parametrize("rules", ["blocked-goal", "paper"])
@pytest.mark.parametrize("autoreset", ["next_step", "same_step", False])
def test_lanes_are_matches(autoreset: Autoreset, rules: str) -> None:
    lanes, ply_limit = 6, 45
    env = VectorChineseCheckers(BOARD, lanes, ply_limit=ply_limit, rules=rules, autoreset=autoreset)
    matches = [Match(autoreset, ply_limit, rules) for _ in range(lanes)]
    rng = np.random.default_rng(4)
    env.reset(seed=8)
    ends = [0, 0]
    for _ in range(250):
        chosen = env.random_actions().copy()
        mask = rng.random(lanes) < 0.8
        before = env.state.copy()
        assert all(before.legal[range(lanes), chosen]) and (chosen[before.player < 0] == 0).all()
        env.step(chosen, mask=mask if rng.random() < 0.5 else np.ones(lanes, np.bool_) if mask.all() else mask)
        for lane, match in enumerate(matches):
            if mask[lane]:
                match.step(int(chosen[lane]))
            else:
                match.reward, match.final = (0.0, 0.0), None
                if match.position.result is None:
                    match.flags = (False, False)
            match.check(env, lane)
        ends[0] += env.state.terminated.sum()
        ends[1] += env.state.truncated.sum()
        if autoreset is False and rng.random() < 0.1:
            over = env.state.player < 0
            env.reset(mask=env.state.terminated)
            env.reset(mask=env.state.truncated)
            for lane in np.flatnonzero(over).tolist():
                matches[lane] = Match(autoreset, ply_limit, rules)
                matches[lane].check(env, lane)
    assert min(ends) > 0


def test_rules_of_lanes() -> None:
    board = sh.Board(7, 6)
    for rules in ("blocked-goal", "paper"):
        env = VectorChineseCheckers(board, 1, rules=rules)
        position = sh.Position(board=board, rules=rules).play("a3-a4").play("g5-g4")
        env.set_state([True], [position])
        names = [env.action_name(0, int(action)) for action in np.flatnonzero(env.state.legal[0])]
        # The move seals the corner.
        assert ("a1-a3" in names) == (rules == "paper") and env.position(0).rules == position.rules
        assert sorted(names) == sorted(sh.format_moves(position.moves(), board=board).tolist())
        env.reset()
        for name in ["a3-a4", "g5-g4", "a4-a3", "g4-g5"] * 2:
            assert not env.state.terminated[0]
            role = int(env.state.player[0])
            legal = np.flatnonzero(env.state.legal[0])
            env.step(np.array([next(it for it in legal if env.action_name(role, int(it)) == name)]))
        # The third occurrence of the initial position.
        assert env.state.terminated[0] == (rules == "blocked-goal")
    with pytest.raises(sh.NotationError, match="expected the rules"):
        VectorChineseCheckers(board, 1, rules="chess")


def test_seeds_give_the_same_for_any_number_of_threads() -> None:
    runs = []
    for threads in (1, 2, 5):
        env = VectorChineseCheckers(sh.Board(5, 6), 100, threads=threads)
        env.reset(seed=3)
        for _ in range(50):
            env.step(env.random_actions())
        runs.append(env.state.copy())
    for run in runs[1:]:
        for found, expected in zip(run, runs[0], strict=True):
            np.testing.assert_array_equal(found, expected)
    first = env.random_actions().copy()
    env.reset(seed=3)
    second = env.random_actions().copy()
    env.reset(seed=4)
    assert (env.random_actions() != second).any() and (first != second).any()
    other = VectorChineseCheckers(sh.Board(5, 6), 100)
    other.reset(seed=0)
    assert (VectorChineseCheckers(sh.Board(5, 6), 100).random_actions() == other.random_actions()).all()


def test_random_actions_are_uniform() -> None:
    env = VectorChineseCheckers(BOARD, 4000)
    counts = np.bincount(env.random_actions(), minlength=env.max_moves)
    legal = np.flatnonzero(env.state.legal[0])
    assert set(np.flatnonzero(counts)) == set(legal)
    expected = 4000 / len(legal)
    assert ((counts[legal] - expected) ** 2 / expected).sum() < 40


def play(env: VectorEnvironment) -> np.ndarray[Any, Any]:
    """Plays five random steps and returns their actions."""
    chosen = []
    for _ in range(5):
        chosen.append(env.random_actions().copy())
        env.step(chosen[-1])
    return np.array(chosen)


def test_clones_are_independent() -> None:
    env = VectorChineseCheckers(BOARD, 8)
    env.reset(seed=1)
    env.step(env.random_actions())
    clone = env.clone()
    before = env.state.copy()
    first = play(env)
    for found, expected in zip(clone.state, before, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(play(clone), first)
    for found, expected in zip(clone.state, env.state, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert clone.board == env.board and clone.state.legal is not env.state.legal


def test_states_can_be_set() -> None:
    env = VectorChineseCheckers(BOARD, 4, ply_limit=20)
    env.step(env.random_actions())
    before = env.state.copy()
    text = "2xx/2x1/4/ooo1 x 19"
    mask = np.array([True, False, True, False])
    rows: list[str | sh.Position] = [text, sh.Position(text)]
    env.set_state(mask, rows)
    for lane in (0, 2):
        assert str(env.position(lane)) == text and env.state.steps[lane] == 0
        assert env.state.observation[lane].tolist() == planes(sh.Position(text))
    assert (env.state.legal[1] == before.legal[1]).all() and env.state.steps[1] == 1
    array = [[*env.position(1).cells("x"), *env.position(1).cells("o"), 1]]
    env.set_state(~mask & (np.arange(4) == 3), array)
    assert (env.state.observation[3] == env.state.observation[1]).all() and env.state.player[3] == 1
    assert env.position(3).ply == 0 and env.position(1).ply == 1
    # The state may be the end of a match.
    won = sh.Position("2xx/2x1/4/ooo1 x 3").play("c3-d3")
    env.set_state(mask, [won, won])
    over = won.result is not None
    assert env.state.terminated.tolist() == [over, False, over, False] and not env.state.reward.any()
    assert (env.state.player[mask] == (-1 if over else 1)).all()


def test_wrong_arguments_are_refused() -> None:
    env = VectorChineseCheckers(BOARD, 3)
    before = env.state.copy()
    legal = env.random_actions().copy()
    for lane, wrong in [(1, 0), (2, -1), (0, 257), (1, 2**40), (2, 256)]:
        chosen = legal.astype(np.int64)
        chosen[lane:] = wrong
        with pytest.raises(sh.IllegalAction, match=rf"^lane {lane}: {wrong}( \(.*\))? is not a legal action of x$"):
            env.step(chosen)
    for found, expected in zip(env.state, before, strict=True):
        np.testing.assert_array_equal(found, expected)
    masks: list[Any] = [[True], [1, 1, 1], np.ones((3, 1), np.bool_), True]
    for mask in masks:
        with pytest.raises(ValueError, match="mask"):
            env.reset(mask=mask)
        with pytest.raises(ValueError, match="mask"):
            env.step(legal, mask=mask)
    chosen_wrongly: list[Any] = [legal[:2], legal.reshape(3, 1), 5, None]
    for chosen in chosen_wrongly:
        with pytest.raises(ValueError, match="actions"):
            env.step(chosen)
    with pytest.raises(TypeError, match="actions: expected integers"):
        env.step(legal.astype(float))
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="seed"):
            env.reset(seed=seed)
    one = np.array([True, False, False])
    rows: list[Any] = [
        ["startpos", "startpos"],
        [],
        ["a1"],
        [sh.Position(board=sh.Board(5, 3))],
        [[0, 1, 2, 3, 4, 5]],
        [[0, 1, 2, 3, 4, 5, 2]],
        [[0, 1, 2, 2, 4, 5, 0]],
        [[0, 1, 1, 3, 4, 5, 0]],
        [[0, 1, 16, 3, 4, 5, 0]],
        [[0, 1, 300, 3, 4, 5, 0]],
    ]
    for row in rows:
        with pytest.raises(ValueError):
            env.set_state(one, row)
    wrong_arguments: list[dict[str, Any]] = [
        {"lanes": 0},
        {"threads": -1},
        {"ply_limit": 0},
        {"shaping": 1.0},
        {"autoreset": "later"},
        {"board": sh.Board(3, 6)},
    ]
    for arguments in wrong_arguments:
        with pytest.raises(ValueError):
            VectorChineseCheckers(**{"board": BOARD, "lanes": 2, **arguments})
    with pytest.raises(ValueError, match="autoreset"):
        env.autoreset = "later"  # type: ignore[assignment]
    assert env.autoreset == "next_step"
    for method in (env.distances, env.teacher):
        with pytest.raises(ValueError, match="no table"):
            method()
    env.state.observation.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        env.reset()


def test_names_of_actions_are_moves() -> None:
    env = VectorChineseCheckers(BOARD, 2)
    env.step(env.random_actions())
    position = env.position(0)
    names = {env.action_name(1, int(action)) for action in np.flatnonzero(env.state.legal[0])}
    assert names == set(sh.format_moves(position.moves(), board=BOARD).tolist())
    assert env.action_name(0, CELLS**2) == "pass" and env.roles == ("x", "o")
    for role, action in [(2, 0), (-1, 0), (0, -1), (0, CELLS**2 + 1)]:
        with pytest.raises(IndexError):
            env.action_name(role, action)
    with pytest.raises(IndexError):
        env.position(2)
    assert (env.max_moves, env.observation_shape, env.simultaneous, env.lanes) == (257, (32,), False, 2)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sh.Table:
    return sh.build(board=BOARD, path=tmp_path_factory.mktemp("tables") / "t.sht")


def lead(distances: dict[int, int], position: sh.Position) -> int:
    x, o = (distances[oracle.rank(4, position.cells(player).tolist(), player)] for player in "xo")
    return o - x


def test_distances_teachers_and_shaped_rewards(table: sh.Table) -> None:
    distances = oracle.distances(4, 3)
    env = VectorChineseCheckers(BOARD, 10, table=table, shaping=0.25, threads=2, autoreset=False, ply_limit=40)
    env.reset(seed=6)
    for step in range(60):
        found, teacher = env.distances(), env.teacher()
        leads = []
        for lane in range(10):
            position = env.position(lane)
            leads.append(lead(distances, position))
            ranks = [oracle.rank(4, position.cells(player).tolist(), player) for player in "xo"]
            assert found[lane].tolist() == [distances[rank] for rank in ranks]
            if env.state.player[lane] < 0:
                assert teacher[lane].all()
                continue
            own, mover = set(position.cells(position.player).tolist()), position.player
            after = {
                action: distances[
                    oracle.rank(4, list(own - {move[0]} | {move[1]}) if move != "pass" else list(own), mover)
                ]
                for action, move in actions(position).items()
            }
            best = [action for action, distance in after.items() if distance == min(after.values())]
            assert np.flatnonzero(teacher[lane]).tolist() == sorted(best)
        over = env.state.player < 0
        chosen = teacher.argmax(axis=1) if step % 2 else env.random_actions()
        env.step(chosen)
        for lane in range(10):
            position = env.position(lane)
            gain = 0.25 * (lead(distances, position) - leads[lane])
            result = {"x": 1.0, "o": -1.0}.get(str(position.result), 0.0)
            expected = 0.0 if over[lane] else result + gain
            assert env.state.reward[lane].tolist() == [expected, -expected]
    assert (env.state.player < 0).any()


def test_a_table_may_cover_few_armies(tmp_path: Any) -> None:
    prefix = sh.build(board=BOARD, within=8, path=tmp_path / "t.sht", encoding="mod3")
    env = VectorChineseCheckers(BOARD, 2, table=prefix, shaping=1.0)
    assert (env.distances() == sh.OUTSIDE).all()
    assert (env.teacher() == env.state.legal).all()
    assert np.isfinite(env.step(env.random_actions()).reward).all()
    with pytest.raises(ValueError, match="the table is of"):
        VectorChineseCheckers(sh.Board(5, 3), 2, table=prefix)
    prefix.close()
    with pytest.raises(ValueError, match="closed"):
        VectorChineseCheckers(BOARD, 2, table=prefix)
