"""The classes that a saved model may hold. A file names classes; only those named here are ever made.

A new kernel, combiner, machine or estimator needs one line in `CLASSES`: its attributes are saved as they are, and come
back without a call of its constructor; a parameter that it did not have when a model was saved has its default. A
parameter that was renamed keeps its name in files, by `IN_FILES`. What a class keeps only to be fast is named in
`TRANSIENT` and starts empty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    LeavePOut,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from .. import combiners, estimators, kernels, machines, reduction
from ..combiners.gates.even import EvenGate
from ..combiners.gates.inputs import FeatureSource, GatingInputs, NoInputs, ProjectedFeatures
from ..combiners.projected.feature_maps import KernelFeatures, ViewFeatures
from ..combiners.projected.layout import Layout
from ..estimators.ensembles.discriminant import Discriminant
from ..kernels.distance import DistanceMatrix
from ..kernels.points.projected import PointKernel
from ..views import Views
from ..views.kept import KeptColumns
from .records import AugmentedStack, DifferenceState, GatedStack, OutputStates, ProjectedStack, packed

# What `save` takes.
ESTIMATORS: tuple[type, ...] = (
    estimators.KernelSAMME,
    estimators.KernelVoting,
    estimators.MKLClassifier,
    estimators.MKLOneClass,
    estimators.MKLRegressor,
    estimators.SparseLargeMarginClassifier,
    reduction.AKDAQR,
    reduction.FromEstimator,
    reduction.KernelFisher,
    reduction.KernelOrthogonalCentroid,
    reduction.KernelPLS,
    reduction.LocalFisher,
    reduction.MKLDR,
    reduction.SubspaceKernel,
)

# What may be inside.
CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *ESTIMATORS,
        # views and kernels
        KeptColumns,
        Views,
        DistanceMatrix,
        PointKernel,
        kernels.ChiSquared,
        kernels.Constant,
        kernels.Distance,
        kernels.Function,
        kernels.Gaussian,
        kernels.KernelProduct,
        kernels.KernelStack,
        kernels.KernelSum,
        kernels.Laplacian,
        kernels.Linear,
        kernels.Normalizer,
        kernels.Pairwise,
        kernels.Polynomial,
        kernels.Precomputed,
        kernels.Repair,
        kernels.Spectrum,
        # machines
        machines.BinaryMachine,
        machines.EpsilonInsensitive,
        machines.Hinge,
        machines.JointMachine,
        machines.LeastSquaresClassMachine,
        machines.LeastSquaresMachine,
        machines.LossMachine,
        machines.OneClassMachine,
        machines.OneVsAllMachine,
        machines.OneVsOneMachine,
        machines.PosteriorMachine,
        machines.RegressionMachine,
        machines.SquaredEpsilonInsensitive,
        machines.SquaredError,
        machines.SquaredHinge,
        machines.SquaredMargin,
        # combiners
        DifferenceState,
        EvenGate,
        FeatureSource,
        GatingInputs,
        KernelFeatures,
        Layout,
        NoInputs,
        OutputStates,
        ProjectedFeatures,
        ViewFeatures,
        combiners.AccuracyWeights,
        combiners.AlignmentWeights,
        AugmentedStack,
        combiners.BestSingle,
        combiners.BinaryMKL,
        combiners.ClusterGate,
        combiners.ConvexMKL,
        combiners.CorrelationWeights,
        combiners.EasyMKL,
        combiners.EigenvalueCosts,
        combiners.ElasticMKL,
        combiners.ErrorWeights,
        combiners.FeatureSpaceMeasure,
        combiners.FixedWeights,
        GatedStack,
        combiners.GaussianGate,
        combiners.GeneralizedMKL,
        combiners.GroupMKL,
        combiners.IdealKernelDistance,
        combiners.InstanceGate,
        combiners.KLDivergence,
        combiners.KernelDifference,
        combiners.KernelMap,
        combiners.LinearMKL,
        combiners.Localized,
        combiners.LpMKL,
        combiners.Mean,
        combiners.PerOutput,
        combiners.PolynomialMKL,
        combiners.Product,
        combiners.Projected,
        ProjectedStack,
        combiners.Sigmoid,
        combiners.Softmax,
        combiners.SparseMKL,
        # discriminants and graphs
        Discriminant,
        reduction.LDAGraph,
        reduction.LDEGraph,
        reduction.LFDAGraph,
        reduction.LPPGraph,
        reduction.MFAGraph,
        reduction.PCAGraph,
        reduction.SemiSupervisedGraph,
        reduction.UserGraph,
        # splitters, which are parameters of combiners
        GroupKFold,
        KFold,
        LeaveOneOut,
        LeavePOut,
        ShuffleSplit,
        StratifiedKFold,
        StratifiedShuffleSplit,
    )
}

# Attributes that are not saved, and what makes them anew.
TRANSIENT: dict[type, dict[str, Callable[[], Any]]] = {
    Views: {"_read": dict, "source": object},
    kernels.KernelStack: {"_matrices": lambda: None},
}

# Attributes that files hold under another name, the one that they had when the first files were written.
IN_FILES: dict[type, dict[str, str]] = {
    estimators.KernelSAMME: {"ridge": "eps"},
    estimators.KernelVoting: {"ridge": "eps"},
    reduction.KernelFisher: {"ridge": "eps", "ridge_": "eps_"},
    reduction.KernelPLS: {"center": "centered"},
    reduction.LDEGraph: {"n_neighbors": "k", "n_neighbors_between": "k_between"},
    reduction.LFDAGraph: {"n_neighbors": "k"},
    reduction.LPPGraph: {"n_neighbors": "k"},
    reduction.MFAGraph: {"n_neighbors": "k", "n_pairs": "k_between"},
    reduction.MKLDR: {"ridge": "eps", "ridge_": "eps_", "weights_ridge": "weights_eps"},
    reduction.SemiSupervisedGraph: {"n_neighbors": "k"},
    reduction.SubspaceKernel: {"center": "centered"},
}


@cache
def _defaults(cls: type) -> dict[str, Any]:
    """The parameters of an estimator, kernel or the like that have a default."""
    if not issubclass(cls, BaseEstimator):
        return {}
    parameters = signature(cls.__init__).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of an object of a registered class that are saved."""
    transient = TRANSIENT.get(type(value), {})
    return {name: part for name, part in packed(vars(value)).items() if name not in transient}


def name_in_files(cls: type, attribute: str) -> str:
    """What files call an attribute of a registered class."""
    return IN_FILES.get(cls, {}).get(attribute, attribute)


def instance_of(name: str, fields: dict[str, Any]) -> Any:
    """An object of a registered class with these attributes, made without running its constructor."""
    cls = CLASSES.get(name)
    if cls is None:
        raise ValueError(f"it holds an object of the unknown class {name!r}; this kernelweave does not make those")
    for field in fields:
        inherited = getattr(cls, field, None)
        if not field.isidentifier() or field.startswith("__") or callable(inherited) or isinstance(inherited, property):
            raise ValueError(f"it gives a {name} the attribute {field!r}, which is not data")
    attributes = {written: name for name, written in IN_FILES.get(cls, {}).items()}
    fields = {attributes.get(field, field): value for field, value in fields.items()}
    instance = object.__new__(cls)
    newer = {name: value for name, value in _defaults(cls).items() if name not in fields}
    instance.__dict__.update({**fields, **newer})  # in this order, so that saving again gives the same file
    instance.__dict__.update((field, make()) for field, make in TRANSIENT.get(cls, {}).items())
    return instance
