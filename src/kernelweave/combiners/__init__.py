"""Combiners: how the kernels of a model become one kernel.

A combiner learns (or is given) parameters theta, forms the combined kernel K_theta of the training samples, and
compares new samples with them by the same theta. Here are the fixed rules of thesis section 2.1, the choice of
the best single kernel, weights from similarity measures (2.3), multiple kernel learning with one weight per kernel
(2.2, 2.7, 2.8), nonlinear combinations whose weights are learned by gradients (2.2.2), localized multiple kernel
learning, where a gating model gives each sample weights of its own (chapter 3), and kernels of learned projections
(chapter 4).
"""

from .alignment import AlignmentWeights
from .base import ChosenWeights, Combination, Combiner, WeightedSum
from .best_single import BestSingle
from .binary import BinaryMKL
from .convex import ConvexMKL
from .difference import KernelDifference
from .divergence import KLDivergence
from .easy import EasyMKL
from .eigenvalue_costs import EigenvalueCosts
from .elastic import ElasticMKL
from .feature_space import FeatureSpaceMeasure
from .fixed import FixedWeights, Mean, Product
from .gated_stack import GatedStack
from .gating import Gate, Sigmoid, Softmax
from .gaussian_gate import GaussianGate
from .generalized import GeneralizedMKL
from .group import GroupMKL
from .ideal_kernel import IdealKernelDistance
from .kernel_map import KernelMap
from .learning import AugmentedStack, LearnedCombiner
from .linear import LinearMKL
from .localized import Localized
from .lp import LpMKL
from .per_output import PerOutput
from .performance import AccuracyWeights, CorrelationWeights, ErrorWeights
from .polynomial import PolynomialMKL
from .projected import Projected
from .projected_stack import ProjectedStack
from .region_gates import ClusterGate, InstanceGate
from .sparse import SparseMKL

__all__ = [
    "AccuracyWeights",
    "AlignmentWeights",
    "AugmentedStack",
    "BestSingle",
    "BinaryMKL",
    "ChosenWeights",
    "ClusterGate",
    "Combination",
    "Combiner",
    "ConvexMKL",
    "CorrelationWeights",
    "EasyMKL",
    "EigenvalueCosts",
    "ElasticMKL",
    "ErrorWeights",
    "FeatureSpaceMeasure",
    "FixedWeights",
    "Gate",
    "GatedStack",
    "GaussianGate",
    "GeneralizedMKL",
    "GroupMKL",
    "IdealKernelDistance",
    "InstanceGate",
    "KLDivergence",
    "KernelDifference",
    "KernelMap",
    "LearnedCombiner",
    "LinearMKL",
    "Localized",
    "LpMKL",
    "Mean",
    "PerOutput",
    "PolynomialMKL",
    "Product",
    "Projected",
    "ProjectedStack",
    "Sigmoid",
    "Softmax",
    "SparseMKL",
    "WeightedSum",
]
