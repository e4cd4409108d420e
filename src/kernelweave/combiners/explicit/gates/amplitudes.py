"""`GateAmplitudes`: the amplitudes of a gating model, a_m(x; V) = eta_m(x|V).

    f_r(x) = sum_m eta_m(x|V) <w_mr, phi_m(x)> + b_r

What a gating model reads of a sample (its *code*) is a few numbers. Where features are held, codes are computed once
and held beside them, in the same precision (`Coding`); where features are computed again in every pass, codes are too
(`CodesOnDemand`), or they would be a copy of X.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....arrays import place_of
from ....engines.block import Block, Samples, StoredFeatures
from ....views import Views
from ...gates.base import Gate, Sigmoid, Softmax
from ...gates.inputs import GatingInputs
from . import linear

FARTHEST = 1e15  # where codes in float32 are cut, so that their squares stay finite


class GateAmplitudes:
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

    def values(self, theta: np.ndarray, block: Samples, rows: slice) -> np.ndarray:
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
        self, theta: np.ndarray, block: Samples, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
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


@dataclass(frozen=True)
class CodesOnDemand:
    """Codes of a block that are computed whenever they are read, for some rows (a slice) at a time."""

    inputs: GatingInputs
    gate: Gate
    views: Views
    dtype: np.dtype
    last: dict[tuple[int, int], np.ndarray] = field(default_factory=dict, compare=False)  # read twice in a pass

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Codes of some samples; those of the last ones are kept."""
        key = rows.start, rows.stop
        found = self.last.get(key)
        if found is None:
            self.views.is_finite()  # found out for all rows, once
            views = self.views.rows(rows)
            if self.dtype == np.float32 and linear.reads_inputs(self.gate):
                found = self.inputs.narrow(views, FARTHEST)
            else:
                found = encoded(self.gate, self.inputs.transform(views), self.dtype)
            self.last.clear()
            self.last[key] = found
        return found


@dataclass(frozen=True)
class Coding:
    """What gives a block its codes; small, and sent to wherever blocks are."""

    inputs: GatingInputs
    gate: Gate

    def __call__(self, block: Block) -> Block:
        """The block with codes and without views; they are held where features are."""
        dtype = np.dtype(getattr(block.features, "dtype", np.float64))
        codes: Any = CodesOnDemand(self.inputs, self.gate, block.views, dtype)
        if isinstance(block.features, StoredFeatures):
            codes = codes[slice(0, block.n_samples)]
        return dataclasses.replace(block, codes=codes, views=None)

    def on_device(self, block: Any) -> Any:
        """The same for a block on a device, where codes are always held."""
        return block.with_codes(CodesOnDemand(self.inputs, self.gate, block.views, np.dtype(block.features.dtype)))


def encoded(gate: Gate, inputs: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What a gating model reads of samples with these inputs: numbers in a precision, or positions as they are."""
    codes = gate.encode(inputs)
    if codes.dtype.kind != "f" or codes.dtype == dtype:
        return codes
    return np.clip(codes, -FARTHEST, FARTHEST).astype(dtype)
