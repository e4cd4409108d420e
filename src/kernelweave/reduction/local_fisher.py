"""`LocalFisher`: local Fisher discriminant analysis (LFDA), with which projection kernels are compared (thesis 5.4).

Both scatters are sums over pairs of samples, ``1/2 sum_ij w_ij (x_i - x_j)(x_i - x_j)'``. A class c with n_c of the n
samples, mean m_c, scatter ``T_c`` and local scatter ``G_c = 1/2 sum_ij a_ij (x_i - x_j)(x_i - x_j)'`` adds to them

    within:   G_c / n_c
    between:  (1 - n_c / n) (T_c - G_c / n_c) + n_c (m_c - m)(m_c - m)'

because ``1/2 sum_ij (x_i - x_j)(x_i - x_j)'`` over all pairs is n times the total scatter, and over pairs of a class
n_c times its own. So only the affinities of one class are there at a time.

================  ===========================================================================
Sugiyama (2007)   here
================  ===========================================================================
A_ij, sigma_i     `local_affinity`
W^(w), S^(w)      ``a_ij / n_c`` within a class, 0 between classes; `within`
W^(b), S^(b)      ``a_ij (1/n - 1/n_c)`` within, ``1/n`` between; `between`
phi_k, lambda_k   `directions`, `eigenvalues_`
T_LFDA            ``components_.T``
================  ===========================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, svd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from .._warnings import warn
from ..kernels.resources import warn_if_too_large
from ..solvers.embedding import signed
from ..validation import Choice, Constraints, Number, Whole, check_parameters
from ..validation.inputs import (
    check_labels,
    check_matrix,
    check_row_labels,
    check_sample_weight,
    encode_labels,
    unchanged_on_failure,
)
from ..validation.schemas import COLUMNS, Schema, numbers, size
from .base import NamedComponents
from .graphs import local_affinity

# Scatter within classes below this share of that between them is rounding.
_NO_SCATTER = 1e-12


class LocalFisher(NamedComponents, TransformerMixin, BaseEstimator):
    """Local Fisher discriminant analysis: classes apart, and near members of each class together.

    Maximises ``v' S_b v / v' (S_w + ridge t I) v`` over directions v of input space, ``t = tr(S_w) / n_features``
    (M. Sugiyama, Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis, 2007; the
    ridge is ours, and 0 is his criterion). ``S_w`` and ``S_b`` are the scatters within and between classes as sums over
    pairs of samples, in which a pair of one class counts by its affinity ``exp(-||x_i - x_j||^2 / (s_i s_j))``, s_i the
    distance of sample i to the `n_neighbors`-th nearest of its class. Far members of a class need not come together, so
    classes may have several modes, and there are as many directions as features, not one less than classes.

    Parameters
    ----------
    n_components : int or None
        At most n_features; where samples span fewer dimensions, these are kept, with a warning. None for 2, or 1 where
        samples span no more.
    n_neighbors : int
        The neighbour whose distance is the scale of a sample; at most the size of its class less one.
    metric : {"weighted", "orthonormalized", "plain"}
        Lengths of the directions: "plain" has ``v' (S_w + ridge t I) v = 1``; "weighted" multiplies these by the root
        of their criterion, so that distances in the embedding count good directions more; "orthonormalized" has
        orthonormal directions that span the same subspaces.
    ridge : float
        From 0; relative to the mean eigenvalue of S_w, or to that of S_b where near members of classes are all
        duplicates of each other and S_w is 0. More features than samples need one above 0.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions, the best first: `transform` is ``(X - mean_) @ components_.T``.
    eigenvalues_ : ndarray of shape (n_components,)
        The criterion of each direction, descending (before they are made orthonormal).
    mean_ : ndarray of shape (n_features,)
        Of the training samples.
    classes_ : ndarray of shape (n_classes,)
    n_components_, n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Memory: three arrays with the square of the largest class's size, a copy of X, and three matrices of r x r, r at
    most the smaller of n_samples and n_features: the work is done in the span of the samples. Time: a singular value
    decomposition of X, products of r columns with the affinities, one eigenproblem of size r.

    `LFDAGraph` is the same criterion for the coefficients of kernels in `MKLDR`.

    Examples
    --------
    Class "a" lies on both sides of class "b", so both have the same mean:

    >>> from kernelweave.reduction import LocalFisher
    >>> X = [[0.0, 9.0], [0.2, 5.0], [5.0, 4.0], [5.3, 8.0], [10.0, 6.0], [10.2, 9.0]]
    >>> model = LocalFisher(n_components=1, n_neighbors=1).fit(X, ["a", "a", "b", "b", "a", "a"])
    >>> Z = model.transform(X)[:, 0] / model.components_[0, 0]
    >>> (Z - Z[0]).round(0) + 0.0
    array([ 0.,  0.,  5.,  5., 10., 10.])
    """

    _constraints = Constraints(
        n_components=Whole(1) | None,
        n_neighbors=Whole(1),
        metric=Choice("weighted", "orthonormalized", "plain"),
        ridge=Number(low=0),
    )

    _saved = COLUMNS | Schema(
        {
            "mean_": numbers("columns"),
            "components_": numbers("components", "columns"),
            "n_components_": size("components"),
        }
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 7,
        metric: str = "weighted",
        ridge: float = 1e-3,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.ridge = ridge

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LocalFisher:
        """Find the directions.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels.
        sample_weight : array of shape (n_samples,), optional
            How many times each sample counts, as if it were there so often: its copies are among its neighbours.
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            check_row_labels(X, y=y, sample_weight=sample_weight)
            X = check_matrix(self, X, ensure_min_samples=2)
            y = check_labels(self, y, len(X))
            weight = check_sample_weight(sample_weight, len(X))
            kept = weight > 0
            X, y, weight = X[kept], y[kept], weight[kept]
            self.classes_, labels = encode_labels(self, y)
            wanted = given.n_components
            if wanted is not None and wanted > self.n_features_in_:
                raise ValueError(f"n_components is {wanted}, but X has only {self.n_features_in_} features")
            self.mean_, unit, coordinates, basis = _span(X, weight)
            counted = None if sample_weight is None else weight
            within, between = _scatters(coordinates, labels, given.n_neighbors, counted)
            _add_ridge(within, between, given.ridge, X.shape[1])
            rank = len(basis)
            if wanted is not None and wanted > rank:
                spanned = f"the training samples span {rank} dimension(s) only; {rank} are kept"
                warn(f"n_components is {wanted}, but {spanned}")
            values, directions = _best(within, between, min(2 if wanted is None else wanted, rank))
            if given.metric == "orthonormalized":
                directions = np.linalg.qr(directions)[0]
            else:  # for samples that are not divided by the unit
                directions *= np.sqrt(values) / unit if given.metric == "weighted" else 1.0 / unit
            self.eigenvalues_ = values
            self.components_ = np.ascontiguousarray(signed(basis.T @ directions).T)
            self.n_components_ = len(values)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Features of samples, ``(X - mean_) @ components_.T``, of shape (n_samples, n_components)."""
        check_is_fitted(self)
        X = check_matrix(self, X, reset=False)
        return (X - self.mean_) @ self.components_.T

    def _lookups(self) -> list:
        return []

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _span(X: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Mean, a unit of length, and the samples less their mean as ``unit * coordinates @ basis``."""
    mean = np.average(X, axis=0, weights=weight)
    centred = X - mean
    unit = float(np.abs(centred).max())  # squares of anything in this unit neither overflow nor vanish
    if unit <= 8.0 * np.finfo(float).eps * np.abs(X).max():
        raise ValueError("all samples of X are the same, so no direction separates classes")
    centred /= unit
    U, lengths, basis = svd(centred, full_matrices=False, overwrite_a=True, check_finite=False)
    rank = int((lengths > max(X.shape) * np.finfo(float).eps * lengths[0]).sum())
    return mean, unit, U[:, :rank] * lengths[:rank], basis[:rank]


