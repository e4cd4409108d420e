"""Preparation inside a kernel: a transformer of scikit-learn that makes the feature vectors of a view.

A kernel with ``transformer=`` fits a copy of it to the training samples that have the view, and compares what it
returns for training and for new samples. It is always fitted and then applied (`fit`, then `transform`, never
`fit_transform`), so that training samples and new ones are treated alike.

What the transformer gets is described in `docs/preparation.md`: a data frame where X is one, else an array or a sparse
matrix; a transformer of documents gets the view's one column as a list of documents. Missing cells come as NaN, and
samples that lack the whole view do not come at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..validation import shown
from ..validation.inputs import without_mask
from ..views import Views
from ..views.handed import TableKind
from ..views.kept import KeptColumns


class Preparation:
    """A fitted transformer, and the kind of table that it takes.

    Made by `prepare`.

    Parameters
    ----------
    transformer : transformer
        Fitted.
    kind : TableKind
    documents : bool
        Whether it gets the view's one column as documents.
    n_features : int
        How many features it returns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernelweave.kernels.preparation import prepare
    >>> from kernelweave.views import Views
    >>> views = Views(np.array([[1.0], [3.0], [np.nan]]))
    >>> preparation = prepare(
    ...     StandardScaler(), views, np.array([0]), view=None, who="the kernel 'rna'", label="rna"
    ... )
    >>> preparation.read(views, np.array([0]), "the kernel 'rna'", "rna")
    (array([[-1.],
           [ 1.],
           [ 0.]]), array([ True,  True, False]))
    """

    def __init__(self, transformer: Any, kind: TableKind, *, documents: bool, n_features: int):
        self.transformer = transformer
        self.kind = kind
        self.documents = documents
        self.n_features = n_features

    def read(self, views: Views, columns: np.ndarray, who: str, label: str) -> tuple[Any, np.ndarray]:
        """The features of all samples, zero for those that lack the view, and which samples have it.

        Computed once for each `Views`.

        Parameters
        ----------
        views : Views
        columns : ndarray of int
            Those of the view.
        who, label : str
            What messages call the kernel, and the view.
        """

        def compute() -> tuple[Any, np.ndarray]:
            table, present = self._handed(views, columns, label)
            if not present.any():
                return np.zeros((len(present), self.n_features)), present
            values = _result(self.transformer, table, int(present.sum()), who)
            if values.shape[1] != self.n_features:
                raise ValueError(
                    f"{_named(self.transformer, who)} returned {values.shape[1]} features, but {self.n_features} of "
                    "the training samples; it must return the same features for any samples"
                )
            return _scattered(values, present), present

        return views.prepared(self, compute)

    def feature_names(self, columns: np.ndarray) -> list[str]:
        """What the features are called: by `get_feature_names_out`, else by the transformer's name and a number.

        Parameters
        ----------
        columns : ndarray of int
            Those of the view, whose positions are the names of columns that have none.
        """
        given = [str(column) for column in columns] if self.kind.names is None else self.kind.names
        if hasattr(self.transformer, "get_feature_names_out"):
            for names in ([given], []):  # some take no names, some only their own
                try:
                    return [str(name) for name in self.transformer.get_feature_names_out(*names)]
                except (ValueError, TypeError, AttributeError, NotImplementedError):
                    continue  # a pipeline has the method where one of its steps does not: the names below serve then
        prefix = type(self.transformer).__name__.lower()
        return [f"{prefix}{k}" for k in range(self.n_features)]

    def _handed(self, views: Views, columns: np.ndarray, label: str) -> tuple[Any, np.ndarray]:
        """What the transformer gets, of the samples that have the view, and which those are."""
        table, present = self.kind.table(views, columns, label)
        if not present.all():
            table = table.loc[present] if isinstance(table, pd.DataFrame) else table[present]
        elif not self.documents:
            table = table.copy()  # it may share memory with X, and a transformer with copy=False writes to it
        if not self.documents:
            return table, present
        column = table.iloc[:, 0].to_numpy() if isinstance(table, pd.DataFrame) else table[:, 0]
        return column.tolist(), present


class PreparedView:
    """What a kernel over one view does with a transformer: fit it, and read what it returns; a base of `ViewKernel`."""

    transformer: Any = None  # kernels that take one have a parameter of this name
    preparation_: Preparation | None = None
    view: Any
    label_: str
    columns_: np.ndarray
    takes_sparse: Any
    _view_label: Any

    @property
    def supervised(self) -> bool:
        """Whether there is a transformer, which is fitted with y."""
        return self.transformer is not None

    @property
    def transformer_(self) -> Any:
        """The fitted transformer, where the kernel has one."""
        if self.preparation_ is None:
            raise AttributeError(f"this {type(self).__name__} has no fitted transformer")
        return self.preparation_.transformer

    def _prepare(self, views: Views, sample_weight: np.ndarray | None, y: Any) -> None:
        """Fit a copy of the transformer, if there is one."""
        self.__dict__.pop("preparation_", None)
        if self.transformer is not None:
            called = {"view": self.view, "who": self._described, "label": self._view_label}
            given = {"sample_weight": sample_weight, "y": y}
            self.preparation_ = prepare(self.transformer, views, self.columns_, **called, **given)

    def _prepared(self, views: Views) -> tuple[Any, np.ndarray]:
        """The features of samples, and which samples have the view."""
        preparation: Any = self.preparation_
        values, present = preparation.read(views, self.columns_, self._described, self._view_label)
        return (values if self.takes_sparse or not sp.issparse(values) else values.toarray()), present

    def feature_names(self, names: Any = None) -> list[Any]:
        """What the features that the fitted kernel compares are called.

        By the transformer (`get_feature_names_out`) where there is one, else the names of the view's columns.

        Parameters
        ----------
        names : sequence of str, optional
            The names of all columns of X; without them, columns are called by their positions.

        Examples
        --------
        >>> from sklearn.feature_extraction.text import CountVectorizer
        >>> from kernelweave.kernels import Linear
        >>> Linear(transformer=CountVectorizer()).fit([["a tall tree"], ["tall oaks"]]).feature_names()
        ['oaks', 'tall', 'tree']
        """
        if self.preparation_ is not None:
            return self.preparation_.feature_names(self.columns_)
        return self.columns_.tolist() if names is None else [names[column] for column in self.columns_]

    @property
    def _described(self) -> str:
        """What messages about the transformer call the kernel and its view."""
        return f"the kernel {self.label_!r} ({type(self).__name__}), view {self._view_label!r},"


def prepare(
    transformer: Any,
    views: Views,
    columns: np.ndarray,
    *,
    view: Any,
    who: str,
    label: str,
    sample_weight: np.ndarray | None = None,
    y: Any = None,
) -> Preparation:
    """Fit a copy of a transformer to the samples that have a view.

    Parameters
    ----------
    transformer : transformer
        It is not changed.
    views : Views
    columns : ndarray of int
        Those of the view.
    view : object
        The selector of these columns.
    who, label : str
        What messages call the kernel, and the view.
    sample_weight : ndarray of shape (n_samples,), optional
        Handed over where the transformer's `fit` takes it and samples differ in it.
    y : array of shape (n_samples,) or (n_samples, n_targets), optional
        Handed over where the transformer's `fit` takes it.
    """
    _check_transformer(transformer, who)
    fitted = clone(transformer)
    documents = _takes_documents(fitted, _is_text(views, columns))
    if documents and (len(columns) != 1 or views.is_sparse(columns)):
        found = "is sparse" if len(columns) == 1 else f"has {len(columns)} columns"
        raise ValueError(
            f"{_named(transformer, who)} takes one column of documents, but the view {found}; select the column of "
            'text by view=, or say which columns it is for: make_column_transformer((TfidfVectorizer(), "text"), ...)'
        )
    kind = TableKind.of(views, columns, view, set(_strings(transformer)))
    preparation = Preparation(fitted, kind, documents=documents, n_features=0)
    table, present = preparation._handed(views, columns, label)
    n_present = int(present.sum())
    if n_present == 0:
        raise ValueError(f"no training sample has the view of {who}; remove that kernel")
    options: dict[str, Any] = {}
    if sample_weight is not None and np.ptp(sample_weight[present]) and has_fit_parameter(fitted, "sample_weight"):
        options["sample_weight"] = sample_weight[present]
    targets = [None if y is None else np.asarray(y)[present]] if has_fit_parameter(fitted, "y") else []
    try:
        fitted.fit(table if documents else table.copy(), *targets, **options)  # copy=False may write to it
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"{_named(transformer, who)} fails: {error}") from error
    values = _result(fitted, table, n_present, who)
    preparation.n_features = values.shape[1]
    views.prepared(preparation, lambda: (_scattered(values, present), present))
    return preparation


def _check_transformer(transformer: Any, who: str) -> None:
    wrong = isinstance(transformer, type) or not (hasattr(transformer, "fit") and hasattr(transformer, "transform"))
    if wrong:
        advice = "; wrap a function as FunctionTransformer(f)" if callable(transformer) else ""
        raise ValueError(
            f"transformer of {who} must be None or an object with fit and transform, such as StandardScaler(), not "
            f"{shown(transformer)}{advice}"
        )


def _takes_documents(transformer: Any, is_text: bool) -> bool:
    """Whether a transformer takes a sequence of documents rather than a table; pipelines by their first step.

    One that declares nothing about what it takes (a function, a class of the user's) gets a column of text as
    documents.
    """
    if isinstance(transformer, str) or transformer is None:  # "passthrough" and "drop"
        return False
    steps = getattr(transformer, "steps", None)
    if isinstance(steps, list):
        return any(_takes_documents(step, is_text) for _, step in [s for s in steps if not _does_nothing(s[1])][:1])
    branches = getattr(transformer, "transformer_list", None)
    if isinstance(branches, list):
        return any(_takes_documents(step, is_text) for _, step in branches)
    if not hasattr(transformer, "__sklearn_tags__"):
        return is_text
    tags = get_tags(transformer)
    takes = tags.input_tags
    if takes.string and not takes.two_d_array:
        return True
    takes_any_table = takes.string or takes.categorical or takes.allow_nan or hasattr(transformer, "transformers")
    is_own = type(transformer).__module__.partition(".")[0] != "sklearn"
    return is_text and not takes_any_table and (is_own or tags.no_validation)


def _is_text(views: Views, columns: np.ndarray) -> bool:
    """Whether a view is one column of text (and not of categories)."""
    if len(columns) != 1 or views.is_sparse(columns):
        return False
    X, place = views.X, columns[0]
    if isinstance(X, pd.DataFrame):
        column = X.iloc[:, place]
    else:
        column = X.take(columns)[:, 0] if isinstance(X, KeptColumns) else X[:, place]
    return not isinstance(column.dtype, pd.CategoricalDtype) and pd.api.types.infer_dtype(column) == "string"


def _does_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _strings(value: Any) -> Iterator[str]:
    """All strings among the parameters of a transformer and of those inside it, such as names of columns."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | pd.Index):
        for entry in value:
            yield from _strings(entry)
    elif isinstance(value, slice):
        yield from _strings([value.start, value.stop])
    elif isinstance(value, BaseEstimator) and not isinstance(value, type):
        yield from _strings(value.get_params(deep=False))


def _named(transformer: Any, who: str) -> str:
    # A loaded model has operations in the place of transformers (`persistence.preparation`), which users never named.
    name = "" if hasattr(transformer, "takes_documents") else f" {type(transformer).__name__}"
    return f"the transformer{name} of {who}"


def _result(transformer: Any, table: Any, n_samples: int, who: str) -> Any:
    """What a fitted transformer returns, as a float64 array or CSR matrix, checked."""
    try:
        values = transformer.transform(table)
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"{_named(transformer, who)} fails: {error}") from error
    if not sp.issparse(values):
        values = np.asarray(without_mask(values))
    if values.ndim != 2 or values.shape[0] != n_samples:
        raise ValueError(
            f"{_named(transformer, who)} returned shape {values.shape} for {n_samples} samples; it must return one row "
            "of features for each sample"
        )
    try:
        if values.dtype.kind == "c":
            raise TypeError("complex")
        values = values.tocsr().astype(np.float64) if sp.issparse(values) else values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{_named(transformer, who)} returned values that are not numbers ({error}); encode columns of text, for "
            "example by OneHotEncoder()"
        ) from error
    entries = values.data if sp.issparse(values) else values
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(entries.sum()) or np.isfinite(entries).all()
    if not finite:
        what = "NaN" if np.isnan(entries).any() else "infinity"
        remedy = (
            "put SimpleImputer() before it, make_pipeline(SimpleImputer(), ...)"
            if what == "NaN"
            else "remove or replace such values"
        )
        raise ValueError(f"{_named(transformer, who)} returned {what}; {remedy}")
    return values


def _scattered(values: Any, present: np.ndarray) -> Any:
    """The features of all samples: those of samples that have the view, and zero rows for the others."""
    if present.all():
        return values
    if not sp.issparse(values):
        every = np.zeros((len(present), values.shape[1]))
        every[present] = values
        return every
    lengths = np.zeros(len(present), dtype=values.indptr.dtype)
    lengths[present] = np.diff(values.indptr)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(values.indptr.dtype)
    return sp.csr_matrix((values.data, values.indices, ends), shape=(len(present), values.shape[1]))
