"""Positions and players, compared with the rules in Python and with the command line."""

import json
import pickle
import threading
from typing import Any

import numpy as np
import oracle
import pytest

import sternhalma as sh
from sternhalma import ggp

BOARD = sh.Board(5, 6)


def test_moves_are_those_of_the_rules() -> None:
    rng = np.random.default_rng(5)
    for side, pieces in [(4, 3), (7, 6), (9, 10)]:
        position = sh.Position(board=sh.Board(side, pieces), rules="paper")
        assert (position.player, position.ply, position.result) == ("x", 0, None)
        while position.ply < 40 and position.result is None:
            own = position.cells(position.player).tolist()
            occupied = set(position.cells("x").tolist()) | set(position.cells("o").tolist())
            expected = [(cell, to) for cell in own for to in sorted(oracle.destinations(side, occupied, cell))]
            moves = position.moves()
            assert list(map(tuple, moves.tolist())) == expected
            source, target = rng.choice(moves).tolist()
            text = sh.format_moves([source, target], board=position.board)
            after = position.play((source, target))
            assert after == position.play(text) != position and hash(after) == hash(position.play(text))
            assert set(after.cells(position.player).tolist()) == set(own) - {source} | {target}
            assert (after.ply, after.player) == (position.ply + 1, "o" if position.player == "x" else "x")
            assert sh.Position(str(after), rules="paper") == after
            position = after


def test_positions_that_end_a_game() -> None:
    won = sh.Position("2xx/2x1/4/ooo1 x 20").play("c3-d3")
    assert won.result is None or won.result == "x"
    last = sh.Position("startpos", board=sh.Board(4, 3), ply_limit=1)
    after = last.play(last.moves()[0])
    assert (after.result, after.moves().shape, after.ply_limit) == ("draw", (0, 2), 1)
    with pytest.raises(sh.NotationError):
        after.play("a1-b1")
    with pytest.raises(ValueError, match="over"):
        sh.Player(board=sh.Board(4, 3), table="estimate", ply_limit=1).think(after, nodes=10)


def test_rule_sets() -> None:
    board = sh.Board(7, 6)
    for rules, seals in [("paper", True), ("blocked-goal-1", False), ("blocked-goal-2", False)]:
        position = sh.Position(board=board, rules=rules).play("a3-a4").play("g5-g4")
        assert position.rules == rules
        # The move seals the corner.
        moves = sh.format_moves(position.moves(), board=board).tolist()
        assert ("a1-a3" in moves) == seals
        if not seals:
            with pytest.raises(sh.NotationError, match="could never fill a1"):
                position.play("a1-a3")
    assert sh.Position(rules="blocked-goal") == sh.Position() and sh.Position().rules == "blocked-goal-2"
    trapped = "5oo1x/6oo1/7oo/9/8o/3o5/4o4/xxx1o4/xxxxxx3 o 40"
    # The first version allows a wall in front of a trapped piece that cannot fill the goal.
    assert sh.Position(trapped, rules="blocked-goal-1").play("i5-i6").ply == 41
    with pytest.raises(sh.NotationError, match="it seals the goal of x"):
        sh.Position(trapped).play("i5-i6")
    assert sh.Position(rules="paper") != sh.Position()
    with pytest.raises(ValueError, match=r"rules paper, and the position of .* rules blocked-goal-2"):
        sh.Player("greedy", board=board, rules="paper").think(sh.Position(board=board), nodes=1)
    assert sh.Player("greedy", board=board, rules="paper").think(sh.Position(board=board, rules="paper"), nodes=1).move
    wrong: list[Any] = [sh.Position, sh.Player]
    for make in wrong:
        with pytest.raises(sh.NotationError, match="`blocked-goal-2`, got `chess`"):
            make(rules="chess")


def test_the_third_occurrence_is_a_draw() -> None:
    for rules, result in [("paper", None), ("blocked-goal", "draw")]:
        position = sh.Position(board=sh.Board(5, 3), rules=rules)
        for move in ["b1-c1", "d5-c5", "c1-b1", "c5-d5", "b1-c1", "d5-c5", "c1-b1", "c5-d5"]:
            assert position.result is None
            position = position.play(move)
        assert position.result == result and (len(position.moves()) == 0) == (result is not None)
        # The text of a position has no earlier positions.
        parsed = sh.Position(str(position), rules=rules)
        assert parsed.result is None and (parsed == position) == (result is None)
    player = sh.Player("greedy", board=sh.Board(5, 3))
    with pytest.raises(sh.NotationError, match="repetition"):
        position.play("b1-c1")
    with pytest.raises(ValueError, match="over"):
        player.think(position, nodes=1)


