"""`ExplicitGatedSum`: sum_m eta_m(x) k_m(x, z) eta_m(z) with gates eta and explicit features of each kernel.

    f_r(x) = sum_m eta_m(x) <w_mr, phi_m(x)> + b_r

Prediction computes the features of a kernel only for the samples whose gate is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....arrays import Place
from ....engines.base import Engine
from ....engines.device.prediction import values_on_device
from ....engines.stack import ExplicitStack
from ....engines.training.machine import ExplicitKernel
from ....views import Views
from ...gates.base import Gate
from ...gates.inputs import GatingInputs, NoInputs
from ...gates.kernel import KernelWithGates
from .amplitudes import GateAmplitudes
from .totals import GateTotals


class ExplicitGatedSum(KernelWithGates):
    """k(x, z) = sum_m eta_m(x) <phi_m(x), phi_m(z)> eta_m(z): explicit features of base kernels, weighted by gates.

    Parameters
    ----------
    stack : ExplicitStack
    theta : ndarray
        The parameters of the gating model.
    gate : Gate
        The gating model, fitted.
    inputs : GatingInputs or NoInputs
        What the gating model reads of samples, fitted.
    gate_tol : float
        Gates whose square is below are closed.
    active : ndarray of bool, shape (n_kernels,)
        The kernels that are open for some training sample.
    mean_weights : ndarray of shape (n_kernels,)
        The squared gates, averaged over the training samples.
    open_share : ndarray of shape (n_kernels,)
        For which share of the training samples each kernel is open.
    engine : Engine or None
        Over `Block`s with codes; None for new samples only.
    totals : GateTotals or None
        Sums of the gates of the training samples, by class; None for new samples only.
    """

    stack: Any  # an ExplicitStack, in the place of a KernelStack

    def __init__(
        self,
        stack: ExplicitStack,
        theta: np.ndarray,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        *,
        gate_tol: float,
        active: np.ndarray,
        mean_weights: np.ndarray,
        open_share: np.ndarray,
        engine: Engine | None = None,
        totals: GateTotals | None = None,
    ):
        self.stack, self.theta, self.gate, self.inputs = stack, theta, gate, inputs
        self.gate_tol, self.open_kernels, self.open_share = gate_tol, active, open_share
        self.mean_weights, self.engine, self.totals = mean_weights, engine, totals

    def operand(self, out: np.ndarray | None = None) -> Any:
        """The `ExplicitKernel` that a machine is solved on: features in blocks, with these gates."""
        amplitudes = GateAmplitudes(self.gate, self.active, fixed=self.gate_parameters, tol=self.gate_tol)
        engine: Any = self.engine
        return ExplicitKernel(engine, amplitudes, self.stack.n_features)

    # New samples; coefficients are the weight vectors w of all kernels

    def cross(self, views: Views) -> np.ndarray:
        """eta_m(x) phi_m(x) of all kernels, of shape (n_new, n_features)."""
        offsets = self._offsets
        found = np.zeros((views.n_samples, offsets[-1]))
        for m, rows, gates, features in self._open_features(views):
            found[rows, offsets[m] : offsets[m + 1]] = gates * features
        return found

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray:
        """The same in a place such as a CUDA device."""
        present = self.stack.presence(views, self.active)
        return values_on_device(self.stack, place, views, self.gates_of(views), present, coef)

    def alone(self, m: int, views: Views, coef: np.ndarray) -> np.ndarray:
        """<w_m, phi_m(x)>."""
        return self._features(m, views) @ self._own(m, coef)

    def _open_features(self, views: Views) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Each kernel that is open for some samples, those samples, their gates, and their features."""
        new = self.gates_of(views)
        for m in range(self.n_kernels):
            rows = np.flatnonzero(new[:, m])
            if len(rows):
                yield m, rows, new[rows, m, None], self._features(m, self.complete(m, views, rows))

    def _open_shares(self, views: Views, coef: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        for m, rows, gates, features in self._open_features(views):
            yield m, rows, gates * (features @ self._own(m, coef))

    def _features(self, m: int, views: Views) -> np.ndarray:
        """phi_m of samples that all have the view."""
        return self.stack.maps[m].transform(views, np.ones(views.n_samples, dtype=bool))

    def _own(self, m: int, coef: np.ndarray) -> np.ndarray:
        return coef[self._offsets[m] : self._offsets[m + 1]]

    @property
    def _offsets(self) -> np.ndarray:
        return self.stack.offsets

    # Weights, and what prediction takes

    def weights(self) -> np.ndarray:
        """The squared gates, averaged over the training samples."""
        return self.mean_weights

    def input_names(self) -> list[str]:
        """What the gating inputs are called."""
        return self.inputs.names(self.stack.reservoir)

    def values_per_sample(self, coef: np.ndarray) -> int:
        """The features of the kernel that has the most, before they are whitened too."""
        return self.stack.values_per_sample(self.active)

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        """Landmarks, or other raw values, of each kernel, times the share of training samples for which it is open."""
        return np.array([float(found.n_raw) for found in self.stack.maps]) * self.open_share * self.active

    def restrict(self, index: np.ndarray) -> ExplicitGatedSum:
        """The same kernel without training samples."""
        return ExplicitGatedSum(
            self.stack.for_prediction(self.active),
            self.theta,
            self.gate,
            self.inputs,
            gate_tol=self.gate_tol,
            active=self.active,
            mean_weights=self.mean_weights,
            open_share=self.open_share,
        )
