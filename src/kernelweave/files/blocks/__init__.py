"""Views of new samples from files, some samples at a time."""

from .reading import ViewBlocks, read_views_in_blocks

__all__ = ["ViewBlocks", "read_views_in_blocks"]
