"""Views from people's files: tables of the same samples, matched by sample id.

`read_views` reads a file for each view (CSV, TSV, Parquet, NPY, NPZ, MuData), matches their rows, and returns the
`ViewTables` that estimators take: X, y and a table of the overlap.
"""

from .reading import read_views
from .result import ViewTables

__all__ = ["ViewTables", "read_views"]
