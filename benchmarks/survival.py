"""Speed of survival fits: ``python -m benchmarks.survival --speed`` and ``--many``.

python -m benchmarks.survival --speed            # one fit of the ranking loss against FastKernelSurvivalSVM
python -m benchmarks.survival --many             # fits of 100 000 samples with explicit features

How accurate they are is a task of the benchmark: ``python -m experiments benchmark survival``.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from kernelweave import MKLSurvival
from kernelweave.combiners import Localized, LpMKL, Mean
from kernelweave.kernels import Gaussian
from kernelweave.survival import outcome


def speed() -> None:
    """Fits of the ranking loss at the same objective, one after the other, on one core."""
    from sksurv.svm import FastKernelSurvivalSVM

    print(
        "| samples | MKLSurvival s | FastKernelSurvivalSVM s | times faster | correlation of risks |\n"
        + "|---" * 5
        + "|"
    )
    rng = np.random.default_rng(0)
    for n in (200, 400, 2000):
        X = rng.standard_normal((n, 5))
        moment, seen = rng.exponential(np.exp(-X[:, 0])), rng.exponential(size=n)
        y = outcome(np.minimum(moment, seen), moment <= seen)
        model = MKLSurvival([Gaussian()], loss="ranking", tol=1e-6)
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            model.fit(X, y)
            times.append(time.perf_counter() - begin)
        begin, K = time.perf_counter(), model.fit_kernel(X, y).gram()
        other = FastKernelSurvivalSVM(alpha=1.0 / n, kernel="precomputed", max_iter=20).fit(K, y)
        seconds, mine = time.perf_counter() - begin, float(np.median(times))
        agreement = np.corrcoef(model.predict(X), other.predict(K))[0, 1]
        print(f"| {n} | {mine:.3f} | {seconds:.1f} | {seconds / mine:.0f} | {agreement:.6f} |", flush=True)


def many() -> None:
    """Seconds of fits of 100 000 samples with three Gaussian kernels of ten columns, and their concordance."""
    rng, n = np.random.default_rng(0), 100_000
    X = rng.standard_normal((n, 30))
    moment = rng.exponential(np.exp(-X[:, 0] - 0.5 * X[:, 12] ** 2))
    seen = rng.exponential(2.0, size=n)
    y = outcome(np.minimum(moment, seen), moment <= seen)
    kernels = [Gaussian(list(range(first, first + 10))) for first in (0, 10, 20)]
    print("| loss | combiner | seconds | relative gap | C |\n" + "|---" * 5 + "|")
    for loss in ("ranking", "cox"):
        for combiner in (Mean(), LpMKL(), Localized(l2=0.1)):
            begin = time.perf_counter()
            model = MKLSurvival(kernels, combiner, loss=loss, C=0.1, approximation="nystroem", random_state=0).fit(X, y)
            seconds, gap = time.perf_counter() - begin, model.duality_gap_ / abs(model.objective_)
            print(f"| {loss} | {combiner} | {seconds:.1f} | {gap:.1e} | {model.score(X, y):.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--speed", action="store_true")
    chosen.add_argument("--many", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    (speed if given.speed else many)()


if __name__ == "__main__":
    main()
