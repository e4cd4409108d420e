"""Save fitted models to a file and load them again: a zip of plain arrays and one JSON document, and no code.

`registry` names the classes that a file may hold, `extensions` deals with those of users, `records` defines what a file
holds of a combined kernel, `codecs` encodes all other values, `graph` turns a model into rows of plain data and back,
`archive` reads and writes the file, `replacing` puts it in its place, `schemas` declares what each class consists of,
`bounds` checks indices, and `files` holds the two public functions. `preparation` has the operations that take the
place of scikit-learn's transformers. `predictions` writes what a model predicts for an open table, block by block.
"""

from .files import load, save
from .predictions import predict_views

__all__ = ["load", "predict_views", "save"]
