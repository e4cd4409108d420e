"""Every protocol: parts are disjoint, cover what they should, and depend on the seed only."""

import numpy as np
import pytest

from kernelweave.model_selection import (
    KFoldProtocol,
    NestedFolds,
    RepeatedDraws,
    RepeatedHalves,
    RepeatedKFoldProtocol,
    SubjectProtocol,
    ThesisProtocol,
)

SUBJECT = np.random.default_rng(0).permutation(np.repeat(np.arange(12), 10))
Y = (SUBJECT < 4).astype(int)
IS_TRAIN = np.arange(120) < 70
PROTOCOLS = [
    ThesisProtocol(),
    ThesisProtocol(supplied=True),
    SubjectProtocol(),
    KFoldProtocol(),
    KFoldProtocol(supplied=True),
    RepeatedHalves(),
    RepeatedKFoldProtocol(),
    RepeatedDraws(),
]


def folds(protocol, stratify=True):
    return protocol.split(Y, stratify, groups=SUBJECT, is_train=IS_TRAIN)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
@pytest.mark.parametrize("stratify", [True, False])
def test_parts_are_disjoint_and_reproducible(protocol, stratify):
    first, again = folds(protocol, stratify), folds(protocol, stratify)
    for fold, same in zip(first, again, strict=True):
        for part in ("train", "validation", "test"):
            np.testing.assert_array_equal(getattr(fold, part), getattr(same, part))
        assert not set(fold.train) & set(fold.test)
        assert not set(fold.train) & set(fold.validation)
        assert len(np.unique(fold.train)) == len(fold.train)
        chosen = np.concatenate([fold.train, fold.validation, fold.test])
        assert set(chosen) == set(range(120))  # nobody is left out
    other = folds(type(protocol)(**{**protocol.__dict__, "random_state": 1}), stratify)
    assert any(not np.array_equal(a.train, b.train) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("protocol", [p for p in PROTOCOLS if not getattr(p, "supplied", False)], ids=repr)
def test_strata_keep_their_shares(protocol):
    for fold in folds(protocol):
        for part in (fold.train, fold.validation, fold.test):
            if len(part):
                assert abs(Y[part].mean() - 1 / 3) <= 1.0 / len(part) + 1e-9


def test_thesis_folds_come_in_pairs():
    result = folds(ThesisProtocol())
    assert len(result) == 10
    assert all(len(fold.test) == 40 and len(fold.train) == 40 for fold in result)
    for first, second in zip(result[::2], result[1::2], strict=True):
        np.testing.assert_array_equal(first.train, second.validation)
        np.testing.assert_array_equal(first.validation, second.train)
        np.testing.assert_array_equal(first.test, second.test)
    assert any(not np.array_equal(result[0].train, fold.train) for fold in result[2::2])


def test_supplied_split_is_kept():
    for protocol in (ThesisProtocol(supplied=True), KFoldProtocol(supplied=True)):
        for fold in folds(protocol):
            np.testing.assert_array_equal(fold.test, np.arange(70, 120))
    with pytest.raises(ValueError, match="needs is_train, one boolean for each of 120 samples"):
        ThesisProtocol(supplied=True).split(Y, True)


def test_subject_folds_hold_one_image_of_each_subject():
    result = folds(SubjectProtocol())
    assert len(result) == 8
    for fold in result:
        assert np.bincount(SUBJECT[fold.validation]).tolist() == [1] * 12
        assert np.bincount(SUBJECT[fold.test]).tolist() == [2] * 12
    assert len(np.unique(np.concatenate([fold.validation for fold in result]))) == 96
    assert len(folds(SubjectProtocol(n_folds=3))) == 3
    with pytest.raises(ValueError, match="needs groups"):
        SubjectProtocol().split(Y, True)
    with pytest.raises(ValueError, match="as many images of every subject"):
        SubjectProtocol().split(Y, True, groups=np.arange(120) // 11)


def test_ten_folds_train_on_ninety_per_cent():
    result = folds(KFoldProtocol())
    assert len(result) == 10 and all(len(fold.train) == 72 for fold in result)


def test_runs():
    halves = folds(RepeatedHalves())
    assert [fold.run for fold in halves] == list(range(20)) and all(len(fold.validation) == 0 for fold in halves)
    assert not np.array_equal(halves[0].train, halves[1].train)
    repeated = folds(RepeatedKFoldProtocol())
    assert [fold.run for fold in repeated] == list(np.repeat(np.arange(20), 5))
    assert RepeatedKFoldProtocol.one_result_per_run and not ThesisProtocol.one_result_per_run


def test_each_protocol_names_its_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 10))
    assert ThesisProtocol().test_name == "5x2 cv paired F test"
    assert ThesisProtocol().compare(first, second).statistic > 0
    assert ThesisProtocol(n_repeats=2).test_name == SubjectProtocol().test_name == "paired t test"
    assert ThesisProtocol(n_repeats=2).compare(first[:4], second[:4]) == SubjectProtocol().compare(
        first[:4], second[:4]
    )


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        (
            ThesisProtocol(),
            "a random third of the samples for testing, 5 times two-fold cross-validation on the others",
        ),
        (ThesisProtocol(1, 0.25), "a random 25% of the samples for testing, two-fold cross-validation on the others"),
        (ThesisProtocol(supplied=True), "the published test samples, 5 times two-fold cross-validation on the others"),
        (KFoldProtocol(5), "a random third of the samples for testing, 5-fold cross-validation on the others"),
        (RepeatedHalves(3), "3 times a random half of each class for training, the rest for testing"),
        (RepeatedKFoldProtocol(4, 2), "2 times 4-fold cross-validation, whose folds choose settings and measure"),
        (
            RepeatedDraws(),
            "3 times at most 300 samples for training, 100 for validation and 1000 for testing, drawn at random",
        ),
        (
            RepeatedDraws(1, 80, n_validation=0, n_test=200),
            "at most 80 samples for training and 200 for testing, drawn at random",
        ),
        (
            SubjectProtocol(),
            "2 random samples of each subject for testing, each other one for validation in its turn, the rest for "
            "training",
        ),
        (
            NestedFolds(5, 2, max_train=80),
            "2 times 5-fold cross-validation of at most 80 training samples, settings chosen inside",
        ),
    ],
    ids=repr,
)
def test_protocols_in_words(protocol, words):
    assert protocol.in_words == words


def test_draws_are_limited_and_stratified():
    y = np.repeat([0, 1, 2], [600, 90, 10])
    result = RepeatedDraws(n_repeats=5, n_train=70, n_validation=35, n_test=140).split(y, True)
    assert [fold.run for fold in result] == list(range(5))
    for fold in result:
        for part, size in ((fold.train, 70), (fold.validation, 35), (fold.test, 140)):
            assert len(part) == size
            assert (np.abs(np.bincount(y[part], minlength=3) - size * np.array([600, 90, 10]) / 700) < 2.0).all()
    drawn = np.bincount(np.concatenate([fold.train for fold in RepeatedDraws(400, n_train=70).split(y, False)]))
    assert drawn.min() > 15 and drawn.max() < 75  # everybody has the same chance
    short = RepeatedDraws(n_train=50, n_validation=50).split(np.arange(40) % 2, True)[0]
    assert [len(part) for part in (short.train, short.validation, short.test)] == [20, 10, 10]
