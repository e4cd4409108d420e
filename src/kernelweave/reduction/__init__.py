"""Transformers: graph embedding with learned kernel weights (MKL-DR), feature extraction with one kernel, and
projections that a machine has learned.

The thesis is M. Gönen's PhD thesis (Boğaziçi University, 2010).
"""

from .discriminants import AKDAQR, KernelFisher, KernelOrthogonalCentroid, KernelPLS
from .graphs import Graph, LDAGraph, LDEGraph, LFDAGraph, LPPGraph, MFAGraph, PCAGraph, SemiSupervisedGraph, UserGraph
from .local_fisher import LocalFisher
from .mkldr import MKLDR
from .pipelines import FromEstimator, LeadingComponents, reduced_svm
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
