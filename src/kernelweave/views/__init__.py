"""Views: the named column groups of one two-dimensional X.

A *view* is one description of the samples: some columns of X. X stays one array, data frame or sparse
matrix, so that splitting, pipelines and searches work unchanged; `stack_views` builds such a frame and
`Views` reads views out of it, checks each of them separately and reports which samples have it.
"""

from .frames import stack_views
from .table import FetchedViews, TableInBlocks, Views, as_views

__all__ = ["FetchedViews", "TableInBlocks", "Views", "as_views", "stack_views"]
