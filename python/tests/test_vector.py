"""Vectorised environments, compared with states that are played one by one."""

import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import sternhalma as sh
from sternhalma import ggp, rl

GAMES = {name: ggp.Game(text) for name, text in ggp.games().items()}
SMALL = GAMES["tic-tac-toe"]


class Lane:
    """The expected state of a lane."""

    def __init__(self, environment: rl.VectorGame) -> None:
        self.environment = environment
        self.begin(environment.game.initial())

    def begin(self, state: ggp.State) -> None:
        self.state = state
        self.steps = 0
        self.reward = [0.0] * len(state.game.roles)
        self.find_end(None)

    def find_end(self, limit: int | None) -> None:
        self.terminated = self.state.terminal
        self.truncated = not self.terminated and limit is not None and self.steps >= limit
        if self.terminated:
            low, high = self.environment.reward_range
            self.reward = [low + (high - low) * ((goal or 0) / 100) for goal in self.state.goals]

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated

    def step(self, actions: Any, autoreset: rl.Autoreset, limit: int | None) -> None:
        game = self.environment.game
        if self.over and autoreset == "next_step":
            self.begin(game.initial())
            return
        self.reward = [0.0] * len(game.roles)
        if self.over:
            return
        if self.environment.simultaneous:
            joint = [game.moves[role][action] for role, action in zip(game.roles, actions, strict=True)]
            self.state = self.state.play(joint)
        else:
            player = int(actions[1])
            self.state = self.state.play({game.roles[player]: game.moves[game.roles[player]][actions[0]]})
        self.steps += 1
        self.find_end(limit)
        if self.over and autoreset == "same_step":
            ended = (self.reward, self.terminated, self.truncated)
            self.begin(game.initial())
            self.reward, self.terminated, self.truncated = ended
            self.restarted = True

    def check(self, state: rl.VectorState, lane: int, restarted: bool) -> None:
        game = self.environment.game
        assert state.observation[lane].tolist() == self.state.row.tolist()
        assert (state.terminated[lane], state.truncated[lane]) == (self.terminated, self.truncated)
        assert state.steps[lane] == self.steps
        assert np.allclose(state.reward[lane], self.reward, atol=1e-6)
        if self.over and not restarted:
            assert state.player[lane] == -1 and state.legal[lane].all()
            return
        legal = self.state.legal
        choosing = [number for number, moves in enumerate(legal.values()) if len(moves) > 1]
        player = int(state.player[lane])
        if len(choosing) == 1:
            assert player == choosing[0]
        elif choosing:
            assert self.environment.simultaneous and player == -1
        roles = range(len(game.roles)) if self.environment.simultaneous else [player]
        for row, number in zip(np.atleast_2d(state.legal[lane]), roles, strict=True):
            moves = game.moves[game.roles[number]]
            assert [moves[action] for action in np.flatnonzero(row)] == legal[game.roles[number]]


def play(name: str, autoreset: rl.Autoreset, lanes: int, steps: int, limit: int | None, seed: int) -> int:
    """Plays random actions, in all lanes or in some, and compares every state. Returns the number of ended matches."""
    rng = np.random.default_rng(seed)
    environment = rl.VectorGame(GAMES[name], lanes, autoreset=autoreset, max_steps=limit)
    state = environment.reset(seed=seed)
    expected = [Lane(environment) for _ in range(lanes)]
    restarted = np.zeros(lanes, np.bool_)
    ends = 0
    for step in range(steps):
        for lane, one in enumerate(expected):
            one.check(state, lane, bool(restarted[lane]))
        actions, players = environment.random_actions().copy(), state.player.copy()
        mask = rng.random(lanes) < 0.7 if step % 4 == 3 else None
        before = [one.state for one in expected]
        assert environment.step(actions.tolist() if step % 2 else actions, mask=mask) is state
        for lane, one in enumerate(expected):
            was_over = one.over and not restarted[lane]
            if restarted[lane]:
                one.terminated = one.truncated = False
            one.reward = [0.0] * len(one.reward)
            restarted[lane] = False
            if mask is None or mask[lane]:
                chosen = actions[lane] if environment.simultaneous else (actions[lane], players[lane])
                one.step(chosen, autoreset, limit)
                if one.over and not was_over:
                    ends += 1
                    if autoreset == "same_step":
                        restarted[lane] = True
                        last = environment.game.state(environment.final_observation[lane])
                        assert last != before[lane] and (last.terminal or one.truncated)
    return ends


