"""Vectorised environments for reinforcement learning.

The wrappers need the extras `sternhalma[gymnasium]` and `sternhalma[pettingzoo]`.
"""

from ._chinese_checkers import VectorChineseCheckers
from ._vector import Autoreset, VectorEnvironment, VectorState
from ._vector_game import VectorGame
from ._wrapper_base import Opponent
from ._wrappers import PolicyOpponent, gymnasium, gymnasium_single, pettingzoo

__all__ = [
    "Autoreset",
    "Opponent",
    "PolicyOpponent",
    "VectorChineseCheckers",
    "VectorEnvironment",
    "VectorGame",
    "VectorState",
    "gymnasium",
    "gymnasium_single",
    "pettingzoo",
]
