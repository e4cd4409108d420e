"""What the file holds of a combined kernel: a record and the parameters theta, beside the combiner.

In memory a fitted model has one combined kernel (`_kernel`). In the file it has three fields: ``combiner_``, ``_theta``
and ``_state``, the record of the training samples. What the combiner has already (the gating model, the layout of
theta, a form) is not written twice.

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

from collections.abc import Callable
from typing import Any

import numpy as np

from ..combiners import CombinedKernel, Combiner, Product, Projected, WeightedSum
from ..combiners.localized.kernel import GatedSum
from ..combiners.nonlinear.difference import DifferenceKernel
from ..combiners.nonlinear.forms import FormKernel
from ..combiners.nonlinear.product import ProductKernel
from ..combiners.per_output import OutputKernels
from ..combiners.projected.kernel import ProjectedKernel
from ..features import FeatureMap
from ..kernels import KernelStack
from ..stacks.explicit import Features
from ..views import Views


class Record:
    """Plain data under the names of the file."""

    def __init__(self, **fields: Any):
        self.__dict__.update(fields)


class AugmentedStack(Record):
    """``stack``, and ``samples``: k_m(x, x) of each training sample."""

    stack: KernelStack
    samples: np.ndarray


class DifferenceState(Record):
    """``stack``, ``signs``, ``first_coef``, ``first_intercept``, ``repair``, ``rows``, ``differences``."""

    stack: KernelStack
    signs: np.ndarray | None
    first_coef: np.ndarray | None
    first_intercept: np.ndarray | None
    repair: Any
    rows: np.ndarray
    differences: Any


class GatedStack(Record):
    """``stack``, ``inputs``, ``gates``, ``active``, ``open_share``; the other fields have a meaning in a fit only."""

    stack: KernelStack
    inputs: Any
    gates: np.ndarray
    active: np.ndarray
    open_share: np.ndarray


class ProjectedStack(GatedStack):
    """As `GatedStack`, and ``maps``, ``points``, ``directions``."""

    maps: Any
    points: Any
    directions: Any


class ExplicitState(Record):
    """``stack`` (the kernels, without samples), ``maps`` (their features), ``n_samples`` (of the fit)."""

    stack: KernelStack
    maps: list[FeatureMap]
    n_samples: int


class ExplicitGates(ExplicitState):
    """As `ExplicitState`, and ``inputs``, ``active``, ``mean_weights``, ``open_share``."""

    inputs: Any
    active: np.ndarray
    mean_weights: np.ndarray
    open_share: np.ndarray


class OutputStates(Record):
    """For each output: ``states`` (its record), ``rows``, ``active``, ``thetas``."""

    states: list[Any]
    rows: list[np.ndarray]
    active: list[np.ndarray]
    thetas: list[np.ndarray]


def record_of(kernel: CombinedKernel) -> Any:
    """The record of a combined kernel that was restricted to its support vectors."""
    make = (_RECORDS if kernel.of_samples else _EXPLICIT).get(type(kernel))
    return kernel if make is None else make(kernel)


def kernel_of(combiner: Combiner, record: Any, theta: np.ndarray) -> CombinedKernel:
    """The combined kernel of a fitted combiner, from its record and parameters."""
    if isinstance(record, CombinedKernel):
        return record
    return _KERNELS[type(record)](combiner, record, theta)


def packed(fields: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a model as they stand in the file; others than those of models stay as they are."""
    if not isinstance(fields.get("_kernel"), CombinedKernel):
        return fields
    kernel = fields["_kernel"]
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


def _form_record(kernel: FormKernel) -> Any:
    return kernel.stack if kernel.diagonals is None else AugmentedStack(stack=kernel.stack, samples=kernel.diagonals)


def _difference_record(kernel: DifferenceKernel) -> DifferenceState:
    return DifferenceState(
        stack=kernel.stack,
        signs=kernel.signs,
        first_coef=kernel.first_coef,
        first_intercept=kernel.first_intercept,
        repair=kernel.repair,
        rows=kernel.index,
        differences=kernel.differences,
    )


def _gated_fields(kernel: GatedSum) -> dict[str, Any]:
    return {
        "stack": kernel.stack,
        "inputs": kernel.inputs,
        "codes": None,
        "gates": kernel.gates,
        "active": kernel.active,
        "open_share": kernel.open_share,
        "penalty": 0.0,
        "latest": (None, None),
    }


def _projected_record(kernel: ProjectedKernel) -> ProjectedStack:
    return ProjectedStack(
        **_gated_fields(kernel),
        maps=kernel.maps,
        features=None,
        points=kernel.points,
        directions=kernel.directions,
        evaluation=None,
        has_widths=False,
    )


def _explicit_fields(kernel: Any) -> dict[str, Any]:
    stack = kernel.stack
    return {"stack": stack.reservoir, "maps": stack.maps, "n_samples": stack.n_samples}


