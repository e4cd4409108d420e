"""Combiners: how the kernels of a model become one kernel.

`Combiner.fit` returns a `CombinedKernel`, with which an estimator predicts. The folders hold the families of methods;
numbers are sections of the thesis (M. Gönen, Localized multiple kernel algorithms for machine learning, 2010):

==============  ====================================================================================
`weighted`      the weighted sum, fixed weights, the best single kernel, weights by performance (2.1, 2.2.1)
`similarity`    weights from similarity to the targets (2.3)
`mkl`           multiple kernel learning with one weight for each kernel (2.2, 2.7, 2.8)
`nonlinear`     products, polynomials and differences of kernels (2.2.2)
`gates`         gating models, and what they read of a sample (3.1)
`localized`     weights that a gating model gives to each sample (chapter 3)
`projected`     kernels of learned projections (chapter 4)
`descent`       the descent that finds the parameters of nonlinear, localized and projected kernels
==============  ====================================================================================
"""

from .base import Combiner, FitControl
from .combined import CombinedKernel, PointwiseKernel
from .descent.combiner import DescentCombiner
from .descent.family import KernelFamily
from .gates.base import Gate, Sigmoid, Softmax
from .gates.gaussian import GaussianGate
from .gates.kernel_map import KernelMap
from .gates.regions import ClusterGate, InstanceGate
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
from .nonlinear.product import Product
from .per_output import PerOutput
from .projected.projected import Projected
from .similarity.alignment import AlignmentWeights
from .similarity.divergence import KLDivergence
from .similarity.feature_space import FeatureSpaceMeasure
from .similarity.ideal_kernel import IdealKernelDistance
from .weighted.best_single import BestSingle
from .weighted.fixed import FixedWeights, Mean
from .weighted.performance import AccuracyWeights, CorrelationWeights, ErrorWeights
from .weighted.sums import ChosenWeights, WeightedSum

__all__ = [
    "AccuracyWeights",
    "AlignmentWeights",
    "BestSingle",
    "BinaryMKL",
    "ChosenWeights",
    "ClusterGate",
    "CombinedKernel",
    "Combiner",
    "ConvexMKL",
    "CorrelationWeights",
    "DescentCombiner",
    "EasyMKL",
    "EigenvalueCosts",
    "ElasticMKL",
    "ErrorWeights",
    "FeatureSpaceMeasure",
    "FitControl",
    "FixedWeights",
    "Gate",
    "GaussianGate",
    "GeneralizedMKL",
    "GroupMKL",
    "IdealKernelDistance",
    "InstanceGate",
    "KLDivergence",
    "KernelDifference",
    "KernelFamily",
    "KernelMap",
    "LinearMKL",
    "Localized",
    "LpMKL",
    "Mean",
    "PerOutput",
    "PointwiseKernel",
    "PolynomialMKL",
    "Product",
    "Projected",
    "Sigmoid",
    "Softmax",
    "SparseMKL",
    "WeightedSum",
]
