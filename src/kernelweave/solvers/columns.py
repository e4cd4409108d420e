"""Column generation: functions that are sums of kernel columns, with an l1 penalty on their coefficients.

A column j is the values k_m(x_i, .) of one kernel m at one sample i over all n samples; there are n P of them. Over
coefficients a and a bias b

    P(a, b) = sum_j |a_j| + sum_i loss_i(f_i),       f = sum_j a_j k_j + b                                   (1)

is minimised. With the terms p, bounds, e and h of a loss (`machines.base`: loss_i(f_i) is the largest value of
(p_i - f_i) v - e |v| - h_i/2 v^2 within the bounds) its dual is

    D(v) = p'v - e |v|_1 - 1/2 sum_i h_i v_i^2   with  sum(v) = 0,  lower <= v <= upper,  |k_j'v| <= 1 for each j.   (2)

Both are always feasible (a = 0, v = 0) and P is at least 0, so that neither is unbounded. A restricted problem has some
columns only. Where rho = max_j |k_j'v| over all columns is above 1, its optimal v is not feasible in the whole: the
columns that violate most enter, and the problem is solved again (Demiriz, Bennett and Shawe-Taylor 2002). All k_j'v are
the products K_m v of the stack with one vector. As the bounds contain 0, s v is feasible for s from 0 to 1/max(1, rho):

    gap = P(a, b) - max_s D(s v),      D(s v) = s (p'v - e |v|_1) - s^2/2 sum_i h_i v_i^2                          (3)

is an upper limit to how far P(a, b) is from the optimum over all columns. Without h, where P = D(v) in the restricted
problem, it is P (1 - 1/rho): no column violates the dual by more than tol where it is at most about tol P.

Without h the restricted problem is a linear program, which HiGHS solves in the dual, so that its multipliers are a and
b. With h > 0 and no bounds it is the lasso with weights 1/h_i: coordinate descent finds which coefficients are not 0,
with their signs, and Newton's method ("feature signs", Lee, Battle, Raina and Ng 2006) their values.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import linprog

from .compiled import compiled

#: From v of some outputs, (n_samples, n_outputs), to K_m v of all kernels, (n_kernels, n_samples, n_outputs).
Products = Callable[[np.ndarray], np.ndarray]
#: From positions of kernels and of samples to the columns, (n_samples, n_columns).
Columns = Callable[[np.ndarray, np.ndarray], np.ndarray]

FEASIBLE = 1e-9  # tolerances of HiGHS, of constraints and of reduced costs
NOTHING = 1e-12  # share of the largest part of f below which a column counts as unused
EXACT = 0.1  # share of tol to which a restricted lasso is solved
SWEEPS, MOST_TURNS = 10, 1000  # of coordinate descent before Newton's method, and of both
RIDGE = 1e-12  # on the restricted Hessian, relative to its mean diagonal: columns may be equal


@dataclass
class ColumnFit:
    """The fit of one output.

    Attributes
    ----------
    kernels, samples : ndarray of int, shape (n_columns,)
        The columns that have entered.
    coef : ndarray of shape (n_columns,)
    intercept : float
    objective, gap : float
        P(a, b), and (3).
    largest : float
        rho = max_j |k_j'v| over all columns.
    history : list of dict
        A row for each restricted problem.
    """

    kernels: np.ndarray
    samples: np.ndarray
    coef: np.ndarray
    intercept: float = 0.0
    objective: float = np.inf
    gap: float = np.inf
    largest: float = np.inf
    converged: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)


def generate_columns(
    terms: Any,
    products: Products,
    columns: Columns,
    *,
    tol: float,
    per_step: int,
    most: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[ColumnFit]:
    """Minimise (1) for each output until no column violates the dual by more than `tol`, or `most` have entered.

    Parameters
    ----------
    terms : DualTerms of shape (n_samples, n_outputs)
        With quadratic terms and no bounds, or with bounds and no quadratic terms.
    products, columns : callable
        What is read of the kernels.
    tol : float
    per_step : int
        How many columns enter at once, at most.
    most : int, optional
        How many columns may enter for an output.
    progress : callable, optional
        Called with the share of the work that is done.

    Examples
    --------
    >>> from kernelweave.machines import BinaryMachine
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> K = np.outer(x, x)[None]
    >>> terms = BinaryMachine(np.sign(x), bound=10.0).terms
    >>> (fit,) = generate_columns(terms, lambda V: K @ V, lambda m, i: K[m, i].T, tol=1e-6, per_step=1)
    >>> int(fit.samples[0]), round(fit.objective, 6), fit.converged  # 1/3 of the column of the sample at 3
    (3, 0.333333, True)
    """
    problems = [RestrictedProblem(terms.column(k)) for k in range(terms.n_outputs)]
    begin, first = time.perf_counter(), 0.0
    working = problems
    while working:
        for problem in working:
            problem.solve(tol)
        violations = np.abs(products(np.column_stack([problem.v for problem in working])))
        for k, problem in enumerate(working):
            problem.certify(violations[:, :, k], tol, time.perf_counter() - begin)
        working = [p for k, p in enumerate(working) if p.grow(violations[:, :, k], columns, tol, per_step, most)]
        if progress is not None and working:
            left = max(np.log((problem.fit.largest - 1.0) / tol) for problem in working)
            first = max(first, left)
            progress(1.0 - left / first)
    return [problem.fit for problem in problems]


class RestrictedProblem:
    """One output with the columns that have entered."""

    def __init__(self, terms: Any):
        self.terms = terms
        self.p, self.lower, self.upper, self.h = (
            np.ascontiguousarray(getattr(terms, name)[:, 0]) for name in ("linear", "lower", "upper", "quadratic")
        )
        self.e = float(terms.insensitivity)
        self.v = np.zeros(len(self.p))
        self.Phi = np.empty((len(self.p), 0))
        nobody = np.empty(0, dtype=int)
        self.fit = ColumnFit(nobody, nobody, np.empty(0))
        self.bound = 0.0  # the largest D(s v) so far; D(0) is 0

    def solve(self, tol: float) -> None:
        fit = self.fit
        if self.h.any():
            fit.coef, fit.intercept, self.v = solve_lasso(self.Phi, self.p, 1.0 / self.h, fit.coef, EXACT * tol)
        else:
            fit.coef, fit.intercept, self.v = solve_program(self.Phi, self.p, self.lower, self.upper, self.e)
        parts = np.abs(fit.coef) * np.abs(self.Phi).max(axis=0, initial=0.0)
        fit.coef[parts <= NOTHING * parts.max(initial=0.0)] = 0.0

    def certify(self, products: np.ndarray, tol: float, seconds: float) -> None:
        """Objective, gap (3) and violation, given |k_j'v| of all columns."""
        fit, v = self.fit, self.v
        values = self.Phi @ fit.coef + fit.intercept
        fit.objective = float(np.abs(fit.coef).sum() + self.terms.loss(values[:, None]).sum())
        rho = float(products.max())
        self.bound = max(self.bound, best_multiple(self.p, v, self.e, self.h, rho))
        fit.gap, fit.largest, fit.converged = max(fit.objective - self.bound, 0.0), rho, rho <= 1.0 + tol
        row = {"columns": len(fit.coef), "stored": int(np.count_nonzero(fit.coef)), "objective": fit.objective}
        fit.history.append({**row, "duality_gap": fit.gap, "violation": max(rho - 1.0, 0.0), "seconds": seconds})

    def grow(self, products: np.ndarray, columns: Columns, tol: float, per_step: int, most: int | None) -> bool:
        """Take in the columns that violate the dual most; False where there are none, or no more may enter."""
        fit, n = self.fit, len(self.p)
        if fit.converged:
            return False
        reduced = products.reshape(-1).copy()
        reduced[fit.kernels * n + fit.samples] = 0.0
        room = per_step if most is None else min(per_step, most - len(fit.coef))
        entering = np.argsort(-reduced, kind="stable")[: max(room, 0)]
        entering = entering[reduced[entering] > 1.0 + tol]
        if not len(entering):
            return False
        m, i = np.divmod(entering, n)
        fit.kernels, fit.samples = np.append(fit.kernels, m), np.append(fit.samples, i)
        fit.coef = np.append(fit.coef, np.zeros(len(m)))
        self.Phi = np.hstack([self.Phi, columns(m, i)])
        return True


