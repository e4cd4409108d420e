"""Clusters of samples that are described in several views: `KernelKMeans`, and how many clusters, `choose_n_clusters`.

A partition is judged by its inertia, the sum of squared distances of samples to their cluster's centre in the feature
space of the combined kernel. Distances do not depend on where the origin is, so each kernel is taken about the mean of
the samples that have its view, whatever its normalisation is (`Normalizer("center")`, behind that of the model). A
sample that lacks a view is at the mean of that view: nothing there draws it to one cluster or another.

=============  =======================================================================  =============================
weights        combined kernel                                                          found by
=============  =======================================================================  =============================
given, "mean"  sum_m w_m k_m(x, z)                                                      -
"min-max"      sum_m g_m^2 k_m(x, z) / t_m, t_m the trace of the centred kernel         `partitions.min_max_weights`
"min-min"      the same                                                                 `partitions.alternate`
"localized"    sum_m g_m(x) g_m(z) k_m(x, z) / (||x||_m ||z||_m), lengths about the     `partitions.localize`
               mean
=============  =======================================================================  =============================

In each the weights g are at least 0 and add up to 1. With t_m a kernel counts by the share of its own scatter that
clusters explain: its scale does not matter, and one that is constant gets no weight. The partition is then found by
`partitions.improve` from several starts, of which one is made of the eigenvectors of the relaxed problem.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClusterMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from ._warnings import warn
from .combiners.base import as_numbers
from .estimators.fitted import FittedStack, check_some_view
from .estimators.kernel_lists import KernelParameters
from .kernels import KernelStack, Normalizer
from .kernels.resources import explained_memory_errors
from .kernels.stack import default_kernels
from .solvers.partitions import (
    SAME,
    Partition,
    alternate,
    centre_products,
    centred,
    improve,
    indicators,
    inertia_of,
    leading,
    localize,
    min_max_weights,
    nearest,
    nearest_with_gates,
    seeds,
)
from .solvers.sums import KernelBlock, sum_kernels
from .validation import Choice, Constraints, Instance, Number, Seed, Whole, check, check_parameters, shown
from .validation.inputs import unchanged_on_failure
from .validation.schemas import Schema, Sizes, indices, numbers, object_of, optional, refuse, series, several
from .views import Views
from .views.given import training_views

__all__ = ["KernelKMeans", "Stability", "choose_n_clusters"]

LEARNED = ("min-max", "min-min", "localized")
# A centred kernel with less than this share of the mean k(x, x) that it had, and a sample nearer to the mean than by
# this share of the mean squared length, has no direction but rounding.
FLAT = 1e-10


class _Samples:
    """The kernels over the samples of a fit, about their means; `eta` are given weights, None where they are learned.

    `weighted` is the sum by given weights; `scaled` and `directions` are what weights are learned from.
    """

    def __init__(self, model: KernelKMeans, views: Views):
        kernels = default_kernels(views) if model.kernels is None else model.kernels
        self.views = views
        self.stack = KernelStack(kernels, model.normalize).fit(views)
        names = self.stack.names
        self.centres = [Normalizer("center", name) for name in names]
        self.eta: np.ndarray | None = None
        if not isinstance(model.weights, str):
            self.eta = as_numbers(model.weights, names, "weights", default=0.0)
            if not self.eta.any():
                raise ValueError("weights must give one of the kernels a positive weight")
        elif model.weights == "mean":
            self.eta = np.full(len(names), 1.0 / len(names))
        if self.eta is not None:
            check_some_view(views, self.stack.present, self.eta > 0.0, names)

    def centred(self, m: int, K: np.ndarray) -> np.ndarray:
        """Kernel m about the mean of the samples that have its view, in place; rows of others are 0."""
        present = self.stack.present[:, m].copy()
        return self.centres[m].gram(K, present, np.ones(len(present)))

    @cached_property
    def weighted(self) -> np.ndarray:
        self.stack.check_memory(3, "the combined kernel")
        eta: Any = self.eta
        with explained_memory_errors(3, self.stack.n_samples, np.float64, "the combined kernel", has_dtype=False):
            used = np.flatnonzero(eta).tolist()
            return sum_kernels((KernelBlock(m, self.centred(m, self.stack.gram(m))) for m in used), eta)

    @cached_property
    def scaled(self) -> tuple[np.ndarray, np.ndarray]:
        """The kernels, of trace 1 or zero where one is constant, and the traces that they had, 0 for constant ones."""
        stack, P, n = self.stack, self.stack.n_kernels, self.stack.n_samples
        what = f"learning the weights of {P} kernels"
        stack.check_memory(P + 3, what, per_kernel=True)
        traces = np.zeros(P)
        with explained_memory_errors(P + 3, n, np.float64, what, per_kernel=True, has_dtype=False):
            matrices = np.empty((P, n, n))
            for m in range(P):
                K = stack.gram(m)
                if stack.repairs[m].is_left:
                    raise ValueError(
                        f"the kernel {stack.names[m]!r} is not positive semidefinite, so that its weight cannot be "
                        'learned; give it repair="clip" or repair="shift", or give weights'
                    )
                size = float(np.trace(K))
                matrices[m] = self.centred(m, K)
                trace = float(np.trace(matrices[m]))
                traces[m] = trace if trace > FLAT * size else 0.0
                matrices[m] *= 1.0 / trace if traces[m] else 0.0
        return matrices, traces

    @property
    def matrices(self) -> np.ndarray:
        return self.scaled[0]

    @property
    def traces(self) -> np.ndarray:
        return self.scaled[1]

    @property
    def spreads(self) -> np.ndarray:
        """Mean squared lengths of the samples that have the view, for each kernel."""
        return self.traces / self.stack.present.sum(axis=0)

    @cached_property
    def directions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kernels between directions from the mean; lengths of samples; and which have a direction, both (n, P)."""
        squares = np.diagonal(self.matrices, axis1=1, axis2=2).T * self.traces
        has = self.stack.present & (squares > FLAT * self.spreads)
        roots = np.where(has, np.sqrt(np.where(has, squares, 1.0)), 0.0)
        scales = np.divide(np.sqrt(self.traces), roots, out=np.zeros(roots.shape), where=has)
        matrices = self.matrices.copy()
        for K, scale in zip(matrices, scales.T, strict=True):
            K *= scale[:, None]
            K *= scale
        return matrices, roots, has


