"""Machines against libsvm, and restarts against cold starts: ``python -m benchmarks.machines [--quick]``.

The unit is scikit-learn's own fit on the same precomputed kernel at the same KKT tolerance (1e-3), interleaved with
our calls in one process with one BLAS thread. Compilation and Gram matrices are left out on both sides. A ratio is
theirs / ours: larger is better for us.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np
from sklearn.svm import SVC, SVR, OneClassSVM
from threadpoolctl import threadpool_limits

from benchmarks.problems import gaussian, multifeat
from kernelweave.machines import BinaryMachine, OneClassMachine, RegressionMachine

HEADER = (
    f"{'problem':<28}{'theirs ms':>11}{'ours ms':>10}{'ratio':>8}  {'quartiles':<14}"
    f"{'their steps':>12}{'our steps':>11}"
)


def seconds(function: Callable) -> tuple[float, object]:
    start = perf_counter()
    result = function()
    return perf_counter() - start, result


def repeats(n: int, quick: bool) -> int:
    """At least 15 calls a cell, but for --quick."""
    return 5 if quick else 15 if n >= 4000 else 21


def compare(name: str, theirs: Callable, ours: Callable, calls: int) -> float:
    """Interleave both, print one line, return the median ratio."""
    times = np.empty((calls, 2))
    for call in range(calls):
        times[call, 0], fitted = seconds(theirs)
        times[call, 1], solution = seconds(ours)
    ratios = times[:, 0] / times[:, 1]
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    medians = 1e3 * np.median(times, axis=0)
    print(
        f"{name:<28}{medians[0]:>11.2f}{medians[1]:>10.2f}{middle:>8.2f}  {f'{low:.2f} - {high:.2f}':<14}"
        f"{int(np.sum(fitted.n_iter_)):>12}{solution.steps:>11}{'' if solution.converged else '  NOT CONVERGED'}",
        flush=True,
    )
    return float(middle)


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def binary(quick: bool) -> None:
    print("\nBinary SVM, unit SVC(kernel='precomputed', cache_size=2000)\n" + HEADER)
    grid = [("multifeat", n, (1.0, 10.0, 100.0)) for n in (667, 1333, 2000)]
    grid += [("gaussian", n, (1.0, 10.0)) for n in ((2000,) if quick else (2000, 4000, 8000))]
    ratios = []
    for data, n, costs in grid:
        K, y = multifeat(n) if data == "multifeat" else gaussian(n)[:2]
        for C in costs:
            unit = SVC(kernel="precomputed", C=C, cache_size=2000)
            machine = BinaryMachine(y, C)
            name = f"{data} n={n} C={C:g}"
            fit, solve = (lambda unit=unit: unit.fit(K, y)), (lambda machine=machine: machine.solve(K))  # noqa: B023
            ratios.append(compare(name, fit, solve, repeats(n, quick)))
    print(f"geometric mean {geometric_mean(ratios):.2f}, worst {min(ratios):.2f}")


def regression(quick: bool) -> None:
    print("\nRegression, unit SVR(kernel='precomputed', cache_size=2000), C = 1, epsilon = 0.1\n" + HEADER)
    ratios = []
    for n in (500, 1000, 2000):
        K, _, target = gaussian(n)
        y = target + 0.1 * np.random.default_rng(1).standard_normal(n)
        unit = SVR(kernel="precomputed", C=1.0, epsilon=0.1, cache_size=2000)
        machine = RegressionMachine(y, 1.0, epsilon=0.1)
        fit, solve = (lambda: unit.fit(K, y)), (lambda: machine.solve(K))  # noqa: B023
        ratios.append(compare(f"gaussian n={n}", fit, solve, repeats(n, quick)))
    print(f"geometric mean {geometric_mean(ratios):.2f}, worst {min(ratios):.2f}")


def one_class(quick: bool) -> None:
    print("\nOne class, unit OneClassSVM(kernel='precomputed', cache_size=2000), nu = 0.1\n" + HEADER)
    ratios = []
    for n in (500, 1000, 2000):
        K = gaussian(n)[0]
        unit = OneClassSVM(kernel="precomputed", nu=0.1, cache_size=2000)
        machine = OneClassMachine(np.full(n, 1.0 / (0.1 * n)))
        fit, solve = (lambda: unit.fit(K)), (lambda: machine.solve(K))  # noqa: B023
        ratios.append(compare(f"gaussian n={n}", fit, solve, repeats(n, quick)))
    print(f"geometric mean {geometric_mean(ratios):.2f}, worst {min(ratios):.2f}")


def restarts(quick: bool) -> None:
    """After K -> K * outer(g, g), g = 1 + d z: work from the old solution over work from nothing."""
    print("\nRestart after the kernel moved by d, n = 2000 (warm / cold; smaller is better)")
    print(f"{'d':<8}{'steps':>8}{'time':>8}   steps of each problem")
    n = 2000
    problems = {"multifeat": multifeat(n), "gaussian": gaussian(n)[:2]}
    for d in (0.001, 0.01, 0.05, 0.2):
        steps, times, detail = [], [], []
        for data, (K, y) in problems.items():
            for C in (1.0, 10.0):
                machine = BinaryMachine(y, C)
                first = machine.solve(K)
                work = []
                for seed in range(2 if quick else 5):
                    g = 1.0 + d * np.random.default_rng(seed).standard_normal(n)
                    moved = K * np.outer(g, g)
                    warm = [seconds(lambda: machine.solve(moved, start=first)) for _ in range(3)]  # noqa: B023
                    cold = [seconds(lambda: machine.solve(moved)) for _ in range(3)]  # noqa: B023
                    work.append(warm[0][1].steps / cold[0][1].steps)
                    times.append(np.median([t for t, _ in warm]) / np.median([t for t, _ in cold]))
                steps += work
                detail.append(f"{data} C={C:g} {geometric_mean(work):.2f}")
        print(f"{d:<8}{geometric_mean(steps):>8.2f}{geometric_mean(times):>8.2f}   {', '.join(detail)}", flush=True)


def compile_everything() -> None:
    K, y, target = gaussian(200)
    BinaryMachine(y, 1.0).solve(K)
    RegressionMachine(target, 1.0, epsilon=0.1).solve(K)
    OneClassMachine(np.full(200, 0.1)).solve(K)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer calls, and no Gaussian problem above 2000 samples")
    quick = parser.parse_args().quick
    compile_everything()
    with threadpool_limits(1):
        for part in (binary, regression, one_class, restarts):
            part(quick)


if __name__ == "__main__":
    main()
