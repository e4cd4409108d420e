"""Kernels that fall off with a distance, and their width: a number, or learned from the training samples by a rule.

=================  ==========================================  =====================================
formula            distance d                                  class
=================  ==========================================  =====================================
exp(-d^2/scale^2)  ||x - z||                               `Gaussian`, k_G of the thesis, end of 1.1
exp(-d/scale)      sum_j |x_j - z_j|                         `Laplacian`
exp(-d/scale)      sum_j (x_j - z_j)^2 / (x_j + z_j)           `ChiSquared`
exp(-d^2/scale^2)  any: the `metric`                           `Distance`, K_m of MKL-DR (8)
=================  ==========================================  =====================================

The chi-squared distance compares histograms; MKL-DR, section 4.2, derives two of its image kernels from it. The first
three kernels are positive semidefinite for every scale. In MKL-DR the scale, sigma_m, is only "a positive constant".

===========  =========================================================================================
rule         width
===========  =========================================================================================
"scale"      how far the samples are spread; for Euclidean distances the root of the columns' summed
             variances, which is the root of half the mean squared distance of two samples
"nearest"    the mean distance of a sample to its nearest neighbour, thesis (2.10)
"median"     the median distance of two samples
===========  =========================================================================================

Where there are more than `MOST_SAMPLES` samples, pairs are not all looked at: some of the samples, always the same
random choice, are compared with all samples ("nearest") or with another choice ("scale", "median").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..validation import Choice, Number, check
from ..validation.schemas import Schema, Sizes, anything, number, numbers, object_of, optional, refuse
from ..views import Views
from .base import TILE, Kernel, Tile, UnitDiagonal, n_features_of, symmetric
from .precomputed import Block, Precomputed
from .resources import in_blas_threads
from .tiles.functions import MatrixFunction, PointFunction
from .vectors import TiledKernel, column_parts, products, squared_norms, weighted_sums

Samples = slice | np.ndarray
Distances = Callable[[Samples, Samples], np.ndarray]

RULES = ("scale", "nearest", "median")
# Sums of weights this close to a half are a half.
_SAME_SHARE = 1e-10
_BLOCK_ROWS = 512
#: Pairs of more samples are not all looked at.
MOST_SAMPLES = 10_000
_CHOSEN_ROWS, _CHOSEN_COLUMNS = 4000, 5000
_SCALE = Number(above=0) | Choice(*RULES) | None
_EUCLIDEAN = ("euclidean", "l2")
_ANGULAR = ("cosine", "correlation")  # 1 minus a number near 1, so that rounding does not shrink with the distances
# Distances below this share of a sample's largest one, and squares below this share of squared norms, are rounding:
# such samples are copies of each other.
_SAME_SAMPLE = 1e-12
_SELF_DISTANCE = 1e-8
# A column that varies by less than this, relative to its largest entry, is constant but for rounding.
_SAME_VALUE = 8.0 * np.finfo(float).eps
_LEAST_SQUARE = 1e-200


def chosen_scale(kernel: Any, learn: Callable[[str], float]) -> float:
    """The `scale` of a kernel, checked, or what `learn` finds by the rule of that name; None means "scale"."""
    rule = check(f"the kernel {kernel.label_!r}", "scale", kernel.scale, _SCALE)
    if isinstance(rule, float):
        return rule
    return learn("scale" if rule is None else rule)


def distance_scale(distances_of: Distances, sample_weight: np.ndarray, rule: str, power: int) -> float:
    """The width by a rule, for any distances.

    ``distances_of(rows, columns)`` gives the distances of some samples to others, infinite between copies. For "scale"
    a `power` of 1 takes the mean distance of two samples that differ, 2 the root of half the mean squared distance of
    any two, as kernels of the distance and of its square have it.
    """
    if rule == "scale":
        return (_mean_distance if power == 1 else _half_mean_square)(distances_of, sample_weight) or 1.0
    return PAIR_RULES[rule](distances_of, sample_weight) or 1.0


def _blocks(n_samples: int, *, all_columns: bool = False) -> Iterator[tuple[Samples, Samples]]:
    """Rows and columns of blocks of pairs, so that a pass over pairs needs no n x n matrix."""
    if n_samples <= MOST_SAMPLES:
        for start in range(0, n_samples, _BLOCK_ROWS):
            yield slice(start, min(start + _BLOCK_ROWS, n_samples)), slice(None)
        return
    order = np.random.RandomState(0).permutation(n_samples)
    rows, columns = np.sort(order[:_CHOSEN_ROWS]), np.sort(order[_CHOSEN_ROWS : _CHOSEN_ROWS + _CHOSEN_COLUMNS])
    for start in range(0, len(rows), _BLOCK_ROWS):
        yield rows[start : start + _BLOCK_ROWS], slice(None) if all_columns else columns


def _nearest(distances_of: Distances, sample_weight: np.ndarray) -> float:
    """Thesis (2.10): the mean distance to the nearest neighbour; 0 where all samples coincide."""
    nearest, weights = [], []
    for rows, columns in _blocks(len(sample_weight), all_columns=True):
        nearest.append(distances_of(rows, columns).min(axis=1))
        weights.append(sample_weight[rows])
    closest, weight = np.concatenate(nearest or [np.zeros(0)]), np.concatenate(weights or [np.zeros(0)])
    found = np.isfinite(closest)
    return float(np.average(closest[found], weights=weight[found])) if found.any() else 0.0  # thesis (2.10)


def _median(distances_of: Distances, sample_weight: np.ndarray) -> float:
    """The median distance of two samples that differ; 0 where all samples coincide."""
    distances, weights = [], []
    for rows, columns in _blocks(len(sample_weight)):
        block = distances_of(rows, columns)
        counted = np.isfinite(block)
        if isinstance(rows, slice):
            counted &= np.arange(len(sample_weight)) > np.arange(rows.start, rows.stop)[:, None]  # each pair once
        distances.append(block[counted])
        weights.append((sample_weight[rows, None] * sample_weight[columns])[counted])
    found, weight = np.concatenate(distances or [np.zeros(0)]), np.concatenate(weights or [np.zeros(0)])
    if not len(found):
        return 0.0
    if (weight == weight[0]).all():
        return float(np.median(found))
    order = np.argsort(found)
    share = np.cumsum(weight[order])
    share /= share[-1]
    middle = np.searchsorted(share, [0.5 - _SAME_SHARE, 0.5 + _SAME_SHARE])  # two pairs where the first ends at a half
    return float(found[order[np.minimum(middle, len(order) - 1)]].mean())


def _mean_distance(distances_of: Distances, sample_weight: np.ndarray) -> float:
    """The mean distance of two samples that differ; 0 where all samples coincide."""
    total = weight = 0.0
    for rows, columns in _blocks(len(sample_weight)):
        block = distances_of(rows, columns)
        pairs = np.where(np.isfinite(block), sample_weight[rows, None] * sample_weight[columns], 0.0)
        block[np.isinf(block)] = 0.0
        total += float(np.vdot(pairs, block))
        weight += float(pairs.sum())
    return total / weight if weight > 0.0 else 0.0


def _half_mean_square(distances_of: Distances, sample_weight: np.ndarray) -> float:
    """The root of half the mean squared distance of any two samples, a sample and itself among them."""
    root = total = 0.0
    for rows, columns in _blocks(len(sample_weight)):
        block = distances_of(rows, columns)
        block[np.isinf(block)] = 0.0
        unit = binary_unit(largest_entry(block))
        block /= unit
        left, right = sample_weight[rows], sample_weight[columns]
        root = float(np.hypot(root, unit * np.sqrt(left @ (block**2 @ right))))
        total += float(left.sum()) * float(right.sum())
    return root / np.sqrt(2.0 * total) if total > 0.0 else 0.0


PAIR_RULES = {"nearest": _nearest, "median": _median}


def euclidean_scale(A: Any, sample_weight: np.ndarray, rule: str) -> float:
    if rule == "scale" and not sp.issparse(A):
        return _dense_spread(A, sample_weight) or 1.0
    unit = binary_unit(largest_entry(A))
    A = A / unit  # exact, and squares of huge or tiny entries neither over- nor underflow
    if rule == "scale":
        return unit * _sparse_spread(A, sample_weight) or 1.0
    if not sp.issparse(A) and len(A):
        A = A - A.mean(axis=0)
    norms = squared_norms(A)

    def distances_of(rows: Samples, columns: Samples) -> np.ndarray:
        squared = products(A[rows], A[columns])
        squared *= -2.0
        squared += norms[rows, None]
        squared += norms[columns]
        squared[squared <= _SAME_SAMPLE * (norms[rows, None] + norms[columns])] = np.inf
        return np.sqrt(squared, out=squared)

    return unit * PAIR_RULES[rule](distances_of, sample_weight) or 1.0


def _dense_spread(A: np.ndarray, sample_weight: np.ndarray) -> float:
    """The root of the columns' summed variances, which no shift of a column cancels."""
    total = sample_weight.sum()
    if not total > 0.0:
        return 0.0
    root = 0.0
    for part in column_parts(A):
        unit = binary_unit(largest_entry(part))
        part = part / unit  # exact, as all divisions by such a unit are
        largest = _largest_entries(part)
        part -= part[0].copy()  # so that constant columns are exactly 0
        part -= sample_weight @ part / total
        left = _largest_entries(part)
        constant = left <= _SAME_VALUE * largest
        if constant.any():
            part[:, constant] = 0.0
        size = binary_unit(float(left.max(initial=0.0, where=~constant)))
        part /= size
        root = float(np.hypot(root, unit * (size * np.sqrt(sample_weight @ squared_norms(part) / total))))
    return root


