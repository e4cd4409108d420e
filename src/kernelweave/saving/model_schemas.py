"""What a file holds of combiners, machines and estimators, and of a combined kernel: a record beside the combiner.

In memory a fitted model has one combined kernel (`_kernel`). In the file it has three fields: ``combiner_``, ``_theta``
(the parameters theta) and ``_state``, the record of the training samples. What the combiner has already (the gating
model, the layout of theta, a form) is not written twice.

==================  =====================================================================
record              combined kernel
==================  =====================================================================
`KernelStack`       `WeightedSum`, `ProductKernel`, `FormKernel` without diagonals
`AugmentedStack`    `FormKernel` with diagonals
`DifferenceState`   `DifferenceKernel`
`GatedStack`        `GatedSum`
`ProjectedStack`    `ProjectedKernel`
`ExplicitState`     `WeightedSum` with explicit features
`ExplicitGates`     `GatedSum`, `ProjectedKernel` with explicit features
`OutputStates`      `OutputKernels`, with a record for each output
the kernel itself   any other class, which `load(classes=...)` names
==================  =====================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import combiners, estimators, machines
from ..combiners import CombinedKernel, Combiner, Gate, Product, Projected, WeightedSum
from ..combiners.feature_maps import KernelFeatures, ViewFeatures
from ..combiners.forms import FormKernel
from ..combiners.gates import NORMS, EvenGate, RegionGate
from ..combiners.inputs import FeatureSource, GatingInputs, NoInputs, ProjectedFeatures
from ..combiners.localized import GatedCombiner, GatedSum
from ..combiners.nonlinear import DifferenceKernel, ProductKernel
from ..combiners.per_output import OutputKernels
from ..combiners.projected import Layout, ProjectedKernel
from ..estimators.base import KernelMachineEstimator
from ..estimators.ensembles import Discriminant, DiscriminantEnsemble
from ..estimators.fitted import FittedKernels, FittedStack
from ..features import FeatureMap
from ..kernels import Kernel, KernelStack, Repair, ViewKernel
from ..kernels.normalization import NORMALIZATIONS
from ..kernels.points import PointKernel
from ..machines import Machine
from ..stacks.explicit import Features, NoFeatures
from ..validation.schemas import (
    CLASS_COUNTS,
    CLASS_LABELS,
    COLUMNS,
    SCHEMAS,
    Schema,
    Sizes,
    agree,
    anything,
    by_name,
    check_whole,
    count,
    expect,
    flag,
    flags,
    is_entry,
    is_own,
    maybe,
    nothing,
    number,
    numbers,
    one_of,
    optional,
    part,
    positions,
    refuse,
    series,
    several,
    text,
    together,
)
from ..views import Views
from .kernel_schemas import check_sparse, n_features_of

_KERNEL = part(Kernel, "columns")
_STACK = part(KernelStack, "columns", "kernels", "support")

SCHEMAS[machines.OneVsOneMachine] = Schema({"n_classes": count(2)})

SCHEMAS[machines.OneVsAllMachine] = Schema({"n_classes": count(2)})

SCHEMAS[machines.JointMachine] = Schema({"n_classes": count(2)})

SCHEMAS[machines.LeastSquaresMachine] = Schema({"n_outputs": count(1)})

SCHEMAS[machines.TargetsMachine] = Schema({"n_outputs": count(1)})

SCHEMAS[combiners.PolynomialMKL] = Schema({"degree": count(1, 1000), "constant": number(0.0), "tau_": number(0.0)})

SCHEMAS[combiners.GeneralizedMKL] = Schema({"form": one_of("product", "sum")})

SCHEMAS[combiners.KernelDifference] = Schema({"form": one_of("absolute", "difference", "square"), "tau": number(0.0)})

SCHEMAS[combiners.PerOutput] = Schema({"combiners_": several(part(Combiner))})

SCHEMAS[GatedCombiner] = Schema({"gating_": part(Gate), "gate_tol": number(0.0)})

SCHEMAS[combiners.Projected] = Schema({"layout_": part(Layout)})

SCHEMAS[Gate] = Schema({"norm": optional(one_of(*NORMS))})

SCHEMAS[RegionGate] = Schema({"centers_": numbers("centers", "inputs")})

SCHEMAS[Layout] = Schema(
    {
        "n_gating": count(),
        "gating_shape": maybe(together(count(), count())),
        "shapes": several(together(count(), count())),
        "constraint": text,
    }
)

SCHEMAS[GatingInputs] = Schema(
    {
        "source": part((FeatureSource, combiners.KernelMap, ProjectedFeatures), "columns", "kernels", "inputs"),
        "quadratic": flag,
        "scaling": maybe(text),
        "mean_": numbers("inputs"),
        "spread_": numbers("inputs", inf=True, low=np.finfo(float).tiny),
        "length_": number(positive=True),
    }
)


def _feature_source_rule(value: FeatureSource, sizes: Sizes, path: str) -> None:
    """There are columns, and they (or what kernels make of them) are as many as the inputs."""
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


SCHEMAS[FeatureSource] = Schema(
    {
        "selector": anything,
        "takes_sparse": optional(flag),
        "groups_": several(together(text, positions("own", below="columns", filled=True)), own=("own",)),
        "readers_": optional(maybe(several(maybe(part(ViewKernel, "columns"))))),
    },
    _feature_source_rule,
)


def _kernel_map_rule(value: Any, sizes: Sizes, path: str) -> None:
    check_sparse(value.kernel_, value.landmarks_.X, f"{path}.kernel_")


SCHEMAS[combiners.KernelMap] = Schema(
    {"kernel_": _KERNEL, "landmarks_": part(Views, "columns", samples="inputs")}, _kernel_map_rule
)


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


def _projected_features_rule(value: ProjectedFeatures, sizes: Sizes, path: str) -> None:
    total = 0
    for m in value.chosen:
        if m >= sizes["kernels"]:
            refuse(f"{path}.chosen", f"names the kernel {m} of {sizes['kernels']}")
        feature_map = value.maps[m]
        _check_map(value.stack, feature_map, m, f"{path}.maps[{m}]", is_read=True)
        training = feature_map.training if feature_map.by_kernel else None
        total += _n_read(value.stack, feature_map, m) if training is None else training.shape[1]
    agree(sizes, "inputs", total, f"{path}.chosen")


SCHEMAS[ProjectedFeatures] = Schema(
    {
        "stack": part(KernelStack, "columns", "kernels"),
        "maps": several(part((ViewFeatures, KernelFeatures)), "kernels"),
        "chosen": several(count()),
        "takes_sparse": optional(flag),
        "_features": nothing,
    },
    _projected_features_rule,
)

SCHEMAS[ViewFeatures] = Schema(
    {
        "method": one_of(*NORMALIZATIONS),
        "names": anything,
        "label": text,
        "largest": number(positive=True),
        "scales": flag,
        "factor": number(),
        "mean": maybe(numbers("own")),
        "kernel": part(PointKernel),
    }
)


def _kernel_features_rule(value: KernelFeatures, sizes: Sizes, path: str) -> None:
    if value.training is not None:
        numbers("values")(vars(value).get("eigenvalues"), sizes, f"{path}.eigenvalues")


SCHEMAS[KernelFeatures] = Schema(
    {
        "method": one_of("kpca", "map"),
        "names": anything,
        "kernel": part(PointKernel),
        "training": maybe(numbers("reference", "values")),
        "eigenvalues": optional(anything),
    },
    _kernel_features_rule,
)


class Record:
    """Plain data under the names of the file; a subclass names the attributes of the combined kernel that it takes."""

    _taken: tuple[str, ...]

    def __init__(self, **fields: Any):
        self.__dict__.update(fields)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def _of(cls, kernel: Any) -> Self:
        return cls(**{name: getattr(kernel, name) for name in cls._taken})

    def _restored(self, combiner: Any, theta: np.ndarray) -> CombinedKernel:
        raise NotImplementedError


class AugmentedStack(Record):
    """``samples``: k_m(x, x) of each training sample."""

    _saved = Schema({"stack": _STACK, "samples": numbers("support", "kernels")})

    @classmethod
    def _of(cls, kernel: Any) -> Self:
        return cls(stack=kernel.stack, samples=kernel.diagonals)

    def _restored(self, combiner: Any, theta: np.ndarray) -> FormKernel:
        return FormKernel(self.stack, theta, combiner.kernel_form(self.stack.n_kernels), self.samples)


class DifferenceState(Record):
    """The samples of the kernel itself are the ``rows`` of the samples of ``differences``."""

    _taken = ("stack", "signs", "first_coef", "first_intercept", "repair", "differences")
    _saved = Schema(
        {
            "stack": part(KernelStack, "columns", "kernels", support="reference"),
            "signs": maybe(numbers("reference")),
            "first_coef": maybe(numbers("reference", 1)),
            "first_intercept": maybe(numbers(1)),
            "repair": part(Repair, "reference"),
            "rows": positions("support", below="reference"),
            "differences": several(numbers("reference", "reference")),
        }
    )

    @classmethod
    def _of(cls, kernel: Any) -> Self:
        return cls(**vars(super()._of(kernel)), rows=kernel.index)

    def _restored(self, combiner: Any, theta: np.ndarray) -> DifferenceKernel:
        given = {name: getattr(self, name) for name in ("signs", "first_coef", "first_intercept", "differences")}
        return DifferenceKernel(self.stack, combiner.form, combiner.tau, self.repair, index=self.rows, **given)


class GatedStack(Record):
    """The gates of the support vectors, and what new ones are computed of."""

    _taken: tuple[str, ...] = ("stack", "inputs", "gates", "active", "open_share")

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if self.gates[:, ~self.active].any():
            refuse(f"{path}.gates", "are open for kernels that are not active")
        if type(self) is GatedStack and (self.active & ~self.stack.active).any():
            refuse(f"{path}.active", "counts kernels of which nothing is kept")

    _saved = Schema(
        {
            "stack": _STACK,
            "inputs": part((GatingInputs, NoInputs), "columns", "kernels"),
            "codes": nothing,
            "latest": together(nothing, nothing),
            "penalty": anything,
            "gates": numbers("support", "kernels"),
            "active": flags("kernels"),
            "open_share": numbers("kernels"),
        },
        _check_saved,
    )

    @classmethod
    def _of(cls, kernel: Any) -> Self:
        unread = {"codes": None, "penalty": 0.0, "latest": (None, None)}  # they had a meaning in a fit
        return cls(**vars(super()._of(kernel)), **unread)

    def _restored(self, combiner: Any, theta: np.ndarray) -> GatedSum:
        shares = {"gate_tol": combiner.gate_tol, "active": self.active, "open_share": self.open_share}
        return GatedSum(self.stack, theta, combiner.gating_, self.inputs, self.gates, **shares)


class ProjectedStack(GatedStack):
    """As `GatedStack`, with the projected support vectors and the directions of the projections."""

    _taken = (*GatedStack._taken, "maps", "points", "directions")

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """Active kernels have points of all support vectors and directions for what their map reads."""
        for m, (points, directions) in enumerate(zip(self.points, self.directions, strict=True)):
            if self.active[m]:
                agree(sizes, "support", len(points), f"{path}.points[{m}]")
                n_read = _n_read(self.stack, self.maps[m], m)
                expect(n_read, len(directions), f"{path}.directions[{m}]", "features")
            if points.shape[1] != directions.shape[1]:
                refuse(f"{path}.directions[{m}]", f"has {directions.shape[1]} columns for points of {points.shape[1]}")
            _check_map(self.stack, self.maps[m], m, f"{path}.maps[{m}]", bool(self.active[m]))

    _saved = Schema(
        {
            "stack": part(KernelStack, "columns", "kernels", support="compared"),
            "maps": several(part((ViewFeatures, KernelFeatures)), "kernels"),
            "points": several(numbers("some", "components"), "kernels", own=("some", "components")),
            "directions": several(numbers("read", "components"), "kernels", own=("read", "components")),
            "features": nothing,
            "evaluation": nothing,
            "has_widths": anything,
        },
        _check_saved,
    )

    @classmethod
    def _of(cls, kernel: Any) -> Self:
        return cls(**vars(super()._of(kernel)), features=None, evaluation=None, has_widths=False)

    def _restored(self, combiner: Any, theta: np.ndarray) -> ProjectedKernel:
        gated = self.stack, theta, combiner.gating_, self.inputs, self.gates
        projections = combiner.layout_, self.maps, self.points
        shares = {"gate_tol": combiner.gate_tol, "active": self.active, "open_share": self.open_share}
        return ProjectedKernel(*gated, *projections, directions=self.directions, **shares)


class ExplicitState(Record):
    """``stack`` (the kernels, without samples), ``maps`` (their features), ``n_samples`` (of the fit)."""

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if self.stack.n_samples:
            refuse(f"{path}.stack", "holds training samples")
        for m, found in enumerate(self.maps):
            if isinstance(found, NoFeatures) and self.stack.active[m]:
                refuse(f"{path}.maps[{m}]", "lacks the features of a kernel that is used")

    _taken: tuple[str, ...] = ()
    _saved = Schema(
        {
            "stack": part(KernelStack, "columns", "kernels", support="nobody"),
            "maps": several(part(FeatureMap, "columns"), "kernels"),
            "n_samples": count(),
        },
        _check_saved,
    )

    @classmethod
    def _of(cls, kernel: Any) -> Self:
        stack = kernel.stack
        explicit = {"stack": stack.reservoir, "maps": stack.maps, "n_samples": stack.n_samples}
        return cls(**explicit, **vars(super()._of(kernel)))

    def _features(self) -> Features:
        return Features(self.stack, self.maps, None, self.n_samples)

    def _restored(self, combiner: Any, theta: np.ndarray) -> CombinedKernel:
        return _of_stack(combiner, self._features(), theta)


class ExplicitGates(ExplicitState):
    """As `ExplicitState`, with what gates are computed of."""

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if (self.active & ~self.stack.active).any():
            refuse(f"{path}.active", "counts kernels of which nothing is kept")

    _taken = ("inputs", "active", "mean_weights", "open_share")
    _saved = Schema(
        {
            "inputs": part((GatingInputs, NoInputs), "columns", "kernels"),
            "active": flags("kernels"),
            "mean_weights": numbers("kernels", low=0.0),
            "open_share": numbers("kernels", low=0.0),
        },
        _check_saved,
    )

    def _restored(self, combiner: Any, theta: np.ndarray) -> GatedSum:
        shares: dict[str, Any] = {name: getattr(self, name) for name in ("active", "mean_weights", "open_share")}
        gated = self._features(), theta, combiner.gating_, self.inputs, None
        if isinstance(combiner, Projected):
            return ProjectedKernel(*gated, combiner.layout_, self.maps, None, gate_tol=combiner.gate_tol, **shares)
        return GatedSum(*gated, gate_tol=combiner.gate_tol, **shares)


class OutputStates(Record):
    """For each output: ``states`` (its record), ``rows``, ``active``, ``thetas``."""

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        for name in ("rows", "active", "thetas"):
            expect(len(self.states), len(getattr(self, name)), f"{path}.{name}", "outputs")
        for place, (state, rows) in enumerate(zip(self.states, self.rows, strict=True)):
            own = {**sizes, "own": len(rows)}
            part(STATES, "kernels", "columns", support="own")(state, own, f"{path}.states[{place}]")
            sizes.update((name, own[name]) for name in ("kernels", "columns") if name in own)

    _saved = Schema(
        {
            "rows": several(positions("own", below="support"), own=("own",)),
            "active": several(flags("kernels")),
            "thetas": several(numbers("own"), own=("own",)),
            "states": anything,
        },
        _check_saved,
    )

    @classmethod
    def _of(cls, kernel: Any) -> Self:
        states = [record_of(own) for own in kernel.kernels]
        # The very array that a record holds, so that the file holds it once.
        pairs = zip(kernel.kernels, states, strict=True)
        active = [own.stack.active if isinstance(state, KernelStack) else own.active for own, state in pairs]
        return cls(states=states, rows=kernel.rows_of, active=active, thetas=[own.theta for own in kernel.kernels])

    def _restored(self, combiner: Any, theta: np.ndarray) -> OutputKernels:
        parts = zip(combiner.combiners_, self.states, self.thetas, strict=True)
        return OutputKernels([kernel_of(*part) for part in parts], self.rows)


STATES = (KernelStack, Record, CombinedKernel)  # the last of a user's class
_RECORDS: dict[type, type] = {
    WeightedSum: KernelStack,
    ProductKernel: KernelStack,
    FormKernel: AugmentedStack,
    DifferenceKernel: DifferenceState,
    GatedSum: GatedStack,
    ProjectedKernel: ProjectedStack,
    OutputKernels: OutputStates,
}
_EXPLICIT_RECORDS: dict[type, type] = {
    WeightedSum: ExplicitState,
    GatedSum: ExplicitGates,
    ProjectedKernel: ExplicitGates,
    OutputKernels: OutputStates,
}


def record_of(kernel: Any) -> Any:
    cls: Any = (_RECORDS if kernel.of_samples else _EXPLICIT_RECORDS).get(type(kernel))
    if cls is None:
        return kernel
    is_stack = cls is KernelStack or (cls is AugmentedStack and kernel.diagonals is None)
    return kernel.stack if is_stack else cls._of(kernel)


def kernel_of(combiner: Combiner, record: Any, theta: np.ndarray) -> CombinedKernel:
    if isinstance(record, CombinedKernel):
        return record
    return _of_stack(combiner, record, theta) if isinstance(record, KernelStack) else record._restored(combiner, theta)


def _of_stack(combiner: Any, stack: Any, theta: np.ndarray) -> CombinedKernel:
    if hasattr(combiner, "kernel_form"):
        return FormKernel(stack, theta, combiner.kernel_form(stack.n_kernels), None)
    if isinstance(combiner, Product):
        return ProductKernel(stack)
    if hasattr(combiner, "kernel"):
        return combiner.kernel(stack, theta)
    return WeightedSum(stack, theta, owner=type(combiner).__name__)


def packed(fields: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a model as they stand in the file; others than those of models stay as they are."""
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
    kernel = kernel_of(fields["combiner_"], fields["_state"], fields["_theta"])
    kept = {("_kernel" if name == "_state" else name): value for name, value in fields.items() if name != "_theta"}
    fields.clear()
    fields.update({**kept, "_kernel": kernel})