def _explicit_gates(kernel: GatedSum) -> ExplicitGates:
    return ExplicitGates(
        **_explicit_fields(kernel),
        inputs=kernel.inputs,
        active=kernel.active,
        mean_weights=kernel.mean_weights,
        open_share=kernel.open_share,
    )


def _output_record(kernel: OutputKernels) -> OutputStates:
    return OutputStates(
        states=[record_of(own) for own in kernel.kernels],
        rows=kernel.rows_of,
        active=[_active_of(own) for own in kernel.kernels],
        thetas=[own.theta for own in kernel.kernels],
    )


def _active_of(kernel: CombinedKernel) -> np.ndarray:
    """The active kernels of an output: the very array that its record holds, so that the file holds it once."""
    return kernel.stack.active if isinstance(record_of(kernel), KernelStack) else kernel.active


def _of_stack(combiner: Any, stack: Any, theta: np.ndarray) -> CombinedKernel:
    if hasattr(combiner, "kernel_form"):
        return FormKernel(stack, theta, combiner.kernel_form(stack.n_kernels), None)
    if isinstance(combiner, Product):
        return ProductKernel(stack)
    if hasattr(combiner, "kernel"):
        return combiner.kernel(stack, theta)
    return WeightedSum(stack, theta, owner=type(combiner).__name__)


def _of_explicit(combiner: Any, record: ExplicitState, theta: np.ndarray) -> CombinedKernel:
    return _of_stack(combiner, Features(record.stack, record.maps, None, record.n_samples), theta)


def _of_explicit_gates(combiner: Any, record: ExplicitGates, theta: np.ndarray) -> GatedSum:
    stack = Features(record.stack, record.maps, None, record.n_samples)
    options: dict[str, Any] = {
        "gate_tol": combiner.gate_tol,
        "active": record.active,
        "mean_weights": record.mean_weights,
        "open_share": record.open_share,
    }
    parts = stack, theta, combiner.gating_, record.inputs, None
    if isinstance(combiner, Projected):
        return ProjectedKernel(*parts, combiner.layout_, record.maps, None, **options)
    return GatedSum(*parts, **options)


def _of_augmented(combiner: Any, record: AugmentedStack, theta: np.ndarray) -> FormKernel:
    return FormKernel(record.stack, theta, combiner.kernel_form(record.stack.n_kernels), record.samples)


def _of_difference(combiner: Any, record: DifferenceState, theta: np.ndarray) -> DifferenceKernel:
    return DifferenceKernel(
        record.stack,
        combiner.form,
        combiner.tau,
        record.repair,
        signs=record.signs,
        first_coef=record.first_coef,
        first_intercept=record.first_intercept,
        differences=record.differences,
        index=record.rows,
    )


def _of_gated(combiner: Any, record: GatedStack, theta: np.ndarray) -> GatedSum:
    return GatedSum(
        record.stack,
        theta,
        combiner.gating_,
        record.inputs,
        record.gates,
        gate_tol=combiner.gate_tol,
        active=record.active,
        open_share=record.open_share,
    )


def _of_projected(combiner: Any, record: ProjectedStack, theta: np.ndarray) -> ProjectedKernel:
    return ProjectedKernel(
        record.stack,
        theta,
        combiner.gating_,
        record.inputs,
        record.gates,
        combiner.layout_,
        record.maps,
        record.points,
        directions=record.directions,
        gate_tol=combiner.gate_tol,
        active=record.active,
        open_share=record.open_share,
    )


def _of_outputs(combiner: Any, record: OutputStates, theta: np.ndarray) -> OutputKernels:
    parts = zip(combiner.combiners_, record.states, record.thetas, strict=True)
    return OutputKernels([kernel_of(*part) for part in parts], record.rows)


_RECORDS: dict[type, Callable[[Any], Any]] = {
    WeightedSum: lambda kernel: kernel.stack,
    ProductKernel: lambda kernel: kernel.stack,
    FormKernel: _form_record,
    DifferenceKernel: _difference_record,
    GatedSum: lambda kernel: GatedStack(**_gated_fields(kernel)),
    ProjectedKernel: _projected_record,
    OutputKernels: _output_record,
}
_EXPLICIT: dict[type, Callable[[Any], Any]] = {
    WeightedSum: lambda kernel: ExplicitState(**_explicit_fields(kernel)),
    GatedSum: _explicit_gates,
    ProjectedKernel: _explicit_gates,
    OutputKernels: _output_record,
}
_KERNELS: dict[type, Callable[[Any, Any, np.ndarray], CombinedKernel]] = {
    KernelStack: _of_stack,
    AugmentedStack: _of_augmented,
    DifferenceState: _of_difference,
    GatedStack: _of_gated,
    ProjectedStack: _of_projected,
    ExplicitState: _of_explicit,
    ExplicitGates: _of_explicit_gates,
    OutputStates: _of_outputs,
}
