"""One iteration of a descent: a direction (down the gradient, or by the curvature of the last steps) and a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .domains import Domain

if TYPE_CHECKING:
    from .smooth import Objective, Point

DECREASE = 1e-4  # Armijo: share of the decrease which the slope predicts
STEEPNESS = 0.9  # Wolfe: a step is too short where the slope is still this share of the first one
FLAT = 1e-200  # gradients below are zero
MOST_TRIALS = 20
MODEL_STEPS = 100


#: ``diagonal(steps, point, last)`` gives the diagonal of the Hessian, all positive: a new one, or the last.
Diagonal = Callable[[int, "Point", "np.ndarray | None"], np.ndarray]


class LineSearch:
    """An iteration: a direction by a rule, and a search along it by the weak Wolfe conditions.

    Where values differ by less than their noise (relative), slopes decide in their place (the approximate Wolfe
    conditions of Hager and Zhang 2005).
    """

    def __init__(self, rule: Gradient | QuasiNewton, domain: Domain, precision: float, noise: float = 0.0):
        self.rule, self.noise = rule, noise
        self.domain = domain
        self.precision = precision
        self.longest = min(rule.longest, domain.longest)

    def step(self, objective: Objective, point: Point) -> Point | None:
        """A point further down along the rule's direction."""
        direction = self.rule.direction(point, self.domain)
        negligible = negligible_decrease(point, self.precision)
        if not -(point.gradient @ direction) > negligible:
            return None
        new = self._search(objective, point, direction, negligible)
        if new is not point:
            self.rule.learn(point, new, direction, self.domain)
        return new

    def retry(self) -> bool:
        """Another step is different where there was a memory to forget."""
        return self.rule.forget()

    def _search(self, objective: Objective, point: Point, direction: np.ndarray, negligible: float) -> Point:
        """A point further down that meets the Wolfe conditions, or just lower; the same point where there is none.

        Steps beyond 1 are tried only up to `longest`, and none whose promised decrease is negligible.
        """
        slope = point.gradient @ direction
        low, low_length, low_slope = point, 0.0, slope
        high_length = np.inf
        length = 1.0
        for _ in range(MOST_TRIALS):
            if -slope * length <= negligible:
                break
            if self.domain.everywhere:
                position, velocity = point.position + length * direction, direction
            else:
                position, velocity = self.domain.move(point.position, direction, length)
            trial = objective(position)
            finite = is_finite(trial)
            trial_slope = trial.gradient @ velocity if finite else np.nan
            lower = trial.value < point.value + DECREASE * length * slope
            if self.noise and finite and not lower:
                slack = self.noise * max(1.0, abs(point.value))
                lower = trial.value <= point.value + slack and trial_slope <= (2.0 * DECREASE - 1.0) * slope
            if not finite or not lower:
                high_length = length
                step = _cubic(low_length, low.value, low_slope, length, trial.value, trial_slope) if finite else -np.inf
                length = np.clip(
                    step, low_length + 0.1 * (length - low_length), low_length + 0.5 * (length - low_length)
                )
            elif trial_slope < STEEPNESS * slope and length < min(high_length, self.longest):
                low, low_length, low_slope = trial, length, trial_slope
                length = min(4.0 * length, self.longest) if high_length == np.inf else 0.5 * (low_length + high_length)
            else:
                return trial
        return low


def _cubic(a: float, value_a: float, slope_a: float, b: float, value_b: float, slope_b: float) -> float:
    """Minimiser of the cubic with these values and slopes at a and b (Nocedal and Wright, (3.59)); -inf without one."""
    d1 = slope_a + slope_b - 3.0 * (value_a - value_b) / (a - b)
    square = d1 * d1 - slope_a * slope_b
    if not square >= 0.0:
        return -np.inf
    d2 = np.sqrt(square)
    bottom = slope_b - slope_a + 2.0 * d2
    return b - (b - a) * (slope_b + d2 - d1) / bottom if bottom != 0.0 else -np.inf


class Gradient:
    """Directions of steepest descent, of the last step's length doubled."""

    longest = 1.0  # Armijo's rule only ever shortens

    def __init__(self, first_step: float):
        self.first_step = first_step
        self.length: float | None = None

    def direction(self, point: Point, domain: Domain) -> np.ndarray:
        """A step down the gradient, back into the domain."""
        if self.length is None:
            self.length = first_length(self.first_step, point.gradient)
        return straight_step(domain, point.position, -self.length * point.gradient)

    def learn(self, old: Point, new: Point, direction: np.ndarray, domain: Domain) -> None:
        """The next trial step is twice the length of this one."""
        share = float(np.linalg.norm(new.position - old.position) / np.linalg.norm(direction))
        self.length = 2.0 * share * (self.first_step if self.length is None else self.length)

    def forget(self) -> bool:
        """There is nothing to forget."""
        return False


