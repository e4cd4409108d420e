"""What every fitted model over several kernels offers: the kernels that it reads, and their extension by new ids."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..combiners import CombinedKernel
from ..kernels import KernelStack, Precomputed
from ..kernels.base import Kernel
from ..validation.inputs import check_new_data
from ..views import Views

# New samples are compared with the kept ones in blocks of about this many kernel values.
_BLOCK_VALUES = 2**23


class FittedKernels:
    """Mixin of models that store `kernels_`, `kernel_names_` and a combined kernel, or a stack of kernels."""

    kernels_: list[Kernel]
    kernel_names_: list[str]
    _kernel: CombinedKernel

    @abstractmethod
    def _active(self) -> np.ndarray:
        """Which kernels prediction evaluates: a boolean array."""

    def _new_views(self, X: Any) -> Views:
        check_is_fitted(self)
        used = [kernel.columns() for kernel, is_active in zip(self.kernels_, self._active(), strict=True) if is_active]
        return Views(*check_new_data(self, X, np.concatenate([*used, self._reads()])))

    def _reads(self) -> np.ndarray:
        """Columns that prediction reads beside those of the kernels; none by default."""
        return np.zeros(0, dtype=int)

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

    def _lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        return self._state.lookups(self._active())

    def _replace(self, m: int, kernel: Kernel) -> None:
        self._state.replace(m, kernel)


def in_blocks(views: Views, n_values: int, compute: Callable[[Views], np.ndarray]) -> np.ndarray:
    """What a function finds of new samples, block by block.

    Parameters
    ----------
    views : Views
    n_values : int
        Kernel values that each sample takes.
    compute : callable
        From views to an array with a row for each of their samples.
    """
    n_rows = max(1, _BLOCK_VALUES // max(1, n_values))
    blocks = [slice(start, start + n_rows) for start in range(0, views.n_samples, n_rows)]
    parts: Any = [views] if len(blocks) == 1 else (views.rows(block) for block in blocks)
    return np.concatenate([compute(part) for part in parts])


def lookups_of(model: Any) -> list[tuple[Kernel, np.ndarray]]:
    """The precomputed matrices inside a fitted model, each with the ids of the samples that prediction needs."""
    return model._lookups()