def _sparse_spread(A: Any, sample_weight: np.ndarray) -> float:
    total = sample_weight.sum()
    if not total > 0.0:
        return 0.0
    A = A.tocsc(copy=True)
    A.sum_duplicates()
    stored = np.diff(A.indptr)
    weight, column = sample_weight[A.indices], np.repeat(np.arange(A.shape[1]), stored)
    mean = np.bincount(column, weight * A.data, A.shape[1]) / total
    # Entries that are not stored are 0 and lie at -mean.
    absent = np.where(stored < A.shape[0], total - np.bincount(column, weight, A.shape[1]), 0.0)
    deviation = A.data - mean[column]
    variance = (np.bincount(column, weight * deviation**2, A.shape[1]) + absent * mean**2) / total
    largest = abs(A).max(axis=0).toarray().ravel()
    return float(np.sqrt(variance[variance > (_SAME_VALUE * largest) ** 2].sum()))


def _largest_entries(A: np.ndarray) -> np.ndarray:
    return np.maximum(A.max(axis=0, initial=0.0), -A.min(axis=0, initial=0.0))


def largest_entry(A: Any) -> float:
    values = A.data if sp.issparse(A) else A
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def binary_unit(size: float) -> float:
    """The power of two at or below a size, by which numbers are divided without rounding; 1 for size 0."""
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1)) if size > 0.0 else 1.0


