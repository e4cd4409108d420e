"""Cross-validation of one kernel at a time: what `BestSingle` and the weights by performance share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...kernels import KernelStack
from ...kernels.parts.sums import SumInParts
from ...machines import Machine
from ...validation import blamed_on, is_count
from ..base import FitControl
from ..descent.family import support_rows
from .single_explicit import folds_of, held_out
from .sums import ChosenWeights

Folds = list[tuple[np.ndarray, np.ndarray]]


class SingleKernelScores(ChosenWeights):
    """Weights from how well each kernel predicts alone; a subclass defines the score and its weight.

    With explicit features the folds are about equally large and drawn without regard to classes, see
    `single_explicit`; `cv` is then a number.

    Attributes
    ----------
    measure : {"risk", "correlation"}
        What the score is with explicit features.
    """

    measure = "risk"

    why_dense = None
    why_exact = None
    cv: Any

    def scores(
        self,
        stack: KernelStack,
        machine: Machine,
        control: FitControl,
        score: Callable[[Machine, Folds], float],
        candidates: np.ndarray,
    ) -> tuple[pd.Series, int]:
        """The score of each candidate by kernel name (NaN for the others), and the number of machine solves.

        Parameters
        ----------
        stack, machine, control
            As in `ChosenWeights.choose`.
        score : callable
            Gets the machine and the held-out samples with their raw values, fold by fold.
        candidates : ndarray of int
            The kernels to try. Samples that lack a kernel's view take no part in its folds.
        """
        explicit = stack.storage == "explicit"
        splits: Any = folds_of(self, control.rng) if explicit else _splits(self, machine, control.rng)
        values = np.full(stack.n_kernels, np.nan)
        early = []
        for done, m in enumerate(candidates):
            if explicit:
                values[m], converged = self._score_in_blocks(stack, m, machine, splits, control)
            else:
                folds, converged = _held_out(self, stack, m, machine, splits, control)
                values[m] = score(machine, folds)
            early += [] if converged else [stack.names[m]]
            control.report(done + 1, len(candidates))
        if early:
            warn(
                f"{type(self).__name__} compares machines that stopped early, with the kernels {early}; raise "
                "max_iter, scale the data, or lower C",
                ConvergenceWarning,
            )
        n_folds = splits.count if explicit else len(splits)
        return pd.Series(values, index=stack.names), len(candidates) * n_folds

    def _score_in_blocks(
        self, stack: Any, m: int, machine: Any, folds: Any, control: FitControl
    ) -> tuple[float, bool]:
        """The score of a kernel with explicit features, and whether its machines converged."""
        if machine.detects_novelty:
            raise ValueError(
                f"{type(self).__name__} with an approximation judges kernels by their predictions of targets, and "
                "there are none; use Mean, or approximation=None"
            )
        found, converged = held_out(stack, m, machine, folds, control)
        if found.count == 0 or not (found.trained > 0).all():
            raise ValueError(
                f"cv of {type(self).__name__} gives a fold in which no training or no test sample has the view of the "
                f"kernel {stack.names[m]!r}; use fewer folds or remove that kernel"
            )
        return getattr(found, self.measure), converged


def risk(machine: Machine, folds: Folds) -> float:
    """The machine's risk, averaged over all held-out samples."""
    total = sum(len(test) * machine.subset(test).risk(values) for test, values in folds)
    return total / sum(len(test) for test, _ in folds)


def _held_out(
    combiner: SingleKernelScores,
    stack: KernelStack,
    m: int,
    machine: Machine,
    splits: list,
    control: FitControl,
) -> tuple[Folds, bool]:
    """Raw values of held-out samples under kernel m, and whether all machines converged."""
    alone = _Whole(stack, m) if stack.storage == "dense" else _InParts(stack, m)
    present = stack.present[:, m]
    folds, converged = [], True
    for train, test in splits:
        if not present.all():
            train, test = train[present[train]], test[present[test]]
            if len(train) == 0 or len(test) == 0:
                raise ValueError(
                    f"cv of {type(combiner).__name__} gives a fold in which no training or no test sample has the view "
                    f"of the kernel {stack.names[m]!r}; use fewer folds or remove that kernel"
                )
        solution = machine.subset(train).solve(alone.among(train), tol=control.tol, max_steps=control.max_steps)
        folds.append((test, alone.values(test, train, solution.coef) + solution.intercept))
        converged = converged and solution.converged
    return folds, converged


class _Whole:
    """One kernel of a stack, from its Gram matrix."""

    def __init__(self, stack: KernelStack, m: int):
        self.K = stack.gram(m)

    def among(self, train: np.ndarray) -> np.ndarray:
        """What a machine is solved on."""
        return self.K[np.ix_(train, train)]

    def values(self, test: np.ndarray, train: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The kernel between samples and others, times coefficients of the others."""
        return self.K[np.ix_(test, train)] @ coef


class _InParts:
    """One kernel of a stack, in parts."""

    def __init__(self, stack: KernelStack, m: int):
        self.kernel = SumInParts(stack.in_parts().only(m), np.ones((stack.n_samples, 1)))

    def among(self, train: np.ndarray) -> SumInParts:
        """What a machine is solved on."""
        return self.kernel.subset(train)

    def values(self, test: np.ndarray, train: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The kernel between samples and others, times coefficients of the others."""
        rows, coef = support_rows(coef)
        return self.kernel.product(test, train[rows], coef)


def _splits(combiner: SingleKernelScores, machine: Machine, rng: np.random.RandomState) -> list:
    from sklearn.model_selection import KFold, StratifiedKFold, check_cv

    name, wanted, strata = type(combiner).__name__, combiner.cv, machine.strata
    if is_count(wanted):
        smallest = machine.n_samples if strata is None else np.unique(strata, return_counts=True)[1].min()
        n_folds = min(wanted, int(smallest))
        if n_folds < 2:
            raise ValueError(
                f"{name} cannot split the samples into {wanted} folds: it needs cv of at least 2 and two "
                f"samples of every class, but cv is {wanted} and the smallest class has {smallest}"
            )
        splitter = KFold if strata is None else StratifiedKFold
        cv = splitter(n_folds, shuffle=True, random_state=rng)
    else:
        with blamed_on(f"cv of {name}"):
            cv = check_cv(wanted, strata, classifier=strata is not None)
    everybody = np.arange(machine.n_samples)
    with blamed_on(f"cv of {name}"):
        folds = list(cv.split(np.zeros((machine.n_samples, 1)), strata))
        splits = [(everybody[train], everybody[test]) for train, test in folds]
    if not splits or any(len(part) == 0 for split in splits for part in split):
        raise ValueError(f"cv of {name} gives no folds, or a fold without training or test samples")
    return splits
