"""Tournaments and their logs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from . import _native
from ._arguments import COUNT, COUNT32, UINT32, Range, check
from ._arrays import shown
from ._board import DEFAULT_BOARD
from ._copies import Immutable
from ._errors import ArgumentTypeError, TournamentError
from ._native import Board
from ._play import Player
from ._program import Program
from ._progress import callback_of
from ._resources import search_memory_of, threads_of, warn_of_removed
from ._table import Table

Columns = dict[str, Any]

_COUNTS = dict.fromkeys(("games", "nodes", "playouts"), COUNT)
_RANGES: dict[str, Range] = {
    **_COUNTS,
    "depth": COUNT32,
    "ply_limit": COUNT32,
    "opening_plies": UINT32,
    "seconds": (0.001, 1e6),
    "patience": (0, 1e6),
}


def _columns(columns: Columns) -> Columns:
    """Returns columns with arrays in place of lists of texts."""
    return {
        name: np.array(values, dtype=np.str_) if isinstance(values, list) and name != "moves" else values
        for name, values in columns.items()
    }


class Results(Immutable):
    """The results of a tournament.

    `columns`, `pairings` and `games` return columns: a dictionary that `pandas.DataFrame` and `polars.DataFrame` take
    as it is. Its values are arrays of one length, of int64, float64 with NaN for unknown values, or text. Names that
    end in `_low` and `_high` are the bounds of 95% confidence intervals. `str` returns the tables of the command line.

    Results never change: a copy is the same object. They can be pickled.
    """

    __slots__ = ("_native",)

    def __init__(self, results: _native.Results) -> None:
        self._native = results

    def __reduce__(self) -> tuple[Any, ...]:
        return _results, (type(self), self._native.schedule(), self._native.records())

    def __str__(self) -> str:
        return self._native.text()

    def __repr__(self) -> str:
        names = ", ".join(repr(entrant["name"]) for entrant in self.schedule["entrants"])
        return f"<sternhalma.Results: {self.played} of {self.expected} games of {names}>"

    @property
    def played(self) -> int:
        """The number of games that count. Games after the decision of a sequential test do not."""
        return self._native.played

    @property
    def expected(self) -> int:
        """The number of games when all are played. It is larger than `played` in the log of a running tournament."""
        return self._native.expected

    @property
    def schedule(self) -> dict[str, Any]:
        """Everything that determines the games, as in the first line of a log: game, players, limits and seed.

        Rule sets have the names of data: "blocked-goal" is the first version, which `rules` calls "blocked-goal-1".
        """
        return json.loads(self._native.schedule())  # type: ignore[no-any-return]

    def columns(self) -> Columns:
        """Returns the standings, a row per player, in the order of the players.

        Columns: `round`, `player`, `games`, `wins`, `draws`, `losses`, `points`; `score`, the share of the points;
        `elo` against all opponents, with the same interval, over pairs of games; `goal`, the mean goal from 0 to 100;
        `faults`; the cost of all searches: their number `searches`, `nodes`, `playouts`, `seconds`, and the number
        `memory_limited` of those that reached the memory limit.
        """
        return _columns(self._native.players())

    def pairings(self) -> Columns:
        """Returns the results of each pairing, for its first player `a` against `b`.

        Columns as those of `columns`, and normalised Elo `nelo`; `pairs_0` to `pairs_4`, the numbers of pairs of games
        in which `a` has 0, ½, 1, 1½ and 2 points; `first_score`, the score of the player that moves first; `plies`, the
        mean length. With a sequential test also its log-likelihood ratio `llr`, the bounds `llr_low` and `llr_high`,
        and `accepted`: "H0", "H1", or "" without a decision.
        """
        return _columns(self._native.pairings())

    def games(self) -> Columns:
        """Returns all games, in the order in which they start, also those that do not count.

        Columns: `number` from 1; `round`; `pairing`, the row of `pairings` within the round; `game` within the
        pairing, from 0; `player_1` and further roles; `result` such as "1-0"; `goal_1` and further roles, 0 to 100;
        `plies`; `end`: "rules", "ply-limit", "repetition", "adjudicated" or "fault"; `fault`; `opening`; `moves`, a
        list of texts per game; and the cost of the searches of each role: `searches_1`, `nodes_1`, `playouts_1`,
        `seconds_1`, `memory_limited_1`, and so on.
        """
        return _columns(self._native.games())


def _results(kind: type[Results], schedule: str, records: str) -> Results:
    """Returns pickled results."""
    return kind(_native.restore_results(schedule, records))


def tournament(
    players: Sequence[str | Player | Program] | Mapping[str, str | Player | Program],
    *,
    board: Board = DEFAULT_BOARD,
    table: Table | Literal["estimate"] | None = None,
    rules: str | os.PathLike[str] = "blocked-goal",
    games: int | None = None,
    nodes: int | None = None,
    playouts: int | None = None,
    depth: int | None = None,
    seconds: float | None = None,
    clock: str | None = None,
    format: str = "round-robin",
    opening_plies: int = 2,
    openings: Iterable[str] = (),
    ply_limit: int = 1000,
    adjudicate: bool = False,
    sprt: tuple[float, float] | None = None,
    alpha: float = 0.05,
    beta: float = 0.05,
    seed: int = 1,
    engine: str = "auto",
    lock_step: int | None = None,
    lenient: bool = False,
    patience: float = 60.0,
    memory: int | str | None = None,
    log: str | os.PathLike[str] | None = None,
    threads: int = 0,
    progress: Any = None,
) -> Results:
    """Plays a tournament, as the command `tournament` does, and returns its results.

    A player is a text such as "heur0,c=0.3", a program as "ugi:COMMAND", or an object. A mapping gives the players
    other names. Players of a `board` that need distances look them up in `table`: by default the best complete table of
    the board in the tables directory, and estimates if it is "estimate". `Player` objects keep their tables, and their
    seeds and rule sets are not used. The tournament starts processes of its own for a
    `Program`.

    `rules` is a rule set of Chinese Checkers, as in `Position`. It may also be the name of a built-in rulesheet or the
    path of one. The players are then policies such as "uct".

    Each pairing plays `games` games, 20 by default, in pairs from the same opening with sides exchanged. `format` is
    "round-robin" or "gauntlet": the first player against all others. Openings have `opening_plies` random plies,
    unless `openings` lists them. `adjudicate` ends games when the armies have separated, by `table`.

    The limits per move are `nodes` (100,000 if there is no limit), `playouts`, `depth` and `seconds`, and `clock` is
    the time per game in seconds, such as "60+0.5". Without limits of time, the same `seed` gives the same games at any
    number of `threads`; 0 is one per core. `memory` limits the memory of all searches; the default is a quarter of the
    machine's. Principal-variation search plays other moves if its share is less than its transposition table.

    `sprt` = (low, high) ends a pairing when a sequential test decides between these strengths in normalised Elo, with
    the error probabilities `alpha` and `beta`. The maximum is then 100,000 games.

    `log` is a file to which each game is added when it ends. The same call resumes it, and more games or players extend
    it. Ctrl-C raises `KeyboardInterrupt`; finished games stay in the log. `progress` is called with "games", the number
    of played games, and that of all games; it may be a progress bar of tqdm.

    `engine` plays a rulesheet: "auto", "network" or "prover". `lock_step` plays a number of games in lock step, 0 for
    the default, which is faster. `lenient` plays rulesheets with errors. `patience` is the time in seconds before a
    program is declared hung.

    Raises `NotationError` for an unknown player, `TableNotFound` if a player needs a table and there is none,
    `TournamentError` for other wrong arguments, `ProgramError` if a
    program does not start, and `LogError` if the log cannot be used. A fault of a player loses the game.
    """
    check(tournament, locals(), **_RANGES)
    rulesheet = None if isinstance(rules, str) and _native.is_rule_set(rules) else os.fspath(rules)
    if rulesheet is None and (engine != "auto" or lock_step is not None or lenient):
        raise TournamentError("engine, lock_step and lenient apply to rulesheets; specify `rules`")
    if rulesheet is not None and (table is not None or adjudicate):
        raise TournamentError("table and adjudicate apply to Chinese Checkers, and `rules` is a rulesheet")
    openings = list(openings)
    for number, opening in enumerate(openings, 1):
        if not isinstance(opening, str):
            raise ArgumentTypeError(f"openings: expected texts, got {shown(opening)} as opening {number}")
    names: list[str | None]
    if isinstance(players, Mapping):
        names, contenders = list(players), list(players.values())
    else:
        names, contenders = [None] * len(players), list(players)
    for contender in contenders:
        if isinstance(contender, str):
            warn_of_removed(contender)
    natives = [player._native if isinstance(player, Player | Program) else player for player in contenders]
    arguments = {
        "players": natives,
        "names": names,
        "board": board,
        "table": table._native if isinstance(table, Table) else table,
        "adjudicate": adjudicate,
        "rules": rules if rulesheet is None else "",
        "rulesheet": rulesheet,
        "engine": engine,
        "lock_step": lock_step,
        "lenient": lenient,
        "format": format,
        "games": games,
        "nodes": nodes,
        "playouts": playouts,
        "depth": depth,
        "milliseconds": None if seconds is None else round(1000 * seconds),
        "clock": clock,
        "opening_plies": opening_plies,
        "openings": openings,
        "ply_limit": ply_limit,
        "seed": seed,
        "sprt": sprt,
        "alpha": alpha,
        "beta": beta,
        "patience": patience,
        "memory": search_memory_of(memory),
    }
    path = None if log is None else os.fspath(log)
    return Results(_native.tournament(arguments, log=path, threads=threads_of(threads), progress=callback_of(progress)))


def read_log(path: str | os.PathLike[str]) -> Results:
    """Returns the results in a log, which may be packed (`.zst`) or still be written.

    Logs are those of `tournament` and of the command line, of Chinese Checkers and of rulesheets.

    Raises `LogNotFound` if there is no such file, and `LogError` with the line and the problem if it is not a log.
    """
    check(read_log, locals())
    return Results(_native.read_log(os.fspath(path)))


def read_logs(*directories: str | os.PathLike[str]) -> dict[str, Results]:
    """Returns the results in the logs of directories, by game, such as those of a series.

    The game of a log is its file name up to the first dot. Logs of parts of one tournament are merged.

    Raises `LogError` if there are no logs, one cannot be read, or logs contradict each other.
    """
    for directory in directories:
        if not isinstance(directory, str | os.PathLike):
            raise ArgumentTypeError(f"directories: expected paths, got {shown(directory)}")
    return {name: Results(found) for name, found in _native.read_logs([os.fspath(path) for path in directories])}
