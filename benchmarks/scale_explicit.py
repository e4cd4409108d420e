"""Cells of `benchmarks.scale` with explicit features: ``python -m benchmarks.scale_explicit '{"samples": 20000}'``.

The problem of a cell is that of `benchmarks.scale_cells`. Beside the time of the whole fit stand

- passes: how often value and gradient were computed, and the seconds of one (median);
- bound: the seconds that reading the features once takes, measured in the same process by a sum over an array of
  float32 numbers on as many threads as BLAS has;
- memory: the most resident memory during the fit less that before it (X is there already), over the size of the
  features where they are held; with X, over the size of X, where they are computed in every pass.

The rival is scikit-learn's `Nystroem` of each view, side by side (so that their inner product is the mean kernel), and
`LinearSVC`, from X to a fitted model. An accuracy cell fits a problem with all samples compared (exact), or with
explicit features.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.scale_cells import FEATURES, FRESH, GAP, machine_of, peak_memory, problem

MOST_READ = 2**31  # bytes of the array by which memory is timed
EXACT = 8000


def regions(n: int, seed: int, n_views: int = 6) -> tuple[np.ndarray, np.ndarray, list[tuple[list[int], float]]]:
    """The problem of all cells: two regions, in each another view decides; columns and width of each kernel."""
    X, y = problem(n, n_views, seed)
    return X, y, [(list(range(v * FEATURES, (v + 1) * FEATURES)), FEATURES**0.5) for v in range(n_views)]


def waves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[tuple[list[int], float]]]:
    """A wave along one feature, and a product of two others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    rule = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 4] + 0.3 * rng.normal(size=n)
    return X, np.where(rule > 0, 1.0, -1.0), [([0, 1], 1.0), ([2, 3, 4, 5], 2.0), (list(range(8)), 3.0)]


def skewed(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[tuple[list[int], float]]]:
    """Lognormal features, and one sample in ten of the first class."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(n, 10)))
    return X, np.where(X[:, 0] * X[:, 1] > 6.1, 1.0, -1.0), [(list(range(10)), 3.0), ([0], 1.0), ([1], 1.0)]


def shells(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[tuple[list[int], float]]]:
    """Two shells in each of two views; which view counts depends on the third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 9))
    radius = np.where(X[:, 6] > 0, np.linalg.norm(X[:, :3], axis=1), np.linalg.norm(X[:, 3:6], axis=1))
    rule = radius - 1.54 + 0.2 * rng.normal(size=n)
    return X, np.where(rule > 0, 1.0, -1.0), [([0, 1, 2], 2.0), ([3, 4, 5], 2.0), ([6, 7, 8], 2.0)]


PROBLEMS: dict[str, Callable] = {"regions": regions, "waves": waves, "skewed": skewed, "shells": shells}


def estimator(cell: dict[str, Any], kernels: list[tuple[list[int], float]]) -> Any:
    """The estimator of a cell; exact without components."""
    from kernelweave import MKLClassifier
    from kernelweave.combiners import ConvexMKL, Localized, Mean
    from kernelweave.features import NystroemFeatures
    from kernelweave.kernels import Gaussian

    named = [(f"view{v}", Gaussian(columns, scale=scale)) for v, (columns, scale) in enumerate(kernels)]
    combiner = {"mean": Mean(), "convex": ConvexMKL(), "localized": Localized(l2=0.01)}[cell["method"]]
    chosen = {"storage": cell["storage"], "device": cell["device"], "C": cell["C"], "tol": GAP, "random_state": 0}
    if cell["components"]:
        chosen["approximation"] = NystroemFeatures(cell["components"])
    return MKLClassifier(named, combiner, **chosen)


class Passes:
    """Counts and times evaluations of value and gradient."""

    def __init__(self) -> None:
        from kernelweave.engines.primal import Primal

        self.seconds: list[float] = []
        whole = Primal.__call__

        def timed(primal: Any, position: np.ndarray) -> Any:
            begin = time.perf_counter()
            found = whole(primal, position)
            self.seconds.append(time.perf_counter() - begin)
            return found

        Primal.__call__ = timed  # type: ignore[method-assign]


