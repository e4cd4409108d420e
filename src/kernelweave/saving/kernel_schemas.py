"""What prediction reads of views, kernels and their explicit features, in the words of `validation.schemas`.

Each declaration, with the functions before it, will stand beside its class as the class attribute `_saved`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import kernels
from ..arrays import HOST
from ..combiners.feature_maps import ViewFeatures
from ..features.base import FeatureMap
from ..features.exact import DirectMap, ExactMap, TransformerMap, expanded_width
from ..features.fourier import FourierMap
from ..features.nystroem import NystroemMap
from ..kernels import Kernel, KernelStack, ViewKernel
from ..kernels.distances import DistanceMatrix
from ..kernels.normalization import NORMALIZATIONS, REPAIRS
from ..kernels.points import PointKernel
from ..kernels.preparation import Preparation, TableKind
from ..kernels.stack import CACHE_BYTES, Made
from ..stacks.explicit import NoFeatures
from ..stacks.localized import FourierTerm, LinearTerm, NystroemTerm, ProjectedMap
from ..validation.schemas import (
    SCHEMAS,
    Schema,
    Sizes,
    agree,
    anything,
    array,
    count,
    declared,
    either,
    expect,
    flag,
    flags,
    function,
    is_entry,
    labels,
    maybe,
    nothing,
    number,
    numbers,
    one_of,
    optional,
    part,
    positions,
    refuse,
    several,
    size,
    sparse,
    text,
    together,
    transformer,
)
from ..views import Views
from ..views.frames import KeptColumns

_KERNEL = part(Kernel, "columns")


def _preparation_rule(value: Preparation, sizes: Sizes, path: str) -> None:
    agree(sizes, "own", value.transformer.n_in, f"{path}.transformer")
    expect(value.n_features, value.transformer.n_out, f"{path}.transformer", "features")
    if value.transformer.takes_documents != value.documents:
        refuse(f"{path}.documents", f"is {value.documents} for an operation of the other kind")


SCHEMAS[Preparation] = Schema(
    {"transformer": part("Operation"), "kind": part(TableKind, "own"), "documents": flag, "n_features": count()},
    _preparation_rule,
)


def _nothing_inside(value: Any, sizes: Sizes, path: str) -> None:
    if type(value) is not dict or value:
        refuse(path, "is not an empty dict")


SCHEMAS[TableKind] = Schema(
    {
        "is_frame": flag,
        "names": maybe(several(text, "own")),
        "dtypes": _nothing_inside,
        "texts": optional(maybe(several(flag, "own"))),
    }
)


def _kept_columns_rule(value: KeptColumns, sizes: Sizes, path: str) -> None:
    """No column is in two blocks, and samples that lack a view have no entries there."""
    blocks = [columns for columns, *_ in [*value.blocks, *(value.sparse or [])]]
    seen = np.concatenate([np.empty(0, dtype=int), *blocks])
    if len(np.unique(seen)) < len(seen):
        refuse(f"{path}.blocks", "hold columns twice")
    for place, (_, values, present) in enumerate(value.sparse or []):
        if np.diff(values.indptr)[~present].any():
            refuse(f"{path}.sparse[{place}]", "has entries of samples that lack the view")
    for place, (_, values) in enumerate(value.blocks):
        if values.dtype.kind == "O" and not all(is_entry(entry) for entry in values.ravel()):
            refuse(f"{path}.blocks[{place}]", "holds what is neither text nor a number")


SCHEMAS[KeptColumns] = Schema(
    {
        "n_samples": size("samples"),
        "n_features": size("columns"),
        "blocks": several(
            together(
                positions("block", below="columns", ascending=True),
                array("fiubO", "samples", "block", nan=True),
            ),
            own=("block",),
        ),
        "sparse": optional(
            maybe(
                several(
                    together(
                        positions("block", below="columns", ascending=True),
                        sparse("samples", "block"),
                        array("b", "samples"),
                    ),
                    own=("block",),
                )
            )
        ),
    },
    _kept_columns_rule,
)


def _points(value: Any, sizes: Sizes, path: str) -> None:
    together(part("Preparation"), numbers("samples", "features"))(value, sizes, path)
    agree(sizes, "features", value[0].n_features, f"{path}[1]")


SCHEMAS[Views] = Schema(
    {
        "X": either((KeptColumns, part(KeptColumns, "samples", "columns")), (object, sparse("samples", "columns"))),
        "names": nothing,
        "positions": positions("samples"),
        "points": optional(several(_points, own=("features",))),
    },
    transient={
        **dict.fromkeys(("_read", "_prepared", "dtypes"), dict),
        "holds_points": bool,
        "source": object,
        "labels": lambda: None,
    },
)


def _view_kernel_rule(value: ViewKernel, sizes: Sizes, path: str) -> None:
    if (value.transformer is None) != (value.preparation_ is None):
        refuse(path, "has a transformer that was not fitted, or the other way round")


SCHEMAS[ViewKernel] = Schema(
    {
        "label_": text,
        "columns_": positions("own", below="columns", filled=True),
        "sparse_": optional(maybe(flag)),
        "transformer": optional(maybe(transformer)),
        "preparation_": optional(part(Preparation, "own")),
    },
    _view_kernel_rule,
)

SCHEMAS[kernels.Polynomial] = Schema({"degree": count(1), "coef0": number(0.0)})

SCHEMAS[kernels.Gaussian] = Schema({"scale_": number(positive=True)})

SCHEMAS[kernels.Laplacian] = Schema({"scale_": number(positive=True)})

SCHEMAS[kernels.ChiSquared] = Schema({"scale_": number(positive=True)})

SCHEMAS[kernels.Clinical] = Schema(
    {"variables_": several(text, "own"), "levels_": several(maybe(several(text)), "own")}
    | {"is_nominal_": flags("own"), "low_": numbers("own", nan=True), "spread_": numbers("own", low=0.0)}
)


def n_features_of(kernel: Kernel) -> int:
    preparation = kernel.preparation_ if isinstance(kernel, ViewKernel) else None
    return len(kernel.columns()) if preparation is None else preparation.n_features


# Those of SciPy that compare vectors by themselves or with the constants that `Distance` learns.
_SCIPY_METRICS = (
    *("seuclidean", "mahalanobis", "braycurtis", "canberra", "chebyshev", "correlation", "dice", "hamming", "jaccard"),
    *("minkowski", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "sqeuclidean", "yule"),
)


def _distance_rule(value: Any, sizes: Sizes, path: str) -> None:
    from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS  # slow to import, and seldom needed

    metric = value.metric
    if isinstance(metric, DistanceMatrix):
        part(DistanceMatrix, "columns")(getattr(value, "lookup_", None), sizes, f"{path}.lookup_")
        return
    if not callable(metric) and metric not in {*PAIRWISE_DISTANCE_FUNCTIONS, *_SCIPY_METRICS}:
        refuse(f"{path}.metric", f"is {metric!r}, which is no metric")
    n_features = n_features_of(value)
    shapes = {"seuclidean": {"V": numbers(n_features)}, "mahalanobis": {"VI": numbers(n_features, n_features)}}
    needed = shapes.get(metric, {}) if isinstance(metric, str) else {}
    constants = value.constants_
    if type(constants) is not dict or set(constants) != set(needed):
        refuse(f"{path}.constants_", f"are not those of the metric {metric!r}")
    for name, kind in needed.items():
        kind(constants[name], sizes, f"{path}.constants_[{name!r}]")


SCHEMAS[kernels.Distance] = Schema(
    {"scale_": number(positive=True), "metric": anything, "constants_": optional(anything)}, _distance_rule
)

SCHEMAS[kernels.Function] = Schema({"function": function})

SCHEMAS[kernels.Spectrum] = Schema({"k": count(1)})

SCHEMAS[kernels.Constant] = Schema({"value": number(0.0)})

SCHEMAS[kernels.KernelSum] = Schema({"first_": _KERNEL, "second_": _KERNEL})

SCHEMAS[kernels.KernelProduct] = Schema({"first_": _KERNEL, "second_": _KERNEL})

SCHEMAS[kernels.Pairwise] = Schema(
    {
        "label_": text,
        "columns_": together(
            positions("object", below="columns", filled=True), positions("object", below="columns", filled=True)
        ),
        "names_": maybe(several(text, "object")),
        "kernel_": part(Kernel, columns="object"),
    }
)


def _precomputed_rule(value: Any, sizes: Sizes, path: str) -> None:
    """Every id has a similarity to itself; all columns are there unless there is a list of those that were kept."""
    n_ids = len(value.K) + len(value.rows)
    if len(value.self_similarity) != n_ids:
        refuse(f"{path}.self_similarity", f"has {len(value.self_similarity)} numbers for {n_ids} ids")
    if value.columns_kept is None:
        agree(sizes, "columns_kept", len(value.K), f"{path}.K")


SCHEMAS[kernels.Precomputed] = Schema(
    {
        "repair": anything,
        "K": numbers("ids", "columns_kept"),
        "rows": numbers("further", "columns_kept", nan=True),
        "self_similarity": numbers("all", nan=True),
        "labels": optional(labels("all")),
        "absent": optional(flags("all")),
        "columns_kept": maybe(positions("columns_kept", below="ids", ascending=True)),
        "columns_": positions(1, below="columns"),
    },
    _precomputed_rule,
)


def _point_kernel_rule(value: PointKernel, sizes: Sizes, path: str) -> None:
    """A kernel of points, whose view plays no part."""
    kernel = value.kernel
    if not (isinstance(kernel, ViewKernel) and kernel.is_differentiable):
        refuse(f"{path}.kernel", f"is a {type(kernel).__name__}, which it never is")
    for name, kind in declared(type(kernel)).attributes.items():
        kind(vars(kernel).get(name), sizes, f"{path}.kernel.{name}")


SCHEMAS[PointKernel] = Schema({"kernel": anything, "gain": number()}, _point_kernel_rule)


def _normalizer_rule(value: Any, sizes: Sizes, path: str) -> None:
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


SCHEMAS[kernels.Normalizer] = Schema(
    {"method": one_of(*NORMALIZATIONS), "name": text, "present_": optional(flags("reference"))},
    _normalizer_rule,
)


def _repair_rule(value: Any, sizes: Sizes, path: str) -> None:
    if value.needs_all_samples:
        numbers("values", low=np.finfo(float).tiny)(vars(value).get("eigenvalues_"), sizes, f"{path}.eigenvalues_")
        numbers("reference", "values")(vars(value).get("basis_"), sizes, f"{path}.basis_")
        weight = vars(value).get("root_weight_")
        numbers("reference", low=np.finfo(float).tiny)(weight, sizes, f"{path}.root_weight_")


SCHEMAS[kernels.Repair] = Schema(
    {
        "method": one_of(*REPAIRS),
        "name": text,
        "trusted": flag,
        "smallest_": maybe(number()),
        "_looked_at": flag,
    },
    _repair_rule,
)


def _is_sparse(X: Any, columns: np.ndarray | None) -> bool:
    if sp.issparse(X):
        return True
    places = X.sparse_positions()
    return len(places) > 0 if columns is None else bool(np.isin(columns, places).any())


def check_sparse(kernel: Kernel, X: Any, path: str, of_objects: bool = False) -> None:
    """Refuse a kernel that makes samples sparse although neither those of the fit were nor its transformer did."""
    parts = vars(kernel)
    prepared = isinstance(kernel, ViewKernel) and kernel.preparation_ is not None
    if parts.get("sparse_") is True and not (
        kernel.takes_sparse if prepared else _is_sparse(X, None if of_objects else parts.get("columns_"))
    ):
        refuse(f"{path}.sparse_", "is True where the training samples are not sparse")
    for name in ("first_", "second_", "kernel_"):
        if isinstance(parts.get(name), Kernel):  # `kernel_` counts columns inside an object
            check_sparse(parts[name], X, f"{path}.{name}", of_objects or name == "kernel_")


def _stack_rule(value: Any, sizes: Sizes, path: str) -> None:
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
        check_sparse(value.kernels[m], kept, f"{path}.kernels[{m}]")
        held = [preparation for preparation, _ in vars(value.reference).get("points", [])]
        parts = [part for part in value.kernels[m].parts() if getattr(part, "preparation_", None) not in held]
        columns = np.concatenate([np.empty(0, dtype=int), *(part.columns() for part in parts)])
        if there is not None and not np.isin(columns, np.concatenate([np.empty(0, dtype=int), *there])).all():
            refuse(f"{path}.reference", f"lacks columns of the kernel {value.names[m]!r}")


SCHEMAS[kernels.KernelStack] = Schema(
    {
        "reference": part(Views, "columns", samples="reference"),
        "support": part(Views, "columns", samples="support"),
        "rows": positions("support", below="reference"),
        "weight": numbers("support"),
        "names": several(text, "kernels"),
        "kernels": several(_KERNEL, "kernels"),
        "normalizers": several(part(kernels.Normalizer, "reference"), "kernels"),
        "repairs": several(part(kernels.Repair, "reference"), "kernels"),
        "active": flags("kernels"),
        "present": flags("support", "kernels"),
        "dtype": one_of(np.dtype("float64"), np.dtype("float32")),
    },
    _stack_rule,
    transient={
        "_made": Made,
        "storage": lambda: "dense",
        "place": lambda: HOST,
        "cache_bytes": lambda: CACHE_BYTES,
    },
)

SCHEMAS[FeatureMap] = Schema({"trace_share": number(0.0)})


def _nystroem_rule(value: NystroemMap, sizes: Sizes, path: str) -> None:
    """There is one kernel, and the whitening has a row for each landmark, and one for the constant."""
    expect(1, value.landmarks.n_kernels, f"{path}.landmarks", "kernels")
    agree(sizes, "raw", sizes["landmarks"] + value.centered, f"{path}.whitening")


SCHEMAS[NystroemMap] = Schema(
    {
        "landmarks": part(KernelStack, "columns", support="landmarks"),
        "whitening": numbers("raw", "features"),
        "centered": flag,
    },
    _nystroem_rule,
)


SCHEMAS[DirectMap] = Schema(
    {
        "kernel": part(Kernel, "columns"),
        "label": text,
        "width": size("features"),
        "by_norm": flag,
        "factor": number(0.0),
        "mean": maybe(numbers("features")),
    }
)


def _columns_of(kernel: Kernel, path: str) -> int:
    if kernel.reads_ids or kernel.join_function() is not None or not hasattr(kernel, "columns_"):
        refuse(path, f"is a {type(kernel).__name__}, which it never is")
    return n_features_of(kernel)


def _fourier_rule(value: FourierMap, sizes: Sizes, path: str) -> None:
    """Frequencies are those of the kernel's features, and each has a cosine and a sine."""
    agree(sizes, "read", _columns_of(value.kernel, f"{path}.kernel"), f"{path}.frequencies")
    agree(sizes, "features", 2 * value.frequencies.shape[1], f"{path}.frequencies")


