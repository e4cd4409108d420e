"""Generated problems that are hard on solvers, for every machine, and what an independent solver makes of them.

Class ratios from 1:1 to one sample against all others at a random place, nu from 0.001 to 0.5, kernels from
identity-like to constant, C from 1e-6 to 1e8, duplicates, outliers, sample weights, 2 to 250 classes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, OneClassSVM

from kernelweave.machines import (
    BinaryMachine,
    JointMachine,
    LeastSquaresMachine,
    Machine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    PosteriorMachine,
    RegressionMachine,
)
from kernelweave.solvers import DualProgram

KINDS = {
    "binary": 6,
    "regression": 4,
    "one-class": 3,
    "posterior": 2,
    "one-vs-one": 1,
    "one-vs-all": 1,
    "joint": 1,
    "least-squares": 1,
}  # and how often
LIBSVM_STEPS = 50_000  # more would take minutes at large C
MOST_VARIABLES = 400  # of a program that Clarabel is asked about


@dataclass(frozen=True)
class Problem:
    """A machine and a Gram matrix."""

    name: str
    machine: Machine
    K: np.ndarray
    scale: float  # C max K_ii


def generate(seed: int, number: int, largest: int = 600) -> Problem:
    """Problem `number` of this seed, with at most `largest` samples."""
    rng = np.random.default_rng([seed, number])
    kind = rng.choice(list(KINDS), p=np.array(list(KINDS.values())) / sum(KINDS.values()))
    n = int(np.exp(rng.uniform(np.log(12), np.log(largest / 3 if kind == "joint" else largest))))
    C = 10.0 ** rng.uniform(-6, 8)
    X, label = _features(rng, n)
    K, label = (X @ X.T, f"linear, {label}") if rng.random() < 0.3 else _gaussian(rng, X, label)
    weight = np.ones(n)
    if rng.random() < 0.3:
        weight = np.exp(rng.normal(0, 2, n)) * (rng.random(n) < 0.9)
        weight[rng.integers(n)] = 1.0
        label += ", weighted"
    machine, detail = _machine(rng, kind, X, C, weight)
    name = f"{seed}/{number}: {kind}, n = {n}, C = {C:.2g}, {label}{detail}"
    bound = 1.0 if kind == "one-class" else (C * weight).max()
    return Problem(name, machine, K, float(bound * np.abs(K.diagonal()).max()))


def one_against_many(n: int, seed: int) -> Problem:
    """One sample at a random place against n others, in single precision."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 1, 4)).astype(np.float32)
    y = -np.ones(n + 1)
    y[rng.integers(n + 1)] = 1.0
    K, label = _gaussian(rng, X, "")
    K += 1e-6 * np.eye(n + 1, dtype=np.float32)  # or single precision makes it indefinite
    return Problem(f"large/{seed}: 1:{n}, C = 1, {label}", BinaryMachine(y, 1.0), K, 1.0)


def _features(rng, n):
    X = rng.standard_normal((n, int(rng.integers(1, 12))))
    label = "plain"
    choice = rng.random()
    if choice < 0.2:
        X, label = X[rng.integers(0, max(2, n // 3), n)], "duplicates"
    elif choice < 0.4:
        X[rng.random(n) < 0.02] *= 100.0
        label = "outliers"
    elif choice < 0.5:
        X, label = np.sort(X, axis=0), "sorted"
    return X, label


def _gaussian(rng, X, label):
    squares = (X**2).sum(axis=1)
    distance = np.maximum(0.0, squares[:, None] + squares[None] - 2.0 * X @ X.T)
    middle = np.median(distance)
    width = 10.0 ** rng.uniform(-3, 4)
    distance /= -max(width * middle, 1e-12)
    K = np.exp(distance, out=distance)
    np.fill_diagonal(K, 1.0)
    return K, f"width {width:.1g}, {label}"


def _machine(rng, kind, X, C, weight):
    n = len(X)
    bound = C * weight
    if kind == "binary":
        y = -np.ones(n)
        rare = max(1, round(n / (1.0 + np.exp(rng.uniform(0.0, np.log(n))))))
        y[rng.choice(n, rare, replace=False)] = 1.0
        if rng.random() < 0.3:  # classes that can be told apart
            y = np.where(X[:, 0] >= np.sort(X[:, 0])[-rare], 1.0, -1.0)
        return BinaryMachine(y * rng.choice([-1.0, 1.0]), bound), f", {rare} of one class"
    if kind == "regression":
        y = X[:, 0] + 0.3 * rng.standard_normal(n)
        if rng.random() < 0.4:
            y[rng.integers(n)] += 10.0 ** rng.uniform(0, 4)
        epsilon = rng.choice([0.0, 0.01, 0.1, 1.0])
        return RegressionMachine(y, bound, epsilon=epsilon), f", epsilon {epsilon:g}"
    if kind == "one-class":
        nu = 10.0 ** rng.uniform(-3, np.log10(0.5))
        return OneClassMachine(weight / (weight.sum() * nu)), f", nu {nu:.2g}"
    if kind == "posterior":
        sharp = 10.0 ** rng.uniform(-1, 2)
        return PosteriorMachine(1.0 / (1.0 + np.exp(-np.clip(sharp * X[:, 0], -30, 30))), bound), ""
    if kind == "least-squares":
        return LeastSquaresMachine(X[:, 0] + 0.3 * rng.standard_normal(n), np.maximum(bound, 1e-9)), ""
    most = {"one-vs-one": 12, "one-vs-all": 250, "joint": 30}[kind]
    classes = int(np.exp(rng.uniform(np.log(2), np.log(min(most, n)))))
    labels = rng.permutation(np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)]))
    if kind == "joint":
        posterior = rng.dirichlet(np.ones(classes), n) if rng.random() < 0.3 else None
        return JointMachine(labels, bound, posterior=posterior), f", {classes} classes"
    machine = OneVsOneMachine if kind == "one-vs-one" else OneVsAllMachine
    return machine(labels, bound), f", {classes} classes"


