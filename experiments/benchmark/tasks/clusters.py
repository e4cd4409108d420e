"""Clusters of several views against the classes, which no method sees.

`KernelKMeans` in its four forms of weights against spectral clustering of the mean kernel, k-means on standardised
columns and similarity network fusion, on the benchmark's data sets of several views: at most 2000 samples, drawn by a
fixed seed, and as many clusters as classes. Dense views are standardised and have a Gaussian kernel of default width,
sparse ones TF-IDF and the cosine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from experiments.benchmark.data_sets import DATA_SETS, DENSE_VIEWS, SPARSE_VIEWS
from experiments.benchmark.ingredients import view_block
from experiments.benchmark.tasks.task import OURS, RIVAL, Score, Task
from kernelweave.cluster import KernelKMeans
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.views import stack_views
from kernelweave.views.digests import data_digest

MOST, SEEDS = 2000, 3
NEIGHBOURS, STEPS, WIDTH = 20, 20, 0.5  # K, t and mu that Wang et al. take
WEIGHTS = ("mean", "min-max", "min-min", "localized")

Prepared = tuple[dict[str, Any], np.ndarray]


def _load(name: str, data_home: Any) -> Prepared:
    """Standardised views and TF-IDF of at most 2000 samples, and their classes."""
    problem = DATA_SETS[name](data_home)
    rows = np.sort(np.random.RandomState(0).permutation(len(problem.y))[:MOST])
    found = {}
    for view in problem.views:
        values = view_block(problem.X, view)[0]
        if sp.issparse(values):
            found[view] = TfidfTransformer().fit_transform(sp.csr_matrix(values)[rows])
        else:
            found[view] = np.nan_to_num(StandardScaler().fit_transform(values[rows]))
    return found, np.unique(np.asarray(problem.y)[rows], return_inverse=True)[1]


def fused(affinities: list[np.ndarray]) -> np.ndarray:
    """Similarity network fusion (Wang et al. 2014): networks that pass what their nearest neighbours say to the others.

    P_v = S_v (mean of the other P) S_v', with S_v the rows of P_v cut to the nearest neighbours.
    """
    networks = [_rows_of_one(W) for W in affinities]
    local = [_neighbourhood(W) for W in affinities]
    for _ in range(STEPS if len(networks) > 1 else 0):
        total = np.sum(networks, axis=0)
        passed = [S @ (S @ ((total - P) / (len(networks) - 1)).T).T for S, P in zip(local, networks, strict=True)]
        networks = [_rows_of_one(0.5 * (P + P.T)) for P in passed]
    mean = np.mean(networks, axis=0)
    return 0.5 * (mean + mean.T)


def _rows_of_one(W: np.ndarray) -> np.ndarray:
    """W(i, j) / (2 sum over k != i of W(i, k)), and 1/2 on the diagonal."""
    W = W.copy()
    np.fill_diagonal(W, 0.0)
    W /= np.maximum(2.0 * W.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    np.fill_diagonal(W, 0.5)
    return W


def _neighbourhood(W: np.ndarray) -> sp.csr_matrix:
    n, K = len(W), min(NEIGHBOURS, len(W) - 1)
    nearest = np.argpartition(-W, K - 1, axis=1)[:, :K]
    values = np.take_along_axis(W, nearest, axis=1)
    values /= np.maximum(values.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return sp.csr_matrix((values.ravel(), (np.repeat(np.arange(n), K), nearest.ravel())), shape=(n, n))


def affinity(squares: np.ndarray) -> np.ndarray:
    """The normal density of d with deviation mu e, e the mean of d and of both mean distances to nearest neighbours.

    So in the authors' programs; the exponent -d^2 / (mu e) that the paper prints depends on the unit of d.
    """
    distances = np.sqrt(np.maximum(squares, 0.0))
    np.fill_diagonal(distances, 0.0)
    K = min(NEIGHBOURS, len(distances) - 1)
    near = np.sort(distances, axis=1)[:, 1 : K + 1].mean(axis=1)
    deviation = WIDTH * np.maximum((near[:, None] + near + distances) / 3.0, np.finfo(float).eps)
    return np.exp(-0.5 * (distances / deviation) ** 2) / deviation


def _squares(values: Any) -> np.ndarray:
    products = values @ values.T
    products = products.toarray() if sp.issparse(products) else products
    lengths = np.diagonal(products)
    return lengths[:, None] + lengths - 2.0 * products


def _methods(views: dict[str, Any], n_clusters: int) -> dict[str, Callable[[int], np.ndarray]]:
    """By name a function from a seed to labels."""
    kernels = [(name, Linear(name) if sp.issparse(own) else Gaussian(name)) for name, own in views.items()]
    X = stack_views(views)

    def ours(weights: str) -> Callable[[int], np.ndarray]:
        return lambda seed: KernelKMeans(kernels, n_clusters, weights=weights, random_state=seed).fit_predict(X)

    def spectral(seed: int) -> np.ndarray:
        mean = np.mean(KernelStack(kernels).fit(X).matrices(), axis=0)
        return _spectral(mean, n_clusters, seed)

    def k_means(seed: int) -> np.ndarray:
        sparse = any(map(sp.issparse, views.values()))
        columns = sp.hstack(list(views.values())).tocsr() if sparse else np.hstack(list(views.values()))
        return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(columns)

    def fusion(seed: int) -> np.ndarray:
        return _spectral(fused([affinity(_squares(own)) for own in views.values()]), n_clusters, seed)

    own = {weights: ours(weights) for weights in WEIGHTS}
    return own | {"spectral": spectral, "k-means": k_means, "SNF": fusion}


def _spectral(W: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    model = SpectralClustering(n_clusters, affinity="precomputed", assign_labels="kmeans", random_state=seed)
    return model.fit_predict(np.maximum(W, 0.0))


def _digest(data: Prepared) -> str:
    return " ".join(data_digest(own, data[1]) for own in data[0].values())


def _measure(data: Prepared, method: str, seed: int) -> dict[str, float]:
    views, y = data
    labels_of = _methods(views, int(y.max()) + 1)[method]
    begin = time.process_time()
    labels = labels_of(seed)
    seconds = time.process_time() - begin
    agreement = {"ARI": adjusted_rand_score(y, labels), "NMI": normalized_mutual_info_score(y, labels)}
    return {name: 100.0 * float(value) for name, value in agreement.items()} | {"seconds": seconds}


TASK = Task(
    "clusters",
    title="Clusters",
    named="mean",
    named_as="what `KernelKMeans` does by default, equal weights",
    sets=(*DENSE_VIEWS, *SPARSE_VIEWS),
    methods={name: OURS for name in WEIGHTS} | {name: RIVAL for name in ("spectral", "k-means", "SNF")},
    n_folds=SEEDS,
    fold_name="seed",
    scores=(Score("ARI", "Adjusted Rand index x 100"), Score("NMI", "Normalised mutual information x 100")),
    load=_load,
    digest=_digest,
    size=lambda data: len(data[1]),
    measure=_measure,
)
