"""Sums of kernels that machines are solved on: matrices and tiles agree, and images outlive a change of weights."""

import numpy as np
import pytest

from global_in_parts import Problem
from kernelweave.stacks import Matrices, training
from kernelweave.stacks.tiles import Tiles

PROBLEM = Problem(n=60, missing=True)
ETA = np.array([0.3, 0.0, 0.5, 0.2])
FACTOR = np.linspace(0.5, 1.5, 60)
ROWS = np.arange(0, 60, 3)


def both():
    return [training(PROBLEM.stack(storage)) for storage in ("dense", "lazy")]


def sums_of_both():
    return [stack.sums() for stack in both()]


def test_the_storage_decides():
    assert [type(stack) for stack in both()] == [Matrices, Tiles]


@pytest.mark.parametrize("factor", [None, FACTOR])
def test_sums_agree(factor):
    dense, lazy = both()
    first, second = dense.sums(factor), lazy.sums(factor)
    for eta in (ETA, ETA[::-1], ETA):  # updated, too
        K, parts = first.at(eta), second.at(eta)
        np.testing.assert_allclose(dense.sum(eta, factor), K, atol=1e-12)
        for found in (parts, lazy.sum(eta, factor)):
            np.testing.assert_allclose(found.block(np.arange(60)), K, atol=1e-12)
        np.testing.assert_allclose(dense.part(K, ROWS), lazy.part(parts, ROWS).block(np.arange(20)), atol=1e-12)
        V = np.random.default_rng(0).normal(size=(20, 3))
        np.testing.assert_allclose(parts.product(ROWS, ROWS, V), K[np.ix_(ROWS, ROWS)] @ V, atol=1e-12)


@pytest.mark.parametrize("kind", ["binary", "one-vs-one", "one-vs-all"])
def test_images_agree_and_are_those_of_the_solutions(kind):
    machine, _ = PROBLEM.cases[kind]
    found = []
    for sums in sums_of_both():
        sums.scale(FACTOR)
        solution = machine.solve(sums.at(ETA), tol=1e-9)
        solution = machine.solve(sums.at(ETA[::-1]), solution, tol=1e-9)
        found.append((sums.found(machine, solution), solution))
    (dense, first), (lazy, second) = found
    np.testing.assert_allclose(second.coef, first.coef, atol=1e-5)
    np.testing.assert_allclose(lazy.forms(), dense.forms(), rtol=1e-5)
    coef = second.coef
    matrices = PROBLEM.stack("dense").matrices() * np.outer(FACTOR, FACTOR)
    np.testing.assert_array_equal(coef[lazy.rows, lazy.columns], lazy.coef)
    np.testing.assert_allclose(lazy.values, (matrices @ coef)[:, lazy.rows, lazy.columns], atol=1e-9)
    np.testing.assert_allclose(lazy.at(lazy.rows[3:5], lazy.columns[3:5]), lazy.values[:, 3:5])


def test_images_of_samples_stay_true_under_other_weights():
    lazy = sums_of_both()[1]
    first = lazy.at(ETA)
    image = first.image(np.linspace(-1.0, 1.0, 60))
    second = lazy.at(ETA[::-1])
    assert second.reuses(image)
    assert lazy.at(ETA).subset(ROWS).reuses(first.subset(ROWS).zero())
    assert not second.subset(ROWS).reuses(image)
    lazy.scale(FACTOR)
    assert not lazy.at(ETA).reuses(image)


def test_solutions_without_images_are_multiplied_afresh():
    machine, _ = PROBLEM.cases["binary"]
    dense, lazy = sums_of_both()
    solution = machine.solve(dense.at(ETA), tol=1e-6)
    lazy.at(ETA)
    found, wanted = (sums.found(machine, solution).values for sums in (lazy, dense))
    np.testing.assert_allclose(found, wanted, atol=1e-12)