def test_a_player_does_not_return_to_earlier_positions() -> None:
    start = sh.Position(board=sh.Board(5, 3))
    player = sh.Player(board=start.board, table="estimate")
    best = player.think(start, nodes=200).move

    def back(move: str) -> str:
        return "-".join(reversed(move.split("-")))

    position = start
    for move in [best, "d5-c5", back(best), "c5-d5"]:
        position = position.play(move)
    # The best move leads to a position that has occurred.
    assert player.think(position, nodes=200).move != best
    assert player.think(sh.Position(str(position)), nodes=200).move == best


def test_wrong_positions_and_moves_are_refused() -> None:
    for text in ["", "a1", "9/9 x 0", "2oo/3o/x3/x3 x 0", "xxx/3/oox"]:
        with pytest.raises(sh.SternhalmaError):
            sh.Position(text)
    with pytest.raises(sh.BoardError):
        sh.Position(board=sh.Board(3, 6))
    position = sh.Position()
    illegal: list[Any] = ["a1-i9", "pass", "", (0, 80), (0,), (0, 1, 2), (-1, 2)]
    for move in illegal:
        with pytest.raises(sh.NotationError):
            position.play(move)
    no_moves: list[Any] = [None, 5, ("a", "b"), (0, 2**70)]
    for wrong in no_moves:
        with pytest.raises(sh.ArgumentTypeError, match="expected a move as a text"):
            position.play(wrong)
    with pytest.raises(sh.NotationError, match="player"):
        position.cells("z")


def test_players_play_a_game_to_its_end() -> None:
    board = sh.Board(5, 3)
    for seed in range(2):
        players = {"x": sh.Player("greedy", board=board, seed=seed), "o": sh.Player("base0", board=board, seed=seed)}
        games = []
        for _ in range(2):
            position, moves = sh.Position(board=board), list[str]()
            while position.result is None:
                moves.append(players[position.player].think(position, playouts=20).move)
                position = position.play(moves[-1])
            games.append(moves)
        assert games[0] == games[1]


def test_the_built_in_players_are_listed() -> None:
    players = sh.players()
    assert {"sternhalma", "heur0", "base0", "greedy", "random"} <= set(players) and all(players.values())
    position = sh.Position(board=sh.Board(4, 3))
    for name in players:
        found = sh.Player(name, board=position.board, table="estimate").think(position, nodes=50, depth=2)
        assert found.move == found.line[0] and position.play(found.move).ply == 1


def test_the_command_line_finds_the_same(sternhalma: Any) -> None:
    board = sh.Board(6, 6)
    for name in ["sternhalma", "heur0,c=0.5"]:
        player = sh.Player(name, board=board, table="estimate", seed=3)
        found = player.analyse(sh.Position(board=board), 3 if name == "sternhalma" else 1, nodes=500)
        options = ["--side", 6, "--pieces", 6, "--player", name, "--nodes", 500, "--seed", 3, "--lines", len(found)]
        rows = json.loads(sternhalma("analyse", *map(str, options), "--json"))["lines"]
        assert [(row["move"], row["nodes"], row["depth"], row["line"]) for row in rows] == [
            (search.move, search.nodes, search.depth, search.line) for search in found
        ]


def test_players_use_a_table_of_their_board(tables: dict[str, sh.Table], sternhalma: Any) -> None:
    position = sh.Position(board=BOARD)
    player = sh.Player("sternhalma", board=BOARD, table=tables["zstd"])
    search = player.think(position, nodes=500)
    options = ["--side", "5", "--pieces", "6", "--nodes", "500", "--seed", "0", "--table", tables["byte"].path]
    row = json.loads(sternhalma("analyse", *options, "--json"))["lines"][0]
    assert (row["move"], row["depth"], row["line"]) == (search.move, search.depth, search.line)
    assert sh.Player("sternhalma", board=BOARD, table="estimate").think(position, nodes=500).line != search.line
    with pytest.raises(ValueError, match="its table is of"):
        sh.Player(board=sh.Board(6, 6), table=tables["byte"])