@pytest.mark.parametrize("name", sorted(GAMES))
def test_lanes_agree_with_states(name: str) -> None:
    modes: list[rl.Autoreset] = ["next_step", "same_step", False]
    number = sorted(GAMES).index(name)
    play(name, modes[number % 3], [5, 3][number % 2], 40, None, number)
    assert play(name, modes[(number + 1) % 3], 4, 25, 6, number) > 3


def test_modes_of_autoreset() -> None:
    for autoreset in ("next_step", "same_step"):
        assert play("tic-tac-toe", autoreset, 30, 40, None, 1) > 60
    assert play("tic-tac-toe", False, 30, 20, None, 1) > 20
    with pytest.raises(ValueError, match="autoreset"):
        rl.VectorGame(SMALL, autoreset="later")  # type: ignore[arg-type]


def equal(left: Iterable[Any], right: Iterable[Any]) -> bool:
    """Returns whether arrays are the same in pairs."""
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def run(environment: rl.VectorGame, steps: int) -> list[rl.VectorState]:
    return [environment.step(environment.random_actions()).copy() for _ in range(steps)]


def same(left: list[rl.VectorState], right: list[rl.VectorState]) -> bool:
    return all(equal(one, other) for one, other in zip(left, right, strict=True))


def test_seeds_decide_the_results() -> None:
    environments = [rl.VectorGame(GAMES["connect-four"], 1200, threads=threads) for threads in (1, 2, 3, 0)]
    results = []
    for environment in environments:
        environment.reset(seed=5)
        results.append(run(environment, 30))
    assert all(same(results[0], other) for other in results[1:])
    environments[0].reset(seed=6)
    assert not same(run(environments[0], 30), results[0])
    unseeded = rl.VectorGame(GAMES["connect-four"], 1200)
    seeded = rl.VectorGame(GAMES["connect-four"], 1200)
    seeded.reset(seed=0)
    assert same(run(unseeded, 5), run(seeded, 5))
    # The lanes of a block do not depend on the number of blocks.
    few = rl.VectorGame(GAMES["connect-four"], 512)
    few.reset(seed=5)
    assert np.array_equal(run(few, 30)[-1].observation, results[0][-1].observation[:512])


def test_clones_are_independent() -> None:
    environment = rl.VectorGame(GAMES["breakthrough"], 600)
    run(environment, 20)
    clone = environment.clone()
    assert equal(environment.state, clone.state)
    assert not np.shares_memory(environment.state.observation, clone.state.observation)
    assert np.array_equal(environment.planes, clone.planes)
    before = environment.state.copy()
    results = run(clone, 20)
    assert same([before], [environment.state])
    assert same(results, run(environment, 20))


def bits(planes: NDArray[np.uint64], lanes: int) -> NDArray[np.uint8]:
    """Returns the bits of planes, one row per lane."""
    blocks, items, words = planes.shape
    unpacked = np.unpackbits(planes.view(np.uint8), bitorder="little").reshape(blocks, items, 64 * words)
    return unpacked.transpose(0, 2, 1).reshape(-1, items)[:lanes]


@pytest.mark.parametrize("name", ["connect-four", "breakthrough", "matching-pennies"])
def test_planes_are_packed_rows(name: str) -> None:
    environment = rl.VectorGame(GAMES[name], 700)
    packed = rl.VectorGame(GAMES[name], 700, packed=True)
    for _ in range(30):
        state, other = environment.state, packed.state
        assert np.array_equal(bits(environment.planes, 700), state.observation)
        legal = environment.legal_planes.reshape(2, -1, 8)
        assert np.array_equal(bits(legal, 700), state.legal.reshape(700, -1))
        assert np.array_equal(bits(packed.planes, 700), state.observation)
        assert np.array_equal(bits(packed.legal_planes.reshape(2, -1, 8), 700), state.legal.reshape(700, -1))
        assert len(other.observation) == len(other.legal) == 0
        assert equal(state[2:], other[2:])
        packed.step(packed.random_actions())
        environment.step(environment.random_actions())


