"""Kernel feature extraction on text: ``python -m benchmarks.extraction [--quick]``.

LA1 (3204 documents, 31472 words, sparse, linear kernel) from the data home, or a sparse matrix of that shape with class
structure where it is absent. Times are medians over calls, interleaved, one BLAS thread: once from the data (the Gram
matrix included on every side) and once on a precomputed Gram matrix, in multiples of KPLS. scikit-learn's KernelPCA is
the common yardstick. Memory is what `tracemalloc` sees at its highest, in n x n matrices of float64, less the data.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import KernelPCA
from threadpoolctl import threadpool_limits

from kernelweave.datasets import load_dataset
from kernelweave.kernels import Precomputed
from kernelweave.reduction import AKDAQR, KernelFisher, KernelOrthogonalCentroid, KernelPLS, SubspaceKernel

METHODS: dict[str, Callable[[Any], Any]] = {
    "KernelPLS": KernelPLS,
    "AKDAQR": AKDAQR,
    "KernelOrthogonalCentroid": KernelOrthogonalCentroid,
    "KernelFisher": KernelFisher,
    "SubspaceKernel": SubspaceKernel,
    "SubspaceKernel, L-BFGS": lambda kernel: SubspaceKernel(kernel, optimizer="lbfgs"),
    "SubspaceKernel, centred": lambda kernel: SubspaceKernel(kernel, center=True),
}


def documents(quick: bool) -> tuple[str, sp.csr_matrix, np.ndarray]:
    """LA1, or counts of words drawn from six topics; a fifth of the documents for a quick run."""
    try:
        X, y = load_dataset("la1", return_X_y=True)
        name = "la1"
    except FileNotFoundError:
        X, y = topics(3204, 31472, 6)
        name = "drawn from topics"
    if quick:
        X, y = X[::5], y[::5]
    return name, X.tocsr(), y


def topics(n_documents: int, n_words: int, n_topics: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Word counts of documents that take half of their words from a common list and half from their topic's."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_topics, size=n_documents)
    lengths = rng.geometric(1 / 200, size=n_documents)
    rows = np.repeat(np.arange(n_documents), lengths)
    frequent = 1.0 / np.arange(10, n_words + 10)
    words = rng.choice(n_words, len(rows), p=frequent / frequent.sum())
    own = rng.integers(n_words, size=(n_topics, 400))[y[rows], rng.integers(400, size=len(rows))]
    words = np.where(rng.random(len(rows)) < 0.5, words, own)
    return sp.csr_matrix((np.ones(len(rows)), (rows, words)), shape=(n_documents, n_words)), y


def seconds(function: Callable) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


def compare(title: str, calls: dict[str, Callable], repeats: int) -> None:
    """Interleave all, print medians and quartiles in multiples of the first."""
    times = {name: np.empty(repeats) for name in calls}
    for repeat in range(repeats):
        for name, call in calls.items():
            times[name][repeat] = seconds(call)
    print(f"\n{title}\n{'method':<28}{'ms':>10}{'of KPLS':>10}  quartiles")
    unit = next(iter(times.values()))
    for name, taken in times.items():
        low, middle, high = np.percentile(taken / unit, [25, 50, 75])
        print(f"{name:<28}{1e3 * np.median(taken):>10.1f}{middle:>10.2f}  {low:.2f} - {high:.2f}", flush=True)


def peaks(calls: dict[str, Callable], n: int) -> None:
    """The most memory a fit holds at any time, in n x n matrices."""
    print(f"\nPeak memory of a fit from the data, in matrices of {n} x {n} float64")
    for name, call in calls.items():
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{name:<28}{peak / (8 * n * n):>8.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the documents and three calls each")
    quick = parser.parse_args().quick
    name, X, y = documents(quick)
    n, repeats = X.shape[0], 3 if quick else 5
    K = (X @ X.T).toarray()
    ids = np.arange(n)[:, None]
    print(f"{name}: {n} documents, {X.shape[1]} words, {X.nnz} counts, {len(np.unique(y))} classes")
    from_data = {method: lambda make=make: make(None).fit(X, y) for method, make in METHODS.items()}
    given = Precomputed(K)
    on_kernel = {
        method: lambda make=make: make(given).fit(ids, y) for method, make in METHODS.items() if method != "AKDAQR"
    }
    pca = KernelPCA(6, kernel="precomputed", eigen_solver="arpack", random_state=0)
    with threadpool_limits(1):
        compare("From the data", from_data, repeats)
        compare("On a precomputed kernel", on_kernel | {"scikit-learn KernelPCA": lambda: pca.fit(K)}, repeats)
        peaks(from_data, n)


if __name__ == "__main__":
    main()
