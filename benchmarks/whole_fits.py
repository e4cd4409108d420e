"""Whole fits against libsvm, Gram matrices included: ``python -m benchmarks.whole_fits [--quick] [--threads 1]``.

`MKLClassifier.fit` on features, with everything that it checks, computes and stores, against

- one Gaussian kernel: ``SVC(kernel="rbf")`` of the same width, which never forms the Gram matrix;
- six Gaussian kernels of 20 features each, `Mean`: six calls of scikit-learn's ``rbf_kernel``, their mean, and
  ``SVC(kernel="precomputed")`` on it,

at the same KKT tolerance (1e-3), interleaved in one process with the same number of BLAS threads. Compilation is left
out. A ratio is theirs / ours: larger is better for us. Two rules: "regions", where one of two linear functions decides
by region, with noise, and most samples are support vectors; and "apart", two clouds of points, with few support
vectors, of which libsvm computes few rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.timing import interleaved, quartiles
from kernelweave import MKLClassifier
from kernelweave.combiners import Mean
from kernelweave.kernels import Gaussian

FEATURES = 20  # of each kernel
HEADING = f"{'problem':<30}{'theirs ms':>11}{'ours ms':>10}  {'ratio':<7}{'quartiles':<16}{'support':>8}"


def regions(n: int, n_kernels: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal features; a linear function of either half of the first columns, by region, and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, FEATURES * n_kernels))
    there = X[:, 0] + X[:, min(FEATURES, X.shape[1] - 1)] > 0.0
    first, second = (X[:, start : start + 4] @ np.array([1.0, -1.0, 0.5, 2.0]) for start in (1, 6))
    return X, np.where(there, first, second) + rng.standard_normal(n) > 0.0


def apart(n: int, n_kernels: int) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds of normal points that hardly overlap."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2 == 1
    return rng.standard_normal((n, FEATURES * n_kernels)) + np.where(y, 0.6, -0.6)[:, None], y


def fits(n_kernels: int, X: np.ndarray, y: np.ndarray, C: float) -> tuple[Callable[[], SVC], Callable[[], object]]:
    """Their fit and ours."""
    views = [slice(FEATURES * m, FEATURES * (m + 1)) for m in range(n_kernels)]
    gammas = [1.0 / Gaussian(view).fit(X).scale_ ** 2 for view in views]
    ours = MKLClassifier([Gaussian(view) for view in views], Mean(), C=C)

    def one() -> SVC:
        return SVC(kernel="rbf", gamma=gammas[0], C=C, cache_size=2000).fit(X, y)

    def several() -> SVC:
        K = rbf_kernel(X[:, views[0]], gamma=gammas[0])
        for view, gamma in zip(views[1:], gammas[1:], strict=True):
            K += rbf_kernel(X[:, view], gamma=gamma)
        K /= n_kernels
        return SVC(kernel="precomputed", C=C, cache_size=2000).fit(K, y)

    return one if n_kernels == 1 else several, lambda: ours.fit(X, y)


def compare(n_kernels: int, quick: bool) -> None:
    unit = "SVC(kernel='rbf')" if n_kernels == 1 else "rbf_kernel of each, and SVC(kernel='precomputed')"
    print(f"\n{n_kernels} Gaussian kernel{'s' if n_kernels > 1 else ''}, unit {unit}\n{HEADING}")
    ratios = []
    for rule in (regions, apart):
        for n in (667, 1333, 2000) if quick else (667, 1333, 2000, 4000, 8000):
            X, y = rule(n, n_kernels)
            for C in (1.0, 10.0):
                theirs, ours = fits(n_kernels, X, y, C)
                times = interleaved(theirs, ours, repeats=5 if quick or n > 4000 else 15)
                ratio = times[:, 0] / times[:, 1]
                ratios.append(np.median(ratio))
                their_ms, our_ms = 1e3 * np.median(times, axis=0)
                name = f"{rule.__name__} n={n} C={C:g}"
                support = f"{len(theirs().support_) / n:.1%}"
                print(f"{name:<30}{their_ms:>11.1f}{our_ms:>10.1f}{quartiles(ratio)}{support:>8}", flush=True)
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, worst {min(ratios):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer calls, and at most 2000 samples")
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads on both sides (default 1)")
    given = parser.parse_args()
    with threadpool_limits(given.threads):
        for n_kernels in (1, 6):
            compare(n_kernels, given.quick)


if __name__ == "__main__":
    main()
