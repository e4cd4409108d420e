"""One-class support vector machines, thesis (1.7) and (1.8), with the plain loss or the squared one.

maximise  -1/2 c'Kc  with  sum(c) = 1,  0 <= c_i <= C_i.  Samples with K c + b < 0 are novel. With all bounds equal,
C = 1 / (nu n), where nu bounds the share of rejected training samples from above. KKT violations are measured in units
of the largest bound, or of 1 where that is larger, which makes `tol` mean what it means in libsvm (it solves for c / C,
with sum nu n); the duality gap is at most 10 tol |J| also where J is small (for narrow kernels it is about 1/n).

With the squared loss, for explicit features, the dual is  maximise  -1/2 c'(K + diag(1/C_i))c  with  sum(c) = 1,
c >= 0:  the hard boundary under the kernel plus a diagonal. Every sample with a coefficient lies outside of the
boundary, by c_i / C_i, so that C does not set the share of the samples that is rejected, as nu does for the hinge: C
trades the density of the samples (small C, where all coefficients are equal) for the smallest region that holds them
(large C). The offset is therefore moved afterwards, to the nu-quantile of the scores of the training samples.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..solvers.box_qp import as_float, least_size, product
from ..solvers.in_parts import KernelInParts, is_in_parts
from .base import Operand, PlainMachine, Solution, as_bound, columns

BOUND_ROUNDING = 1e-12  # coefficients this close to their bound, relatively, are at it
BOUNDARY_WIDTH = 1e-9  # of the offset: what rounding leaves of a sample on the boundary is inside
REACH = 100.0  # see `default_cost`


class _NoveltyMachine(PlainMachine):
    """Machines that separate the samples from the origin, and reject a share nu of them."""

    detects_novelty = True
    total = 1.0
    nu: float

    def __init__(self, bound: np.ndarray):
        bound = np.asarray(bound, dtype=np.float64)
        if bound.ndim != 1 or len(bound) == 0:
            raise ValueError("bound must hold one number for each sample")
        self.n_samples, self.strata = len(bound), None
        self.bound = as_bound(bound, self.n_samples)

    def _same_sum(self, index: np.ndarray) -> np.ndarray:
        chosen = self.bound[index]
        return chosen * (self.bound.sum() / chosen.sum())

    def losses(self, values: np.ndarray) -> np.ndarray:
        return (columns(values, 1, self.n_samples)[:, 0] < 0.0).astype(float)

    def risk(self, values: np.ndarray) -> float:
        return abs(super().risk(values) - self.nu)


class OneClassMachine(_NoveltyMachine):
    """One-class SVM.

    Minimises ``1/2 ||w||^2 + sum_i C_i max(0, -f(x_i)) + b``. The bias costs 1, so the coefficients add up to 1.

    Parameters
    ----------
    bound : ndarray of shape (n_samples,)
        Largest coefficient of each sample; together at least 1.

    Attributes
    ----------
    nu : float
        1 / sum(bound), the share of samples that may be rejected.

    Examples
    --------
    >>> import numpy as np
    >>> machine = OneClassMachine(np.full(4, 0.5))
    >>> solution = machine.solve(np.eye(4), gap_tol=1e-9)
    >>> np.round(solution.coef[:, 0], 6), machine.nu
    (array([0.25, 0.25, 0.25, 0.25]), 0.5)
    """

    def __init__(self, bound: np.ndarray):
        super().__init__(bound)
        if self.bound.sum() < 1.0 - 1e-12:
            raise ValueError(
                f"the bounds of a one-class machine must sum to at least 1, got {self.bound.sum():.6g}: "
                f"with {self.n_samples} samples, C must be at least 1/n = {1.0 / self.n_samples:.6g}"
            )
        # libsvm solves for c / bound, whose slopes are larger by 1 / bound; no coefficient exceeds 1
        self.unit = min(1.0, float(self.bound.max()))
        self.nu = 1.0 / max(1.0, float(self.bound.sum()))

    def problem(self) -> dict:
        return {
            "linear": np.zeros(self.n_samples),
            "lower": np.zeros(self.n_samples),
            "upper": self.bound,
            "total": self.total,
            "insensitivity": 0.0,
        }

    def solve_dual(
        self,
        K: np.ndarray | KernelInParts,
        start: np.ndarray | Solution | None,
        tol: float,
        gap_tol: float | None,
        max_steps: int | None,
    ) -> Solution:
        """As every plain machine, with the bias at which no sample below its bound is rejected.

        Samples of free coefficients lie on the boundary up to `tol` and rounding; on its inner side, nu bounds the
        share of rejected ones at every tolerance.
        """
        solution = super().solve_dual(K, start, tol, gap_tol, max_steps)
        coef = solution.coef[:, 0]
        within = coef < self.bound * (1.0 - BOUND_ROUNDING)
        if not within.any():
            return solution
        if is_in_parts(K):
            values = K.place.numpy(K.value(solution.image, K.place.asarray(coef)))
        else:
            support = np.flatnonzero(coef)
            values = product(as_float(K), support, coef[support])
        lowest = float(values[within].min())
        bias = BOUNDARY_WIDTH * abs(lowest) - lowest
        return dataclasses.replace(solution, intercept=np.array([bias]))

    def least_objective(self, K: Operand) -> float:
        """As in the solver's own rule: J is 0 where the origin is among the mixtures that the bounds allow."""
        return least_size(K.diagonal if is_in_parts(K) else np.diagonal(np.asarray(K)), self.total)

    def subset(self, index: np.ndarray) -> OneClassMachine:
        """Return the machine on the chosen samples, its bounds rescaled to the same sum, so with the same nu."""
        return OneClassMachine(self._same_sum(index))


