"""`Projected(n_components=...)`: the same number for all problems, or one fewer than there are classes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelweave.combiners import Mean, Projected
from kernelweave.experiments.engine.comparison import Candidates, Problem
from kernelweave.experiments.methods.default_settings import (
    DENSE_VIEWS,
    default_comparison,
    machine,
    over_costs,
    over_views,
)
from kernelweave.kernels import Gaussian, Kernel, Linear

TABLES = ("heart", "ionosphere", "sonar", "pima", "spambase", "waveform", "segment", "optdigits")


def _kernels(data: Problem) -> list[tuple[str, Kernel]]:
    return over_views(data, Linear, Gaussian)


def _projected(count: Callable[[int], int]) -> Candidates:
    def make(data: Problem, C: float) -> Any:
        n_components = count(len(np.unique(data.y)))
        return machine(data, _kernels(data), combiner=Projected(n_components), C=C)

    return over_costs(make)


EXPERIMENT = default_comparison(
    name="projections",
    title="Components of projections",
    datasets=(*DENSE_VIEWS, *TABLES),
    contenders={
        "classes - 1, at least 2": _projected(lambda n_classes: max(2, n_classes - 1)),
        **{f"n_components={count}": _projected(lambda n_classes, count=count: count) for count in (2, 5, 10, 20)},
        "Mean()": over_costs(lambda data, C: machine(data, _kernels(data), combiner=Mean(), C=C)),
    },
    default="classes - 1, at least 2",
)
