"""What the methods of the benchmark share: the kernels of a problem, values of C, and one table of all columns.

Methods get the same kernels wherever they take kernels. Of each dense view there are a linear and a Gaussian kernel on
standardised columns; of each sparse view there is a linear one on TF-IDF with rows of unit length. Where a problem has
one view only, several kernels compare the same columns: a linear one, on a dense table a polynomial one of degree 2,
and Gaussian ones of three widths (the mean distance to the nearest neighbour, the usual width, the median distance).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ...estimators import MKLClassifier
from ...kernels import Gaussian, Kernel, Linear, Polynomial
from ..engine.comparison import Problem
from .columns import SideBySide, is_sparse

COSTS = (1.0, 10.0, 0.1, 100.0)  # C of kernel machines; the first of equally good ones counts
WIDTHS = {"narrow": "nearest", "usual": "scale", "wide": "median"}


def kernels_of(problem: Problem) -> list[tuple[str, Kernel]]:
    """The kernels of a problem, by name.

    Parameters
    ----------
    problem : Problem

    Examples
    --------
    >>> from kernelweave.experiments.benchmark.data_sets import find_data_set
    >>> from kernelweave.experiments.benchmark.ingredients import kernels_of
    >>> [name for name, _ in kernels_of(find_data_set("multifeat")(None))][:3]
    ['fac-linear', 'fac-gaussian', 'fou-linear']
    """
    views = problem.views
    if len(views) > 1:
        return [kernel for name in views for kernel in _view_kernels(problem, name)]
    (name,) = views
    if is_sparse(problem.X, name):
        return [("linear", Linear(name, transformer=TfidfTransformer())), *_gaussians(name, TfidfTransformer())]
    several = [("linear", Linear(name, transformer=StandardScaler()))]
    several.append(("polynomial", Polynomial(name, degree=2, transformer=StandardScaler())))
    return [*several, *_gaussians(name, StandardScaler())]


def _view_kernels(problem: Problem, name: str) -> list[tuple[str, Kernel]]:
    if is_sparse(problem.X, name):
        return [(f"{name}-linear", Linear(name, transformer=TfidfTransformer()))]
    linear, gaussian = Linear(name, transformer=StandardScaler()), Gaussian(name, transformer=StandardScaler())
    return [(f"{name}-linear", linear), (f"{name}-gaussian", gaussian)]


def _gaussians(name: str, transformer: Any) -> list[tuple[str, Kernel]]:
    return [
        (f"gaussian-{label}", Gaussian(name, scale=width, transformer=transformer)) for label, width in WIDTHS.items()
    ]


def machines(
    problem: Problem,
    combiner: Any,
    *,
    costs: Sequence[float] = COSTS,
    over: Mapping[str, Sequence[Any]] | None = None,
    **options: Any,
) -> dict[str, MKLClassifier]:
    """Support vector machines on the kernels of a problem, one for each setting.

    Parameters
    ----------
    problem : Problem
    combiner : Combiner
        How the kernels become one.
    costs : sequence of float
        Values of C.
    over : mapping from parameter to values, optional
        Parameters of the combiner that are tried with each C.
    **options
        Parameters of `MKLClassifier`.

    Returns
    -------
    dict from label to MKLClassifier

    Examples
    --------
    >>> from kernelweave.combiners import LpMKL
    >>> from kernelweave.experiments.benchmark.data_sets import find_data_set
    >>> from kernelweave.experiments.benchmark.ingredients import machines
    >>> list(machines(find_data_set("wdbc")(None), LpMKL(), costs=(1.0, 10.0), over={"p": (1.5, 2.0)}))
    ['p=1.5, C=1', 'p=1.5, C=10', 'p=2, C=1', 'p=2, C=10']
    """
    names = list(over or {})
    found = {}
    for values in product(*(over or {}).values()):
        given = dict(zip(names, values, strict=True))
        words = [f"{name}={value:.3g}" for name, value in given.items()]
        for C in costs:
            own = clone(combiner).set_params(**given)
            model = MKLClassifier(kernels_of(problem), own, C=C, random_state=0, **options)
            found[", ".join([*words, f"C={C:g}"])] = model
    return found


def on_columns(problem: Problem, classifier: Any, **options: Any) -> Pipeline:
    """A classifier that reads the columns of all views side by side.

    Parameters
    ----------
    problem : Problem
    classifier : classifier
    **options
        Parameters of `SideBySide`.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from kernelweave.experiments.benchmark.data_sets import find_data_set
    >>> from kernelweave.experiments.benchmark.ingredients import on_columns
    >>> problem = find_data_set("multifeat-block")(None)
    >>> model = on_columns(problem, KNeighborsClassifier()).fit(problem.X[::20], problem.y[::20])
    >>> model.predict(problem.X[:2]).shape
    (2,)
    """
    return make_pipeline(SideBySide(list(problem.views), **options), classifier)
