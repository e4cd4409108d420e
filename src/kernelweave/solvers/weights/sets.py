"""Sets that kernel weights are chosen from: a simplex, a budget, and the unit ball of a norm that adds up over groups.

=============  ==========================================  =====================================================
set            x                                           smallest of l - 1/2 q'x
=============  ==========================================  =====================================================
`Simplex`      sum(x) = 1, x >= lower                      l - 1/2 (lower'q + (1 - sum(lower)) max_m q_m)
`Budget`       sum(x) = k, 0 <= x <= 1                     l - 1/2 (sum of the k largest q_m)
`GroupBall`    x >= 0, sum_g ||x_g||_p <= 1                l - 1/2 max_g ||q_g||_p*        with 1/p + 1/p* = 1
=============  ==========================================  =====================================================

The thesis swaps the exponents of the dual norm (section 2.2.1.2, Kloft et al.); it is (sum_m q_m^(p/(p-1)))^((p-1)/p).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from scipy.optimize import brentq

from .simplex import project_on_simplex

ZERO = 1e-7  # weights above their lower limit by less than this are at the limit
ZERO_GROUP = 1e-5  # cone solvers leave more of a group that should vanish


@dataclass(frozen=True)
class Simplex:
    """The simplex { x : sum(x) = 1, x >= lower } and a pull towards equal weights.

    Attributes
    ----------
    lower : ndarray of shape (P,)
        Lower limits, of sum less than 1.
    pull : float
        Weight of ``||x - 1/P||^2``.

    Examples
    --------
    >>> import numpy as np
    >>> Simplex(np.zeros(2)).smallest(1.0, np.array([2.0, 4.0]))
    -1.0
    """

    lower: np.ndarray
    pull: float = 0.0

    def start(self) -> np.ndarray:
        """Equal weights above the limits."""
        return self.lower + (1.0 - self.lower.sum()) / len(self.lower)

    def penalty(self, x: np.ndarray) -> float:
        """r(x) = pull ||x - 1/P||^2."""
        return self.pull * float(((x - 1.0 / len(x)) ** 2).sum())

    def smallest(self, intercept: float, forms: np.ndarray) -> float:
        """The minimum of ``intercept - 1/2 forms'x + r(x)`` over the simplex."""
        spare = 1.0 - self.lower.sum()
        if self.pull == 0.0:
            return float(intercept - 0.5 * (self.lower @ forms + spare * forms.max()))
        x = self.project(1.0 / len(forms) + forms / (4.0 * self.pull))
        return float(intercept - 0.5 * forms @ x) + self.penalty(x)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of the simplex."""
        return self.lower + project_on_simplex(x - self.lower, 1.0 - self.lower.sum())

    def clean(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of the simplex, with weights that are nearly at their limit put there."""
        x = self.project(x)
        free = np.where(x - self.lower < ZERO, 0.0, x - self.lower)
        return self.lower + free * ((1.0 - self.lower.sum()) / free.sum())

    def constraints(self) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """The sum and the lower limits."""
        n = len(self.lower)
        A = np.vstack([np.ones((1, n)), -np.eye(n)])
        return A, np.append(1.0, -self.lower), [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]


