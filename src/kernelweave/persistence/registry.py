"""The classes that a saved model may hold: a file names classes, and only those named here are made.

Beside them there are only those that the caller of `load` gives (see `extensions`).

A new kernel, combiner, machine or estimator needs one line in `CLASSES`: its attributes are saved as they are, and come
back without a call of its constructor; a parameter that it did not have when a model was saved has its default. A
parameter that was renamed keeps its name in files, by `RENAMED`. What a class keeps only to be fast is named in
`TRANSIENT` and starts empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

from .. import combiners, estimators, features, kernels, machines, recipes, reduction
from ..arrays import HOST
from ..combiners.gates.even import EvenGate
from ..combiners.gates.inputs import FeatureSource, GatingInputs, NoInputs, ProjectedFeatures
from ..combiners.projected.feature_maps import KernelFeatures, ViewFeatures
from ..combiners.projected.layout import Layout
from ..estimators.ensembles.discriminant import Discriminant
from ..features.exact import ExactMap
from ..features.fourier import FourierMap
from ..features.nystroem import NystroemMap
from ..features.transformer import TransformerMap
from ..kernels.distance import DistanceMatrix
from ..kernels.points.projected import PointKernel
from ..kernels.preparation import Preparation
from ..kernels.stacking.stack import CACHE_BYTES, Made
from ..recipes import baselines
from ..recipes.design import Design
from ..recipes.drift import CohortSummary, PairStructure
from ..recipes.layout import TableLayout, ViewColumns
from ..recipes.search import Calibration
from ..recipes.trees import LinearScores, TreeSum
from ..stacks.features import NoFeatures
from ..stacks.projections import FourierTerm, LinearTerm, NystroemTerm, ProjectedMap
from ..views import Views
from ..views.handed import TableKind
from ..views.kept import KeptColumns
from .preparation import OPERATIONS
from .records import (
    AugmentedStack,
    DifferenceState,
    ExplicitGates,
    ExplicitState,
    GatedStack,
    OutputStates,
    ProjectedStack,
    packed,
)

# What `save` takes.
ESTIMATORS: tuple[type, ...] = (
    estimators.KernelSAMME,
    estimators.KernelVoting,
    estimators.MKLClassifier,
    estimators.MKLOneClass,
    estimators.MKLRegressor,
    estimators.SparseLargeMarginClassifier,
    recipes.CohortModel,
    reduction.AKDAQR,
    reduction.FromEstimator,
    reduction.KernelFisher,
    reduction.KernelOrthogonalCentroid,
    reduction.KernelPLS,
    reduction.LocalFisher,
    reduction.MKLDR,
    reduction.SubspaceKernel,
    baselines.ColumnModel,
    baselines.StackedViews,
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
        kernels.Clinical,
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
        # preparation of views
        Preparation,
        TableKind,
        *OPERATIONS,
        # explicit features
        ExactMap,
        FourierMap,
        FourierTerm,
        LinearTerm,
        NystroemMap,
        NystroemTerm,
        ProjectedMap,
        TransformerMap,
        features.ExactFeatures,
        features.FourierFeatures,
        features.NystroemFeatures,
        # machines
        machines.BinaryMachine,
        machines.EpsilonInsensitive,
        machines.Hinge,
        machines.JointMachine,
        machines.LeastSquaresClassMachine,
        machines.LeastSquaresMachine,
        machines.LossMachine,
        machines.OneClassMachine,
        machines.SquaredOneClassMachine,
        machines.OneVsAllMachine,
        machines.OneVsOneMachine,
        machines.PosteriorMachine,
        machines.RegressionMachine,
        machines.SquaredEpsilonInsensitive,
        machines.SquaredError,
        machines.SquaredHinge,
        machines.SquaredMargin,
        machines.TargetsMachine,
        # combiners
        DifferenceState,
        EvenGate,
        ExplicitGates,
        ExplicitState,
        NoFeatures,
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
        # recipes
        Calibration,
        CohortSummary,
        PairStructure,
        TableLayout,
        ViewColumns,
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
        # models of all columns
        Design,
        LinearScores,
        TreeSum,
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

_WITH_STORAGE = (estimators.MKLClassifier, estimators.MKLOneClass, estimators.MKLRegressor)

# Attributes that are not saved, and what makes them anew.
TRANSIENT: dict[type, dict[str, Callable[[], Any]]] = {
    Views: {
        "_read": dict,
        "_prepared": dict,
        "holds_points": bool,
        "source": object,
        "labels": lambda: None,
        "dtypes": dict,
    },
    kernels.KernelStack: {
        "_made": Made,
        "storage": lambda: "dense",
        "place": lambda: HOST,
        "cache_bytes": lambda: CACHE_BYTES,
    },
    **{cls: {"device": lambda: "cpu"} for cls in _WITH_STORAGE},
    recipes.CohortModel: {"matrices": lambda: None, "kinds": lambda: None},  # only a fit reads them
}

# Attributes that have another name in files than now: by class, from the name now to the one in files.
_NEIGHBORS = {"n_neighbors": "k", "n_neighbors_between": "k_between"}
_RIDGE = {"ridge": "eps", "ridge_": "eps_", "weights_ridge": "weights_eps"}
_CENTER = {"center": "centered"}
RENAMED: dict[str, dict[str, str]] = {
    cls.__name__: names
    for names, classes in (
        (
            _NEIGHBORS,
            (
                reduction.LDEGraph,
                reduction.LFDAGraph,
                reduction.LPPGraph,
                reduction.MFAGraph,
                reduction.SemiSupervisedGraph,
            ),
        ),
        (_RIDGE, (estimators.KernelSAMME, estimators.KernelVoting, reduction.KernelFisher, reduction.MKLDR)),
        (_CENTER, (combiners.AlignmentWeights, reduction.KernelPLS, reduction.SubspaceKernel)),
        ({"l2": "lam"}, (combiners.ElasticMKL,)),
        ({"ball_center": "center", "ball_radius": "radius"}, (combiners.PolynomialMKL,)),
        ({"projection_l2": "penalty"}, (combiners.Projected,)),
    )
    for cls in classes
}

# Parameters that came after the first files, which are saved only where they differ from the default.
ADDED = ("transformer", "storage", "approximation")


def _first_machine(fields: Mapping[str, Any]) -> str:
    """What `machine_` of an exact model is, from its parameters."""
    machine = fields.get("machine", "auto")
    if not isinstance(machine, str):
        return type(machine).__name__
    return "svm" if machine == "auto" else machine


# Attributes of fitted models that came after the first files, from the others: they are saved only where they have
# another value than all models had then.
FORMER: dict[type, dict[str, Callable[[Mapping[str, Any]], Any]]] = {
    cls: {"storage_": lambda fields: "dense", "machine_": _first_machine} for cls in _WITH_STORAGE
}


@cache
def _defaults(cls: type) -> dict[str, Any]:
    """The parameters of an estimator, kernel or the like that have a default."""
    if not issubclass(cls, BaseEstimator):
        return {}
    parameters = signature(cls).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of an object that are saved."""
    left_out = {*TRANSIENT.get(type(value), {}), *(name for name in ADDED if _is_default(value, name))}
    former = FORMER.get(type(value), {})
    left_out |= {name for name, made in former.items() if vars(value).get(name) == made(vars(value))}
    renamed = RENAMED.get(type(value).__name__, {})
    return {renamed.get(name, name): part for name, part in packed(vars(value)).items() if name not in left_out}


