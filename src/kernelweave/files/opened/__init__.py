"""Tables that stay in their files: NPY, Parquet and memory maps, read block by block."""

from .opening import open_views
from .table import OpenViews

__all__ = ["OpenViews", "open_views"]
