"""The classes that a saved model may hold: a closed table of their names in files, and what is saved of an object.

A file names classes, and only those of the table are made, and those that the caller of `load` gives. A class is
imported when a file, or a model that is saved, has an object of it. Attributes are saved as they are, and come back
without a call of the constructor; a parameter that the class did not have when a model was saved has its default.

Names of classes and of attributes are part of the format. One that is renamed keeps its name in files: a class by
`RENAMED_CLASSES`, an attribute by `RENAMED`.

Classes of users (kernels, gates, combiners and machines that are not part of kernelweave) are saved by their names. A
file lists these (``classes`` in the document, only if there are any), and `load` makes them only from the classes that
its caller gives. Their attributes are set without a call of the class, and there is no list of what they may be: `load`
checks only those that a base class of kernelweave has, and the objects of kernelweave's own classes among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator

from ..combiners import CombinedKernel, Combiner, Gate
from ..combiners.combined import record_of, restored
from ..estimators.base import KernelMachineEstimator
from ..kernels.base import Kernel
from ..machines import Loss, Machine
from ..validation.schemas import is_own, schema_of
from ..views import Views

# The base classes that users extend.
EXTENSIBLE: tuple[type, ...] = (Kernel, Gate, Combiner, CombinedKernel, Loss, Machine)

# Where classes are, by their names in files.
_MODULES = {
    "views": "Views",
    "views.frames": "KeptColumns",
    "kernels": "ChiSquared Clinical Constant Distance Function Gaussian KernelProduct KernelStack KernelSum "
    "Laplacian Linear Normalizer Pairwise Polynomial Precomputed Repair Spectrum",
    "kernels.completion": "CompletedStack",
    "kernels.distances": "DistanceMatrix",
    "kernels.points": "PointKernel",
    "kernels.preparation": "TableKind Preparation",
    "features": "ExactFeatures FourierFeatures NystroemFeatures",
    "features.completion": "CompletedMap FeatureCompletion FeatureRegression",
    "features.exact": "ExactMap TransformerMap",
    "features.fourier": "FourierMap",
    "features.nystroem": "NystroemMap",
    "stacks.explicit": "NoFeatures",
    "stacks.localized": "FourierTerm LinearTerm NystroemTerm ProjectedMap",
    "machines": "BinaryMachine EpsilonInsensitive Hinge JointMachine LeastSquaresClassMachine LeastSquaresMachine "
    "LossMachine OneClassMachine OneVsAllMachine OneVsOneMachine PosteriorMachine RegressionMachine "
    "SquaredEpsilonInsensitive SquaredError SquaredHinge SquaredMargin SquaredOneClassMachine SurvivalMachine "
    "TargetsMachine",
    "combiners": "AccuracyWeights AlignmentWeights BestSingle BinaryMKL ClusterGate ConvexLocalized ConvexMKL "
    "CorrelationWeights EasyMKL EigenvalueCosts ElasticMKL ErrorWeights FeatureSpaceMeasure FixedWeights GaussianGate "
    "GeneralizedMKL GroupMKL IdealKernelDistance InstanceGate KLDivergence KernelDifference KernelMap LinearMKL "
    "Localized LpMKL Mean PerOutput PolynomialMKL Product Projected Sigmoid Softmax SparseMKL WidthMKL",
    "combiners.feature_maps": "KernelFeatures ViewFeatures",
    "combiners.gates": "EvenGate",
    "combiners.inputs": "FeatureSource GatingInputs NoInputs ProjectedFeatures",
    "combiners.combined": "ExplicitState",
    "combiners.forms": "AugmentedStack",
    "combiners.nonlinear": "DifferenceState",
    "combiners.localized": "ExplicitGates GatedStack",
    "combiners.regional": "ExplicitRegions GivenRegions RegionalStack",
    "combiners.projected": "Layout ProjectedStack",
    "combiners.per_output": "OutputStates",
    "estimators": "BayesianMKLClassifier BayesianMKLRegressor ColumnBoostingClassifier ColumnBoostingRegressor "
    "KernelSAMME KernelVoting MKLClassifier MKLOneClass MKLRegressor MKLSurvival SparseLargeMarginClassifier",
    "estimators.bayesian": "FittedPosterior",
    "estimators.ensembles": "Discriminant",
    "reduction": "AKDAQR FromEstimator KernelFisher KernelOrthogonalCentroid KernelPLS LDAGraph LDEGraph LFDAGraph "
    "LPPGraph LocalFisher MFAGraph MKLDR PCAGraph SemiSupervisedGraph SubspaceKernel UserGraph",
    "cluster": "KernelKMeans",
    "recipes": "CohortModel",
    "recipes.baselines": "ColumnModel StackedViews",
    "recipes.design": "Design",
    "recipes.drift": "PairStructure CohortSummary",
    "recipes.layout": "TableLayout ViewColumns",
    "recipes.search": "Calibration SurvivalCalibration",
    "recipes.trees": "LinearScores TreeSum",
    "saving.documents": "CountTermsOperation WeighTermsOperation",
    "saving.operations": "ByColumnsOperation ChainOperation FillOperation FunctionOperation KeepOperation "
    "NamedOperation NeighborsFillOperation OneHotOperation OrdinalOperation RotateOperation ScaleOperation "
    "UnitNormOperation",
    "sklearn.model_selection": "GroupKFold KFold LeaveOneOut LeavePOut ShuffleSplit StratifiedKFold "
    "StratifiedShuffleSplit",
}

# Classes that have another name now than in files: from the name in files to the one now.
RENAMED_CLASSES: dict[str, str] = {}

# The module of each class, by its name in files.
CLASSES = {name: module for module, names in _MODULES.items() for name in names.split()}

# What `save` takes.
ESTIMATORS = (
    *_MODULES["estimators"].split(),
    *("CohortModel", "AKDAQR", "FromEstimator", "KernelFisher", "KernelOrthogonalCentroid", "KernelPLS"),
    *("LocalFisher", "MKLDR", "SubspaceKernel", "KernelKMeans", "ColumnModel", "StackedViews"),
)

# Attributes that have another name in files than now: by class, from the name now to the one in files.
_NEIGHBORS = {"n_neighbors": "k", "n_neighbors_between": "k_between"}
_RIDGE = {"ridge": "eps", "ridge_": "eps_", "weights_ridge": "weights_eps"}
_CENTER = {"center": "centered"}
RENAMED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("LDEGraph", "LFDAGraph", "LPPGraph", "MFAGraph", "SemiSupervisedGraph"), _NEIGHBORS),
    **dict.fromkeys(("KernelSAMME", "KernelVoting", "KernelFisher", "MKLDR"), _RIDGE),
    **dict.fromkeys(("AlignmentWeights", "KernelPLS", "SubspaceKernel"), _CENTER),
    "ElasticMKL": {"l2": "lam"},
    "PolynomialMKL": {"ball_center": "center", "ball_radius": "radius"},
    "Projected": {"projection_l2": "penalty"},
}

# Parameters that came after the first files, which are saved only where they differ from the default.
_ADDED = ("transformer", "storage", "approximation", "missing")


@cache
def class_named(name: str) -> type:
    """The class that a file of the table's name means, imported where it is not yet."""
    module = CLASSES[name]
    home = import_module(module if module.startswith("sklearn") else f"..{module}", __package__)
    return getattr(home, RENAMED_CLASSES.get(name, name))


