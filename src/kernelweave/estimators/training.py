"""Training: from the samples of a fit to the stack and the machine that its combiner is fitted with.

The parameters `approximation`, `storage` and `device` choose the form of the stack:

=============  =========  ==================================================================================
approximation  storage    stack
=============  =========  ==================================================================================
None           "dense"    `Matrices`: Gram matrices are held, or made when a combiner reads them
None           "lazy"     `Tiles`: kernels are computed in parts, on the host or on a device
None           "auto"     matrices while all of them take at most `dense_bytes` of the configuration, and tiles
                          beyond it; matrices where a part of the model needs them; tiles on a device
others         "dense"    `Features` that are held
others         "lazy"     `Features` that are computed again in each pass over the samples
others         "auto"     held while they take at most `MEMORY_SHARE` of the free memory
=============  =========  ==================================================================================

Kernels in parts are computed in float32 by default, and Gram matrices are held in it where the user wants that. Both
are float64 where coefficients may be so large that the rounding of kernel values would show in the objective J. With k
the largest k(x, x), errors E[i, j] of values are at most epsilon k. Those of different pairs have nothing to do with
each other or with the labels, so that J changes by  1/2 c'E c,  which is about  1/2 epsilon k ||c||^2.  Coefficients
are at most C and  ||c||^2 <= C sum_i |c_i| <= 2 C J,  which makes at most about  epsilon C k  of J, with targets of
size 1. A gap that is reported contains `ROUNDINGS` times that change, so that it holds for the kernel in float64.
Of a machine without targets coefficients add up to 1, and what counts is what rounding leaves of sample differences.

Explicit features take three passes before training: labels and counts, the reservoir (on which kernels, normalisation
and feature maps are fitted), and the features of every block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._config import get_config
from .._warnings import warn
from ..arrays import chosen_place
from ..combiners import ChosenWeights, Combiner, PerOutput, Product
from ..engines import Engine, InMemory
from ..engines.base import Rows
from ..engines.device import blocks_on_device
from ..engines.files import FromFiles
from ..engines.memory import Block, feature_block, feature_bytes
from ..engines.reservoir import fitted_maps
from ..engines.targets import NoLoss, OutcomeTargets, with_targets
from ..features import FeatureMap, approximations_of
from ..features.completion import CompletedMap, FeatureCompletion
from ..kernels import Kernel, KernelStack, named_kernels
from ..kernels.completion import CompletedStack
from ..kernels.resources import KernelMemoryError, kernel_memory_error
from ..kernels.stack import default_kernels, product_sizes
from ..machines import (
    LeastSquaresMachine,
    Machine,
    OneVsOneMachine,
    PosteriorMachine,
    SquaredError,
    SquaredMargin,
    SurvivalMachine,
)
from ..machines.base import PlainMachine
from ..machines.independent import IndependentMachines
from ..stacks import ExactStack, TrainingStack, training
from ..stacks.completed import CompletedMatrices
from ..stacks.explicit import Features
from ..stacks.tiles import Tiles
from ..validation import shown
from .samples import Samples, has_approximation

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
MEMORY_SHARE = 0.6  # share of the free memory that explicit features may take
FEATURES = 'approximation="nystroem"'

#: Among which C="gcv" chooses.
GCV_COSTS = 10.0 ** np.arange(-3.0, 4.5, 0.5)
EXACT = "approximation=None for the exact model"

NamedKernels = Sequence[tuple[str, Kernel]]


class Training(NamedTuple):
    """What a combiner is fitted with, and how kernels or features are held ("dense" or "lazy")."""

    stack: TrainingStack
    machine: Machine
    storage: str


def training_of(
    estimator: Any, samples: Samples, n_samples: int, targets: Any, combiner: Combiner, rng: np.random.RandomState
) -> Training:
    if estimator.approximation is not None:
        reads = bool(_inner(combiner).methods & {"gates", "project"})
        return on_features(estimator, samples.engine, n_samples, targets, rng, with_samples=reads)
    rows = samples.whole
    kernels = ExactKernels(estimator, rows, combiner)
    machine, y = targets(
        rows.y,
        rows.weight,
        estimator._posteriors(samples.posterior, rows.y, lambda: kernels.before(targets(rows.y, rows.weight)[0])),
    )
    if estimator._chooses_cost:
        machine = machine.choosing_among(GCV_COSTS)
    if not machine.is_separable:  # supervised transformers take numbers, too
        kernels.targets = y
    stack = kernels.stack_for(combiner, machine)
    return Training(stack.for_machine(machine, y), machine, stack.storage)


@contextmanager
def explained_memory_errors(stack: Any) -> Iterator[None]:
    """Turn a `MemoryError` of a fit on exact kernels into one that names the combined kernel and remedies."""
    try:
        yield
    except KernelMemoryError:
        raise
    except MemoryError as error:
        if isinstance(stack, Tiles):
            raise KernelMemoryError(
                f"out of memory: {stack.n_kernels} kernels of {stack.n_samples} samples are computed in parts, and "
                "memory does not hold these; use kernelweave.set_config(cache_bytes=0), fewer samples or columns"
            ) from error
        if not isinstance(stack, ExactStack):
            raise
        needed = 3, stack.n_samples, stack.dtype, "the combined kernel"
        raise kernel_memory_error(*needed, instead=stack.instead) from error


# Combinations that are refused


def lacking(form: type[TrainingStack], combiner: Combiner, kernels: NamedKernels) -> str | None:
    """Why a combiner cannot be fitted on a form of stacks, as the beginning of a sentence; None where it can."""
    return next((why for operation, why in combiner.needs(kernels).items() if operation not in form.offers), None)


def check_features(estimator: Any, combiner: Combiner, posterior: Any) -> None:
    """Raise a `ValueError` where parameters of an estimator are incompatible with its approximation, if it has one."""
    if estimator.approximation is None:
        return
    if posterior is not None or getattr(estimator, "soft_labels", None) is not None:
        raise ValueError(
            "soft labels need approximation=None: the posterior-probability machine has no smooth loss, which explicit "
            f"features need; give labels without posteriors (soft_labels=None), or {EXACT}"
        )
    kernels = () if estimator.kernels is None else named_kernels(estimator.kernels)
    why, loss = lacking(Features, combiner, kernels), estimator._loss()
    refused = f"approximation={shown(estimator.approximation)} gives kernels explicit features, but {why}"
    if not _takes_features(loss):
        name = f"the loss {type(loss).__name__} is not smooth"
        if why is not None:
            raise ValueError(f"{refused}, and {name}; use {EXACT}")
        smooth = ", ".join(f'"{name}"' for name in estimator._smooth)
        raise ValueError(
            f"machine={shown(estimator.machine)} is for approximation=None: explicit features are fitted by gradients, "
            f'and {name}; use machine={smooth} or a smooth loss of your own, or {EXACT} (machine="auto", the default, '
            "chooses by itself)"
        )
    if kernels:
        approximations_of(estimator.approximation, estimator.kernels)
    if why is not None:
        raise ValueError(f"{refused}; use {', '.join(_other_combiners(Features, combiner, kernels))}, or {EXACT}")


def check_completion(estimator: Any, combiner: Combiner) -> None:
    """Raise a `ValueError` where the parameters of an estimator say that views are completed, and they cannot be."""
    if estimator.missing == "native":
        return
    if _inner(combiner).methods & {"gates", "project"}:
        raise ValueError(
            f'missing="complete" completes kernels, and {type(_inner(combiner)).__name__} reads the views themselves; '
            'use missing="native", or another combiner, such as Mean or LpMKL'
        )
    why = lacking(CompletedMatrices, combiner, ())
    if why is not None and estimator.approximation is None:
        raise ValueError(
            f'missing="complete" completes the Gram matrices of given kernels, but {why}; use missing="native", or '
            "another combiner, such as Mean or LpMKL"
        )


def check_choice_of_cost(estimator: Any, combiner: Combiner) -> None:
    # C="gcv" is for least squares on one kernel that is held, and found before the machine is solved.
    if not estimator._chooses_cost:
        return
    search = "or choose C by GridSearchCV"
    if not isinstance(estimator._loss(), SquaredMargin | SquaredError):
        raise ValueError(f'C="gcv" is for machine="least-squares", not {shown(estimator.machine)}; use that, {search}')
    for name, allowed in (("approximation", (None,)), ("storage", ("auto", "dense"))):
        if getattr(estimator, name) not in allowed:
            given = f"{name}={shown(getattr(estimator, name))}"
            raise ValueError(f'C="gcv" reads a whole Gram matrix, which {given} does not hold; leave it out, {search}')
    if not chosen_place(estimator.device).is_host:
        raise ValueError(f'C="gcv" reads a whole Gram matrix, so that it is for device="cpu"; use that, {search}')
    if isinstance(combiner, PerOutput):
        raise ValueError(f'C="gcv" is one C of one kernel for all outputs; use weights="shared", {search}')
    if getattr(estimator, "multiclass", None) == "one-vs-one" and len(estimator.classes_) > 2:
        raise ValueError(f'C="gcv" is one C of one machine; use multiclass="one-vs-all", {search}')
    if not isinstance(combiner, ChosenWeights | Product):
        raise ValueError(
            f'C="gcv" is for combiners whose kernel is found before the machine is solved, such as Mean, and '
            f"{type(combiner).__name__} finds it for a given C; use such a combiner, {search}"
        )


def check_multiclass(estimator: Any, n_classes: int) -> None:
    if estimator.approximation is not None and n_classes > 2 and estimator.multiclass != "one-vs-all":
        raise ValueError(
            f"multiclass={shown(estimator.multiclass)} needs approximation=None: on explicit features {n_classes} "
            f'classes are one machine for each class; use multiclass="one-vs-all", or {EXACT}'
        )


def _takes_features(loss: Any) -> bool:
    """Whether machines of a loss are solved on explicit features; None is the loss of one class: true."""
    if loss is None:
        return True
    machine = loss.for_targets(np.array([1.0, -1.0]), np.ones(2))
    return machine.is_smooth and machine.is_separable


def has_features(combiner: Combiner, machine: Machine, kernels: NamedKernels) -> bool:
    """Whether a model can have explicit features, perhaps with the squared form of its loss."""
    one, others = _single(machine), PosteriorMachine | OneVsOneMachine
    served = isinstance(one, PlainMachine | LeastSquaresMachine | SurvivalMachine) and not isinstance(machine, others)
    return served and lacking(Features, combiner, kernels) is None


def _single(machine: Machine) -> Any:
    if not isinstance(machine, IndependentMachines):
        return machine
    return machine.maker.for_targets(np.array([1.0, -1.0]), np.ones(2))


def _inner(combiner: Combiner) -> Combiner:
    while isinstance(combiner, PerOutput):
        combiner = combiner.combiner
    return combiner


def _other_combiners(form: type[TrainingStack], combiner: Combiner, kernels: NamedKernels) -> list[str]:
    inner = _inner(combiner)
    name, own = type(inner).__name__, []
    for parameter, entry in signature(type(inner)).parameters.items():
        if entry.default is not entry.empty:
            other = clone(inner).set_params(**{parameter: entry.default})
            if lacking(form, other, kernels) is None:
                own.append(f"{name}({parameter}={shown(entry.default)}), which is the default")
    *first, last = [other for other in ("Mean", "ConvexMKL", "Localized") if other != name]
    return [*own[:1], f"another combiner, such as {', '.join(first)} or {last}"]


#: What in a model needs whole Gram matrices, as a sentence, and what to use in its place.
Obstacle = tuple[str, list[str]]
_SUPPORT_VECTORS = 'the support vector machine, machine="svm"'


def obstacle_to_tiles(combiner: Combiner, machine: Machine, kernels: NamedKernels) -> Obstacle | None:
    """Why a model cannot have kernels in parts: its machine, its combiner or a kernel; None where it can.

    Where there are several obstacles, the remedy of one of them would lead to the next, so it is not named.
    """
    found: list[Obstacle] = []
    if not machine.takes_parts:
        found.append((f"a {_single(machine).kind} is solved on the whole Gram matrix", [_SUPPORT_VECTORS]))
    why = lacking(Tiles, combiner, kernels)
    if why is not None:
        found.append((why, _other_combiners(Tiles, combiner, kernels)))
    for name, kernel in kernels:
        repair = getattr(kernel, "repair", None)  # None of a kernel that cannot be fitted, which tells why by itself
        if repair is not None and not kernel.positive_semidefinite:
            why = f"the kernel {name!r} has repair={repair!r}, which takes eigenvalues of its Gram matrix"
            found.append((why, ["repair=None for that kernel, or a kernel that is positive semidefinite"]))
            break
    if not found:
        return None
    features = [FEATURES] * (not machine.takes_parts and has_features(combiner, machine, kernels))
    remedies = found[0][1] if len(found) == 1 else []
    return ", and ".join(why for why, _ in found), remedies + features


# Exact kernels


class ExactKernels:
    """The kernels of an estimator for its training samples: fitted once it is known how they are to be held."""

    def __init__(self, estimator: Any, rows: Rows, combiner: Combiner):
        self.combiner = combiner
        self.kernels = named_kernels(default_kernels(rows.views) if estimator.kernels is None else estimator.kernels)
        self.normalize, self.storage, self.dtype = estimator.normalize, estimator.storage, estimator.dtype
        self.completes = estimator.missing == "complete"
        self.place, self.rows, self.targets = chosen_place(estimator.device), rows, rows.y
        self.offers_features = has_approximation(estimator)
        self._fitted_before: KernelStack | None = None
        if self.storage == "dense" and not self.place.is_host:
            raise ValueError(
                f'storage="dense" is for device="cpu", and device="{estimator.device}" computes kernels in parts; use '
                'storage="auto" or "lazy"'
            )

    def before(self, machine: Machine) -> ExactStack:
        """The fitted kernels in float64, from which a machine with soft labels is made; `machine` has hard ones."""
        self._fitted_before = self._fitted("lazy" if self._lazy(self.combiner, machine) else "dense")
        stack = self._fitted_before
        if stack.storage == "lazy":
            stack = stack.at(self.place)  # whose tiles are in float64, and not kept
        stack.dtype = np.dtype("float64")  # the costs, by which float32 may be enough, are not known
        return _completed(stack)

    def _lazy(self, combiner: Combiner, machine: Machine) -> bool:
        return self._wants_tiles() and self._can_use_tiles(self._obstacle(combiner, machine))

    def stack_for(self, combiner: Combiner, machine: Machine) -> ExactStack:
        before = self._fitted_before
        if before is not None:
            stack = self._with_storage(before, before.storage)
        else:
            stack = self._fitted("lazy" if self._lazy(combiner, machine) else "dense")
        if stack.dtype.name == "float32" and self._largest_cost(combiner, machine, stack) > LARGEST_COST:
            stack.dtype = np.dtype("float64")
        if stack.storage == "lazy":
            self._warn_if_large(combiner, machine)
        else:
            stack.instead = self._remedies(combiner, machine)
        return training(stack) if stack is before else _completed(stack)

    def _warn_if_large(self, combiner: Combiner, machine: Machine) -> None:
        n, most = self.rows.n_samples, LARGEST_ON_HOST if self.place.is_host else LARGEST_ON_DEVICE
        if n > most and self._has_features(combiner, machine):
            warn(
                f"the exact model of {n} samples compares each of them with each support vector, in time that grows "
                f"with the square of their number; above {most} samples {FEATURES} is advised, in time that grows with "
                "their number (docs/choosing_scale.md)"
            )

    def _remedies(self, combiner: Combiner, machine: Machine) -> list[str]:
        parts, features = self._obstacle(combiner, machine) is None, self._has_features(combiner, machine)
        return ['storage="lazy"'] * parts + [FEATURES] * features

    def _has_features(self, combiner: Combiner, machine: Machine) -> bool:
        return self.offers_features and has_features(combiner, machine, self.kernels)

    def _obstacle(self, combiner: Combiner, machine: Machine) -> Obstacle | None:
        found = obstacle_to_tiles(combiner, machine, self.kernels)
        if not self.completes:
            return found
        why = 'missing="complete" completes whole Gram matrices'
        return (why, ['missing="native"']) if found is None else (f"{why}, and {found[0]}", [])

    def _wants_tiles(self) -> bool:
        if self.storage == "auto" and self.place.is_host:
            return not is_small(len(self.kernels), self.rows.n_samples, self.dtype)
        return self.storage != "dense"

    def _can_use_tiles(self, obstacle: Obstacle | None) -> bool:
        if obstacle is not None and not (self.storage == "auto" and self.place.is_host):
            raise ValueError(self._refusal(*obstacle))
        return obstacle is None

    def _refusal(self, why: str, remedies: list[str]) -> str:
        P, n = len(self.kernels), self.rows.n_samples
        size = dense_bytes(P, n, self.dtype) / 2**30
        whole = f"{P} matrices" if P > 1 else "a matrix"
        asked, dense = 'storage="lazy"', 'storage="dense"'
        if not self.place.is_host:
            asked, dense = "a device other than the CPU", 'device="cpu" and storage="dense"'
        return (
            f"{asked} computes kernels in parts, but {why}: {whole} of {n} x {n} {self.dtype or 'float64'}, "
            f"{size:.3g} GiB; use {', or '.join([dense, *remedies])}"
        )

    def _fitted(self, storage: str) -> KernelStack:
        settings: dict[str, Any] = {"place": self.place, "cache_bytes": get_config()["cache_bytes"]}
        kind = CompletedStack if self.completes else KernelStack
        stack = self._with_storage(kind(self.kernels, self.normalize, **settings), storage)
        return stack.fit(self.rows.views, self.rows.weight, self.targets)

    def _with_storage(self, stack: KernelStack, storage: str) -> KernelStack:
        stack.storage = storage
        stack.dtype = np.dtype(("float64" if storage == "dense" else "float32") if self.dtype is None else self.dtype)
        return stack

    def _largest_cost(self, combiner: Combiner, machine: Machine, stack: KernelStack) -> float:
        if machine.detects_novelty:  # coefficients add up to 1, whatever the bounds are
            return max((_largest_mean(stack, m) for m in range(len(stack.kernels))), default=0.0)
        cost = float(np.max(getattr(machine, "bound", 0.0)))
        if machine.strata is None and machine.is_separable and self.rows.y is not None:  # regression
            size = np.std(np.asarray(self.rows.y, dtype=float), axis=0).min()
            cost /= size if size > 0.0 else 1.0
        return cost * _largest_value(combiner, stack)


def _completed(stack: KernelStack) -> ExactStack:
    if isinstance(stack, CompletedStack):
        stack.complete()
    return training(stack)


def rounding(combiner: Combiner, stack: Any, coef: np.ndarray) -> float:
    """By how much J may differ from that of exact kernels in float64; 0 for those."""
    if not isinstance(stack, ExactStack) or stack.dtype.name == "float64":
        return 0.0
    unit = 0.5 * float(np.finfo(stack.dtype).eps)
    return ROUNDINGS * 0.5 * unit * _largest_value(combiner, stack) * float(np.vdot(coef, coef))


def _largest_value(combiner: Combiner, stack: KernelStack) -> float:
    largest = [_largest_of(stack, m) for m in range(len(stack.kernels))]
    return combiner.largest_value(stack.names, np.array(largest))


def _largest_of(stack: KernelStack, m: int) -> float:
    """The largest k(x, x) of a kernel, or a bound of it; 0 where values are not finite, which is an error later on."""
    method = stack.normalizers[m].method
    if method == "unit-diagonal":
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = stack.measured(m).diagonal(stack.reference)[stack.present[:, m]]
        largest = float(np.max(diagonal, initial=0.0))
        if method == "unit-trace":
            largest /= max(float(diagonal.mean()), np.finfo(float).tiny) if len(diagonal) else 1.0
    return largest if np.isfinite(largest) else 0.0


def _largest_mean(stack: KernelStack, m: int) -> float:
    """The largest <x, x> of a kernel of products relative to the mean of <x, x> around the mean; 0 of others."""
    sizes = product_sizes(stack.measured(m), stack.reference)
    return max((float(raw.max() / left.mean()) for raw, left in sizes if len(raw)), default=0.0)


def dense_bytes(n_kernels: int, n_samples: int, dtype: str | None) -> int:
    return n_kernels * n_samples**2 * np.dtype(dtype or "float64").itemsize


def is_small(n_kernels: int, n_samples: int, dtype: str | None) -> bool:
    return dense_bytes(n_kernels, n_samples, dtype) <= get_config()["dense_bytes"]


# Explicit features


@dataclass(frozen=True)
class Preparation:
    maps: list[FeatureMap]
    stack: KernelStack | FeatureCompletion  # over the reservoir, whose kernels find out who has which view
    machine_of: Any  # (y, weight) -> machine of these samples, and targets as combiners take them
    dtype: np.dtype
    held: bool = True  # whether features are held, or computed again in every pass
    with_samples: bool = True  # whether blocks have the samples themselves, which gates and projections read

    def __call__(self, rows: Rows) -> Block:
        present = self.stack.presence(rows.views.rows(slice(None)))  # what is read of them is dropped with them
        features = feature_block(self.maps, rows.views, present, self.dtype, held=self.held)
        machine, y = self.machine_of(rows.y, rows.weight)
        there, views = None if present.all() else present, rows.views if self.with_samples else None
        return Block(rows.first, features, machine.terms, y, rows.weight, there, views=views)


def on_features(
    estimator: Any, engine: Engine, n_samples: int, targets: Any, rng: np.random.RandomState, with_samples: bool = True
) -> Training:
    """The features of all samples, and the machine of the reservoir, whose rule of decisions is used."""
    whole: Machine | None = None
    if isinstance(targets, OutcomeTargets):
        if not chosen_place(estimator.device).is_host:
            raise ValueError(
                f"{type(estimator).__name__} compares the scores of all samples, which explicit features on a device "
                'do not hand out; use device="cpu", or approximation=None, which is exact and computes on the device'
            )
        whole, numbers = targets.whole()
        engine, targets = engine.replace(with_targets, numbers, keep=False), NoLoss.of
    given = estimator.kernels, estimator.normalize, estimator.approximation
    reservoir, stack, maps, dtype = fitted_maps(engine, *given, rng, estimator.dtype)
    machine: Machine = targets(reservoir.y, reservoir.weight)[0] if whole is None else whole
    finder: KernelStack | FeatureCompletion = stack
    if estimator.missing == "complete":
        finder = FeatureCompletion(stack, maps, reservoir.views, reservoir.weight)
        maps = [CompletedMap(finder, m) for m in range(len(maps))]
    place = chosen_place(estimator.device)
    if place.is_host:
        free = engine.free_memory() if estimator.storage == "auto" else None
        size = feature_bytes(n_samples, sum(m.n_features for m in maps), dtype)
        held = estimator.storage != "lazy" and (free is None or size <= MEMORY_SHARE * free)
        blocks = engine.replace(Preparation(maps, finder, targets, dtype, held, with_samples), keep=held)
    else:
        preparation = Preparation(maps, finder, targets, dtype)
        blocks, held = blocks_on_device(_rows(engine), n_samples, preparation, place, estimator.storage)
    return Training(Features(stack, maps, blocks, n_samples), machine, "dense" if held else "lazy")


def _rows(engine: Engine) -> Iterable[Rows]:
    if isinstance(engine, FromFiles):
        return engine.results(lambda rows: rows)
    if isinstance(engine, InMemory):
        return engine.blocks
    raise ValueError(
        "a device computes with samples in memory or in files of this machine, and X is divided among workers; use "
        'device="cpu"'
    )
