"""Weights of components, carried back to the columns that the components are made of.

Principal components, and singular directions of sparse tables, are linear in the table that they are made of: z = V
(x - mean), with x a sample and the components as the rows of V (a truncated SVD has no mean). So weights w of
components are weights V'w of columns,

    <w, z> = <w, V (x - mean)> = <V'w, x> - <V'w, mean>

in the unit of x: of columns that are scaled before, it is that of the scaled columns. V of components that are whitened
is divided by their standard deviations. Fitted transformers of scikit-learn and the operations that a loaded model has
in their place are read alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

_LINEAR = ("PCA", "IncrementalPCA", "TruncatedSVD")


@dataclass(frozen=True, eq=False)
class Origin:
    """What the features of a kernel are made of.

    `names` are those of the features themselves where `loadings` is None, and of the columns behind components
    otherwise: loadings has a row for each feature and a column for each name.
    """

    names: list[str]
    loadings: Any = None  # CSR matrix of shape (n_features, n_names)

    def carried(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the names, of weights of features: (n_features, n_outputs) to (n_names, n_outputs)."""
        return weights if self.loadings is None else np.asarray(self.loadings.T @ weights)

    def shared(self, amounts: np.ndarray) -> np.ndarray:
        """Amounts of features, (n_features,), shared among the names by squared loadings; the sum stays."""
        if self.loadings is None:
            return amounts
        squares = self.loadings.multiply(self.loadings).tocsr()
        lengths = np.asarray(squares.sum(axis=1)).ravel()
        return np.asarray(squares.T @ np.where(lengths > 0.0, amounts / np.where(lengths > 0.0, lengths, 1.0), 0.0))


def origin_of(transformer: Any, given: Sequence[str] | None, width: int) -> Origin:
    """What `width` features are made of, which a fitted transformer makes of columns of the names `given`.

    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> preparation = make_pipeline(StandardScaler(), PCA(1)).fit([[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]])
    >>> origin = origin_of(preparation, ["age", "dose"], 1)
    >>> origin.names, origin.loadings.shape
    (['age', 'dose'], (1, 2))
    """
    if hasattr(transformer, "operation"):
        given, transformer = list(transformer.names), transformer.operation  # of a loaded model
    return _of_steps(list(_steps(transformer)), given, width)


def _of_steps(steps: list[Any], given: Sequence[str] | None, width: int) -> Origin:
    if steps and (own := loadings_of(steps[-1])) is not None:
        before = _of_steps(steps[:-1], given, own.shape[1])
        return Origin(before.names, own if before.loadings is None else sp.csr_matrix(own @ before.loadings))
    if steps and (groups := _groups(steps[-1])) and any(_has_components(part) for _, _, part, _, _ in groups):
        return _of_groups(steps[-1], groups, _names(steps[:-1], given))
    return Origin(_named(steps, given, width))


def names_out(transformer: Any, given: Sequence[str] | None, width: int) -> list[str]:
    """The names of the features of a fitted transformer; numbers behind the name of its class where it has none."""
    return _named(list(_steps(transformer)), given, width, type(transformer).__name__)


def _named(steps: list[Any], given: Sequence[str] | None, width: int, called: str | None = None) -> list[str]:
    found = _names(steps, given)
    if found is not None and len(found) == width:
        return found
    called = called or (type(steps[-1]).__name__ if steps else "feature")
    return [f"{called.lower()}{k}" for k in range(width)]


def _of_groups(whole: Any, groups: list[Any], given: list[str] | None) -> Origin:
    n_in = int(whole.width if hasattr(whole, "width") else whole.n_features_in_)
    given = [f"x{place}" for place in range(n_in)] if given is None else given
    prefixes = bool(getattr(whole, "prefixes", getattr(whole, "verbose_feature_names_out", True)))
    names: list[str] = []
    blocks = []
    for called, columns, part, width, weight in groups:
        own = _of_steps(list(_steps(part)), [given[column] for column in columns], width)
        names += [f"{called}__{name}" for name in own.names] if prefixes else own.names
        blocks.append(sp.identity(width, format="csr") if own.loadings is None else own.loadings * weight)
    return Origin(names, sp.block_diag(blocks, format="csr"))


def _steps(transformer: Any) -> Iterator[Any]:
    """The transformer, or the steps of a pipeline or a chain, also of those inside."""
    if transformer is None or isinstance(transformer, str):  # "passthrough"
        return
    steps = getattr(transformer, "steps", None)
    if not isinstance(steps, list):
        yield transformer
        return
    for step in steps:
        yield from _steps(step[1] if isinstance(step, tuple) else step)


def _groups(whole: Any) -> list[tuple[str, list[int], Any, int, float]]:
    """Name, columns, transformer, number of features and weight of each part of a transformer by columns."""
    if hasattr(whole, "operations"):  # in a loaded model
        parts = zip(whole.names, whole.columns, whole.operations, whole.weights, strict=True)
        return [(n, list(c), op, int(op.n_out), 1.0 if w is None else w) for n, c, op, w in parts]
    if not hasattr(whole, "output_indices_"):
        return []
    found = []
    weights = whole.transformer_weights or {}
    for name, part, _ in whole.transformers_:
        columns = list(whole._transformer_to_input_indices[name])
        place = whole.output_indices_[name]
        if len(columns) and not (isinstance(part, str) and part == "drop"):
            found.append((name, columns, part, place.stop - place.start, float(weights.get(name, 1.0))))
    return found


def _has_components(part: Any) -> bool:
    return any(loadings_of(step) is not None for step in _steps(part))


def loadings_of(step: Any) -> Any:
    """The matrix V of a fitted step that makes components, as a CSR matrix; None of any other."""
    if hasattr(step, "loadings_"):
        return sp.csr_matrix(step.loadings_)
    if type(step).__name__ not in _LINEAR or not type(step).__module__.startswith("sklearn."):
        return None
    V = step.components_
    if getattr(step, "whiten", False):
        V = V / np.maximum(np.sqrt(step.explained_variance_), np.finfo(V.dtype).eps)[:, None]
    return sp.csr_matrix(V)


def _names(steps: list[Any], given: Sequence[str] | None) -> list[str] | None:
    """The names of what the last step returns; None where some step does not tell."""
    names = None if given is None else [str(name) for name in given]
    for step in steps:
        if _is_by_cell(step):
            continue
        for known in ([] if names is None else [[names]]) + [[]]:  # some take no names, some only their own
            try:
                names = [str(name) for name in step.get_feature_names_out(*known)]
                break
            except (ValueError, TypeError, AttributeError, NotImplementedError):
                continue
        else:
            return None
    return names


def _is_by_cell(step: Any) -> bool:
    """Whether a step is a function of each cell, so that columns keep their names."""
    if type(step).__name__ != "FunctionTransformer" or not type(step).__module__.startswith("sklearn."):
        return False
    return step.func is None or isinstance(step.func, np.ufunc)