def _is_default(value: Any, name: str) -> bool:
    defaults = _defaults(value.__class__)
    return name in defaults and vars(value).get(name) is defaults[name]


def name_now(cls: str, field: str) -> str:
    """The name that an attribute of a class has now, from its name in a file."""
    return next((now for now, saved in RENAMED.get(cls, {}).items() if saved == field), field)


def is_data(cls: type, field: str) -> bool:
    """Whether an object of a class may have an attribute of this name: one that hides no method or property."""
    inherited = getattr(cls, field, None)
    hides = callable(inherited) or isinstance(inherited, property)
    return field.isidentifier() and not field.startswith("__") and not hides


def instance_of(name: str, fields: dict[str, Any], given: Mapping[str, type]) -> Any:
    """An object with these attributes, made without running its constructor.

    Parameters
    ----------
    name : str
        A registered class, or one of those given.
    fields : dict from name to value
    given : mapping from name to class
    """
    cls = CLASSES.get(name, given.get(name))
    if cls is None:
        raise ValueError(f"it holds an object of the unknown class {name!r}; this kernelweave does not make those")
    for field in fields:
        if not is_data(cls, field):
            raise ValueError(f"it gives a {name} the attribute {field!r}, which is not data")
    instance: Any = object.__new__(cls)
    newer = {name: value for name, value in _defaults(cls).items() if name not in fields}
    instance.__dict__.update({**fields, **newer})  # in this order, so that saving again gives the same file
    instance.__dict__.update((field, make()) for field, make in TRANSIENT.get(cls, {}).items())
    if "intercept_" in fields:
        former = {name: made(fields) for name, made in FORMER.get(cls, {}).items()}
        instance.__dict__.update({**former, **fields})
    return instance