class _WithWidth(UnitDiagonal):
    """A kernel that falls off with a distance, from k(x, x) = 1, by a width."""

    positive_semidefinite = True
    has_width = True

    _saved = Schema({"scale_": number(positive=True)})

    def __init__(self, view: Any = None, scale: float | str | None = None, *, transformer: Any = None):
        self.view = view
        self.scale = scale
        self.transformer = transformer


class Gaussian(_WithWidth, TiledKernel):
    """The Gaussian kernel k(x, z) = exp(-||x - z||^2 / scale^2), k_G of the thesis (Gönen, 2010).

    Where a kernel is written exp(-gamma ||x - z||^2), gamma = 1 / scale^2 and scale = gamma^(-1/2).

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    scale : float, {"scale", "nearest", "median"} or None
        The width s, or how the training samples that have the view give it:

        - "scale", what None means: s^2 is the sum over columns of their variance. On standardised columns that is
          ``gamma="scale"`` of scikit-learn's ``SVC``; unlike that, it does not change where columns are shifted.
        - "nearest": the mean distance of a sample to its nearest neighbour, thesis (2.10). It shrinks as samples are
          added, and overfits where they are many.
        - "median": the median distance of two samples.

        It is 1 where all samples coincide. Samples count by their weight, and copies of one are neither its neighbours
        nor pairs, so that repeating samples does not change it. For "nearest" and "median" a part of more than 10 000
        samples is looked at, always the same, which changes the width by about 2 % at most, "nearest" more.
    transformer : transformer or None
        As in `Linear`.

    Attributes
    ----------
    scale_ : float
        The width in use.

    Examples
    --------
    >>> from kernelweave.kernels import Gaussian
    >>> X = [[0.0], [1.0], [3.0], [4.0]]
    >>> round(Gaussian().fit(X).scale_**2, 3)  # the variance
    2.5
    """

    takes_sparse = True
    is_stationary = True
    is_differentiable = True
    has_exponents = True

    def learn(self, values, sample_weight):
        self.scale_ = chosen_scale(self, lambda rule: euclidean_scale(values, sample_weight, rule))

    def exponents_of(self, A: Any, B: Any) -> np.ndarray:
        """||a - b||^2 / scale_^2 of all pairs of feature vectors."""
        if sp.issparse(A) or sp.issparse(B):
            unit = binary_unit(self.scale_)
            exponents = _squared_distances(A / unit, B / unit)
            exponents *= (unit / self.scale_) ** 2
            return exponents
        left, right = _exponent_factors(A, B, self.scale_)
        exponents = left @ -right.T
        return np.maximum(exponents, 0.0, out=exponents)

    def at_scale(self, scale: float) -> Gaussian:
        """A copy of the fitted kernel with another width."""
        other = copy(self)
        other.scale = other.scale_ = float(scale)
        return other

    def point_function(self):
        return PointFunction("gaussian", scale=self.scale_)

    def gram_of(self, A):
        K = gaussian(A, A, self.scale_) if sp.issparse(A) else symmetric(len(A), _gaussian_tile(A, self.scale_))
        np.fill_diagonal(K, 1.0)
        return K

    def tile_of(self, A):
        return _gaussian_tile(A, self.scale_)

    def cross_of(self, A, B):
        return gaussian(A, B, self.scale_)

    def of_products(self, products, left, right):
        squared = left[:, None] + right
        products *= 2.0
        squared -= products
        return falling(np.maximum(squared, 0.0, out=squared), self.scale_)

    def takes_products(self, views, values):
        """Whether the mean is so short that inner products need no centre, and squares neither over- nor underflow."""

        def is_centred() -> bool:
            size, mean = float(self.lengths(views, values).mean()), values.mean(axis=0)
            return _LEAST_SQUARE < size < 1.0 / _LEAST_SQUARE and 2.0 * float(mean @ mean) <= size

        return views.kept(("centred", self._features_key), is_centred)

    def pullback(self, A, Z, weights):
        """sum_i weights_ij k(a_i, z_j) 2 (a_i - z_j) / scale^2."""
        weights = weights * self.cross_of(A, Z) * (2.0 / self.scale_**2)
        return weighted_sums(A, weights) - weights.sum(axis=0)[:, None] * Z


