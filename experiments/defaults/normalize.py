"""`MKLClassifier(normalize=...)`: what is done to each kernel before they are combined."""

from typing import Any

import scipy.sparse as sp

from kernelweave.estimators import MKLClassifier
from kernelweave.experiments.engine.comparison import Candidates, Problem
from kernelweave.experiments.methods.default_settings import (
    DENSE_VIEWS,
    REGRESSION,
    SPARSE_VIEWS,
    TWO_CLASSES,
    default_comparison,
    machine,
    over_costs,
    over_views,
)
from kernelweave.kernels import Gaussian, Linear


def _normalized(way: str | None) -> Candidates:
    def make(data: Problem, C: float) -> Any:
        kernels = over_views(data, Linear) if sp.issparse(data.X) else over_views(data, Linear, Gaussian)
        return machine(data, kernels, normalize=way, C=C)

    return over_costs(make)


EXPERIMENT = default_comparison(
    name="normalize",
    title="Normalisation of kernels",
    datasets=(*TWO_CLASSES, *DENSE_VIEWS, *SPARSE_VIEWS, *REGRESSION),
    contenders={f"normalize={way!r}": _normalized(way) for way in ("unit-diagonal", "unit-trace", "center", None)},
    default=f"normalize={MKLClassifier().normalize!r}",
    note="The mean of a linear and a Gaussian kernel on each dense view, of a linear one on each sparse view. "
    "Centring changes no machine with a bias, only what combiners learn: here it is as good as None.",
)
