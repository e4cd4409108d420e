"""Localized multiple kernel learning against one SVM: ``python -m benchmarks.localized [--quick]``.

The unit is one `sklearn.svm.SVC(kernel="precomputed", cache_size=2000).fit` on the mean kernel at C = 10, interleaved
with our calls in one process with one BLAS thread; compilation and the base Gram matrices are left out on both sides.

- Whole fits of `Localized` in units, on MULTIFEAT small-vs-large with six linear kernels.
- One evaluation of J and its gradient, replayed along the recorded gating parameters of a fit, against the same step
  with scikit-learn's SVC and NumPy: larger is better for us.
- The combined kernel against adding up the P n^2 numbers once.
- Time per outer iteration, which grows as n^2 P, in double and single precision.
- Test accuracy on four splits of MULTIFEAT, L-BFGS beside the papers' descent with Armijo's rule.
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.problems import VIEWS, gaussian_features
from benchmarks.timing import HEADING, compare, interleaved, multifeat, quartiles, unit
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import FitControl, Localized, Mean, Sigmoid, Softmax
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import BinaryMachine
from kernelweave.solvers.sums import sum_kernels
from kernelweave.stacks import training
from kernelweave.stacks.descent import Loop, NestedDescent


def fits(quick: bool) -> None:
    combiners = {
        "Localized(l2=0.01)": Localized(l2=0.01),
        "Localized(Sigmoid(), l2=0.01)": Localized(Sigmoid(), l2=0.01),
        "Localized(l2=0)": Localized(l2=0.0),
        "Localized(l2=0.01), armijo": Localized(l2=0.01, optimizer="armijo", max_iter=500),
        'Localized(Softmax("paper"), l2=0.001)': Localized(Softmax("paper"), l2=1e-3),
        "Localized(), l2 chosen": Localized(),
    }
    for n in (667,) if quick else (667, 2000):
        stack, y = multifeat(n)
        print(f"\nMULTIFEAT small-vs-large, six linear kernels, n = {n}, C = 10")
        print(HEADING)
        for name, combiner in combiners.items():
            compare(name, combiner, stack, y, 5 if quick else 15)


class Recorded(Localized):
    """Keeps the gating parameters of every evaluation."""

    def family(self, stack, machine, control):
        family = super().family(stack, machine, control)
        pullback = family.pullback

        def recorded(kernel, coef, solution=None):
            self.thetas.append(kernel.theta.copy())
            return pullback(kernel, coef, solution)

        family.pullback = recorded
        return family


def steps(quick: bool) -> None:
    print("\nOne evaluation of J and its gradient, replayed (softmax gates, C = 10)")
    print(f"{'n':<8}{'SVC and NumPy ms':>18}{'ours ms':>10}{'ratio':>7}  {'quartiles':<16}")
    for n in (667,) if quick else (667, 2000):
        stack, y = multifeat(n)
        machine, recorded, combiner = BinaryMachine(y, 10.0), Recorded(l2=1e-3), Localized(l2=0.0)
        recorded.thetas = []
        recorded.fit(stack, machine)
        control = FitControl()
        family = combiner.family(training(stack), machine, control)
        loop = Loop(combiner.optimizer, combiner.max_iter, control, 0.0, lambda: None)
        run = NestedDescent(family, machine, None, loop)
        times = np.empty((len(recorded.thetas), 2))
        for step, theta in enumerate(recorded.thetas):
            start = perf_counter()
            expected = numpy_step(stack.matrices(), family.stack.codes, theta, y)
            middle = perf_counter()
            _, gradient, _ = run.evaluate(theta)
            times[step] = middle - start, perf_counter() - middle
            if not np.linalg.norm(gradient - expected) < 0.1 * np.linalg.norm(expected):
                raise RuntimeError(f"the gradients of step {step} differ")
        theirs, ours = 1e3 * np.median(times, axis=0)
        print(f"{n:<8}{theirs:>18.2f}{ours:>10.2f}{quartiles(times[:, 0] / times[:, 1])}", flush=True)


def numpy_step(matrices: np.ndarray, inputs: np.ndarray, theta: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient of J by the parameters of unit softmax gates, with scikit-learn and NumPy alone."""
    n_kernels = len(matrices)
    gates = np.sqrt(softmax(inputs @ theta[:-n_kernels].reshape(n_kernels, -1).T + theta[-n_kernels:], axis=1))
    K = sum(gate[:, None] * matrix * gate for gate, matrix in zip(gates.T, matrices, strict=True))
    model = unit(K, y)
    support, coef = model.support_, model.dual_coef_[0]
    slopes = np.zeros_like(gates)
    for m, matrix in enumerate(matrices):
        slopes[support, m] = -coef * (matrix[np.ix_(support, support)] @ (gates[support, m] * coef))
    slopes = 0.5 * gates * (slopes - gates * (gates * slopes).sum(axis=1, keepdims=True))
    return np.concatenate([(slopes.T @ inputs).ravel(), slopes.sum(axis=0)])


