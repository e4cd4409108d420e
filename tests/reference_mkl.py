"""Kernel learning problems written out as cone programs over all dual variables and solved by Clarabel.

    minimise over z    1/2 z'diag(h)z - p'z + 1/2 S(q),      q_m >= sum_r c_r' K_m c_r

where S is the support function of the set of weights (the conjugate of the pull, for the elastic family).
"""

import clarabel
import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from kernelweave.kernels import KernelStack, Precomputed
from kernelweave.machines import (
    BinaryMachine,
    EpsilonInsensitive,
    JointMachine,
    LeastSquaresMachine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    PosteriorMachine,
    RegressionMachine,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

N, P = 40, 5


def small_problem(n=N, seed=0):
    """Five kernels on few samples, positive definite, and a machine of every kind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).cumsum(axis=2)
    matrices = np.array(
        [
            X[:, :2] @ X[:, :2].T,
            np.exp(-squares[:, :, 1]),
            (1.0 + X[:, 2:4] @ X[:, 2:4].T) ** 2,
            np.exp(-0.3 * squares[:, :, 3]),
            X[:, 4:] @ X[:, 4:].T,
        ]
    ) + 1e-3 * np.eye(n)
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    labels = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5])
    value = X[:, 0] ** 2 + X[:, 1]
    machines = {
        "binary": BinaryMachine(signs, 3.0),
        "regression": RegressionMachine(value, 2.0, epsilon=0.1),
        "one-class": OneClassMachine(np.full(n, 1.0 / (0.2 * n))),
        "joint": JointMachine(labels, 2.0),
        "one-vs-one": OneVsOneMachine(labels, 2.0),
        "one-vs-all": OneVsAllMachine(labels, 2.0),
        "least-squares": LeastSquaresMachine(value, 2.0),
        "targets": EpsilonInsensitive(epsilon=0.1).several_targets(np.column_stack([value, 2.0 * X[:, 3]]), 2.0),
        "squared hinge": SquaredHinge().for_targets(signs, 3.0),
        "squared epsilon-insensitive": SquaredEpsilonInsensitive(epsilon=0.1).for_targets(value, 2.0),
        "posterior": PosteriorMachine(np.clip(0.5 + 0.4 * signs + 0.05 * rng.normal(size=n), 0, 1), 2.0),
    }
    return matrices, machines, Bunch(signs=signs, labels=labels, value=value)


def stack_of(matrices):
    """A stack of these Gram matrices as they are."""
    kernels = [(f"k{m}", Precomputed(K)) for m, K in enumerate(matrices)]
    return KernelStack(kernels, normalize=None).fit(np.arange(matrices.shape[1])[:, None])


class ConeProgram:
    """Rows of ``b - A v`` in cones, over z, q and further variables."""

    def __init__(self, programs, matrices):
        n = matrices.shape[1]
        self.size = 0
        self.rows, self.right, self.cones = [], [], []
        self.linear, self.quadratic = {}, {}
        blocks = []
        for program in programs:
            z = self.variables(len(program.linear))
            self.linear |= dict(zip(z, -program.linear, strict=True))
            self.quadratic |= dict(zip(z, program.quadratic, strict=True))
            for column in program.columns():
                M = np.zeros((n, len(z)))
                M[program.sample, np.arange(len(z))] += program.plus == column
                M[program.sample, np.arange(len(z))] -= program.minus == column
                blocks.append((z, M))
                self.add(z, M.sum(axis=0)[None, :], [program.total], clarabel.ZeroConeT(1))
            low, high = np.isfinite(program.lower), np.isfinite(program.upper)
            self.add(z, -np.eye(len(z))[low], -program.lower[low], clarabel.NonnegativeConeT(int(low.sum())))
            self.add(z, np.eye(len(z))[high], program.upper[high], clarabel.NonnegativeConeT(int(high.sum())))
        self.q = self.variables(len(matrices))
        for m, K in enumerate(matrices):
            values, vectors = np.linalg.eigh(K)
            L = vectors * np.sqrt(np.maximum(values, 0.0))
            height = 2 + n * len(blocks)
            parts = [(self.q[m : m + 1], np.concatenate([[-1.0, -1.0], np.zeros(height - 2)])[:, None])]
            for number, (z, M) in enumerate(blocks):
                part = np.zeros((height, len(z)))
                part[2 + n * number : 2 + n * (number + 1)] = -2.0 * L.T @ M
                parts.append((z, part))
            self.add_parts(
                parts, np.concatenate([[1.0, -1.0], np.zeros(height - 2)]), clarabel.SecondOrderConeT(height)
            )

    def variables(self, count):
        self.size += count
        return np.arange(self.size - count, self.size)

    def add(self, where, A, b, cone):
        self.add_parts([(where, A)], b, cone)

    def add_parts(self, parts, b, cone):
        if len(b):
            self.rows.append(parts)
            self.right.append(np.asarray(b, dtype=float))
            self.cones.append(cone)

    def solve(self):
        A = np.zeros((sum(map(len, self.right)), self.size))
        top = 0
        for parts, b in zip(self.rows, self.right, strict=True):
            for where, block in parts:
                A[top : top + len(b), where] += block
            top += len(b)
        linear, quadratic = np.zeros(self.size), np.zeros(self.size)
        linear[list(self.linear)] = list(self.linear.values())
        quadratic[list(self.quadratic)] = list(self.quadratic.values())
        problem = sp.diags(quadratic).tocsc(), linear, sp.csc_matrix(A), np.concatenate(self.right), self.cones
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        for tol in (1e-9, 1e-8, 1e-7):  # power cones do not always get as far as the first
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
            solution = clarabel.DefaultSolver(*problem, settings).solve()
            if str(solution.status) == "Solved":
                return -solution.obj_val
        raise RuntimeError(f"the reference stopped with {solution.status}")


def convex_optimum(programs, matrices, costs=None, low=None):
    """max_m q_m / d_m^2, with lower limits `low` on x."""
    cone = ConeProgram(programs, matrices)
    d2 = np.ones(len(matrices)) if costs is None else costs**2
    low = np.zeros(len(matrices)) if low is None else low
    t = cone.variables(1)
    cone.linear |= {t[0]: 0.5 * (1.0 - low.sum())} | dict(zip(cone.q, 0.5 * low / d2, strict=True))
    for m in range(len(matrices)):
        parts = [(cone.q[m : m + 1], [[1.0 / d2[m]]]), (t, [[-1.0]])]
        cone.add_parts(parts, [0.0], clarabel.NonnegativeConeT(1))
    return cone.solve()


def group_optimum(programs, matrices, groups, p, *, separate=False):
    """max_g ||q_g||_p*, or their sum where each group has a ball of its own, by power cones; p above 1."""
    cone = ConeProgram(programs, matrices)
    dual = p / (p - 1.0)
    t = cone.variables(1)
    cone.linear[t[0]] = 0.5
    for place, g in enumerate(np.unique(groups)):
        if separate and place:
            t = cone.variables(1)
            cone.linear[t[0]] = 0.5
        members = np.flatnonzero(groups == g)
        s = cone.variables(1)
        cone.add_parts([(s, [[1.0]]), (t, [[-1.0]])], [0.0], clarabel.NonnegativeConeT(1))
        if p == 2.0:
            parts = [(s, np.eye(1 + len(members))[:, :1] * -1.0), (cone.q[members], -np.eye(1 + len(members))[:, 1:])]
            cone.add_parts(parts, np.zeros(1 + len(members)), clarabel.SecondOrderConeT(1 + len(members)))
            continue
        u = cone.variables(len(members))
        cone.add_parts([(u, np.ones((1, len(u)))), (s, [[-1.0]])], [0.0], clarabel.NonnegativeConeT(1))
        for m, v in zip(members, u, strict=True):
            parts = [([v], [[-1.0], [0.0], [0.0]]), (s, [[0.0], [-1.0], [0.0]])]
            parts.append((cone.q[m : m + 1], [[0.0], [0.0], [-1.0]]))
            cone.add_parts(parts, np.zeros(3), clarabel.PowerConeT(1.0 / dual))
    return cone.solve()


def elastic_optimum(programs, matrices, lam):
    """Twice the conjugate of lam ||x - 1/P||^2 on the simplex at q / 2, by its own dual."""
    cone = ConeProgram(programs, matrices)
    n = len(matrices)
    mu, nu, a = cone.variables(1), cone.variables(n), cone.variables(n)
    cone.add(nu, -np.eye(n), np.zeros(n), clarabel.NonnegativeConeT(n))
    parts = [(a, np.eye(n)), (cone.q, -0.5 * np.eye(n)), (mu, np.ones((n, 1))), (nu, -np.eye(n))]
    cone.add_parts(parts, np.zeros(n), clarabel.ZeroConeT(n))
    cone.linear |= {mu[0]: 1.0} | {v: 1.0 / n for v in a}
    cone.quadratic |= {v: 0.5 / lam for v in a}
    return cone.solve()
