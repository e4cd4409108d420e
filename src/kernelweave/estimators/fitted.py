"""What every fitted model over several kernels offers: the kernels that it reads, and their extension by new ids."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..combiners import CombinedKernel
from ..kernels import KernelStack, Precomputed
from ..kernels.base import Kernel
from ..validation.inputs import check_new_data
from ..views import Views


class FittedKernels:
    """Mixin of models that store `kernels_`, `kernel_names_` and a combined kernel, or a stack of kernels."""

    kernels_: list[Kernel]
    kernel_names_: list[str]
    _kernel: CombinedKernel

    def _new_views(self, X: Any) -> Views:
        check_is_fitted(self)
        return Views(*check_new_data(self, X, self._columns()))

    def _columns(self) -> np.ndarray:
        """Positions of all columns that prediction reads."""
        return self._kernel.columns()

    def _lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices that prediction looks new samples up in, each with the ids it compares with."""
        return self._kernel.lookups()

    def _replace(self, m: int, kernel: Kernel) -> None:
        self._kernel.replace(m, kernel)

    def replace_kernel(self, name: str, kernel: Precomputed) -> FittedKernels:
        """Install a precomputed kernel with further samples, without refitting.

        Parameters
        ----------
        name : str
            One of `kernel_names_`.
        kernel : Precomputed or Distance of a matrix
            The kernel of the fit, extended by new ids (its method `extend`).

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if name not in self.kernel_names_:
            raise ValueError(f"there is no kernel named {name!r}; the kernels are {self.kernel_names_}")
        self._replace(self.kernel_names_.index(name), kernel)
        return self


class FittedStack(FittedKernels):
    """Mixin of models that keep a stack of kernels (`_state`) rather than one combined kernel."""

    _state: KernelStack

    @abstractmethod
    def _active(self) -> np.ndarray:
        """Which kernels prediction evaluates: a boolean array."""

    def _columns(self) -> np.ndarray:
        used = [kernel.columns() for kernel, is_active in zip(self.kernels_, self._active(), strict=True) if is_active]
        return np.concatenate(used)

    def _lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        return self._state.lookups(self._active())

    def _replace(self, m: int, kernel: Kernel) -> None:
        self._state.replace(m, kernel)


def lookups_of(model: Any) -> list[tuple[Kernel, np.ndarray]]:
    """The precomputed matrices inside a fitted model, each with the ids of the samples that prediction needs."""
    return model._lookups()
