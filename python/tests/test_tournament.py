"""Tournaments and logs, compared with the command line and with counts in Python."""

import importlib
import json
import math
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sternhalma as sh

BOARD = sh.Board(5, 3)
ROOT = Path(__file__).parents[1]
MATCH: dict[str, Any] = {"board": BOARD, "games": 6, "nodes": 60, "ply_limit": 40}
OPTIONS = ["--side", 5, "--pieces", 3, "--games", 6, "--nodes", 60, "--ply-limit", 40]
SERIES = "sironi-2018/lsi-samples"
PLAYERS = ["greedy", "base0,c=0.3", "random"]


def moves(results: sh.Results) -> list[tuple[str, str, list[str], str]]:
    """Returns what is reproducible of each game."""
    games = results.games()
    return list(zip(games["player_1"], games["opening"], games["moves"], games["result"], strict=True))


@pytest.fixture(scope="module")
def played() -> sh.Results:
    return sh.tournament(PLAYERS, threads=1, **MATCH)


def test_the_command_line_plays_the_same(played: sh.Results, sternhalma: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    text = sternhalma("tournament", *PLAYERS, *OPTIONS, "--log", log)
    read = sh.read_log(log)
    assert moves(read) == moves(played) and read.schedule == played.schedule
    found, expected = read.columns(), played.columns()
    for name in ["player", "games", "wins", "draws", "losses", "points", "elo", "elo_low", "elo_high", "nodes"]:
        np.testing.assert_array_equal(found[name], expected[name])
    # Only times differ.
    tables = [str(results).split("\n\n")[:2] for results in (read, played)]
    assert tables[0][0] == tables[1][0] and text.startswith(tables[0][0]) and repr(played) == repr(read)
    # Each continues the log of the other.
    own = tmp_path / "own.ndjson"
    assert moves(sh.tournament(PLAYERS, log=log, **(MATCH | {"games": 8}))) == moves(
        sh.tournament(PLAYERS, log=own, **(MATCH | {"games": 8}))
    )
    more = [value if value != 6 else 8 for value in OPTIONS]
    assert "all games are in the log" not in sternhalma("tournament", *PLAYERS, *more, "--log", own)
    assert json.loads(own.read_text().splitlines()[1])["origin"]["program"].startswith("sternhalma-python ")


def test_games_do_not_depend_on_threads_and_interruptions(played: sh.Results, tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    reports: list[tuple[str, int, int]] = []

    def stop(*report: Any) -> None:
        reports.append(report)
        if report[1]:
            raise LookupError

    with pytest.raises(LookupError):
        sh.tournament(PLAYERS, log=log, threads=1, progress=stop, **(MATCH | {"games": 200}))
    assert reports[-1][0] == "games" and 0 < reports[-1][1] <= reports[-1][2] == 600
    interrupted = sh.read_log(log)
    assert 0 < interrupted.played < interrupted.expected == 600
    log.unlink()
    assert moves(sh.tournament(PLAYERS, log=log, threads=3, **MATCH)) == moves(played)
    text = log.read_text().splitlines(keepends=True)
    log.write_text("".join(text[:5]) + text[5][:40])
    running = sh.read_log(log)
    assert (running.played, running.expected) == (4, 18)
    assert moves(sh.tournament(PLAYERS, log=log, threads=2, **MATCH)) == moves(played)
    assert moves(sh.tournament(PLAYERS, threads=2, **(MATCH | {"seed": 2}))) != moves(played)


def test_standings_are_the_counts_of_the_games(played: sh.Results) -> None:
    games, columns, pairings = played.games(), played.columns(), played.pairings()
    assert (played.played, played.expected) == (18, 18)
    assert games["number"].tolist() == list(range(1, 19)) and columns["player"].tolist() == PLAYERS
    for place, name in enumerate(PLAYERS):
        goals = [
            games[f"goal_{role}"][game]
            for role in (1, 2)
            for game in range(18)
            if games[f"player_{role}"][game] == name
        ]
        counts = [goals.count(100), goals.count(50), goals.count(0)]
        assert [columns[key][place] for key in ("wins", "draws", "losses")] == counts
        points = counts[0] + counts[1] / 2
        assert (columns["points"][place], columns["games"][place]) == (points, 12)
        share = points / 12
        assert columns["score"][place] == share
        assert columns["score_low"][place] - 1e-9 <= share <= columns["score_high"][place] + 1e-9
        if 0 < share < 1:
            assert math.isclose(columns["elo"][place], -400 * math.log10(1 / share - 1), abs_tol=1e-9)
        spent = sum(games[f"nodes_{role}"][games[f"player_{role}"] == name].sum() for role in (1, 2))
        assert columns["nodes"][place] == spent
    for row, (a, b) in enumerate(zip(pairings["a"], pairings["b"], strict=True)):
        chosen = games["pairing"] == row
        assert {a, b} == set(games["player_1"][chosen]) and pairings["games"][row] == 6
        scores = [
            (first == a) * goal + (first != a) * (100 - goal)
            for first, goal in zip(games["player_1"][chosen], games["goal_1"][chosen], strict=True)
        ]
        pairs = [sum(scores[pair : pair + 2]) // 50 for pair in (0, 2, 4)]
        assert [pairings[f"pairs_{points}"][row] for points in range(5)] == [pairs.count(points) for points in range(5)]
        assert pairings["plies"][row] == games["plies"][chosen].mean()


def test_games_are_played_by_the_rules(played: sh.Results) -> None:
    games = played.games()
    for game in range(len(games["number"])):
        position = sh.Position(games["opening"][game], ply_limit=40)
        for move in games["moves"][game]:
            position = position.play(move)
        assert position.ply == games["plies"][game]
        result = {"x": "1-0", "o": "0-1", "draw": "1/2-1/2"}[str(position.result)]
        assert result == games["result"][game]
        drawn = "ply-limit" if position.ply == 40 else "repetition"
        assert games["end"][game] == (drawn if result == "1/2-1/2" else "rules")


def test_rule_sets(sternhalma: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    paper = sh.tournament(PLAYERS, log=log, rules="paper", **MATCH)
    # Logs of earlier versions have no rule set.
    assert "rules" not in paper.schedule["game"]
    with pytest.raises(sh.LogError, match="the rule set is `paper` in the log, and `blocked-goal-2` here"):
        sh.tournament(PLAYERS, log=log, **MATCH)
    more = sh.tournament(PLAYERS, log=log, rules="paper", **(MATCH | {"games": 8}))
    assert moves(more)[0] == moves(paper)[0]
    own = tmp_path / "own.ndjson"
    sternhalma("tournament", *PLAYERS, *OPTIONS, "--rules", "paper", "--log", own)
    assert moves(sh.read_log(own)) == moves(paper) and sh.read_log(own).schedule == paper.schedule
    for rules, stored in [("blocked-goal", "blocked-goal-2"), ("blocked-goal-1", "blocked-goal")]:
        assert sh.tournament(PLAYERS, rules=rules, **MATCH).schedule["game"]["rules"] == stored
    with pytest.raises(sh.TournamentError, match="did you mean `blocked-goal`"):
        sh.tournament(PLAYERS, rules="blocked", **MATCH)
    # A path is a rulesheet, whatever its name.
    with pytest.raises(sh.TournamentError, match="cannot read the rulesheet"):
        sh.tournament(PLAYERS, rules=Path("paper"), **MATCH)


def test_data_frames_take_the_columns(played: sh.Results) -> None:
    for name in ("pandas", "polars"):
        frame = importlib.import_module(name).DataFrame
        assert frame(played.columns()).shape[0] == 3
        assert frame(played.pairings()).shape[0] == 3
        games = frame(played.games())
        assert games.shape[0] == 18 and list(games["moves"][3]) == played.games()["moves"][3]


def test_openings_formats_and_names() -> None:
    opening = "startpos moves a1-a3 e5-e3"
    results = sh.tournament(
        {"first": "greedy", "second": "greedy", "third": "random"},
        format="gauntlet",
        openings=[opening],
        **MATCH,
    )
    assert results.pairings()["b"].tolist() == ["second", "third"]
    position = sh.Position(board=BOARD).play("a1-a3").play("e5-e3")
    assert set(results.games()["opening"]) == {str(position)}
    with pytest.raises(sh.TournamentError, match="two players named `greedy`"):
        sh.tournament(["greedy", "greedy"], **MATCH)


def test_objects_play(tables: dict[str, sh.Table], tmp_path: Path) -> None:
    board = sh.Board(5, 6)
    match: dict[str, Any] = {"board": board, "games": 2, "nodes": 50, "ply_limit": 60}
    player = sh.Player("sternhalma", board=board, table=tables["byte"])
    with_objects = sh.tournament([player, "greedy"], **match)
    with_texts = sh.tournament(["sternhalma", "greedy"], table=tables["zstd"], **match)
    without = sh.tournament(["sternhalma", "greedy"], table="estimate", **match)
    assert moves(with_objects) == moves(with_texts) != moves(without)
    assert without.schedule["entrants"][0]["player"]["table"] is None
    engine = tmp_path / "engine.py"
    engine.write_text(
        "for line in open(0):\n"
        "  match line.split():\n"
        "    case ['ugi']: print('id name Bad\\nugiok', flush=True)\n"
        "    case ['isready']: print('readyok', flush=True)\n"
        "    case ['go', *_]: print('bestmove a1-a1', flush=True)\n"
        "    case ['quit']: break\n"
    )
    command = shlex.join([sys.executable, str(engine)])
    with sh.Program(command) as program:
        faults = sh.tournament([program, "greedy"], **match)
    assert moves(faults) == moves(sh.tournament([f"ugi:{command}", "greedy"], **match))
    assert faults.columns()["player"].tolist() == ["Bad", "greedy"]
    assert faults.columns()["faults"].tolist() == [2, 0]
    assert set(faults.games()["end"]) == {"fault"} and "illegal" in faults.games()["fault"][0]
    adjudicated = sh.tournament(["greedy", "random"], table=tables["byte"], adjudicate=True, **match)
    assert set(adjudicated.games()["end"]) <= {"adjudicated", "rules"}


def test_rulesheets_are_played_by_policies(sternhalma: Any, tmp_path: Path) -> None:
    match: dict[str, Any] = {"rules": "tic-tac-toe", "games": 4, "playouts": 30}
    results = sh.tournament(["uct", "random"], **match)
    log = tmp_path / "log.ndjson"
    sternhalma("tournament", "uct", "random", "--rules", "tic-tac-toe", "--games", 4, "--playouts", 30, "--log", log)
    assert moves(sh.read_log(log)) == moves(results)
    assert moves(sh.tournament(["uct", "random"], lock_step=0, **match)) == moves(results)
    prover = sh.tournament(["uct", "random"], engine="prover", **(match | {"games": 1}))
    assert prover.schedule["game"]["engine"] == "prover" and results.schedule["game"]["engine"] == "sequential"
    rulesheet = tmp_path / "wrong.kif"
    rulesheet.write_text("(role x)")
    wrong_arguments: list[tuple[dict[str, Any], str]] = [
        ({"rules": rulesheet}, "lenient=True"),
        ({"rules": tmp_path / "none.kif"}, "cannot read"),
        ({"engine": "prover", "lock_step": 3}, "need the network"),
        ({"engine": "magic"}, "magic"),
        ({"adjudicate": True}, "apply to Chinese Checkers"),
    ]
    for wrong, text in wrong_arguments:
        with pytest.raises(sh.TournamentError, match=text):
            sh.tournament(["uct", "random"], **(match | wrong))
    with pytest.raises(sh.TournamentError, match="only policies"):
        sh.tournament(["uct", "ugi:true"], **match)
    with pytest.raises(sh.NotationError):
        sh.tournament(["uct", "heur9"], **match)


def test_a_sequential_test_ends_a_pairing() -> None:
    results = sh.tournament(["greedy", "random"], board=BOARD, nodes=10, sprt=(0, 200), alpha=0.1, beta=0.1, threads=2)
    pairing = results.pairings()
    assert pairing["accepted"].tolist() == ["H1"]
    assert pairing["llr"][0] >= pairing["llr_high"][0] == pytest.approx(math.log(9))
    assert results.played == results.expected == 2 * sum(pairing[f"pairs_{points}"][0] for points in range(5)) < 1000
    assert "accepted" not in sh.tournament(["greedy", "random"], board=BOARD, games=1, nodes=1).pairings()


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"games": 0},
        {"ply_limit": 0},
        {"seconds": 0.0},
        {"seconds": float("nan")},
        {"clock": "soon"},
        {"format": "swiss"},
        {"openings": ["a1"]},
        {"sprt": (5, 0)},
        {"adjudicate": True, "table": "estimate"},
        {"patience": -1.0},
        {"threads": -1},
        {"board": sh.Board(3, 6)},
        {"nodes": None, "depth": 2},
        {"nodes": 0},
        {"lock_step": 0},
        {"lenient": True},
    ]
    for arguments in wrong:
        with pytest.raises(ValueError):
            sh.tournament(["greedy", "base0"], **(MATCH | arguments))
    few: list[Any] = [[], ["greedy"], {}]
    for players in few:
        with pytest.raises(sh.TournamentError):
            sh.tournament(players, **MATCH)
    no_players: list[Any] = ["greedy", ["greedy", 5], 7]
    for players in no_players:
        with pytest.raises(TypeError):
            sh.tournament(players, **MATCH)
    with pytest.raises(TypeError):
        sh.tournament(["greedy", "random"], openings="startpos", **MATCH)
    with pytest.raises(sh.TournamentError, match="opening 2: "):
        sh.tournament(["greedy", "ugi:/nowhere/engine"], openings=["startpos moves a1-a3 e5-e3", "a1"], **MATCH)
    with pytest.raises(sh.NotationError, match="nobody"):
        sh.tournament(["greedy", "nobody"], **MATCH)
    with pytest.raises(sh.ProgramError, match="cannot start"):
        sh.tournament(["greedy", "ugi:/nowhere/engine"], **MATCH)
    with pytest.raises(sh.TournamentError, match="base0: the player is of 6x6, 3 pieces, and the tournament of"):
        sh.tournament([sh.Player("base0", board=sh.Board(6, 3)), "greedy"], **MATCH)
    with pytest.raises(sh.LogError):
        sh.tournament(["greedy", "random"], log=tmp_path, **MATCH)


def test_logs_with_errors_name_the_line(tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    sh.tournament(["greedy", "random"], log=log, **MATCH)
    lines = log.read_text().splitlines(keepends=True)
    other = lines[2].replace('"game":', '"game":1')
    # Logs of earlier versions have no checksums.
    old_head = lines[0].split(',"check":')[0] + "}\n"
    for text, message in [
        ("", "line 1 is not the head of a log: the file is empty"),
        ("{}\n", "line 1 is not the head of a log"),
        (lines[0] + "x\n", "line 2 is not a game"),
        (lines[0] + lines[1] + lines[2][:50] + "\n", "line 3 is not a game"),
        (lines[0] + lines[1] + other, "line 3 is not a game of this tournament"),
        (lines[0].replace('"pairings":[[0,1]]', '"pairings":[[0,7]]'), "line 1 .* was changed"),
        (old_head.replace('"pairings":[[0,1]]', '"pairings":[[0,7]]'), "line 1: .*unknown player"),
    ]:
        log.write_text(text)
        with pytest.raises(sh.LogError, match=message):
            sh.read_log(log)
    with pytest.raises(sh.LogError, match="different tournament"):
        log.write_text("".join(lines))
        sh.tournament(["greedy", "random"], log=log, **(MATCH | {"seed": 5}))
    with pytest.raises(FileNotFoundError):
        sh.read_log(tmp_path / "none")
    with pytest.raises(OSError):
        sh.read_log(tmp_path)
    (tmp_path / "x.ndjson.zst").write_bytes(b"no archive")
    with pytest.raises(sh.LogError):
        sh.read_log(tmp_path / "x.ndjson.zst")
    log.write_text("".join([*lines, lines[1]]))
    assert len(sh.read_log(log).games()["number"]) == 6


def test_packed_logs_of_a_series(sternhalma: Any) -> None:
    directory = ROOT.parent / "experiments" / "results" / SERIES
    series = sh.read_logs(directory)
    assert sorted(series) == sorted({path.name.split(".")[0] for path in directory.glob("*.ndjson.zst")})
    for name, results in series.items():
        shown = json.loads(sternhalma("tournament", "show", directory / f"{name}.ndjson.zst", "--json"))
        assert (shown["games"], shown["played"]) == (results.expected, results.played)
        expected = [entrant for group in shown["rounds"] for entrant in group["entrants"]]
        columns = results.columns()
        assert columns["player"].tolist() == [entrant["name"] for entrant in expected]
        assert columns["score"].tolist() == [entrant["score"]["rate"] for entrant in expected]
        assert columns["nodes"].tolist() == [entrant["spent"]["expansions"] for entrant in expected]
        games = results.games()
        assert len(games["moves"]) == results.played and all(games["moves"])
        assert moves(sh.read_log(directory / f"{name}.ndjson.zst")) == moves(results)


INTERRUPTED = """
import sys, sternhalma
try:
    sternhalma.tournament(
        ["base0", "heur0"], board=sternhalma.Board(5, 3), table="estimate", games=10000, nodes=100, log=sys.argv[1],
        progress=lambda *report: report[1] and print("playing", flush=True),
    )
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_an_interrupt_leaves_a_complete_log(tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED, log], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "playing\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0].endswith("interrupted\n") and child.returncode == 0
    assert log.read_text().endswith("\n") and sh.read_log(log).played > 0