def name_in_files(cls: type) -> str:
    return next((name for name, now in RENAMED_CLASSES.items() if now == cls.__name__), cls.__name__)


def is_registered(cls: type) -> bool:
    """Whether objects of this class are part of saved models by themselves."""
    name = name_in_files(cls)
    return name in CLASSES and class_named(name) is cls


def is_extension(cls: type) -> bool:
    """Whether a class extends kernelweave without being part of it."""
    return issubclass(cls, EXTENSIBLE) and not is_own(cls)


def clash(cls: type, others: dict[str, type]) -> str | None:
    """Why the name of a user's class cannot stand for it beside other classes of users; None if it can."""
    if cls.__name__ in CLASSES:
        return f"has the name of a class of kernelweave, {cls.__name__}; give it another name"
    if others.get(cls.__name__, cls) is not cls:
        return f"has the name of another class, {cls.__name__}; classes are saved by name, so give one another name"
    return None


def given_classes(classes: Iterable[type] | None) -> dict[str, type]:
    """The classes that a caller of `load` gives, by name; a `ValueError` where one cannot be in a file."""
    wanted = "classes must be a list of your own classes of kernels, gates, combiners or machines"
    try:
        listed = list(classes or ())
    except TypeError:
        raise ValueError(f"{wanted}, not {classes!r}") from None
    found: dict[str, type] = {}
    for cls in listed:
        if not isinstance(cls, type):
            raise ValueError(f"{wanted}; {cls!r} is no class")
        if is_registered(cls):
            raise ValueError(f"{wanted}; {cls.__name__} is part of kernelweave and need not be given")
        if not is_extension(cls):
            bases = ", ".join(base.__name__ for base in EXTENSIBLE)
            raise ValueError(f"{wanted}; {cls.__name__} is derived from none of {bases}")
        problem = clash(cls, found)
        if problem is not None:
            raise ValueError(f"classes: {cls.__module__}.{cls.__qualname__} {problem}")
        found[cls.__name__] = cls
    return found


