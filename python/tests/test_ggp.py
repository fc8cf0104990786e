"""Rulesheets, compared with the prover of the command line and with matches that are played state by state."""

import json
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Run

import sternhalma as sh
from sternhalma import ggp

GAMES = {name: ggp.Game(text) for name, text in ggp.games().items()}
BROKEN = "(role you) (<= (legal you ?m) (move ?n)) (move 1)\n(<= terminal (true end))"


def lines(run: Run, *arguments: str | Path) -> Any:
    """Returns the JSON of a command that may fail."""
    try:
        return json.loads(run(*arguments, "--json"))
    except subprocess.CalledProcessError as error:
        return json.loads(error.stdout)


def test_findings_are_those_of_the_command_line(sternhalma: Run, tmp_path: Path) -> None:
    unused = ggp.games()["tic-tac-toe"] + "\n(<= (odd ?x) (even ?x))"
    for number, text in enumerate([BROKEN, "(role", "", unused, ggp.games()["othello"]]):
        path = tmp_path / f"{number}.kif"
        path.write_text(text)
        expected = lines(sternhalma, "gdl", "check", path)[0]["findings"]
        found = ggp.check(text)
        assert [finding._asdict() for finding in found] == [
            {"rule": row["code"], **{key: row[key] for key in ("severity", "message", "line", "column")}}
            for row in expected
        ]
        if any(finding.severity == "error" for finding in found):
            with pytest.raises(sh.RulesheetError) as raised:
                ggp.Game.open(path)
            assert raised.value.findings == found and str(found[0]) in str(raised.value)
        else:
            assert ggp.Game.open(path).findings == found
    assert str(ggp.check(BROKEN)[0]).startswith("1:12: error[unsafe]: ")


def test_rulesheets_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(sh.RulesheetNotFound, match=r"no/such/file.kif: cannot read the rulesheet: No such file"):
        ggp.Game.open("no/such/file.kif")
    with pytest.raises(sh.RulesheetFileError, match=re.escape(str(tmp_path))):
        ggp.Game.open(tmp_path)
    latin = tmp_path / "latin.kif"
    latin.write_bytes(b"(role \xe9)")
    with pytest.raises(OSError, match=r"latin.kif: "):
        ggp.Game.open(latin)
    assert ggp.Game.open("tic-tac-toe").text == ggp.Game.open("tic-tac-toe.kif").text == ggp.games()["tic-tac-toe"]
    for wrong in ["", "(", ")", "x", "\0", "(role a)" * 3, "(<= a a)", "é" * 100]:
        with pytest.raises(sh.RulesheetError):
            ggp.Game(wrong)


