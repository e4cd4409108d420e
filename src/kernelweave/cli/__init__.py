"""The command line: ``kernelweave compare``, ``fit``, ``predict``, ``explain`` and ``report`` for people's own files.

``kernelweave demo``, ``kernelweave reproduce`` and ``kernelweave defaults`` run comparisons on data sets of the papers.
"""

from .main import main

__all__ = ["main"]
