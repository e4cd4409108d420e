"""Weighted sums of kernels: the combined kernel itself, and weights that are chosen before the machine is solved.

Fixed rules (thesis 2.1) are `Mean` and `FixedWeights`. `BestSingle` and the three heuristics of 2.2.1.3 (end) cross-
validate the machine on each kernel alone; a sample that lacks a kernel's view takes no part in judging that kernel.

==========================================  ===============================================  ====================
thesis                                      here                                             class
==========================================  ===============================================  ====================
eta                                         theta, one weight for each kernel                `WeightedSum`
k_eta                                       `gram` (training samples), `cross` (new ones)    `WeightedSum`
(pi_m - delta) / sum_h (pi_h - delta)       pi: accuracy, delta: threshold                   `AccuracyWeights`
R_m / sum_h R_h                             R: correlation of prediction and target          `CorrelationWeights`
(sum_h M_h - M_m) / ((P - 1) sum_h M_h)     M: mean squared error                            `ErrorWeights`
==========================================  ===============================================  ====================
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..kernels import Kernel
from ..kernels.stack import NewPart
from ..machines import Machine
from ..machines.base import Operand
from ..solvers.sums import KernelBlock, sum_kernels
from ..stacks import FitControl, TrainingStack, training
from ..stacks.base import missing_factor
from ..validation import Constraints, Number, check_parameters
from ..views import Views
from .base import Combiner, NamedNumbers, as_numbers, takes_targets, with_targets
from .combined import KernelsTimesAmplitudes


class WeightedSum(KernelsTimesAmplitudes):
    """k(x, z) = sum_m eta_m k_m(x, z) with one weight for each kernel.

    A sample that lacks a view has a zero row in that kernel; its row and column are then scaled by
    ``(sum_m eta_m / sum_{m present} eta_m) ** 0.5``, which keeps the kernel positive semidefinite, and a unit diagonal.

    Parameters
    ----------
    stack : TrainingStack or KernelStack
    theta : ndarray of shape (n_kernels,)
        The weights eta.
    missing : {"refuse", "warn", "never"}
        What happens for a sample without any view that has a weight: an error, or a warning and a zero row. "never" is
        for weights of both signs, which allow no scaling: every sample needs every view that has a weight.
    owner : str
        What errors call the combiner.

    Notes
    -----
    Memory: an n x n matrix for the sum, another for a kernel being added that is not computed in tiles (`Kernel.tile`),
    and at most one more inside the machine. With ``storage="lazy"`` there is none of them: the machine is solved on
    rows of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.combiners import WeightedSum
    >>> from kernelweave.kernels import KernelStack, Linear
    >>> stack = KernelStack([Linear([0]), Linear([1])], None).fit([[1.0, 2.0], [3.0, 0.0]])
    >>> WeightedSum(stack, np.array([1.0, 0.5])).gram()
    array([[3., 3.],
           [3., 9.]])
    """

    def __init__(self, stack: Any, theta: np.ndarray, *, missing: str = "refuse", owner: str = "WeightedSum"):
        self.stack, self.theta = stack, theta
        self.missing, self.owner = missing, owner

    @property
    def active(self) -> np.ndarray:
        return self.theta != 0

    # Training samples

    def scaling(self) -> np.ndarray:
        """What samples that lack views are multiplied by, see `TrainingStack.scaling`."""
        return training(self.stack).scaling(self.theta, self.missing, self.owner)

    def operand(self, out: np.ndarray | None = None) -> Operand:
        return training(self.stack).sum(self.theta, self.scaling(), out)

    def in_few_rows(self) -> Operand | None:
        return training(self.stack).sum_in_few_rows(self.theta)

    def rows(self, index: np.ndarray) -> np.ndarray:
        factor = self.scaling()
        blocks = (KernelBlock(m, self.stack.gram_rows(m, index)) for m in np.flatnonzero(self.theta).tolist())
        return factor[index, None] * sum_kernels(blocks, self.theta) * factor

    # New samples

    def _factor(self, present: np.ndarray, views: Views | None) -> np.ndarray:
        return missing_factor(self.names, self.theta, present, views, self.missing, self.owner)[:, None]

    def new_parts(self, views: Views) -> tuple[np.ndarray, np.ndarray, Iterator[NewPart]]:
        present = self.stack.presence(views, self.active)
        left = present * np.sqrt(np.abs(self.theta)) * self._factor(present, views)
        used = np.flatnonzero(self.theta).tolist()
        return left, present, ((m, slice(None), views, present[:, m]) for m in used)

    def right(self) -> np.ndarray | None:
        """Amplitudes of the training samples, with the signs of the weights."""
        present = self.stack.present
        if present is None:
            return None
        return np.sign(self.theta) * np.sqrt(np.abs(self.theta)) * self._factor(present, None)

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        right = self.right()
        vectors = self.stack.feature_weights(m, coef, None if right is None else right[:, m])
        return None if vectors is None else np.sqrt(np.abs(self.theta[m])) * vectors

    # Weights, and what is kept

    def weights(self) -> np.ndarray:
        return self.theta

    def sample_weights(self, views: Views) -> np.ndarray:
        present = self.stack.presence(views, self.active)
        return present * self.theta * self._factor(present, views) ** 2

    def restrict(self, index: np.ndarray) -> WeightedSum:
        return self._over(self.stack.restrict(index, self.active))

    def compared_with(self, points: Views) -> WeightedSum:
        return self._over(self.stack.compared_with(points))


class ChosenWeights(Combiner):
    """A weighted sum whose weights are chosen first; the machine is then solved once.

    Subclasses implement `choose`; what it returns is checked. One whose `choose` reads whole Gram matrices says so in
    `needs`. Memory: as `WeightedSum`, and what choosing takes.

    Attributes
    ----------
    any_sign : bool
        Whether weights may be negative. Every sample then needs every view that has a weight.

    Examples
    --------
    Weights that fall with the trace of each kernel:

    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import ChosenWeights
    >>> from kernelweave.kernels import Linear
    >>> class InverseTrace(ChosenWeights):
    ...     def choose(self, stack, machine, control):
    ...         return [1.0 / stack.gram(m).trace() for m in range(stack.n_kernels)], 0
    >>> kernels = [("a", Linear([0])), ("b", Linear([1]))]
    >>> model = MKLClassifier(kernels, InverseTrace(), normalize=None)
    >>> model.fit([[1.0, 2.0], [3.0, 4.0]], [0, 1]).kernel_weights_
    a    0.10
    b    0.05
    dtype: float64
    """

    any_sign = False

    @abstractmethod
    def choose(self, stack: TrainingStack, machine: Machine, control: FitControl) -> tuple[np.ndarray, int]:
        """The weights eta, of shape (n_kernels,), finite and not all 0, and the number of machine solves it took.

        Parameters are those of `fit`. The stack computes on whole matrices, in tiles and on explicit features alike.
        """

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """None by default, as every stack has weighted sums; a class of version 0.2 may read Gram matrices."""
        found = super().needs(kernels) if takes_targets(self.choose) else {}
        if self.any_sign:
            why = f"{type(self).__name__} gives weights of both signs, under which a kernel has no explicit features"
            found["elementwise"] = why
        return found

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> WeightedSum:
        begin = time.perf_counter()
        stack.check_memory(3, "the combined kernel")
        eta, solves = self._checked(with_targets(self.choose, stack, stack, machine, control), stack)
        return self.kernel(stack, eta).solve(machine, control, begin, solves=solves)

    def kernel(self, stack: Any, eta: np.ndarray) -> WeightedSum:
        """The weighted sum with given weights."""
        missing = "never" if self.any_sign else "refuse"
        return WeightedSum(stack, eta, missing=missing, owner=type(self).__name__)

    def _checked(self, chosen: Any, stack: TrainingStack) -> tuple[np.ndarray, int]:
        who = f"choose of {type(self).__name__}"
        if not isinstance(chosen, tuple) or len(chosen) != 2 or not isinstance(chosen[1], Integral):
            raise ValueError(f"{who} must return the weights and the number of machine solves, not {chosen!r:.200}")
        try:
            eta = np.asarray(chosen[0], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{who} must return weights that are numbers, not {chosen[0]!r:.200}") from None
        if eta.shape != (stack.n_kernels,):
            raise ValueError(
                f"{who} must return one weight for each of the {stack.n_kernels} kernels, but its weights have the "
                f"shape {eta.shape}"
            )
        for wrong, problem in ((~np.isfinite(eta), "not finite"), ((eta < 0) & (not self.any_sign), "negative")):
            if wrong.any():
                m = int(np.flatnonzero(wrong)[0])
                raise ValueError(
                    f"{who} returned a weight for the kernel {stack.names[m]!r} that is {problem}: {eta[m]}"
                )
        if not eta.any():
            raise ValueError(f"{who} returned the weight 0 for every kernel; at least one must have another")
        return eta, int(chosen[1])


class Mean(ChosenWeights):
    """The mean of the kernels, k(x, z) = (1/P) sum_m k_m(x, z).

    That is (2.3) of the thesis (Gönen 2010), up to the factor 1/P. Nothing is learned; it is the baseline that every
    learned combination has to beat.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Mean
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> model = MKLClassifier([Linear(), Gaussian()], combiner=Mean())
    >>> model.fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]).kernel_weights_
    linear      0.5
    gaussian    0.5
    dtype: float64
    """

    def choose(self, stack, machine, control):
        return np.full(stack.n_kernels, 1.0 / stack.n_kernels), 0


class FixedWeights(NamedNumbers, ChosenWeights):
    """A weighted sum of the kernels with given weights, k(x, z) = sum_m eta_m k_m(x, z).

    Parameters
    ----------
    weights : mapping or Series from kernel name to weight, or sequence with one weight per kernel
        At least 0, one of them positive. Kernels that a mapping does not name have weight 0 and are never computed.
        Single weights of a mapping are parameters: ``weights__<name>``.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import FixedWeights
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> model = MKLClassifier([Linear(), Gaussian()], combiner=FixedWeights({"gaussian": 2.0}))
    >>> model.fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]).kernel_weights_
    linear      0.0
    gaussian    2.0
    dtype: float64
    """

    _numbers = ("weights",)

    def __init__(self, weights: Mapping[str, float] | Any):
        self.weights = weights

    def for_kernels(self, names, kept):
        """The weights of the kernels that stay, in proportion and with the sum of all; equal ones where all are 0."""
        eta = dict(zip(names, as_numbers(self.weights, names, "weights", default=0.0).tolist(), strict=True))
        left = sum(eta[name] for name in kept)
        share = {name: eta[name] / left if left > 0.0 else 1.0 / len(kept) for name in kept}
        other = super().for_kernels(names, kept)
        return other.set_params(weights={name: share[name] * sum(eta.values()) for name in kept})

    def largest_value(self, names, largest):
        return float(as_numbers(self.weights, names, "weights", default=0.0) @ largest)

    def choose(self, stack, machine, control):
        eta = as_numbers(self.weights, stack.names, "weights", default=0.0)
        if not eta.any():
            raise ValueError(f"one of the weights must be positive, but they are {eta.tolist()}")
        return eta, 0


class SingleKernelScores(ChosenWeights):
    """Weights from how well each kernel predicts alone; a subclass makes weights of the scores."""

    def __init__(self, cv: Any = 5):
        self.cv = cv

    def scores(
        self, stack: TrainingStack, machine: Machine, control: FitControl, measure: str, candidates: np.ndarray
    ) -> tuple[pd.Series, int]:
        """The score of each candidate by kernel name (NaN for the others), and the number of machine solves."""
        owner = type(self).__name__
        folds = stack.folds(self.cv, machine, control.rng, owner)
        values = np.full(stack.n_kernels, np.nan)
        early = []
        for done, m in enumerate(candidates):
            found = stack.held_out(m, machine, folds, control, owner)
            values[m] = getattr(found, measure)
            early += [] if found.converged else [stack.names[m]]
            control.report(done + 1, len(candidates))
        if early:
            warn(
                f"{owner} compares machines that stopped early, with the kernels {early}; raise max_iter, scale the "
                "data, or lower C",
                ConvergenceWarning,
            )
        return pd.Series(values, index=stack.names), len(candidates) * len(folds)


class BestSingle(SingleKernelScores):
    """The single kernel with the smallest cross-validated risk: k(x, z) = k_best(x, z).

    The risk is the share of errors (classification), the mean squared error (regression) or the distance between
    the share of held-out samples that are rejected and nu (novelty detection). Kernels that some training sample
    lacks are no candidates. Each Gram matrix is computed once for all folds, or not at all with ``storage="lazy"``.

    Parameters
    ----------
    cv : int, splitter or iterable
        A number of folds means shuffled folds, stratified for classification; at most as many as the smallest class has
        samples. With explicit features (``approximation=``) it must be a number, and folds ignore classes.

    Attributes
    ----------
    risk_ : Series
        Cross-validated risk by kernel name (on the estimator: ``combiner_.risk_``); NaN for kernels that are no
        candidates.

    Examples
    --------
    >>> from kernelweave import MKLRegressor
    >>> from kernelweave.combiners import BestSingle
    >>> from kernelweave.kernels import Linear
    >>> X = [[float(i), float(i * 7 % 5)] for i in range(20)]
    >>> model = MKLRegressor([("signal", Linear([0])), ("noise", Linear([1]))], BestSingle(), normalize="center")
    >>> model.fit(X, [2.0 * row[0] for row in X]).kernel_weights_
    signal    1.0
    noise     0.0
    dtype: float64
    """

    def choose(self, stack, machine, control):
        candidates = np.flatnonzero(stack.present_counts() == stack.n_samples)
        if len(candidates) == 0:
            raise ValueError("BestSingle needs a kernel whose view no training sample lacks; use Mean instead")
        self.risk_, solves = self.scores(stack, machine, control, "risk", candidates)
        eta = np.zeros(stack.n_kernels)
        eta[np.nanargmin(self.risk_)] = 1.0
        return eta, solves


class AccuracyWeights(SingleKernelScores):
    """Weights proportional to each kernel's own accuracy above a threshold (Tanabe et al., 2008).

    eta_m = (pi_m - delta) / sum_h (pi_h - delta), where pi_m is the cross-validated accuracy of the machine on kernel m
    alone and delta the threshold; a kernel below the threshold has weight 0. Nothing is optimised.

    It helps where kernels differ much in how good they are; kernels that repeat each other each get their full weight.
    For classification only. Where no kernel exceeds the threshold all weights are equal.

    Parameters
    ----------
    threshold : float or None
        delta, from 0 to 1. None is the share of the most frequent class, the accuracy of always predicting that class.
    cv : int, splitter or iterable
        As in `BestSingle`.

    Attributes
    ----------
    accuracy_ : Series
        pi by kernel name.

    Notes
    -----
    Memory: one n x n matrix at a time, and the part of it that a fold trains on; none with ``storage="lazy"``.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import AccuracyWeights
    >>> from kernelweave.kernels import Linear
    >>> X = [[float(i), float(i * 7 % 5)] for i in range(20)]
    >>> kernels = [("signal", Linear([0])), ("noise", Linear([1]))]
    >>> model = MKLClassifier(kernels, AccuracyWeights(), normalize="center", random_state=0)
    >>> bool(model.fit(X, [row[0] > 9 for row in X]).kernel_weights_["signal"] > 0.5)
    True
    """

    _constraints = Constraints(threshold=Number(low=0, high=1) | None)

    def __init__(self, threshold: float | None = None, cv: Any = 5):
        super().__init__(cv)
        self.threshold = threshold

    def choose(self, stack, machine, control):
        if machine.strata is None:
            raise ValueError("AccuracyWeights is for classification only; see CorrelationWeights for regression")
        check_parameters(self)
        threshold = self.threshold
        if threshold is None:
            counts = stack.class_counts(machine)
            threshold = counts.max() / counts.sum()
        risks, solves = self.scores(stack, machine, control, "risk", np.arange(stack.n_kernels))
        self.accuracy_ = 1.0 - risks
        return _shares(np.maximum(self.accuracy_.to_numpy() - threshold, 0.0)), solves  # thesis 2.2.1.3


class CorrelationWeights(SingleKernelScores):
    """Weights proportional to the correlation of each kernel's predictions with the targets (Qiu and Lane, 2009).

    eta_m = R_m / sum_h R_h, where R_m is Pearson's correlation between targets and held-out predictions of the machine
    on kernel m alone, averaged over several targets; a negative correlation counts as 0. Nothing is optimised.

    It helps where some kernels are unrelated to the targets; kernels of similar quality get similar weights, and then
    `Mean` does as well. For regression only. Where no correlation is positive all weights are equal. Memory as in
    `AccuracyWeights`.

    Parameters
    ----------
    cv : int, splitter or iterable
        As in `BestSingle`.

    Attributes
    ----------
    correlation_ : Series
        R by kernel name; 0 for constant predictions.

    Examples
    --------
    >>> from kernelweave import MKLRegressor
    >>> from kernelweave.combiners import CorrelationWeights
    >>> from kernelweave.kernels import Linear
    >>> X = [[float(i), float(i * 7 % 5)] for i in range(20)]
    >>> kernels = [("signal", Linear([0])), ("noise", Linear([1]))]
    >>> model = MKLRegressor(kernels, CorrelationWeights(), normalize="center", random_state=0)
    >>> bool(model.fit(X, [2.0 * row[0] for row in X]).kernel_weights_["signal"] > 0.5)
    True
    """

    def choose(self, stack, machine, control):
        _check_regression(self, stack, machine)
        self.correlation_, solves = self.scores(stack, machine, control, "correlation", np.arange(stack.n_kernels))
        return _shares(np.maximum(self.correlation_.to_numpy(), 0.0)), solves  # thesis 2.2.1.3, erratum: no negatives


class ErrorWeights(SingleKernelScores):
    """Weights that fall with the mean squared error of each kernel's predictions (Qiu and Lane, 2009).

    eta_m = (sum_h M_h - M_m) / ((P - 1) sum_h M_h), where M_m is the mean squared error of held-out predictions of the
    machine on kernel m alone, summed over targets where there are several. Nothing is optimised.

    It helps against one kernel that is much worse than the others; no weight exceeds 1/(P - 1), so with many kernels
    it hardly differs from `Mean`. For regression only. Memory as in `AccuracyWeights`.

    Parameters
    ----------
    cv : int, splitter or iterable
        As in `BestSingle`.

    Attributes
    ----------
    error_ : Series
        M by kernel name.

    Examples
    --------
    >>> from kernelweave import MKLRegressor
    >>> from kernelweave.combiners import ErrorWeights
    >>> from kernelweave.kernels import Linear
    >>> X = [[float(i), float(i * 7 % 5)] for i in range(20)]
    >>> kernels = [("signal", Linear([0])), ("noise", Linear([1]))]
    >>> model = MKLRegressor(kernels, ErrorWeights(), normalize="center", random_state=0)
    >>> bool(model.fit(X, [2.0 * row[0] for row in X]).kernel_weights_["signal"] > 0.5)
    True
    """

    def choose(self, stack, machine, control):
        _check_regression(self, stack, machine)
        self.error_, solves = self.scores(stack, machine, control, "risk", np.arange(stack.n_kernels))
        errors = self.error_.to_numpy()
        return _shares(errors.sum() - errors), solves  # thesis 2.2.1.3


def _check_regression(combiner: SingleKernelScores, stack: TrainingStack, machine: Machine) -> None:
    if not machine.is_separable:
        raise ValueError(
            f"{type(combiner).__name__} is for regression only, not for times with censoring; use BestSingle, "
            "ConvexMKL or LpMKL for these"
        )
    if machine.strata is not None or machine.detects_novelty or not stack.has_targets:
        raise ValueError(
            f"{type(combiner).__name__} is for regression only; AccuracyWeights is its counterpart for classification"
        )


def _shares(amounts: np.ndarray) -> np.ndarray:
    total = amounts.sum()
    return amounts / total if total > 0 else np.full(len(amounts), 1.0 / len(amounts))
