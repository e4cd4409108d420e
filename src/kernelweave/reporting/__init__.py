"""Reports: what a model or a comparison found, as one self-contained page."""

from .model_report import report
from .page import Report

__all__ = ["Report", "report"]
