"""The joint multiclass machine against Clarabel on the same QP: ``python -m benchmarks.joint [--size N]``.

MULTIFEAT, ten classes, mean of six unit-diagonal linear kernels of standardised features, C = 1, one BLAS thread. Ours
solves to a certified relative gap of 1e-3; Clarabel gets the same tolerance on (1.11) in its sparser form, with the
coefficients C and the alphas as variables, so that its quadratic term is one K for each class. Compilation and Gram
matrices are left out. Beside the times at 1000 and 2000 samples stands the memory that a solve adds to the kernel.
"""

from __future__ import annotations

import argparse
import tracemalloc
from time import perf_counter

import clarabel
import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.problems import multifeat
from kernelweave import datasets
from kernelweave.machines import JointMachine

CLASSES = 10
GAP = 1e-3


def digits(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The kernel of `multifeat` and the ten digits as labels."""
    _, y = datasets.load_multifeat(return_X_y=True)
    return multifeat(n, seed)[0], y[np.random.default_rng(seed).permutation(len(y))[:n]]


def by_clarabel(K: np.ndarray, labels: np.ndarray, bound: float) -> tuple[float, float]:
    """Seconds and optimum of max 2 sum alpha - 1/2 sum_l c_l'Kc_l over (C, alpha), C linked to alpha by equalities."""
    n = len(labels)
    sample, other = np.nonzero(np.arange(CLASSES)[None, :] != labels[:, None])
    count = len(sample)
    coefficients = n * CLASSES  # C[i, l] at l n + i, then the alphas
    upper = sparse.csc_matrix(np.triu(K))
    P = sparse.block_diag([upper] * CLASSES + [sparse.csc_matrix((count, count))], format="csc")
    q = np.concatenate([np.zeros(coefficients), np.full(count, -2.0)])
    position = np.arange(count)
    gives = sparse.csc_matrix((np.ones(count), (other * n + sample, position)), shape=(coefficients, count))
    gains = sparse.csc_matrix((-np.ones(count), (labels[sample] * n + sample, position)), shape=(coefficients, count))
    link = sparse.hstack([sparse.identity(coefficients), gives + gains])
    columns = sparse.kron(sparse.identity(CLASSES), np.ones((1, n)))
    balance = sparse.hstack([columns, sparse.csc_matrix((CLASSES, count))])
    box = sparse.hstack([sparse.csc_matrix((count, coefficients)), sparse.identity(count)])
    A = sparse.vstack([link, balance, -box, box], format="csc")
    b = np.concatenate([np.zeros(coefficients + CLASSES), np.zeros(count), np.full(count, bound)])
    cones = [clarabel.ZeroConeT(coefficients + CLASSES), clarabel.NonnegativeConeT(2 * count)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = GAP
    start = perf_counter()
    answer = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    seconds = perf_counter() - start
    if str(answer.status) != "Solved":
        raise RuntimeError(f"Clarabel ended with {answer.status}")
    return seconds, -answer.obj_val


def by_ours(K: np.ndarray, labels: np.ndarray, bound: float, calls: int = 5):
    """Median seconds and the solution."""
    machine = JointMachine(labels, bound, n_classes=CLASSES)
    times = []
    for _ in range(calls):
        start = perf_counter()
        solution = machine.solve(K, gap_tol=GAP)
        times.append(perf_counter() - start)
    return float(np.median(times)), solution


def added_memory(K: np.ndarray, labels: np.ndarray, bound: float) -> float:
    """Largest memory beside K during a solve, in megabytes."""
    tracemalloc.start()
    JointMachine(labels, bound, n_classes=CLASSES).solve(K, gap_tol=GAP)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=650, help="samples for Clarabel (about a minute at 650)")
    parser.add_argument("--no-clarabel", action="store_true", help="only our own times")
    arguments = parser.parse_args()
    JointMachine(np.arange(60) % CLASSES, 1.0).solve(np.eye(60), gap_tol=1e-9)  # compile
    with threadpool_limits(1):
        if not arguments.no_clarabel:
            K, labels = digits(arguments.size)
            ours, solution = by_ours(K, labels, 1.0)
            theirs, optimum = by_clarabel(K, labels, 1.0)
            print(
                f"n = {arguments.size}: Clarabel {theirs:.2f} s (J = {optimum:.4f}), ours {1e3 * ours:.1f} ms", end=" "
            )
            print(f"(J = {solution.objective:.4f}, gap {solution.gap:.1e}), ratio {theirs / ours:.0f}", flush=True)
        print(f"{'n':>6}{'ours s':>9}{'J':>10}{'gap':>9}{'steps':>8}{'kernel MB':>11}{'added MB':>10}")
        for n in (250, 1000, 2000):
            K, labels = digits(n)
            seconds, solution = by_ours(K, labels, 1.0)
            print(
                f"{n:>6}{seconds:>9.3f}{solution.objective:>10.3f}{solution.gap:>9.1e}{solution.steps:>8}"
                f"{K.nbytes / 2**20:>11.1f}{added_memory(K, labels, 1.0):>10.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
