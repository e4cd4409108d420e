"""What the comparisons of defaults share: data sets, scaling, kernels, settings of C, and the protocol.

A data set enters with at most 300 training samples, the validation and test samples beside them; dense columns are
standardised and sparse views weighted by TF-IDF with rows of unit length, by constants of the training samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from ...estimators import MKLClassifier, MKLRegressor
from ...kernels import Kernel
from ...model_selection import RepeatedDraws
from ..engine.comparison import DEFAULT, Candidates, Comparison, Contender, Problem

DENSE_VIEWS = ("multifeat", "protein_fold", "landuse21", "cub10", "pie10", "wikipedia", "mnist4", "ccv")
SPARSE_VIEWS = ("cora", "movies", "ngs", "reuters1200")
TEXT = ("tr11", "tr23", "tr41", "tr45")
TWO_CLASSES = ("banana", "ringnorm", "heart", "ionosphere", "sonar", "pima", "spambase", "wdbc")
SEVERAL_CLASSES = ("letter", "optdigits", "pendigits", "segment", "usps", "waveform", "newthyroid", "olivetti")
REGRESSION = ("concrete", "winewhite", "mcycle")
COSTS = (1.0, 10.0)
PROTOCOL = RepeatedDraws(n_repeats=3, n_train=300, n_validation=100, n_test=1000)
QUICK = RepeatedDraws(n_repeats=2, n_train=60, n_validation=40, n_test=200)


def default_comparison(
    name: str,
    title: str,
    *,
    datasets: Sequence[str],
    contenders: Mapping[str, Candidates],
    default: str,
    note: str = "",
    variants: Mapping[str, str] | None = None,
) -> Comparison:
    """A default against its alternatives.

    Parameters
    ----------
    name, title : str
        The name without its beginning, such as "multiclass".
    datasets : sequence of str
        As `load_dataset` names them.
    contenders : mapping from name to candidates
    default : str
        The contender that the library takes.
    note : str
    variants : mapping from data set to variant, optional

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from kernelweave.experiments.methods.default_settings import default_comparison
    >>> ways = {"narrow": lambda data: {"": SVC(gamma=9.0)}, "wide": lambda data: {"": SVC(gamma=0.1)}}
    >>> default_comparison("width", "Width", datasets=["iris"], contenders=ways, default="wide").data_label
    'iris'
    """
    chosen = variants or {}
    return Comparison(
        name=f"{DEFAULT}{name}",
        title=title,
        source="",
        datasets={data: (data, chosen.get(data)) for data in datasets},
        contenders=tuple(Contender(label, candidates) for label, candidates in contenders.items()),
        protocol=PROTOCOL,
        scaling=scaling,
        level=0.05,
        default=default,
        skip_absent=True,
        quick={"protocol": QUICK},
        note=note,
    )


def scaling(data: Problem) -> BaseEstimator:
    """Standardised columns; for sparse views TF-IDF with rows of unit length, view by view."""
    if not sp.issparse(data.X):
        return StandardScaler().set_output(transform="pandas")
    weighted = [(name, TfidfTransformer(), columns) for name, columns in data.views.items()]
    return ColumnTransformer(weighted, sparse_threshold=1.0)


def over_views(data: Problem, *kinds: Callable[[Any], Kernel]) -> list[tuple[str, Kernel]]:
    """Kernels of each kind on each view."""
    return [(f"{name}-{number}", kind(view)) for name, view in data.views.items() for number, kind in enumerate(kinds)]


def over_costs(make: Callable[[Problem, float], BaseEstimator], costs: Iterable[float] = COSTS) -> Candidates:
    """One estimator for each C, the default C = 1 first."""
    return lambda data: {f"C = {C:g}": make(data, C) for C in costs}


def machine(data: Problem, kernels: Any, **options: Any) -> BaseEstimator:
    """An MKL machine for the task; targets of a regression are standardised."""
    if data.is_classification:
        return MKLClassifier(kernels, random_state=0, **options)
    return TransformedTargetRegressor(MKLRegressor(kernels, random_state=0, **options), transformer=StandardScaler())
