"""Sums of kernels that machines are solved on: both storages agree, and images in parts outlive a change of weights."""

import numpy as np
import pytest

from global_in_parts import Problem
from kernelweave.combiners.mkl.operands import KernelsInParts, WholeKernels, operands_of

PROBLEM = Problem(n=60, missing=True)
ETA = np.array([0.3, 0.0, 0.5, 0.2])
FACTOR = np.linspace(0.5, 1.5, 60)
ROWS = np.arange(0, 60, 3)


def both():
    return operands_of(PROBLEM.stack("dense")), operands_of(PROBLEM.stack("lazy"))


def test_the_storage_decides():
    dense, lazy = both()
    assert isinstance(dense, WholeKernels)
    assert isinstance(lazy, KernelsInParts)


@pytest.mark.parametrize("factor", [None, FACTOR])
@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_sums_agree(factor, ridge):
    dense, lazy = both()
    for eta in (ETA, ETA[::-1], ETA):  # updated, too
        for operands in (dense, lazy):
            operands.scale(np.ones(60) if factor is None else factor)
        K, parts = dense.sum(eta, ridge), lazy.sum(eta, ridge)
        everybody = np.arange(60)
        np.testing.assert_allclose(parts.block(everybody), K, atol=1e-12)
        np.testing.assert_allclose(dense.among(K, ROWS), lazy.among(parts, ROWS).block(np.arange(20)), atol=1e-12)
        V = np.random.default_rng(0).normal(size=(20, 3))
        np.testing.assert_allclose(parts.product(ROWS, ROWS, V), K[np.ix_(ROWS, ROWS)] @ V, atol=1e-12)
        assert dense.among(K, everybody) is K
        assert lazy.among(parts, everybody) is parts


@pytest.mark.parametrize("kind", ["binary", "one-vs-one", "one-vs-all"])
def test_images_agree_and_are_those_of_the_solutions(kind):
    machine, _ = PROBLEM.cases[kind]
    found = []
    for operands in both():
        operands.scale(FACTOR)
        solution = machine.solve(operands.sum(ETA), tol=1e-9)
        solution = machine.solve(operands.sum(ETA[::-1]), solution, tol=1e-9)
        rows = [rows for rows, _ in machine.outputs()]
        outputs = list(zip(rows, solution.outputs or (solution,), strict=True))
        found.append((operands.images(outputs), solution))
    (dense, first), (lazy, second) = found
    np.testing.assert_allclose(second.coef, first.coef, atol=1e-5)
    np.testing.assert_allclose(lazy.forms(), dense.forms(), rtol=1e-5)
    coef = second.coef
    matrices = PROBLEM.stack("dense").matrices() * np.outer(FACTOR, FACTOR)
    np.testing.assert_array_equal(coef[lazy.rows, lazy.columns], lazy.coef)
    np.testing.assert_allclose(lazy.values, (matrices @ coef)[:, lazy.rows, lazy.columns], atol=1e-9)
    np.testing.assert_allclose(lazy.at(lazy.rows[3:5], lazy.columns[3:5]), lazy.values[:, 3:5])


def test_images_of_samples_stay_true_under_other_weights():
    lazy = both()[1]
    first = lazy.sum(ETA)
    image = first.image(np.linspace(-1.0, 1.0, 60))
    second = lazy.sum(ETA[::-1])
    assert second.reuses(image)
    assert lazy.sum(ETA).subset(ROWS).reuses(first.subset(ROWS).zero())
    assert not second.subset(ROWS).reuses(image)
    lazy.scale(FACTOR)
    assert not lazy.sum(ETA).reuses(image)


def test_solutions_without_images_are_multiplied_afresh():
    machine, _ = PROBLEM.cases["binary"]
    dense, lazy = both()
    solution = machine.solve(dense.sum(ETA), tol=1e-6)
    lazy.sum(ETA)
    outputs = [(np.arange(60), solution)]
    np.testing.assert_allclose(lazy.images(outputs).values, dense.images(outputs).values, atol=1e-12)
