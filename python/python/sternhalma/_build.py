"""Building, estimating, verifying, converting and comparing tables."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from . import _native
from ._arguments import COUNT, check
from ._board import DEFAULT_BOARD
from ._errors import ArgumentError
from ._native import Board
from ._progress import callback_of
from ._resources import machine_memory, memory_of, threads_of
from ._table import Table, open

#: The memory limit of a build that has none.
NO_LIMIT = 2**64 - 1


def build(
    *,
    board: Board = DEFAULT_BOARD,
    within: int | None = None,
    encoding: str = "byte",
    mirrored: bool | None = None,
    path: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    memory: int | str | None = None,
    mode: str | None = None,
    layer_form: str | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    threads: int = 0,
    progress: Any = None,
) -> Table:
    """Builds a table, and opens it. An existing file with the same states and encoding is opened as it is.

    `within` covers only the states within this number of cells nearest the goal. `encoding` is "byte", "mod3", "zstd"
    or "ans". `mirrored` stores one state of each mirrored pair; the default is that of the encoding. `path` is by
    default the table's name in the tables directory.

    `memory` limits the memory, as bytes or a text such as "2GiB"; the default is three quarters of the machine's.
    `mode` is "in-memory", which has no limit by default, "out-of-core", or `None` for the one that the limit allows.
    `layer_form` is the form of the layers of an out-of-core build: "whole" is faster, "delta" takes less disk space,
    and `None` is "whole" if the disk has room. An interrupted out-of-core build resumes with the same arguments, unless
    `fresh` discards its work directory `work_dir`.

    `progress` is called with the phase, the complete steps and all steps; it may be a progress bar of tqdm.
    Ctrl-C stops the build with `KeyboardInterrupt`, and so does any exception of `progress`.

    Raises `BuildError`, `OutOfMemory`, `TableExists` if another table has the path, or `TableError`.
    """
    check(build, locals())
    table = _native.build(
        board=board,
        within=within,
        encoding=encoding,
        mirrored=mirrored,
        path=None if path is None else os.fspath(path),
        overwrite=overwrite,
        memory=NO_LIMIT if mode == "in-memory" and memory is None else memory_of(memory),
        mode=mode,
        layer_form=layer_form,
        work_dir=None if work_dir is None else os.fspath(work_dir),
        fresh=fresh,
        threads=threads_of(threads),
        progress=callback_of(progress),
    )
    return Table(table)


class Plan(NamedTuple):
    """The estimated cost of a build.

    `mode` is "in-memory" or "out-of-core", and `layer_form` is `None` in memory. `memory_bytes` and `disk_bytes` are
    the largest use at any time, and `table_bytes` is the length of the file. `cpu_s` is the time of all cores, and
    `wall_s` the elapsed time, in seconds.
    """

    mode: str
    layer_form: str | None
    states: int
    layers: int
    memory_bytes: int
    table_bytes: int
    disk_bytes: int
    read_bytes: int
    written_bytes: int
    cpu_s: float
    wall_s: float


def plan(
    *,
    board: Board = DEFAULT_BOARD,
    within: int | None = None,
    encoding: str = "byte",
    mirrored: bool | None = None,
    path: str | os.PathLike[str] | None = None,
    memory: int | str | None = None,
    layer_form: str | None = None,
    threads: int = 0,
    cores: int | None = None,
    disk_rate: float | None = None,
    progress: Any = None,
) -> Plan:
    """Estimates time, memory and disk space of `build` with the same arguments, and does not build the table.

    The estimate is scaled from builds of smaller tables with `threads` threads, which take up to a minute. Their files
    are in the directory of `path` and are removed. The build is out of core if `memory` does not allow it in memory.

    `cores` and `memory` may be those of another machine with cores like this one's. `disk_rate` is the speed of its
    disk in bytes per second; without it, the speed of this disk is measured.

    Raises `OutOfMemory` if no build fits in `memory`, and `BuildError` or `TableError`. `progress` is as in `build`.
    """
    check(plan, locals(), cores=COUNT)
    if disk_rate is not None and disk_rate <= 0:
        raise ArgumentError(f"disk_rate: expected a number above 0, got {disk_rate}")
    limit, own = memory_of(memory), machine_memory()
    found = _native.plan(
        board=board,
        within=within,
        encoding=encoding,
        mirrored=mirrored,
        path=None if path is None else os.fspath(path),
        memory=limit,
        layer_form=layer_form,
        threads=threads_of(threads),
        cores=cores,
        disk_rate=disk_rate,
        # The page cache has the rest of the memory, which is a quarter of that of another machine.
        cache=own - limit if limit < own else limit // 3,
        progress=callback_of(progress),
    )
    return Plan(*found)


def verify(
    table: Table,
    *,
    deep: bool = False,
    sample: int | None = None,
    seed: int = 1,
    memory: int | str | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    threads: int = 0,
    progress: Any = None,
) -> None:
    """Compares a table with its checksums, or proves its distances.

    `deep` proves every distance with a separate generator of moves. `sample` proves only whole classes of at least
    this number of states, drawn with `seed`. A proof that needs more than `memory` keeps its state in the existing
    directory `work_dir`, by default that of the table, and resumes after an interruption. With `sample`, look-ups in
    the table compare its blocks with their checksums from then on, also if it was opened with `checked=False`.

    Raises `DamagedTable` if the table is damaged or wrong. `progress` is as in `build`.
    """
    check(verify, locals())
    _native.verify(
        table._native,
        deep=deep,
        sample=sample,
        seed=seed,
        memory=memory_of(memory),
        work_dir=None if work_dir is None else os.fspath(work_dir),
        threads=threads_of(threads),
        progress=callback_of(progress),
    )


def convert(
    table: Table,
    path: str | os.PathLike[str],
    encoding: str,
    *,
    mirrored: bool | None = None,
    overwrite: bool = False,
    threads: int = 0,
    progress: Any = None,
) -> Table:
    """Writes a table in another encoding or form, and opens the new file.

    Raises `TableExists` if the file exists, unless `overwrite` is true. `progress` is as in `build`.
    """
    check(convert, locals())
    _native.convert(
        table._native,
        path=os.fspath(path),
        encoding=encoding,
        mirrored=mirrored,
        overwrite=overwrite,
        threads=threads_of(threads),
        progress=callback_of(progress),
    )
    return open(path)


def compare(a: Table, b: Table, *, threads: int = 0, progress: Any = None) -> dict[str, Any]:
    """Compares two tables of a board on the states that both cover.

    The result has the number of `states`, how many `differ`, the `largest` and the `mean` difference, the number of
    `proven` states and of `contradictions`, and `pairs`: tuples of a distance in the smaller table, the difference to
    the larger one, and the number of states.

    Raises `BuildError` if the boards differ. `progress` is as in `build`.
    """
    check(compare, locals())
    return _native.compare(a._native, b._native, threads=threads_of(threads), progress=callback_of(progress))


def contents_checksum(table: Table, *, threads: int = 0, progress: Any = None) -> str:
    """Returns the checksum of the states and distances of a table, which is the same in every encoding and form.

    All distances are read. `progress` is as in `build`.
    """
    check(contents_checksum, locals())
    return _native.contents_checksum(table._native, threads=threads_of(threads), progress=callback_of(progress))
