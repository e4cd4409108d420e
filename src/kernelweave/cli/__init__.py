"""The command line: ``kernelweave demo``, ``kernelweave reproduce`` and ``kernelweave defaults``."""

from .main import main

__all__ = ["main"]
