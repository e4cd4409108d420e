"""Plots in scikit-learn's Display style, from fitted attributes only.

matplotlib is imported when one is drawn; it comes with the extra: ``pip install "kernelweave[plot]"``.
The thesis is M. Gönen's PhD thesis (Boğaziçi University, 2010).
"""

from .convergence import ConvergenceDisplay
from .embedding import EmbeddingDisplay
from .gating import GatingDisplay
from .kernel_weights import KernelWeightsDisplay
from .projection import ProjectionDisplay
from .projection_images import ProjectionImagesDisplay
from .regression_fit import RegressionFitDisplay
from .response_surface import ResponseSurfaceDisplay

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
