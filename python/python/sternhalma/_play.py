"""Positions of games, and players."""

from __future__ import annotations

from typing import Literal, NamedTuple

from . import _native
from ._arguments import COUNT, COUNT32, UINT32, Range, check
from ._board import DEFAULT_BOARD
from ._copies import Unpicklable
from ._native import Board, Position
from ._resources import search_memory_of, warn_of_removed
from ._table import Table

#: The ranges of the limits of a search.
LIMITS: dict[str, Range] = {"depth": UINT32, "seconds": (0, 1e9)}


class Search(NamedTuple):
    """A move with the search that chose it.

    `value` is for the player to move: ("lead", moves), ("reward", -1 to 1), ("won", plies), ("lost", plies), or `None`
    if it is not known. `line` begins with the move.
    """

    move: str
    value: tuple[str, float] | None
    depth: int
    nodes: int
    playouts: int
    seconds: float
    line: list[str]


def players() -> dict[str, str]:
    """Returns the names of the built-in players with their descriptions.

    Parameters follow a name, as in "base0,c=0.3"; docs/reference/players.md and docs/reference/policies.md list them.
    """
    return _native.players()


class Player(Unpicklable):
    """A player of a board, such as "sternhalma" or "base0,c=0.3".

    A player that needs distances looks them up in `table`: by default the best complete table of the board in the
    tables directory. With `table="estimate"` it estimates them, which makes it weaker. Searches are independent: the
    same `seed` and limits give the same move, whatever was searched before. The player knows the positions from which
    the position was made by `play`, and avoids repeating them. It plays under the rule set `rules`, as in
    `Position`. `memory` limits the search tree, as bytes or a text such as "1GiB". Threads may share a player, which
    does one search at a time. A player cannot be copied or pickled; other processes create their own.

    Raises `NotationError` if there is no such player, parameter or rule set, `TableNotFound` if it needs a table and
    there is none, and `ArgumentError` if it cannot use the table.
    """

    __slots__ = ("_native", "text")

    _refusal = "a Player cannot be copied or pickled; create another one with the same arguments"

    def __init__(
        self,
        text: str = "sternhalma",
        *,
        board: Board = DEFAULT_BOARD,
        table: Table | Literal["estimate"] | None = None,
        ply_limit: int = 1000,
        rules: str = "blocked-goal",
        seed: int = 1,
        memory: int | str = "1GiB",
    ) -> None:
        check(Player.__init__, locals(), ply_limit=COUNT32)
        warn_of_removed(text)
        self._native = _native.Player(
            text,
            board=board,
            table=table._native if isinstance(table, Table) else table,
            ply_limit=ply_limit,
            rules=rules,
            seed=seed,
            memory=search_memory_of(memory),
        )
        self.text = text

    def __repr__(self) -> str:
        return f"<sternhalma.Player {self.text!r}>"

    def think(
        self,
        position: Position,
        *,
        playouts: int | None = None,
        nodes: int | None = None,
        depth: int | None = None,
        seconds: float | None = None,
    ) -> Search:
        """Searches a position and returns the best move.

        The search ends at the first limit: simulations, expanded nodes, depth in plies, or seconds. Ctrl-C raises
        `KeyboardInterrupt`.

        Raises `ArgumentError` if the game is over, the position has another board, ply limit or rule set, or the
        search would not end.
        """
        check(Player.think, locals(), **LIMITS)
        return self.analyse(position, 1, playouts=playouts, nodes=nodes, depth=depth, seconds=seconds)[0]

    def analyse(
        self,
        position: Position,
        lines: int = 1,
        *,
        playouts: int | None = None,
        nodes: int | None = None,
        depth: int | None = None,
        seconds: float | None = None,
    ) -> list[Search]:
        """Returns up to `lines` moves of a position, best first. Each has a search of its own, with these limits.

        Raises `ArgumentError` as `think` does.
        """
        check(Player.analyse, locals(), lines=COUNT, **LIMITS)
        found = self._native.analyse(
            position, playouts=playouts, nodes=nodes, depth=depth, seconds=seconds, lines=lines
        )
        return [Search(*row) for row in found]
