"""Look-ups, compared with a breadth-first search in Python and with the command line."""

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sternhalma as sh

BOARD = sh.Board(5, 6)
FORMS = [encoding + form for encoding in ["byte", "mod3", "zstd", "ans"] for form in ["", "-mirrored"]]


@pytest.fixture(scope="session")
def all_distances(tables: dict[str, sh.Table]) -> Any:
    return tables["byte"][:]


def test_distances_are_those_of_a_search_in_python(tmp_path: Path) -> None:
    board = sh.Board(4, 3)
    expected = oracle.distances(4, 3)
    for encoding in ["byte", "mod3", "zstd", "ans"]:
        with sh.build(board=board, encoding=encoding, path=tmp_path / f"{encoding}.sht") as table:
            assert dict(enumerate(table)) == expected
            assert table.layers.tolist() == np.bincount(list(expected.values())).tolist()
            assert table.distances(list(expected)).tolist() == list(expected.values())


@pytest.mark.parametrize("form", FORMS)
def test_every_way_to_look_up_gives_the_same(tables: dict[str, sh.Table], all_distances: Any, form: str) -> None:
    table = tables[form]
    assert (table.encoding, table.mirrored) == (form.removesuffix("-mirrored"), form.endswith("mirrored"))
    rng = np.random.default_rng(2)
    for count in [5, 3_000]:
        ranks = rng.integers(0, BOARD.states, count)
        expected = all_distances[ranks]
        for threads in [0, 1, 3]:
            assert (table.distances(ranks, threads=threads) == expected).all()
            for player in ["x", "o"]:
                cells = rng.permuted(sh.unrank(ranks, board=BOARD, player=player), axis=1)
                assert (table.distances(cells=cells, player=player, threads=threads) == expected).all()
    for rank in ranks[:5]:
        cells = sh.unrank(rank, board=BOARD)
        text = sh.format(cells, board=BOARD)
        for state in [int(rank), rank, cells, cells.tolist(), tuple(cells), text, f"#{rank}"]:
            assert table.distance(state) == all_distances[rank] == table.get(state) == table[int(rank)]
    assert (table[:] == all_distances).all()
    assert (table[1000:2000] == all_distances[1000:2000]).all() and (table[-7:] == all_distances[-7:]).all()
    parts = list(table.chunks(50_000, start=10, stop=170_000))
    assert [first for first, _ in parts] == list(range(10, 170_000, 50_000))
    assert (np.concatenate([part for _, part in parts]) == all_distances[10:170_000]).all()
    assert table[5:2].shape == (0,) and table[BOARD.states :].shape == (0,)


def test_large_batches_of_bytes_are_exact(tmp_path: Path) -> None:
    # A table of one block, so that every batch is large.
    with sh.build(board=sh.Board(5, 3), path=tmp_path / "t.sht") as table:
        ranks = np.random.default_rng(1).permutation(table.states)
        expected = table[:][ranks]
        assert (table.distances(ranks) == expected).all()
        assert (table.distances(ranks, threads=2) == expected).all()
        with pytest.raises(sh.NotCovered, match=f"state 7 .rank {table.states}"):
            table.distances(np.insert(ranks, 7, table.states), threads=2)
        assert table.distances([0, table.states, 2**64 - 1], missing=77).tolist() == [0, 77, 77]


def test_shapes_and_outputs(tables: dict[str, sh.Table], all_distances: Any) -> None:
    table = tables["byte"]
    ranks = np.arange(60).reshape(3, 4, 5)
    assert (table.distances(ranks) == all_distances[:60].reshape(3, 4, 5)).all()
    out = np.zeros((3, 4, 5), np.uint8)
    assert table.distances(ranks, out=out) is not None and (out == all_distances[:60].reshape(3, 4, 5)).all()
    strided = np.zeros((3, 4, 10), np.uint8)
    table.distances(ranks, out=strided[:, :, ::2])
    assert (strided[:, :, ::2] == out).all() and (strided[:, :, 1::2] == 0).all()
    one = table.distances(17)
    assert one == all_distances[17] and np.ndim(one) == 0
    # The output may be a part of the input.
    buffer = np.arange(8, dtype=np.uint64)
    assert table.distances(buffer, out=buffer.view(np.uint8)[:8]).tolist() == all_distances[:8].tolist()
    for bad in [np.zeros(60, np.uint8), np.zeros((3, 4, 5)), [0] * 60]:
        with pytest.raises(ValueError, match="out"):
            table.distances(ranks, out=bad)  # type: ignore[call-overload]
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        table.distances(ranks, out=out)


