"""Combiners: how the kernels of a model become one kernel.

A combiner learns (or is given) parameters theta, forms the combined kernel K_theta of the training samples, and
compares new samples with them by the same theta. Here are the fixed rules of thesis section 2.1, the choice of
the best single kernel, weights from similarity measures (2.3), multiple kernel learning with one weight per kernel
(2.2, 2.7, 2.8), nonlinear combinations whose weights are learned by gradients (2.2.2), localized multiple kernel
learning, where a gating model gives each sample weights of its own (chapter 3), and kernels of learned projections
(chapter 4).
"""

from .base import ChosenWeights, Combination, Combiner, WeightedSum
from .descent.learning import AugmentedStack, LearnedCombiner
from .gates.base import Gate, Sigmoid, Softmax
from .gates.gaussian import GaussianGate
from .gates.kernel_map import KernelMap
from .gates.regions import ClusterGate, InstanceGate
from .localized.gated_stack import GatedStack
from .localized.localized import Localized
from .mkl.convex import ConvexMKL
from .mkl.easy import EasyMKL
from .mkl.eigenvalue_costs import EigenvalueCosts
from .mkl.elastic import ElasticMKL
from .mkl.group import GroupMKL
from .mkl.lp import LpMKL
from .mkl.selection import BinaryMKL
from .mkl.signed import LinearMKL
from .mkl.sparse import SparseMKL
from .nonlinear.difference import KernelDifference
from .nonlinear.generalized import GeneralizedMKL
from .nonlinear.polynomial import PolynomialMKL
from .per_output import PerOutput
from .projected.projected import Projected
from .projected.projected_stack import ProjectedStack
from .similarity.alignment import AlignmentWeights
from .similarity.divergence import KLDivergence
from .similarity.feature_space import FeatureSpaceMeasure
from .similarity.ideal_kernel import IdealKernelDistance
from .weighted.best_single import BestSingle
from .weighted.fixed import FixedWeights, Mean, Product
from .weighted.performance import AccuracyWeights, CorrelationWeights, ErrorWeights

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
