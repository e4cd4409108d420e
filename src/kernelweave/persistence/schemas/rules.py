"""Rules: conditions on several attributes of an object at once, each named after the class that it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS

from ... import combiners, kernels
from ...combiners import CombinedKernel, Combiner, Gate
from ...combiners.feature_maps import KernelFeatures
from ...combiners.gates import EvenGate, RegionGate
from ...combiners.inputs import FeatureSource, GatingInputs, ProjectedFeatures
from ...combiners.localized import GatedCombiner
from ...kernels.base import Kernel, ViewKernel
from ...kernels.distance import DistanceMatrix
from ...kernels.points.projected import PointKernel
from ...views.kept import KeptColumns
from ..extensions import is_extension
from ..records import (
    AugmentedStack,
    DifferenceState,
    ExplicitGates,
    ExplicitState,
    GatedStack,
    OutputStates,
    ProjectedStack,
)
from .language import SCHEMAS, Schema, Sizes, agree, number, numbers, part, refuse

# Those of scikit-learn and SciPy that compare vectors by themselves or with the constants that `Distance` learns.
METRICS = {
    *PAIRWISE_DISTANCE_FUNCTIONS,
    *("seuclidean", "mahalanobis", "braycurtis", "canberra", "chebyshev", "correlation", "dice", "hamming", "jaccard"),
    *("minkowski", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "sqeuclidean", "yule"),
}
STATES = (
    kernels.KernelStack,
    AugmentedStack,
    DifferenceState,
    GatedStack,
    ProjectedStack,
    ExplicitState,
    ExplicitGates,
    OutputStates,
    CombinedKernel,  # of a user's class
)


def kept_columns_rule(value: KeptColumns, sizes: Sizes, path: str) -> None:
    """No column is in two blocks, and samples that lack a view have no entries there."""
    blocks = [columns for columns, *_ in [*value.blocks, *(value.sparse or [])]]
    seen = np.concatenate([np.empty(0, dtype=int), *blocks])
    if len(np.unique(seen)) < len(seen):
        refuse(f"{path}.blocks", "hold columns twice")
    for place, (_, values, present) in enumerate(value.sparse or []):
        if np.diff(values.indptr)[~present].any():
            refuse(f"{path}.sparse[{place}]", "has entries of samples that lack the view")
    for place, (_, values) in enumerate(value.blocks):
        if values.dtype.kind == "O" and not all(_is_entry(entry) for entry in values.ravel()):
            refuse(f"{path}.blocks[{place}]", "holds what is neither text nor a number")


def _is_entry(entry: Any) -> bool:
    return entry is None or isinstance(entry, str | bool | int | float | np.generic)


def label(value: Any, sizes: Sizes, path: str) -> None:
    """A name of a row or column: text, a number, or a tuple of such."""
    if not all(map(_is_entry, value if type(value) is tuple else (value,))):
        refuse(path, "is no label: neither text nor a number")


def view_kernel_rule(value: ViewKernel, sizes: Sizes, path: str) -> None:
    """A kernel that was given a transformer has what was fitted."""
    if (value.transformer is None) != (value.preparation_ is None):
        refuse(path, "has a transformer that was not fitted, or the other way round")


def n_features_of(kernel: Kernel) -> int:
    """How many features a fitted kernel compares."""
    preparation = kernel.preparation_ if isinstance(kernel, ViewKernel) else None
    return len(kernel.columns()) if preparation is None else preparation.n_features


def precomputed_rule(value: Any, sizes: Sizes, path: str) -> None:
    """Every id has a similarity to itself, and all columns are there where no list of those kept is."""
    n_ids = len(value.K) + len(value.rows)
    if len(value.self_similarity) != n_ids:
        refuse(f"{path}.self_similarity", f"has {len(value.self_similarity)} numbers for {n_ids} ids")
    if value.columns_kept is None:
        agree(sizes, "columns_kept", len(value.K), f"{path}.K")


def distance_rule(value: Any, sizes: Sizes, path: str) -> None:
    """The metric is known, and its constants or distances are there."""
    metric = value.metric
    if isinstance(metric, DistanceMatrix):
        part(DistanceMatrix, "columns")(getattr(value, "lookup_", None), sizes, f"{path}.lookup_")
        return
    if not callable(metric) and metric not in METRICS:
        refuse(f"{path}.metric", f"is {metric!r}, which is no metric")
    n_features = n_features_of(value)
    shapes = {"seuclidean": {"V": numbers(n_features)}, "mahalanobis": {"VI": numbers(n_features, n_features)}}
    needed = shapes.get(metric, {}) if isinstance(metric, str) else {}
    constants = value.constants_
    if type(constants) is not dict or set(constants) != set(needed):
        refuse(f"{path}.constants_", f"are not those of the metric {metric!r}")
    for name, kind in needed.items():
        kind(constants[name], sizes, f"{path}.constants_[{name!r}]")


def point_kernel_rule(value: PointKernel, sizes: Sizes, path: str) -> None:
    """A kernel of points, whose view plays no part."""
    kernel = value.kernel
    if not (isinstance(kernel, ViewKernel) and kernel.is_differentiable):
        refuse(f"{path}.kernel", f"is a {type(kernel).__name__}, which it never is")
    for name, kind in SCHEMAS.get(type(kernel), Schema()).attributes.items():
        kind(vars(kernel).get(name), sizes, f"{path}.kernel.{name}")


def normalizer_rule(value: Any, sizes: Sizes, path: str) -> None:
    """A fitted one has the constants of its method; that of a kernel that is not used has none."""
    if "present_" not in vars(value):
        return
    needed = {
        "unit-diagonal": {"factor_": numbers("reference")},
        "unit-trace": {"factor_": number()},
        "center": {"weight_": numbers("reference"), "means_": numbers("reference"), "mean_": number()},
    }.get(value.method, {})
    for name, kind in needed.items():
        kind(vars(value).get(name), sizes, f"{path}.{name}")


def repair_rule(value: Any, sizes: Sizes, path: str) -> None:
    """Clipping has its eigenvectors."""
    if value.needs_all_samples:
        numbers("values", low=np.finfo(float).tiny)(vars(value).get("eigenvalues_"), sizes, f"{path}.eigenvalues_")
        numbers("reference", "values")(vars(value).get("basis_"), sizes, f"{path}.basis_")
        weight = vars(value).get("root_weight_")
        numbers("reference", low=np.finfo(float).tiny)(weight, sizes, f"{path}.root_weight_")


def stack_rule(value: Any, sizes: Sizes, path: str) -> None:
    """Kernels that are used have their constants, and their columns are there."""
    kept = value.reference.X
    there = None if sp.issparse(kept) else [columns for columns, *_ in [*kept.blocks, *(kept.sparse or [])]]
    for m in np.flatnonzero(value.active):
        if value.reference.n_samples and "present_" not in vars(value.normalizers[m]):
            refuse(f"{path}.normalizers[{m}]", "lacks the attribute present_")
        if value.normalizers[m].shift_ is not None:
            if not (value.normalizers[m].method == "center" and value.kernels[m].is_linear):
                refuse(f"{path}.normalizers[{m}].shift_", "is there, but the kernel is not linear and centred")
            n_features = n_features_of(value.kernels[m])
            numbers(n_features)(value.normalizers[m].shift_, sizes, f"{path}.normalizers[{m}].shift_")
        _check_sparse(value.kernels[m], kept, f"{path}.kernels[{m}]")
        held = [preparation for preparation, _ in vars(value.reference).get("points", [])]
        parts = [part for part in value.kernels[m].parts() if getattr(part, "preparation_", None) not in held]
        columns = np.concatenate([np.empty(0, dtype=int), *(part.columns() for part in parts)])
        if there is not None and not np.isin(columns, np.concatenate([np.empty(0, dtype=int), *there])).all():
            refuse(f"{path}.reference", f"lacks columns of the kernel {value.names[m]!r}")


def kernel_map_rule(value: Any, sizes: Sizes, path: str) -> None:
    """The kernel takes landmarks as they are."""
    _check_sparse(value.kernel_, value.landmarks_.X, f"{path}.kernel_")


def _check_sparse(kernel: Kernel, X: Any, path: str, of_objects: bool = False) -> None:
    """A kernel, or a part of it, makes samples sparse only where those of the fit were, or its transformer did."""
    parts = vars(kernel)
    prepared = isinstance(kernel, ViewKernel) and kernel.preparation_ is not None
    if parts.get("sparse_") is True and not (
        kernel.takes_sparse if prepared else _is_sparse(X, None if of_objects else parts.get("columns_"))
    ):
        refuse(f"{path}.sparse_", "is True where the training samples are not sparse")
    for name in ("first_", "second_", "kernel_"):
        if isinstance(parts.get(name), Kernel):  # `kernel_` counts columns inside an object
            _check_sparse(parts[name], X, f"{path}.{name}", of_objects or name == "kernel_")


def _is_sparse(X: Any, columns: np.ndarray | None) -> bool:
    """Whether X is sparse, or some of these columns are (None: any)."""
    if sp.issparse(X):
        return True
    places = X.sparse_positions()
    return len(places) > 0 if columns is None else bool(np.isin(columns, places).any())


def gated_stack_rule(value: Any, sizes: Sizes, path: str) -> None:
    """Gates are open for kernels that prediction can evaluate."""
    if value.gates[:, ~value.active].any():
        refuse(f"{path}.gates", "are open for kernels that are not active")
    if type(value) is GatedStack and (value.active & ~value.stack.active).any():
        refuse(f"{path}.active", "counts kernels of which nothing is kept")


def projected_stack_rule(value: Any, sizes: Sizes, path: str) -> None:
    """Active kernels have points of all support vectors and directions for what their map reads."""
    for m, (points, directions) in enumerate(zip(value.points, value.directions, strict=True)):
        if value.active[m]:
            agree(sizes, "support", len(points), f"{path}.points[{m}]")
            n_read = _n_read(value.stack, value.maps[m], m)
            agree({"features": n_read}, "features", len(directions), f"{path}.directions[{m}]")
        if points.shape[1] != directions.shape[1]:
            refuse(f"{path}.directions[{m}]", f"has {directions.shape[1]} columns for points of {points.shape[1]}")
        _check_map(value.stack, value.maps[m], m, f"{path}.maps[{m}]", bool(value.active[m]))


def _n_read(stack: Any, feature_map: Any, m: int) -> int:
    """How many numbers a map reads of a new sample."""
    return stack.n_samples if feature_map.by_kernel else n_features_of(stack.kernels[m])


def _check_map(stack: Any, feature_map: Any, m: int, path: str, is_read: bool) -> None:
    n_read = _n_read(stack, feature_map, m)
    if feature_map.by_kernel:
        if is_read and not stack.active[m]:
            refuse(path, "reads a kernel of which nothing is kept")
        training = feature_map.training
        if training is not None and len(training) != n_read:
            refuse(f"{path}.training", f"has {len(training)} rows where {n_read} are expected")
    elif not isinstance(stack.kernels[m], ViewKernel):
        refuse(path, "takes the features of a kernel that has none")
    elif feature_map.mean is not None and len(feature_map.mean) != n_read:
        refuse(f"{path}.mean", f"has {len(feature_map.mean)} numbers where {n_read} are expected")


def feature_source_rule(value: FeatureSource, sizes: Sizes, path: str) -> None:
    """There are columns, and as many of them, or of what kernels make of them, as inputs."""
    if not value.groups_:
        refuse(f"{path}.groups_", "are empty")
    readers = [None] * len(value.groups_) if value.readers_ is None else value.readers_
    if len(readers) != len(value.groups_):
        refuse(f"{path}.readers_", f"has {len(readers)} entries for {len(value.groups_)} groups of columns")
    total = 0
    for (_, columns), reader in zip(value.groups_, readers, strict=True):
        if reader is not None and not np.array_equal(reader.columns_, columns):
            refuse(f"{path}.readers_", "has a kernel of other columns")
        total += len(columns) if reader is None else n_features_of(reader)
    agree(sizes, "inputs", total, f"{path}.groups_")


def projected_features_rule(value: ProjectedFeatures, sizes: Sizes, path: str) -> None:
    """The features of the chosen kernels are as many as the inputs."""
    total = 0
    for m in value.chosen:
        if m >= sizes["kernels"]:
            refuse(f"{path}.chosen", f"names the kernel {m} of {sizes['kernels']}")
        feature_map = value.maps[m]
        _check_map(value.stack, feature_map, m, f"{path}.maps[{m}]", is_read=True)
        training = feature_map.training if feature_map.by_kernel else None
        total += _n_read(value.stack, feature_map, m) if training is None else training.shape[1]
    agree(sizes, "inputs", total, f"{path}.chosen")


def kernel_features_rule(value: KernelFeatures, sizes: Sizes, path: str) -> None:
    """Eigenvectors come with their eigenvalues."""
    if value.training is not None:
        numbers("values")(vars(value).get("eigenvalues"), sizes, f"{path}.eigenvalues")


def combined_rule(value: Any, sizes: Sizes, path: str) -> None:
    """A model's combiner, its parameters theta and its state belong together."""
    fields = vars(value)
    _check_combination(value.combiner_, fields["_state"], fields["_theta"], sizes, path)


