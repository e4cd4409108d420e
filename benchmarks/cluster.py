"""Clusters of several views against the classes: ``python -m benchmarks.cluster [--sets NAME ...] [--seeds 3]``.

`KernelKMeans` in its four forms of weights against spectral clustering of the mean kernel, k-means on standardised
columns and similarity network fusion, on data sets with several views: all of them where `KERNELWEAVE_DATA` is a folder
that has them, else the embedded MULTIFEAT. At most 2000 samples, drawn by a fixed seed; the number of clusters is that
of the classes, which no method sees. Dense views are standardised and have a Gaussian kernel of default width, sparse
ones TF-IDF and the cosine. A figure is 100 times the mean over the seeds of the starts, with one draw of the samples.

With one BLAS thread (``OPENBLAS_NUM_THREADS=1``) it takes a quarter of an hour.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from benchmarks.recipe_sets import raw
from kernelweave.cluster import KernelKMeans
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.views import stack_views

SETS = (
    *("multifeat", "protein_fold", "landuse21", "cub10", "pie10", "wikipedia", "mnist4", "ccv"),
    *("cora", "movies", "ngs", "reuters1200", "nutrimouse"),
)
MOST = 2000
SCORES = {"NMI": normalized_mutual_info_score, "ARI": adjusted_rand_score}
NEIGHBOURS, STEPS, WIDTH = 20, 20, 0.5  # K, t and mu that Wang et al. take


def prepared(name: str) -> tuple[dict[str, Any], np.ndarray]:
    """Standardised views and TF-IDF of at most 2000 samples, and their classes."""
    views, y, _ = raw(name)
    rows = np.sort(np.random.RandomState(0).permutation(len(y))[:MOST])
    found = {}
    for view, values in views.items():
        if sp.issparse(values):
            found[view] = TfidfTransformer().fit_transform(sp.csr_matrix(values)[rows])
        else:
            found[view] = np.nan_to_num(StandardScaler().fit_transform(np.asarray(values, dtype=float)[rows]))
    return found, np.unique(np.asarray(y)[rows], return_inverse=True)[1]


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


def methods(views: dict[str, Any], n_clusters: int) -> dict[str, Callable[[int], np.ndarray]]:
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

    own = {weights: ours(weights) for weights in ("mean", "min-max", "min-min", "localized")}
    return own | {"spectral": spectral, "k-means": k_means, "SNF": fusion}


def _spectral(W: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    model = SpectralClustering(n_clusters, affinity="precomputed", assign_labels="kmeans", random_state=seed)
    return model.fit_predict(np.maximum(W, 0.0))


def cells(name: str, n_seeds: int) -> list[dict[str, Any]]:
    """NMI, ARI and seconds of each method on one set."""
    views, y = prepared(name)
    found = []
    for method, labels_of in methods(views, int(y.max()) + 1).items():
        begin = time.perf_counter()
        labels = [labels_of(seed) for seed in range(n_seeds)]
        seconds = (time.perf_counter() - begin) / n_seeds
        scores = {score: 100.0 * np.mean([of(y, each) for each in labels]) for score, of in SCORES.items()}
        found.append({"set": name, "n": len(y), "classes": y.max() + 1, "method": method, "s": seconds, **scores})
    return found


def main() -> None:
    """Print the tables of the guide."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: list[dict[str, Any]] = []
    for name in given.sets:
        try:
            found += cells(name, given.seeds)
        except FileNotFoundError as missing:
            print(f"{name} is left out: {str(missing).partition(';')[0]}")
    table = pd.DataFrame(found)
    order = list(dict.fromkeys(table["method"]))
    sizes = table.groupby("set", sort=False)[["n", "classes"]].first()
    for score in SCORES:
        wide = table.pivot(index="set", columns="method", values=score).loc[sizes.index, order]
        print(f"\n| {score} x 100 | n | classes | {' | '.join(order)} |\n|---|{'---:|' * (len(order) + 2)}")
        for name, row in wide.iterrows():
            best = row.max()
            shown = [f"**{value:.1f}**" if value > best - 0.05 else f"{value:.1f}" for value in row]
            print(f"| {name} | {sizes.loc[name, 'n']} | {sizes.loc[name, 'classes']} | {' | '.join(shown)} |")
        ranks = wide.rank(axis=1, ascending=False)
        print(f"| mean | | | {' | '.join(f'{value:.1f}' for value in wide.mean())} |")
        print(f"| mean rank | | | {' | '.join(f'{value:.1f}' for value in ranks.mean())} |")
    seconds = table.pivot(index="set", columns="method", values="s")[order].median()
    print(f"| median seconds | | | {' | '.join(f'{value:.1f}' for value in seconds)} |")


if __name__ == "__main__":
    main()
