"""`Losses`: the losses of a block of samples, for each output; smooth ones only.

For each sample and output, with z = p - f (see `machines.terms`),

    loss(f) = max_v  z v - e |v| - h/2 v^2   over  lower <= v <= upper,       c = -slope = v at the maximiser.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import place_of
from ..machines import LeastSquaresMachine, Machine
from ..machines.base import PlainMachine

TERMS = ("linear", "lower", "upper", "quadratic")


@dataclass(frozen=True)
class Losses:
    """Terms of the losses, each an array of shape (n_samples, n_outputs) or one that broadcasts to it.

    Attributes
    ----------
    linear, lower, upper, quadratic : ndarray
        p, the bounds, and h > 0.
    insensitivity, total : float
        e, and what a bias costs.
    """

    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    quadratic: np.ndarray
    insensitivity: float = 0.0
    total: float = 0.0

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.linear.shape[1]

    def of(self, rows: slice | np.ndarray) -> Losses:
        """Those of some of the samples."""
        return self.mapped(lambda term: term[rows, ...])

    def column(self, output: int) -> Losses:
        """Those of one output."""
        return self.mapped(lambda term: term[:, output : output + 1])

    def mapped(self, function: Callable[[Any], Any]) -> Losses:
        """The losses with a function of each of the four arrays in their place."""
        linear, lower, upper, quadratic = map(function, (self.linear, self.lower, self.upper, self.quadratic))
        return Losses(linear, lower, upper, quadratic, self.insensitivity, self.total)

    def followed_by(self, others: list[Losses]) -> Losses:
        """Those of several blocks, one after the other."""
        every = [self, *others]
        linear, lower, upper, quadratic = (np.concatenate([getattr(each, name) for each in every]) for name in TERMS)
        return Losses(linear, lower, upper, quadratic, self.insensitivity, self.total)

    def respond(self, values: Any) -> tuple[Any, Any]:
        """The sum of the losses for each output, in float64, and c of each sample."""
        xp, e = place_of(values).xp, self.insensitivity
        z = self.linear - values
        c = self._response(xp, z)
        worth = z * c - 0.5 * self.quadratic * c**2
        if e:
            worth = worth - e * xp.abs(c)
        return xp.sum(worth, axis=0, dtype=xp.float64), c

    def coefficients(self, values: Any) -> Any:
        """c of each sample, alone."""
        return self._response(place_of(values).xp, self.linear - values)

    def curvature(self, values: Any) -> Any:
        """Second derivatives of the losses, of shape (n_samples, n_outputs): 1/h for coefficients inside the bounds."""
        xp = place_of(values).xp
        inside = self.curves(self.coefficients(values))
        return xp.where(inside, 1.0 / self.quadratic, xp.zeros_like(self.quadratic))

    def curves(self, c: Any) -> Any:
        """Whether the loss of a sample with coefficient c has a second derivative that is not 0."""
        inside = (c > self.lower) & (c < self.upper)
        return inside & (c != 0.0) if self.insensitivity else inside

    def _response(self, xp: Any, z: Any) -> Any:
        """The coefficients at z = p - f."""
        e = self.insensitivity
        free = xp.sign(z) * xp.clip(xp.abs(z) - e, min=0.0) if e else z
        return xp.minimum(xp.maximum(free / self.quadratic, self.lower), self.upper)


def losses_of(machine: Machine) -> Losses:
    """The losses of a machine's samples; a `ValueError` where they are not smooth."""
    if isinstance(machine, LeastSquaresMachine):
        everywhere = np.full(machine.targets.shape, np.inf)
        quadratic = np.repeat(1.0 / machine.bound[:, None], machine.n_outputs, axis=1)
        return Losses(machine.targets, -everywhere, everywhere, quadratic)
    terms = [part.terms for _, part in machine.outputs() if isinstance(part, PlainMachine)]
    if len(terms) < machine.n_outputs or not all(part.is_smooth for part in terms):
        raise ValueError(
            f"a {machine.kind} has no smooth loss for each of its outputs, which explicit features need: use "
            'machine="squared-hinge", "squared-epsilon-insensitive" or "least-squares"'
        )
    p, lower, upper, h = (np.stack([getattr(part, name) for part in terms], axis=1) for name in TERMS)
    return Losses(p, lower, upper, h, terms[0].insensitivity, terms[0].total)