@pytest.mark.parametrize("name", sorted(GAMES))
def test_states_are_those_of_the_prover(name: str, sternhalma: Run, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.kif"
    path.write_text(ggp.games()[name])
    game = GAMES[name]
    assert ggp.Game.open(path).moves == game.moves
    assert game.max_moves == max(len(moves) for moves in game.moves.values())
    state = game.initial()
    for line in sternhalma("gdl", "trace", path, "--seed", "2").splitlines():
        expected = json.loads(line)
        assert state.facts == sorted(expected["state"])
        assert [game.fluents[fluent] for fluent in np.flatnonzero(state.row)] == [
            fluent for fluent in game.fluents if fluent in set(state.facts)
        ]
        assert state.terminal == expected["terminal"]
        if state.terminal:
            assert ["undef" if goal is None else str(goal) for goal in state.goals] == expected["goals"]
            break
        legal = state.legal
        assert {role: sorted(moves) for role, moves in legal.items()} == {
            role: sorted(moves) for role, moves in expected["legal"].items()
        }
        for role, moves in legal.items():
            indices = [game.moves[role].index(move) for move in moves]
            assert indices == sorted(indices)
        choosing = [number for number, moves in enumerate(legal.values()) if len(moves) > 1]
        assert state.player == (choosing[0] if len(choosing) == 1 else None if choosing else 0)
        joint = expected["move"]
        after = state.play(joint)
        needed = {role: move for role, move in zip(game.roles, joint, strict=True) if len(legal[role]) > 1}
        assert state.play(needed) == after and hash(state.play(needed)) == hash(after)
        if len(choosing) == 1:
            assert state.play(joint[choosing[0]].strip("()").replace(" ", "  ").upper()) == after
        assert game.state(after.row) == after
        state = after
    assert state.terminal


def test_wrong_moves_are_refused() -> None:
    state = GAMES["tic-tac-toe"].initial()
    for wrong in ["mark 4 4", "", "wait", "(mark 1 1", ["wait", "wait"]]:
        with pytest.raises(sh.NotationError):
            state.play(wrong)
    counts: list[Any] = [["wait"], [], ["wait"] * 3, {}, {"z": "wait"}]
    for count in counts:
        with pytest.raises(ValueError):
            state.play(count)
    end = state
    while not end.terminal:
        end = end.play(end.legal[end.game.roles[end.player or 0]][0])
    with pytest.raises(sh.NotationError, match="over"):
        end.play(["wait", "wait"])
    assert end.player is None
    with pytest.raises(ValueError, match="over"):
        end.game.search(end, playouts=1)
    with pytest.raises(ValueError):
        end.game.state(np.zeros(3))


def test_playouts_are_uniformly_random_matches() -> None:
    game = GAMES["tic-tac-toe"]
    scores, lengths = game.playouts(40_000, seed=3)
    assert scores.shape == (40_000, 2) and scores.dtype == np.uint8
    assert lengths.shape == (40_000,) and lengths.dtype == np.uint32
    # Probabilities of a win of the first player and of a draw, by complete enumeration.
    assert abs((scores[:, 0] == 100).mean() - 0.5850) < 0.012
    assert abs((scores[:, 0] == 50).mean() - 0.1270) < 0.009
    assert (scores.sum(axis=1) == 100).all() and lengths.min() == 5 and lengths.max() == 9
    same = game.playouts(40_000, seed=3, threads=3)
    assert (same[0] == scores).all() and (same[1] == lengths).all()
    assert (game.playouts(40_000, seed=4)[1] != lengths).any()
    assert game.playouts(0)[0].shape == (0, 2) and len(game.playouts(1)[1]) == 1
    with pytest.raises(ValueError):
        game.playouts(-1)
    endless = ggp.Game(
        "(role a) (init (on)) (legal a go) (<= (next (on)) (true (on))) (<= terminal (not (true (on)))) (goal a 0)",
        lenient=True,
    )
    with pytest.raises(sh.RulesheetError, match="over"):
        endless.playouts(1)


def test_searches_find_the_best_move() -> None:
    game = GAMES["tic-tac-toe"]
    state = game.initial().play("mark 1 1").play("mark 2 2").play("mark 1 2").play("mark 3 3")
    found = game.search(state, playouts=500)
    assert found.move == "(mark 1 3)" and found.playouts == 500
    assert {value.move for value in found.moves} == set(state.legal["x"])
    best = max(found.moves, key=lambda value: value.visits)
    assert best.move == found.move and best.mean > 0.9
    again = game.search(state, playouts=500)
    assert (again.move, again.moves) == (found.move, found.moves)
    assert game.search(state, "mast", seconds=0.01).move in state.legal["x"]
    assert game.search(state, "random").move in state.legal["x"]
    assert game.search(state, role="o", playouts=1).move == "wait"
    pennies = GAMES["matching-pennies"]
    assert pennies.search(role=1, playouts=50).move in pennies.initial().legal[pennies.roles[1]]
    with pytest.raises(sh.NotationError):
        game.search(policy="no-such-policy", playouts=1)
    wrong: list[dict[str, Any]] = [{}, {"playouts": 1, "role": 2}, {"playouts": 1, "role": "z"}, {"seconds": -1.0}]
    for arguments in wrong:
        with pytest.raises(ValueError):
            game.search(**arguments)
    with pytest.raises(ValueError, match="another game"):
        game.search(pennies.initial(), playouts=1)


def test_playouts_agree_with_matches_state_by_state() -> None:
    rng = random.Random(5)
    game = GAMES["matching-pennies"]
    lengths, sums = [], np.zeros(len(game.roles))
    for _ in range(300):
        state, length = game.initial(), 0
        while not state.terminal:
            state, length = state.play([rng.choice(moves) for moves in state.legal.values()]), length + 1
        lengths.append(length)
        sums += [goal or 0 for goal in state.goals]
    scores, steps = game.playouts(3000)
    assert abs(steps.mean() - np.mean(lengths)) < 0.3
    assert np.abs(scores.mean(axis=0) - sums / 300).max() < 12
