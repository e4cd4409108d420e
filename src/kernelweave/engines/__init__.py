"""Sums over blocks of samples, wherever the blocks are: in memory, in files, on a device or on a cluster."""

from .base import Engine
from .memory import InMemory

__all__ = ["Engine", "InMemory"]
