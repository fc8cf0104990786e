"""Vectorised environments for reinforcement learning."""

from ._vector import Autoreset, VectorEnvironment, VectorState

__all__ = ["Autoreset", "VectorEnvironment", "VectorState"]
