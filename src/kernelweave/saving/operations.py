"""Operations made of others: one after another, side by side on groups of columns, none at all, and with names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from .base import Operation


@dataclass(frozen=True, eq=False, repr=False)
class KeepOperation(Operation):
    """The table as it is."""

    width: int

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        return self.width

    def transform(self, X: Any) -> Any:
        """The table."""
        self._check_width(X)
        return X


@dataclass(frozen=True, eq=False, repr=False)
class ChainOperation(Operation):
    """One operation after another.

    Parameters
    ----------
    steps : list of Operation
        At least one.
    """

    steps: list[Operation]

    @property
    def takes_documents(self) -> bool:  # type: ignore[override]  # a constant of the others
        """Whether the first step takes documents."""
        return self.steps[0].takes_documents

    @property
    def n_in(self) -> int:
        """What the first step takes."""
        return self.steps[0].n_in

    @property
    def n_out(self) -> int:
        """What the last step gives."""
        return self.steps[-1].n_out

    def transform(self, X: Any) -> Any:
        """The result of the last step."""
        for step in self.steps:
            X = step.transform(X)
        return X

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Names that pass through all steps."""
        names: Any = input_features
        for step in self.steps:
            names = step.get_feature_names_out(names)
        return np.asarray(names, dtype=object)


@dataclass(frozen=True, eq=False, repr=False)
class ByColumnsOperation(Operation):
    """Operations on groups of columns, and their results side by side.

    Parameters
    ----------
    width : int
        Number of columns of the table.
    names : list of str
        What each group is called.
    columns : list of ndarray of int
        The positions of the columns of each group.
    single : list of bool
        Whether the group is one column, handed over as a sequence (of documents, for example).
    operations : list of Operation
    weights : list of float or None
        By which the result of each group is multiplied; None leaves it as it is.
    sparse : bool
        Whether the result is sparse.
    prefixes : bool
        Whether the names of the result begin with those of the groups.
    """

    width: int
    names: list[str]
    columns: list[np.ndarray]
    single: list[bool]
    operations: list[Operation]
    weights: list[float | None]
    sparse: bool
    prefixes: bool

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        return self.width

    @property
    def n_out(self) -> int:
        """What all groups give together."""
        return sum(int(operation.n_out) for operation in self.operations)

    def transform(self, X: Any) -> Any:
        """The results of all groups."""
        if not hasattr(X, "shape"):
            X = check_array(X, dtype=object, ensure_all_finite="allow-nan")
        self._check_width(X)
        results = []
        for columns, single, operation, weight in zip(
            self.columns, self.single, self.operations, self.weights, strict=True
        ):
            result = operation.transform(_chosen(X, columns, single))
            results.append(result if weight is None else result * weight)
        if not results:
            return np.zeros((X.shape[0], 0))
        if self.sparse:
            numeric = [check_array(result, accept_sparse=True, ensure_all_finite=False) for result in results]
            return sp.csr_matrix(sp.hstack(numeric, format="csr"))
        return np.hstack([result.toarray() if sp.issparse(result) else result for result in results])

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """The names that the groups give, each behind the group's name and ``__`` where there are prefixes."""
        names = self._names_in(input_features)
        found = []
        for group, columns, operation in zip(self.names, self.columns, self.operations, strict=True):
            own = operation.get_feature_names_out(names[columns])
            found += [f"{group}__{name}" for name in own] if self.prefixes else list(own)
        return np.array(found, dtype=object)


def _chosen(X: Any, columns: np.ndarray, single: bool) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, columns[0]] if single else X.iloc[:, columns]
    return X[:, columns[0]] if single else X[:, columns]


@dataclass(frozen=True, eq=False, repr=False)
class NamedOperation(Operation):
    """An operation that was fitted on columns with names.

    Parameters
    ----------
    names : list of str
        Those of the table's columns.
    operation : Operation
    """

    names: list[str]
    operation: Operation

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        return len(self.names)

    @property
    def n_out(self) -> int:
        """Number of columns of the result."""
        return self.operation.n_out

    def transform(self, X: Any) -> Any:
        """The result of the operation."""
        return self.operation.transform(X)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """The names that the operation makes of those of the columns."""
        if input_features is not None and list(input_features) != self.names:
            raise ValueError("input_features is not equal to feature_names_in_")
        return self.operation.get_feature_names_out(self.names)