def sums(quick: bool) -> None:
    print("\nThe combined kernel against adding up its P n^2 numbers once (P = 6)")
    print(f"{'n':<8}{'numbers ms':>12}{'ours ms':>10}{'ratio':>7}  {'quartiles':<16}")
    for n in (667,) if quick else (667, 2000):
        matrices, gates = multifeat(n)[0].matrices(), np.random.default_rng(0).random((n, 6))
        out = np.empty((n, n))
        times = interleaved(matrices.sum, lambda m=matrices, g=gates, o=out: sum_kernels(m, g, out=o), repeats=15)
        once, ours = 1e3 * np.median(times, axis=0)
        print(f"{n:<8}{once:>12.2f}{ours:>10.2f}{quartiles(times[:, 1] / times[:, 0])}", flush=True)


def growth(quick: bool) -> None:
    print("\nTime per outer iteration, Gaussian kernels of ten features, softmax gates, C = 1, 15 iterations")
    print(f"{'n':<8}{'P':<5}{'ms':>10}{'ns / (n^2 P)':>15}{'float32 ms':>13}{'float64 / float32':>20}")
    for n, n_kernels in [
        (500, 6),
        (1000, 6),
        (2000, 3),
        (2000, 6),
        (2000, 12),
        *([] if quick else [(4000, 6), (8000, 6)]),
    ]:
        X, y = gaussian_features(n)
        kernels = [Gaussian(scale=scale) for scale in np.geomspace(1.5, 12.0, n_kernels)]
        each = {}
        for dtype in ("float64", "float32"):
            stack = KernelStack(kernels, dtype=dtype).fit(X)
            stack.matrices()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                found = Localized(l2=0.0, max_iter=15).fit(stack, BinaryMachine(y, 1.0), FitControl(tol=1e-5))
            each[dtype] = np.median([line["seconds"] / line["solves"] for line in found.history[1:-1]])
        double, single = each["float64"], each["float32"]
        per_number = 1e9 * double / (n**2 * n_kernels)
        ratio = double / single
        print(
            f"{n:<8}{n_kernels:<5}{1e3 * double:>10.1f}{per_number:>15.2f}{1e3 * single:>13.1f}{ratio:>20.2f}",
            flush=True,
        )


def accuracy(quick: bool) -> None:
    X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    print("\nMULTIFEAT small-vs-large, 667 training samples, mean and standard deviation of four splits")
    print(f"{'model':<42}{'C':>5}{'accuracy':>17}{'support':>9}{'active':>8}{'J':>8}{'solves':>8}")
    models = {"Mean()": Mean()}
    for gate in (Softmax(), Sigmoid(), Softmax("paper"), Sigmoid("paper")):
        name = f"{type(gate).__name__}{'' if gate.norm == 'unit' else ', paper'}"
        models |= {
            f"{name}, l2 chosen": Localized(gate),
            f"{name}, l2 = 0.003": Localized(gate, l2=0.003),
            f"{name}, l2 = 0.003, armijo": Localized(gate, l2=0.003, optimizer="armijo", max_iter=500),
            f"{name}, l2 = 0, held out 20 %": Localized(gate, l2=0.0, validation_fraction=0.2),
        }
    for name, combiner in models.items():
        for C in (10.0,) if quick else (1.0, 10.0):
            rows = []
            for seed in range(4):
                train, test = train_test_split(np.arange(len(y)), train_size=667, stratify=y, random_state=seed)
                model = make_pipeline(
                    StandardScaler().set_output(transform="pandas"),
                    MKLClassifier([Linear(view) for view in VIEWS], combiner, C=C, random_state=0),
                ).fit(X.iloc[train], y[train])
                scaled, fitted = model[0].transform(X.iloc[test]), model[1]
                shares = fitted.gating_summary(scaled).query("`class` == 'all'")["share"]
                rows.append(
                    (
                        100 * fitted.score(scaled, y[test]),
                        100 * len(fitted.support_) / 667,
                        shares.sum(),
                        fitted.objective_,
                        fitted.history_["solves"].sum(),
                    )
                )
            mean, deviation = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
            score = f"{mean[0]:.2f} +- {deviation[0]:.2f}"
            print(
                f"{name:<42}{C:>5.0f}{score:>17}{mean[1]:>9.1f}{mean[2]:>8.2f}{mean[3]:>8.1f}{mean[4]:>8.0f}",
                flush=True,
            )


PARTS = {"fits": fits, "steps": steps, "sums": sums, "growth": growth, "accuracy": accuracy}


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
