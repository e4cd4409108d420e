"""`KernelWithGates`: what combined kernels with a gating model share, whatever their training samples are held as."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...kernels import Kernel
from ...views import Views
from ..combined import CombinedKernel
from .base import Gate
from .inputs import GatingInputs, NoInputs


class KernelWithGates(CombinedKernel):
    """k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z), with gates eta of a gating model.

    Attributes
    ----------
    gate : Gate
        The gating model, fitted.
    inputs : GatingInputs or NoInputs
        What the gating model reads of samples, fitted.
    gate_tol : float
        Gates of new samples whose square is below are closed.
    open_kernels : ndarray of bool, shape (n_kernels,)
        The kernels that are open for some training sample.
    open_share : ndarray of shape (n_kernels,)
        For which share of the training samples each kernel is open.
    """

    shows: tuple[str, ...] = ("gating_coef_", "gating_intercept_")
    takes_fetch = True
    is_sum = True
    gate: Gate
    inputs: GatingInputs | NoInputs
    gate_tol: float
    open_kernels: np.ndarray
    open_share: np.ndarray

    @property
    def active(self) -> np.ndarray:
        """The kernels that are open for some training sample."""
        return self.open_kernels

    @property
    def gate_parameters(self) -> np.ndarray:
        """The parameters V of the gating model; here all of theta."""
        return self.theta

    def gates_of(self, views: Views) -> np.ndarray:
        """The gates of new samples, of shape (n_new, n_kernels)."""
        if views.can_fetch:  # every view that is needed can be fetched
            present = np.tile(self.active, (views.n_samples, 1))
        else:
            present = self.stack.presence(views, self.active)
        return self.gates_at(self.codes_of(views), present)

    def codes_of(self, views: Views) -> np.ndarray:
        """What the gating model reads of new samples."""
        return self.gate.encode(self.inputs.transform(views))

    def gates_at(self, codes: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
        """The gates of samples with these codes, which have all views unless `present` is given."""
        present = np.tile(self.active, (len(codes), 1)) if present is None else present
        return self.gate.values(self.gate_parameters, codes, present, self.gate_tol)

    @abstractmethod
    def alone(self, m: int, views: Views, coef: np.ndarray) -> np.ndarray:
        """What kernel m adds to the values of new samples, which all have its view, as if its gate were 1."""

    @abstractmethod
    def _open_shares(self, views: Views, coef: np.ndarray) -> Iterator[tuple[int, Any, np.ndarray]]:
        """Each kernel that is open for some samples, those samples, and what it adds to their values."""

    def values(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """The values of new samples; kernels are computed for samples with an open gate only."""
        values = np.zeros((views.n_samples, coef.shape[1]))
        for _, rows, share in self._open_shares(views, coef):
            values[rows] += share
        return values

    def shares(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """What each kernel adds to `values`, with its gates."""
        shares = np.zeros((views.n_samples, coef.shape[1], self.n_kernels))
        for m, rows, share in self._open_shares(views, coef):
            shares[rows, :, m] = share
        return shares

    def local_values(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """The part of each kernel in the values of new samples, as if its gate were 1: (n_new, n_outputs, n_kernels).

        0 for kernels that are not active, NaN for samples that lack the view.
        """
        present = self.stack.presence(views, self.active)
        values = np.zeros((views.n_samples, coef.shape[1], self.n_kernels))
        for m in np.flatnonzero(self.active).tolist():
            rows = np.flatnonzero(present[:, m])
            values[~present[:, m], :, m] = np.nan
            if len(rows):
                part = views if len(rows) == views.n_samples else views.rows(rows)
                values[rows, :, m] = self.alone(m, part, coef)
        return values

    def sample_weights(self, views: Views) -> np.ndarray:
        """The squared gates of new samples, which multiply k_m(x, x)."""
        return self.gates_of(views) ** 2

    def reads(self) -> np.ndarray:
        """The columns of the gating inputs."""
        return self.inputs.columns()

    def replace(self, m: int, kernel: Kernel) -> None:
        """Install an extended kernel in the place of base kernel m, and of the gating kernel if that is the same."""
        old = self.stack.kernels[m]
        self.stack.replace(m, kernel)
        self.inputs.replace(old, kernel)

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices inside the kernels and the gating kernel."""
        return [*self.stack.lookups(self.active), *self.inputs.lookups()]

    def attributes(self) -> Mapping[str, Any]:
        """Slopes and biases of the scores, if the gating model is linear."""
        found = self.gating_coefficients()
        if found is None:
            return {}
        return {
            "gating_coef_": pd.DataFrame(found[0], self.input_names(), self.names, copy=True),
            "gating_intercept_": pd.Series(found[1], self.names, copy=True),
        }

    def input_names(self) -> list[str]:
        """What the gating inputs are called."""
        return self.inputs.names(self.stack)

    def gating_coefficients(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Slopes of the scores by the gating inputs, of shape (n_inputs, n_kernels), and biases; None if not linear."""
        found = self.gate.coefficients(self.gate_parameters, self.n_kernels)
        return None if found is None else (found[0].T, found[1])

    def complete(self, m: int, views: Views, rows: np.ndarray) -> Views:
        """Some samples, of which each has the view of kernel m; it is fetched where it is missing and can be."""
        part = views if len(rows) == views.n_samples else views.rows(rows)
        kernel = self.stack.kernels[m]
        partly = getattr(kernel, "takes_missing_cells", False)
        view = getattr(kernel, "view", None)
        return part.complete(kernel.columns(), view if isinstance(view, str) else self.names[m], partly=partly)
