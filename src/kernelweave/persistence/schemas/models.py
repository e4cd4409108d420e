"""What prediction reads of each registered class, in the words of `language`; `check_model` compares a model with it.

A class has the attributes of its base classes' schemas too. Parameters (the constructor's arguments) are always there,
and are declared only where prediction reads them. Public attributes whose names end in an underscore and that are not
declared describe the fit only, so they may be anything; other attributes that are not declared are refused. A class
whose prediction reads a new attribute takes one line here (views and kernels in `kernels`, their explicit features in
`features`, transformers in `operations`, `CohortModel` in `recipes`, its rivals in `rivals`):
`tests/persistence/test_forged.py` fails until it has it.

================  ====================================================
size              number of
================  ====================================================
columns           columns of X
kernels           kernels, P
reference         training samples that kernels compare with
support           support vectors: those that have coefficients
outputs           columns of the coefficients, q
inputs            gating inputs, before second-order terms
================  ====================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import combiners, estimators, kernels, machines, reduction
from ...combiners import Combiner
from ...combiners.gates.base import NORMS, Gate
from ...combiners.gates.inputs import FeatureSource, GatingInputs, NoInputs, ProjectedFeatures
from ...combiners.gates.regions import RegionGate
from ...combiners.localized.combiner import GatedCombiner
from ...combiners.projected.feature_maps import KernelFeatures, ViewFeatures
from ...combiners.projected.layout import Layout
from ...estimators.base import KernelMachineEstimator
from ...estimators.ensembles import Discriminant, DiscriminantEnsemble
from ...kernels.base import Kernel, ViewKernel
from ...kernels.points.projected import PointKernel
from ...kernels.stacking.normalization import METHODS as NORMALIZATIONS
from ...machines import Machine
from ...reduction.base import KernelTransformer
from ...views import Views
from ..records import (
    AugmentedStack,
    DifferenceState,
    GatedStack,
    OutputStates,
    ProjectedStack,
)
from . import rules
from .features import FEATURE_SCHEMAS, coefficients_rule
from .kernels import KERNEL_SCHEMAS
from .language import (
    SCHEMAS,
    Schema,
    Sizes,
    agree,
    anything,
    array,
    by_name,
    count,
    flag,
    flags,
    maybe,
    nothing,
    number,
    numbers,
    one_of,
    optional,
    part,
    positions,
    series,
    several,
    size,
    text,
    together,
)
from .operations import OPERATION_SCHEMAS
from .recipes import RECIPE_SCHEMAS
from .rivals import RIVAL_SCHEMAS


def check_model(model: Any) -> None:
    """Raise a `ValueError` where a model, or a part of it, does not consist of what its class consists of."""
    part(type(model))(model, {}, type(model).__name__)


def _counts_rule(value: Any, sizes: Sizes, path: str) -> None:
    """Each class has a weight; files of earlier versions hold none."""
    if "class_count_" in vars(value):
        agree(sizes, "classes", len(value.class_count_), f"{path}.class_count_")


_KERNEL = part(Kernel, "columns")
_CLASSES = Schema({"classes_": array("biufUSO", "classes")}, rules.classes_rule)
_COUNTS = Schema({"class_count_": optional(numbers("counted", low=0.0))}, _counts_rule)
_COLUMNS = Schema(
    {"n_features_in_": size("columns"), "feature_names_in_": optional(array("O", "columns"))},
    rules.feature_names_rule,
)
_KERNELS = Schema({"kernels_": several(_KERNEL, "kernels"), "kernel_names_": several(text, "kernels")})
_COMBINED = Schema(
    {
        "_state": part(rules.STATES, "columns", "kernels", "support"),
        "_theta": numbers("parameters"),
        "combiner_": part(Combiner),
    }
)

SCHEMAS |= {
    **OPERATION_SCHEMAS,
    **KERNEL_SCHEMAS,
    **FEATURE_SCHEMAS,
    **RECIPE_SCHEMAS,
    **RIVAL_SCHEMAS,
    # machines
    machines.OneVsOneMachine: Schema({"n_classes": count(2)}),
    machines.OneVsAllMachine: Schema({"n_classes": count(2)}),
    machines.JointMachine: Schema({"n_classes": count(2)}),
    machines.LeastSquaresMachine: Schema({"n_outputs": count(1)}),
    machines.TargetsMachine: Schema({"n_outputs": count(1)}),
    # combiners and their states
    combiners.PolynomialMKL: Schema({"degree": count(1, 1000), "constant": number(0.0), "tau_": number(0.0)}),
    combiners.GeneralizedMKL: Schema({"form": one_of("product", "sum")}),
    combiners.KernelDifference: Schema({"form": one_of("absolute", "difference", "square"), "tau": number(0.0)}),
    combiners.PerOutput: Schema({"combiners_": several(part(Combiner))}),
    GatedCombiner: Schema({"gating_": part(Gate), "gate_tol": number(0.0)}),
    combiners.Projected: Schema({"layout_": part(Layout)}),
    Gate: Schema({"norm": optional(one_of(*NORMS))}),
    RegionGate: Schema({"centers_": numbers("centers", "inputs")}),
    Layout: Schema(
        {
            "n_gating": count(),
            "gating_shape": maybe(together(count(), count())),
            "shapes": several(together(count(), count())),
            "constraint": text,
        }
    ),
    GatingInputs: Schema(
        {
            "source": part((FeatureSource, combiners.KernelMap, ProjectedFeatures), "columns", "kernels", "inputs"),
            "quadratic": flag,
            "scaling": maybe(text),
            "mean_": numbers("inputs"),
            "spread_": numbers("inputs", inf=True, low=np.finfo(float).tiny),
            "length_": number(positive=True),
        }
    ),
    FeatureSource: Schema(
        {
            "selector": anything,
            "takes_sparse": optional(flag),
            "groups_": several(together(text, positions("own", below="columns", filled=True)), own=("own",)),
            "readers_": optional(maybe(several(maybe(part(ViewKernel, "columns"))))),
        },
        rules.feature_source_rule,
    ),
    combiners.KernelMap: Schema(
        {"kernel_": _KERNEL, "landmarks_": part(Views, "columns", samples="inputs")}, rules.kernel_map_rule
    ),
    ProjectedFeatures: Schema(
        {
            "stack": part(kernels.KernelStack, "columns", "kernels"),
            "maps": several(part((ViewFeatures, KernelFeatures)), "kernels"),
            "chosen": several(count()),
            "takes_sparse": optional(flag),
            "_features": nothing,
        },
        rules.projected_features_rule,
    ),
    ViewFeatures: Schema(
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
    ),
    KernelFeatures: Schema(
        {
            "method": one_of("kpca", "map"),
            "names": anything,
            "kernel": part(PointKernel),
            "training": maybe(numbers("reference", "values")),
            "eigenvalues": optional(anything),
        },
        rules.kernel_features_rule,
    ),
    AugmentedStack: Schema(
        {
            "stack": part(kernels.KernelStack, "columns", "kernels", "support"),
            "samples": numbers("support", "kernels"),
        }
    ),
    GatedStack: Schema(
        {
            "stack": part(kernels.KernelStack, "columns", "kernels", "support"),
            "inputs": part((GatingInputs, NoInputs), "columns", "kernels"),
            "codes": nothing,
            "latest": together(nothing, nothing),
            "penalty": anything,
            "gates": numbers("support", "kernels"),
            "active": flags("kernels"),
            "open_share": numbers("kernels"),
        },
        rules.gated_stack_rule,
    ),
    ProjectedStack: Schema(
        {
            "stack": part(kernels.KernelStack, "columns", "kernels", support="compared"),
            "maps": several(part((ViewFeatures, KernelFeatures)), "kernels"),
            "points": several(numbers("some", "components"), "kernels", own=("some", "components")),
            "directions": several(numbers("read", "components"), "kernels", own=("read", "components")),
            "features": nothing,
            "evaluation": nothing,
            "has_widths": anything,
        },
        rules.projected_stack_rule,
    ),
    DifferenceState: Schema(
        {
            "stack": part(kernels.KernelStack, "columns", "kernels", support="reference"),
            "signs": maybe(numbers("reference")),
            "first_coef": maybe(numbers("reference", 1)),
            "first_intercept": maybe(numbers(1)),
            "repair": part(kernels.Repair, "reference"),
            "rows": positions("support", below="reference"),
            "differences": several(numbers("reference", "reference")),
        }
    ),
    OutputStates: Schema(
        {
            "rows": several(positions("own", below="support"), own=("own",)),
            "active": several(flags("kernels")),
            "thetas": several(numbers("own"), own=("own",)),
            "states": anything,
        },
        rules.output_states_rule,
    ),
    # estimators and transformers
    KernelMachineEstimator: _COLUMNS
    | _KERNELS
    | Schema(
        {
            "dual_coef_": optional(numbers("outputs", "support")),
            "intercept_": numbers("outputs"),
            "support_": optional(positions("support")),
            "feature_coef_": optional(by_name(numbers("own", "outputs"), own=("own",))),
            "storage_": optional(one_of("dense", "lazy")),
            "_rule": part(Machine),
        }
    )
    | _COMBINED
    | Schema(rule=rules.combined_rule)
    | Schema(rule=coefficients_rule),
    estimators.MKLClassifier: _CLASSES | Schema(rule=rules.machine_rule) | _COUNTS,
    estimators.MKLRegressor: Schema({"target_names_": optional(several(rules.label, "outputs"))}, rules.machine_rule),
    estimators.MKLOneClass: Schema(rule=rules.machine_rule),
    estimators.SparseLargeMarginClassifier: _COLUMNS
    | _KERNELS
    | _CLASSES
    | Schema(
        {"dual_coef_": numbers("outputs", "support"), "intercept_": numbers("outputs"), "_rule": part(Machine)},
        rules.machine_rule,
    )
    | _COUNTS
    | _COMBINED
    | Schema(rule=rules.combined_rule),
    DiscriminantEnsemble: _COLUMNS
    | _KERNELS
    | _CLASSES
    | _COUNTS
    | Schema(
        {
            "_state": part(kernels.KernelStack, "columns", "kernels", "support"),
            "_discriminants": several(part(Discriminant, "support", "classes"), "kernels"),
        }
    ),
    estimators.KernelSAMME: Schema({"kernel_weights_": series("kernels")}),
    Discriminant: Schema(
        {
            "coefficients": numbers("support", "components"),
            "places": numbers("places", "components"),
            "labels": positions("places", below="classes"),
        }
    ),
    KernelTransformer: _COLUMNS
    | _KERNELS
    | _CLASSES
    | Schema(
        {
            "coef_": numbers("support", "components"),
            "offset_": numbers("components"),
            "n_components_": size("components"),
        }
    )
    | _COMBINED
    | Schema(rule=rules.combined_rule),
    reduction.MKLDR: _COLUMNS
    | _KERNELS
    | Schema(
        {
            "_state": part(kernels.KernelStack, "columns", "kernels", "support"),
            "alphas_": numbers("support", "components"),
            "kernel_weights_": series("kernels"),
            "_n_features_out": size("components"),
        }
    ),
    reduction.LocalFisher: _COLUMNS
    | Schema(
        {
            "mean_": numbers("columns"),
            "components_": numbers("components", "columns"),
            "n_components_": size("components"),
        }
    ),
    reduction.FromEstimator: Schema({"estimator_": part(KernelMachineEstimator)}, rules.from_estimator_rule),
}
