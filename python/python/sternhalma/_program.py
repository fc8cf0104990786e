"""External programs as players."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from types import TracebackType

from . import _native
from ._arguments import check
from ._copies import Unpicklable
from ._native import Position
from ._play import LIMITS, Search


class Program(Unpicklable):
    """An external program that speaks the engine protocol (docs/reference/ugi.md), as a player.

    `command` is a command line, which is split into words as by a POSIX shell without expansion, or a sequence of
    words. `options` are set before each search, and `seed` is set if the program has the option Seed. The program
    runs in `directory`.

    The program starts at once, runs until `close`, and is started again if it has ended. A `with` statement closes it.
    `patience` is the number of seconds in which the program must get ready, and in which it must answer after its time
    is over. Threads may share a program, which does one search at a time. A program cannot be copied or pickled.

    Raises `NotationError` if the command line is invalid, and `ProgramError` if the program does not start.
    """

    __slots__ = ("_native", "command")

    _refusal = (
        "a Program cannot be copied or pickled, because it is a process; start another one with the same arguments"
    )

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        options: Mapping[str, object] | None = None,
        directory: str | os.PathLike[str] | None = None,
        patience: float = 60.0,
        seed: int = 1,
    ) -> None:
        check(Program.__init__, locals(), patience=(0, 1e6))
        self.command = command if isinstance(command, str) else shlex.join(command)
        texts = [(name, str(value)) for name, value in (options or {}).items()]
        path = None if directory is None else os.fspath(directory)
        self._native = _native.Program(self.command, options=texts, dir=path, patience=patience, seed=seed)

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sternhalma.Program {self.command!r}{', closed' if self.closed else ''}>"

    @property
    def name(self) -> str:
        """The name with which the program introduced itself. It may be empty."""
        return self._native.name

    @property
    def closed(self) -> bool:
        """Whether the program is closed. `think` then raises `ClosedError`."""
        return self._native.closed

    def close(self) -> None:
        """Ends the program. A program that does not end within 0.2 seconds is killed."""
        self._native.close()

    def think(
        self,
        position: Position,
        *,
        playouts: int | None = None,
        nodes: int | None = None,
        depth: int | None = None,
        seconds: float | None = None,
    ) -> Search:
        """Returns the move that the program chooses in a position.

        The program receives the limits, at least one of which is required, and a new game with the position. The
        program must know the board, because the initial position is sent as "startpos". The values of the search are
        those that the program reports, except for `seconds`, which are measured. Ctrl-C raises `KeyboardInterrupt`.

        Raises `ProgramError` if the program ends, does not answer `patience` after its time, or answers with text that
        is no legal move. Raises `ArgumentError` if the game is over or there is no limit.
        """
        check(Program.think, locals(), **LIMITS)
        found = self._native.think(position, playouts=playouts, nodes=nodes, depth=depth, seconds=seconds)
        return Search(*found)
