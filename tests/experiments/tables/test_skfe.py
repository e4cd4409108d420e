"""SKFE in its tables: a given number of iterations, which is no failure."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from experiments.tables.skfe import N_STEPS, TABLE_2, TABLE_3, SteppedKernel, stepped
from kernelweave.compare import Problem
from kernelweave.kernels import Gaussian
from kernelweave.reduction import SubspaceKernel


def test_the_ascent_ends_after_its_iterations_without_a_warning():
    """`ConvergenceWarning` is an error in tests."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), np.arange(40) % 4
    kernel = Gaussian(scale=10.0)
    model = clone(stepped(kernel)).fit(X, y)
    assert model.n_iter_ == N_STEPS
    with pytest.warns(ConvergenceWarning):
        plain = SubspaceKernel(kernel, max_iter=N_STEPS, tol=0.0).fit(X, y)
    assert (plain.coef_ == model.coef_).all()


def test_both_tables_have_the_same_number_of_iterations_beside_the_default():
    rng = np.random.default_rng(0)
    data = Problem(rng.normal(size=(20, 3)), np.arange(20) % 2)
    for table in (TABLE_2, TABLE_3):
        columns = {contender.name: contender for contender in table.contenders}
        for name, of in (("SKFE", SteppedKernel), ("SKFE, default", SubspaceKernel)):
            for pipeline in columns[name].candidates(data).values():
                assert type(pipeline[0]) is of
                assert pipeline[0].max_iter == (N_STEPS if name == "SKFE" else SubspaceKernel().max_iter)
