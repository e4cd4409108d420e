"""What prediction reads of the explicit features of kernels and of models on them, in the words of `language`.

Sizes beside those of `models`:

================  ====================================================
size              number of
================  ====================================================
raw               values of a sample before whitening
features          explicit features of one kernel
landmarks         landmarks of one kernel
================  ====================================================
"""

from __future__ import annotations

from typing import Any

from ...combiners.gates.inputs import GatingInputs, NoInputs
from ...combiners.projected.feature_maps import ViewFeatures
from ...features.base import FeatureMap
from ...features.exact import DirectMap, ExactMap, TransformerMap, expanded_width
from ...features.fourier import FourierMap
from ...features.nystroem import NystroemMap
from ...kernels import Kernel, KernelStack
from ...kernels.points.projected import PointKernel
from ...kernels.preparation import Preparation
from ...stacks.explicit import NoFeatures
from ...stacks.localized import FourierTerm, LinearTerm, NystroemTerm, ProjectedMap
from ..bounds import check_whole
from ..records import ExplicitGates, ExplicitState, OutputStates
from .language import (
    Schema,
    Sizes,
    agree,
    count,
    flag,
    flags,
    maybe,
    number,
    numbers,
    part,
    refuse,
    several,
    size,
    text,
)
from .rules import n_features_of


def _nystroem_rule(value: NystroemMap, sizes: Sizes, path: str) -> None:
    """There is one kernel, and the whitening has a row for each landmark, and one for the constant."""
    agree({"kernels": 1}, "kernels", value.landmarks.n_kernels, f"{path}.landmarks")
    agree(sizes, "raw", sizes["landmarks"] + value.centered, f"{path}.whitening")


def _columns_of(kernel: Kernel, path: str) -> int:
    """How many features a fitted kernel of one view compares."""
    if kernel.reads_ids or kernel.join_function() is not None or not hasattr(kernel, "columns_"):
        refuse(path, f"is a {type(kernel).__name__}, which it never is")
    return n_features_of(kernel)


def _fourier_rule(value: FourierMap, sizes: Sizes, path: str) -> None:
    """Frequencies are those of the kernel's features, and each has a cosine and a sine."""
    agree(sizes, "read", _columns_of(value.kernel, f"{path}.kernel"), f"{path}.frequencies")
    agree(sizes, "features", 2 * value.frequencies.shape[1], f"{path}.frequencies")


def _exact_rule(value: ExactMap, sizes: Sizes, path: str) -> None:
    """The kernel has as many features."""
    try:
        width = expanded_width(value.kernel, value.label)
    except ValueError:
        refuse(f"{path}.kernel", f"is a {type(value.kernel).__name__}, which it never is")
    agree(sizes, "features", width, f"{path}.width")


def _transformer_rule(value: TransformerMap, sizes: Sizes, path: str) -> None:
    """The transformer takes the kernel's features and gives those of the map."""
    agree(sizes, "own", _columns_of(value.kernel, f"{path}.kernel"), f"{path}.preparation")
    agree(sizes, "features", value.preparation.n_features, f"{path}.preparation")


def _projected_rule(value: ProjectedMap, sizes: Sizes, path: str) -> None:
    """What is projected are the kernel's features, and landmarks and frequencies are those of projected samples."""
    agree(sizes, "read", _columns_of(value.kernel, f"{path}.kernel"), f"{path}.directions")
    term = value.term
    if isinstance(term, NystroemTerm):
        numbers("raw", "components")(term.points, sizes, f"{path}.term.points")
    if isinstance(term, FourierTerm):
        agree(sizes, "components", len(term.frequencies), f"{path}.term.frequencies")
    rows = {LinearTerm: sizes["read"], NystroemTerm: sizes.get("raw")}.get(type(term))
    if rows != (None if value.whitening is None else len(value.whitening)):
        refuse(f"{path}.whitening", "does not fit the features")


def explicit_state_rule(value: ExplicitState, sizes: Sizes, path: str) -> None:
    """No samples are kept, and kernels that are used have features."""
    if value.stack.n_samples:
        refuse(f"{path}.stack", "holds training samples")
    for m, found in enumerate(value.maps):
        if isinstance(found, NoFeatures) and value.stack.active[m]:
            refuse(f"{path}.maps[{m}]", "lacks the features of a kernel that is used")


def explicit_gates_rule(value: ExplicitGates, sizes: Sizes, path: str) -> None:
    """Gates are open for kernels that prediction can evaluate."""
    if (value.active & ~value.stack.active).any():
        refuse(f"{path}.active", "counts kernels of which nothing is kept")


def coefficients_rule(value: Any, sizes: Sizes, path: str) -> None:
    """A model has coefficients of support vectors, or of the features of each of its kernels."""
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
        agree({"features": found.n_features}, "features", len(coef), f"{path}.feature_coef_")
    if isinstance(state, OutputStates):
        n_features = sum(len(coef) for coef in value.feature_coef_.values())
        for place, (own, rows) in enumerate(zip(state.states, state.rows, strict=True)):
            if not isinstance(own, ExplicitState):
                refuse(f"{path}._state.states[{place}]", "has no explicit features, as others have")
            where = f"{path}._state.rows[{place}]"
            check_whole(rows, where, below=n_features, of="features")
            agree({"features": sum(found.n_features for found in own.maps)}, "features", len(rows), where)


FEATURE_SCHEMAS: dict[type, Schema] = {
    FeatureMap: Schema({"trace_share": number(0.0)}),
    NystroemMap: Schema(
        {
            "landmarks": part(KernelStack, "columns", support="landmarks"),
            "whitening": numbers("raw", "features"),
            "centered": flag,
        },
        _nystroem_rule,
    ),
    DirectMap: Schema(
        {
            "kernel": part(Kernel, "columns"),
            "label": text,
            "width": size("features"),
            "by_norm": flag,
            "factor": number(0.0),
            "mean": maybe(numbers("features")),
        }
    ),
    FourierMap: Schema({"frequencies": numbers("read", "frequencies")}, _fourier_rule),
    ExactMap: Schema({"width": count(1)}, _exact_rule),
    TransformerMap: Schema({"preparation": part(Preparation, "own")}, _transformer_rule),
    ProjectedMap: Schema(
        {
            "features": part(ViewFeatures, own="read"),
            "kernel": part(Kernel, "columns"),
            "directions": numbers("read", "components"),
            "term": part((LinearTerm, FourierTerm, NystroemTerm), "components"),
            "whitening": maybe(numbers("whitened", "features")),
        },
        _projected_rule,
    ),
    LinearTerm: Schema({"width": size("components")}),
    FourierTerm: Schema({"frequencies": numbers("components", "frequencies"), "gain": number(0.0)}),
    NystroemTerm: Schema(
        {
            "kernel": part(PointKernel),
            "points": numbers("landmarks", "components"),
            "landmarks": numbers(0, "read"),
            "basis": numbers(0, "features"),
        }
    ),
    NoFeatures: Schema({"whitening": numbers(0, "features")}),
    ExplicitState: Schema(
        {
            "stack": part(KernelStack, "columns", "kernels", support="nobody"),
            "maps": several(part(FeatureMap, "columns"), "kernels"),
            "n_samples": count(),
        },
        explicit_state_rule,
    ),
    ExplicitGates: Schema(
        {
            "inputs": part((GatingInputs, NoInputs), "columns", "kernels"),
            "active": flags("kernels"),
            "mean_weights": numbers("kernels", low=0.0),
            "open_share": numbers("kernels", low=0.0),
        },
        explicit_gates_rule,
    ),
}
