"""Tables over five test sets."""

import numpy as np
import pytest

from experiments.discovery import find_experiment
from experiments.tables.thesis_localized import FreshThirds
from kernelweave.kernels import KernelStack
from kernelweave.model_selection import ThesisProtocol
from kernelweave.views import Views


@pytest.mark.parametrize("stratify", [True, False])
def test_each_repeat_has_a_test_set_of_its_own_and_is_a_run(stratify):
    y = np.arange(90) % 2
    folds = FreshThirds().split(y, stratify)
    assert [fold.run for fold in folds] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert FreshThirds().test_name == "5x2 cv paired F test"
    for first, second in zip(folds[::2], folds[1::2], strict=True):
        np.testing.assert_array_equal(first.test, second.test)
        np.testing.assert_array_equal(np.sort(first.train), np.sort(second.validation))
        parts = np.concatenate([first.train, first.validation, first.test])
        assert len(parts) == len(np.unique(parts)) == 90 and len(first.test) == 30
    assert len({tuple(np.sort(fold.test)) for fold in folds}) == 5


def test_the_first_test_set_is_that_of_the_table_itself():
    y = np.arange(90) % 2
    first, itself = FreshThirds().split(y, True)[0], ThesisProtocol().split(y, True)[0]
    np.testing.assert_array_equal(first.test, itself.test)
    np.testing.assert_array_equal(first.train, itself.train)


@pytest.mark.parametrize("table", ["5.16", "5.22", "5.24"])
def test_the_papers_figures_are_those_of_the_table(table):
    there = {method.name: method.paper for method in find_experiment(table).methods}
    thirds = find_experiment(f"{table}-thirds")
    assert thirds.claim.row in there and thirds.quickened().protocol == FreshThirds(n_repeats=1)
    assert all(there.get(method.name) is method.paper for method in thirds.methods)


def test_ranges_of_standardised_features_are_those_of_the_features():
    kernel = find_experiment("5.24-thirds").kernels["P5 in [0, 1]"]
    X = np.random.default_rng(0).gamma(1.0, size=(20, 3)) * [1.0, 10.0, 100.0]
    gram = [
        KernelStack([("P5", kernel)], None).fit(Views(Z)).gram(0) for Z in (X, (X - X.mean(axis=0)) / X.std(axis=0))
    ]
    Z = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    np.testing.assert_allclose(gram[0], (Z @ Z.T + 1.0) ** 5)
    np.testing.assert_allclose(gram[1], gram[0])
