"""Plots in scikit-learn's Display style, from fitted attributes only.

matplotlib is imported when one is drawn; it comes with the extra: ``pip install "kernelweave[plot]"``.
The thesis is M. Gönen's PhD thesis (Boğaziçi University, 2010).
"""

from .embedding import EmbeddingDisplay
from .fits import ConvergenceDisplay, RegressionFitDisplay, ResponseSurfaceDisplay
from .projections import ProjectionDisplay, ProjectionImagesDisplay
from .weights import GatingDisplay, KernelWeightsDisplay

__all__ = [
    "ConvergenceDisplay",
    "EmbeddingDisplay",
    "GatingDisplay",
    "KernelWeightsDisplay",
    "ProjectionDisplay",
    "ProjectionImagesDisplay",
    "RegressionFitDisplay",
    "ResponseSurfaceDisplay",
]