SCHEMAS[FourierMap] = Schema({"frequencies": numbers("read", "frequencies")}, _fourier_rule)


def _exact_rule(value: ExactMap, sizes: Sizes, path: str) -> None:
    try:
        width = expanded_width(value.kernel, value.label)
    except ValueError:
        refuse(f"{path}.kernel", f"is a {type(value.kernel).__name__}, which it never is")
    agree(sizes, "features", width, f"{path}.width")


SCHEMAS[ExactMap] = Schema({"width": count(1)}, _exact_rule)


def _transformer_rule(value: TransformerMap, sizes: Sizes, path: str) -> None:
    agree(sizes, "own", _columns_of(value.kernel, f"{path}.kernel"), f"{path}.preparation")
    agree(sizes, "features", value.preparation.n_features, f"{path}.preparation")


SCHEMAS[TransformerMap] = Schema({"preparation": part(Preparation, "own")}, _transformer_rule)


def _projected_rule(value: ProjectedMap, sizes: Sizes, path: str) -> None:
    """The kernel's features are what is projected; landmarks and frequencies are those of projected samples."""
    agree(sizes, "read", _columns_of(value.kernel, f"{path}.kernel"), f"{path}.directions")
    term = value.term
    if isinstance(term, NystroemTerm):
        numbers("raw", "components")(term.points, sizes, f"{path}.term.points")
    if isinstance(term, FourierTerm):
        agree(sizes, "components", len(term.frequencies), f"{path}.term.frequencies")
    rows = {LinearTerm: sizes["read"], NystroemTerm: sizes.get("raw")}.get(type(term))
    if rows != (None if value.whitening is None else len(value.whitening)):
        refuse(f"{path}.whitening", "does not fit the features")


SCHEMAS[ProjectedMap] = Schema(
    {
        "features": part(ViewFeatures, own="read"),
        "kernel": part(Kernel, "columns"),
        "directions": numbers("read", "components"),
        "term": part((LinearTerm, FourierTerm, NystroemTerm), "components"),
        "whitening": maybe(numbers("whitened", "features")),
    },
    _projected_rule,
)

SCHEMAS[LinearTerm] = Schema({"width": size("components")})

SCHEMAS[FourierTerm] = Schema({"frequencies": numbers("components", "frequencies"), "gain": number(0.0)})

SCHEMAS[NystroemTerm] = Schema(
    {
        "kernel": part(PointKernel),
        "points": numbers("landmarks", "components"),
        "landmarks": numbers(0, "read"),
        "basis": numbers(0, "features"),
    }
)

SCHEMAS[NoFeatures] = Schema({"whitening": numbers(0, "features")})