def test_players_find_their_table_or_are_refused(tables: dict[str, sh.Table], tmp_path: Any, monkeypatch: Any) -> None:
    position = sh.Position(board=BOARD)
    match: dict[str, Any] = {"board": BOARD, "games": 2, "nodes": 50, "threads": 1}
    monkeypatch.setenv("STERNHALMA_TABLES", str(tmp_path))
    # A part of a table is no whole one, and players without distances need none.
    sh.build(board=BOARD, within=19)
    sh.Player("greedy", board=BOARD)
    calls: list[Any] = [
        lambda: sh.Player("sternhalma", board=BOARD),
        lambda: sh.tournament(["greedy", "heur0"], **match),
        lambda: sh.tournament(["greedy", "random"], adjudicate=True, **match),
    ]
    for call in calls:
        with pytest.raises(sh.TableNotFound, match=r"sternhalma\.build\(board=sternhalma\.Board\(5, 6\)\) builds one"):
            call()
    with pytest.raises(ValueError, match="expected a Table, 'estimate' or None, got 'guess'"):
        sh.Player("sternhalma", board=BOARD, table="guess")  # type: ignore[arg-type]
    sh.build(board=BOARD)
    expected = sh.Player("sternhalma", board=BOARD, table=tables["byte"]).think(position, nodes=500)
    assert sh.Player("sternhalma", board=BOARD).think(position, nodes=500).line == expected.line
    choices: list[Any] = [None, tables["byte"], "estimate"]
    found, named, estimated = (
        sh.tournament(["sternhalma", "greedy"], table=table, **match).games()["moves"] for table in choices
    )
    assert found == named != estimated


def test_wrong_limits_and_players_are_refused() -> None:
    position = sh.Position(board=sh.Board(4, 3))
    player = sh.Player(board=position.board, table="estimate")
    for limits in [{}, {"playouts": 5}, {"seconds": -1.0, "depth": 1}, {"seconds": float("nan"), "depth": 1}]:
        with pytest.raises(ValueError):
            player.think(position, **limits)  # type: ignore[arg-type]
    with pytest.raises(sh.ArgumentError, match="nodes: expected 0 or more, got -1"):
        player.think(position, nodes=-1)
    with pytest.raises(ValueError, match="lines"):
        player.analyse(position, 0, nodes=5)
    with pytest.raises(ValueError, match="the player is of"):
        player.think(sh.Position(), nodes=5)
    for text in ["", "nobody", "base0,c=much", "base0,speed=1"]:
        with pytest.raises(sh.NotationError):
            sh.Player(text)
    with pytest.raises(TypeError):
        pickle.dumps(player)


def test_threads_share_a_player() -> None:
    position = sh.Position(board=sh.Board(6, 6))
    player = sh.Player("heur0", board=position.board, table="estimate", seed=1)
    expected = player.think(position, nodes=300)
    found: list[tuple[str, int]] = []

    def think() -> None:
        for _ in range(5):
            search = player.think(position, nodes=300)
            found.append((search.move, search.nodes))

    threads = [threading.Thread(target=think) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(expected.move, expected.nodes)] * 20


def test_messages_show_the_beginning_of_a_long_text(tmp_path: Any) -> None:
    long = "z" * 1_000_000
    position = sh.Position(board=sh.Board(4, 3))
    calls: list[Any] = [
        lambda: sh.Position(long),
        lambda: sh.Position(rules=long),
        lambda: sh.Board().parse(long),
        lambda: position.play(long),
        lambda: position.cells(long),
        lambda: sh.Player(long),
        lambda: sh.Player("greedy", memory=long),
        lambda: sh.open(tmp_path / "t.sht").distance(long),
        lambda: sh.build(encoding=long),
        lambda: sh.build(mode=long),
        lambda: sh.tournament([long, "greedy"], games=2),
        lambda: sh.tournament(["greedy", "random"], games=2, openings=[long]),
        lambda: sh.tournament(["greedy", "random"], games=2, clock=long),
        lambda: sh.tournament(["greedy", "random"], games=2, format=long),
        lambda: sh.tournament(["uct", "nst"], rules="tic-tac-toe", games=2, engine=long),
        lambda: sh.tournament(["uct", "nst"], rules=long, games=2),
        lambda: sh.Program(["false", "'" + long]),
        lambda: ggp.Game(ggp.games()["tic-tac-toe"]).initial().play(long),
        lambda: ggp.Game(ggp.games()["tic-tac-toe"]).initial().play({long: "a"}),
        lambda: ggp.Game(ggp.games()["tic-tac-toe"]).search(role=long, playouts=1),
        lambda: ggp.Game(ggp.games()["tic-tac-toe"]).search(policy=long, playouts=1),
    ]
    sh.build(board=sh.Board(4, 2), path=tmp_path / "t.sht")
    for number, call in enumerate(calls):
        with pytest.raises((sh.SternhalmaError, ValueError)) as raised:
            call()
        text = str(raised.value)
        assert len(text) < 3000 and "zzzz" in text, (number, len(text), text[:200])