def test_states_that_are_not_covered(tables: dict[str, sh.Table], all_distances: Any) -> None:
    table = tables["prefix"]
    assert table.within == 19 and len(table) == table.states < BOARD.states
    ranks = [3, table.states, 5]
    assert table.distances(ranks, missing=200).tolist() == [*table.distances([3]), 200, *table.distances([5])]
    with pytest.raises(sh.NotCovered, match=f"state 1 .rank {table.states}"):
        table.distances(ranks)
    with pytest.raises(sh.NotCovered, match="state 1"):
        table.distances(cells=sh.unrank(ranks, board=BOARD))
    assert table.distances(cells=sh.unrank(ranks, board=BOARD), missing=0)[1] == 0
    for state in [table.states, "startpos", BOARD.states, -1, 2**70, np.int64(-1), np.uint64(2**63)]:
        assert table.get(state, "none") == "none"
        with pytest.raises(KeyError):
            table.distance(state)
    assert table.exact_to is not None
    bounds = table[:]
    exact = table.exact(bounds)
    assert (exact == (bounds <= table.exact_to)).all() and exact.any() and not exact.all()
    assert (bounds[exact] == all_distances[: table.states][exact]).all()
    assert tables["byte"].exact(5) and table.exact(table.exact_to) and not table.exact(table.exact_to + 1)


@pytest.mark.parametrize("form", ["byte", "mod3-mirrored", "prefix"])
def test_moves_and_lines(tables: dict[str, sh.Table], form: str) -> None:
    table = tables[form]
    for player in ["x", "o"]:
        cells = sh.unrank([0, 1234, table.states - 1], board=BOARD, player=player)
        found = table.moves(cells, player=player)
        for row, first, end in zip(cells, found.offsets[:-1], found.offsets[1:], strict=True):
            army, distances = set(row.tolist()), found.distance[first:end]
            pairs = list(zip(found.source[first:end].tolist(), found.target[first:end].tolist(), strict=True))
            assert sorted(pairs) == oracle.moves(5, army)
            after = [sorted(army - {source} | {target}) for source, target in pairs]
            assert (table.distances(cells=after, player=player, missing=sh.OUTSIDE) == distances).all()
            assert (np.diff(distances.astype(int)) >= 0).all()
            line = table.line(row, player=player)
            assert line.shape == (table.distance(row, player), 2)
            for source, target in line.tolist():
                assert target in oracle.destinations(5, army, source)
                army = army - {source} | {target}
            assert army == set(BOARD.goal(player).tolist())


def test_bytes_are_mapped_without_a_copy(tables: dict[str, sh.Table], all_distances: Any) -> None:
    mapped = tables["byte"].memmap()
    assert (mapped == all_distances).all() and not mapped.flags.writeable
    for form in ["byte-mirrored", "mod3"]:
        with pytest.raises(ValueError, match="unmirrored"):
            tables[form].memmap()


def test_arrays_need_not_be_aligned(tables: dict[str, sh.Table], all_distances: Any) -> None:
    ranks = np.arange(1000, dtype=np.uint64)
    for start in range(1, 8):
        buffer = np.zeros(ranks.nbytes + start, np.uint8)
        misaligned = buffer[start:].view(np.uint64)
        misaligned[:] = ranks
        assert not misaligned.flags.aligned and misaligned.flags.c_contiguous
        assert (tables["byte"].distances(misaligned) == all_distances[:1000]).all()
        assert (sh.unrank(misaligned, board=BOARD) == sh.unrank(ranks, board=BOARD)).all()


def test_a_table_with_the_name_of_another_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STERNHALMA_TABLES", str(tmp_path))
    board = sh.Board(4, 2)
    built = sh.build(board=board)
    assert sh.open("4x4-2").checksum == sh.open("4x4-2.sht").checksum == built.checksum
    path = tmp_path / "4x4-3.sht"
    shutil.copy(built.path, path)
    # Its encoding is not in the way: the name of a file may be any other text.
    shutil.copy(built.path, tmp_path / "mine.sht")
    assert sh.open("mine").checksum == sh.open(path).checksum == built.checksum
    for name in ["4x4-3", "4x4-3.sht"]:
        with pytest.raises(sh.TableError, match=f"{re.escape(str(path))}: the table is of .*; rename it"):
            sh.open(name)
    with pytest.raises(sh.TableError, match=re.escape(str(path))):
        sh.build(board=sh.Board(4, 3))


def test_a_closed_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.sht"
    with sh.build(board=sh.Board(4, 2), path=path) as table:
        assert not table.closed and repr(path.name)[1:-1] in repr(table)
    table.close()
    assert table.closed and "closed" in repr(table)
    for use in [lambda: table.distance(0), lambda: table[0], lambda: table.states, lambda: sh.verify(table)]:
        with pytest.raises(ValueError, match="closed"):
            use()


