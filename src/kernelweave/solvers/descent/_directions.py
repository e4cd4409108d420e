"""Directions of descent: down the gradient, or by the curvature of the last steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._loop import FLAT, Point, straight_step
from .domains import Domain

MODEL_STEPS = 100


class Gradient:
    """Directions of steepest descent, of the last step's length doubled."""

    longest = 1.0  # Armijo's rule only ever shortens

    def __init__(self, first_step: float):
        self.first_step = first_step
        self.length = None

    def direction(self, point: Point, domain: Domain) -> np.ndarray:
        """A step down the gradient, back into the domain."""
        if self.length is None:
            self.length = self.first_step / max(np.linalg.norm(point.gradient), FLAT)
        return straight_step(domain, point.position, -self.length * point.gradient)

    def learn(self, old: Point, new: Point, direction: np.ndarray, domain: Domain) -> None:
        """The next trial step is twice the length of this one."""
        self.length *= 2.0 * np.linalg.norm(new.position - old.position) / np.linalg.norm(direction)

    def forget(self) -> bool:
        """There is nothing to forget."""
        return False


class QuasiNewton:
    """Directions from the curvature of the last steps.

    The pairs (s, y) are kept in one array of shape (n_pairs, 2, n), oldest first, always in the tangent space of the
    last position: after each step all of them are projected onto the new one.
    """

    longest = np.inf

    def __init__(self, first_step: float, memory: int):
        self.first_step = first_step
        self.memory = memory
        self.pairs = np.empty((0, 2, 0))

    def direction(self, point: Point, domain: Domain) -> np.ndarray:
        """The step to the minimiser of the quadratic model, within the domain."""
        if not len(self.pairs):
            length = self.first_step / max(np.linalg.norm(point.gradient), FLAT)
            return straight_step(domain, point.position, -length * point.gradient)
        if domain.longest == np.inf:
            return -self._inverse(point.gradient)
        return self._constrained(point, domain)

    def learn(self, old: Point, new: Point, direction: np.ndarray, domain: Domain) -> None:
        """Remember a step, and of all steps those along which the function does not curve down."""
        # The chord and the step that was made differ by a vector normal at the new position, so projected they are one.
        last = np.array([[new.position - old.position, -old.gradient]])
        pairs = domain.tangent(new.position, np.concatenate([self.pairs, last]) if len(self.pairs) else last)
        pairs[-1, 1] += new.gradient
        curvature = np.einsum("kn,kn->k", pairs[:, 0], pairs[:, 1])
        norms = np.sqrt(np.einsum("kpn,kpn->kp", pairs, pairs))
        self.pairs = pairs[curvature > 1e-10 * norms.prod(axis=1)][-self.memory :]

    def forget(self) -> bool:
        """Drop the memory; False where it is empty, so that trying again would change nothing."""
        if not len(self.pairs):
            return False
        self.first_step = np.linalg.norm(self.pairs[-1][0])
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
        result /= self._scale()
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
