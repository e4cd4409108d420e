"""The command line: ``kernelweave demo``."""

from .main import main

__all__ = ["main"]