def _check_combination(combiner: Combiner, state: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
    """Check what the combiner's prediction assumes of state and theta."""
    if is_extension(type(state)) and is_extension(type(combiner)):
        return
    explicit = isinstance(state, ExplicitState)
    if type(state) is not (_explicit_state_of(combiner) if explicit else _state_of(combiner)):
        refuse(f"{path}._state", f"is a {type(state).__name__}, which {type(combiner).__name__} never has")
    if isinstance(state, OutputStates):
        agree(sizes, "outputs", len(state.states), f"{path}._state.states")
        agree(sizes, "outputs", len(combiner.combiners_), f"{path}.combiner_.combiners_")
        for place, (own, inner) in enumerate(zip(combiner.combiners_, state.states, strict=True)):
            inner_sizes = {"kernels": sizes["kernels"], "support": len(state.rows[place])}
            _check_combination(own, inner, state.thetas[place], inner_sizes, f"{path}[{place}]")
    elif isinstance(combiner, GatedCombiner):
        _check_gating(combiner, state, theta, sizes, path)
    else:
        agree(sizes, "kernels", len(theta), f"{path}._theta")
        stack = state if isinstance(state, kernels.KernelStack) else state.stack
        used = np.ones(len(theta), dtype=bool) if _uses_all(combiner) else theta != 0
        if not used.any() or (used & ~stack.active).any():
            refuse(f"{path}._theta", "uses no kernel, or one of which nothing is kept")
    if isinstance(combiner, combiners.KernelDifference):
        _check_difference(combiner, state, sizes, path)


def _state_of(combiner: Combiner) -> type:
    if isinstance(combiner, combiners.GeneralizedMKL):
        return AugmentedStack if combiner.form == "product" else kernels.KernelStack
    states = {
        combiners.Projected: ProjectedStack,
        GatedCombiner: GatedStack,
        combiners.KernelDifference: DifferenceState,
        combiners.PerOutput: OutputStates,
    }
    return next((state for base, state in states.items() if isinstance(combiner, base)), kernels.KernelStack)


def _explicit_state_of(combiner: Combiner) -> type:
    return ExplicitGates if isinstance(combiner, GatedCombiner) else ExplicitState


def _uses_all(combiner: Combiner) -> bool:
    return isinstance(combiner, combiners.Product | combiners.KernelDifference)


def _check_difference(combiner: Any, state: DifferenceState, sizes: Sizes, path: str) -> None:
    if combiner.form == "square":
        agree(
            {"differences": sizes["kernels"] - 1}, "differences", len(state.differences), f"{path}._state.differences"
        )
    elif state.signs is None or state.first_coef is None or state.first_intercept is None:
        refuse(f"{path}._state", f"lacks the labels that the form {combiner.form!r} needs")


def _check_gating(combiner: Any, state: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
    """The gating model has as many parameters as gating inputs and kernels require, and so have projections."""
    n_inputs = 0
    if isinstance(state.inputs, GatingInputs):
        n_inputs = len(state.inputs.mean_)
        n_inputs += n_inputs * (n_inputs + 1) // 2 if state.inputs.quadratic else 0
    n_gating = len(theta)
    if isinstance(combiner, combiners.Projected):
        layout = combiner.layout_
        if layout.gating_shape is not None:
            agree({"inputs": n_inputs}, "inputs", layout.gating_shape[0], f"{path}.combiner_.layout_.gating_shape")
            n_inputs = layout.gating_shape[1]
        n_gating = layout.n_gating
        in_all = layout.first_projection + sum(int(rows) * int(columns) for rows, columns in layout.shapes)
        agree({"parameters": in_all}, "parameters", len(theta), f"{path}._theta")
        points_of = vars(state).get("points") or [vars(each).get("directions", np.empty((0, 0))) for each in state.maps]
        for m, (shape, points) in enumerate(zip(layout.shapes, points_of, strict=True)):
            agree({"components": shape[1]}, "components", points.shape[1], f"{path}._state.points[{m}]")
    if is_extension(type(combiner.gating_)):
        return
    agree({"parameters": _n_parameters(combiner.gating_, n_inputs, sizes)}, "parameters", n_gating, f"{path}._theta")
    if isinstance(combiner.gating_, RegionGate):
        agree({"inputs": n_inputs}, "inputs", combiner.gating_.centers_.shape[1], f"{path}.combiner_.gating_.centers_")


def _n_parameters(gate: Gate, n_inputs: int, sizes: Sizes) -> int:
    if isinstance(gate, EvenGate):
        return 0
    return sizes["kernels"] * (len(gate.centers_) if isinstance(gate, RegionGate) else n_inputs + 1)


def output_states_rule(value: OutputStates, sizes: Sizes, path: str) -> None:
    """There is a state, with its parameters and samples, for each output."""
    for name in ("rows", "active", "thetas"):
        agree({"outputs": len(value.states)}, "outputs", len(getattr(value, name)), f"{path}.{name}")
    for place, (state, rows) in enumerate(zip(value.states, value.rows, strict=True)):
        part(STATES, "kernels", "columns", support="own")(
            state, own := {**sizes, "own": len(rows)}, f"{path}.states[{place}]"
        )
        sizes.update((name, own[name]) for name in ("kernels", "columns") if name in own)


def machine_rule(value: Any, sizes: Sizes, path: str) -> None:
    """The rule that makes decisions has as many outputs as there are coefficients, and decides between the classes."""
    rule = vars(value)["_rule"]
    agree(sizes, "outputs", rule.n_outputs, f"{path}._rule")
    if "classes" in sizes:
        decision = rule.decision(np.zeros((1, sizes["outputs"])))
        agree(sizes, "classes", 2 if decision.ndim == 1 else decision.shape[1], f"{path}._rule")


def classes_rule(value: Any, sizes: Sizes, path: str) -> None:
    """There are at least two classes, of text or numbers."""
    if len(value.classes_) < 2 or (value.classes_.dtype.kind == "O" and not all(map(_is_entry, value.classes_))):
        refuse(f"{path}.classes_", "are no classes")


def feature_names_rule(value: Any, sizes: Sizes, path: str) -> None:
    """Names of columns are text."""
    names = vars(value).get("feature_names_in_", ())
    if not all(isinstance(name, str) for name in names):
        refuse(f"{path}.feature_names_in_", "are not all text")


def from_estimator_rule(value: Any, sizes: Sizes, path: str) -> None:
    """The estimator has projections."""
    if not isinstance(value.estimator_.combiner_, combiners.Projected):
        refuse(f"{path}.estimator_", "has no projections")
