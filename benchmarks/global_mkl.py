"""Global kernel weights against one SVM: ``python -m benchmarks.global_mkl [--quick]``.

The unit is one `sklearn.svm.SVC(kernel="precomputed", cache_size=2000).fit` on the mean kernel at C = 10, interleaved
with our fits in one process with one BLAS thread; compilation and the base Gram matrices are left out on both sides.
Fits are to a relative duality gap of 1e-3 and include the final machine. A figure is ours / unit: smaller is better for
us.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.problems import gaussian_stack, multifeat_stack
from kernelweave.combiners import AlignmentWeights, ConvexMKL, EasyMKL, ElasticMKL, GroupMKL, LpMKL, Mean
from kernelweave.kernels import KernelStack, Precomputed
from kernelweave.machines import BinaryMachine, OneVsOneMachine

HEADER = f"{'method':<34}{'unit ms':>9}{'ours ms':>9}{'units':>8}  {'quartiles':<14}{'solves':>7}{'gap':>10}"


def stack_of(matrices: np.ndarray) -> KernelStack:
    """A stack whose Gram matrices are there already."""
    stack = KernelStack([(f"k{m}", Precomputed(K)) for m, K in enumerate(matrices)], normalize=None)
    stack.fit(np.arange(matrices.shape[1])[:, None]).matrices()
    return stack


def compare(name: str, combiner, stack: KernelStack, y: np.ndarray, C: float, calls: int) -> None:
    """Interleave unit and fit, print one line."""
    mean = stack.matrices().mean(axis=0)
    machine = BinaryMachine(y, C)
    times = np.empty((calls, 2))
    for call in range(-1, calls):  # the first call loads compiled code
        start = perf_counter()
        SVC(kernel="precomputed", C=10.0, cache_size=2000).fit(mean, y)
        middle = perf_counter()
        found = combiner.fit(stack, machine)
        times[call] = middle - start, perf_counter() - middle
    low, median, high = np.percentile(times[:, 1] / times[:, 0], [25, 50, 75])
    unit, ours = 1e3 * np.median(times, axis=0)
    solves = int(sum(line["solves"] for line in found.history))
    gap = found.solution.gap / abs(found.solution.objective)
    quartiles = f"{low:.1f} - {high:.1f}"
    print(f"{name:<34}{unit:>9.1f}{ours:>9.1f}{median:>8.1f}  {quartiles:<14}{solves:>7}{gap:>10.1e}", flush=True)


def multifeat(quick: bool) -> None:
    for n in (667,) if quick else (667, 2000):
        matrices, y = multifeat_stack(n)
        stack = stack_of(matrices)
        print(f"\nMULTIFEAT small-vs-large, six linear kernels, n = {n}, C = 10\n{HEADER}")
        methods = {f"ConvexMKL, {solver}": ConvexMKL(solver=solver) for solver in ("auto", "level", "silp")}
        methods |= {
            "LpMKL, p = 2": LpMKL(),
            "LpMKL, p = 2, closed form": LpMKL(solver="closed-form"),
            "ElasticMKL": ElasticMKL(),
            "GroupMKL, three groups": GroupMKL([0, 0, 1, 1, 2, 2]),
            "EasyMKL": EasyMKL(),
            "AlignmentWeights, proportional": AlignmentWeights(),
        }
        for name, combiner in methods.items():
            compare(name, combiner, stack, y, 10.0, 5 if quick else 15)
        for C in (0.1, 1.0, 100.0):
            compare(f"ConvexMKL, auto, C = {C:g}", ConvexMKL(), stack, y, C, 5 if quick else 15)


def gaussians(quick: bool) -> None:
    for n in (2000,) if quick else (2000, 4000, 8000):
        matrices, y = gaussian_stack(n)
        stack = stack_of(matrices)
        print(f"\nSix Gaussian kernels of different scales, n = {n}\n{HEADER}")
        calls = 5 if quick or n > 4000 else 15
        for C in (1.0, 10.0):
            compare(f"ConvexMKL, C = {C:g}", ConvexMKL(), stack, y, C, calls)
        compare("EasyMKL, C = 10", EasyMKL(), stack, y, 10.0, calls)
        compare("AlignmentWeights, proportional", AlignmentWeights(), stack, y, 10.0, calls)


def many(quick: bool) -> None:
    count = 50 if quick else 200
    matrices, y = gaussian_stack(
        1000, [(scale, feature) for scale in np.geomspace(0.1, 10, count // 10) for feature in range(10)]
    )
    print(f"\n{count} Gaussian kernels of single features, n = 1000\n{HEADER}")
    stack = stack_of(matrices)
    for name, combiner in {"ConvexMKL": ConvexMKL(), "LpMKL, p = 2": LpMKL(), "EasyMKL": EasyMKL()}.items():
        compare(name, combiner, stack, y, 10.0, 5)


def pairs(quick: bool) -> None:
    """One-vs-one over a hundred classes: the unit is a fit of `Mean`."""
    n, classes, rng = (600, 60, np.random.default_rng(0)) if quick else (1000, 100, np.random.default_rng(0))
    labels = np.arange(n) % classes
    spread = np.array([1.5, 1.5, 0.7, 0.7])
    X = spread[:, None, None] * rng.normal(size=(4, classes, 6))[:, labels] + rng.normal(size=(4, n, 6))
    squares = np.sum(X**2, axis=2)
    distances = squares[:, :, None] + squares[:, None, :] - 2.0 * X @ X.transpose(0, 2, 1)
    stack, machine = stack_of(np.exp(-distances / 12.0)), OneVsOneMachine(labels, 1.0)
    print(f"\nFour Gaussian kernels, {classes} classes, {machine.n_outputs} pairs, n = {n}, C = 1; the unit is Mean")
    print(f"{'method':<34}{'unit ms':>9}{'ours ms':>9}{'units':>8}")
    for name, combiner in {"ConvexMKL": ConvexMKL(), "LpMKL, p = 2": LpMKL(), "ElasticMKL": ElasticMKL()}.items():
        times = np.empty((3 if quick else 5, 2))
        for call in range(-1, len(times)):  # the first call loads compiled code
            for place, one in enumerate((Mean(), combiner)):
                start = perf_counter()
                one.fit(stack, machine)
                times[call, place] = perf_counter() - start
        unit, ours = 1e3 * np.median(times, axis=0)
        print(f"{name:<34}{unit:>9.0f}{ours:>9.0f}{np.median(times[:, 1] / times[:, 0]):>8.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer calls and smaller problems")
    quick = parser.parse_args().quick
    with threadpool_limits(1):
        for part in (multifeat, gaussians, many, pairs):
            part(quick)


if __name__ == "__main__":
    main()