def read_rate(size: int) -> float:
    """Bytes of float32 numbers that can be read a second, of an array of so many bytes."""
    from numba import njit

    from kernelweave.kernels.resources import in_blas_threads

    @njit(nogil=True, fastmath=True)
    def total(values: np.ndarray) -> float:
        found = np.float32(0.0)
        for j in range(len(values)):
            found += values[j]
        return found

    data = np.ones(min(size, MOST_READ) // 4, dtype=np.float32)
    parts = np.array_split(data, 64)
    in_blas_threads(total, parts)
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        in_blas_threads(total, parts)
        times.append(time.perf_counter() - begin)
    return data.nbytes / float(np.median(times))


def resident() -> float:
    """The resident memory of this process in GB; the peak is counted from here on, where the system allows that."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) * 1024 / 1e9


def ours(cell: dict[str, Any]) -> dict[str, Any]:
    """Fit our estimator, and compare with reading the features once."""
    X, y, kernels = regions(cell["samples"], 0, cell["kernels"])
    small = {**cell, "components": min(16, cell["components"])}
    estimator(small, kernels).fit(*regions(3000, 9, cell["kernels"])[:2])  # loads compiled code
    passes, before = Passes(), resident()
    begin = time.perf_counter()
    model = estimator(cell, kernels).fit(X, y)
    seconds, most = time.perf_counter() - begin, peak_memory()
    n_features = sum(len(coef) for coef in model.feature_coef_.values())
    size, x_size = 4.0 * len(X) * n_features, float(X.nbytes)
    held = model.storage_ == "dense"
    fresh, labels = problem(FRESH, cell["kernels"], 2)
    once, bound = float(np.median(passes.seconds)), size / read_rate(int(size))
    return {
        "seconds": seconds,
        "storage": model.storage_,
        "objective": model.objective_,
        "gap": model.duality_gap_ / max(1.0, abs(model.objective_)),
        "accuracy": float((model.predict(fresh) == labels).mean()),
        "gigabytes": most,
        "features": n_features,
        "passes": len(passes.seconds),
        "pass_seconds": once,
        "pass_bound": bound,
        "pass_ratio": once / bound,
        "bound": len(passes.seconds) * bound,
        "memory_ratio": 1e9 * (most - before) / size if held else (1e9 * (most - before) + x_size) / x_size,
    }


def rival(cell: dict[str, Any]) -> dict[str, Any]:
    """scikit-learn's features of each view, side by side, and its linear machine."""
    from sklearn.compose import make_column_transformer
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.svm import LinearSVC

    X, y, kernels = regions(cell["samples"], 0, cell["kernels"])
    features = make_column_transformer(
        *((Nystroem(gamma=s**-2.0, n_components=cell["components"], random_state=0), own) for own, s in kernels)
    )
    share = FunctionTransformer(lambda features: features * len(kernels) ** -0.5)
    model = make_pipeline(features, share, LinearSVC(C=0.5 * cell["C"], tol=GAP, dual=False))
    before = resident()
    begin = time.perf_counter()
    model.fit(X, y)
    seconds, most = time.perf_counter() - begin, peak_memory()
    fresh, labels = problem(FRESH, cell["kernels"], 2)
    size = 4.0 * len(X) * len(kernels) * cell["components"]
    return {
        "seconds": seconds,
        "storage": "",
        "accuracy": float((model.predict(fresh) == labels).mean()),
        "gigabytes": most,
        "passes": int(np.max(model[-1].n_iter_)),
        "memory_ratio": 1e9 * (most - before) / size,
    }


def accuracy(cell: dict[str, Any]) -> dict[str, Any]:
    """The share of new samples of a problem that a model labels correctly."""
    X, y, kernels = PROBLEMS[cell["problem"]](cell["samples"], 0)
    begin = time.perf_counter()
    model = estimator(cell, kernels).fit(X, y)
    seconds = time.perf_counter() - begin
    fresh, labels, _ = PROBLEMS[cell["problem"]](FRESH, 2)
    share = {"trace": float(model.trace_shares_.min())} if cell["components"] else {}
    gap = model.duality_gap_ / max(1.0, abs(model.objective_))
    found = {"seconds": seconds, "storage": model.storage_, "objective": model.objective_, "gap": gap}
    return {**found, **share, "accuracy": float((model.predict(fresh) == labels).mean())}


def main() -> None:
    cell = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    kinds = {"kernelweave": ours, "sklearn": rival}
    found = (accuracy if cell.get("problem") else kinds[cell["solver"]])(cell)
    print(json.dumps({**cell, **found, "machine": machine_of(cell["device"])}))


if __name__ == "__main__":
    main()
