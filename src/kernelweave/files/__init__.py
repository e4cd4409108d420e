"""Views from people's files: tables of the same samples, matched by sample id.

`read_views` reads a file for each view (CSV, TSV, Parquet, NPY, NPZ, MuData), matches their rows, and returns the
`ViewTables` that estimators take: X, y and a table of the overlap. `read_views_in_blocks` does the same for new samples
in files that are larger than memory, some samples at a time. `open_views` leaves the rows of NPY and Parquet files
where they are: estimators read its table block by block.

A file becomes tables (`base.Table`), by one reader for each format (`sources.READERS`); of a text file in blocks the
rows stay where they are (`text.TextTable`). `matching` finds the ids and makes views of the tables, of which
`read_views` takes all rows at once and `read_views_in_blocks` some at a time. `rows.StoredRows` are read by position,
for `open_views`.
"""

from .base import ViewTables
from .open import OpenViews, open_views
from .read import ViewBlocks, read_views, read_views_in_blocks

__all__ = ["OpenViews", "ViewBlocks", "ViewTables", "open_views", "read_views", "read_views_in_blocks"]
