"""How the kernels of a fit are held and where they are computed: by the parameters `storage` and `device`.

==========  ===========================================================================================
storage     the Gram matrices of the base kernels
==========  ===========================================================================================
"dense"     are held, or made when a combiner reads them
"lazy"      are never made: kernels are computed in parts (`kernels.parts`), on the host or on a device
"auto"      dense while all of them take at most `dense_bytes` of the configuration, and lazy beyond it;
            dense where a part of the model cannot be had in parts; lazy on a device
==========  ===========================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._config import get_config
from ..arrays import chosen_place
from ..combiners import Combiner
from ..kernels import KernelStack, named_kernels
from ..kernels.stacking.naming import default_kernels
from ..machines import Machine
from ..views import Views


@dataclass(frozen=True)
class Obstacle:
    """A part of a model that needs whole Gram matrices.

    Attributes
    ----------
    why : str
        A sentence, such as "KernelDifference reads whole Gram matrices".
    remedy : str
        What to use in its place.
    """

    why: str
    remedy: str


class TrainingKernels:
    """The kernels of an estimator for its training samples: fitted once it is known how they are to be held.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
        Its parameters `kernels`, `normalize`, `storage`, `device` and `dtype` are read.
    views : Views
    weight : ndarray of shape (n_samples,)
    y : ndarray or None
        The targets as the user gave them.
    """

    def __init__(self, estimator: Any, views: Views, weight: np.ndarray, y: np.ndarray | None):
        self.kernels = named_kernels(default_kernels(views) if estimator.kernels is None else estimator.kernels)
        self.normalize, self.storage, self.dtype = estimator.normalize, estimator.storage, estimator.dtype
        self.place = chosen_place(estimator.device)
        self.views, self.weight, self.y = views, weight, y
        self._dense: KernelStack | None = None
        if self.storage == "dense" and not self.place.is_host:
            raise ValueError(
                f'storage="dense" is for device="cpu", and device="{estimator.device}" computes kernels in parts; use '
                'storage="auto" or "lazy"'
            )

    def dense_stack(self, why: str, remedy: str) -> KernelStack:
        """The fitted kernels as whole matrices, for something that needs them before the machine is made.

        Parameters
        ----------
        why, remedy : str
            What needs them, as a sentence, and what to use in its place.
        """
        self._dense = self._stack(Obstacle(why, remedy))
        return self._dense

    def stack_for(self, combiner: Combiner, machine: Machine) -> KernelStack:
        """The fitted kernels, held as `storage` and what can be had in parts decide."""
        return self._stack(self._obstacle(combiner, machine)) if self._dense is None else self._dense

    def _stack(self, obstacle: Obstacle | None) -> KernelStack:
        storage = self._storage(obstacle)
        dtype = ("float64" if storage == "dense" else "float32") if self.dtype is None else self.dtype
        where: dict[str, Any] = {"place": self.place, "cache_bytes": get_config()["cache_bytes"]}
        stack = KernelStack(self.kernels, self.normalize, dtype=dtype, storage=storage, **where)
        stack.has_parts = obstacle is None
        return stack.fit(self.views, self.weight, self.y)

    def _storage(self, obstacle: Obstacle | None) -> str:
        if self.storage == "dense":
            return "dense"
        if self.storage == "auto" and self.place.is_host:
            small = is_small(len(self.kernels), self.views.n_samples, self.dtype)
            return "dense" if small or obstacle is not None else "lazy"
        if obstacle is None:
            return "lazy"
        raise ValueError(self._refusal(obstacle))

    def _refusal(self, obstacle: Obstacle) -> str:
        P, n = len(self.kernels), self.views.n_samples
        size = dense_bytes(P, n, self.dtype) / 2**30
        whole = f"{P} matrices" if P > 1 else "a matrix"
        asked, dense = 'storage="lazy"', 'storage="dense"'
        if not self.place.is_host:
            asked, dense = "a device other than the CPU", 'device="cpu" and storage="dense"'
        return (
            f"{asked} computes kernels in parts, but {obstacle.why}: {whole} of {n} x {n} {self.dtype or 'float64'}, "
            f"{size:.3g} GiB; use {dense}, or {obstacle.remedy}"
        )

    def _obstacle(self, combiner: Combiner, machine: Machine) -> Obstacle | None:
        """The first part of the model that cannot be had with kernels in parts; None if all can."""
        if not _takes_parts(machine):
            return Obstacle(f"{type(machine).__name__} is solved on the whole Gram matrix", _MACHINES)
        why = combiner.why_dense_with(self.kernels)
        if why is not None:
            return Obstacle(why, _COMBINERS)
        for name, kernel in self.kernels:
            if kernel.repair is not None and not kernel.positive_semidefinite:
                why = f"the kernel {name!r} has repair={kernel.repair!r}, which takes eigenvalues of its Gram matrix"
                return Obstacle(why, "repair=None for that kernel, or a kernel that is positive semidefinite")
        return None


_MACHINES = (
    'a support vector machine of labels, machine="svm" with multiclass="one-vs-all" or "one-vs-one" where there are '
    "several classes"
)
_COMBINERS = "another combiner, such as Mean, ConvexMKL or Localized"


def _takes_parts(machine: Machine) -> bool:
    return getattr(machine, "takes_parts", machine.has_box_dual)


def dense_bytes(n_kernels: int, n_samples: int, dtype: str | None) -> int:
    """The size of all Gram matrices."""
    return n_kernels * n_samples**2 * np.dtype(dtype or "float64").itemsize


def is_small(n_kernels: int, n_samples: int, dtype: str | None) -> bool:
    """Whether all Gram matrices take at most the memory that the configuration gives to dense ones."""
    return dense_bytes(n_kernels, n_samples, dtype) <= get_config()["dense_bytes"]
