"""Rulesheets in the Game Description Language, of any game."""

from .._findings import Finding
from ._game import Game, MoveSearch, MoveValue, State, check, games

__all__ = ["Finding", "Game", "MoveSearch", "MoveValue", "State", "check", "games"]
