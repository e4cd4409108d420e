"""Learned projections against one SVM: ``python -m benchmarks.projected [--quick]``.

The unit is one `sklearn.svm.SVC(kernel="precomputed", cache_size=2000).fit` on the mean kernel at C = 10, interleaved
with our calls in one process with one BLAS thread; compilation is left out on both sides. Our fits form all kernels
themselves, because they change with the projections.

- Whole fits of `Projected` in units: six representations of MULTIFEAT small-vs-large, 649 gating features.
- Time per machine solve as n and the number of features grow: at most n^2, and linear in the features.
- Peak memory beside the data, in n x n matrices.
- Test accuracy, support vectors and J on four splits of MULTIFEAT, quasi-Newton beside the papers' alternating descent.
"""

from __future__ import annotations

import argparse
import tracemalloc
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.problems import VIEWS
from benchmarks.timing import HEADING, compare, multifeat
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import CombinedKernel, FitControl, Mean, Projected, Softmax
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import BinaryMachine


def fits(quick: bool) -> None:
    combiners = {
        "R_m = 1, R_G = 2": Projected(1, Softmax(), gating_components=2),
        "R_m = 2, R_G = 2": Projected(2, Softmax(), gating_components=2),
        "R_m = 2, R_G = 10": Projected(2, Softmax(), gating_components=10),
        "R_m = 2, whole gating inputs": Projected(2, Softmax()),
        "R_m = 2, no gating": Projected(2),
        "R_m = 2, R_G = 2, armijo": Projected(2, Softmax(), gating_components=2, optimizer="armijo", max_iter=500),
    }
    for n in (667,) if quick else (667, 2000):
        stack, y = multifeat(n)
        for C in (10.0, 100.0):
            print(f"\nMULTIFEAT small-vs-large, six representations, n = {n}, C = {C:g}")
            print(HEADING)
            for name, combiner in combiners.items():
                compare(name, combiner, stack, y, 5 if quick else 15, C)


def growth(quick: bool) -> None:
    print("\nTime per machine solve, two regions of normal features, R_m = R_G = 2, C = 1, 15 iterations")
    print(f"{'kernel':<10}{'n':>6}{'features':>10}{'ms':>10}{'ns / n^2':>11}{'ns / (n features)':>19}")
    sizes = [(500, 64), (1000, 64), (2000, 64), (4000, 64), (400, 256), (400, 1024), (400, 4096)]
    for kernel in (Linear(), Gaussian(scale=10.0)):
        for n, n_features in sizes[::2] if quick else sizes:
            found = _fit(kernel, n, n_features)
            once = np.median([line["seconds"] / line["solves"] for line in found.history[1:-1]])
            print(
                f"{type(kernel).__name__:<10}{n:>6}{n_features:>10}{1e3 * once:>10.2f}{1e9 * once / n**2:>11.1f}"
                f"{1e9 * once / (n * n_features):>19.1f}",
                flush=True,
            )


def memory(quick: bool) -> None:
    print("\nPeak memory of a fit beside the data, in n x n matrices (P = 2 kernels, gates on all features)")
    print(f"{'kernel':<24}{'n':>6}{'features':>10}{'matrices':>10}")
    for kernel, features in ((Linear(), "auto"), (Gaussian(scale=10.0), "auto"), (Gaussian(scale=10.0), "kpca")):
        _fit(kernel, 200, 64, features)  # loads compiled code, which counts as memory too
        name = type(kernel).__name__ + (", kernel PCA" if features == "kpca" else "")
        for n in (1000,) if quick else (1000, 2000):
            tracemalloc.start()
            _fit(kernel, n, 64, features)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            data = 3 * 8 * n * 64  # the features of two kernels and the gating inputs
            print(f"{name:<24}{n:>6}{64:>10}{(peak - data) / (8 * n * n):>10.2f}", flush=True)


def _fit(kernel: Linear | Gaussian, n: int, n_features: int, features: str = "auto") -> CombinedKernel:
    """Fifteen iterations on labels that follow one feature on each side of another."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_features))
    y = np.where(np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    stack = KernelStack([kernel] * 2, None).fit(X)
    combiner = Projected(2, Softmax(), gating_components=2, features=features, max_iter=15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return combiner.fit(stack, BinaryMachine(y, 1.0), FitControl(tol=1e-6))


def accuracy(quick: bool) -> None:
    X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    print("\nMULTIFEAT small-vs-large, 667 training samples, C = 100, mean of four splits")
    print(f"{'model':<34}{'accuracy':>17}{'support %':>11}{'J':>9}{'solves':>8}{'switched off':>14}")
    models = {"Mean()": Mean()}
    for R_m, R_G in [(1, 2), (2, 2)] if quick else [(1, 2), (2, 2), (2, 10), (5, 10)]:
        models[f"R_m = {R_m}, R_G = {R_G}"] = Projected(R_m, Softmax(), gating_components=R_G)
    models["R_m = 2, R_G = 2, random start"] = Projected(2, Softmax(), gating_components=2, init="random")
    models["R_m = 2, R_G = 2, armijo"] = Projected(2, Softmax(), gating_components=2, optimizer="armijo", max_iter=500)
    for name, combiner in models.items():
        rows = []
        for seed in range(4):
            train, test = train_test_split(np.arange(len(y)), train_size=667, stratify=y, random_state=seed)
            model = make_pipeline(
                StandardScaler().set_output(transform="pandas"),
                MKLClassifier([Linear(view) for view in VIEWS], combiner, C=100.0, random_state=0),
            ).fit(X.iloc[train], y[train])
            fitted = model[1]
            rows.append(
                (
                    100 * model.score(X.iloc[test], y[test]),
                    100 * len(fitted.support_) / 667,
                    fitted.objective_,
                    fitted.history_["solves"].sum(),
                    len(fitted.removable_kernels_),
                )
            )
        mean, deviation = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
        score = f"{mean[0]:.2f} +- {deviation[0]:.2f}"
        print(f"{name:<34}{score:>17}{mean[1]:>11.2f}{mean[2]:>9.1f}{mean[3]:>8.0f}{mean[4]:>14.1f}", flush=True)


PARTS = {"fits": fits, "growth": growth, "memory": memory, "accuracy": accuracy}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer calls and smaller problems")
    parser.add_argument("--part", choices=PARTS, help="only this part")
    options = parser.parse_args()
    with threadpool_limits(1):
        for part in [PARTS[options.part]] if options.part else PARTS.values():
            part(options.quick)


if __name__ == "__main__":
    main()
