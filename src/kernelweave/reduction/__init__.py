"""Transformers: graph embedding with learned kernel weights (MKL-DR), and feature extraction with one kernel."""

from .akda import AKDAQR
from .centroid import KernelOrthogonalCentroid
from .fisher import KernelFisher
from .graphs import Graph, LDAGraph, PCAGraph, UserGraph
from .mkldr import MKLDR
from .neighbor_graphs import LDEGraph, LFDAGraph, LPPGraph, MFAGraph, SemiSupervisedGraph
from .pls import KernelPLS
from .subspace import SubspaceKernel

__all__ = [
    "AKDAQR",
    "MKLDR",
    "Graph",
    "KernelFisher",
    "KernelOrthogonalCentroid",
    "KernelPLS",
    "LDAGraph",
    "LDEGraph",
    "LFDAGraph",
    "LPPGraph",
    "MFAGraph",
    "PCAGraph",
    "SemiSupervisedGraph",
    "SubspaceKernel",
    "UserGraph",
]
