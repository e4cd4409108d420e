"""Criteria of a subspace: the alignment of its kernel with the labels, or the radius-margin bound.

A criterion takes the features of the training samples in the subspace (n x n_f; the subspace kernel is ``F F'``) and
returns a value to maximise, with the product ``M F`` of its derivative ``M = d value / d K^w`` and the features. No
criterion needs more of ``M``, so the alignment never forms an n x n matrix.

===================  ================================================  =======================
SKFE                 here                                              name
===================  ================================================  =======================
x^_i, X_w'           features of the training samples, (19)            features
y^_j, Y'             class indicators, (20)                            targets
<K^w, K^y>, (21)     ``||F' Y'||^2``                                   agreement
<K^w, K^w>, (22)     ``||F' F||^2``                                    own
A(W), (17)           alignment                                         `Alignment.objective`
===================  ================================================  =======================
"""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...machines import BinaryMachine, Machine, OneVsAllMachine, Solution
from ...solvers import solve_box_qp
from ..base import indicators

# The machines inside a line search are solved so closely that the bound is smooth along the line.
_GAP = 1e-8


class Alignment:
    """Kernel-target alignment (17) of the subspace kernel, Cristianini et al. (2002); its logarithm is the value.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
    center : bool
        Whether both kernels are centred first, Cortes et al. (2012).
    """

    def __init__(self, labels: np.ndarray, center: bool):
        self.center = center
        self.targets = self._moved(indicators(labels))
        self.target_norm = np.linalg.norm(self.targets.T @ self.targets)

    def __call__(self, features: np.ndarray) -> tuple[float, np.ndarray]:
        """Log alignment, and its derivative times the features."""
        moved = self._moved(features)
        with_targets, with_itself = features.T @ self.targets, moved.T @ moved
        agreement, own = np.sum(with_targets**2), np.sum(with_itself**2)  # SKFE (21), (22)
        if agreement <= 0.0:  # orthogonal to every class: no direction is better than another
            return -np.inf, np.zeros_like(features)
        derivative = self.targets @ (with_targets.T / agreement) - moved @ (with_itself / own)  # (23), (24)
        return float(np.log(agreement / (np.sqrt(own) * self.target_norm))), derivative  # (17)

    def objective(self, value: float) -> float:
        """The alignment A(W) of a value."""
        return float(np.exp(value))

    def _moved(self, columns: np.ndarray) -> np.ndarray:
        return columns - columns.mean(axis=0) if self.center else columns


class RadiusMargin:
    """The radius-margin bound ``R^2 sum_r ||w_r||^2`` of hard-margin machines on ``K^w + I / C``.

    Chapelle et al. (2002). R is the radius of the smallest ball around the samples; several classes have one machine
    each (one-vs-all). The value is minus the bound's logarithm. Memory: forms ``K^w + I / C``, one n x n matrix.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
    C : float
        Cost of squared margin violations.
    """

    def __init__(self, labels: np.ndarray, C: float):
        self.C = C
        # With squared violations sum(alpha) = 2 J, and J <= C n / 2 (the objective at w = 0): this never binds.
        bound = C * len(labels)
        self.machine: Machine = (
            BinaryMachine(2.0 * labels - 1.0, bound) if labels.max() == 1 else OneVsAllMachine(labels, bound)
        )
        self.start: Solution | None = None

    def __call__(self, features: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the log bound, and its derivative times the features."""
        K = features @ features.T
        K[np.diag_indices_from(K)] += 1.0 / self.C
        solution = self.machine.solve(K, start=self.start, gap_tol=_GAP)
        n_samples = len(K)
        # R^2 = max_b sum_i b_i K_ii - b'Kb with sum(b) = 1, b >= 0: twice a box problem.
        ball = solve_box_qp(
            K, np.diagonal(K) / 2.0, np.zeros(n_samples), np.ones(n_samples), total=1.0, gap_tol=_GAP * K[0, 0]
        )
        if not (solution.converged and ball.converged):
            warn(
                "a machine of the radius-margin bound stopped early; scale the data or lower C",
                ConvergenceWarning,
            )
        self.start = solution
        weight, coef = ball.solution[:, None], solution.coef
        radius, norm = 2.0 * ball.objective, 2.0 * solution.objective
        of_radius = weight * features - weight @ (weight.T @ features)
        of_norm = coef @ (coef.T @ features)
        return -float(np.log(radius * norm)), of_norm / norm - of_radius / radius

    def objective(self, value: float) -> float:
        """The bound of a value."""
        return float(np.exp(-value))