@dataclass(frozen=True)
class _Found:
    """A partition with the weights of kernels, and what is known of both."""

    labels: np.ndarray
    weights: np.ndarray
    lengths: np.ndarray  # squared lengths of the centres
    inertia: float
    bound: float
    history: list[dict[str, float]]
    gap: float
    converged: bool
    amplitudes: np.ndarray | None = None  # of samples in each kernel, where weights differ from sample to sample


class _History:
    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.rows: list[dict[str, float]] = []

    def __call__(self, objective: float) -> None:
        self.rows.append({"objective": objective, "seconds": time.perf_counter() - self.begin})


class KernelKMeans(ClusterMixin, FittedStack, KernelParameters):
    """k-means in the feature space of several kernels, whose weights are given or learned with the clusters.

    Minimises the inertia ``sum_i ||phi(x_i) - mu_c(i)||^2`` over partitions, phi being the features of the combined
    kernel ``sum_m w_m k_m`` and mu the centres of the clusters. `inertia_bound_` is a limit below which no partition
    is under the same kernel (Ding and He, 2004), so that ``inertia_ - inertia_bound_`` is the most that a better search
    could gain.

    Parameters
    ----------
    kernels : list of kernels or (name, kernel), or None
        As in `MKLClassifier`; parameters are reached as ``kernels__<name>__<parameter>``.
    n_clusters : int
    weights : {"mean", "min-max", "min-min", "localized"}, or weights by kernel name or in order
        Equal weights, or those that are given; or learned ones, of kernels that are centred and scaled to the same
        scatter. "min-max" minimises over weights g (at least 0, of sum 1) the scatter that the best relaxed clusters
        explain under ``sum_m g_m^2 k_m`` (SimpleMKKM): a convex problem, solved to the gap `duality_gap_`. Kernels of
        which clusters explain little get most, so that none is drowned, but also noise is heard. "min-min" minimises
        the inertia over weights and clusters together, by turns: kernels get most of which clusters explain much.
        "localized" does so with weights of each sample, between kernels of unit length about the mean.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of each kernel, with constants from the training samples. Whatever it is, distances are those
        about the mean.
    n_init : int
        Starts by k-means++, beside the one that the relaxed problem gives; the partition of least inertia stays (with
        "min-min" that of the least objective; "localized" begins with the best one under equal weights).
    max_iter : int
        Limit on sweeps over all samples, and on steps of learning weights.
    tol : float
        Largest gap of "min-max", relative to the objective; "localized" stops where no sample changes its cluster and
        the objective falls by less than this share.
    random_state : int, RandomState or None
        For the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each training sample, from 0.
    inertia_ : float
        Sum of squared distances to the centres under the combined kernel.
    inertia_bound_ : float
        No partition into `n_clusters` clusters has a smaller inertia under that kernel: its centred trace less the sum
        of its ``n_clusters - 1`` largest eigenvalues.
    kernel_weights_ : Series
        Weight by kernel name. Learned ones are those of the kernels as they are normalised, of sum 1. With "localized"
        the mean of what `kernel_weights` gives for the training samples.
    objective_ : float
        What was minimised, at the end: `inertia_` where weights are given or localized, else a share of the scatter.
    duality_gap_ : float
        For "min-max", how far `objective_` is at most from the optimum; NaN for the others.
    history_ : DataFrame
        Objective and seconds after each step, of the start that was taken; those of the weights for "min-max".
    n_iter_ : int
        Number of these steps.
    kernels_, kernel_names_, n_features_in_, feature_names_in_
        As in `KernelVoting`.

    Notes
    -----
    Time: n_samples^3 for the bound and, with "min-max", for each step; products of n_samples^2 with a few columns else.
    Memory: three n x n matrices, with learned weights one more for each kernel ("localized": two).

    A sample that lacks a view is at the mean of that view, where it adds nothing to the distances between clusters;
    with "localized" it has no weight there. A sample that has none of the views whose kernels have a weight is an
    error. Where fewer than `n_clusters` samples differ, there are as many clusters as these, with a warning.

    When not to take it: k-means looks for clusters of about the same extent. Elongated or nested ones need a kernel
    that tells them apart, and clusters of very different extent are cut in pieces. "min-min" and "localized" weigh most
    whichever kernel is easiest to cluster, which may be one of few columns, or with an artefact such as a batch.

    References
    ----------
    H.-C. Huang, Y.-Y. Chuang, C.-S. Chen, Multiple kernel fuzzy clustering, IEEE Transactions on Fuzzy Systems 20,
    2012. X. Liu, SimpleMKKM: simple multiple kernel k-means, 2020. M. Gönen, A. A. Margolin, Localized data fusion for
    kernel k-means clustering with application to cancer biology, NIPS 2014. C. Ding, X. He, K-means clustering via
    principal component analysis, ICML 2004.

    Examples
    --------
    >>> from kernelweave import datasets
    >>> from kernelweave.cluster import KernelKMeans
    >>> from kernelweave.kernels import Gaussian
    >>> X, y = datasets.load_multifeat(return_X_y=True)
    >>> model = KernelKMeans([Gaussian("fac"), Gaussian("mor")], 10, weights="min-max", random_state=0).fit(X[::10])
    >>> model.kernel_weights_.round(1)
    fac    0.7
    mor    0.3
    dtype: float64
    >>> bool((model.predict(X[::10]) == model.labels_).all()), model.inertia_bound_ < model.inertia_
    (True, True)
    """

    _constraints = Constraints(
        n_clusters=Whole(1),
        n_init=Whole(1),
        max_iter=Whole(1),
        tol=Number(above=0),
        random_state=Seed(),
    )

    _saved = Schema(
        {
            "_lengths": numbers("clusters", low=0.0, filled=True),
            "labels_": indices("support", below="clusters"),
            "kernel_weights_": series("kernels"),
            "_centres": several(object_of(Normalizer, reference="support"), "kernels"),
            "_spreads": optional(numbers("kernels", low=0.0)),
            "_amplitudes": optional(numbers("support", "kernels", low=0.0)),
        }
    )

    def __init__(
        self,
        kernels: Any = None,
        n_clusters: int = 8,
        *,
        weights: Any = "mean",
        normalize: str | None = "unit-diagonal",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ):
        self.kernels = kernels
        self.n_clusters = n_clusters
        self.weights = weights
        self.normalize = normalize
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> KernelKMeans:
        """Find the clusters, and the weights of the kernels where they are learned.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : ignored
        """
        with unchanged_on_failure(self):
            given = self._checked()
            samples = _Samples(self, training_views(self, X))
            found = self._found(samples, given)
            self._warn(found, given)
            self._store(samples, found)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each sample whose centre is nearest in the combined kernel's feature space.

        With "localized" a sample has the weights with which it is nearest to that centre.
        """
        views = self._new_views(X)
        return views.in_blocks(self._n_values(), lambda part: self._nearest(part)[0])

    def kernel_weights(self, X: Any) -> pd.DataFrame:
        """What each kernel is multiplied by in k(x, x) of each sample, of shape (n_samples, n_kernels).

        `kernel_weights_`, and 0 for views that a sample lacks. With "localized" the squares of the sample's weights
        g_m(x) for its cluster.
        """
        views = self._new_views(X)
        weights = views.in_blocks(self._n_values(), lambda part: self._nearest(part)[1])
        return pd.DataFrame(weights, columns=self.kernel_names_, index=X.index if isinstance(X, pd.DataFrame) else None)

    def _checked(self) -> SimpleNamespace:
        given = check_parameters(self)
        if isinstance(self.weights, str):
            check(self, "weights", self.weights, Choice("mean", *LEARNED))
        return given

    def _found(self, samples: _Samples, given: SimpleNamespace) -> _Found:
        n_samples = samples.stack.n_samples
        if given.n_clusters > n_samples:
            raise ValueError(
                f"n_clusters is {given.n_clusters}, but there are only {n_samples} samples; ask for fewer clusters"
            )
        history = _History()
        if samples.eta is not None:
            return _under(samples.weighted, samples.eta, given, history)
        if not samples.traces.any():  # all kernels are constant: nothing to learn from
            weights = np.full(len(samples.traces), 1.0 / len(samples.traces))
            return _under(np.zeros(samples.matrices.shape[1:]), weights, given, history)
        learn = {"min-max": _min_max, "min-min": _min_min, "localized": _localized}
        return learn[self.weights](samples, given, history)

    def _warn(self, found: _Found, given: SimpleNamespace) -> None:
        if not found.converged:
            warn(
                f"KernelKMeans stopped at max_iter={given.max_iter} while its objective still fell; raise max_iter",
                ConvergenceWarning,
            )
        if len(found.lengths) < given.n_clusters:
            warn(
                f"only {len(found.lengths)} samples differ in the combined kernel, so there are {len(found.lengths)} "
                f"clusters instead of n_clusters={given.n_clusters}",
                ConvergenceWarning,
            )

    def _store(self, samples: _Samples, found: _Found) -> None:
        stack = samples.stack
        active = found.weights > 0.0
        check_some_view(samples.views, stack.present, active, stack.names)
        self.kernels_, self.kernel_names_ = stack.kernels, stack.names
        self.kernel_weights_ = pd.Series(found.weights, stack.names, copy=True)
        self.labels_ = found.labels
        self.inertia_, self.inertia_bound_ = found.inertia, found.bound
        self.history_ = pd.DataFrame(found.history)
        self.objective_, self.duality_gap_ = float(self.history_["objective"].iloc[-1]), found.gap
        self.n_iter_ = len(found.history)
        self._lengths = found.lengths
        unused = [Normalizer("center", name) for name in stack.names]
        self._centres = [own if used else none for own, none, used in zip(samples.centres, unused, active, strict=True)]
        for name in ("_amplitudes", "_spreads"):
            self.__dict__.pop(name, None)
        if found.amplitudes is not None:
            self._amplitudes, self._spreads = found.amplitudes, samples.spreads
        self._state = stack.restrict(np.arange(stack.n_samples), active)

    def _nearest(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """The nearest cluster of new samples, and their weights."""
        weights, active = self.kernel_weights_.to_numpy(), self._active()
        present = self._state.presence(views, active)
        check_some_view(views, present, active, self.kernel_names_)
        members = indicators(self.labels_)
        shares = members / members.sum(axis=0)
        amplitudes = getattr(self, "_amplitudes", None)
        products = np.zeros((views.n_samples, len(weights), len(self._lengths)))
        squares = np.zeros((views.n_samples, len(weights)))
        for m in np.flatnonzero(active).tolist():
            values, diagonal = self._state.compare(m, views, present[:, m])
            squares[:, m] = self._centres[m].diagonal(values, diagonal, present[:, m])
            values = self._centres[m].cross(values, diagonal, present[:, m], slice(None))
            products[:, m] = values @ (shares if amplitudes is None else amplitudes[:, m, None] * shares)
        if amplitudes is None:
            values = np.einsum("m,imc->ic", weights, products)
            return (self._lengths - 2.0 * values).argmin(axis=1), present * weights
        has = present & (squares > FLAT * self._spreads)
        products /= np.sqrt(np.where(has, squares, 1.0))[:, :, None]
        labels, gates, _ = nearest_with_gates(products, self._lengths, has)
        return labels, gates**2

    def _n_values(self) -> int:
        return len(self.labels_) + len(self.kernel_weights_) * len(self._lengths)

    def _active(self) -> np.ndarray:
        return self.kernel_weights_.to_numpy() > 0.0

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        fields = vars(self)
        if not self._active().any():
            refuse(f"{path}.kernel_weights_", "are all 0")
        if len(np.unique(self.labels_)) != len(self._lengths):
            refuse(f"{path}.labels_", "leave a cluster empty")
        if ("_amplitudes" in fields) != ("_spreads" in fields):
            refuse(path, "has one of the attributes _amplitudes and _spreads only")
        for m in np.flatnonzero(self._active()):
            if self._centres[m].method != "center" or "present_" not in vars(self._centres[m]):
                refuse(f"{path}._centres[{m}]", "does not centre the kernel")
            if not self._state.active[m]:
                refuse(f"{path}.kernel_weights_", "uses a kernel of which nothing is kept")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")


def _under(K: np.ndarray, weights: np.ndarray, given: SimpleNamespace, history: _History) -> _Found:
    """The best partition under a combined kernel that is given, centred."""
    starts, bound = _starts(K, given)
    found = _best([improve(K, labels, given.max_iter, given.random_state) for labels in starts])
    for objective in found.inertias:
        history(objective)
    return _of_partition(K, found, weights, bound, history)


def _of_partition(
    K: np.ndarray, found: Partition, weights: np.ndarray, bound: float, history: _History, gap: float = np.nan
) -> _Found:
    shares = indicators(found.labels)
    shares /= shares.sum(axis=0)
    lengths = np.maximum(np.einsum("ic,ic->c", shares, K @ shares), 0.0)
    inertia = max(inertia_of(K, found.labels), 0.0)
    return _Found(found.labels, weights, lengths, inertia, min(bound, inertia), history.rows, gap, found.converged)


def _starts(K: np.ndarray, given: SimpleNamespace) -> tuple[list[np.ndarray], float]:
    """Partitions to begin with under a centred kernel, that of the relaxed problem first; and the bound of this."""
    k, rng = given.n_clusters, given.random_state
    values, H = leading(K, k - 1)
    H = H[:, values > SAME * np.trace(K)]
    relaxed = H @ H.T
    starts = [improve(relaxed, nearest(relaxed, seeds(relaxed, k, rng)), given.max_iter, rng).labels]
    starts += [nearest(K, seeds(K, k, rng)) for _ in range(given.n_init)]
    return starts, _bound(K, values)


def _bound(K: np.ndarray, largest: np.ndarray) -> float:
    return max(float(np.trace(K) - largest.sum()), 0.0)


def _best(partitions: list[Partition]) -> Partition:
    """Of most clusters, where samples differ too little for some starts, and then of least inertia."""
    return min(partitions, key=lambda found: (-found.labels.max(), found.inertia))


def _min_max(samples: _Samples, given: SimpleNamespace, history: _History) -> _Found:
    used = samples.traces > 0.0
    gates, bundle = min_max_weights(
        _some(samples.matrices, used), given.n_clusters - 1, given.tol, given.max_iter, history
    )
    weights = _weights(samples, used, gates)
    K = sum_kernels(samples.matrices, weights * samples.traces)
    starts, bound = _starts(K, given)
    found = _best([improve(K, labels, given.max_iter, given.random_state) for labels in starts])
    found = Partition(found.labels, found.inertias, found.converged and bundle.converged)
    return _of_partition(K, found, weights, bound, history, float(bundle.gap))


def _min_min(samples: _Samples, given: SimpleNamespace, history: _History) -> _Found:
    used = samples.traces > 0.0
    matrices = _some(samples.matrices, used)
    starts, _ = _starts(sum_kernels(matrices, np.full(len(matrices), 1.0 / len(matrices))), given)
    tried = [alternate(matrices, labels, given.max_iter, given.random_state) for labels in starts]
    found = _best([partition for _, partition in tried])
    gates = next(gates for gates, partition in tried if partition is found)
    for objective in found.inertias:
        history(objective)
    weights = _weights(samples, used, gates)
    K = sum_kernels(samples.matrices, weights * samples.traces)
    return _of_partition(K, found, weights, _bound(K, leading(K, given.n_clusters - 1)[0]), history)


def _some(matrices: np.ndarray, used: np.ndarray) -> np.ndarray:
    return matrices if used.all() else matrices[used]


def _weights(samples: _Samples, used: np.ndarray, gates: np.ndarray) -> np.ndarray:
    """Weights of the normalised kernels, of sum 1, from weights g of those of trace 1."""
    weights = np.zeros(len(used))
    weights[used] = gates**2 / samples.traces[used]
    return weights / weights.sum()


def _localized(samples: _Samples, given: SimpleNamespace, history: _History) -> _Found:
    matrices, roots, has = samples.directions
    equal = has / np.maximum(has.sum(axis=1), 1)[:, None]
    K = centred(sum_kernels(matrices, equal))[0]
    starts, _ = _starts(K, given)
    start = _best([improve(K, labels, given.max_iter, given.random_state) for labels in starts])
    local = localize(matrices, has, start.labels, given.tol, given.max_iter)
    found, gates = local.partition, local.gates
    for objective in found.inertias:
        history(objective)
    amplitudes = np.divide(gates, roots, out=np.zeros(gates.shape), where=has)
    lengths = centre_products(matrices, gates, found.labels)[1]
    K = centred(sum_kernels(matrices, gates, out=K))[0]
    bound = min(_bound(K, leading(K, given.n_clusters - 1)[0]), found.inertia)
    return _Found(
        found.labels,
        (gates**2).mean(axis=0),
        np.maximum(lengths, 0.0),
        found.inertia,
        bound,
        history.rows,
        np.nan,
        found.converged and start.converged,
        amplitudes=amplitudes,
    )


@dataclass(frozen=True)
class Stability:
    """How well clusterings of subsamples agree, for several numbers of clusters.

    Attributes
    ----------
    table : DataFrame
        One row for each number of clusters: ``agreement``, the mean adjusted Rand index of all pairs of subsamples on
        the samples that both have (1: the same clusters; 0: no more than by chance), and ``spread``, the standard
        deviation over subsamples of their mean agreement with the others.
    n_clusters : int
        The largest number whose agreement is at most one spread below the best.
    """

    table: pd.DataFrame
    n_clusters: int


def choose_n_clusters(
    model: KernelKMeans,
    X: Any,
    n_clusters: Iterable[int] = range(2, 11),
    *,
    n_subsamples: int = 20,
    share: float = 0.8,
    random_state: Any = None,
) -> Stability:
    """The number of clusters under which clusterings of random subsamples agree best (Ben-Hur et al., 2002).

    Maximises the mean adjusted Rand index between clusterings of overlapping subsamples, which is 0 by chance; of
    numbers that agree about equally well it takes the largest. Kernels and their constants are those of each subsample.

    Parameters
    ----------
    model : KernelKMeans
        Its `n_clusters` is not read.
    X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
    n_clusters : iterable of int
        The numbers to compare, each from 2 to the size of a subsample.
    n_subsamples : int
    share : float
        Of the samples that are in a subsample, above 0 and below 1.
    random_state : int, RandomState or None
        For the subsamples and the starts.

    Returns
    -------
    Stability

    Notes
    -----
    A single cluster cannot be chosen: it agrees with itself always. Samples without clusters that are longer in one
    direction than in the others are cut in two in a stable way, so that an agreement is no proof of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.cluster import KernelKMeans, choose_n_clusters
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(centre, 0.3, size=(20, 2)) for centre in ([0, 0], [0, 4], [4, 0])])
    >>> choose_n_clusters(KernelKMeans(normalize=None), X, range(2, 6), n_subsamples=5, random_state=0).n_clusters
    3
    """
    model = clone(check(None, "model", model, Instance(KernelKMeans, "a KernelKMeans")))
    n_subsamples = check(None, "n_subsamples", n_subsamples, Whole(2))
    share = check(None, "share", share, Number(above=0, below=1))
    rng = check(None, "random_state", random_state, Seed())
    views = training_views(model, X)
    size = round(share * views.n_samples)
    counts = _counts(n_clusters, size)
    labels = np.full((len(counts), n_subsamples, views.n_samples), -1)
    for place in range(n_subsamples):
        chosen = np.sort(rng.permutation(views.n_samples)[:size])
        samples = None
        for row, k in enumerate(counts):
            given = model.set_params(n_clusters=k, random_state=int(rng.randint(2**31 - 1)))._checked()
            samples = _Samples(model, views.rows(chosen)) if samples is None else samples
            found = model._found(samples, given)
            model._warn(found, given)
            labels[row, place, chosen] = found.labels
    agreements = [_agreements(each) for each in labels]
    table = pd.DataFrame(
        {"agreement": [own.mean() for own in agreements], "spread": [own.std(ddof=1) for own in agreements]},
        index=pd.Index(counts, name="n_clusters"),
    )
    best = table.loc[table["agreement"].idxmax()]
    near = table.index[table["agreement"] >= best["agreement"] - best["spread"]]
    return Stability(table, int(near.max()))


def _counts(n_clusters: Any, size: int) -> list[int]:
    if isinstance(n_clusters, str) or not isinstance(n_clusters, Iterable):
        raise ValueError(f"n_clusters must be several whole numbers, such as range(2, 11), not {shown(n_clusters)}")
    found = sorted({check(None, "n_clusters", k, Whole(2)) for k in n_clusters})
    if not found or found[-1] > size:
        raise ValueError(
            f"n_clusters must be numbers from 2 to {size}, the size of a subsample, not {shown(list(found))}"
        )
    return found


def _agreements(labels: np.ndarray) -> np.ndarray:
    """The mean adjusted Rand index of each clustering with the others, on the samples that both have (not -1)."""
    n = len(labels)
    pairs = np.zeros((n, n))
    for a in range(n):
        for b in range(a):
            both = (labels[a] >= 0) & (labels[b] >= 0)
            pairs[a, b] = pairs[b, a] = adjusted_rand_score(labels[a, both], labels[b, both])
    return pairs.sum(axis=1) / (n - 1)