def reference(problem: Problem, tol: float = 1e-4) -> float | None:
    """The objective of the machine by libsvm or Clarabel; None where neither can say."""
    machine, K = problem.machine, problem.K
    if isinstance(machine, OneVsOneMachine | OneVsAllMachine):
        parts = [_libsvm(part, K[np.ix_(rows, rows)], tol) for rows, part in machine.outputs()]
        return None if None in parts else sum(parts)
    if isinstance(machine, BinaryMachine | RegressionMachine | OneClassMachine):
        return _libsvm(machine, K, tol)
    parts = [_clarabel(program, K) for program in machine.programs()]
    return None if None in parts else sum(parts)


def _libsvm(machine: Machine, K: np.ndarray, tol: float) -> float | None:
    options = dict(kernel="precomputed", tol=tol, max_iter=LIBSVM_STEPS)
    # libsvm drops samples of weight 0
    kept = np.flatnonzero(machine.bound > 0.0)
    inner, bound = K[np.ix_(kept, kept)].astype(float), machine.bound[kept]
    problem = machine.subset(kept).problem() if len(kept) else None
    if isinstance(machine, BinaryMachine):
        if len(np.unique(machine.y_signed[kept])) < 2:
            return 0.0
        fitted = _quietly(SVC(C=1.0, **options), inner, machine.y_signed[kept], bound)
    elif isinstance(machine, RegressionMachine):
        fitted = _quietly(SVR(C=1.0, epsilon=machine.epsilon, **options), inner, machine.y[kept], bound)
    else:
        if np.ptp(bound) > 1e-12 * bound.max():
            return _clarabel(machine.programs()[0], K)
        fitted = _quietly(OneClassSVM(nu=machine.nu, **options), inner, None, None)
    if np.max(fitted.n_iter_) >= LIBSVM_STEPS:
        return None
    c = np.zeros(len(kept))
    c[fitted.support_] = fitted.dual_coef_[0]
    if isinstance(machine, OneClassMachine):
        c /= c.sum()
    return float(problem["linear"] @ c - problem["insensitivity"] * np.abs(c).sum() - 0.5 * c @ inner @ c)


def _quietly(unit, K, y, weight):
    """Fitted; where libsvm gives up, the number of its steps says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return unit.fit(K, y, sample_weight=weight)


def _clarabel(program: DualProgram, K: np.ndarray) -> float | None:
    """The optimum of a written-out dual; None where it is too large or Clarabel gives up."""
    size = len(program.linear)
    if size > MOST_VARIABLES:
        return None
    columns = 1 + max(program.plus.max(), program.minus.max())
    direction = np.zeros((size, columns))
    for signs, at in ((1.0, program.plus), (-1.0, program.minus)):
        direction[np.flatnonzero(at >= 0), at[at >= 0]] += signs
    P = K[np.ix_(program.sample, program.sample)] * (direction @ direction.T) + np.diag(program.quadratic)
    bounded = np.flatnonzero(np.isfinite(program.upper))
    box = np.eye(size)[bounded]
    A = np.vstack([direction.T, box, -box])
    limits = np.concatenate([np.full(columns, program.total), program.upper[bounded], -program.lower[bounded]])
    cones = [clarabel.ZeroConeT(columns), clarabel.NonnegativeConeT(2 * len(bounded))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(P)), -program.linear, sparse.csc_matrix(A), limits, cones, settings
    ).solve()
    return -answer.obj_val if str(answer.status) == "Solved" else None
