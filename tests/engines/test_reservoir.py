"""The reservoir: uniform, the same for any division into blocks, and of enough samples that have a rare view."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave import stack_views
from kernelweave.engines import InMemory
from kernelweave.engines.base import Rows
from kernelweave.engines.reservoir import fitted_maps, keys_of, reservoir_of, selectors_of
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear, Pairwise, Precomputed
from kernelweave.views import Views

rng = np.random.default_rng(0)
n = 1000
X = rng.normal(size=(n, 4))
RARE = X.copy()
RARE[rng.permutation(n)[30:], :2] = np.nan  # 30 samples have the first view
HAS = ~np.isnan(RARE[:, 0])
WEIGHT = rng.uniform(0.5, 2.0, n)


def blocks(X, *ends):
    views, edges = Views(X), [0, *ends, n]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    return InMemory(
        [Rows(part.start, views.rows(part), np.arange(part.start, part.stop), WEIGHT[part]) for part in parts]
    )


@pytest.mark.parametrize("table", [X, RARE, pd.DataFrame(RARE, columns=list("abcd")), sp.csr_matrix(X)])
def test_blocks_do_not_change_the_reservoir(table):
    selectors = selectors_of([Gaussian([0, 1]), Linear([2, 3])])
    one, other = (blocks(table, *ends).sum(reservoir_of, 100, 7, selectors) for ends in ((), (10, 500, 900)))
    for found in (one, other):
        assert (np.diff(found.positions) > 0).all()
        np.testing.assert_array_equal(found.y, found.positions)
        np.testing.assert_array_equal(found.weight, WEIGHT[found.positions])
        np.testing.assert_array_equal(found.keys, keys_of(0, n, 7)[found.positions])
    np.testing.assert_array_equal(one.positions, other.positions)


def test_all_samples_have_the_same_chance():
    counts = np.zeros(n)
    for seed in range(200):
        counts[blocks(X).sum(reservoir_of, 100, seed, selectors_of([Linear()])).positions] += 1
    assert counts.sum() == 20_000 and counts.min() >= 5 and counts.max() <= 40
    halves = counts[: n // 2].sum() / counts.sum()
    assert 0.48 < halves < 0.52


def test_a_rare_view_keeps_its_samples():
    selectors = selectors_of([Gaussian([0, 1]), Linear([2, 3])])
    found = blocks(RARE, 400).sum(reservoir_of, 100, 7, selectors)
    common, own, other = found.common(), found.of_kernel(0), found.of_kernel(1)
    assert len(common) == 100 and len(own) == 30 and found.has[own, 0].all()
    np.testing.assert_array_equal(common, other)
    np.testing.assert_array_equal(found.positions[own], np.flatnonzero(HAS))


def test_kernels_and_landmarks_of_a_rare_view_come_from_its_own_samples():
    engine, kernels = blocks(RARE, 400), [("rare", Gaussian([0, 1])), ("full", Gaussian([2, 3]))]
    approximation = NystroemFeatures(25)
    from kernelweave import features

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "LEAST_RESERVOIR", 100)
        patch.setattr(features, "RESERVOIR_SHARE", 2)
        rng = np.random.RandomState(0)
        reservoir, stack, maps, dtype = fitted_maps(engine, kernels, "unit-diagonal", approximation, rng, "float64")
    assert reservoir.views.n_samples == stack.n_samples == 100 and dtype == np.float64
    assert maps[0].landmarks.n_samples == 25
    values = RARE[HAS, :2]
    alone = Gaussian().fit(values, WEIGHT[HAS]).scale_
    assert stack.kernels[0].scale_ == pytest.approx(alone, rel=1e-12)
    views = Views(RARE)
    phi = maps[0].transform(views, stack.presence(views)[:, 0])
    assert not phi[~HAS].any()
    assert WEIGHT[HAS] @ (phi[HAS] ** 2).sum(axis=1) / WEIGHT[HAS].sum() == pytest.approx(1.0, rel=1e-9)


def test_a_view_that_no_sample_has():
    nobody = X.copy()
    nobody[:, :2] = np.nan
    with pytest.raises(ValueError, match="no training sample has the view of the kernel 'rare'; remove"):
        fitted_maps(
            blocks(nobody),
            [("rare", Gaussian([0, 1])), Linear([2, 3])],
            None,
            "nystroem",
            np.random.RandomState(0),
            np.dtype("float64"),
        )
    found = blocks(nobody).sum(reservoir_of, 100, 7, selectors_of([("rare", Gaussian([0, 1])), Linear([2, 3])]))
    assert len(found.of_kernel(0)) == 0


def test_what_kernels_read():
    kernels = [
        Linear("a") * Gaussian("b") + 1.0,
        Pairwise(Gaussian(), first="a", second="b"),
        Precomputed(np.eye(3), "id"),
    ]
    assert selectors_of(kernels) == [["a", "b"], ["a", "b"], ["id"]]


def test_default_kernels_have_reservoirs_of_their_own():
    table = stack_views({"a": RARE[:, :2], "b": RARE[:, 2:]})
    found = blocks(table, 400).sum(reservoir_of, 100, 7)
    assert found.has.shape[1] == 2 and len(found.of_kernel(0)) == 30


def test_nothing_of_the_columns_is_kept_in_the_blocks():
    engine = blocks(RARE, 400)
    engine.sum(reservoir_of, 100, 7, selectors_of([Gaussian([0, 1])]))
    assert not any(block.views._read for block in engine.blocks)