class QuasiNewton:
    """Directions from the curvature of the last steps.

    The pairs (s, y) are kept in one array of shape (n_pairs, 2, n), oldest first, always in the tangent space of the
    last position: after each step all of them are projected onto the new one. Where the diagonal of the Hessian is
    known (all of space only), the model begins with it, up to a factor from the last step, instead of the identity.
    """

    longest = np.inf

    def __init__(self, first_step: float, memory: int, diagonal: Diagonal | None = None):
        self.first_step = first_step
        self.memory = memory
        self.pairs = np.empty((0, 2, 0))
        self.diagonal = diagonal
        self.bend: np.ndarray | None = None
        self.steps = 0

    def direction(self, point: Point, domain: Domain) -> np.ndarray:
        """The step to the minimiser of the quadratic model, within the domain."""
        if self.diagonal is not None:
            self.bend = self.diagonal(self.steps, point, self.bend)
            if not len(self.pairs):
                return -point.gradient / self.bend
        if not len(self.pairs):
            length = first_length(self.first_step, point.gradient)
            return straight_step(domain, point.position, -length * point.gradient)
        if domain.longest == np.inf:
            return -self._inverse(point.gradient)
        return self._constrained(point, domain)

    def learn(self, old: Point, new: Point, direction: np.ndarray, domain: Domain) -> None:
        """Remember a step, and of all steps those along which the function does not curve down."""
        self.steps += 1
        # The chord and the step that was made differ by a vector normal at the new position, so projected they are one.
        last = np.array([[new.position - old.position, -old.gradient]])
        pairs = np.concatenate([self.pairs, last]) if len(self.pairs) else last
        if not domain.everywhere:
            pairs = domain.tangent(new.position, pairs)
        pairs[-1, 1] += new.gradient
        curvature = np.einsum("kn,kn->k", pairs[:, 0], pairs[:, 1])
        norms = np.sqrt(np.einsum("kpn,kpn->kp", pairs, pairs))
        self.pairs = pairs[curvature > 1e-10 * norms.prod(axis=1)][-self.memory :]

    def forget(self) -> bool:
        """Drop the memory; False where it is empty, so that trying again would change nothing."""
        if not len(self.pairs):
            return False
        self.first_step = float(np.linalg.norm(self.pairs[-1][0]))
        self.pairs = self.pairs[:0]
        return True

    def _scale(self) -> float:
        s, y = self.pairs[-1]
        return (y @ y) / (s @ y)

    def _inverse(self, gradient: np.ndarray) -> np.ndarray:
        """The inverse Hessian of the model times a vector, by the two-loop recursion."""
        result = gradient.copy()
        shares = []
        for s, y in self.pairs[::-1]:
            share = (s @ result) / (s @ y)
            result -= share * y
            shares.append(share)
        if self.bend is None:
            result /= self._scale()
        else:
            s, y = self.pairs[-1]
            result *= (s @ y) / (y @ (y / self.bend)) / self.bend
        for (s, y), share in zip(self.pairs, reversed(shares), strict=True):
            result += (share - (y @ result) / (s @ y)) * s
        return result

    def _hessian(self) -> Callable[[np.ndarray], np.ndarray]:
        """The Hessian of the model, sigma I - W M^-1 W' (Byrd, Nocedal, Schnabel 1994, (3.4))."""
        S, Y = np.ascontiguousarray(self.pairs.transpose(1, 2, 0))
        sigma = self._scale()
        SY = S.T @ Y
        L = np.tril(SY, -1)
        M = np.block([[sigma * S.T @ S, L], [L.T, -np.diag(np.diag(SY))]])
        W = np.column_stack([sigma * S, Y])
        correction = np.linalg.solve(M, W.T)
        return lambda v: sigma * v - W @ (correction @ v)

    def _constrained(self, point: Point, domain: Domain) -> np.ndarray:
        """The step to the model's minimiser over the domain, by spectral projected gradients (Schmidt et al. 2009)."""
        hessian, candidate, slope = self._hessian(), point.position, point.gradient
        rate = 1.0 / self._scale()
        for _ in range(MODEL_STEPS):
            target = domain.limit(candidate - rate * slope)
            move = target - candidate
            bend = hessian(move)
            decrease, curvature = -(slope @ move), move @ bend
            if not decrease > 1e-10 * abs(point.gradient @ (target - point.position)):
                break
            length = 1.0 if curvature <= decrease else decrease / curvature
            candidate = target if length == 1.0 else candidate + length * move
            slope = slope + length * bend
            rate = (move @ move) / curvature if curvature > 0.0 else rate
        return candidate - point.position


def first_length(first_step: float, gradient: np.ndarray) -> float:
    """The multiple of the gradient that is a step of a given length."""
    return first_step / max(float(np.linalg.norm(gradient)), FLAT)


def negligible_decrease(point: Point, precision: float) -> float:
    """Decreases up to this one are lost in the precision of the values."""
    return precision * max(1.0, abs(point.value))


def straight_step(domain: Domain, position: np.ndarray, step: np.ndarray) -> np.ndarray:
    """A tangent step, cut so that it ends in the domain where that limits straight steps."""
    return domain.limit(position + step) - position if domain.longest < np.inf else step


def is_finite(point: Point) -> bool:
    """Whether the function has a value and a gradient there."""
    return bool(np.isfinite(point.value) and np.isfinite(point.gradient).all())