BAD_STATES: list[tuple[Any, type[Exception]]] = [
    ([0, 1, 2], sh.StateError),
    ([0] * 6, sh.StateError),
    ([0, 1, 2, 3, 4, 25], sh.StateError),
    ([0, 1, 2, 3, 4, -1], sh.StateError),
    ([0, 1, 2, 3, 4, 300], sh.StateError),
    (list(range(40)), sh.StateError),
    ("z9", sh.NotationError),
    ("", sh.NotationError),
    (None, TypeError),
    (1.5, TypeError),
    ([0.5] * 6, TypeError),
    ([[0, 1, 2, 3, 4, 5]], TypeError),
    ({}, sh.StateError),
]


@pytest.mark.parametrize(("state", "error"), BAD_STATES)
def test_bad_states_are_refused(tables: dict[str, sh.Table], state: Any, error: type[Exception]) -> None:
    uses: list[Callable[[Any], object]] = [tables["byte"].distance, tables["byte"].line, tables["byte"].get]
    for use in uses:
        with pytest.raises(error):
            use(state)


def test_bad_arguments_are_refused(tables: dict[str, sh.Table]) -> None:
    table = tables["byte"]
    cases: list[tuple[dict[str, Any], type[Exception]]] = [
        ({}, TypeError),
        ({"ranks": [0], "cells": [0]}, TypeError),
        ({"ranks": [0], "threads": -1}, ValueError),
        ({"ranks": [0], "missing": 256}, ValueError),
        ({"ranks": [-1]}, sh.StateError),
        ({"ranks": ["a"]}, TypeError),
        ({"cells": [[0, 1, 2, 3, 4, 25]]}, sh.StateError),
        ({"cells": [0, 1, 2, 3, 4, 5], "player": "z"}, sh.NotationError),
    ]
    for arguments, error in cases:
        with pytest.raises(error):
            table.distances(**arguments)
    with pytest.raises(ValueError, match="step 1"):
        table[::2]
    with pytest.raises(ValueError, match="size"):
        next(table.chunks(0))


