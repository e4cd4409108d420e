"""Combiners: how the kernels of a model become one kernel.

`Combiner.fit` returns a `CombinedKernel`, with which an estimator predicts. The modules hold the families of methods;
numbers are sections of the thesis (M. Gönen, Localized multiple kernel algorithms for machine learning, 2010):

================  ==================================================================================================
`base`            the protocol of a combiner, and parameters with one number for each kernel
`combined`        the protocol of a combined kernel
`weighted`        the weighted sum, fixed weights, the best single kernel, weights by performance (2.1, 2.2.1)
`similarity`      weights from similarity to the targets (2.3)
`mkl`             multiple kernel learning with one weight for each kernel (2.2, 2.7, 2.8)
`widths`          the same with the widths of Gaussians, infinitely many kernels
`programs`        weights from a quadratic, relaxed or semidefinite program of their own (2.2.1)
`nonlinear`       products, polynomials and differences of kernels (2.2.2); their kernels are in `forms`
`gates`           gating models; what they read of a sample is in `inputs` (3.1)
`localized`       weights that a gating model gives to each sample (chapter 3)
`regional`        weights of their own for each of a few given regions: convex
`projected`       kernels of learned projections (chapter 4); what is projected is in `feature_maps`
`descent`         the descent that finds the parameters of nonlinear, localized and projected kernels
`per_output`      a combiner of its own for each class, pair of classes or target
`named`           combiners by name, as the command line knows them
================  ==================================================================================================
"""

from .base import Combiner, FitControl
from .combined import CombinedKernel, PointwiseKernel
from .descent import DescentCombiner, KernelFamily
from .gates import ClusterGate, Gate, GaussianGate, InstanceGate, Sigmoid, Softmax
from .inputs import KernelMap
from .localized import Localized
from .mkl import ConvexMKL, EigenvalueCosts, ElasticMKL, GroupMKL, LpMKL, SparseMKL
from .nonlinear import GeneralizedMKL, KernelDifference, PolynomialMKL, Product
from .per_output import PerOutput
from .programs import BinaryMKL, EasyMKL, LinearMKL
from .projected import Projected
from .regional import ConvexLocalized
from .similarity import AlignmentWeights, FeatureSpaceMeasure, IdealKernelDistance, KLDivergence
from .weighted import (
    AccuracyWeights,
    BestSingle,
    ChosenWeights,
    CorrelationWeights,
    ErrorWeights,
    FixedWeights,
    Mean,
    WeightedSum,
)
from .widths import WidthMKL

__all__ = [
    "AccuracyWeights",
    "AlignmentWeights",
    "BestSingle",
    "BinaryMKL",
    "ChosenWeights",
    "ClusterGate",
    "CombinedKernel",
    "Combiner",
    "ConvexLocalized",
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
    "WidthMKL",
]
