"""Dimension reduction against dense eigenproblems of the same size: ``python -m benchmarks.reduction [--quick]``.

``--part default`` compares accuracies instead (`benchmarks.reduction_defaults`).

A unit is one full ``scipy.linalg.eigh(A, B)`` of n x n matrices (A = K L K, B = K L'K with a ridge, as MKL-DR meets
them), interleaved with our calls in one process with one BLAS thread. Gram matrices are left out on both sides. Beside
it stands `sklearn.decomposition.KernelPCA` with as many components, on the same combined kernel. A ratio is ours /
theirs: smaller is better for us.

========  =======================================================================  ==============
problem   what is timed                                                            aim
========  =======================================================================  ==============
mkldr     three iterations, n = 800, M = 4                                         <= 6 units
mkldr     one iteration (in three) on MULTIFEAT, n = 2000, M = 12                  <= 3 units
========  =======================================================================  ==============
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np
import scipy.linalg
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.reduction_defaults import compare as compare_defaults
from kernelweave import datasets
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.reduction import LDAGraph, LDEGraph
from kernelweave.reduction.mkldr import Search
from kernelweave.views import Views

VIEWS = ("fac", "fou", "kar", "mor", "pix", "zer")
ITERATIONS = 3
HEADER = f"{'problem':<46}{'unit s':>9}{'KPCA s':>9}{'ours s':>9}{'ratio':>8}  {'quartiles':<14}{'to KPCA':>8}"


def digits(n: int, n_kernels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrices of linear kernels on MULTIFEAT's views and then of Gaussian copies, and the digits."""
    X, y = datasets.load_multifeat(return_X_y=True)
    chosen = np.random.default_rng(seed).permutation(len(y))[:n]
    values = StandardScaler().fit_transform(X.to_numpy()[chosen])
    kernels = [(view, Linear(view)) for view in VIEWS] + [
        (f"{view}-gaussian", Gaussian(view, scale="nearest")) for view in VIEWS
    ]
    return KernelStack(kernels[:n_kernels]).fit(Views(values, X.columns)).matrices(), y[chosen]


def seconds(function: Callable) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


def compare(name: str, theirs: Callable, yardstick: Callable, ours: Callable, calls: int, share: float = 1.0) -> None:
    """Interleave all three and print one line; `share` of our time counts."""
    times = np.array([[seconds(theirs), seconds(yardstick), share * seconds(ours)] for _ in range(calls)])
    low, middle, high = np.percentile(times[:, 2] / times[:, 0], [25, 50, 75])
    medians = np.median(times, axis=0)
    to_kpca = np.median(times[:, 2] / times[:, 1])
    print(
        f"{name:<46}{medians[0]:>9.3f}{medians[1]:>9.3f}{medians[2]:>9.3f}{middle:>8.2f}  "
        f"{f'{low:.2f} - {high:.2f}':<14}{to_kpca:>8.2f}",
        flush=True,
    )


def mkldr(n: int, n_kernels: int, share: float, calls: int, graphs: tuple, steps: tuple) -> None:
    grams, y = digits(n, n_kernels)
    present = np.ones((n, n_kernels), dtype=bool)
    for graph in graphs:
        numerator, denominator = graph.laplacians(grams, present, y)
        K = grams.mean(axis=0)
        A, B = K @ numerator.dot(K), K @ denominator.dot(K)
        B += 0.01 * np.trace(B) / n * np.eye(n)
        for step in steps:

            def ours(step=step, numerator=numerator, denominator=denominator):
                rng = np.random.RandomState(0)
                search = Search(
                    grams,
                    numerator,
                    denominator=denominator,
                    ridge=0.01,
                    weights_ridge=10.0,
                    n_components=9,
                    step=step,
                    weights_step="exact",
                    rng=rng,
                )
                start = np.full(n_kernels, 1.0 / n_kernels)
                search.run(start, tol=1e-9, max_iter=ITERATIONS)

            compare(
                f"{type(graph).__name__}, {step}, n = {n}, M = {n_kernels}" + (", one it." if share < 1 else ""),
                lambda A=A, B=B: scipy.linalg.eigh(A, B),
                lambda K=K: KernelPCA(9, kernel="precomputed", eigen_solver="dense").fit(K),
                ours,
                calls,
                share,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer calls, and LDA only at n = 2000")
    parser.add_argument("--part", choices=("speed", "default"), default="speed", help="what to compare")
    given = parser.parse_args()
    quick = given.quick
    if given.part == "default":
        with threadpool_limits(1):
            compare_defaults(quick)
        return
    both = (LDAGraph(), LDEGraph())
    steps = ("ratio-trace", "trace-ratio", "paper")
    with threadpool_limits(1):
        print(HEADER)
        mkldr(800, 4, 1.0, 3 if quick else 7, both, steps)
        mkldr(2000, 12, 1.0 / ITERATIONS, 1 if quick else 3, both[:1] if quick else both, steps)


if __name__ == "__main__":
    main()
