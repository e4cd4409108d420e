"""The protocol of a combined kernel: one kernel made of several, over the training samples of a fit.

`Combiner.fit` returns a `CombinedKernel`. It replaces the combiner after the fit: an estimator predicts with it, a
machine is solved on it, and a file stores it.

A subclass implements `gram` or `rows` (each has a default that calls the other), `cross`, `weights` and `restrict`. A
subclass with the attribute `stack` (a `KernelStack`) inherits the rest; one without implements `n_samples`, `names`,
`active`, `columns`, `sample_weights`, `replace` and `lookups` too. `PointwiseKernel` is for a function of the values of
the base kernels: its subclasses implement `combine` only.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Place
from ..kernels import Kernel, KernelStack
from ..kernels.resources import lazy_storage_error
from ..kernels.stack import NewPart
from ..kernels.tiles.sums import TiledFunction
from ..machines import Machine, Solution
from ..machines.base import Operand
from ..stacks import FitControl, training
from ..stacks.explicit import Features, NoFeatures
from ..validation.schemas import Schema, Sizes, count, is_own, object_of, refuse, several
from ..views import Views


class Record:
    """What a file holds in the place of a combined kernel, beside the combiner and theta: plain data.

    Of a weighted sum, a product and a form without diagonals it is the `KernelStack`; of other kernels with samples the
    record beside them (`GatedSum` has `GatedStack`), whose name is in files; of a user's kernel the kernel itself. What
    the combiner has already (the gating model, the layout of theta, a form) is not written twice.
    """

    taken: tuple[str, ...] = ()  # attributes of the kernel, by the same names

    def __init__(self, **fields: Any):
        self.__dict__.update(fields)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def of(cls, kernel: Any) -> Self:
        return cls(**{name: getattr(kernel, name) for name in cls.taken})

    def restored(self, combiner: Any, theta: np.ndarray) -> CombinedKernel:
        raise NotImplementedError


class ExplicitState(Record):
    """Of explicit features: ``stack`` (the kernels, without samples), ``maps``, ``n_samples`` (of the fit).

    Coefficients of each kernel are those of `n_copies` of its features.
    """

    n_copies = 1

    _saved = Schema(
        {
            "stack": object_of(KernelStack, "columns", "kernels", support="nobody"),
            "maps": several(object_of("FeatureMap", "columns"), "kernels"),
            "n_samples": count(),
        }
    )

    @classmethod
    def of(cls, kernel: Any) -> Self:
        stack = kernel.stack
        explicit = {"stack": stack.reservoir, "maps": stack.maps, "n_samples": stack.n_samples}
        return cls(**explicit, **vars(super().of(kernel)))

    def features(self) -> Features:
        return Features(self.stack, self.maps, None, self.n_samples)

    def restored(self, combiner: Any, theta: np.ndarray) -> CombinedKernel:
        return combiner._kernel_of(self.features(), theta)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if self.stack.n_samples:
            refuse(f"{path}.stack", "holds training samples")
        for m, found in enumerate(self.maps):
            if isinstance(found, NoFeatures) and self.stack.active[m]:
                refuse(f"{path}.maps[{m}]", "lacks the features of a kernel that is used")


class CombinedKernel(ABC):
    """One kernel k(x, z) made of P base kernels, symmetric and positive semidefinite.

    Attributes
    ----------
    stack : TrainingStack, or what `restrict` leaves of one
        The base kernels over the training samples.
    theta : ndarray
        The parameters of the kernel, such as one weight for each base kernel.
    solution : Solution or None
        The machine's optimum under this kernel; None after `restrict`, and before the machine is solved.
    history : list of dict
        Objective, machine solves and seconds of each outer iteration of the fit.
    shows : tuple of str
        The names of all attributes that kernels of this class may give to a fitted estimator.
    is_sum : bool
        Whether k is a sum over `terms`.
    has_cheap_blocks : bool
        Whether `block` and `product` cost less than `gram`, so that a machine may be solved in a working set.
    """

    stack: Any  # a TrainingStack, or what `restrict` leaves of one
    theta: np.ndarray
    solution: Solution | None = None
    history: list[dict[str, float]]
    shows: tuple[str, ...] = ()
    has_cheap_blocks = False
    _of_fit: tuple[str, ...] = ("solution", "history")  # attributes that `restrict` leaves out

    @property
    def is_sum(self) -> bool:
        """Whether k is a sum over `terms`; it is not by default."""
        return False

    @property
    def is_indefinite(self) -> bool:
        """Whether a base kernel in use is not positive semidefinite over the training samples, and nothing repairs it.

        The machine's dual is not concave then, and its gap is no limit to how far a value is from the optimum.
        """
        repairs = getattr(getattr(self, "stack", None), "repairs", [])
        return any(repair.is_left and self.active[m] for m, repair in enumerate(repairs))

    @property
    def of_samples(self) -> bool:
        """Whether coefficients are those of training samples; else they are weight vectors of explicit features."""
        return True

    @property
    def takes_fetch(self) -> bool:
        """Whether a view is read only for the samples that need it, see `views.FetchedViews`."""
        return False

    def solved(self, solution: Solution, history: list[dict[str, float]]) -> Self:
        """The same kernel with the machine's optimum under it, as `Combiner.fit` returns it."""
        self.solution, self.history = solution, history
        return self

    def solve(self, machine: Machine, control: FitControl, begin: float, *, solves: int = 0) -> Self:
        """Solve a machine under this kernel, after earlier solves since the time `begin`."""
        start = machine.solve_on_few_rows(self.in_few_rows, control.tol) if control.max_steps is None else None
        if start is not None and start.converged:
            return self._solved_once(start, begin, solves)
        operand: Any = self.operand()
        watched = control.progress is not None and not isinstance(operand, np.ndarray)
        if watched:
            operand.progress = control.share_of(getattr(operand, "n_solves", machine.n_solves))
        solution = machine.solve(operand, start, tol=control.tol, max_steps=control.max_steps)
        if watched:
            operand.progress = None
        return self._solved_once(solution, begin, solves)

    def _solved_once(self, solution: Solution, begin: float, solves: int) -> Self:
        row = {"objective": solution.objective, "solves": solves + 1, "seconds": time.perf_counter() - begin}
        return self.solved(solution, [row])

    @property
    def names(self) -> list[str]:
        """The names of the base kernels."""
        return self.stack.names

    @property
    def n_kernels(self) -> int:
        """Number of base kernels, P."""
        return len(self.names)

    @property
    def n_samples(self) -> int:
        """Number of training samples, or of those that `restrict` kept."""
        return self.stack.n_samples

    @property
    def active(self) -> np.ndarray:
        """Which base kernels prediction evaluates: a boolean array of shape (n_kernels,)."""
        return np.ones(self.n_kernels, dtype=bool)

    # Training samples

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        """K of the training samples: a new n x n matrix, or `out` if it is given."""
        return written(self.rows(np.arange(self.n_samples)), out)

    def operand(self, out: np.ndarray | None = None) -> Operand:
        """What a machine is solved on, over the training samples; `out` is a matrix that may be overwritten."""
        return self.gram(out)

    def in_few_rows(self) -> Operand | None:
        """K in parts where `operand` would make a matrix, and few of its rows may do; None by default."""
        return None

    def rows(self, index: np.ndarray) -> np.ndarray:
        """K between some training samples and all of them, of shape (len(index), n_samples)."""
        return self.gram()[index]

    def block(self, index: np.ndarray) -> np.ndarray:
        """K among some training samples."""
        return self.rows(index)[:, index]

    def product(self, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K times coefficients, (n_some,) or (n_some, n_outputs), of training samples at `index`; others are 0."""
        return self.rows(index).T @ coef

    # New samples

    @abstractmethod
    def cross(self, views: Views) -> np.ndarray:
        """K between new samples (rows) and the training samples (columns)."""

    def values(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """K of new samples times coefficients of the training samples, of shape (n_new, n_outputs)."""
        return self.cross(views) @ coef

    def sizes(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """Sums of the sizes of all terms of `values`, of the same shape; they limit the rounding of `values`."""
        return np.abs(self.cross(views)) @ np.abs(coef)

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray | None:
        """`values`, computed in parts in a place such as a CUDA device, or None where they cannot be."""
        return None

    @property
    def terms(self) -> list[str]:
        """The names of the terms of a sum; by default the base kernels."""
        return self.names

    def shares(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """What each term adds to `values`, of shape (n_new, n_outputs, n_terms); only where `is_sum`.

        A term without weight adds 0, and so does one that compares a view that the sample lacks.
        """
        raise ValueError(f"a {type(self).__name__} is no sum over kernels, so that its values have no parts")

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        """The vectors w of an active base kernel m that is linear, of shape (n_features, n_outputs).

        ``<w, x>`` is what the kernel adds to `values` of a sample that has all views, where x is normalised, see
        `KernelStack.feature_weights`. None, the default, where there is no such vector: the kernel is no sum over
        base kernels, or their weights depend on the sample.
        """
        return None

    # Weights

    @abstractmethod
    def weights(self) -> np.ndarray:
        """One weight for each base kernel: (n_kernels,) or, with a kernel for each output, (n_outputs, n_kernels)."""

    def sample_weights(self, views: Views) -> np.ndarray:
        """The weight of each base kernel for each new sample, of shape (n_new, n_kernels) or with outputs between.

        By default `weights`, and 0 for views that a sample lacks.
        """
        return self.stack.presence(views, self.active) * self.weights()

    def training_weights(self) -> np.ndarray | None:
        """The weights of each training sample; None (the default) if all samples have the same weights."""
        return None

    # What prediction takes

    def columns(self) -> np.ndarray:
        """Positions of all columns that prediction reads."""
        kernels = [self.stack.kernels[m] for m in np.flatnonzero(self.active)]
        return np.concatenate([*(kernel.columns() for kernel in kernels), self.reads()])

    def reads(self) -> np.ndarray:
        """Positions of the columns that prediction reads beside those of active kernels.

        By default those that other views are completed from; none where nothing is completed.
        """
        return getattr(getattr(self, "stack", None), "read_besides", np.empty(0, dtype=int))

    def values_per_sample(self, coef: np.ndarray) -> int:
        """How many kernel values of one base kernel prediction holds for each new sample."""
        return len(coef)

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        """With how many support vectors each base kernel compares a new sample, of shape (n_kernels,)."""
        return self.active * float(len(coef))

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices inside the kernel, each with the ids of the samples that prediction needs."""
        return self.stack.lookups(self.active)

    # What is kept

    @abstractmethod
    def restrict(self, index: np.ndarray) -> CombinedKernel:
        """The kernel over some training samples (support vectors), with no more than prediction needs.

        Parameters
        ----------
        index : ndarray of int
            Positions among the training samples, in ascending order.

        Returns
        -------
        CombinedKernel
            For new samples only; what it gives for the training samples is not defined. It has no `solution`.
        """

    def _over(self, stack: Any, **changed: Any) -> Self:
        """A copy over the stack as prediction needs it, without solution and history, some attributes changed."""
        lean = copy(self)
        lean.stack = stack
        for name in self._of_fit:
            vars(lean).pop(name, None)
        vars(lean).update(changed)
        return lean

    def compared_with(self, points: Views) -> CombinedKernel:
        """The same kernel between samples and other points than the training samples (landmarks)."""
        raise ValueError(f"landmarks need a weighted sum of kernels, not a {type(self).__name__}")

    def replace(self, m: int, kernel: Kernel) -> None:
        """Install a kernel with further ids in the place of base kernel m, see `KernelStack.replace`."""
        self.stack.replace(m, kernel)

    def attributes(self) -> Mapping[str, Any]:
        """What a fitted estimator shows of this kernel, by attribute name; nothing by default."""
        return {}

    def _record(self) -> Any:
        return self.stack if self.of_samples else ExplicitState.of(self)


class KernelsTimesAmplitudes(CombinedKernel):
    """k(x, z) = sum_m a_m(x) k_m(x, z) a_m(z): weights, or gates, as an amplitude of each kernel for each sample."""

    @property
    def is_sum(self) -> bool:
        return True

    @property
    def of_samples(self) -> bool:
        return self.stack.present is not None

    @abstractmethod
    def new_parts(self, views: Views) -> tuple[np.ndarray, np.ndarray, Iterator[NewPart]]:
        """Amplitudes of new samples, which views they have, and for which of them each kernel is computed."""

    @abstractmethod
    def right(self) -> np.ndarray | None:
        """Amplitudes of the training samples, of shape (n_samples, n_kernels); None where coefficients have them."""

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        K = self.operand(out)
        if isinstance(K, np.ndarray):
            return K
        advice = "another combiner, such as Mean, ConvexMKL or Localized"
        raise lazy_storage_error(1, self.n_samples, "float64", f"the matrix of a {type(self).__name__}", advice)

    def cross(self, views: Views) -> np.ndarray:
        """K between new samples and the training samples, or amplitudes times explicit features of new samples."""
        left, _, parts = self.new_parts(views)
        return self.crossed(parts, left)

    def crossed(self, parts: Iterator[NewPart], left: np.ndarray) -> np.ndarray:
        """`cross` of some new samples for each kernel, with their amplitudes."""
        return self.stack.crossed(parts, left, self.right())

    def scores(self, m: int, views: Views, present: np.ndarray, coef: np.ndarray, right: Any) -> np.ndarray:
        """Kernel m of new samples times coefficients, without their amplitudes."""
        return self.stack.scores(m, views, present, coef, right)

    def values(self, views: Views, coef: np.ndarray) -> np.ndarray:
        values = np.zeros((views.n_samples, coef.shape[1]))
        for _, rows, share in self._shares(views, coef):
            values[rows] += share
        return values

    def shares(self, views: Views, coef: np.ndarray) -> np.ndarray:
        shares = np.zeros((views.n_samples, coef.shape[1], self.n_kernels))
        for m, rows, share in self._shares(views, coef):
            shares[rows, :, m] = share
        return shares

    def _shares(self, views: Views, coef: np.ndarray) -> Iterator[tuple[int, Any, np.ndarray]]:
        left, _, parts = self.new_parts(views)
        right = self.right()
        for m, rows, part, present in parts:
            own = None if right is None else right[:, m]
            yield m, rows, left[rows, m, None] * self.scores(m, part, present, coef, own)

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray | None:
        left, present, _ = self.new_parts(views)
        return self.stack.values_in(place, views, present, left, self.right(), coef)

    def values_per_sample(self, coef: np.ndarray) -> int:
        return self.stack.values_per_sample(self.active, coef)

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        return self.active * self.stack.n_compared(coef)


class PointwiseKernel(CombinedKernel):
    """k(x, z) = f(k_1(x, z), ..., k_P(x, z); theta): a function of the values of the base kernels.

    Subclasses implement `combine`, and override `weights` where the kernels have any. A sample that lacks a view has
    the value 0 in its kernel.

    Parameters
    ----------
    stack : KernelStack
    theta : ndarray
        The parameters of the function.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.combiners import PointwiseKernel
    >>> from kernelweave.kernels import Gaussian, KernelStack, Linear
    >>> class SquaredSum(PointwiseKernel):
    ...     def combine(self, values):
    ...         return sum(values) ** 2
    >>> stack = KernelStack([Linear(), Gaussian(scale=1.0)]).fit([[1.0], [-1.0]])
    >>> SquaredSum(stack, np.empty(0)).gram().round(2)
    array([[4.  , 0.96],
           [0.96, 4.  ]])
    """

    def __init__(self, stack: KernelStack, theta: np.ndarray):
        self.stack, self.theta = stack, theta

    @abstractmethod
    def combine(self, values: Iterator[np.ndarray]) -> np.ndarray:
        """The combined values from those of the active kernels, one matrix after the other.

        The matrices are new and may be written to. Each is computed when the iterator reaches it, so that they need not
        be in memory together.
        """

    def check(self, present: np.ndarray, views: Views) -> None:
        """Refuse samples that cannot be combined, given which sample has a row in which kernel; none by default."""

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        self.check(self.stack.present, self.stack.support)
        return written(self.combine(self.stack.gram(m) for m in self._used), out)

    def operand(self, out: np.ndarray | None = None) -> Operand:
        return training(self.stack).elementwise(self, out)

    def in_parts(self) -> TiledFunction:
        """K of the training samples in parts; `combine` is given NumPy arrays, and its result goes to the place."""
        self.check(self.stack.present, self.stack.support)
        parts = self.stack.in_parts()
        place, diagonals = parts.place, parts.diagonals()
        diagonal = np.asarray(self.combine(diagonals[:, [m]].copy() for m in self._used))[:, 0]

        def combine(values: Iterator[Any], rows: np.ndarray, columns: np.ndarray) -> Any:
            return place.asarray(self.combine(np.array(place.numpy(block)) for block in values))

        return TiledFunction(parts, combine, diagonal, kernels=self._used)

    def rows(self, index: np.ndarray) -> np.ndarray:
        self.check(self.stack.present, self.stack.support)
        return self.combine(self.stack.gram_rows(m, index) for m in self._used)

    def cross(self, views: Views) -> np.ndarray:
        present = self.stack.presence(views, self.active)
        self.check(present, views)
        return self.combine(self.stack.cross(m, views, present[:, m]) for m in self._used)

    def weights(self) -> np.ndarray:
        """All ones: every kernel counts the same."""
        return np.ones(self.n_kernels)

    def restrict(self, index: np.ndarray) -> CombinedKernel:
        return type(self)(self.stack.restrict(index, self.active), self.theta)

    @property
    def _used(self) -> list[int]:
        return np.flatnonzero(self.active).tolist()


RECORDS = (KernelStack, Record, CombinedKernel)


def record_of(kernel: CombinedKernel) -> Any:
    return kernel._record() if is_own(type(kernel)) else kernel


def restored(combiner: Any, record: Any, theta: np.ndarray) -> CombinedKernel:
    if isinstance(record, CombinedKernel):
        return record
    return combiner._kernel_of(record, theta) if isinstance(record, KernelStack) else record.restored(combiner, theta)


def written(K: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    if out is None:
        return K
    out[...] = K
    return out