def test_states_are_set() -> None:
    environment = rl.VectorGame(GAMES["connect-four"], 600)
    results = run(environment, 15)
    other = rl.VectorGame(GAMES["connect-four"], 600)
    mask = np.arange(600) % 3 != 1
    before = other.state.copy()
    after = other.set_state(mask, results[-1].observation[mask])
    assert np.array_equal(after.observation[mask], results[-1].observation[mask])
    assert np.array_equal(after.observation[~mask], before.observation[~mask])
    going = mask & ~results[-1].terminated
    assert np.array_equal(after.legal[going], results[-1].legal[going])
    assert np.array_equal(after.player[mask], results[-1].player[mask])
    ended = mask & results[-1].terminated
    assert ended.any() and np.array_equal(after.reward[ended], results[-1].reward[ended])
    assert (after.steps == 0).all()
    wrong: list[tuple[Any, Any]] = [
        (mask, results[-1].observation),
        (mask[:5], results[-1].observation[:5]),
        (np.ones(600), results[-1].observation),
        (mask, results[-1].observation[mask][:, 1:]),
    ]
    for arguments in wrong:
        with pytest.raises(ValueError):
            other.set_state(*arguments)
    assert same([other.state], [after])
    # Any values are a state, perhaps one that no match reaches.
    rng = np.random.default_rng(1)
    for game in ("connect-four", "othello", "odd-one-out"):
        odd = rl.VectorGame(GAMES[game], 512, simultaneous=True)
        odd.set_state(np.ones(512, np.bool_), rng.integers(0, 2, (512, len(GAMES[game].fluents))))
        run(odd, 3)


def test_illegal_actions_name_the_first_lane() -> None:
    environment = rl.VectorGame(SMALL, 1500, threads=2)
    run(environment, 2)
    before = environment.state.copy()
    for lane, action in [(3, 99), (700, -1), (1499, 9), (0, 2**40), (5, -(2**40))]:
        actions = environment.random_actions().astype(np.int64)
        actions[[lane, 1499]] = action
        with pytest.raises(sh.IllegalAction, match=f"^lane {lane}: {action}"):
            environment.step(actions)
        assert same([environment.state], [before])
        mask = np.ones(1500, np.bool_)
        mask[[lane, 1499]] = False
        environment.clone().step(actions, mask=mask)
    for unsigned in (np.uint8, np.uint64, np.int16, np.uint32):
        wrong = environment.random_actions().astype(unsigned)
        wrong[7] = 200
        with pytest.raises(sh.IllegalAction, match=r"^lane 7: 200 is not a legal action of x"):
            environment.step(wrong)
        environment.clone().step(environment.random_actions().astype(unsigned))
    with pytest.raises(sh.IllegalAction, match=r"lane 0: 9 \(wait\)"):
        environment.step(np.full(1500, 9))
    with pytest.raises(ValueError, match="shape"):
        environment.step([0])
    with pytest.raises(TypeError):
        environment.step(np.zeros(1500))
    with pytest.raises(ValueError, match="mask"):
        environment.step(np.zeros(1500, int), mask=[True])
    pennies = rl.VectorGame(GAMES["matching-pennies"], 2)
    assert pennies.simultaneous and pennies.random_actions().shape == (2, 2)
    with pytest.raises(sh.IllegalAction, match=r"^lane 1: "):
        pennies.step([[0, 0], [0, 77]])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_batches_are_legal_or_change_nothing(data: st.DataObject) -> None:
    environment = rl.VectorGame(SMALL, 4, autoreset=False)
    for _ in range(6):
        state = environment.state
        actions = data.draw(st.lists(st.integers(-2, 11), min_size=4, max_size=4))
        over = state.terminated | state.truncated
        legal = [0 <= a < 10 and bool(state.legal[lane, a]) for lane, a in enumerate(actions)]
        wrong = [lane for lane in range(4) if not legal[lane] and not over[lane]]
        before = state.copy()
        if wrong:
            with pytest.raises(sh.IllegalAction, match=f"^lane {wrong[0]}: "):
                environment.step(actions)
            assert same([before], [state])
        else:
            environment.step(actions)
            assert (state.steps == before.steps + ~over).all()


