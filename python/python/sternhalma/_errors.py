"""The exceptions of the package."""

from __future__ import annotations

from collections.abc import Sequence

from ._findings import Finding


class SternhalmaError(Exception):
    """The base of all exceptions of this package."""


class ArgumentError(SternhalmaError, ValueError):
    """An argument has a value that is not allowed or does not fit the other arguments."""


class ArgumentTypeError(SternhalmaError, TypeError):
    """An argument has the wrong type."""


class IndexOutOfRange(SternhalmaError, IndexError):
    """There is no lane or action with an index."""


class CallError(SternhalmaError, RuntimeError):
    """A call is not possible now: no match has begun, or another thread uses the object."""


class ClosedError(SternhalmaError, ValueError):
    """A table or a program is closed."""


class CopyError(SternhalmaError, TypeError):
    """An object cannot be copied or pickled."""


class MissingPackage(SternhalmaError, ModuleNotFoundError):
    """A function needs a package that is not installed."""


class FileError(SternhalmaError, OSError):
    """A file that is not a table, a log or a rulesheet cannot be written."""


class BoardError(SternhalmaError, ValueError):
    """A board has an invalid side, number of pieces, or number of cells."""


class StateError(SternhalmaError, ValueError):
    """Cells are not those of an army, or a rank is not that of a state."""


class NotationError(SternhalmaError, ValueError):
    """A text is not a state, a cell, a move, a player or a rule set."""


class RulesheetError(SternhalmaError, ValueError):
    """A rulesheet has errors or cannot be played. `findings` has the errors and warnings about its text."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.findings = list(findings)


class RulesheetFileError(RulesheetError, OSError):
    """A rulesheet cannot be read."""


class RulesheetNotFound(RulesheetFileError, FileNotFoundError):
    """There is no such rulesheet, neither a file nor a built-in one."""


class IllegalAction(SternhalmaError, ValueError):
    """An action of an environment is not legal, or is not an action."""


class NotCovered(SternhalmaError, KeyError):
    """A table does not cover a state."""

    def __str__(self) -> str:
        # `KeyError` shows its argument in quotes.
        return Exception.__str__(self)


class TableError(SternhalmaError, OSError):
    """A table or a work file cannot be read or written."""


class DamagedTable(TableError):
    """A file is not a table, or its contents are damaged or wrong."""


class TableNotFound(TableError, FileNotFoundError):
    """There is no such table."""


class TableExists(TableError, FileExistsError):
    """A file exists and must not be replaced."""


class BuildError(SternhalmaError, RuntimeError):
    """A table was not built, converted, verified or compared."""


class OutOfMemory(BuildError, MemoryError):
    """A memory limit is too small, or the system does not provide the memory."""


class ProgramError(SternhalmaError, RuntimeError):
    """An external program did not start, ended, gave no answer in time, or gave a wrong one."""


class TournamentError(SternhalmaError, ValueError):
    """The players, limits, openings or rules of a tournament are wrong."""


class LogError(SternhalmaError, OSError):
    """A log cannot be read or written, is damaged, or belongs to another tournament."""


class LogNotFound(LogError, FileNotFoundError):
    """There is no such log."""
