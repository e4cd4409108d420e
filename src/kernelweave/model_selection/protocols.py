"""Protocols: which samples train, validate and test, fold by fold.

Every protocol yields `Split` triples. Hyper-parameters are chosen once per *run*, by the mean validation score over the
run's folds; the chosen setting's test results are then reported with mean and standard deviation.

========================  ==========================================================================  =================
protocol                  what it is                                                                  source
========================  ==========================================================================  =================
`ThesisProtocol`          a third for testing, 5x2 cross-validation on the rest; or a supplied split   thesis 5.1
`SubjectProtocol`         two images per subject for testing, 8 folds with one image per subject      thesis 5.3.1.2
`KFoldProtocol`           a third for testing, 10 folds, 90 % of the rest for training                 SLDR, app. B
`RepeatedHalves`          20 times: half of each class for training, the rest for testing              SKFE 5.3
`RepeatedKFoldProtocol`   20 times 5 folds; the best cross-validation score is the result              SKFE 5.2
`RepeatedDraws`           few samples for training and validation, others for testing, repeated        -
`NestedFolds`             k folds, repeated; methods validate inside the training samples             -
========================  ==========================================================================  =================
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from .._warnings import warn
from ..validation import Whole, check
from .statistics import TEST_NAME, TestResult, corrected_by_overlap, paired_f_test_5x2cv, paired_t_test

_KEPT = 5  # samples of each class that a limited training part has first


@dataclass(frozen=True)
class Split:
    """One fold: positions of the samples that train, validate and test, and the run that it belongs to."""

    train: np.ndarray
    validation: np.ndarray
    _: KW_ONLY
    test: np.ndarray
    run: int = 0


class Protocol(ABC):
    """A way to split samples; `split` gives the folds.

    Attributes
    ----------
    one_result_per_run : bool
        Whether the results of a run's folds are averaged into one (True), or each counts (False).
    compares_samples : bool
        Whether methods are tested by their losses on samples (`paired_loss_test`), or by results of folds (`compare`).
    """

    one_result_per_run = False
    compares_samples = False

    @property
    def test_name(self) -> str:
        """What methods are compared by."""
        return "paired t test"

    @property
    def in_words(self) -> str:
        """What trains, validates and tests, as pages of results describe it; a subclass should have its own words."""
        return repr(self)

    @abstractmethod
    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
        """The folds.

        Parameters
        ----------
        y : array of shape (n_samples,)
            Targets.
        stratify : bool
            Whether to keep the shares of classes in each part (classification).
        groups : array of shape (n_samples,), optional
            Subjects, for protocols that split by them.
        is_train : array of bool, optional
            A published training part, for protocols that keep to it.
        """

    def compare(self, first: Any, second: Any) -> TestResult:
        """Test two methods for equal results on the folds (or runs) of this protocol."""
        return paired_t_test(first, second)


@dataclass(frozen=True)
class ThesisProtocol(Protocol):
    """A random third for testing and 5x2 cross-validation on the rest: ten results, thesis (Gönen 2010), 5.1.

    Parameters
    ----------
    n_repeats : int
        Repeats of two-fold cross-validation.
    test_size : float
        Share of samples for testing.
    supplied : bool
        Keep to the published training part (`is_train`) instead of drawing a test set.
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection import ThesisProtocol
    >>> folds = ThesisProtocol().split(np.arange(30) % 2, stratify=True)
    >>> len(folds), [len(part) for part in (folds[0].train, folds[0].validation, folds[0].test)]
    (10, [10, 10, 10])
    """

    n_repeats: int = 5
    test_size: float = 1 / 3
    _: KW_ONLY
    supplied: bool = False
    random_state: int = 0

    @property
    def test_name(self) -> str:
        return "5x2 cv paired F test" if self.n_repeats == 5 else super().test_name

    @property
    def in_words(self) -> str:
        return f"{_tested(self)}, {_times(self.n_repeats)}two-fold cross-validation on the others"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
        y = np.asarray(y)
        rest, test = _rest_and_test(self, y, stratify, is_train)
        rng = np.random.RandomState(self.random_state)
        folds = []
        for _ in range(self.n_repeats):
            pair = _k_fold(2, y[rest], stratify, rng)
            folds += [Split(rest[train], rest[validation], test=test) for train, validation in pair]
        return folds

    def compare(self, first: Any, second: Any) -> TestResult:
        return paired_f_test_5x2cv(first, second) if self.n_repeats == 5 else paired_t_test(first, second)


@dataclass(frozen=True)
class SubjectProtocol(Protocol):
    """Some images of each subject for testing, then folds with one image of each subject (Gönen 2010, 5.3.1.2).

    Parameters
    ----------
    n_test : int
        Images of each subject for testing; the others make one fold each.
    n_folds : int or None
        How many of these folds to use; None for all.
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection import SubjectProtocol
    >>> subject = np.repeat(np.arange(40), 10)
    >>> folds = SubjectProtocol().split(subject < 4, stratify=True, groups=subject)
    >>> len(folds), [len(part) for part in (folds[0].train, folds[0].validation, folds[0].test)]
    (8, [280, 40, 80])
    """

    n_test: int = 2
    n_folds: int | None = None
    _: KW_ONLY
    random_state: int = 0

    @property
    def in_words(self) -> str:
        words = f"{self.n_test} random samples of each subject for testing, each other one for validation in its turn"
        return f"{words}, the rest for training"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
        if groups is None:
            raise ValueError("SubjectProtocol needs groups, the subject of each sample")
        subjects, counts = np.unique(groups, return_counts=True)
        if len(set(counts)) != 1 or counts[0] < self.n_test + 2:
            raise ValueError(
                f"SubjectProtocol needs as many images of every subject, at least {self.n_test + 2}, "
                f"but subjects have {counts.min()} to {counts.max()}"
            )
        rng = np.random.RandomState(self.random_state)
        # Row i: the images of subject i in random order; the first n_test columns test, each other one is a fold.
        images = np.array([rng.permutation(np.flatnonzero(np.asarray(groups) == subject)) for subject in subjects])
        test, rest = np.sort(images[:, : self.n_test].ravel()), images[:, self.n_test :]
        folds = [
            Split(np.sort(np.delete(rest, k, axis=1).ravel()), np.sort(rest[:, k]), test=test)
            for k in range(rest.shape[1])
        ]
        return folds[: self.n_folds]


@dataclass(frozen=True)
class KFoldProtocol(Protocol):
    """A random part for testing and k-fold cross-validation on the rest (Gönen and Alpaydın 2010, SLDR, appendix B).

    Parameters
    ----------
    n_folds : int
        Ten folds train on 90 % of the rest.
    test_size : float
    supplied : bool
        Keep to the published training part (`is_train`) instead of drawing a test set.
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection import KFoldProtocol
    >>> folds = KFoldProtocol().split(np.arange(60) % 2, stratify=True)
    >>> len(folds), [len(part) for part in (folds[0].train, folds[0].validation, folds[0].test)]
    (10, [36, 4, 20])
    """

    n_folds: int = 10
    test_size: float = 1 / 3
    _: KW_ONLY
    supplied: bool = False
    random_state: int = 0

    @property
    def in_words(self) -> str:
        return f"{_tested(self)}, {self.n_folds}-fold cross-validation on the others"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
        y = np.asarray(y)
        rest, test = _rest_and_test(self, y, stratify, is_train)
        pairs = _k_fold(self.n_folds, y[rest], stratify, np.random.RandomState(self.random_state))
        return [Split(rest[train], rest[validation], test=test) for train, validation in pairs]


@dataclass(frozen=True)
class RepeatedHalves(Protocol):
    """Half of each class for training, the rest for testing, repeated (Wu and Farquhar 2007, 5.3).

    There is nothing to validate on: methods must come with one setting of their parameters.

    Parameters
    ----------
    n_repeats : int
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection import RepeatedHalves
    >>> folds = RepeatedHalves().split(np.arange(60) % 3, stratify=True)
    >>> len(folds), [len(part) for part in (folds[0].train, folds[0].validation, folds[0].test)]
    (20, [30, 0, 30])
    """

    n_repeats: int = 20
    random_state: int = 0

    @property
    def in_words(self) -> str:
        return f"{_times(self.n_repeats)}a random half of each class for training, the rest for testing"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
        rng = np.random.RandomState(self.random_state)
        seeds = rng.randint(2**31 - 1, size=self.n_repeats)
        nobody = np.array([], dtype=int)
        halves = [_hold_out(np.asarray(y), stratify, 0.5, seed) for seed in seeds]
        return [Split(train, nobody, test=test, run=run) for run, (train, test) in enumerate(halves)]


@dataclass(frozen=True)
class RepeatedKFoldProtocol(Protocol):
    """k-fold cross-validation, repeated; a repeat's result is its best mean over the folds (Wu and Farquhar 2007, 5.2).

    The folds that choose the parameters also measure the result, as in that paper, so results are optimistic.

    Parameters
    ----------
    n_folds : int
    n_repeats : int
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection import RepeatedKFoldProtocol
    >>> folds = RepeatedKFoldProtocol().split(np.arange(60) % 3, stratify=True)
    >>> len(folds), bool((folds[7].validation == folds[7].test).all()), folds[7].run
    (100, True, 1)
    """

    n_folds: int = 5
    n_repeats: int = 20
    _: KW_ONLY
    random_state: int = 0
    one_result_per_run = True

    @property
    def in_words(self) -> str:
        return f"{_times(self.n_repeats)}{self.n_folds}-fold cross-validation, whose folds choose settings and measure"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
        rng = np.random.RandomState(self.random_state)
        return [
            Split(train, test, test=test, run=run)
            for run in range(self.n_repeats)
            for train, test in _k_fold(self.n_folds, np.asarray(y), stratify, rng)
        ]


@dataclass(frozen=True)
class RepeatedDraws(Protocol):
    """Limited numbers of samples for training, validation and testing, drawn anew for each repeat.

    Every repeat is a run of its own: hyper-parameters are chosen on its validation samples. Stratified draws keep the
    shares of the classes in every part, up to rounding.

    Parameters
    ----------
    n_repeats : int
    n_train, n_validation, n_test : int
        At most so many samples, and at most half, a quarter and the rest of them.
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection import RepeatedDraws
    >>> folds = RepeatedDraws(3, n_train=100).split(np.arange(240) % 3, stratify=True)
    >>> len(folds), [len(part) for part in (folds[0].train, folds[0].validation, folds[0].test)]
    (3, [100, 60, 80])
    """

    n_repeats: int = 3
    n_train: int = 300
    _: KW_ONLY
    n_validation: int = 100
    n_test: int = 1000
    random_state: int = 0

    @property
    def in_words(self) -> str:
        validation = f", {self.n_validation} for validation" if self.n_validation else ""
        parts = f"at most {self.n_train} samples for training{validation} and {self.n_test} for testing"
        return f"{_times(self.n_repeats)}{parts}, drawn at random"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
        n_samples, rng = len(y), np.random.RandomState(self.random_state)
        n_train, n_validation = min(self.n_train, n_samples // 2), min(self.n_validation, n_samples // 4)
        ends = np.cumsum([n_train, n_validation, self.n_test])
        strata = np.unique(y, return_inverse=True)[1] if stratify else np.zeros(n_samples, dtype=int)
        folds = []
        for run in range(self.n_repeats):
            order = _spread_order(strata, rng)
            train, validation, test, _ = (np.sort(part) for part in np.split(order, ends))
            folds.append(Split(train, validation, test=test, run=run))
        return folds


@dataclass(frozen=True)
class NestedFolds(Protocol):
    """k-fold cross-validation, repeated, in which each fold's training samples also choose the settings.

    There are no validation samples: a method validates its settings inside the training samples, so that the test
    samples of a fold have no part in any choice. Classes with fewer members than folds are spread over as many folds as
    they have members. The samples of each class are dealt to the folds like cards, so that folds differ by at most one
    sample, in all and in each class; groups are dealt whole, the largest first, each to the fold where it keeps the
    shares of the classes most even.

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
        return TEST_NAME

    @property
    def in_words(self) -> str:
        times = "" if self.n_repeats == 1 else f"{self.n_repeats} times "
        most = "" if self.max_train is None else f" of at most {self.max_train} training samples"
        return f"{times}{self.n_folds}-fold cross-validation{most}, settings chosen inside"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
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
        """`NestedFolds.compare` is deprecated since 0.3 and goes in 0.4; use `paired_loss_test`."""
        warn("`NestedFolds.compare` is deprecated since 0.3 and goes in 0.4; use `paired_loss_test`", FutureWarning)
        return corrected_by_overlap(first, second, 1.0 / (self.n_folds - 1))

    def _limited(self, train: np.ndarray, strata: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        if self.max_train is None or len(train) <= self.max_train:
            return train
        return np.sort(train[_spread_order(strata[train], rng, first=_KEPT)[: self.max_train]])


def _times(n_repeats: int) -> str:
    return "" if n_repeats == 1 else f"{n_repeats} times "


def _tested(protocol: Any) -> str:
    share = "third" if math.isclose(protocol.test_size, 1 / 3) else f"{protocol.test_size:.0%}"
    return "the published test samples" if protocol.supplied else f"a random {share} of the samples for testing"


def _spread_order(strata: np.ndarray, rng: np.random.RandomState, first: int = 0) -> np.ndarray:
    """A random order of the samples in which each stratum is spread evenly, so that every stretch has its shares."""
    place = np.empty(len(strata))
    for stratum in np.unique(strata):
        members = rng.permutation(np.flatnonzero(strata == stratum))
        place[members] = (np.arange(len(members)) + rng.uniform()) / len(members)
        place[members[:first]] = 0.0
    return np.argsort(place, kind="stable")


def _rest_and_test(protocol: Any, y: np.ndarray, stratify: bool, is_train: Any) -> tuple[np.ndarray, np.ndarray]:
    if not protocol.supplied:
        return _hold_out(y, stratify, protocol.test_size, protocol.random_state)
    if is_train is None or np.shape(is_train) != y.shape[:1]:
        raise ValueError(f"a supplied split needs is_train, one boolean for each of {len(y)} samples")
    mask = np.asarray(is_train, dtype=bool)
    return np.flatnonzero(mask), np.flatnonzero(~mask)


def _hold_out(y: np.ndarray, stratify: bool, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rest, test = train_test_split(
        np.arange(len(y)), test_size=test_size, stratify=y if stratify else None, random_state=int(seed)
    )
    return np.sort(rest), np.sort(test)


def _k_fold(
    n_folds: int, y: np.ndarray, stratify: bool, rng: np.random.RandomState
) -> list[tuple[np.ndarray, np.ndarray]]:
    splitter = StratifiedKFold if stratify else KFold
    return list(splitter(n_folds, shuffle=True, random_state=rng).split(np.zeros((len(y), 1)), y))


def _dealt(strata: np.ndarray, n_folds: int, rng: np.random.RandomState) -> np.ndarray:
    order = [rng.permutation(np.flatnonzero(strata == stratum)) for stratum in np.unique(strata)]
    place = np.empty(len(strata), dtype=int)
    place[np.concatenate(order)] = np.arange(len(strata)) % n_folds
    return place


def _dealt_groups(strata: np.ndarray, groups: np.ndarray, n_folds: int, rng: np.random.RandomState) -> np.ndarray:
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
