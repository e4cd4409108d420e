"""`Losses`: the losses of a block of samples, for each output; smooth ones only.

For each sample and output, with z = p - f (see `machines.terms`),

    loss(f) = max_v  z v - e |v| - h/2 v^2   over  lower <= v <= upper,       c = -slope = v at the maximiser.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..machines import Machine
from ..machines.base import PlainMachine
from ..machines.terms import DualTerms


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

    def of(self, rows: slice) -> Losses:
        """Those of some of the samples."""
        parts = (getattr(self, name)[rows] for name in ("linear", "lower", "upper", "quadratic"))
        return Losses(*parts, self.insensitivity, self.total)

    def respond(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sum of the losses for each output, and c of each sample."""
        z = self.linear - values
        free = np.sign(z) * np.maximum(np.abs(z) - self.insensitivity, 0.0)
        c = np.clip(free / self.quadratic, self.lower, self.upper)
        worth = z * c - self.insensitivity * np.abs(c) - 0.5 * self.quadratic * c**2
        return worth.sum(axis=0), c


def losses_of(machine: Machine) -> Losses:
    """The losses of a machine's samples; a `ValueError` where they are not smooth."""
    terms = [_terms(part) for _, part in machine.outputs()]
    if not all(part.is_smooth for part in terms):
        raise ValueError(f"a {machine.kind} has no smooth loss")
    columns = (np.stack([getattr(part, name) for part in terms], axis=1) for name in ("linear", "lower", "upper"))
    quadratic = np.stack([part.quadratic for part in terms], axis=1)
    return Losses(*columns, quadratic, terms[0].insensitivity, terms[0].total)


def _terms(machine: Machine) -> DualTerms:
    if isinstance(machine, PlainMachine):
        return machine.terms
    # a least-squares machine of one output
    everywhere = np.full(machine.n_samples, np.inf)
    y = np.asarray(machine.y, dtype=float).reshape(machine.n_samples)  # type: ignore[attr-defined]
    return DualTerms(y, -everywhere, everywhere, quadratic=1.0 / machine.bound)
