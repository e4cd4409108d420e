"""`NestedFolds`: cross-validation for methods that choose their own settings on the training samples.

Samples are dealt to folds like cards. Without groups, the samples of each class are shuffled and dealt one after the
other, the next class going on where the last one stopped, so that the folds differ by at most one sample, in all and
in each class. With groups, whole groups are dealt, the largest first, each to the fold where it keeps the shares of
the classes most even.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..validation import Whole, check
from .paired_losses import TEST_NAME
from .protocol import Protocol, Split
from .statistics import TestResult, corrected_t_test

_KEPT = 5  # samples of each class that a limited training part has first


@dataclass(frozen=True)
class NestedFolds(Protocol):
    """k-fold cross-validation, repeated, in which each fold's training samples also choose the settings.

    There are no validation samples: a method validates its settings inside the training samples, so that the test
    samples of a fold have no part in any choice. Classes with fewer members than folds are spread over as many folds
    as they have members; the other folds test none of them.

    Parameters
    ----------
    n_folds : int
    n_repeats : int
    max_train : int or None
        At most so many samples train; the classes keep their shares, except that a class keeps its first five samples.
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection import NestedFolds
    >>> folds = NestedFolds(4, 2).split(np.array(["ill", "well", "well"] * 20), stratify=True)
    >>> len(folds), len(folds[0].train), len(folds[0].test), folds[7].run
    (8, 45, 15, 1)
    """

    compares_samples = True

    n_folds: int = 5
    n_repeats: int = 1
    _: KW_ONLY
    max_train: int | None = None
    random_state: int = 0

    def __post_init__(self):
        for name, constraint in (("n_folds", Whole(2)), ("n_repeats", Whole(1)), ("max_train", Whole(2) | None)):
            check(self, name, getattr(self, name), constraint)

    @property
    def test_name(self) -> str:
        """`paired_loss_test`."""
        return TEST_NAME

    @property
    def in_words(self) -> str:  # noqa: D102
        times = "" if self.n_repeats == 1 else f"{self.n_repeats} times "
        most = "" if self.max_train is None else f" of at most {self.max_train} training samples"
        return f"{times}{self.n_folds}-fold cross-validation{most}, settings chosen inside"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:  # noqa: D102
        n_samples = len(y)
        strata = np.unique(np.asarray(y), return_inverse=True)[1] if stratify else np.zeros(n_samples, dtype=int)
        members = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        n_units, what = (n_samples, "samples") if members is None else (members.max() + 1, "groups")
        if n_units < self.n_folds:
            raise ValueError(f"{self.n_folds} folds need at least as many {what}, but there are {n_units}")
        rng = np.random.RandomState(self.random_state)
        nobody = np.array([], dtype=int)
        folds = []
        for run in range(self.n_repeats):
            if members is None:
                place = _dealt(strata, self.n_folds, rng)
            else:
                place = _dealt_groups(strata, members, self.n_folds, rng)
            for fold in range(self.n_folds):
                train = self._limited(np.flatnonzero(place != fold), strata, rng)
                folds.append(Split(train, nobody, test=np.flatnonzero(place == fold), run=run))
        return folds

    def compare(self, first: Any, second: Any) -> TestResult:
        """Deprecated since 0.3 and goes in 0.4; use `paired_loss_test`."""
        return corrected_t_test(first, second, ratio=1.0 / (self.n_folds - 1))

    def _limited(self, train: np.ndarray, strata: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        if self.max_train is None or len(train) <= self.max_train:
            return train
        place = np.empty(len(train))
        for stratum in np.unique(strata[train]):
            ordered = rng.permutation(np.flatnonzero(strata[train] == stratum))
            place[ordered] = (np.arange(len(ordered)) + rng.uniform()) / len(ordered)
            place[ordered[:_KEPT]] = 0.0
        return np.sort(train[np.argsort(place, kind="stable")[: self.max_train]])


def _dealt(strata: np.ndarray, n_folds: int, rng: np.random.RandomState) -> np.ndarray:
    """The fold of each sample."""
    order = [rng.permutation(np.flatnonzero(strata == stratum)) for stratum in np.unique(strata)]
    place = np.empty(len(strata), dtype=int)
    place[np.concatenate(order)] = np.arange(len(strata)) % n_folds
    return place


def _dealt_groups(strata: np.ndarray, groups: np.ndarray, n_folds: int, rng: np.random.RandomState) -> np.ndarray:
    """The fold of each sample, the same for all samples of a group."""
    counts = np.zeros((groups.max() + 1, strata.max() + 1))
    np.add.at(counts, (groups, strata), 1.0)
    shares = counts / counts.sum(axis=0)  # of each class, so that a rare class weighs as much as a frequent one
    shuffled = rng.permutation(len(counts))
    order = shuffled[np.argsort(-counts[shuffled].sum(axis=1), kind="stable")]
    held, place = np.zeros((n_folds, counts.shape[1])), np.empty(len(counts), dtype=int)
    sizes = np.zeros(n_folds)
    for rank, group in enumerate(order):
        # The sum of squares of the folds' shares grows least where they stay most even; of equal folds the smallest.
        growth = (2.0 * held @ shares[group]) + np.square(shares[group]).sum()
        empty = sizes == 0
        if empty.sum() >= len(order) - rank:  # every fold has at least one group
            growth = np.where(empty, growth, np.inf)
        fold = np.lexsort((sizes, np.round(growth, 12)))[0]
        held[fold] += shares[group]
        sizes[fold] += counts[group].sum()
        place[group] = fold
    return place[groups]