def _state_of(combiner: Combiner, explicit: bool) -> type:
    if explicit:
        return ExplicitGates if isinstance(combiner, GatedCombiner) else ExplicitState
    if isinstance(combiner, combiners.GeneralizedMKL) and combiner.form == "product":
        return AugmentedStack
    states = {
        combiners.Projected: ProjectedStack,
        GatedCombiner: GatedStack,
        combiners.KernelDifference: DifferenceState,
        combiners.PerOutput: OutputStates,
    }
    return next((state for base, state in states.items() if isinstance(combiner, base)), KernelStack)


def _n_parameters(gate: Gate, n_inputs: int, sizes: Sizes) -> int:
    if isinstance(gate, EvenGate):
        return 0
    return sizes["kernels"] * (len(gate.centers_) if isinstance(gate, RegionGate) else n_inputs + 1)


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
            expect(n_inputs, layout.gating_shape[0], f"{path}.combiner_.layout_.gating_shape", "inputs")
            n_inputs = layout.gating_shape[1]
        n_gating = layout.n_gating
        in_all = layout.first_projection + sum(int(rows) * int(columns) for rows, columns in layout.shapes)
        expect(in_all, len(theta), f"{path}._theta", "parameters")
        points_of = vars(state).get("points") or [vars(each).get("directions", np.empty((0, 0))) for each in state.maps]
        for m, (shape, points) in enumerate(zip(layout.shapes, points_of, strict=True)):
            expect(shape[1], points.shape[1], f"{path}._state.points[{m}]", "components")
    if not is_own(type(combiner.gating_)):
        return
    expect(_n_parameters(combiner.gating_, n_inputs, sizes), n_gating, f"{path}._theta", "parameters")
    if isinstance(combiner.gating_, RegionGate):
        expect(n_inputs, combiner.gating_.centers_.shape[1], f"{path}.combiner_.gating_.centers_", "inputs")


