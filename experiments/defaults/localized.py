"""`Localized()`, whose penalty is chosen on held-out samples, against the mean kernel: is gating ever dangerous?

The path of penalties and the rule of one standard error were fixed after a look at four sets of the first half
(multifeat, landuse21, wikipedia, heart); the second half (`SHOWN_ON`) was named beforehand and looked at only then.
"""

import dataclasses
from typing import Any

import scipy.sparse as sp

from kernelweave.combiners import KernelMap, Localized, Mean
from kernelweave.experiments.engine.comparison import Candidates, Problem
from kernelweave.experiments.methods.default_settings import default_comparison, machine, over_costs, over_views
from kernelweave.kernels import Gaussian, Kernel, Linear, Polynomial
from kernelweave.model_selection import RepeatedDraws

FIRST_HALF = ("multifeat", "landuse21", "wikipedia", "cora", "ngs", "mnist4", "heart", "sonar", "segment")
SHOWN_ON = ("protein_fold", "cub10", "pie10", "ccv", "movies", "reuters1200", "ionosphere", "pima", "waveform")


def _kernels(data: Problem) -> list[tuple[str, Kernel]]:
    """A linear kernel of each view; three kernels of a single view."""
    return over_views(data, Linear) if len(data.views) > 1 else over_views(data, Linear, Gaussian, Polynomial)


def _gated(l2: str | float) -> Candidates:
    def make(data: Problem, C: float) -> Any:
        inputs = KernelMap(Linear()) if sp.issparse(data.X) else None
        return machine(data, _kernels(data), combiner=Localized(l2=l2, inputs=inputs), C=C)

    return over_costs(make)


EXPERIMENT = dataclasses.replace(
    default_comparison(
        name="localized",
        title="Localized kernels against their mean",
        datasets=(*FIRST_HALF, *SHOWN_ON),
        contenders={
            "Localized()": _gated("auto"),
            "Localized(l2=0.3)": _gated(0.3),
            "Localized(l2=0.003)": _gated(0.003),
            "Mean()": over_costs(lambda data, C: machine(data, _kernels(data), combiner=Mean(), C=C)),
        },
        default="Localized()",
        note="A linear kernel on each view, or a linear, a Gaussian and a quadratic one on a single view; gates see "
        "all columns, or similarities to training samples where those are sparse. The path of penalties and the rule "
        f"that chooses among them were fixed before a look at {', '.join(SHOWN_ON)}, which were named beforehand.",
    ),
    protocol=RepeatedDraws(n_repeats=10, n_train=300, n_validation=100, n_test=1000),
)
