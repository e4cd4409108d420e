"""What benchmarks share that time whole fits of a combiner in units of one SVM."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from sklearn.svm import SVC

from benchmarks.problems import VIEWS
from kernelweave import datasets
from kernelweave.combiners import Combiner, FitControl
from kernelweave.kernels import KernelStack, Linear
from kernelweave.machines import BinaryMachine

HEADING = f"{'fit':<38}{'unit ms':>9}{'ours ms':>9}{'units':>7}  {'quartiles':<16}{'solves':>7}{'support':>9}"


def multifeat(n: int) -> tuple[KernelStack, np.ndarray]:
    """Six linear unit-diagonal kernels on n shuffled digits, computed, and +-1 labels."""
    X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:n]
    X = X.iloc[chosen].astype(float)
    spread = X.std()
    stack = KernelStack([Linear(view) for view in VIEWS]).fit((X - X.mean()) / spread.where(spread > 0, 1.0))
    stack.matrices()
    labels = np.asarray(y)[chosen]
    return stack, np.where(labels == np.unique(labels)[1], 1.0, -1.0)


def interleaved(*calls: Callable[[], object], repeats: int) -> np.ndarray:
    """Seconds of each call, of shape (repeats, n_calls); a first round loads compiled code."""
    times = np.empty((repeats, len(calls)))
    for repeat in range(-1, repeats):
        for place, call in enumerate(calls):
            start = perf_counter()
            call()
            times[repeat, place] = perf_counter() - start
    return times


def quartiles(ratios: np.ndarray) -> str:
    low, median, high = np.percentile(ratios, [25, 50, 75])
    return f"{median:>7.2f}  {f'{low:.2f} - {high:.2f}':<16}"


def compare(name: str, combiner: Combiner, stack: KernelStack, y: np.ndarray, repeats: int, C: float = 10.0) -> None:
    """Interleave unit and fits from different starts, print one line."""
    mean, machine, found = stack.matrices().mean(axis=0), BinaryMachine(y, C), []

    def fit() -> None:
        found.append(combiner.fit(stack, machine, FitControl(np.random.RandomState(len(found)))))

    times = interleaved(lambda: unit(mean, y), fit, repeats=repeats)
    solves = np.median([sum(line["solves"] for line in one.history) for one in found])
    support = f"{np.median([one.history[-1]['n_support'] for one in found]) / len(y):.1%}"
    once, ours = 1e3 * np.median(times, axis=0)
    ratio = quartiles(times[:, 1] / times[:, 0])
    print(f"{name:<38}{once:>9.1f}{ours:>9.1f}{ratio}{solves:>7.0f}{support:>9}", flush=True)


def unit(K: np.ndarray, y: np.ndarray) -> SVC:
    return SVC(kernel="precomputed", C=10.0, cache_size=2000).fit(K, y)
