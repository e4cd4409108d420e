"""What prediction reads of views and kernels, in the words of `language` and with the sizes of `models`."""

from __future__ import annotations

import numpy as np

from ... import kernels
from ...kernels.base import Kernel, ViewKernel
from ...kernels.points.projected import PointKernel
from ...kernels.preparation import Preparation
from ...kernels.stacking.normalization import METHODS as NORMALIZATIONS
from ...kernels.stacking.repair import METHODS as REPAIRS
from ...views import Views
from ...views.kept import KeptColumns
from . import rules
from .language import (
    Schema,
    anything,
    array,
    count,
    either,
    flag,
    flags,
    function,
    labels,
    maybe,
    nothing,
    number,
    numbers,
    one_of,
    optional,
    part,
    positions,
    several,
    size,
    sparse,
    text,
    together,
)
from .operations import points, transformer

_KERNEL = part(Kernel, "columns")

KERNEL_SCHEMAS: dict[type, Schema] = {
    # views
    KeptColumns: Schema(
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
        rules.kept_columns_rule,
    ),
    Views: Schema(
        {
            "X": either((KeptColumns, part(KeptColumns, "samples", "columns")), (object, sparse("samples", "columns"))),
            "names": nothing,
            "positions": positions("samples"),
            "points": optional(several(points, own=("features",))),
        }
    ),
    # kernels
    ViewKernel: Schema(
        {
            "label_": text,
            "columns_": positions("own", below="columns", filled=True),
            "sparse_": optional(maybe(flag)),
            "transformer": optional(maybe(transformer)),
            "preparation_": optional(part(Preparation, "own")),
        },
        rules.view_kernel_rule,
    ),
    kernels.Polynomial: Schema({"degree": count(1), "coef0": number(0.0)}),
    kernels.Gaussian: Schema({"scale_": number(positive=True)}),
    kernels.Laplacian: Schema({"scale_": number(positive=True)}),
    kernels.ChiSquared: Schema({"scale_": number(positive=True)}),
    kernels.Clinical: Schema(
        {"variables_": several(text, "own"), "levels_": several(maybe(several(text)), "own")}
        | {"is_nominal_": flags("own"), "low_": numbers("own", nan=True), "spread_": numbers("own", low=0.0)}
    ),
    kernels.Distance: Schema(
        {"scale_": number(positive=True), "metric": anything, "constants_": optional(anything)}, rules.distance_rule
    ),
    kernels.Function: Schema({"function": function}),
    kernels.Spectrum: Schema({"k": count(1)}),
    kernels.Constant: Schema({"value": number(0.0)}),
    kernels.KernelSum: Schema({"first_": _KERNEL, "second_": _KERNEL}),
    kernels.KernelProduct: Schema({"first_": _KERNEL, "second_": _KERNEL}),
    kernels.Pairwise: Schema(
        {
            "label_": text,
            "columns_": together(
                positions("object", below="columns", filled=True), positions("object", below="columns", filled=True)
            ),
            "names_": maybe(several(text, "object")),
            "kernel_": part(Kernel, columns="object"),
        }
    ),
    kernels.Precomputed: Schema(
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
        rules.precomputed_rule,
    ),
    PointKernel: Schema({"kernel": anything, "gain": number()}, rules.point_kernel_rule),
    kernels.Normalizer: Schema(
        {"method": one_of(*NORMALIZATIONS), "name": text, "present_": optional(flags("reference"))},
        rules.normalizer_rule,
    ),
    kernels.Repair: Schema(
        {
            "method": one_of(*REPAIRS),
            "name": text,
            "trusted": flag,
            "smallest_": maybe(number()),
            "_looked_at": flag,
        },
        rules.repair_rule,
    ),
    kernels.KernelStack: Schema(
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
        rules.stack_rule,
    ),
}
