"""What prediction reads of the transformers in `reduction`, in the words of `validation.schemas`.

Each declaration, with the functions before it, will stand beside its class as the class attribute `_saved`.
"""

from __future__ import annotations

from typing import Any

from .. import combiners, reduction
from ..estimators.base import KernelMachineEstimator
from ..reduction.base import KernelTransformer
from ..validation.schemas import CLASS_LABELS, COLUMNS, SCHEMAS, Schema, Sizes, numbers, part, refuse, series, size
from .model_schemas import COMBINED

SCHEMAS[KernelTransformer] = (
    CLASS_LABELS
    | Schema(
        {
            "coef_": numbers("support", "components"),
            "offset_": numbers("components"),
            "n_components_": size("components"),
        }
    )
    | COMBINED
)

SCHEMAS[reduction.MKLDR] = Schema(
    {
        "alphas_": numbers("support", "components"),
        "kernel_weights_": series("kernels"),
        "_n_features_out": size("components"),
    }
)

SCHEMAS[reduction.LocalFisher] = COLUMNS | Schema(
    {
        "mean_": numbers("columns"),
        "components_": numbers("components", "columns"),
        "n_components_": size("components"),
    }
)


def _from_estimator_rule(value: Any, sizes: Sizes, path: str) -> None:
    if not isinstance(value.estimator_.combiner_, combiners.Projected):
        refuse(f"{path}.estimator_", "has no projections")


SCHEMAS[reduction.FromEstimator] = Schema({"estimator_": part(KernelMachineEstimator)}, _from_estimator_rule)
