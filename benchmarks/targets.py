"""Several targets in one fit against a loop of fits, a target each: ``python -m benchmarks.targets [--quick]``.

Both sides are timed in turn, in one process with one BLAS thread, after a first call. A ratio is loop / one fit:
larger is better. With `Mean` both give the same predictions; with learned weights the loop has weights for each target.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from kernelweave import MKLRegressor
from kernelweave.combiners import ConvexMKL, LpMKL, Mean
from kernelweave.kernels import Gaussian, Linear


def problem(n_samples: int, n_targets: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of three views, and targets that are smooth functions of some of their columns, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 15))
    directions = rng.normal(size=(15, n_targets)) * (rng.random((15, n_targets)) < 0.3)
    y = np.sin(X @ directions) + 0.2 * rng.normal(size=(n_samples, n_targets))
    return X, (y - y.mean(axis=0)) / y.std(axis=0)


def seconds(model: MKLRegressor, X: np.ndarray, targets: list[np.ndarray]) -> float:
    start = perf_counter()
    for y in targets:
        model.fit(X, y)
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    n_samples, n_targets = (400 if parser.parse_args().quick else 1500), 20
    X, y = problem(n_samples, n_targets)
    kernels = [Gaussian(slice(0, 5)), Gaussian(slice(5, 10)), Linear(slice(10, 15))]
    print(f"n = {n_samples}, {n_targets} targets, {len(kernels)} kernels; median of 3 calls with Mean, else one call")
    print(f"{'machine':<16}{'combiner':<14}{'loop s':>9}{'one fit s':>11}{'ratio':>8}")
    for machine in ("least-squares", "svm"):
        for combiner in (Mean(), LpMKL(), ConvexMKL()):
            model = MKLRegressor(kernels, combiner, C=10.0, machine=machine)
            model.fit(X[:100], y[:100])
            calls = 3 if isinstance(combiner, Mean) else 1
            times = np.array([[seconds(model, X, list(y.T)), seconds(model, X, [y])] for _ in range(calls)])
            loop, one = np.median(times, axis=0)
            print(
                f"{machine:<16}{combiner!s:<14}{loop:>9.2f}{one:>11.2f}{np.median(times[:, 0] / times[:, 1]):>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
