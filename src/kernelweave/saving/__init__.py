"""Save fitted models to a file and load them again: a zip of plain arrays and one JSON document, and no code.

`registry` is the closed table of the classes that a file may hold, `codecs` turns a model into rows of plain data and
back, `archive` reads and writes the file and `atomic` puts it in its place, `models` has the two public functions.
What is saved of a class, and what a valid file may hold of it, stands in the class (`_saved`), in the words of
`validation.schemas`. `operations` and `documents` take the place of scikit-learn's transformers, by `transformers`.
`predictions` writes what a model predicts for an open table, block by block.
"""

from .models import load, save
from .predictions import predict_views

__all__ = ["load", "predict_views", "save"]
