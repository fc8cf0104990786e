"""Building, verifying, converting and comparing tables."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sternhalma as sh

BOARD = sh.Board(5, 6)


def test_builds_report_their_progress(tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    path = tmp_path / "t.sht"
    table = sh.build(board=sh.Board(6, 6), path=path, progress=lambda *report: reports.append(report))
    assert {"search", "write"} & {phase for phase, _, _ in reports}
    assert all(0 <= done <= total or total == 0 for _, done, total in reports)
    assert sh.build(board=sh.Board(6, 6), path=path, progress=pytest.fail).checksum == table.checksum
    with pytest.raises(FileExistsError):
        sh.build(board=sh.Board(6, 5), path=path)
    assert sh.build(board=sh.Board(6, 5), path=path, overwrite=True).board.pieces == 5


def test_a_tqdm_bar_shows_each_phase(tmp_path: Path) -> None:
    class Bar:
        """The interface of a tqdm bar."""

        def __init__(self) -> None:
            self.n, self.total, self.phases = 0, None, list[str]()

        def reset(self, total: Any = None) -> None:
            self.n, self.total = 0, total

        def set_description(self, text: str) -> None:
            self.phases.append(text)

        def update(self, steps: int) -> None:
            self.n += steps
            assert self.n >= 0

    bar = Bar()
    table = sh.build(board=sh.Board(6, 6), path=tmp_path / "t.sht", progress=bar)
    sh.verify(table, deep=True, progress=bar)
    assert bar.phases and bar.n == bar.total


@pytest.mark.parametrize("mode", ["in-memory", "out-of-core"])
def test_modes_memory_and_threads_change_nothing(tmp_path: Path, tables: dict[str, sh.Table], mode: str) -> None:
    limits: list[tuple[int | str, int]] = [("64MiB", 1), (1 << 26, 2)]
    for memory, threads in limits:
        table = sh.build(
            board=BOARD, path=tmp_path / f"{threads}.sht", mode=mode, memory=memory, threads=threads, encoding="zstd"
        )
        assert table.provenance["mode"] == mode
        assert table.checksum == tables["zstd-mirrored"].checksum


@pytest.mark.parametrize("form", ["whole", "delta"])
def test_the_form_of_layers_changes_nothing(tmp_path: Path, tables: dict[str, sh.Table], form: str) -> None:
    table = sh.build(board=BOARD, path=tmp_path / "t.sht", mode="out-of-core", layer_form=form, encoding="zstd")
    assert table.checksum == tables["zstd-mirrored"].checksum


def test_an_exception_of_the_callback_stops_the_build(tmp_path: Path) -> None:
    def fail(*_: Any) -> None:
        raise LookupError("enough")

    path = tmp_path / "t.sht"
    with pytest.raises(LookupError, match="enough"):
        sh.build(board=sh.Board(8, 6), path=path, progress=fail)
    assert not path.exists()


def test_ctrl_c_stops_a_build(tmp_path: Path) -> None:
    code = (
        "import sternhalma as sh, signal, sys\n"
        # The signal is ignored in programs that a script starts in the background.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try: sh.build(board=sh.Board(9, 6), path=sys.argv[1], mode='out-of-core', memory='64MiB',\n"
        "              progress=lambda *_: print('begun', flush=True))\n"
        "except KeyboardInterrupt: print('interrupted')"
    )
    path = tmp_path / "t.sht"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.read().splitlines()[-1] == "interrupted"
    assert process.returncode == 0 and not path.exists()


def test_builds_run_in_other_threads(tmp_path: Path) -> None:
    built: list[int] = []
    thread = threading.Thread(target=lambda: built.append(len(sh.build(board=BOARD, path=tmp_path / "t.sht"))))
    thread.start()
    thread.join()
    assert built == [BOARD.states]


def test_wrong_arguments_are_refused(tmp_path: Path, tables: dict[str, sh.Table]) -> None:
    path = tmp_path / "t.sht"
    cases: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"encoding": "gzip"}, ValueError),
        ({"mode": "somewhere"}, ValueError),
        ({"layer_form": "small"}, ValueError),
        ({"memory": "much"}, ValueError),
        ({"memory": 0}, ValueError),
        ({"memory": 2**64}, ValueError),
        ({"memory": "1KiB"}, MemoryError),
        ({"within": 99}, sh.BoardError),
        ({"within": 18, "mirrored": True}, sh.BuildError),
        ({"threads": -1}, ValueError),
        ({"path": tmp_path / "file" / "t.sht"}, OSError),
    ]
    (tmp_path / "file").write_text("")
    for arguments, error in cases:
        with pytest.raises(error):
            sh.build(**{"board": BOARD, "path": path, **arguments})
    with pytest.raises(sh.BuildError):
        sh.compare(tables["byte"], sh.build(board=sh.Board(5, 5), path=tmp_path / "5.sht"))


def test_damage_is_found(tmp_path: Path, tables: dict[str, sh.Table]) -> None:
    (tmp_path / "proof").mkdir()
    with pytest.raises(OSError, match="absent"):
        sh.verify(tables["byte"], sample=1000, work_dir=tmp_path / "absent")
    for form, table in tables.items():
        sh.verify(table)
        sh.verify(table, deep=True)
        sh.verify(table, sample=1000, seed=3, work_dir=tmp_path / "proof")
        data = bytearray(Path(table.path).read_bytes())
        data[len(data) // 2] ^= 1
        (tmp_path / f"{form}.sht").write_bytes(data)
        with pytest.raises(sh.DamagedTable):
            sh.verify(sh.open(tmp_path / f"{form}.sht"))


def test_an_open_table_is_verified_without_its_file(tmp_path: Path) -> None:
    path = tmp_path / "t.sht"
    table = sh.build(board=BOARD, path=path)
    path.unlink()
    sh.verify(table)
    sh.verify(table, deep=True)
    sh.verify(table, sample=1000, work_dir=tmp_path)


def test_conversions_keep_the_distances(tmp_path: Path, tables: dict[str, sh.Table]) -> None:
    expected = tables["byte"][:]
    for encoding in ["byte", "mod3", "zstd", "ans"]:
        for mirrored in [False, True]:
            table = sh.convert(tables["mod3"], tmp_path / "t.sht", encoding, mirrored=mirrored, overwrite=True)
            assert (table.encoding, table.mirrored) == (encoding, mirrored)
            assert (table[:] == expected).all()
    with pytest.raises(sh.TableExists):
        sh.convert(tables["mod3"], tmp_path / "t.sht", "byte")
    with pytest.raises(sh.SternhalmaError):
        sh.convert(tables["mod3"], tables["mod3"].path, "byte", overwrite=True)


def test_comparisons_count_the_differences(tables: dict[str, sh.Table]) -> None:
    same = sh.compare(tables["ans"], tables["mod3-mirrored"])
    assert (same["states"], same["differ"], same["contradictions"], same["exact_to"]) == (BOARD.states, 0, 0, None)
    prefix = tables["prefix"]
    result = sh.compare(prefix, tables["byte"])
    bounds, distances = prefix[:].astype(int), tables["byte"][: prefix.states].astype(int)
    expected = np.unique(np.column_stack([bounds, bounds - distances]), axis=0, return_counts=True)
    pairs = [(*row, int(count)) for row, count in zip(expected[0].tolist(), expected[1], strict=True)]
    assert sorted(pair for pair in result["pairs"] if pair[2]) == sorted(pairs)
    assert result["differ"] == int((bounds != distances).sum())
    assert result["largest"] == int((bounds - distances).max())
    assert (result["within"], result["exact_to"], result["contradictions"]) == (19, prefix.exact_to, 0)
