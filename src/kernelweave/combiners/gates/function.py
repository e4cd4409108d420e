"""`GateFunction`: a gating model as a function of samples, a_m(x; V) = eta_m(x|V), wherever the samples are.

f_r(x) = sum_m eta_m(x|V) <w_mr, phi_m(x)> + b_r
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import place_of
from . import linear
from .base import Gate, Sigmoid, Softmax


class GateFunction:
    """Gates as amplitudes: a_m(x) = eta_m(x|V).

    Parameters
    ----------
    gate : Gate
        The gating model, fitted.
    active : ndarray of bool, shape (n_kernels,)
        The kernels whose gates may be open.
    n_parameters : int
        Length of V where that is learned.
    fixed : ndarray or None
        V where it is not learned; there are no parameters then.
    tol : float
        Gates whose square is below are closed.
    """

    def __init__(
        self,
        gate: Gate,
        active: np.ndarray,
        n_parameters: int = 0,
        *,
        fixed: np.ndarray | None = None,
        tol: float = 0.0,
    ):
        self.gate, self.active, self.fixed, self.tol = gate, active, fixed, tol
        self.n_parameters = n_parameters if fixed is None else 0

    def values(self, theta: np.ndarray, block: Any, rows: slice) -> np.ndarray:
        """The gates of some samples."""
        codes = block.codes[rows]
        place = place_of(codes)
        present: Any = place.asarray(self.active)
        if block.present is not None:
            present = present & block.present[rows]
        else:
            present = place.xp.broadcast_to(present, (codes.shape[0], len(self.active)))
        theta = theta if self.fixed is None else self.fixed
        if self.tol == 0.0 and linear.serves(self.gate, codes):
            return linear.values(self.gate, theta, codes, present)
        return self.gate.values(theta, codes, present, self.tol)

    def pullback(
        self, theta: np.ndarray, block: Any, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        """dP/dV from the slopes of P by the gates, where the codes are."""
        codes = block.codes[rows]
        if linear.serves(self.gate, codes):
            return linear.pullback(self.gate, theta, codes, amplitudes, slopes)
        return self.gate.pullback(theta, codes, amplitudes, slopes)

    @property
    def linear_kind(self) -> str | None:
        """Softmax or sigmoid, and its norm, where gates are linear and none is closed; for `engines.device.gates`."""
        if type(self.gate) not in (Softmax, Sigmoid) or self.tol > 0.0 or not self.active.all():
            return None
        return f"{'softmax' if self.gate.competes else 'sigmoid'}-{self.gate.norm}"
