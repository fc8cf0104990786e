"""Rulesheets in the Game Description Language, of any game."""

from ._game import Finding, Game, MoveSearch, MoveValue, State, check, games

__all__ = ["Finding", "Game", "MoveSearch", "MoveValue", "State", "check", "games"]
