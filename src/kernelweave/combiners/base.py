"""The protocol of a combiner: a rule that makes one kernel of several, and how its parameters are found.

`Combiner.fit` is given the training stack of base kernels, which has the targets too, and the machine. It returns a
`CombinedKernel` with the machine's optimum under it. There are three ways to write a combiner:

- choose one weight for each kernel, then solve the machine once: `weighted.ChosenWeights`, whose subclasses implement
  `choose`;
- define a family of kernels K_theta with a gradient, and let the common descent find theta:
  `descent.DescentCombiner`, whose subclasses implement `family`;
- anything else: implement `learn`, and return a combined kernel.

Parameters with one number per kernel are given by kernel name or in order. ``combiner__weights__fac`` or
``combiner__costs__fac`` of an estimator is an ordinary parameter of a search.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from .._warnings import warn
from ..kernels import Kernel, KernelStack
from ..kernels.completion import CompletedStack
from ..machines import Machine
from ..stacks import FitControl, TrainingStack, training
from ..validation import Parametrised, is_number, shown
from ..validation.schemas import Schema, Sizes, agree, is_own, numbers, object_of, refuse
from .combined import RECORDS, CombinedKernel, ExplicitState

__all__ = ["Combiner", "FitControl", "fit_combiner", "with_targets"]


class Combiner(ABC, Parametrised):
    """A rule that makes one kernel of several; its parameters follow scikit-learn's conventions.

    Attributes
    ----------
    methods : frozenset of str
        The methods of the estimator that its combined kernel supports: "gates", "region", "local_values", "project",
        "gating_space".
    reads_gram : bool
        Whether base Gram matrices are read; if not, it does not help to compute them beforehand.
    by_kernel : tuple of str
        Parameters that may have an entry for each kernel, by name or in order.
    """

    reads_gram = True
    by_kernel: tuple[str, ...] = ()
    _records: tuple[type, type] = KernelStack, ExplicitState  # of its kernels, of samples and of explicit features
    _uses_all = False  # whether kernels without a weight are used, too

    @property
    def methods(self) -> frozenset[str]:
        """None by default; those of a class for version 0.2, which called them `offers`."""
        return frozenset(getattr(self, "offers", ()))

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """The operations of a stack without which this combiner cannot be fitted, each with the reason.

        A combiner whose `fit` is its own needs "gram" by default: it may read whole Gram matrices.

        Parameters
        ----------
        kernels : sequence of (name, Kernel)
            The kernels of the model; none where it is asked before they are known.

        Returns
        -------
        dict from operation to reason
            Operations are those of `stacks.base.TrainingStack.offers`; a reason is the beginning of a sentence of an
            error message, which goes on with sizes and remedies.
        """
        return {"gram": f"{type(self).__name__} reads whole Gram matrices"}

    def largest_value(self, names: list[str], largest: np.ndarray) -> float:
        """A bound of the combined kernel's k(x, x), by which the precision of kernel values is chosen.

        Parameters
        ----------
        names : list of str
            The kernels.
        largest : ndarray of shape (n_kernels,)
            The largest k(x, x) of each; the largest of them is the bound by default, as where weights add up to 1.
        """
        return float(largest.max())

    def fit(
        self, stack: TrainingStack, machine: Machine, control: FitControl | None = None, *old: Any
    ) -> CombinedKernel:
        """Find the kernel, and solve the machine under it.

        Parameters
        ----------
        stack : TrainingStack or KernelStack
            The base kernels over the training samples, with their targets where these are no labels.
        machine : Machine
            The loss, with its targets and costs; of explicit features, that of a sample, as the stack has all targets.
        control : FitControl, optional
        old
            As ``fit(stack, machine, y, control)`` of version 0.2: y is the third argument then. It is deprecated since
            0.3 and goes in 0.4; use ``training(stack).for_machine(machine, y)`` of `kernelweave.stacks` as the stack.
        """
        y = None
        if old or not (control is None or isinstance(control, FitControl)):
            y, control = control, old[0] if old else None
            warn(
                f"the argument `y` of {type(self).__name__}.fit is deprecated since 0.3 and goes in 0.4; use "
                "fit(stack, machine, control), where kernelweave.stacks.training(stack).for_machine(machine, y) has y",
                FutureWarning,
            )
        stack = training(stack)
        if y is not None or getattr(stack, "targets", None) is None:
            stack = stack.for_machine(machine, y)
        return self.learn(stack, machine, control or FitControl())

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> CombinedKernel:
        """`fit`, as a subclass implements it; parameters are those of `fit`."""
        raise TypeError(f"{type(self).__name__} needs a method learn(stack, machine, control)")

    def for_kernels(self, names: list[str], kept: list[str]) -> Combiner:
        """A copy for a model with some of the kernels: entries of the other kernels leave its parameters.

        Parameters
        ----------
        names : list of str
            All kernels, in order.
        kept : list of str
            The kernels that stay, in the same order.

        Examples
        --------
        >>> from kernelweave.combiners import GroupMKL
        >>> GroupMKL({"image": ["fac", "pix"], "shape": ["mor"]}).for_kernels(["fac", "pix", "mor"], ["pix", "mor"])
        GroupMKL(groups={'image': ['pix'], 'shape': ['mor']})
        """
        other = clone(self)
        for parameter, value in self.get_params(deep=False).items():
            if isinstance(value, Combiner):
                other.set_params(**{parameter: value.for_kernels(names, kept)})
            elif parameter in self.by_kernel:
                other.set_params(**{parameter: entries_of(value, names, kept)})
        return other

    def _kernel_of(self, stack: Any, theta: np.ndarray) -> CombinedKernel:
        """The kernel with these parameters over a stack from a file; a weighted sum by default."""
        if hasattr(self, "kernel"):
            return self.kernel(stack, theta)
        from .weighted import WeightedSum  # it imports this module

        return WeightedSum(stack, theta, owner=type(self).__name__)

    def _check_record(self, record: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
        """Refuse a record and parameters from a file that do not fit the combiner."""
        agree(sizes, "kernels", len(theta), f"{path}._theta")
        stack = record if isinstance(record, KernelStack) else record.stack
        used = (theta != 0) | self._uses_all
        if not used.any() or (used & ~stack.active).any():
            refuse(f"{path}._theta", "uses no kernel, or one of which nothing is kept")


def check_record(combiner: Combiner, record: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
    if not is_own(type(record)) and not is_own(type(combiner)):
        return
    kind = combiner._records[isinstance(record, ExplicitState)]
    if type(record) is not kind and not (kind is KernelStack and type(record) is CompletedStack):
        refuse(f"{path}._state", f"is a {type(record).__name__}, which {type(combiner).__name__} never has")
    combiner._check_record(record, theta, sizes, path)


def _check_combined(value: Any, sizes: Sizes, path: str) -> None:
    fields = vars(value)
    check_record(value.combiner_, fields["_state"], fields["_theta"], sizes, path)


# What a file holds in the place of the attribute `_kernel` of a model.
COMBINED = Schema(
    {
        "_state": object_of(RECORDS, "columns", "kernels", "support"),
        "_theta": numbers("parameters"),
        "combiner_": object_of(Combiner),
    },
    _check_combined,
)


def fit_combiner(combiner: Combiner, stack: TrainingStack, machine: Machine, control: FitControl) -> CombinedKernel:
    """``combiner.fit``, also of a class outside the package with the signature of version 0.2."""
    return with_targets(combiner.fit, stack, stack, machine, control)


def with_targets(method: Callable[..., Any], stack: TrainingStack, *given: Any) -> Any:
    """``method(*given)``; one of version 0.2 takes the targets of the stack before the last argument."""
    if not takes_targets(method):
        return method(*given)
    warn(
        f"the parameter `y` of {method.__qualname__} is deprecated since 0.3 and goes in 0.4; use `stack.targets` "
        "(targets of explicit features are in blocks, and are not handed beside the stack)",
        FutureWarning,
    )
    return method(*given[:-1], getattr(stack, "targets", None), given[-1])


def takes_targets(method: Callable[..., Any]) -> bool:
    """Whether a method is written for version 0.2, whose methods had a parameter y."""
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    return code is not None and "y" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def as_numbers(value: Any, names: list[str], parameter: str, default: float) -> np.ndarray:
    """One finite number per kernel, of at least 0, in the order of the kernels."""
    if value is None:
        value = {}
    if isinstance(value, pd.Series):  # such as the kernel_weights_ of another model
        if not value.index.is_unique:
            raise ValueError(f"{parameter} is a series that names a kernel twice")
        value = value.to_dict()
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - set(names), key=str)
        if unknown:
            raise ValueError(f"{parameter} names kernels that are not there: {unknown}; there are {names}")
        value = [value.get(name, default) for name in names]
    try:
        numbers = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{parameter} must be numbers, by kernel name or in order, not {shown(value)}") from None
    if numbers.ndim == 0:
        numbers = np.full(len(names), float(numbers))
    if numbers.shape != (len(names),):
        raise ValueError(f"{parameter} must have one entry for each of the {len(names)} kernels, not {numbers.shape}")
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise ValueError(f"{parameter} must be finite and at least 0, not {numbers.tolist()}")
    return numbers


def entries_of(value: Any, names: list[str], kept: list[str]) -> Any:
    """The value of a parameter with an entry for each kernel, for some of the kernels."""
    if isinstance(value, Mapping | pd.Series):
        gone = set(names) - set(kept)
        return {name: entry for name, entry in value.items() if name not in gone}
    if isinstance(value, list | tuple | np.ndarray) and np.shape(value)[:1] == (len(names),):
        return [entry for entry, name in zip(value, names, strict=True) if name in kept]
    return value


class NamedNumbers(BaseEstimator):
    """`get_params` and `set_params` that reach by kernel name into parameters that a subclass lists in `_numbers`."""

    _numbers: tuple[str, ...] = ()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; with `deep`, also the entries of mappings from kernel name to number."""
        params = super().get_params(deep=deep)
        for parameter in self._numbers if deep else ():
            if isinstance(params[parameter], Mapping):
                params |= {f"{parameter}__{name}": number for name, number in params[parameter].items()}
        return params

    def set_params(self, **params: Any) -> NamedNumbers:
        """Set parameters, also single numbers such as ``costs__fac``; a mapping is copied, never written to."""
        entries: dict[str, dict[str, Any]] = {}
        for key in list(params):
            parameter, separator, name = key.partition("__")
            if separator and parameter in self._numbers:
                value = params.get(parameter, getattr(self, parameter))
                if _is_empty(value) or isinstance(value, Mapping | pd.Series):
                    entries.setdefault(parameter, {})[name] = params.pop(key)
                elif not hasattr(value, "set_params"):
                    raise ValueError(f"{key} cannot be set: {parameter} is not a mapping from kernel name to number")
        super().set_params(**params)
        for parameter, changed in entries.items():
            value = getattr(self, parameter)
            setattr(self, parameter, {**({} if _is_empty(value) else dict(value)), **changed})
        return self


def _is_empty(value: Any) -> bool:
    """Whether no kernel has a number: None, or 0 for all, as in a mapping without entries where 0 is the default."""
    return value is None or (is_number(value) and value == 0)
