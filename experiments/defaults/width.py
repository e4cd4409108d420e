"""`Gaussian(scale=...)`: the rules for the width, on data sets of all tasks."""

from typing import Any

from kernelweave.experiments.engine.comparison import Candidates, Problem
from kernelweave.experiments.methods.default_settings import (
    DENSE_VIEWS,
    REGRESSION,
    SEVERAL_CLASSES,
    SPARSE_VIEWS,
    TWO_CLASSES,
    default_comparison,
    machine,
    over_costs,
    over_views,
)
from kernelweave.kernels import Gaussian


def _wide(rule: str) -> Candidates:
    def make(data: Problem, C: float) -> Any:
        return machine(data, over_views(data, lambda view: Gaussian(view, scale=rule)), C=C)

    return over_costs(make)


EXPERIMENT = default_comparison(
    name="width",
    title="Width of a Gaussian kernel",
    datasets=(*TWO_CLASSES, *SEVERAL_CLASSES, *DENSE_VIEWS, *SPARSE_VIEWS, *REGRESSION),
    contenders={f'scale="{rule}"': _wide(rule) for rule in ("scale", "nearest", "median")},
    default='scale="scale"',
    note="The mean of one Gaussian kernel on each view. `Gaussian(scale=None)` is the first; the median "
    "of distances is as good, and costs a pass over all pairs of samples.",
)
