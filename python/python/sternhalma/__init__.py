"""Chinese Checkers distance tables, built and queried from NumPy, and players that use them.

The modules `ggp` and `rl` have rulesheets of any game and vectorised environments.
"""

from . import ggp, rl
from ._board import Moves, format, format_moves, moves, parse, rank, unrank
from ._build import Plan, build, compare, contents_checksum, convert, plan, verify
from ._errors import (
    BoardError,
    BuildError,
    DamagedTable,
    IllegalAction,
    LogError,
    LogNotFound,
    NotationError,
    NotCovered,
    OutOfMemory,
    ProgramError,
    RulesheetError,
    StateError,
    SternhalmaError,
    TableError,
    TableExists,
    TableNotFound,
    TournamentError,
)
from ._native import Board, Position, __version__
from ._play import Player, Search, players
from ._program import Program
from ._table import OUTSIDE, Table, TableMoves, open
from ._tournament import Results, read_log, read_logs, tournament

__all__ = [
    "OUTSIDE",
    "Board",
    "BoardError",
    "BuildError",
    "DamagedTable",
    "IllegalAction",
    "LogError",
    "LogNotFound",
    "Moves",
    "NotCovered",
    "NotationError",
    "OutOfMemory",
    "Plan",
    "Player",
    "Position",
    "Program",
    "ProgramError",
    "Results",
    "RulesheetError",
    "Search",
    "StateError",
    "SternhalmaError",
    "Table",
    "TableError",
    "TableExists",
    "TableMoves",
    "TableNotFound",
    "TournamentError",
    "__version__",
    "build",
    "compare",
    "contents_checksum",
    "convert",
    "format",
    "format_moves",
    "ggp",
    "moves",
    "open",
    "parse",
    "plan",
    "players",
    "rank",
    "read_log",
    "read_logs",
    "rl",
    "tournament",
    "unrank",
    "verify",
]
