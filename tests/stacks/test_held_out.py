"""Samples that are held out: which they are, and how their losses are compared."""

import numpy as np
import pytest

from kernelweave.machines import OneVsAllMachine, RegressionMachine
from kernelweave.stacks.held_out import positions_of_parts, sums_of

N_SOLUTIONS = 6


@pytest.mark.parametrize("counts", [[1, 2, 3, 5, 30], [1, 1, 40], [7], [2, 2, 2]])
def test_parts_keep_a_training_sample_of_every_class(counts):
    strata = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    parts = positions_of_parts(OneVsAllMachine(strata, 1.0, n_classes=max(2, len(counts))), np.random.RandomState(0))
    everybody = np.concatenate(parts)
    assert len(np.unique(everybody)) == len(everybody)
    alone = np.isin(strata, np.flatnonzero(np.array(counts) == 1))
    np.testing.assert_array_equal(np.sort(everybody), np.flatnonzero(~alone))
    for part in parts:
        assert set(strata) == set(np.delete(strata, part))


def test_many_samples_are_split_once():
    """From 1000 on, as the docstring of `Localized` says."""
    labels = np.arange(1000) % 7
    for machine in (OneVsAllMachine(labels, 1.0), RegressionMachine(labels, 1.0, epsilon=0.1)):
        (part,) = positions_of_parts(machine, np.random.RandomState(0))
        assert len(part) == 250
    assert np.abs(np.bincount(labels[part]) - 250 / 7).max() < 15
    assert len(positions_of_parts(RegressionMachine(labels[1:], 1.0, epsilon=0.1), np.random.RandomState(0))) == 4


def test_one_standard_error():
    rng = np.random.default_rng(0)
    for _ in range(20):
        losses = (rng.random((60, N_SOLUTIONS)) < 0.3).astype(float)
        chosen, risk, differences, errors = sums_of(losses, np.full(60, 3.0)).strongest()
        np.testing.assert_allclose(risk, losses.mean(axis=0))
        best = min(range(N_SOLUTIONS), key=lambda k: losses[:, k].mean())
        for k in range(chosen + 1):
            d = losses[:, k] - losses[:, best]
            error = d.std(ddof=1) / np.sqrt(60)
            assert differences[k] == pytest.approx(d.mean()) and errors[k] == pytest.approx(error)
            assert (d.mean() <= error) == (k == chosen)
    assert sums_of(np.zeros((5, N_SOLUTIONS)), np.ones(5)).strongest()[0] == 0  # equal losses: the mean kernel


def test_samples_count_by_their_weight():
    losses = np.random.default_rng(1).random((40, N_SOLUTIONS))
    weight = np.r_[np.full(20, 2.0), np.full(20, 1e-12)]
    chosen, *path, _ = sums_of(losses, weight).strongest()
    alone, *expected, _ = sums_of(losses[:20], np.ones(20)).strongest()
    assert chosen == alone
    np.testing.assert_allclose(path, expected, rtol=1e-9, atol=1e-12)


def test_sums_of_parts_add_up():
    losses, weight = np.random.default_rng(2).random((40, N_SOLUTIONS)), np.random.default_rng(3).random(40)
    whole = sums_of(losses, weight).strongest()
    parts = sums_of(losses[:15], weight[:15]) + sums_of(losses[15:], weight[15:])
    for found, expected in zip(parts.strongest(), whole, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_one_sample_of_difference_is_within_one_standard_error():
    """Both are 1 / n then, but for rounding, and the stronger penalty is taken on every processor."""
    for n in range(3, 60):
        losses = np.zeros((n, 2))
        losses[n // 2, 0] = 1.0
        chosen, risk, difference, error = sums_of(losses, np.full(n, 0.7)).strongest()
        assert chosen == 0 and risk[1] == 0.0
        np.testing.assert_allclose([difference[0], error[0]], 1.0 / n)
