"""The command line: ``kernelweave demo`` and ``kernelweave reproduce``."""

from .main import main

__all__ = ["main"]
