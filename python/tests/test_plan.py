"""Estimates of builds, compared with the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

import sternhalma as sh

BOARD = sh.Board(7, 6)
LARGE = sh.Board(8, 6)
EXACT = ["mode", "layer_form", "states", "layers", "memory_bytes", "table_bytes"]
NEAR = ["disk_bytes", "read_bytes", "written_bytes"]


@pytest.mark.parametrize("board, encoding, memory", [(BOARD, "byte", "1GiB"), (LARGE, "zstd", "32MiB")])
def test_the_command_line_estimates_the_same(
    tmp_path: Path, sternhalma: Any, board: sh.Board, encoding: str, memory: str
) -> None:
    plan = sh.plan(board=board, encoding=encoding, memory=memory, threads=1, path=tmp_path / "t.sht")
    options = ["--side", board.side, "--pieces", 6, "--encoding", encoding, "--memory", memory, "--threads", 1]
    path = tmp_path / "other" / "t.sht"
    (expected,) = json.loads(sternhalma("build", *options, "--output", path, "--plan", "--json"))["plans"]
    assert {name: getattr(plan, name) for name in EXACT} == {name: expected[name] for name in EXACT}
    # Work files contain the times of their layers.
    assert all(getattr(plan, name) == pytest.approx(expected[name], rel=1e-3) for name in NEAR)
    assert plan.cpu_s > 0 and plan.wall_s > 0
    assert plan.mode == ("in-memory" if memory == "1GiB" else "out-of-core")
    assert list(tmp_path.glob("*.sht")) == [] and list(tmp_path.glob(".*")) == []


def test_layers_have_the_requested_form(tmp_path: Path) -> None:
    options: dict[str, Any] = {"board": LARGE, "encoding": "mod3", "memory": "32MiB", "path": tmp_path / "t.sht"}
    whole, delta = (sh.plan(**options, layer_form=form) for form in ["whole", "delta"])
    assert (whole.layer_form, delta.layer_form) == ("whole", "delta")
    assert whole.disk_bytes > delta.disk_bytes


def test_an_estimate_is_near_the_build(tmp_path: Path) -> None:
    reports: list[str] = []
    plan = sh.plan(
        board=BOARD, path=tmp_path / "t.sht", disk_rate=1e9, progress=lambda phase, *_: reports.append(phase)
    )
    table = sh.build(board=BOARD, path=tmp_path / "t.sht")
    assert plan.states == table.states and plan.table_bytes == pytest.approx(table.file_bytes, rel=1e-3)
    assert abs(plan.layers - len(table.layers)) <= 2
    assert set(reports) <= {"search", "write"}
    assert sh.plan(board=BOARD, path=tmp_path / "u.sht", within=30, disk_rate=1e9).states < plan.states


def test_the_other_machine_matters(tmp_path: Path) -> None:
    options: dict[str, Any] = {"board": LARGE, "within": 40, "path": tmp_path / "t.sht"}
    slow, fast = (sh.plan(**options, cores=1, disk_rate=rate) for rate in [1e3, 1e12])
    assert slow.wall_s > 100 * fast.wall_s and slow.written_bytes == fast.written_bytes


def test_a_callback_can_stop_an_estimate(tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        sh.plan(board=sh.Board(9, 7), path=tmp_path / "t.sht", disk_rate=1e9, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments_of_an_estimate_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.sht"
    wrong: list[dict[str, Any]] = [{"cores": 0}, {"disk_rate": 0.0}, {"disk_rate": float("nan")}, {"encoding": "x"}]
    for arguments in wrong:
        with pytest.raises(ValueError):
            sh.plan(board=BOARD, path=path, **arguments)
    with pytest.raises(sh.BoardError):
        sh.plan(board=BOARD, path=path, within=3)
    with pytest.raises(sh.OutOfMemory):
        sh.plan(board=sh.Board(9, 10), path=path, memory=1000)