def best_multiple(p: np.ndarray, v: np.ndarray, e: float, h: np.ndarray, rho: float) -> float:
    """max_s D(s v) of (3), for a v within the bounds whose sum is 0."""
    linear = float((p - p.mean()) @ v - e * np.abs(v).sum())  # less rounding than p'v, where p is far from 0
    quadratic, most = float(h @ v**2), 1.0 / max(rho, 1.0)
    s = most if quadratic == 0.0 else min(max(linear / quadratic, 0.0), most)
    return max(s * linear - 0.5 * s**2 * quadratic, 0.0)


def balanced(v: np.ndarray) -> np.ndarray:
    """v with the larger of its positive and negative parts made smaller, so that it adds up to 0."""
    more, less = v[v > 0.0].sum(), -v[v < 0.0].sum()
    least = min(more, less)
    return np.where(v > 0.0, v * (least / more if more > 0.0 else 0.0), v * (least / less if less > 0.0 else 0.0))


# Linear programs


def solve_program(
    Phi: np.ndarray, p: np.ndarray, lower: np.ndarray, upper: np.ndarray, e: float
) -> tuple[np.ndarray, float, np.ndarray]:
    """a, b and v of (1) and (2) without quadratic terms, over the columns of Phi, by HiGHS.

    HiGHS compares with absolute tolerances, so columns, bounds and targets are brought to a size of about 1. Its v is
    moved into the bounds and to a sum of 0, so that it is feasible.
    """
    n, t = Phi.shape
    middle = 0.5 * (p.min() + p.max())
    size = max(float(np.abs(p - middle).max()), e) or 1.0
    unit = max(float(np.abs(Phi).max(initial=0.0)), 1.0 / max(upper.max(), -lower.min()))
    linear, rows = (p - middle) / size, Phi.T / unit
    starts, ends = lower * unit, upper * unit
    if e > 0.0:  # v = v+ - v-
        signs, linear = np.repeat([1.0, -1.0], n), np.concatenate([linear, -linear]) - e / size
        rows, starts, ends = np.hstack([rows, -rows]), np.zeros(2 * n), np.concatenate([ends, -starts])
    else:
        signs = np.ones(n)
    found = linprog(
        -np.concatenate([linear, np.zeros(t)]),
        A_eq=np.block([[signs, np.zeros(t)], [rows, np.eye(t)]]),
        b_eq=np.zeros(t + 1),
        bounds=np.column_stack([np.append(starts, -np.ones(t)), np.append(ends, np.ones(t))]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": FEASIBLE, "dual_feasibility_tolerance": FEASIBLE},
    )
    if found.status != 0:
        raise ValueError(
            f"HiGHS found no optimum of the linear program of {n} samples and {t} columns: {found.message} Lower C, or "
            "scale the targets and the kernels"
        )
    multipliers = -found.eqlin.marginals
    v = signs * found.x[: len(signs)] / unit
    v = np.clip(v[:n] + v[n:] if e > 0.0 else v, lower, upper)
    return multipliers[1:] * size / unit, float(multipliers[0]) * size + middle, balanced(v)


# Squares


def solve_lasso(
    Phi: np.ndarray, p: np.ndarray, weight: np.ndarray, start: np.ndarray, tol: float
) -> tuple[np.ndarray, float, np.ndarray]:
    """a, b and v of (1) and (2) for 1/2 sum_i w_i (p_i - f_i)^2 over the columns of Phi, to a relative gap of `tol`."""
    share = weight / weight.sum()
    means, mean = share @ Phi, float(share @ p)
    Phi, p, a = Phi - means, p - mean, start.copy()  # b is the mean of p - f
    G, c = Phi.T @ (weight[:, None] * Phi), Phi.T @ (weight * p)
    last = np.inf
    for _ in range(MOST_TURNS):
        g = c - G @ a
        descend(G, a, g, SWEEPS)
        newton_on_support(G, c, a)
        residual = p - Phi @ a
        v = weight * residual
        objective = float(np.abs(a).sum() + 0.5 * residual @ v)
        rho = float(np.abs(Phi.T @ v).max(initial=0.0))
        gap = objective - best_multiple(p, v, 0.0, 1.0 / weight, rho)
        if gap <= tol * objective or objective >= last:  # rounding leaves nothing to do
            break
        last = objective
    return a, mean - float(means @ a), balanced(v)


@compiled(error_model="numpy")
def descend(G, a, g, n_sweeps):
    """Sweeps of coordinate descent on 1/2 a'Ga - c'a + |a|_1, where g = c - G a; a and g in place."""
    for _ in range(n_sweeps):
        for j in range(len(a)):
            if G[j, j] <= 0.0:
                continue  # a constant column
            z = a[j] * G[j, j] + g[j]
            size = abs(z) - 1.0
            new = 0.0
            if size > 0.0:
                new = size / G[j, j] if z > 0.0 else -size / G[j, j]
            step = new - a[j]
            if step != 0.0:
                for k in range(len(a)):
                    g[k] -= step * G[j, k]
                a[j] = new


def newton_on_support(G: np.ndarray, c: np.ndarray, a: np.ndarray) -> None:
    """Minimise 1/2 a'Ga - c'a + |a|_1 over the coefficients that are not 0, in place, while their signs stay.

    Where the minimum for these signs has others, a goes as far as the first that becomes 0, which leaves the support.
    """
    for _ in range(len(a)):  # at least one leaves in each turn
        there = np.flatnonzero(a)
        if not len(there):
            return
        M = G[np.ix_(there, there)]
        slope = c[there] - np.sign(a[there]) - M @ a[there]
        M.flat[:: len(there) + 1] += RIDGE * np.trace(M) / len(there)
        try:
            step = cho_solve(cho_factor(M, lower=True, overwrite_a=True), slope)
        except LinAlgError:  # columns that depend on each other beyond rounding: coordinate descent goes on
            return
        turns = np.sign(a[there] + step) != np.sign(a[there])
        ends = np.divide(-a[there], step, out=np.full(len(there), np.inf), where=turns)
        length = min(1.0, float(ends.min()))
        a[there] += length * step
        a[there[ends <= length]] = 0.0
        if length == 1.0:
            return