def default_cost(total_weight: float) -> float:
    """C where the user gives none: 100 divided by the sum of the samples' weights.

    With equal coefficients 1/n the diagonal 1/C then adds a hundredth of k(x, x) = 1 to c'Kc, whatever n is. It was
    chosen on 17 data sets, of each of which one class was normal: on validation samples the mean area under the ROC
    curve was 0.817 with 1 in the place of 100, 0.820 with 10, 0.825 with 100, 0.826 with 1000, and 0.825 for the hinge
    at nu = 0.1 (Gaussian kernels of default width). Larger values take more passes for no gain.

    >>> default_cost(1000.0)
    0.1
    """
    return REACH / total_weight


class SquaredOneClassMachine(_NoveltyMachine):
    """One-class machine with a squared loss.

    Minimises ``1/2 ||w||^2 + 1/2 sum_i C_i max(0, -f(x_i))^2 + b``. The bias costs 1, so that c adds up to 1.

    Parameters
    ----------
    bound : ndarray of shape (n_samples,)
        Cost C_i of each sample, positive.
    nu : float
        The share of samples that is to be rejected once the offset is moved.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.machines.one_class import SquaredOneClassMachine
    >>> machine = SquaredOneClassMachine(np.full(4, 0.5), nu=0.25)
    >>> np.round(machine.solve(np.eye(4), gap_tol=1e-9).coef[:, 0], 6)
    array([0.25, 0.25, 0.25, 0.25])
    """

    def __init__(self, bound: np.ndarray, *, nu: float):
        super().__init__(bound)
        self.nu = float(nu)
        if not (self.bound > 0.0).all():
            raise ValueError("bound (C times the sample weight) of a squared one-class machine must be positive")

    @property
    def has_box_dual(self) -> bool:
        return False

    def problem(self) -> dict:
        return {
            "linear": np.zeros(self.n_samples),
            "lower": np.zeros(self.n_samples),
            "upper": np.full(self.n_samples, np.inf),
            "total": self.total,
            "insensitivity": 0.0,
            "quadratic": 1.0 / self.bound,
        }

    def subset(self, index: np.ndarray) -> SquaredOneClassMachine:
        """Return the machine on the chosen samples, its costs rescaled to the same sum, as `OneClassMachine` does."""
        return SquaredOneClassMachine(self._same_sum(index), nu=self.nu)
