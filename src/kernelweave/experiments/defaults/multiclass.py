"""`MKLClassifier(multiclass=...)` and the least-squares machine, on data sets with three and more classes."""

from typing import Any

from kernelweave.experiments.comparison import Problem
from kernelweave.experiments.default_settings import (
    DENSE_VIEWS,
    SEVERAL_CLASSES,
    SPARSE_VIEWS,
    TEXT,
    default_comparison,
    machine,
    over_costs,
    over_views,
)
from kernelweave.kernels import Linear


def _ways(kinds: tuple[Any, ...]) -> dict[str, Any]:
    def way(**options: Any) -> Any:
        def make(data: Problem, C: float) -> Any:
            return machine(data, over_views(data, *kinds), C=C, **options)

        return over_costs(make)

    return {
        "one-vs-one": way(multiclass="one-vs-one"),
        "one-vs-all": way(multiclass="one-vs-all"),
        "joint": way(multiclass="joint"),
        "least squares": way(multiclass="one-vs-all", machine="least-squares"),
    }


EXPERIMENT = default_comparison(
    name="multiclass",
    title="More than two classes",
    datasets=(*TEXT, *SPARSE_VIEWS, *DENSE_VIEWS, *SEVERAL_CLASSES),
    contenders=_ways((Linear,)),
    default="one-vs-one",
)
