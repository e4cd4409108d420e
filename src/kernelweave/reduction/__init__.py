"""Transformers: graph embedding with learned kernel weights (MKL-DR), feature extraction with one kernel, and
projections that a machine has learned.
"""

from .akda import AKDAQR
from .centroid import KernelOrthogonalCentroid
from .fisher import KernelFisher
from .from_estimator import FromEstimator
from .graphs import Graph, LDAGraph, PCAGraph, UserGraph
from .leading import LeadingComponents
from .local_fisher import LocalFisher
from .mkldr import MKLDR
from .neighbor_graphs import LDEGraph, LFDAGraph, LPPGraph, MFAGraph, SemiSupervisedGraph
from .pipelines import reduced_svm
from .pls import KernelPLS
from .subspace import SubspaceKernel

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