def needed_classes(names: Any, given: dict[str, type]) -> dict[str, type]:
    """Of the given classes those that a file names; a `ValueError` names those that are lacking."""
    if type(names) is not list or not all(type(name) is str for name in names):
        raise ValueError("its list of classes is not valid")
    if known := [name for name in names if name in CLASSES]:
        raise ValueError(f"it lists {known[0]!r}, a class of kernelweave, among the classes of users")
    missing = [name for name in names if name not in given]
    if missing:
        what = "the class" if len(missing) == 1 else "the classes"
        raise ValueError(
            f"it needs {what} {', '.join(map(repr, missing))}, not part of kernelweave and saved by name only; pass "
            f"load(path, classes=[{', '.join(names)}]) with the classes that the model was made with"
        )
    return {name: given[name] for name in names}


def _first_machine(fields: Mapping[str, Any]) -> str:
    machine = fields.get("machine", "auto")
    if not isinstance(machine, str):
        return type(machine).__name__
    return "svm" if machine == "auto" else machine


def _former(cls: type, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of fitted models that are saved only where they differ from what all models of the first files had."""
    if not issubclass(cls, KernelMachineEstimator):
        return {}
    return {"storage_": "dense", "machine_": _first_machine(fields)}


@cache
def _defaults(cls: type) -> dict[str, Any]:
    if not issubclass(cls, BaseEstimator):
        return {}
    parameters = signature(cls).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of an object that are saved, by their names in files."""
    cls: type = type(value)
    fields = vars(value)
    defaults, former = _defaults(cls), _former(cls, fields)
    left_out = {
        *schema_of(cls).transient,
        *(name for name in _ADDED if name in defaults and fields.get(name) is defaults[name]),
        *(name for name, old in former.items() if fields.get(name) == old),
    }
    renamed = RENAMED.get(name_in_files(cls), {})
    return {renamed.get(name, name): part for name, part in packed(fields).items() if name not in left_out}


def packed(fields: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an object as they stand in the file: of a model's combined kernel its record and parameters."""
    kernel = fields.get("_kernel")
    if not isinstance(kernel, CombinedKernel):
        return fields
    both = {"_state": record_of(kernel), "_theta": kernel.theta}
    return {
        name: value
        for field, old in fields.items()
        for name, value in (both.items() if field == "_kernel" else [(field, old)])
    }


def unpack(model: Any) -> None:
    """Give an object from a file its combined kernel in the place of record and parameters, or its points; if any."""
    fields = vars(model)
    if isinstance(model, Views):
        for preparation, values in fields.pop("points", []):
            model.hold_points(preparation, values)
    if "_theta" not in fields or "_state" not in fields or "combiner_" not in fields:
        return
    kernel = restored(fields["combiner_"], fields["_state"], fields["_theta"])
    kept = {("_kernel" if name == "_state" else name): value for name, value in fields.items() if name != "_theta"}
    fields.clear()
    fields.update({**kept, "_kernel": kernel})


def name_now(cls: str, field: str) -> str:
    """The name that an attribute of a class has now, from its name in a file."""
    return next((now for now, saved in RENAMED.get(cls, {}).items() if saved == field), field)


def is_data(cls: type, field: str) -> bool:
    """Whether an object of a class may have an attribute of this name: one that hides no method or property."""
    inherited = getattr(cls, field, None)
    hides = callable(inherited) or isinstance(inherited, property)
    return field.isidentifier() and not field.startswith("__") and not hides


def instance_of(name: str, fields: dict[str, Any], given: Mapping[str, type]) -> Any:
    """An object with these attributes, made without running its constructor."""
    cls = class_named(name) if name in CLASSES else given.get(name)
    if cls is None:
        raise ValueError(f"it holds an object of the unknown class {name!r}; this kernelweave does not make those")
    for field in fields:
        if not is_data(cls, field):
            raise ValueError(f"it gives a {name} the attribute {field!r}, which is not data")
    instance: Any = object.__new__(cls)
    newer = {name: value for name, value in _defaults(cls).items() if name not in fields}
    made = {field: make() for field, make in schema_of(cls).transient.items()}
    instance.__dict__.update({**fields, **newer, **made})  # in this order, so that saving again gives the same file
    for field, old in (_former(cls, fields) if "intercept_" in fields else {}).items():
        instance.__dict__.setdefault(field, old)
    return instance
