"""Games that rulesheets define."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _native
from .._arguments import check as check_arguments
from .._arrays import role_of, shown, truth_values_of
from .._copies import Immutable
from .._errors import ArgumentError, RulesheetError
from .._findings import Finding
from .._resources import memory_of, search_memory_of, threads_of, warn_of_removed

DEFAULT_MEMORY = "1GiB"
"""The memory limit of a search."""


class MoveValue(NamedTuple):
    """A legal move with the simulations that played it, and the mean of their rewards, 0 to 1."""

    move: str
    visits: int
    mean: float


class MoveSearch(NamedTuple):
    """A move with the search that chose it. `moves` has no rows if the policy does not search."""

    move: str
    moves: list[MoveValue]
    playouts: int
    seconds: float


def check(text: str, *, lenient: bool = False) -> list[Finding]:
    """Returns the errors and warnings about the text of a rulesheet, as `sternhalma gdl check` does.

    If there is no error in the text, 10 random matches are played. With `lenient`, errors are warnings if the rulesheet
    can be played.
    """
    check_arguments(check, locals())
    return [Finding(*row) for row in _native.check(text, lenient=lenient)]


def games() -> dict[str, str]:
    """Returns the texts of the rulesheets that come with the package, by name.

    >>> sorted(games())[:3]
    ['breakthrough', 'chinese-checkers-2p', 'chinese-checkers-3p']
    """
    return _native.games()


class Game(Immutable):
    """A game that the text of a rulesheet defines.

    Names are KIF with one space between words, such as "(mark 1 2)". Roles, fluents and moves keep their order, so that
    their indices mean the same in all calls and programs.

    `roles` and `fluents` are tuples of names, and `moves` is a dictionary of the moves of each role that may be legal,
    in the order of actions. `findings` has the warnings about the rulesheet, and `text` its text.

    Raises `RulesheetError` if the rulesheet has errors or is too large. With `lenient`, errors that do not prevent
    matches are warnings.

    >>> game = Game(games()["tic-tac-toe"])
    >>> game.roles, len(game.fluents), game.moves["x"][:2]
    (('x', 'o'), 29, ('(mark 1 1)', '(mark 1 2)'))
    >>> game.initial().play("mark 2 2").legal["x"]
    ['wait']
    """

    __slots__ = ("_lenient", "_native", "findings", "fluents", "moves", "roles", "text")

    findings: list[Finding]
    roles: tuple[str, ...]
    fluents: tuple[str, ...]
    moves: dict[str, tuple[str, ...]]
    text: str

    def __init__(self, text: str, *, lenient: bool = False) -> None:
        check_arguments(Game.__init__, locals())
        self.text = text
        self._lenient = lenient
        findings, native = _native.Game.checked(text, lenient=lenient)
        self.findings = [Finding(*row) for row in findings]
        if native is None:
            errors = [finding for finding in self.findings if finding.severity == "error"]
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            remedy = "" if "(" in text else _remedy(text)
            raise RulesheetError(f"{errors[0]}{more}{remedy}", self.findings)
        self._native = native
        self.roles = tuple(self._native.roles)
        self.fluents = tuple(self._native.fluents)
        moves = self._native.moves
        self.moves = {role: tuple(moves[number]) for number, role in enumerate(self.roles)}

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, lenient: bool = False) -> Self:
        """Reads a rulesheet from a file. The name of a built-in rulesheet, such as "tic-tac-toe", is a path too.

        Raises `RulesheetNotFound` if there is no such file, `RulesheetFileError` if it cannot be read, and
        `RulesheetError` as the constructor.

        >>> Game.open("tic-tac-toe").roles
        ('x', 'o')
        """
        check_arguments(Game.open, locals())
        return cls(_native.read_rulesheet(path), lenient=lenient)

    def __repr__(self) -> str:
        return f"<sternhalma.ggp.Game of {', '.join(self.roles)}: {len(self.fluents)} fluents>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _game, (type(self), self.text, self._lenient)

    @property
    def max_moves(self) -> int:
        """The maximum number of moves of a role."""
        return max(map(len, self.moves.values()))

    def initial(self) -> State:
        """Returns the initial state."""
        return State(self, self._native.initial())

    def state(self, row: ArrayLike) -> State:
        """Returns the state in which the fluents with true values hold; `row` has the shape (fluents,).

        The game may evaluate a state incorrectly that no match reaches.
        """
        return State(self, self._native.state(truth_values_of(row).reshape(-1)))

    def playouts(self, count: int, *, seed: int = 1, threads: int = 1) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        """Plays uniformly random matches from the initial state, 512 at once per thread.

        Returns the goals as uint8 (count, roles), and the lengths in steps as uint32 (count,). Results are the same for
        any number of `threads`; 0 is one per processor core. Matches are in the order in which they end within parts,
        so only all of them are an unbiased sample. Ctrl-C raises `KeyboardInterrupt`.

        Raises `RulesheetError` if a match does not end or a role has no legal move.
        """
        check_arguments(Game.playouts, locals())
        scores, lengths = self._native.playouts(count, seed=seed, threads=threads_of(threads))
        return scores.reshape(count, len(self.roles)), lengths

    def search(
        self,
        state: State | None = None,
        policy: str = "uct",
        *,
        role: int | str | None = None,
        playouts: int | None = None,
        seconds: float | None = None,
        seed: int = 1,
        memory: int | str = DEFAULT_MEMORY,
    ) -> MoveSearch:
        """Searches a state, by default the initial one, for a move of a role, by default the one to move.

        `policy` is a text such as "uct" or "mast" (docs/reference/policies.md). The search ends at the first limit:
        simulations or seconds. The same seed and `playouts` give the same move. Ctrl-C raises `KeyboardInterrupt`.

        Raises `NotationError` if there is no such policy, and `ArgumentError` if the match is over, there is no such
        role, or there is no limit.
        """
        check_arguments(Game.search, locals(), seconds=(0, 1e9))
        warn_of_removed(policy)
        # The test of the available memory takes longer than a short search, whose tree is far smaller than the default.
        limit = memory_of(memory) if memory == DEFAULT_MEMORY else search_memory_of(memory)
        return self._search(state, policy, role, playouts, seconds, seed, limit)

    def _search(
        self,
        state: State | None,
        policy: str,
        role: int | str | None,
        playouts: int | None,
        seconds: float | None,
        seed: int,
        memory: int,
    ) -> MoveSearch:
        state = self.initial() if state is None else state
        if role is None:
            role = 0 if state.player is None else state.player
        number = role_of(role, self.roles)
        found = self._native.search(
            state._native, role=number, policy=policy, playouts=playouts, seconds=seconds, seed=seed, memory=memory
        )
        move, moves, simulations, spent = found
        return MoveSearch(move, [MoveValue(*row) for row in moves], simulations, spent)


def _remedy(text: str) -> str:
    """Returns what to do about a text without rules, which may be a name or a path."""
    expected = " Rules are in parentheses; if this is a name or a path"
    return f"{expected}, sternhalma.ggp.Game.open({shown(text)}) opens the file or the built-in rulesheet"


def _game(kind: type[Game], text: str, lenient: bool) -> Game:
    """Returns a pickled game."""
    return kind(text, lenient=lenient)


class State(Immutable):
    """An immutable state of a match of `game`.

    Pickling a state includes its game. States that are pickled separately belong to different games and are not equal.
    A copy of a state or a game is the same object.
    """

    __slots__ = ("_native", "game")

    game: Game

    def __init__(self, game: Game, native: _native.GameState) -> None:
        self.game = game
        self._native = native

    def __reduce__(self) -> tuple[Any, ...]:
        return self.game.state, (self.row,)

    def __repr__(self) -> str:
        return f"<sternhalma.ggp.State {' '.join(self.facts)}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self._native == other._native

    def __hash__(self) -> int:
        return hash(self._native)

    @property
    def facts(self) -> list[str]:
        """The names of the fluents that hold, in alphabetical order."""
        return self._native.facts

    @property
    def row(self) -> NDArray[np.uint8]:
        """The values of all fluents, uint8 (fluents,)."""
        return self._native.row()

    @property
    def terminal(self) -> bool:
        """Whether the match is over."""
        return self._native.terminal

    @property
    def goals(self) -> tuple[int | None, ...]:
        """The goal of each role, 0 to 100, or `None` if there is not exactly one."""
        return tuple(self._native.goals)

    @property
    def player(self) -> int | None:
        """The index of the role that has a choice; the first role if none has.

        `None` if several have, or at the end.
        """
        return self._native.player

    @property
    def legal(self) -> dict[str, list[str]]:
        """The names of the legal moves of each role, in the order of actions."""
        return dict(zip(self.game.roles, self._native.legal, strict=True))

    def play(self, joint: str | Sequence[str] | Mapping[str, str]) -> State:
        """Returns the state after one legal move of each role.

        `joint` has one move per role, in order or by the names of roles. Roles with a single legal move may be left out
        of a mapping. A text is the move of the only role that has a choice. Case, spaces and outer parentheses are
        free.

        Raises `NotationError` if a move is not legal or the match is over.
        """
        check_arguments(State.play, locals())
        if isinstance(joint, str):
            joint = {self.game.roles[self.player or 0]: joint}
        if isinstance(joint, Mapping):
            unknown = set(joint) - set(self.game.roles)
            if unknown:
                raise ArgumentError(f"there is no role {shown(min(unknown))}")
            legal = self.legal
            only = {role: moves[0] for role, moves in legal.items() if len(moves) == 1}
            missing = [role for role in self.game.roles if role not in joint and role not in only]
            if missing and not self.terminal:
                raise ArgumentError(f"expected a move of {missing[0]}, which has a choice")
            joint = [joint.get(role, only.get(role, "")) for role in self.game.roles]
        return State(self.game, self._native.play(list(joint)))
