"""`Distance`: any distance of samples as a kernel, MKL-DR (8).

========  ==================================================================
MKL-DR    here
========  ==================================================================
d_m       the `metric`: by name, a function of two samples, or a matrix
sigma_m   `scale_`; in the paper only "a positive constant"
K_m       exp(-d^2 / scale^2)
========  ==================================================================

A matrix of distances is looked up by an id column, by the same code as a `Precomputed` kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..views import Views
from .base import Kernel, ViewKernel
from .features import euclidean_scale, falling, gaussian
from .lookups.blocks import Block
from .lookups.precomputed import Precomputed
from .tiles.functions import MatrixFunction, PointFunction
from .widths import chosen_scale, distance_scale

_EUCLIDEAN = ("euclidean", "l2")
_ANGULAR = ("cosine", "correlation")  # 1 minus a number near 1, so that rounding does not shrink with the distances
# Distances below this share of a sample's largest one are rounding: such samples are copies of each other.
_SAME_SAMPLE = 1e-12
_SELF_DISTANCE = 1e-8


class Distance(ViewKernel):
    """The kernel k(x, z) = exp(-d(x, z)^2 / scale^2) of a distance d, MKL-DR (8).

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
        median distance of two samples. It is 1 where all samples coincide, and repeating samples does not change it. Of
        more than 10 000 samples a part is looked at, the same always: widths change by 2 % at most, "nearest" more.
    repair : {"clip", "shift", None}
        What a model does where the kernel is not positive semidefinite among its training samples, see `Repair`; None
        only warns.
    transformer : transformer or None
        A transformer of scikit-learn that prepares the view, such as ``StandardScaler()``: the kernel compares what it
        returns. A copy of it, `transformer_`, is fitted (with y) to the training samples that have the view.

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
        """Whether the metric is a matrix, so that the view holds ids."""
        return isinstance(self.metric, DistanceMatrix)

    @property
    def takes_text(self) -> bool:
        """Functions may compare columns of any type, and ids may be text."""
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
            Distances of the new samples to the original ones; with labels as in `Precomputed.extend`.

        Returns
        -------
        Distance
            New samples have the labels of the rows or, without labels, the ids that follow the existing ones.
        """
        if not isinstance(self.metric, DistanceMatrix):
            raise ValueError(f"only a Distance of a matrix can be extended by new ids, not one of {self.metric!r}")
        return self.over(self.metric.extend(rows))

    def over(self, matrix: DistanceMatrix) -> Distance:
        """The kernel with another matrix, such as an extended one; not fitted."""
        return Distance(matrix, self.view, scale=self.scale, repair=self.repair)

    def read(self, views: Views) -> tuple[Any, np.ndarray]:
        """What the metric compares, and which samples have it."""
        values, present = super().read(views)
        if isinstance(self.metric, DistanceMatrix):
            present = self.metric.bound_like(self).there(values, present)
        return values, present

    def bound_like(self, other: Distance) -> Distance:
        """A copy, sharing the matrix, that reads ids where another, fitted kernel does, with its width."""
        copy = Distance(self.metric, self.view, scale=self.scale, repair=self.repair)
        copy.columns_, copy.label_, copy.scale_ = other.columns_, other.label_, other.scale_
        if isinstance(self.metric, DistanceMatrix):
            copy.lookup_ = self.metric.bound_like(other)
        return copy

    def lookups(self, X: Any) -> list[tuple[Kernel, np.ndarray]]:
        """The matrix of distances, where the metric is one."""
        return self.lookup_.lookups(X) if self.reads_ids else []

    def learn(self, values, sample_weight):
        """Take the metric's constants, and the width, by its rule where it is no number."""
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
        """exp(-||a - b||^2 / scale^2), for the Euclidean distance."""
        return PointFunction("gaussian", scale=self.scale_) if self.positive_semidefinite else None

    def matrix_function(self):
        """exp(-d^2 / scale^2) of looked up distances, for a matrix."""
        return MatrixFunction(self.lookup_, self.scale_) if self.reads_ids else None

    def gram_of(self, A):
        """exp(-d(a, a')^2 / scale^2), exactly 1 on the diagonal."""
        K = self.cross_of(A, A)
        np.fill_diagonal(K, 1.0)
        return K

    def cross_of(self, A, B):
        """exp(-d(a, b)^2 / scale^2)."""
        if self.positive_semidefinite:
            return gaussian(A, B, self.scale_)
        distances = self._distances(A, B)
        distances /= self.scale_  # before squaring, which may over- or underflow
        return falling(np.multiply(distances, distances, out=distances), 1.0)  # MKL-DR (8)

    def diagonal_of(self, A):
        """1."""
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


class DistanceMatrix(Precomputed):
    """Distances looked up by id: the metric of a `Distance` over a matrix, immutable and shared by clones.

    Parameters
    ----------
    K : array of shape (n_ids, n_ids)
        Symmetric, finite, at least 0, and 0 from each sample to itself.
    view : str, list, slice, mask, callable or None
        What messages call the view.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels.distance import DistanceMatrix
    >>> DistanceMatrix(np.array([[0.0, 2.0], [2.0, 0.0]]))
    DistanceMatrix(K=<2 x 2 matrix>)
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
    """A metric's name or function as it is, a matrix as `DistanceMatrix`."""
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
    """metric(a, b) for all pairs of rows; each pair once where A is B."""
    distances = np.zeros((len(A), len(B)))
    for i, a in enumerate(A):
        for j in range(i + 1 if same else 0, len(B)):
            distances[i, j] = metric(a, B[j])
    return distances + distances.T if same else distances
