"""Combiners with global weights give the same on stacks with either storage.

Each combiner is fitted twice with each kind of machine that it takes, to a small gap, which is why this takes long.
"""

import numpy as np
import pytest
from sklearn.base import clone

from global_in_parts import DENSE, Problem, global_combiners
from kernelweave.combiners import Combiner, ConvexMKL, FitControl, LpMKL, Mean, PerOutput
from kernelweave.kernels.tiles.sums import TiledSum
from kernelweave.solvers import in_parts, joint_in_parts, program
from kernelweave.stacks import tiles
from kernelweave.stacks.tiles import Tiles
from places import in_every_place

KINDS = ("binary", "posterior", "one-vs-all", "one-vs-one", "joint", "regression", "one-class")
FIRST_ORDER = {"silp", "reduced gradient", "level", "lp, closed form", "widths"}  # whose gaps stay wider
SOME = {"mean", "best single", "convex", "lp", "easy", "accuracy", "feature space", "qcqp", "ideal kernel"}
SOME |= {"correlation", "error", "regional"}
PAIRS = [(kind, name) for kind in KINDS for name in global_combiners(kind) if kind == "binary" or name in SOME]
PLAIN = Problem()


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Several rounds and tiles, although the samples are few."""
    for module in (in_parts, joint_in_parts):
        monkeypatch.setattr(module, "WORKING_SET", 64)
    monkeypatch.setattr(tiles, "_TILE_VALUES", 2**14)


def both(problem, combiner, kind, tol):
    """The combined kernels of both storages."""
    machine, _ = problem.cases[kind]
    return [
        clone(combiner).fit(problem.training(kind, storage), machine, FitControl(np.random.RandomState(0), tol))
        for storage in ("dense", "lazy")
    ]


def assert_same(dense, lazy, objective=1e-6, weights=1e-4):
    assert lazy.solution.converged
    assert lazy.solution.objective == pytest.approx(dense.solution.objective, rel=objective)
    np.testing.assert_allclose(lazy.weights(), dense.weights(), atol=weights)
    assert lazy.solution.gap <= dense.solution.gap + objective * abs(dense.solution.objective)


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_storages_agree(kind, name):
    if name in FIRST_ORDER:
        assert_same(*both(PLAIN, global_combiners(kind)[name], kind, 1e-5), 2e-5, 5e-3)
    else:
        assert_same(*both(PLAIN, global_combiners(kind)[name], kind, 1e-8))


@pytest.mark.parametrize("kind", ["binary", "one-vs-one", "joint", "regression"])
@pytest.mark.parametrize(
    "name", ["mean", "convex", "lp", "selection", "regional", "best single", "easy", "proportional", "qcqp"]
)
def test_storages_agree_with_missing_views_and_sample_weights(kind, name):
    if name in global_combiners(kind):
        problem = Problem(missing=True, weighted=True, normalize="unit-trace")
        # the last solve scales rows by the learned weights, of which its optimum is no minimum; a relative gap of 1e-8
        # leaves weights open to its root, times a few
        assert_same(*both(problem, global_combiners(kind)[name], kind, 1e-8), 1e-5, 5e-4)


@pytest.mark.parametrize("kind", ["one-vs-all", "one-vs-one"])
@pytest.mark.parametrize("normalize", ["unit-trace", "center"])
def test_storages_agree_per_output(kind, normalize):
    assert_same(*both(Problem(n=120, normalize=normalize), PerOutput(LpMKL()), kind, 1e-8))


@pytest.mark.parametrize("name", DENSE)
def test_the_reason_for_whole_matrices(name):
    combiner, word = DENSE[name]
    assert word in combiner.needs()["eigenvalues" if name == "eigenvalue costs" else "gram"]


def test_which_combiners_take_parts():
    every = [Mean(), PerOutput(Mean()), *(each for kind in KINDS for each in global_combiners(kind).values())]
    assert all(Tiles.offers >= combiner.needs().keys() for combiner in every)

    class Own(Combiner):
        pass

    assert Own().needs()["gram"] == "Own reads whole Gram matrices"


@pytest.mark.parametrize("kind", ["binary", "one-vs-one", "joint"])
def test_a_change_of_weights_computes_no_image_afresh(kind, monkeypatch):
    """Images are zero once for each output; every later solve begins with those of the last."""
    started = []
    zero = TiledSum.zero
    monkeypatch.setattr(TiledSum, "zero", lambda self: started.append(self) or zero(self))
    machine, _ = PLAIN.cases[kind]
    kernel = ConvexMKL().fit(PLAIN.training(kind, "lazy"), machine, FitControl(tol=1e-6))
    assert len(kernel.history) > 3
    assert len(started) == machine.n_outputs


def test_the_curvature_from_some_of_the_free_samples(monkeypatch):
    """The certified optimum is the same, after a few more solves."""
    machine, _ = PLAIN.cases["binary"]
    wanted = ConvexMKL().fit(PLAIN.training("binary", "lazy"), machine, FitControl(tol=1e-6))
    monkeypatch.setattr(program, "MOST_WHOLE", 20)
    sizes = []
    block = TiledSum.block
    monkeypatch.setattr(
        program.DualProgram, "matrix", lambda self, K, chosen: sizes.append(len(chosen)) or block(K, chosen)
    )
    found = ConvexMKL().fit(PLAIN.training("binary", "lazy"), machine, FitControl(tol=1e-6))
    assert set(sizes) == {20}
    assert found.solution.objective == pytest.approx(wanted.solution.objective, rel=1e-5)
    assert len(found.history) <= 3 * len(wanted.history)


def test_float32_rows():
    for name in ("convex", "easy", "qcqp"):
        machine, _ = PLAIN.cases["binary"]
        dense, lazy = (
            clone(global_combiners("binary")[name]).fit(PLAIN.training("binary", *stack), machine, FitControl(tol=1e-4))
            for stack in (("dense", "float64"), ("lazy", "float32"))
        )
        assert_same(dense, lazy, 1e-3, 1e-2)


@in_every_place
@pytest.mark.parametrize("kind", ["one-vs-one", "joint"])
@pytest.mark.parametrize(
    "name", ["mean", "convex", "regional", "best single", "easy", "proportional", "qcqp", "feature space"]
)
def test_every_place_gives_the_same(place_of, name, kind):
    problem = Problem(n=60, missing=True)
    machine, _ = problem.cases[kind]
    combiner, control = global_combiners(kind)[name], FitControl(np.random.RandomState(0), 1e-6)
    dense = clone(combiner).fit(problem.training(kind, "dense"), machine, control)
    control = FitControl(np.random.RandomState(0), 1e-6)
    lazy = problem.training(kind, "lazy", place=place_of())
    assert_same(dense, clone(combiner).fit(lazy, machine, control), 1e-5, 1e-3)
