"""Reports: what a model or a comparison found, as one self-contained page."""

from .building import report

__all__ = ["report"]