def test_files_that_are_no_tables(tmp_path: Path, tables: dict[str, sh.Table]) -> None:
    with pytest.raises(sh.TableNotFound, match="9x9-77") as info:
        sh.open("9x9-77")
    assert isinstance(info.value, FileNotFoundError) and isinstance(info.value, sh.SternhalmaError)
    other = tmp_path / "other.sht"
    other.write_bytes(b"something else")
    with pytest.raises(sh.DamagedTable):
        sh.open(other)
    with pytest.raises(sh.TableError):
        sh.open(tmp_path)
    for form in FORMS:
        data = bytearray(Path(tables[form].path).read_bytes())
        data[len(data) // 2] ^= 0x10
        damaged = tmp_path / "damaged.sht"
        damaged.write_bytes(data)
        with sh.open(damaged) as table, pytest.raises(sh.DamagedTable) as damage:
            table.distances(np.arange(table.states))
        assert isinstance(damage.value, OSError)


def test_the_command_line_gives_the_same(tables: dict[str, sh.Table], sternhalma: Any) -> None:
    table = tables["zstd-mirrored"]
    info = json.loads(sternhalma("info", table.path, "--json"))
    assert (info["checksum"], info["states"]) == (table.checksum, table.states)
    states = [f"#{rank}" for rank in range(0, table.states, 997)]
    rows = json.loads(sternhalma("query", table.path, *states, "--json", "--moves"))
    assert [row["distance"] for row in rows] == table.distances(np.arange(0, table.states, 997)).tolist()
    row = rows[100]
    moves = table.moves(sh.unrank(row["rank"], board=BOARD))
    texts = sh.format_moves(np.column_stack([moves.source, moves.target]), board=BOARD)
    assert [(move["move"], move["distance"]) for move in row["moves"]] == list(
        zip(texts.tolist(), moves.distance.tolist(), strict=True)
    )
    line = sternhalma("line", table.path, states[50]).split()
    assert sh.format_moves(table.line(states[50]), board=BOARD).tolist() == line


@given(st.lists(st.integers(-(2**65), 2**65), max_size=8), st.integers(0, 255))
def test_no_rank_is_a_surprise(tables: dict[str, sh.Table], ranks: list[int], missing: int) -> None:
    table = tables["byte"]
    try:
        found = table.distances(ranks, missing=missing).tolist()
    except sh.StateError:
        assert min(ranks) < 0 or max(ranks) >= 2**64
    else:
        assert found == [table.get(rank, missing) for rank in ranks]


def test_threads_share_a_table(tables: dict[str, sh.Table], all_distances: Any) -> None:
    wrong: list[str] = []

    def look_up(seed: int, form: str) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            ranks = rng.integers(0, BOARD.states, 500)
            if not (tables[form].distances(ranks, threads=seed % 3) == all_distances[ranks]).all():
                wrong.append(form)

    threads = [threading.Thread(target=look_up, args=(seed, form)) for seed, form in enumerate(FORMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


LEAK = """
import resource, sys
import numpy as np
import sternhalma as sh

table, board = sh.open(sys.argv[1]), sh.Board(5, 6)
ranks, cells = np.arange(3), sh.unrank(np.arange(3), board=board)

def work(rounds):
    for rank in range(rounds):
        table.distance(rank % 1000)
        table.get(board.states)
        if rank % 10 == 0:
            table.distances(ranks)
            sh.rank(cells, board=board)
            table.moves(cells)
            table.line(rank % 1000)

work(20_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
work(1_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_million_calls_need_no_more_memory(tables: dict[str, sh.Table]) -> None:
    command = [sys.executable, "-c", LEAK, tables["byte"].path]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown < 4096, f"{grown} KiB more"


def test_types_of_results_follow_from_arguments(tables: dict[str, sh.Table]) -> None:
    table = tables["byte"]
    ranks = np.arange(3)
    assert type(assert_type(table.distances(3), np.uint8)) is np.uint8
    assert type(assert_type(table.distances(ranks), NDArray[np.uint8])) is np.ndarray
    assert type(assert_type(table.distances(cells=[[0, 1, 2, 3, 4, 5]]), NDArray[np.uint8])) is np.ndarray
    assert type(assert_type(table[3], np.uint8)) is np.uint8
    assert type(assert_type(table[:3], NDArray[np.uint8])) is np.ndarray
    assert type(assert_type(table.exact(3), np.bool_)) is np.bool_
    assert type(assert_type(table.exact([3]), NDArray[np.bool_])) is np.ndarray
    assert type(assert_type(table.get(3), int | None)) is int
    assert assert_type(table.get(-1, "none"), int | str) == "none"


def test_states_at_a_distance_and_random_ones(tables: dict[str, sh.Table], sternhalma: Any) -> None:
    byte = tables["byte"]
    everything = byte[:]
    for distance in [0, 3, byte.max_distance, byte.max_distance + 1]:
        expected = np.flatnonzero(everything == distance)
        for table in tables.values():
            if table.within == byte.within:
                np.testing.assert_array_equal(table.states_at(distance), expected)
                drawn = table.sample(5, seed=3, distance=distance)
                assert len(set(drawn.tolist())) == min(5, len(expected)) and set(drawn.tolist()) <= set(
                    expected.tolist()
                )
                np.testing.assert_array_equal(drawn, byte.sample(5, seed=3, distance=distance))
    for options in [{}, {"distance": 7}]:
        drawn = byte.sample(4, seed=9, **options)
        words = [word for key, value in options.items() for word in (f"--{key}", value)]
        lines = sternhalma("query", byte.path, "--random", "4", "--seed", "9", *map(str, words), "--format", "csv")
        assert [int(line.split('"')[2].split(",")[1]) for line in lines.splitlines()[1:]] == drawn.tolist()
        assert byte.format(byte.unrank(drawn)).tolist() == [line.split('"')[1] for line in lines.splitlines()[1:]]
    assert len(byte.sample(10_000_000)) == byte.states and byte.sample(0).shape == (0,)
    for wrong in [-1, 256]:
        with pytest.raises(ValueError, match="distance: expected 0 to 255"):
            byte.states_at(wrong)


def test_the_tables_of_the_directory_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: dict[str, sh.Table]
) -> None:
    monkeypatch.setenv("STERNHALMA_TABLES", str(tmp_path / "absent"))
    assert sh.tables() == []
    monkeypatch.setenv("STERNHALMA_TABLES", str(tmp_path))
    sh.build(board=sh.Board(5, 3)).close()
    sh.convert(tables["prefix"], tmp_path / "part.sht", "mod3").close()
    (tmp_path / "broken.sht").write_bytes(b"no table")
    whole, broken, part = sh.tables()
    assert whole[:6] == ("5x5-3", str(tmp_path / "5x5-3.sht"), sh.Board(5, 3), 25, 2300, "byte")
    with sh.open(whole.name) as table:
        assert whole[6:] == (table.mirrored, table.file_bytes, table.max_distance, table.exact_to, None)
    assert (part.name, part.board, part.within, part.encoding) == ("part", sh.Board(5, 6), 19, "mod3")
    assert part.exact_to == tables["prefix"].exact_to and part.states == tables["prefix"].states
    assert broken.board is None and broken.states is None and "broken.sht" in str(broken.error)