def gaussian(A: Any, B: Any, scale: float) -> np.ndarray:
    if sp.issparse(A) or sp.issparse(B):
        unit = binary_unit(scale)  # dividing by it is exact, and squares of a tiny or huge scale under- or overflow
        return falling(_squared_distances(A / unit, B / unit), scale / unit)
    left, right = _exponent_factors(A, B, scale)
    K = np.empty((len(A), len(B)))
    height = max(1, TILE**2 // max(1, len(B)))
    bands = (slice(first, first + height) for first in range(0, len(A), height))
    in_blas_threads(lambda band: _exponentials(left[band], right, out=K[band]), bands)
    return K


def _exponent_factors(A: np.ndarray, B: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose products are the exponents -||a - b||^2 / scale^2, of dense features.

    With u = sqrt(2) (a - centre) / scale, and v of b alike, they are <u, v> - ||u||^2 / 2 - ||v||^2 / 2: one product of
    rows with two more columns. The common centre keeps them accurate.
    """
    unit = binary_unit(scale)  # dividing by it is exact, and squares of a tiny or huge scale would under- or overflow
    same, gain = A is B, np.sqrt(2.0) / (scale / unit)
    V = B / unit
    centre = V.mean(axis=0) if len(V) else 0.0
    V = (V - centre) * gain
    left = _with_norms(V if same else (A / unit - centre) * gain)
    right = left.copy() if same else _with_norms(V)
    right[:, -2:] = right[:, [-1, -2]]
    return left, right


def _with_norms(U: np.ndarray) -> np.ndarray:
    found = np.empty((len(U), U.shape[1] + 2))
    found[:, :-2], found[:, -2], found[:, -1] = U, -0.5 * squared_norms(U), 1.0
    return found


def _exponentials(left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    exponents = np.matmul(left, right.T, out=out)
    if exponents.size and not exponents.max() <= 0.0:
        np.minimum(exponents, 0.0, out=exponents)
    return np.exp(exponents, out=exponents)


def _gaussian_tile(A: np.ndarray, scale: float) -> Tile:
    left, right = _exponent_factors(A, A, scale)
    return lambda rows, columns: _exponentials(left[rows], right[columns])


def falling(squared: np.ndarray, scale: float) -> np.ndarray:
    squared /= -scale
    squared /= scale
    return np.exp(squared, out=squared)


def _squared_distances(A: Any, B: Any) -> np.ndarray:
    """||a - b||^2 for all pairs, by the expanded square; for sparse features, which cannot be centred."""
    squared = products(A, B)
    squared *= -2.0
    squared += squared_norms(A)[:, None]
    squared += squared_norms(B)[None, :]
    return np.maximum(squared, 0.0, out=squared)


class _Exponential(_WithWidth):
    """k(x, z) = exp(-d(x, z) / scale); subclasses write `_distances`."""

    def learn(self, values, sample_weight):
        def distances_of(rows, columns):
            distances = self._distances(values[rows], values[columns])
            return np.where(distances > 0, distances, np.inf)

        self.scale_ = chosen_scale(self, lambda rule: distance_scale(distances_of, sample_weight, rule, power=1))

    def cross_of(self, A, B):
        distances = self._distances(A, B)
        distances /= -self.scale_
        return np.exp(distances, out=distances)


class Laplacian(_Exponential):
    """The Laplacian kernel k(x, z) = exp(-||x - z||_1 / scale).

    It is less smooth than the Gaussian kernel and depends less on single features that differ much.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    scale : float, {"scale", "nearest", "median"} or None
        The width (1 / gamma where the kernel is written with gamma), or how the training samples that have the view
        give it: "scale", what None means, is the mean L1 distance of two samples; "nearest" that of a sample to its
        nearest neighbour, in the manner of the thesis (Gönen 2010), (2.10); "median" the median of two samples. Copies
        of samples, and many samples, count as for `Gaussian`.
    transformer : transformer or None
        As in `Linear`.

    Attributes
    ----------
    scale_ : float
        The width in use.

    Examples
    --------
    >>> from kernelweave.kernels import Laplacian
    >>> X = [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]
    >>> kernel = Laplacian().fit(X)
    >>> round(kernel.scale_, 3)  # (2 + 4 + 6) / 3
    4.0
    >>> kernel.cross(X[:1], X).round(3)
    array([[1.   , 0.607, 0.223]])
    """

    takes_sparse = True
    is_stationary = True

    def point_function(self):
        return PointFunction("laplacian", scale=self.scale_)

    def _distances(self, A, B):
        from sklearn.metrics.pairwise import manhattan_distances

        return manhattan_distances(A, B)


class ChiSquared(_Exponential):
    """The chi-squared kernel k(x, z) = exp(-chi2(x, z) / scale), chi2 = sum_j (x_j - z_j)^2 / (x_j + z_j).

    For histograms and other non-negative data; where both entries are 0 the term is 0.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all. Their values must be at least 0.
    scale : float, {"scale", "nearest", "median"} or None
        The width (1 / gamma where the kernel is written with gamma), or how the training samples that have the view
        give it: "scale", what None means, is the mean chi2 of two samples; "nearest" that of a sample and its nearest
        neighbour; "median" the median of two samples. Copies of samples, and many samples, count as for `Gaussian`.
    transformer : transformer or None
        As in `Linear`.

    Attributes
    ----------
    scale_ : float
        The width in use.

    Examples
    --------
    >>> from kernelweave.kernels import ChiSquared
    >>> X = [[4.0, 0.0], [2.0, 2.0]]
    >>> kernel = ChiSquared(scale=2.0).fit(X)
    >>> kernel.gram(X).round(4)  # chi2 = 4 / 6 + 4 / 2
    array([[1.    , 0.2636],
           [0.2636, 1.    ]])
    """

    def point_function(self):
        return PointFunction("chi-squared", scale=self.scale_)

    def learn(self, values, sample_weight):
        super().learn(self._not_negative(values), sample_weight)

    def _distances(self, A, B):
        from sklearn.metrics.pairwise import additive_chi2_kernel

        distances = additive_chi2_kernel(self._not_negative(A), self._not_negative(B))
        return np.negative(distances, out=distances)

    def _not_negative(self, values):
        if values.min(initial=0.0) < 0:
            raise ValueError(
                f"view {self._view_label!r} holds negative values ({values.min():.3g}), but the kernel {self.label_!r} "
                "(ChiSquared) compares histograms; did a scaler touch them? Laplacian and Gaussian take any numbers"
            )
        return np.require(values, requirements="W")  # scikit-learn's compiled loop takes writable arrays only


# Those of SciPy that compare vectors by themselves or with the constants that `Distance` learns.
_SCIPY_METRICS = (
    *("seuclidean", "mahalanobis", "braycurtis", "canberra", "chebyshev", "correlation", "dice", "hamming", "jaccard"),
    *("minkowski", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "sqeuclidean", "yule"),
)


class Distance(UnitDiagonal):
    """The kernel k(x, z) = exp(-d(x, z)^2 / scale^2) of a distance d (Lin, Liu and Fuh 2011, (8)).

    Only some distances give a positive semidefinite kernel (the Euclidean one always does); a model warns where the
    training samples show that this one does not, and `repair` mends it.

    Parameters
    ----------
    metric : str, callable or array of shape (n_ids, n_ids)
        A metric of `sklearn.metrics.pairwise_distances` by name; a function of two samples (one-dimensional arrays,
        also of strings), symmetric and zero from a sample to itself, which is called for every pair and therefore slow;
        or a matrix of distances, whose rows and columns the view's one column names by ids 0 ... n_ids - 1 or, where it
        is a data frame, by its labels (see `Precomputed`). A matrix is kept, not copied, also by clones, so do not
        change it afterwards.
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    scale : float, {"scale", "nearest", "median"} or None
        The width sigma, or how the training samples that have the view give it: "scale", what None means, is the root
        of half the mean squared distance of two samples, which for the Euclidean distance is the width of `Gaussian`;
        "nearest" the mean distance of a sample to its nearest neighbour, thesis (Gönen 2010), (2.10); "median" the
        median distance of two samples. Copies of samples, and many samples, count as for `Gaussian`.
    repair : {"clip", "shift", None}
        What a model does where the kernel is not positive semidefinite among its training samples, see `Repair`; None
        only warns.
    transformer : transformer or None
        As in `Linear`.

    Attributes
    ----------
    scale_ : float
        The width in use.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Distance
    >>> X = [[0.0, 0.0], [1.0, 2.0], [2.0, 2.0]]
    >>> Distance("chebyshev", scale=2.0).fit(X).gram(X).round(3)
    array([[1.   , 0.368, 0.368],
           [0.368, 1.   , 0.779],
           [0.368, 0.779, 1.   ]])
    >>> kernel = Distance(np.array([[0.0, 2.0], [2.0, 0.0]]), scale=2.0)  # X holds ids
    >>> kernel.fit([[0], [1]]).cross([[1]], [[0], [1]]).round(3)
    array([[0.368, 1.   ]])
    """

    has_width = True

    _saved = Schema({"scale_": number(positive=True), "metric": anything, "constants_": optional(anything)})

    def __init__(
        self,
        metric: str | Callable[[Any, Any], float] | Any = "euclidean",
        view: Any = None,
        *,
        scale: float | str | None = None,
        repair: str | None = None,
        transformer: Any = None,
    ):
        self.view = view
        self.metric = metric
        self.scale = scale
        self.repair = repair
        self.transformer = transformer

    def __setattr__(self, name: str, value: Any) -> None:
        # A matrix is wrapped, and checked, once, however it arrives: clones share the wrapped one.
        super().__setattr__(name, _as_metric(value, self.view) if name == "metric" else value)

    @property
    def positive_semidefinite(self) -> bool:
        """Known for the Euclidean distance only."""
        return isinstance(self.metric, str) and self.metric in _EUCLIDEAN

    @property
    def reads_ids(self) -> bool:
        return isinstance(self.metric, DistanceMatrix)

    @property
    def takes_text(self) -> bool:
        return callable(self.metric) or self.reads_ids

    @property
    def takes_sparse(self) -> bool:
        """Ids are not sparse; of scikit-learn's metrics some take sparse samples."""
        return not self.reads_ids

    def extend(self, rows: Any) -> Distance:
        """A kernel with further ids for new samples, which can be predicted but not trained on.

        Parameters
        ----------
        rows : DataFrame, or array of shape (n_new, n_ids of the original matrix)
            Distances of the new samples to the original ones; with labels, or new ids, as in `Precomputed.extend`.
        """
        if not isinstance(self.metric, DistanceMatrix):
            raise ValueError(f"only a Distance of a matrix can be extended by new ids, not one of {self.metric!r}")
        return self.over(self.metric.extend(rows))

    def over(self, matrix: DistanceMatrix) -> Distance:
        """The kernel with another matrix, such as an extended one; not fitted."""
        return Distance(matrix, self.view, scale=self.scale, repair=self.repair)

    def read(self, views: Views) -> tuple[Any, np.ndarray]:
        values, present = super().read(views)
        if isinstance(self.metric, DistanceMatrix):
            present = self.metric.bound_like(self).there(values, present)
        return values, present

    def bound_like(self, other: Distance) -> Distance:
        """A copy, sharing the matrix, that reads ids where another, fitted kernel does, with its width."""
        matrix: Any = self.metric
        copy = self.over(matrix)
        copy.columns_, copy.label_, copy.scale_ = other.columns_, other.label_, other.scale_
        if isinstance(self.metric, DistanceMatrix):
            copy.lookup_ = self.metric.bound_like(other)
        return copy

    def lookups(self, X: Any) -> list[tuple[Kernel, np.ndarray]]:
        return self.lookup_.lookups(X) if self.reads_ids else []

    def learn(self, values, sample_weight):
        if isinstance(self.metric, DistanceMatrix):
            if self.transformer is not None:
                raise ValueError(
                    f"the kernel {self.label_!r} looks distances up by id, so its view needs no transformer; set "
                    "transformer to None"
                )
            self.lookup_ = self.metric.bound_like(self)
            self.lookup_.learn(values, sample_weight)
        self.constants_ = _constants(self.metric, values, sample_weight)
        self._distances(values[:2], values[:1])  # so that a metric that fails does so here
        self.scale_ = chosen_scale(self, lambda rule: self._own_scale(values, sample_weight, rule))

    def _own_scale(self, values, sample_weight, rule):
        if self.positive_semidefinite:
            return euclidean_scale(values, sample_weight, rule)
        rounding = _SAME_SAMPLE if isinstance(self.metric, str) and self.metric in _ANGULAR else 0.0

        def distances_of(rows, columns):
            distances = self._distances(values[rows], values[columns])
            copies = distances <= np.maximum(_SAME_SAMPLE * distances.max(axis=1, keepdims=True), rounding)
            return np.where(copies, np.inf, distances)

        return distance_scale(distances_of, sample_weight, rule, power=2)

    def point_function(self):
        return PointFunction("gaussian", scale=self.scale_) if self.positive_semidefinite else None

    def matrix_function(self):
        return MatrixFunction(self.lookup_, self.scale_) if self.reads_ids else None

    def cross_of(self, A, B):
        if self.positive_semidefinite:
            return gaussian(A, B, self.scale_)
        distances = self._distances(A, B)
        distances /= self.scale_  # before squaring, which may over- or underflow
        return falling(np.multiply(distances, distances, out=distances), 1.0)  # MKL-DR (8)

    def diagonal_of(self, A):
        if self.reads_ids:
            self.lookup_.diagonal_of(A)  # checks the ids
        return np.ones(A.shape[0])

    def _distances(self, A, B):
        from sklearn.metrics import pairwise_distances

        if self.reads_ids:
            return self.lookup_.cross_of(A, B)
        if 0 in (A.shape[0], B.shape[0]):
            return np.zeros((A.shape[0], B.shape[0]))
        same = A is B
        try:
            if callable(self.metric) and isinstance(A, np.ndarray):
                distances = _of_pairs(self.metric, A, B, same)
            else:
                distances = pairwise_distances(A, None if same else B, metric=self.metric, **self.constants_)
        except (ValueError, TypeError) as error:
            raise ValueError(f"the metric {self.metric!r} of the kernel {self.label_!r} fails: {error}") from error
        largest = distances.max(initial=0.0)
        if not distances.min(initial=0.0) >= -_SELF_DISTANCE * largest:  # also where one is NaN
            raise ValueError(
                f"the metric {self.metric!r} of the kernel {self.label_!r} gives negative or NaN distances"
            )
        return distances

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS  # slow to import, and seldom needed

        metric = self.metric
        if isinstance(metric, DistanceMatrix):
            object_of(DistanceMatrix, "columns")(getattr(self, "lookup_", None), sizes, f"{path}.lookup_")
            return
        if not callable(metric) and metric not in {*PAIRWISE_DISTANCE_FUNCTIONS, *_SCIPY_METRICS}:
            refuse(f"{path}.metric", f"is {metric!r}, which is no metric")
        n_features = n_features_of(self)
        shapes = {"seuclidean": {"V": numbers(n_features)}, "mahalanobis": {"VI": numbers(n_features, n_features)}}
        needed = shapes.get(metric, {}) if isinstance(metric, str) else {}
        constants = self.constants_
        if type(constants) is not dict or set(constants) != set(needed):
            refuse(f"{path}.constants_", f"are not those of the metric {metric!r}")
        for name, kind in needed.items():
            kind(constants[name], sizes, f"{path}.constants_[{name!r}]")


class DistanceMatrix(Precomputed):
    """Distances looked up by id: the metric of a `Distance` over a matrix, immutable and shared by clones.

    K is symmetric, finite, at least 0, and 0 from each sample to itself.
    """

    _noun, _parameter = "distance matrix", "the metric's distance matrix"

    def __init__(self, K: Any, view: Any = None):
        super().__init__(K, view)
        what = f"the {self._noun}" if view is None else f"the {self._noun} of view {view!r}"
        if self.K.min(initial=0.0) < 0:
            raise ValueError(f"{what} has negative entries ({self.K.min():.3g}); is it a similarity? Use Precomputed")
        if self.self_similarity.max(initial=0.0) > _SELF_DISTANCE * self.K.max(initial=0.0):
            raise ValueError(f"{what} must be 0 on the diagonal; is it a similarity? Use Precomputed for those")

    def read_block(self, rows: Any, diagonal: Any, what: str, needed: np.ndarray | None = None) -> Block:
        """Distances of new samples, at least 0, and 0 from each to itself; see `Precomputed.read_block`."""
        block = super().read_block(rows, 0.0, what, needed)
        smallest = np.nanmin(block.values[~block.absent], initial=0.0)
        if smallest < 0:
            raise ValueError(f"{what} holds a negative distance ({smallest:.3g})")
        return block


def _as_metric(metric: Any, view: Any) -> Any:
    if isinstance(metric, str) and metric == "precomputed":
        raise ValueError('pass the matrix of distances itself as metric, not "precomputed"')
    if isinstance(metric, str | DistanceMatrix) or callable(metric):
        return metric
    return DistanceMatrix(metric, view)


def _constants(metric: Any, values: Any, sample_weight: np.ndarray) -> dict[str, np.ndarray]:
    """What a metric learns from the training samples: variances, or the inverse of the covariance."""
    if metric not in ("seuclidean", "mahalanobis") if isinstance(metric, str) else True:
        return {}
    deviations = values - np.average(values, axis=0, weights=sample_weight)
    weighted = deviations * (sample_weight / max(sample_weight.sum() - 1.0, 1.0))[:, None]
    if metric == "seuclidean":
        variances = (weighted * deviations).sum(axis=0)
        return {"V": np.where(variances > 0, variances, 1.0)}
    return {"VI": np.linalg.pinv(weighted.T @ deviations)}


def _of_pairs(metric: Callable[[Any, Any], float], A: np.ndarray, B: np.ndarray, same: bool) -> np.ndarray:
    distances = np.zeros((len(A), len(B)))
    for i, a in enumerate(A):
        for j in range(i + 1 if same else 0, len(B)):
            distances[i, j] = metric(a, B[j])
    return distances + distances.T if same else distances
