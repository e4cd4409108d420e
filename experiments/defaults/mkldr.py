"""`MKLDR(step=...)` by a 1-nearest-neighbour classifier, beside a discriminant of the mean kernel."""

from typing import Any

import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from kernelweave.experiments.engine.comparison import Candidates, Problem
from kernelweave.experiments.methods.default_settings import (
    DENSE_VIEWS,
    SPARSE_VIEWS,
    default_comparison,
    machine,
    over_views,
)
from kernelweave.kernels import Gaussian, Kernel, Linear
from kernelweave.reduction import MKLDR, KernelFisher


def _kernels(data: Problem) -> list[tuple[str, Kernel]]:
    return over_views(data, Linear) if sp.issparse(data.X) else over_views(data, Linear, Gaussian)


def _stepping(step: str) -> Candidates:
    def candidates(data: Problem) -> dict[str, Any]:
        return {"": make_pipeline(MKLDR(_kernels(data), step=step, random_state=0), KNeighborsClassifier(1))}

    return candidates


def _fisher(data: Problem) -> dict[str, Any]:
    return {"": make_pipeline(KernelFisher(machine(data, _kernels(data))), KNeighborsClassifier(1))}


EXPERIMENT = default_comparison(
    name="mkldr",
    title="Step of MKL-DR",
    datasets=(*DENSE_VIEWS, *SPARSE_VIEWS),
    contenders={f"step={step!r}": _stepping(step) for step in ("ratio-trace", "trace-ratio")}
    | {"KernelFisher of the mean kernel": _fisher},
    default=f"step={MKLDR().step!r}",
    note="One component less than there are classes, then the 1-nearest-neighbour rule. A linear and a Gaussian kernel "
    "on each dense view, a linear one on each sparse view.",
)
