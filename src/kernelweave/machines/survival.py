"""Machines of censored times: Cox's partial likelihood and the ranking of comparable pairs, in a kernel's space.

    minimise over w    1/2 ||w||^2 + C L(f),      f_i = <w, phi(x_i)>

with L of `solvers.coupled` less what it is at scores of 0, so that J is not positive. L couples samples, so that there
are no terms for each of them. There is no bias: both
losses depend on differences of scores only, and coefficients add up to 0 by themselves. Everything else is as in
other machines: J is the optimum, dJ/dtheta = -1/2 c' (dK/dtheta) c (Danskin), and the certificate is that of
`solvers.coupled`. Second derivatives of J by weights of kernels are, with H that of C L at the scores,

    d2J / d eta_a d eta_b = g_a' H (I + K H)^-1 g_b,      g_m = K_m c

Scores are risks: the larger, the earlier the event. A held-out sample is judged by its comparable pairs: the share of
them that is in the wrong order, a tie of scores counting as half.

C is `cost`, the weights w_i of samples are `weight`, and their products `bound`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np

from ..solvers import DualProgram
from ..solvers.coupled import (
    AtScores,
    ComparablePairs,
    CoupledLoss,
    CoxLoss,
    Found,
    InParts,
    RankingLoss,
    Whole,
    curvature,
    solve_coupled,
)
from ..solvers.sums import Images
from ..validation.schemas import Schema
from .base import Machine, Operand, Solution, as_bound, columns, is_in_blocks, is_in_parts

#: The parameter `loss` of `MKLSurvival`: Cox's partial likelihood with ties by Efron or Breslow, and the ranking.
LOSSES = "cox", "cox-breslow", "ranking"


ROUNDING = 1e-12  # of C L at scores of 0: gaps below are rounding


class SurvivalMachine(Machine):
    """Minimises ``1/2 ||w||^2 + C L(f)``, with L the negative log partial likelihood of Cox or a ranking loss.

    Parameters
    ----------
    time : ndarray of shape (n_samples,)
        When each sample was last seen, or had its event.
    event : ndarray of bool of shape (n_samples,)
        Whether it had one; others are censored.
    cost : float
        C.
    weight : ndarray of shape (n_samples,), optional
        Positive weights of samples.
    stratum : ndarray of shape (n_samples,), optional
        Numbers of strata: only samples of the same one are compared.
    loss : {"cox", "cox-breslow", "ranking"}

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([2.0, 1.0, 0.0, -1.0])
    >>> machine = SurvivalMachine(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, True]), cost=1.0)
    >>> solution = machine.solve(np.outer(x, x), tol=1e-8)
    >>> bool(solution.converged), np.round(np.outer(x, x) @ solution.coef[:, 0], 2)
    (True, array([ 1.93,  0.97,  0.  , -0.97]))
    """

    n_outputs: int = 1
    is_separable = False
    takes_parts = True
    is_smooth = True
    is_unbounded = False
    strata = None

    _saved = Schema({})

    def __init__(
        self,
        time: np.ndarray,
        event: np.ndarray,
        cost: float,
        weight: np.ndarray | None = None,
        stratum: np.ndarray | None = None,
        *,
        loss: str = "cox",
    ):
        self.time, self.event = np.asarray(time, dtype=np.float64), np.asarray(event, dtype=bool)
        self.n_samples = len(self.time)
        self.cost = float(cost)
        self.weight = as_bound(1.0 if weight is None else weight, self.n_samples)
        self.bound = self.cost * self.weight
        self.stratum = None if stratum is None else np.asarray(stratum)
        self.loss_name = loss
        if self.time.shape != self.event.shape or not np.isfinite(self.time).all():
            raise ValueError("time must be finite, and event of the same shape")
        if loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, not {loss!r}")

    @property
    def dealt_by(self) -> np.ndarray:
        """Whether samples have events, by which folds are dealt evenly."""
        return self.event

    @cached_property
    def coupled(self) -> CoupledLoss:
        """L, without C."""
        given = self.time, self.event, self.weight, self.stratum
        if self.loss_name == "ranking":
            return RankingLoss(*given)
        return CoxLoss(*given, efron=self.loss_name == "cox")

    @cached_property
    def _nothing(self) -> float:
        """L at scores of 0."""
        return self.coupled.at(np.zeros(self.n_samples)).value

    @cached_property
    def _pairs(self) -> ComparablePairs:
        return ComparablePairs(self.time, self.event, self.weight, self.stratum)

    def at(self, f: np.ndarray) -> AtScores:
        """C L at scores of shape (n_samples,)."""
        found, cost = self.coupled.at(f), self.cost
        value = cost * (found.value - self._nothing)
        return AtScores(value, cost * found.slope, lambda v: cost * found.bent(v), cost * found.bend)

    def solve(
        self,
        K: Operand,
        start: np.ndarray | Solution | None = None,
        tol: float = 1e-3,
        gap_tol: float | None = None,
        max_steps: int | None = None,
    ) -> Solution:
        """Solve until the duality gap is at most ``|J|`` times `gap_tol`, or else `tol`."""
        if is_in_blocks(K):
            return K.solve(self, start, tol, gap_tol, max_steps)
        first, point, space = self.first(start), None, self._space(K)
        if first is not None and isinstance(space, InParts) and isinstance(start, Solution):
            images = space.K.joined(start.images)
            point = space.of(first) if images is None else space.with_images(first, images)
        elif first is not None:
            point = space.of(first)
        limits: Any = {"least": self.least_gap, "max_steps": max_steps}
        found = solve_coupled(space, self, point, gap_tol=tol if gap_tol is None else gap_tol, **limits)
        return solution_of(found, space.K.column(found.point[1], 0) if isinstance(space, InParts) else None)

    def _space(self, K: Any) -> Whole:
        if not is_in_parts(K):
            return Whole(self.matrix(K))
        if K.n_samples != self.n_samples:
            raise ValueError(f"K must have {self.n_samples} samples, got {K.n_samples}")
        return InParts(K)

    def scores(self, K: Any, solution: Solution) -> np.ndarray:
        """f of a solution on K, of shape (n_samples,)."""
        if is_in_blocks(K):
            return cast(Any, K).scores(solution)
        return self._space(K).of(solution.coef)[-1][:, 0]

    def refine(self, K: Operand, solution: Solution, tol: float, max_steps: int | None = None) -> Solution:
        """Bring a solution on this very K to a relative duality gap of `tol`."""
        if is_in_blocks(K):
            return K.refine(self, solution, tol, max_steps)
        if solution.converged and solution.gap <= tol * abs(solution.objective):
            return solution
        return self.solve(K, solution, tol, max_steps=max_steps)

    def curvature(self, K: Any, solution: Solution, images: Images) -> np.ndarray:
        """Second derivatives of J by weights of kernels, of shape (P, P), roughly; `images` hold K_m c."""
        seen = np.zeros((self.n_samples, len(images.values)))
        seen[images.rows] = images.values.T  # samples without a coefficient have no part in the loss
        return curvature(self._space(K), self.at(self.scores(K, solution)), seen)

    def loss(self, values: np.ndarray) -> float:
        return self.at(columns(values, 1, self.n_samples)[:, 0]).value

    def slope(self, values: np.ndarray) -> np.ndarray:
        return self.at(columns(values, 1, self.n_samples)[:, 0]).slope[:, None]

    def conjugate(self, coef: np.ndarray) -> float:
        """Raise a `TypeError`: no closed form of it is needed."""
        raise TypeError("the conjugate of a loss of censored times is not computed: the gap needs none")

    def programs(self) -> list[DualProgram]:
        raise ValueError(
            'solver="conic" writes the dual of a machine as a cone program, which that of a loss of censored times '
            'is not; use solver="auto"'
        )

    @property
    def least_gap(self) -> float:
        """A gap that is nothing but rounding."""
        return ROUNDING * self.cost * self._nothing

    def among(self, chosen: np.ndarray) -> SurvivalMachine:
        """The machine of all samples, of which only chosen ones (a boolean array) have a part in the loss."""
        given = self.time, self.event, self.cost, np.where(chosen, self.weight, 0.0), self.stratum
        return SurvivalMachine(*given, loss=self.loss_name)

    def subset(self, index: np.ndarray) -> SurvivalMachine:
        stratum = None if self.stratum is None else self.stratum[index]
        given = self.time[index], self.event[index], self.cost, self.weight[index], stratum
        return SurvivalMachine(*given, loss=self.loss_name)

    def decision(self, values: np.ndarray) -> np.ndarray:
        return columns(values, 1)[:, 0]

    def losses(self, values: np.ndarray) -> np.ndarray:
        """The share of each sample's comparable pairs that is in the wrong order; 0 for samples without any."""
        wrong, pairs = self._pairs.counts(columns(values, 1, self.n_samples)[:, 0])
        return np.divide(wrong, pairs, out=np.zeros_like(wrong), where=pairs > 0.0)

    @cached_property
    def importance(self) -> np.ndarray:
        """The weight of each sample's comparable pairs, by which `losses` are averaged."""
        return self._pairs.counts(np.zeros(self.n_samples))[1]

    def risk(self, values: np.ndarray) -> float:
        """The share of comparable pairs in the wrong order; 1/2 where there are none."""
        total = self.importance.sum()
        return float(self.importance @ self.losses(values) / total) if total > 0.0 else 0.5


def solution_of(found: Found, image: Any) -> Solution:
    return Solution(
        coef=found.point[0],
        intercept=np.zeros(1),
        objective=found.objective,
        gap=found.gap,
        violation=found.violation,
        steps=found.steps,
        converged=found.converged,
        image=image,
    )
