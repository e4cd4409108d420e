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
from ..validation import check_parameters
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
        if self._wants_parts():
            self._meet(Obstacle(why, remedy))
        self._dense = self._fitted("dense")
        return self._dense

    def stack_for(self, combiner: Combiner, machine: Machine) -> KernelStack:
        """The fitted kernels, held as `storage` and what can be had in parts decide.

        Obstacles in the machine and the combiner are found before kernels are fitted, those in the kernels before any
        value of them is computed.
        """
        if self._dense is not None:
            return self._dense
        lazy = self._wants_parts() and self._meet(_obstacle_before(combiner, machine))
        stack = self._fitted("lazy" if lazy else "dense")
        if lazy and not self._meet(_obstacle_of(combiner, stack)):
            stack = self._held(stack, "dense")
        stack.has_parts = lambda: _obstacle_before(combiner, machine) is None and _obstacle_of(combiner, stack) is None
        return stack

    def _wants_parts(self) -> bool:
        if self.storage == "auto" and self.place.is_host:
            return not is_small(len(self.kernels), self.views.n_samples, self.dtype)
        return self.storage != "dense"

    def _meet(self, obstacle: Obstacle | None) -> bool:
        """Whether there is no obstacle; an error where the user wants kernels in parts all the same."""
        if obstacle is not None and not (self.storage == "auto" and self.place.is_host):
            raise ValueError(self._refusal(obstacle))
        return obstacle is None

    def _fitted(self, storage: str) -> KernelStack:
        settings: dict[str, Any] = {"place": self.place, "cache_bytes": get_config()["cache_bytes"]}
        stack = self._held(KernelStack(self.kernels, self.normalize, **settings), storage)
        return stack.fit(self.views, self.weight, self.y)

    def _held(self, stack: KernelStack, storage: str) -> KernelStack:
        """The stack with a storage, and the type of numbers that goes with it."""
        stack.storage = storage
        stack.dtype = np.dtype(("float64" if storage == "dense" else "float32") if self.dtype is None else self.dtype)
        return stack

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


_MACHINES = (
    'a support vector machine of labels, machine="svm" with multiclass="one-vs-all" or "one-vs-one" where there are '
    "several classes"
)
_COMBINERS = "another combiner, such as Mean, ConvexMKL or Localized"


def _obstacle_before(combiner: Combiner, machine: Machine) -> Obstacle | None:
    """What in the machine or the combiner needs whole Gram matrices, whatever the kernels are."""
    if not machine.takes_parts:
        return Obstacle(f"a {machine.kind} is solved on the whole Gram matrix", _MACHINES)
    check_parameters(combiner)
    return None if combiner.why_dense is None else Obstacle(combiner.why_dense, _COMBINERS)


def _obstacle_of(combiner: Combiner, stack: KernelStack) -> Obstacle | None:
    """What in the fitted kernels needs whole Gram matrices."""
    named = list(zip(stack.names, stack.kernels, strict=True))
    why = combiner.why_dense_with(named)
    if why is not None:
        return Obstacle(why, _COMBINERS)
    for name, kernel in named:
        if kernel.repair is not None and not kernel.positive_semidefinite:
            why = f"the kernel {name!r} has repair={kernel.repair!r}, which takes eigenvalues of its Gram matrix"
            return Obstacle(why, "repair=None for that kernel, or a kernel that is positive semidefinite")
    return None


def dense_bytes(n_kernels: int, n_samples: int, dtype: str | None) -> int:
    """The size of all Gram matrices."""
    return n_kernels * n_samples**2 * np.dtype(dtype or "float64").itemsize


def is_small(n_kernels: int, n_samples: int, dtype: str | None) -> bool:
    """Whether all Gram matrices take at most the memory that the configuration gives to dense ones."""
    return dense_bytes(n_kernels, n_samples, dtype) <= get_config()["dense_bytes"]