def _scatters(X: np.ndarray, labels: np.ndarray, k: int, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Local scatter within and between classes of samples with mean 0."""
    what = "the affinity matrix of the largest class"
    warn_if_too_large(3, int(np.bincount(labels).max()), np.float64, what, has_dtype=False)
    mass = np.ones(len(X)) if weight is None else weight
    within, between = np.zeros((2, X.shape[1], X.shape[1]))
    for label in range(labels.max() + 1):
        members = labels == label
        count = mass[members]
        share = count.sum() / mass.sum()  # n_c / n
        mean = count @ X[members] / count.sum()
        rows = X[members] - mean
        affinity = local_affinity(euclidean_distances(rows, squared=True), k, None if weight is None else count)
        affinity *= count[:, None] * (count / count.sum())
        # G_c / n_c = rows' (D - A) rows: the Laplacian of the class
        local = rows.T @ (affinity.sum(axis=1)[:, None] * rows - affinity @ rows)
        spread = rows.T @ (count[:, None] * rows)  # T_c
        within += local  # S^(w)
        between += (1.0 - share) * (spread - local) + count.sum() * np.outer(mean, mean)  # S^(b)
    return within, between


def _add_ridge(within: np.ndarray, between: np.ndarray, ridge: float, n_features: int) -> None:
    total = np.trace(within)
    if total <= _NO_SCATTER * np.trace(between):
        within[:], total = 0.0, np.trace(between)
    within[np.diag_indices_from(within)] += ridge * total / n_features


def _best(within: np.ndarray, between: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest lambda of ``S_b v = lambda S_w v``, descending, and their v with ``v' S_w v = 1``."""
    size = len(within)
    try:
        pivots = np.diagonal(cholesky(within, lower=True, check_finite=False))
        singular = pivots.min() ** 2 <= size * np.finfo(float).eps * pivots.max() ** 2
    except np.linalg.LinAlgError:
        singular = True
    if singular:
        raise ValueError(
            "ridge is too small: near members of classes do not differ in all directions that samples do, so the local "
            "scatter within classes is singular; raise ridge, or reduce X by principal components first"
        )
    values, vectors = eigh(between, within, subset_by_index=[size - count, size - 1], check_finite=False)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1].copy()
