"""How the kernels of a fit are held and where they are computed: by the parameters `storage` and `device`.

==========  ===========================================================================================
storage     the Gram matrices of the base kernels
==========  ===========================================================================================
"dense"     are held, or made when a combiner reads them
"lazy"      are never made: kernels are computed in parts (`kernels.parts`), on the host or on a device
"auto"      dense while all of them take at most `dense_bytes` of the configuration, and lazy beyond it;
            dense where a part of the model cannot be had in parts; lazy on a device
==========  ===========================================================================================

Kernels in parts are computed in float32 by default, and Gram matrices are held in it where the user wants that. Both
are float64 where coefficients may be so large that the rounding of kernel values would show in the objective J. With k
the largest k(x, x), errors E[i, j] of values are at most epsilon k. Those of different pairs have nothing to do with
each other or with the labels, so that J changes by  1/2 c'E c,  which is about  1/2 epsilon k ||c||^2.  Coefficients
are at most C and  ||c||^2 <= C sum_i |c_i| <= 2 C J,  which makes at most about  epsilon C k  of J, with targets of
size 1. A gap that is reported contains `ROUNDINGS` times that change, so that it holds for the kernel in float64.
Of a machine without targets coefficients add up to 1, and what counts is what rounding leaves of the
differences of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._config import get_config
from .._warnings import warn
from ..arrays import chosen_place
from ..combiners import Combiner
from ..kernels import KernelStack, named_kernels
from ..kernels.stacking.naming import default_kernels
from ..kernels.stacking.rounding import product_sizes
from ..machines import LeastSquaresMachine, Machine, OneVsAllMachine, PosteriorMachine, TargetsMachine
from ..machines.base import PlainMachine
from ..machines.independent import IndependentMachines
from ..validation import check_parameters
from ..views import Views

#: Costs times k(x, x), over the size of the targets, up to which float32 is enough. Objectives then differed from those
#: of float64 by up to 4e-5 of their size (polynomial and wide Gaussian kernels), by 2e-4 at 1e4 and by 0.2 at 1e6; the
#: argument above has 6e-5.
LARGEST_COST = 1e3

#: How often  1/2 epsilon k ||c||^2  is in a reported gap. In 411 random problems, like those of the long tests, the
#: objective in float32 was farther from that in float64 than the gaps of the solvers say, by up to 2.3 times this.
ROUNDINGS = 8.0

#: Samples above which an exact fit in parts warns: `docs/scale.md` has 30 s for 50 000 samples on two cores and 22 s
#: for a million on an accelerator, which grow with the square of the number.
LARGEST_ON_HOST, LARGEST_ON_DEVICE = 100_000, 1_000_000
FEATURES = 'approximation="nystroem"'


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
        self._dense.dtype = np.dtype("float64")  # the costs, by which float32 may be enough, are not known
        return self._dense

    def stack_for(self, combiner: Combiner, machine: Machine) -> KernelStack:
        """The fitted kernels, held as `storage` and what can be had in parts decide.

        Obstacles in the machine and the combiner are found before kernels are fitted, those in the kernels before any
        value of them is computed.
        """
        if self._dense is not None:
            return self._in_precision(self._held(self._dense, "dense"), combiner, machine)
        lazy = self._wants_parts() and self._meet(_obstacle_before(combiner, machine))
        stack = self._fitted("lazy" if lazy else "dense")
        if lazy and not self._meet(_obstacle_of(combiner, stack)):
            stack = self._held(stack, "dense")
        stack = self._in_precision(stack, combiner, machine)
        stack.instead = lambda: _instead(combiner, machine, stack)
        if stack.storage == "lazy":
            self._warn_if_large(combiner, machine)
        return stack

    def _warn_if_large(self, combiner: Combiner, machine: Machine) -> None:
        """Name explicit features where comparing all pairs of samples takes long."""
        n, most = self.views.n_samples, LARGEST_ON_HOST if self.place.is_host else LARGEST_ON_DEVICE
        if n > most and has_features(combiner, machine):
            warn(
                f"the exact model of {n} samples compares each of them with each support vector, in time that grows "
                f"with the square of their number; above {most} samples {FEATURES} is advised, in time that grows with "
                "their number (docs/choosing_scale.md)"
            )

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

    def _in_precision(self, stack: KernelStack, combiner: Combiner, machine: Machine) -> KernelStack:
        """The stack in float64 where float32 is not enough."""
        if stack.dtype.name == "float32" and self._largest_cost(combiner, machine, stack) > LARGEST_COST:
            stack.dtype = np.dtype("float64")
        return stack

    def _largest_cost(self, combiner: Combiner, machine: Machine, stack: KernelStack) -> float:
        """The largest cost of a sample times the largest k(x, x), over the size of the targets."""
        if machine.detects_novelty:  # coefficients add up to 1, whatever the bounds are
            return max((_largest_mean(stack, m) for m in range(len(stack.kernels))), default=0.0)
        cost = float(np.max(getattr(machine, "bound", 0.0)))
        if machine.strata is None and self.y is not None:  # regression
            size = np.std(np.asarray(self.y, dtype=float), axis=0).min()
            cost /= size if size > 0.0 else 1.0
        return cost * self._largest_value(combiner, stack)

    def _largest_value(self, combiner: Combiner, stack: KernelStack) -> float:
        """The largest k(x, x) of the combined kernel, or a bound of it."""
        unit = self.normalize == "unit-diagonal"
        largest = [1.0 if unit else _largest_value(stack, m) for m in range(len(stack.kernels))]
        return combiner.largest_value(stack.names, np.array(largest))

    def rounding(self, combiner: Combiner, stack: KernelStack, coef: np.ndarray) -> float:
        """By how much the objective may differ from that of the kernel in float64, of which nothing is counted."""
        if stack.dtype.name == "float64":
            return 0.0
        unit = 0.5 * float(np.finfo(stack.dtype).eps)
        return ROUNDINGS * 0.5 * unit * self._largest_value(combiner, stack) * float(np.vdot(coef, coef))

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


def _instead(combiner: Combiner, machine: Machine, stack: KernelStack) -> list[str]:
    """Parameters with which a model does without Gram matrices."""
    parts = _obstacle_before(combiner, machine) is None and _obstacle_of(combiner, stack) is None
    return ['storage="lazy"'] * parts + [FEATURES] * has_features(combiner, machine)


def has_features(combiner: Combiner, machine: Machine) -> bool:
    """Whether a model could be had on explicit features, perhaps with the squared form of its loss."""
    one = machine.outputs()[0][1] if isinstance(machine, OneVsAllMachine | TargetsMachine) else machine
    served = isinstance(one, PlainMachine | LeastSquaresMachine) and not isinstance(one, PosteriorMachine)
    return served and combiner.why_exact is None


_CLASSIFIERS = (
    'a support vector machine of labels, machine="svm" with multiclass="one-vs-all" or "one-vs-one" where there are '
    "several classes"
)
_REGRESSORS = 'the support vector machine, machine="svm"'
_COMBINERS = "another combiner, such as Mean, ConvexMKL or Localized"


def _obstacle_before(combiner: Combiner, machine: Machine) -> Obstacle | None:
    """What in the machine or the combiner needs whole Gram matrices, whatever the kernels are."""
    if not machine.takes_parts:
        one = machine.outputs()[0][1] if isinstance(machine, IndependentMachines) else machine  # those are at fault
        remedy = _REGRESSORS if machine.strata is None else _CLASSIFIERS
        if has_features(combiner, machine):
            remedy += f", or {FEATURES}"
        return Obstacle(f"a {one.kind} is solved on the whole Gram matrix", remedy)
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


def _largest_value(stack: KernelStack, m: int) -> float:
    """The largest k(x, x) of a kernel, or a bound of it; 0 where values are not finite, which is an error later on."""
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = stack.measured(m).diagonal(stack.reference)[stack.present[:, m]]
        largest = float(np.max(diagonal, initial=0.0))
        if stack.normalizers[m].method == "unit-trace":
            largest /= max(float(diagonal.mean()), np.finfo(float).tiny) if len(diagonal) else 1.0
    return largest if np.isfinite(largest) else 0.0


def _largest_mean(stack: KernelStack, m: int) -> float:
    """How many times the values of a kernel of products are larger than about the mean of its features; 0 of others."""
    sizes = product_sizes(stack.measured(m), stack.reference)
    return max((float(raw.max() / left.mean()) for raw, left in sizes if len(raw)), default=0.0)


def dense_bytes(n_kernels: int, n_samples: int, dtype: str | None) -> int:
    """The size of all Gram matrices."""
    return n_kernels * n_samples**2 * np.dtype(dtype or "float64").itemsize


def is_small(n_kernels: int, n_samples: int, dtype: str | None) -> bool:
    """Whether all Gram matrices take at most the memory that the configuration gives to dense ones."""
    return dense_bytes(n_kernels, n_samples, dtype) <= get_config()["dense_bytes"]