@dataclass(frozen=True)
class Budget:
    """The set { x : sum(x) = k, 0 <= x <= 1 }.

    Attributes
    ----------
    n_kernels : int
    k : int

    Examples
    --------
    >>> import numpy as np
    >>> Budget(3, 2).smallest(5.0, np.array([2.0, 6.0, 4.0]))
    0.0
    """

    n_kernels: int
    k: int
    pull: float = 0.0

    def start(self) -> np.ndarray:
        """Equal weights."""
        return np.full(self.n_kernels, self.k / self.n_kernels)

    def penalty(self, x: np.ndarray) -> float:
        """Nothing beside the constraints."""
        return 0.0

    def smallest(self, intercept: float, forms: np.ndarray) -> float:
        """The minimum of ``intercept - 1/2 forms'x``: the k largest forms have weight 1."""
        return float(intercept - 0.5 * np.sort(forms)[self.n_kernels - self.k :].sum())

    def clean(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of the set."""
        shift = brentq(lambda shift: np.clip(x - shift, 0.0, 1.0).sum() - self.k, x.min() - 1.0, x.max(), xtol=1e-15)
        return np.clip(x - shift, 0.0, 1.0)

    def constraints(self) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """The sum and both limits."""
        n = self.n_kernels
        A = np.vstack([np.ones((1, n)), -np.eye(n), np.eye(n)])
        b = np.concatenate([[float(self.k)], np.zeros(n), np.ones(n)])
        return A, b, [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]


@dataclass(frozen=True)
class GroupBall:
    """The set { x >= 0 : sum_g ||x_g||_p <= 1 }: sparse over groups, not within.

    Attributes
    ----------
    groups : ndarray of int, shape (P,)
        The group of each kernel, 0 .. n_groups - 1.
    p : float
        Above 1; infinity for equal weights in a group.

    Examples
    --------
    >>> import numpy as np
    >>> ball = GroupBall(np.zeros(2, dtype=int), p=2.0)
    >>> ball.smallest(5.0, np.array([6.0, 8.0]))
    0.0
    """

    groups: np.ndarray
    p: float
    pull: float = 0.0

    def start(self) -> np.ndarray:
        """Equal weights in every group, and groups of equal norm."""
        sizes = np.bincount(self.groups).astype(float)
        return (sizes ** (-1.0 / self.p) / len(sizes))[self.groups]

    def penalty(self, x: np.ndarray) -> float:
        """Nothing beside the constraint."""
        return 0.0

    def smallest(self, intercept: float, forms: np.ndarray) -> float:
        """The minimum of ``intercept - 1/2 forms'x`` over the ball."""
        dual = 1.0 if np.isinf(self.p) else self.p / (self.p - 1.0)
        return float(intercept - 0.5 * self._norms(np.maximum(forms, 0.0), dual).max())

    def clean(self, x: np.ndarray) -> np.ndarray:
        """The point on the boundary in the same direction, without groups that are nearly zero."""
        norms = self._norms(np.maximum(x, 0.0), self.p)
        norms[norms < ZERO_GROUP * norms.sum()] = 0.0
        return np.where(norms[self.groups] > 0.0, np.maximum(x, 0.0), 0.0) / norms.sum()

    def constraints(self) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """With norms s_g as helpers, sum_{m in g} v_m <= s_g and v_m^(1/p) s_g^(1 - 1/p) >= x_m where p is finite."""
        n, n_groups = len(self.groups), self.groups.max() + 1
        member = 1.0 * (self.groups[:, None] == np.arange(n_groups))
        none, square = np.zeros((n, n)), np.zeros((n, n_groups))
        positive = np.hstack([-np.eye(n), square])
        total = np.append(np.zeros(n), np.ones(n_groups))[None, :]
        if np.isinf(self.p):
            A = np.vstack([positive, np.hstack([np.eye(n), -member]), total])
            return A, np.append(np.zeros(2 * n), 1.0), [clarabel.NonnegativeConeT(2 * n + 1)]
        A = np.vstack(
            [
                np.hstack([positive, none]),
                np.hstack([total, np.zeros((1, n))]),
                np.hstack([np.zeros((n_groups, n)), -np.eye(n_groups), member.T]),
                *(-_unit_rows(m, n, self.groups[m], n_groups) for m in range(n)),
            ]
        )
        b = np.concatenate([np.zeros(n), [1.0], np.zeros(n_groups + 3 * n)])
        powers = [clarabel.PowerConeT(1.0 / self.p)] * n
        return A, b, [clarabel.NonnegativeConeT(n + 1 + n_groups), *powers]

    def _norms(self, x: np.ndarray, p: float) -> np.ndarray:
        return np.array([np.linalg.norm(x[self.groups == g], p) for g in range(self.groups.max() + 1)])


def _unit_rows(m: int, n: int, group: int, n_groups: int) -> np.ndarray:
    """Rows that pick v_m, s_g and x_m out of (x, s, v)."""
    rows = np.zeros((3, 2 * n + n_groups))
    rows[0, n + n_groups + m] = rows[1, n + group] = rows[2, m] = 1.0
    return rows
