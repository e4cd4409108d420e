"""What the methods of the benchmark share: the kernels of a problem, values of C, and one table of all columns.

Each view is prepared by the recipe of the library (`recipes.preparation`), from what the columns of the whole problem
hold and with constants of the training samples: counts by TF-IDF, other sparse rows that are not negative to unit
length, other dense views standardised. Methods get the same kernels wherever they take kernels, which are those of
``CohortModel("mean")``: a linear one of each view and, but for rows of unit length, a Gaussian one. Where a problem has
one view only, several kernels compare the same columns: a linear one, a polynomial one of degree 2 (not on rows of unit
length), and Gaussian ones of three widths (the mean distance to the nearest neighbour, the usual width, the median
distance).

Methods that read columns get `SideBySide`, which prepares each view by the same transformer. A sample that lacks a view
has 0 in its columns, which is the mean of a standardised column, and 1 in one more column that the view gets where some
training sample lacks it: mean imputation with a missing indicator. Other packages that take kernel matrices and no
missing views get those of columns that are prepared so (`OnKernelMatrices`): of each view a linear and a Gaussian
kernel, both divided by the sum of the variances of its columns, as the library's Gaussian kernel of the usual width is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from kernelweave.compare import Problem
from kernelweave.estimators import MKLClassifier
from kernelweave.kernels import Gaussian, Kernel, Linear, Polynomial
from kernelweave.recipes.kinds import column_kinds
from kernelweave.recipes.layout import TableLayout
from kernelweave.recipes.preparation import has_unit_rows, view_kernels, view_transformer
from kernelweave.views.frames import SparseRowsDtype


def view_preparations(problem: Problem) -> dict[str, Any]:
    """The unfitted transformer of each view of a problem, as the library's recipe chooses it.

    Parameters
    ----------
    problem : Problem

    Examples
    --------
    >>> from experiments.benchmark.data_sets import find_data_set
    >>> from experiments.benchmark.ingredients import view_preparations
    >>> view_preparations(find_data_set("wdbc")(None))
    {'x': StandardScaler()}
    """
    layout, table = _layout(problem)
    return {view.name: view_transformer(view, table) for view in layout.views}


def _layout(problem: Problem) -> tuple[TableLayout, pd.DataFrame]:
    """The views of a problem as recipes read them, and their table."""
    layout = TableLayout.of(problem.X, column_kinds(problem.X)).only(list(problem.views))
    table, _ = layout.table(problem.X)
    return layout.with_means(table), table


class SideBySide(TransformerMixin, BaseEstimator):
    """The columns of views, prepared with constants of the training samples, side by side.

    Parameters
    ----------
    preparations : mapping from str to transformer
        The unfitted transformer of each view of a data frame as `stack_views` makes it, see `view_preparations`.
    fill : bool
        Whether samples that lack a view get 0, the mean of standardised columns, and an indicator; otherwise NaN, in a
        dense table.
    components : int or None
        Views that are sparse when prepared, and others with more than `widest` columns, are reduced to so many leading
        singular directions.
    widest : int
        See `components`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernelweave import stack_views
    >>> from experiments.benchmark.ingredients import SideBySide
    >>> X = stack_views({"a": [[1.0], [3.0], [np.nan]], "b": [[0.0], [1.0], [2.0]]})
    >>> SideBySide({"a": StandardScaler(), "b": StandardScaler()}).fit_transform(X).round(1)
    array([[-1. ,  0. , -1.2],
           [ 1. ,  0. ,  0. ],
           [ 0. ,  1. ,  1.2]])
    """

    def __init__(
        self,
        preparations: Mapping[str, Any],
        *,
        fill: bool = True,
        components: int | None = None,
        widest: int = 1000,
    ):
        self.preparations = preparations
        self.fill = fill
        self.components = components
        self.widest = widest

    def fit(self, X: pd.DataFrame, y: Any = None) -> SideBySide:
        """Learn the constants of each view from the samples that have it.

        Parameters
        ----------
        X : DataFrame
        y : ignored
        """
        self.prepared_: dict[str, Any] = {}
        self.is_missing_: dict[str, bool] = {}
        for view, preparation in self.preparations.items():
            block, present = view_block(X, view)
            self.is_missing_[view] = not bool(present.all())
            self.prepared_[view] = self._fitted(preparation, block[present]) if present.any() else None
        return self

    def transform(self, X: pd.DataFrame) -> Any:
        """The prepared columns, an array, or a CSR matrix where a view is sparse and stays so.

        Parameters
        ----------
        X : DataFrame
        """
        check_is_fitted(self)
        pieces = [piece for view in self.preparations for piece in self._pieces(X, view)]
        if any(sp.issparse(piece) for piece in pieces):
            return sp.hstack(pieces, format="csr")
        return np.hstack(pieces) if pieces else np.zeros((len(X), 0))

    def _fitted(self, preparation: Any, block: Any) -> Any:
        """The transformer of a view, fitted, with the reduction of what it makes."""
        own = clone(preparation)
        values = own.fit_transform(block)
        width = values.shape[1]
        if self.components is None or not (sp.issparse(values) or width > self.widest):
            return own
        return make_pipeline(own, TruncatedSVD(min(self.components, width - 1), random_state=0).fit(values))

    def _pieces(self, X: pd.DataFrame, view: str) -> list[Any]:
        """The prepared columns of a view and its indicator."""
        preparation = self.prepared_[view]
        if preparation is None:  # no training sample has the view
            return []
        block, present = view_block(X, view)
        given = block if sp.issparse(block) else np.where(present[:, None], block, 0.0)
        values = preparation.transform(given)
        if not sp.issparse(values):
            values = np.where(present[:, None], values, 0.0 if self.fill else np.nan)
        indicator = (~present).astype(float)[:, None]
        return [values, indicator] if self.fill and self.is_missing_[view] else [values]


def view_block(X: pd.DataFrame, view: str) -> tuple[Any, np.ndarray]:
    """The columns of a view, an array or a CSR matrix, and which samples have it.

    Parameters
    ----------
    X : DataFrame
        As `stack_views` makes it.
    view : str

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import stack_views
    >>> from experiments.benchmark.ingredients import view_block
    >>> block, present = view_block(stack_views({"a": [[1.0, 2.0], [np.nan, np.nan]]}), "a")
    >>> block.shape, present
    ((2, 2), array([ True, False]))
    """
    if is_sparse(X, view):
        rows: Any = X[view].array
        return rows.matrix, np.asarray(rows.present)
    block = X[[column for column in X.columns if str(column).partition("__")[0] == view]].to_numpy(dtype=float)
    return block, ~np.isnan(block).all(axis=1)


def is_sparse(X: pd.DataFrame, view: str) -> bool:
    """Whether a view is a column of sparse rows.

    Parameters
    ----------
    X : DataFrame
    view : str

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from kernelweave import stack_views
    >>> from experiments.benchmark.ingredients import is_sparse
    >>> is_sparse(stack_views({"words": sp.csr_array([[0, 1], [2, 0]])}), "words")
    True
    """
    return view in X.columns and isinstance(X[view].dtype, SparseRowsDtype)


COSTS = (1.0, 10.0, 0.1, 100.0)  # C of kernel machines; the first of equally good ones counts
WIDTHS = {"narrow": "nearest", "usual": "scale", "wide": "median"}


def kernels_of(problem: Problem) -> list[tuple[str, Kernel]]:
    """The kernels of a problem, by name: of several views those of ``CohortModel("mean")``.

    Parameters
    ----------
    problem : Problem

    Examples
    --------
    >>> from experiments.benchmark.data_sets import find_data_set
    >>> from experiments.benchmark.ingredients import kernels_of
    >>> [name for name, _ in kernels_of(find_data_set("multifeat")(None))][:3]
    ['fac-linear', 'fac-gaussian', 'fou-linear']
    """
    layout, table = _layout(problem)
    pairs = [(view, view_transformer(view, table)) for view in layout.views]
    if len(problem.views) > 1:
        return [kernel for view, own in pairs for kernel in view_kernels(view, table, own)]
    ((view, own),) = pairs
    several: list[tuple[str, Kernel]] = [("linear", Linear(view.name, transformer=own))]
    if not has_unit_rows(view, table):
        several.append(("polynomial", Polynomial(view.name, degree=2, transformer=own)))
    widths = WIDTHS.items()
    return several + [(f"gaussian-{label}", Gaussian(view.name, scale=w, transformer=own)) for label, w in widths]


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
    >>> from experiments.benchmark.data_sets import find_data_set
    >>> from experiments.benchmark.ingredients import machines
    >>> list(machines(find_data_set("wdbc")(None), LpMKL(), costs=(1.0, 10.0), over={"p": (1.5, 2.0)}))
    ['p=1.5, C=1', 'p=1.5, C=10', 'p=2, C=1', 'p=2, C=10']
    """
    names, kernels = list(over or {}), kernels_of(problem)
    found = {}
    for values in product(*(over or {}).values()):
        given = dict(zip(names, values, strict=True))
        words = [f"{name}={value:.3g}" for name, value in given.items()]
        for C in costs:
            own = clone(combiner).set_params(**given)
            model = MKLClassifier(kernels, own, C=C, random_state=0, **options)
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
    >>> from experiments.benchmark.data_sets import find_data_set
    >>> from experiments.benchmark.ingredients import on_columns
    >>> problem = find_data_set("multifeat-block")(None)
    >>> model = on_columns(problem, KNeighborsClassifier()).fit(problem.X[::20], problem.y[::20])
    >>> model.predict(problem.X[:2]).shape
    (2,)
    """
    return make_pipeline(SideBySide(view_preparations(problem), **options), classifier)


_LEAST = 1e-12  # variance of a view that is constant


class OnKernelMatrices(ClassifierMixin, BaseEstimator, ABC):
    """A classifier that makes kernel matrices of views.

    Subclasses have `preparations` (see `SideBySide`) among their parameters, and `fit` and `decision_function`.
    """

    preparations: Any
    classes_: np.ndarray

    def _fit_views(self, X: Any) -> np.ndarray:
        """Kernels of the training samples, of shape (n_kernels, n_samples, n_samples)."""
        self.blocks_ = [SideBySide({view: own}).fit(X) for view, own in self.preparations.items()]
        self.train_ = [_dense(block.transform(X)) for block in self.blocks_]
        return self._matrices(X)

    def _matrices(self, X: Any) -> np.ndarray:
        """Kernels of samples with the training samples, of shape (n_kernels, n_samples, n_train)."""
        found = []
        for preparation, train in zip(self.blocks_, self.train_, strict=True):
            block = _dense(preparation.transform(X))
            width = max(train.var(axis=0).sum(), _LEAST)
            products = block @ train.T
            squares = (block**2).sum(axis=1)[:, None] - 2.0 * products + (train**2).sum(axis=1)
            found += [products / width, np.exp(-squares.clip(min=0.0) / width)]
        return np.array(found)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest decision value.

        Parameters
        ----------
        X : DataFrame
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    @abstractmethod
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values, of shape (n_samples,) for two classes, otherwise (n_samples, n_classes).

        Parameters
        ----------
        X : DataFrame
        """


def _dense(values: Any) -> np.ndarray:
    return values.toarray() if hasattr(values, "toarray") else values