def test_properties_and_wrong_arguments() -> None:
    environment = rl.VectorGame(SMALL, 7)
    assert (environment.lanes, environment.roles, environment.max_moves) == (7, ("x", "o"), 10)
    assert (environment.observation_shape, environment.reward_range) == ((len(SMALL.fluents),), (-1.0, 1.0))
    assert environment.action_name(0, 0) == SMALL.moves["x"][0]
    for role, action in [(0, 10), (0, -1), (2, 0), (-1, 0)]:
        with pytest.raises(IndexError):
            environment.action_name(role, action)
    assert [array.dtype for array in environment.state] == [
        np.dtype(kind) for kind in ("u1", "?", "i1", "f4", "?", "?", "u4")
    ]
    assert rl.VectorGame(SMALL, 1, reward_range=(0.0, 2.0)).reward_range == (0.0, 2.0)
    assert rl.VectorGame(GAMES["odd-one-out"], 1).reward_range == (0.0, 1.0)
    wrong: list[dict[str, Any]] = [
        {"lanes": 0},
        {"lanes": 10**9},
        {"threads": -1},
        {"max_steps": 0},
    ]
    for arguments in wrong:
        with pytest.raises(ValueError):
            rl.VectorGame(SMALL, **arguments)
    with pytest.raises(ValueError):
        environment.reset(seed=-1)
    with pytest.raises(sh.RulesheetError, match=r"lane 0.*simultaneous"):
        rl.VectorGame(GAMES["matching-pennies"], 1, simultaneous=False)
    assert rl.VectorGame(SMALL, 1, simultaneous=True).state.legal.shape == (1, 2, 10)


def test_threads_share_an_environment() -> None:
    environment = rl.VectorGame(SMALL, 512)
    errors: list[BaseException] = []

    def work() -> None:
        for _ in range(200):
            try:
                environment.reset()
                environment.clone()
            except RuntimeError as error:
                if "another thread" not in str(error):
                    errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    run(environment, 3)


def environments(lanes: int) -> list[rl.VectorEnvironment]:
    """Returns an environment of each kind."""
    return [rl.VectorGame(SMALL, lanes), rl.VectorChineseCheckers(sh.Board(4, 3), lanes)]


def test_environments_refuse_the_same() -> None:
    def errors(environment: rl.VectorEnvironment) -> list[str]:
        legal = environment.random_actions().copy()
        wrong: list[tuple[type[Exception], Callable[[], object]]] = [
            (TypeError, lambda: environment.step(legal.astype(float))),
            (ValueError, lambda: environment.step(legal[:2])),
            (ValueError, lambda: environment.step(legal, mask=[1, 0, 1])),
            (ValueError, lambda: environment.reset(mask=[True])),
            (ValueError, lambda: environment.reset(seed=2**64)),
            (ValueError, lambda: environment.set_state([True], [])),
            (ValueError, lambda: setattr(environment, "autoreset", True)),
            (sh.IllegalAction, lambda: environment.step([legal[0], -5, 2**40])),
            (IndexError, lambda: environment.action_name(0, environment.max_moves)),
        ]
        found = []
        for kind, work in wrong:
            with pytest.raises(kind) as error:
                work()
            found.append(f"{error.type.__name__}: {error.value}".replace(str(environment.max_moves), "N"))
        return found

    games, checkers = map(errors, environments(3))
    assert games == checkers


def test_environments_share_their_documentation() -> None:
    kinds = [rl.VectorGame, rl.VectorChineseCheckers]
    for name, member in vars(rl.VectorEnvironment).items():
        if not name.startswith("_") and name != "set_state":
            documents = {inspect.getdoc(inspect.getattr_static(kind, name)) for kind in kinds}
            assert documents == {inspect.getdoc(member)}, name


def test_arrays_of_an_environment_are_masks() -> None:
    for environment in environments(3):
        state = environment.step(environment.random_actions())
        environment.step(environment.random_actions(), mask=state.terminated)
        environment.reset(mask=state.truncated)
        assert state.steps.tolist() == [1, 1, 1]
        environment.reset(mask=state.legal[:, 0] | ~state.legal[:, 0])
        assert state.steps.tolist() == [0, 0, 0]
