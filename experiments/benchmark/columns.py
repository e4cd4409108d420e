"""`SideBySide`: the views of a problem as one table of numbers, for methods that read columns.

Constants come from the training samples. A dense view is standardised, a sparse view weighted by TF-IDF with rows of
unit length. A sample that lacks a view has 0 in its columns, which is the mean of a standardised column, and 1 in one
more column that the view gets where some training sample lacks it: mean imputation with a missing indicator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ...views.sparse_rows import SparseRowsDtype


class SideBySide(TransformerMixin, BaseEstimator):
    """The columns of views, prepared with constants of the training samples, side by side.

    Parameters
    ----------
    views : sequence of str
        Names of views of a data frame as `stack_views` makes it.
    fill : bool
        Whether samples that lack a view get the mean and an indicator; otherwise NaN, in a dense table.
    components : int or None
        Sparse views, and dense ones with more than `widest` columns, are reduced to so many leading singular
        directions of the prepared columns.
    widest : int
        See `components`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import stack_views
    >>> from kernelweave.experiments.benchmark.columns import SideBySide
    >>> X = stack_views({"a": [[1.0], [3.0], [np.nan]], "b": [[0.0], [1.0], [2.0]]})
    >>> SideBySide(["a", "b"]).fit_transform(X).round(1)
    array([[-1. ,  0. , -1.2],
           [ 1. ,  0. ,  0. ],
           [ 0. ,  1. ,  1.2]])
    """

    def __init__(self, views: Sequence[str], *, fill: bool = True, components: int | None = None, widest: int = 1000):
        self.views = views
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
        for view in self.views:
            block, present = view_block(X, view)
            self.is_missing_[view] = not bool(present.all())
            self.prepared_[view] = self._preparation(block).fit(block[present]) if present.any() else None
        return self

    def transform(self, X: pd.DataFrame) -> Any:
        """The prepared columns, an array, or a CSR matrix where a view is sparse and stays so.

        Parameters
        ----------
        X : DataFrame
        """
        check_is_fitted(self)
        pieces = [piece for view in self.views for piece in self._pieces(X, view)]
        if any(sp.issparse(piece) for piece in pieces):
            return sp.hstack(pieces, format="csr")
        return np.hstack(pieces) if pieces else np.zeros((len(X), 0))

    def _preparation(self, block: Any) -> Any:
        steps = [TfidfTransformer()] if sp.issparse(block) else [StandardScaler()]
        if self.components is not None and (sp.issparse(block) or block.shape[1] > self.widest):
            steps.append(TruncatedSVD(min(self.components, block.shape[1] - 1), random_state=0))
        return make_pipeline(*steps)

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
    >>> from kernelweave.experiments.benchmark.columns import view_block
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
    >>> from kernelweave.experiments.benchmark.columns import is_sparse
    >>> is_sparse(stack_views({"words": sp.csr_array([[0, 1], [2, 0]])}), "words")
    True
    """
    return view in X.columns and isinstance(X[view].dtype, SparseRowsDtype)
