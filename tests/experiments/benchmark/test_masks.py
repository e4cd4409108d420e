"""Masks: fixed by seed, never a sample without views, and the shapes of missingness that they promise."""

import numpy as np
import pytest

from experiments.benchmark.data_sets import mask_at_random, mask_by_block


@pytest.mark.parametrize("mask", [mask_at_random, mask_by_block])
@pytest.mark.parametrize("n_views", [2, 3, 12])
def test_every_sample_has_a_view_and_every_view_samples_that_lack_it(mask, n_views):
    present = mask(501, n_views)
    assert present.shape == (501, n_views) and present.dtype == bool
    assert present.any(axis=1).all()
    assert present.any(axis=0).all()
    assert 0.55 < present.mean() < 0.8


@pytest.mark.parametrize("mask", [mask_at_random, mask_by_block])
def test_fixed_by_the_seed(mask):
    assert np.array_equal(mask(60, 4), mask(60, 4))
    assert not np.array_equal(mask(60, 4), mask(60, 4, seed=1))


def test_at_random_every_view_is_missing_with_the_same_probability():
    share = 1.0 - mask_at_random(20_000, 4).mean(axis=0)
    assert np.allclose(share, 0.3, atol=0.02)


def test_by_block_cohorts_lack_the_same_views():
    patterns, counts = np.unique(mask_by_block(401, 5), axis=0, return_counts=True)
    assert sorted(counts) == [100, 100, 100, 101]
    assert sorted((~patterns).sum(axis=1)) == [0, 2, 2, 2]


def test_two_views_by_block_never_both():
    patterns = {tuple(row) for row in mask_by_block(40, 2).tolist()}
    assert patterns == {(True, True), (True, False), (False, True)}
