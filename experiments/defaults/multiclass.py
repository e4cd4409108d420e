"""`MKLClassifier(multiclass=...)` and the least-squares machine, on data sets with three and more classes."""

from typing import Any

import scipy.sparse as sp

from kernelweave.estimators import MKLClassifier
from kernelweave.experiments.engine.comparison import Candidates, Problem
from kernelweave.experiments.methods.default_settings import (
    DENSE_VIEWS,
    SEVERAL_CLASSES,
    SPARSE_VIEWS,
    TEXT,
    default_comparison,
    machine,
    over_costs,
    over_views,
)
from kernelweave.kernels import Gaussian, Kernel, Linear

WAYS = {
    "one-vs-one": {"multiclass": "one-vs-one"},
    "one-vs-all": {"multiclass": "one-vs-all"},
    "joint": {"multiclass": "joint"},
    "least squares": {"multiclass": "one-vs-all", "machine": "least-squares"},
}
DEFAULT = MKLClassifier().multiclass


def over(dense: type[Kernel]) -> dict[str, Candidates]:
    """Every way, with kernels of a class on dense views and linear ones on sparse views."""

    def way(options: dict[str, str]) -> Candidates:
        def make(data: Problem, C: float) -> Any:
            return machine(data, over_views(data, Linear if sp.issparse(data.X) else dense), C=C, **options)

        return over_costs(make)

    return {name: way(options) for name, options in WAYS.items()}


EXPERIMENT = default_comparison(
    name="multiclass",
    title="More than two classes",
    datasets=(*TEXT, *SPARSE_VIEWS, *DENSE_VIEWS, *SEVERAL_CLASSES),
    contenders=over(Gaussian),
    default=DEFAULT,
    note="The mean of one Gaussian kernel on each dense view, of one linear kernel on each sparse view. The joint "
    "machine is the most accurate, by less than a point; its time grows steeply with the number of classes. Least "
    "squares is alike too and stores every training sample. One machine per class is the cheapest with margins.",
)
