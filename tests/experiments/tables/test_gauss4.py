"""GAUSS4."""

import numpy as np
import pytest

from experiments.discovery import find_experiment
from experiments.tables.thesis_localized import draws
from kernelweave.datasets import gauss_posterior


def test_halves_of_five_draws_train_and_a_further_draw_tests():
    experiment, made = find_experiment("gauss4"), draws()
    folds = experiment.protocol.split(made.target, True, groups=made.original_target)
    assert len(folds) == 10 and experiment.protocol.test_name == "5x2 cv paired F test"
    for number, fold in enumerate(folds):
        halves = np.concatenate([fold.train, fold.validation])
        assert len(fold.train) == 400 and (made.original_target[halves] == number // 2).all()
        assert len(np.unique(halves)) == 800
    np.testing.assert_array_equal(folds[0].train, np.sort(folds[1].validation))
    assert (made.original_target[folds[0].test] == -1).all() and len(folds[0].test) == 10000


def test_the_note_states_the_bayes_rule_of_the_samples_that_test():
    made = draws()
    test = made.original_target == -1
    bayes = (gauss_posterior(made.data[test].to_numpy(), 4) > 0.5) == (made.target[test] > 0)
    assert 100 * bayes.mean() == pytest.approx(89.7, abs=0.6)  # two standard errors of 10000 samples
    assert "89.7 per cent" in find_experiment("gauss4").note
