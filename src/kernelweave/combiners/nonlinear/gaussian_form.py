"""`GaussianForm`: the Gaussian of weighted distances in the feature spaces of the kernels (Varma and Babu 2009).

    k(x, z) = exp(-sum_m eta_m d_m^2(x, z)),      d_m^2(x, z) = k_m(x, x) + k_m(z, z) - 2 k_m(x, z)

a form of `forms.FormKernel`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.stacking.normalization import check_known
from ...kernels.tiles.sums import TiledFunction
from ...solvers.stacks.elementwise import gaussian, gaussian_pullback
from ...stacks import TrainingStack, training
from ...views import Views
from ..descent.family import support_rows
from .in_parts import form_in_parts, form_pullback

if TYPE_CHECKING:
    from .forms import FormKernel


class GaussianForm:
    """exp(-sum_m eta_m d_m^2): a product of Gaussians of the distances in each kernel's feature space.

    A sample that lacks a view stands at the origin of that kernel's feature space, which is the mean of the training
    samples if kernels are centred; the kernel stays positive semidefinite.
    """

    def diagonals(self, stack: TrainingStack) -> np.ndarray:
        """k_m(x, x) of each training sample, of shape (n_samples, n_kernels)."""
        return training(stack).diagonals()

    def gram(self, kernel: FormKernel, out: np.ndarray | None = None) -> np.ndarray:
        """The kernel of the training samples."""
        return gaussian(kernel.stack.matrices(), kernel.theta, kernel.diagonals, out)

    def in_parts(self, kernel: FormKernel) -> TiledFunction:
        """The kernel of the training samples in parts."""
        return form_in_parts(kernel, None)

    def pullback(self, kernel: FormKernel, coef: np.ndarray) -> np.ndarray:
        """-1/2 sum_r c_r' (dK / deta) c_r."""
        return training(kernel.stack).form_pullback(self, kernel, *support_rows(coef))

    def whole_pullback(self, kernel: FormKernel, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """`pullback` from whole matrices, for the samples with coefficients."""
        return gaussian_pullback(kernel.stack.matrices(), kernel.theta, kernel.diagonals, rows, coef)

    def tile_pullback(self, kernel: FormKernel, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """`pullback` of a kernel in parts, for the samples with coefficients."""
        return form_pullback(kernel, rows, coef, sums=False)[0]

    def value_of(self, values: Iterable, shifts: Any, xp: Any) -> Any:
        """The form of weighted values, given sum_m eta_m (k_m(x, x) + k_m(z, z)) of each pair."""
        exponent = sum((2.0 * x for x in values), start=-shifts)
        return xp.exp(xp.clip(exponent, max=0.0))

    def derivatives(
        self, values: list[Any], eta: np.ndarray, diagonals: tuple[Any, Any], xp: Any
    ) -> tuple[Any, list[Any]]:
        """The form of the values of all kernels, and its derivative by each weight, arrays of a place."""
        squares = [diagonals[0][:, m][:, None] + diagonals[1][:, m][None, :] - 2.0 * x for m, x in enumerate(values)]
        exponent: Any = sum(-float(eta[m]) * square for m, square in enumerate(squares))
        K = xp.exp(xp.clip(exponent, max=0.0))
        return K, [-square * K for square in squares]

    def cross(self, kernel: FormKernel, views: Views) -> np.ndarray:
        """The kernel between new samples and training samples."""
        stack, eta = kernel.stack, kernel.theta
        present = stack.presence(views, eta > 0)
        exponent = np.zeros((views.n_samples, stack.n_samples))
        exponent -= (kernel.diagonals @ eta)[None, :]
        for m in np.flatnonzero(eta).tolist():
            K, diagonal = stack.compare(m, views, present[:, m])
            check_known(diagonal, stack.names[m])
            K *= 2.0
            K -= diagonal[:, None]
            K *= eta[m]
            exponent += K
        return np.exp(np.minimum(exponent, 0.0, out=exponent), out=exponent)

    def sample_weights(self, kernel: FormKernel, views: Views) -> np.ndarray:
        """The weights of the views that each sample has."""
        return kernel.stack.presence(views, kernel.active) * kernel.theta
