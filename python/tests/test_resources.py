"""Threads and memory: what the machine does not have is not used, and a warning says so."""

import os
from pathlib import Path
from typing import Any

import pytest

import sternhalma as sh
from sternhalma import _native, ggp, rl

BOARD = sh.Board(4, 2)
MANY = 100_000


def test_all_functions_limit_their_threads(tmp_path: Path) -> None:
    most, _ = _native.thread_count(MANY)
    assert 16 <= most <= max(16, 4 * (os.cpu_count() or 1))
    table = sh.build(board=BOARD, path=tmp_path / "t.sht")
    game = ggp.Game(ggp.games()["tic-tac-toe"])
    calls: list[Any] = [
        lambda: sh.build(board=BOARD, path=tmp_path / "other.sht", threads=MANY),
        lambda: sh.plan(board=BOARD, path=tmp_path / "plan.sht", disk_rate=1e9, threads=MANY),
        lambda: sh.verify(table, threads=MANY),
        lambda: sh.convert(table, tmp_path / "zstd.sht", "zstd", threads=MANY),
        lambda: sh.compare(table, table, threads=MANY),
        lambda: table.distances([0], threads=2**70),
        lambda: game.playouts(1, threads=MANY),
        lambda: rl.VectorGame(game, 1, threads=MANY),
        lambda: rl.VectorChineseCheckers(BOARD, 1, threads=MANY),
        lambda: sh.tournament(["greedy", "random"], board=BOARD, games=2, nodes=1, threads=MANY),
    ]
    for call in calls:
        with pytest.warns(RuntimeWarning, match=f"threads are more than this machine can use: using {most}$") as found:
            call()
        assert [Path(warning.filename).name for warning in found] == [Path(__file__).name]
    assert sh.open(tmp_path / "other.sht").provenance["threads"] <= most


def test_searches_limit_their_memory() -> None:
    position = sh.Position(board=BOARD)
    game = ggp.Game(ggp.games()["tic-tac-toe"])
    calls: list[Any] = [
        lambda: sh.Player("heur0", board=BOARD, table="estimate", memory="1000TiB").think(position, nodes=5),
        lambda: game.search(playouts=5, memory="1000TiB"),
        lambda: sh.tournament(["greedy", "heur0"], board=BOARD, table="estimate", games=2, nodes=5, memory=2**50),
    ]
    for call in calls:
        with pytest.warns(RuntimeWarning, match="iB of memory are not available: using ") as found:
            call()
        assert [Path(warning.filename).name for warning in found] == [Path(__file__).name]


def test_transposition_tables_are_no_larger_than_the_memory() -> None:
    text = "sternhalma,table_megabytes=65536"
    with pytest.warns(RuntimeWarning, match="of 65536 MiB is larger than the memory limit of 16 MiB") as found:
        player = sh.Player(text, board=BOARD, table="estimate", memory="16MiB")
    assert [Path(warning.filename).name for warning in found] == [Path(__file__).name]
    assert player.think(sh.Position(board=BOARD), nodes=10).nodes <= 10
    results = sh.tournament(
        [text, "greedy"], board=BOARD, table="estimate", games=2, nodes=10, memory="64MiB", threads=1
    )
    assert results.played == 2
    # The default fits, without a warning.
    sh.Player(board=BOARD, table="estimate")


def test_removed_parameters_have_no_effect() -> None:
    text, kept = "tuned,tune-shadow=yes", "tuned"
    position = sh.Position(board=BOARD)
    game = ggp.Game(ggp.games()["tic-tac-toe"])
    calls: list[Any] = [
        lambda text: sh.Player(text, board=BOARD).think(position, nodes=50).move,
        lambda text: game.search(policy=text, playouts=50).moves,
        lambda text: sh.tournament([text, "random"], board=BOARD, games=2, nodes=20).games()["moves"],
    ]
    for call in calls:
        with pytest.warns(RuntimeWarning, match="the parameter `tune-shadow` was removed and has no effect") as found:
            result = call(text)
        assert [Path(warning.filename).name for warning in found] == [Path(__file__).name]
        assert str(result) == str(call(kept))


def test_a_table_is_loaded_if_the_memory_is_available(tmp_path: Path) -> None:
    path = tmp_path / "large.sht"
    with path.open("wb") as file:
        file.truncate(2**42)
    with pytest.raises(sh.OutOfMemory, match=r"large.sht: this needs .* of memory .* give a smaller load_budget"):
        sh.open(path, load_budget=2**42)
    with pytest.raises(sh.DamagedTable):
        sh.open(path)
