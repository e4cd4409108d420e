"""Reports: what a model or a comparison found, as one self-contained page."""

from .building import report
from .page import Report

__all__ = ["Report", "report"]
