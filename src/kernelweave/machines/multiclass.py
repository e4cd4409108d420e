"""Multiclass machines made of independent binary ones, thesis 1.4.1: one against one and one against all.

Both stack the binary coefficients as columns of C, so J, its gap and its Danskin gradient add up.

One-versus-one has k(k-1)/2 columns in the order (0,1), (0,2), ..., (1,2), ...; a positive value of column
(a, b) votes for b, the *second* class (as a positive binary value means classes_[1]). One-versus-all has k
columns; a positive value of column a favours class a. The binary machines are made by any loss for two classes
(`losses.BinaryLoss`); the hinge by default.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from .base import as_bound, columns
from .binary import BinaryMachine
from .independent import IndependentMachines, MachineMaker
from .labels import as_labels, predicted_classes


class MulticlassMachine(IndependentMachines):
    """Independent binary machines on one Gram matrix.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
        Classes 0 .. n_classes - 1.
    bound : float or ndarray of shape (n_samples,)
        Largest alpha of each sample (C times its weight), in every binary machine it takes part in.
    n_classes : int, optional
        Number of classes; ``max(labels) + 1`` by default.
    n_jobs : int, optional
        Threads, as in joblib: None is 1, -1 is all cores. The result does not depend on it.
    binary : BinaryLoss, optional
        What makes the binary machines, by ``binary.for_targets(signs, bound)``; `BinaryMachine` by default.
    """

    decides_with = ("n_classes",)

    def __init__(
        self,
        labels: np.ndarray,
        bound: float | np.ndarray,
        *,
        n_classes: int | None = None,
        n_jobs: int | None = None,
        binary: MachineMaker = BinaryMachine,
    ):
        self.labels, self.n_classes = as_labels(labels, n_classes)
        self.class_count = np.bincount(self.labels, minlength=self.n_classes)
        self.n_samples = len(self.labels)
        self.bound = as_bound(bound, self.n_samples)
        self.n_jobs = n_jobs
        self.maker = binary
        self.strata = self.labels

    @abstractmethod
    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return, for each column, the samples that take part (None for all) and their labels +1 or -1."""

    def two_class_problems(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Samples and labels of each binary machine."""
        everybody = np.arange(self.n_samples)
        return [(everybody if chosen is None else chosen, signs) for chosen, signs in self.parts()]

    def subset(self, index: np.ndarray) -> MulticlassMachine:
        """Return the same machine on the chosen samples, with the same classes."""
        part = type(self)(
            self.labels[index], self.bound[index], n_classes=self.n_classes, n_jobs=self.n_jobs, binary=self.maker
        )
        part.class_count = self.class_count
        return part

    def losses(self, values: np.ndarray) -> np.ndarray:
        """1 for samples whose predicted class is wrong."""
        decision = self.decision(columns(values, self.n_outputs, self.n_samples))
        return (predicted_classes(decision, self.class_count) != self.labels).astype(float)


class OneVsOneMachine(MulticlassMachine):
    """One binary machine per pair of classes, on the samples of that pair only.

    Parameters are those of `MulticlassMachine`. Memory: for each thread, a dense copy of K restricted to one pair.
    A pair with an empty class (possible in a subset) has zero coefficients and a bias for the other class.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-3.0, -2.0, 0.0, 0.1, 2.0, 3.0])
    >>> machine = OneVsOneMachine(np.array([0, 0, 1, 1, 2, 2]), bound=10.0)
    >>> K = np.outer(x, x)
    >>> solution = machine.solve(K)
    >>> machine.decision(K @ solution.coef + solution.intercept).argmax(axis=1)
    array([0, 0, 1, 1, 2, 2])
    """

    @property
    def n_outputs(self) -> int:
        """One column for each pair."""
        return self.n_classes * (self.n_classes - 1) // 2

    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of classes in the order of the columns."""
        return [(a, b) for a in range(self.n_classes) for b in range(a + 1, self.n_classes)]

    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return the samples of each pair, +1 for its second class."""
        members = [np.flatnonzero(self.labels == a) for a in range(self.n_classes)]
        chosen = [np.sort(np.concatenate([members[a], members[b]])) for a, b in self.pairs()]
        seconds = [b for _, b in self.pairs()]
        signs = [np.where(self.labels[rows] == b, 1.0, -1.0) for rows, b in zip(chosen, seconds, strict=True)]
        return list(zip(chosen, signs, strict=True))

    def decision(self, values: np.ndarray) -> np.ndarray:
        """Votes for each class, plus a confidence below 1/3 in size that breaks ties (as scikit-learn's "ovr")."""
        values = columns(values, self.n_outputs)
        votes = np.zeros((len(values), self.n_classes))
        confidence = np.zeros_like(votes)
        for value, (a, b) in zip(values.T, self.pairs(), strict=True):
            votes[:, b] += value > 0
            votes[:, a] += value <= 0
            confidence[:, b] += value
            confidence[:, a] -= value
        return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


class OneVsAllMachine(MulticlassMachine):
    """One binary machine for each class, against all other samples.

    Parameters are those of `MulticlassMachine`. Memory: no copy of K.

    Examples
    --------
    >>> import numpy as np
    >>> machine = OneVsAllMachine(np.array([0, 1, 2]), bound=10.0)
    >>> solution = machine.solve(np.eye(3))
    >>> machine.decision(solution.coef + solution.intercept).argmax(axis=1)
    array([0, 1, 2])
    """

    @property
    def n_outputs(self) -> int:
        """One column for each class."""
        return self.n_classes

    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return all samples for each class, +1 for its own."""
        return [(None, np.where(self.labels == a, 1.0, -1.0)) for a in range(self.n_classes)]

    def decision(self, values: np.ndarray) -> np.ndarray:
        """Raw values: the largest wins."""
        return columns(values, self.n_outputs)
