"""What all operations share: `transform`, names of features, and the checks of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

FLOATS = [np.float64, np.float32]


class Operation:
    """One step of preparation: a function of a table (or of documents) whose constants are plain data.

    An operation has the two methods of scikit-learn's transformers that kernels call, and gives what the transformer
    gave that it was made from. It cannot be fitted again.

    Attributes
    ----------
    n_in, n_out : int
        Numbers of columns of the table and of the result.
    takes_documents : bool
        Whether `transform` takes a sequence of documents in the place of a table.
    """

    takes_documents = False

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        raise NotImplementedError

    @property
    def n_out(self) -> int:
        """Number of columns of the result."""
        return self.n_in

    def transform(self, X: Any) -> Any:
        """The prepared samples: an array or a CSR matrix of shape (n_samples, n_out)."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Names of the result's columns, made of those of the table's (by default x0, x1, ...)."""
        return self._names_in(input_features)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_in={self.n_in}, n_out={self.n_out})"

    def _names_in(self, given: Sequence[str] | None) -> np.ndarray:
        if given is None:
            return np.array([f"x{place}" for place in range(self.n_in)], dtype=object)
        names = np.asarray(given, dtype=object)
        if names.shape != (self.n_in,):
            raise ValueError(f"input_features should have length equal to number of features ({self.n_in})")
        return names

    def _table(self, X: Any, *, dtype: Any = FLOATS, nan: bool = False, sparse: str | bool = False) -> Any:
        """A checked copy of a table that has as many columns as the one of the fit.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix
        dtype : type, list of types or None
            The types that it may have; None for any.
        nan : bool
            Whether cells may be NaN.
        sparse : str or bool
            The format of a sparse table, False where it must not be sparse.
        """
        values = check_array(
            X,
            accept_sparse=sparse,
            dtype=dtype,
            ensure_all_finite="allow-nan" if nan else True,
            copy=True,
            force_writeable=True,  # pandas gives columns of text or categories read-only
            ensure_min_samples=0,
            ensure_min_features=0,
        )
        self._check_width(values)
        return values

    def _check_width(self, X: Any) -> None:
        if X.ndim != 2 or X.shape[1] != self.n_in:
            found = f"{X.shape[1]} features" if X.ndim == 2 else f"{X.ndim} dimension(s)"
            raise ValueError(f"the table to prepare has {found} where {self.n_in} features are expected")


def columns_of(X: Any) -> list[np.ndarray]:
    """The columns of a table, each with the type that it has there."""
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, place] for place in range(X.shape[1])]
        return [check_array(column, ensure_2d=False, dtype=None, ensure_all_finite="allow-nan") for column in columns]
    if sp.issparse(X):
        raise ValueError("categories cannot be read from a sparse table")
    array = check_array(X, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=0, ensure_min_features=0)
    return [array[:, place] for place in range(array.shape[1])]
