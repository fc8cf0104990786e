"""Distance tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._arguments import COUNT, INT64, check
from ._arrays import Integer, Row, Rows, array_of, cells_of, output_of, ranks_of
from ._board import format, parse, rank, unrank
from ._errors import ArgumentError, ArgumentTypeError, NotCovered, TableError
from ._native import Board
from ._resources import threads_of

Default = TypeVar("Default")

UINT8 = (0, 255)

#: The distance of a state outside the table, in `TableMoves.distance`.
OUTSIDE = 255


class TableMoves(NamedTuple):
    """Moves of several states with the distances after them, best first within a state."""

    offsets: NDArray[np.uint64]
    source: NDArray[np.uint8]
    target: NDArray[np.uint8]
    distance: NDArray[np.uint8]


class Table:
    """An open distance table.

    The methods may be called from several threads. `distance(state, player="x")` returns the distance of a state:
    the fewest moves of its army to the goal, as an `int`. A state is a rank, a text, or a sequence of cells. It
    raises `NotCovered` if the table does not cover the state. `exact` states whether a distance is proven.

    A copy is the file opened again, and a pickled table is the absolute path of the file with its checksum. A closed
    table has neither.
    """

    __slots__ = ("_native", "_options", "distance")

    def __init__(self, table: _native.Table, *, checked: bool = True, load_budget: int = 0) -> None:
        self._native = table
        # The working directory may change.
        self._options = os.path.abspath(self.path), checked, load_budget
        # The compiled method is bound directly, because a look-up takes less time than a call in Python.
        self.distance = table.distance

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the table. Calls of other threads that have begun are completed."""
        self._native.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<sternhalma.Table, closed>"
        return f"<sternhalma.Table {self.path!r}: {self.board}, {self.states} states, {self.encoding}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (*self._options, self.checksum)

    def __len__(self) -> int:
        return self.states

    @property
    def closed(self) -> bool:
        """Whether the table is closed. Most other attributes then raise `ClosedError`."""
        return self._native.closed

    @property
    def path(self) -> str:
        """The path of the file."""
        return os.fspath(self._native.path)

    @property
    def board(self) -> Board:
        """The board and the number of pieces."""
        return self._native.board

    @property
    def within(self) -> int:
        """The number of cells nearest the goal that the table covers: all cells, or those of a prefix."""
        return self._native.within

    @property
    def states(self) -> int:
        """The number of covered states. Their ranks are 0 to `states - 1`."""
        return self._native.states

    @property
    def encoding(self) -> str:
        """How distances are stored: "byte", "mod3", "zstd" or "ans"."""
        return self._native.encoding

    @property
    def mirrored(self) -> bool:
        """Whether only one state of each left-right mirrored pair is stored."""
        return self._native.mirrored

    @property
    def layers(self) -> NDArray[np.uint64]:
        """The number of states at each distance."""
        return self._native.layers

    @property
    def max_distance(self) -> int:
        """The largest distance."""
        return self._native.max_distance

    @property
    def exact_to(self) -> int | None:
        """The largest proven distance, or `None` if all are. Larger ones are upper bounds."""
        return self._native.exact_to

    @property
    def checksum(self) -> str:
        """The checksum of states and distances, in hexadecimal. It identifies the table."""
        return self._native.checksum

    @property
    def file_bytes(self) -> int:
        """The length of the file in bytes."""
        return self._native.file_bytes

    @property
    def provenance(self) -> dict[str, Any]:
        """How the table was built and converted, as docs/reference/table-format.md describes."""
        return self._native.provenance

    @overload
    def distances(
        self, ranks: Integer, *, missing: int | None = ..., out: None = ..., threads: int = ...
    ) -> np.uint8: ...
    @overload
    def distances(
        self,
        ranks: Row | Rows | NDArray[Any],
        *,
        missing: int | None = ...,
        out: NDArray[np.uint8] | None = ...,
        threads: int = ...,
    ) -> NDArray[np.uint8]: ...
    @overload
    def distances(
        self, *, cells: Row, player: str = ..., missing: int | None = ..., out: None = ..., threads: int = ...
    ) -> np.uint8: ...
    @overload
    def distances(
        self,
        *,
        cells: Rows,
        player: str = ...,
        missing: int | None = ...,
        out: NDArray[np.uint8] | None = ...,
        threads: int = ...,
    ) -> NDArray[np.uint8]: ...
    @overload
    def distances(
        self,
        ranks: ArrayLike | None = ...,
        *,
        cells: ArrayLike | None = ...,
        player: str = ...,
        missing: int | None = ...,
        out: NDArray[np.uint8] | None = ...,
        threads: int = ...,
    ) -> Any: ...
    def distances(
        self,
        ranks: ArrayLike | None = None,
        *,
        cells: ArrayLike | None = None,
        player: str = "x",
        missing: int | None = None,
        out: NDArray[np.uint8] | None = None,
        threads: int = 1,
    ) -> np.uint8 | NDArray[np.uint8]:
        """Returns the distances of many states, as uint8.

        Specify either `ranks`, of any shape, or `cells`, of the shape (..., pieces) in board order for `player`. The
        result has the shape of the states, or is `out`. A state that is not covered has the distance `missing`.
        `threads` look up at the same time; 0 is one per processor core.

        Raises `NotCovered` with the index of the first state that is not covered, if `missing` is `None`. Raises
        `StateError` with the index of the first row of cells that is not an army, and `DamagedTable`.

        Cost: with the encoding "byte", a rank and a load per state. The first call with many states compares all
        blocks with their checksums, unless the table was opened with `checked=False`. With "zstd" and "ans" states
        of one block should follow each other, because blocks are decoded whole.
        """
        if (ranks is None) == (cells is None):
            raise ArgumentTypeError("specify either ranks or cells")
        check(Table.distances, locals(), missing=UINT8)
        threads = threads_of(threads)
        if cells is not None:
            rows, shape = cells_of(cells, self.board.pieces)
            out, vector = output_of(out, shape)
            self._native.look_up_cells(rows, player=player, missing=missing, threads=threads, out=vector)
        elif ranks is not None:
            numbers, shape = ranks_of(ranks)
            out, vector = output_of(out, shape)
            if np.may_share_memory(numbers, vector):
                numbers = numbers.copy()
            self._native.look_up_ranks(numbers, missing=missing, threads=threads, out=vector)
        assert out is not None
        if not out.flags.c_contiguous:
            out[...] = vector.reshape(out.shape)
        distances: np.uint8 | NDArray[np.uint8] = out[()]
        return distances

    @overload
    def get(self, state: Any, default: None = ..., *, player: str = ...) -> int | None: ...
    @overload
    def get(self, state: Any, default: Default, *, player: str = ...) -> int | Default: ...
    def get(self, state: Any, default: Default | None = None, *, player: str = "x") -> int | Default | None:
        """Returns the distance of a state, or `default` if the table does not cover it."""
        try:
            return self.distance(state, player)
        except NotCovered:
            return default

    @overload
    def exact(self, distances: Integer) -> np.bool_: ...
    @overload
    def exact(self, distances: Row | Rows | NDArray[Any]) -> NDArray[np.bool_]: ...
    @overload
    def exact(self, distances: ArrayLike) -> Any: ...
    def exact(self, distances: ArrayLike) -> np.bool_ | NDArray[np.bool_]:
        """Returns whether distances of this table are proven, and not only upper bounds."""
        array = array_of(distances, "distance")
        if array.dtype.kind not in "iuf":
            raise ArgumentTypeError(f"distances: expected numbers, got an array of {array.dtype}")
        limit = self.exact_to
        exact: NDArray[np.bool_] = np.ones(array.shape, dtype=np.bool_) if limit is None else array <= limit
        found: np.bool_ | NDArray[np.bool_] = exact[()]
        return found

    def moves(self, cells: ArrayLike, *, player: str = "x") -> TableMoves:
        """Returns the moves of states with the distances after them, best first.

        `cells` has the shape (..., pieces). The distance after a move that leaves the table is `OUTSIDE`.

        Raises `NotCovered` or `StateError` with the index of the first row that has no distance.
        """
        check(Table.moves, locals())
        rows, _ = cells_of(cells, self.board.pieces)
        return TableMoves(*self._native.moves_of(rows, player))

    def states_at(self, distance: int) -> NDArray[np.uint64]:
        """Returns the ranks of all covered states at a distance, in ascending order.

        Cost: a pass over the table, and 8 bytes of memory per state.
        """
        check(Table.states_at, locals(), distance=UINT8)
        return self._native.states_at(distance)

    def sample(self, count: int, *, seed: int = 1, distance: int | None = None) -> NDArray[np.uint64]:
        """Returns the ranks of `count` different random states, of all covered ones or of those at a `distance`.

        All states are equally likely. The order is random too. If there are fewer states, all are returned. The same
        seed draws the same states as `sternhalma query --random` does, in every form of a table.

        Cost: some 50 bytes of memory per drawn state, and with `distance` a pass over the table.
        """
        check(Table.sample, locals(), count=(0, 10_000_000), distance=UINT8)
        return self._native.sample(count, seed=seed, distance=distance)

    @overload
    def rank(self, cells: Row, *, player: str = ...) -> np.uint64: ...
    @overload
    def rank(self, cells: Rows, *, player: str = ...) -> NDArray[np.uint64]: ...
    @overload
    def rank(self, cells: ArrayLike, *, player: str = ...) -> Any: ...
    def rank(self, cells: ArrayLike, *, player: str = "x") -> np.uint64 | NDArray[np.uint64]:
        """Returns the ranks of states of the board of the table, as `sternhalma.rank` does."""
        ranks: np.uint64 | NDArray[np.uint64] = rank(cells, board=self.board, player=player)
        return ranks

    def unrank(self, ranks: ArrayLike, *, player: str = "x") -> NDArray[np.uint8]:
        """Returns the cells of states of the board of the table, as `sternhalma.unrank` does."""
        return unrank(ranks, board=self.board, player=player)

    def parse(self, text: str | Sequence[str] | NDArray[np.str_], *, player: str = "x") -> NDArray[np.uint8]:
        """Returns the cells of the states that texts describe, as `sternhalma.parse` does."""
        return parse(text, board=self.board, player=player)

    @overload
    def format(self, cells: Row) -> str: ...
    @overload
    def format(self, cells: Rows) -> NDArray[np.str_]: ...
    @overload
    def format(self, cells: ArrayLike) -> Any: ...
    def format(self, cells: ArrayLike) -> str | NDArray[np.str_]:
        """Returns the texts of states, as `sternhalma.format` does."""
        text: str | NDArray[np.str_] = format(cells, board=self.board)
        return text

    def line(self, state: Any, *, player: str = "x") -> NDArray[np.uint8]:
        """Returns a shortest line of moves to the goal, of the shape (distance, 2).

        A state is a rank, a text, or a sequence of cells. Raises `NotCovered` if the table does not cover it.
        """
        check(Table.line, locals())
        return self._native.line(state, player)

    @overload
    def __getitem__(self, ranks: Integer) -> np.uint8: ...
    @overload
    def __getitem__(self, ranks: slice | Row | Rows | NDArray[Any]) -> NDArray[np.uint8]: ...
    @overload
    def __getitem__(self, ranks: ArrayLike | slice) -> Any: ...
    def __getitem__(self, ranks: ArrayLike | slice) -> np.uint8 | NDArray[np.uint8]:
        if not isinstance(ranks, slice):
            distances: np.uint8 | NDArray[np.uint8] = self.distances(ranks)
            return distances
        try:
            first, end, step = ranks.indices(self.states)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(f"{ranks}: {error}") from None
        if step != 1:
            raise ArgumentError("a slice of a table has the step 1; index the result to skip states")
        out = np.empty(max(end - first, 0), dtype=np.uint8)
        self._native.read(first if out.size else 0, out)
        return out

    def chunks(
        self, size: int = 1 << 24, *, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Yields the distances of consecutive ranks: the first rank, and an array of at most `size` distances.

        Needs little memory in every encoding.
        """
        check(Table.chunks, locals(), size=COUNT, start=INT64, stop=INT64)
        first, end, _ = slice(start, stop).indices(self.states)
        for at in range(first, end, size):
            yield at, self[at : min(at + size, end)]

    def __iter__(self) -> Iterator[int]:
        for _, distances in self.chunks(1 << 20):
            yield from distances.tolist()

    def memmap(self) -> np.memmap[Any, np.dtype[np.uint8]]:
        """Returns the distances of all ranks as a map of the file, without a copy.

        The table must be unmirrored and have the encoding "byte"; others raise `ArgumentError`. Checksums are not
        compared.
        """
        offset = self._native.bytes_offset
        if offset is None:
            form = "mirrored " if self.mirrored else ""
            raise ArgumentError(
                f"only unmirrored tables in the encoding byte are one byte per state, not {form}{self.encoding}"
            )
        return np.memmap(self.path, dtype=np.uint8, mode="r", offset=offset, shape=(self.states,))


class TableFile(NamedTuple):
    """A file of the tables directory.

    `open` opens it by `name` or `path`. The other fields are those of a table. If the file cannot be used, they are
    `None`, and `error` is the reason.
    """

    name: str
    path: str
    board: Board | None
    within: int | None
    states: int | None
    encoding: str | None
    mirrored: bool | None
    file_bytes: int | None
    max_distance: int | None
    exact_to: int | None
    error: str | None


def tables() -> list[TableFile]:
    """Returns the files of the tables directory, ordered by name, as the command `tables` lists them.

    `pandas.DataFrame(sternhalma.tables())` is a data frame.

    Raises `TableError` if the directory cannot be read.
    """
    no_table = (None,) * 8
    rows = _native.tables()
    return [TableFile._make((name, os.fspath(path), *(found or no_table), error)) for name, path, found, error in rows]


def open(path: str | os.PathLike[str], *, checked: bool = True, load_budget: int = 0) -> Table:
    """Opens a table by its path, or by its name in the tables directory, such as "9x9-6".

    The tables directory is that of the command line: the environment variable `STERNHALMA_TABLES`, or the user's data
    directory. `checked` compares each block with its checksum before its first use. `load_budget` is the number of
    bytes, nearest the goal, to load into memory; the rest is read from the file on demand.

    Raises `TableNotFound`, `DamagedTable`, or `TableError`, also for a name of the tables directory whose file is the
    table of other states, and `OutOfMemory` if the memory for `load_budget` is not available.
    """
    check(open, locals())
    table = _native.open(os.fspath(path), checked=checked, load_budget=load_budget)
    return Table(table, checked=checked, load_budget=load_budget)


def _reopen(path: str, checked: bool, load_budget: int, checksum: str) -> Table:
    """Opens a table that was copied or pickled."""
    table = open(path, checked=checked, load_budget=load_budget)
    if table.checksum != checksum:
        table.close()
        raise TableError(f"{path}: the file is not the table that was copied or pickled; open it by `open`")
    return table