def _check_difference(combiner: Any, state: DifferenceState, sizes: Sizes, path: str) -> None:
    if combiner.form == "square":
        expect(sizes["kernels"] - 1, len(state.differences), f"{path}._state.differences", "differences")
    elif state.signs is None or state.first_coef is None or state.first_intercept is None:
        refuse(f"{path}._state", f"lacks the labels that the form {combiner.form!r} needs")


def _check_combination(combiner: Combiner, state: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
    if not is_own(type(state)) and not is_own(type(combiner)):
        return
    if type(state) is not _state_of(combiner, isinstance(state, ExplicitState)):
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
        stack = state if isinstance(state, KernelStack) else state.stack
        used = (theta != 0) | isinstance(combiner, combiners.Product | combiners.KernelDifference)
        if not used.any() or (used & ~stack.active).any():
            refuse(f"{path}._theta", "uses no kernel, or one of which nothing is kept")
    if isinstance(combiner, combiners.KernelDifference):
        _check_difference(combiner, state, sizes, path)


def _combined_rule(value: Any, sizes: Sizes, path: str) -> None:
    fields = vars(value)
    _check_combination(value.combiner_, fields["_state"], fields["_theta"], sizes, path)


def _coefficients_rule(value: Any, sizes: Sizes, path: str) -> None:
    fields = vars(value)
    state = fields["_state"]
    first = state.states[0] if isinstance(state, OutputStates) and state.states else state
    needed = ("feature_coef_",) if isinstance(first, ExplicitState) else ("dual_coef_", "support_")
    for name in needed:
        if name not in fields:
            refuse(path, f"lacks the attribute {name}")
    if not isinstance(first, ExplicitState):
        return
    if list(value.feature_coef_) != value.kernel_names_:
        refuse(f"{path}.feature_coef_", "has other names than the kernels")
    for coef, found in zip(value.feature_coef_.values(), first.maps, strict=True):
        expect(found.n_features, len(coef), f"{path}.feature_coef_", "features")
    if isinstance(state, OutputStates):
        n_features = sum(len(coef) for coef in value.feature_coef_.values())
        for place, (own, rows) in enumerate(zip(state.states, state.rows, strict=True)):
            if not isinstance(own, ExplicitState):
                refuse(f"{path}._state.states[{place}]", "has no explicit features, as others have")
            where = f"{path}._state.rows[{place}]"
            check_whole(rows, where, below=n_features, of="features")
            expect(sum(found.n_features for found in own.maps), len(rows), where, "features")


COMBINED = Schema(
    {
        "_state": part(STATES, "columns", "kernels", "support"),
        "_theta": numbers("parameters"),
        "combiner_": part(Combiner),
    },
    _combined_rule,
)

SCHEMAS[FittedKernels] = COLUMNS | Schema(
    {"kernels_": several(_KERNEL, "kernels"), "kernel_names_": several(text, "kernels")}
)

SCHEMAS[FittedStack] = Schema({"_state": _STACK})

SCHEMAS[KernelMachineEstimator] = (
    Schema(
        {
            "dual_coef_": optional(numbers("outputs", "support")),
            "intercept_": numbers("outputs"),
            "support_": optional(positions("support")),
            "feature_coef_": optional(by_name(numbers("own", "outputs"), own=("own",))),
            "storage_": optional(one_of("dense", "lazy")),
            "_rule": part(Machine),
        },
        transient={"device": lambda: "cpu"},
    )
    | COMBINED
    | Schema(rule=_coefficients_rule)
)


def _machine_rule(value: Any, sizes: Sizes, path: str) -> None:
    """The rule that makes decisions has as many outputs as there are coefficients, and decides between the classes."""
    rule = vars(value)["_rule"]
    agree(sizes, "outputs", rule.n_outputs, f"{path}._rule")
    if "classes" in sizes:
        decision = rule.decision(np.zeros((1, sizes["outputs"])))
        agree(sizes, "classes", 2 if decision.ndim == 1 else decision.shape[1], f"{path}._rule")


SCHEMAS[estimators.MKLClassifier] = CLASS_LABELS | Schema(rule=_machine_rule) | CLASS_COUNTS


def _label(value: Any, sizes: Sizes, path: str) -> None:
    if not all(map(is_entry, value if type(value) is tuple else (value,))):
        refuse(path, "is no label: neither text nor a number")


SCHEMAS[estimators.MKLRegressor] = Schema({"target_names_": optional(several(_label, "outputs"))}, _machine_rule)

SCHEMAS[estimators.MKLOneClass] = Schema(rule=_machine_rule)

SCHEMAS[estimators.SparseLargeMarginClassifier] = (
    CLASS_LABELS
    | Schema(
        {"dual_coef_": numbers("outputs", "support"), "intercept_": numbers("outputs"), "_rule": part(Machine)},
        _machine_rule,
    )
    | CLASS_COUNTS
    | COMBINED
)

SCHEMAS[DiscriminantEnsemble] = (
    CLASS_LABELS
    | CLASS_COUNTS
    | Schema({"_discriminants": several(part(Discriminant, "support", "classes"), "kernels")})
)

SCHEMAS[estimators.KernelSAMME] = Schema({"kernel_weights_": series("kernels")})

SCHEMAS[Discriminant] = Schema(
    {
        "coefficients": numbers("support", "components"),
        "places": numbers("places", "components"),
        "labels": positions("places", below="classes"),
    }
)
