"""Transformers: graph embedding with learned kernel weights (MKL-DR), feature extraction with one kernel, and
projections that a machine has learned.

The thesis is M. Gönen's PhD thesis (Boğaziçi University, 2010).
"""

from .extraction.akda import AKDAQR
from .extraction.centroid import KernelOrthogonalCentroid
from .extraction.fisher import KernelFisher
from .extraction.local_fisher import LocalFisher
from .extraction.pls import KernelPLS
from .extraction.subspace import SubspaceKernel
from .from_estimator import FromEstimator
from .graphs.base import Graph, LDAGraph, PCAGraph, UserGraph
from .graphs.neighbors import LDEGraph, LFDAGraph, LPPGraph, MFAGraph, SemiSupervisedGraph
from .leading import LeadingComponents
from .mkldr.mkldr import MKLDR
from .pipelines import reduced_svm

__all__ = [
    "AKDAQR",
    "MKLDR",
    "FromEstimator",
    "Graph",
    "KernelFisher",
    "KernelOrthogonalCentroid",
    "KernelPLS",
    "LDAGraph",
    "LDEGraph",
    "LFDAGraph",
    "LPPGraph",
    "LeadingComponents",
    "LocalFisher",
    "MFAGraph",
    "PCAGraph",
    "SemiSupervisedGraph",
    "SubspaceKernel",
    "UserGraph",
    "reduced_svm",
]
