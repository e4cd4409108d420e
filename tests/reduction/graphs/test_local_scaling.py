"""Local scaling: affinities by hand, copies, and scales of zero."""

import warnings

import numpy as np

from kernelweave.reduction.graphs import local_affinity

x = np.array([0.0, 1.0, 3.0, 7.0])
SQUARED = (x[:, None] - x[None, :]) ** 2


def test_affinities_by_hand():
    scale = {1: [1.0, 1.0, 2.0, 4.0], 2: [3.0, 2.0, 3.0, 6.0], 3: [7.0, 6.0, 4.0, 7.0]}
    for k, s in scale.items():
        np.testing.assert_allclose(local_affinity(SQUARED, k), np.exp(-SQUARED / np.outer(s, s)))
    np.testing.assert_array_equal(local_affinity(SQUARED, 50), local_affinity(SQUARED, 3))
    np.testing.assert_array_equal(local_affinity(np.zeros((1, 1)), 7), [[1.0]])


def test_weights_are_copies():
    weight = np.array([1, 3, 2, 1])
    copies = np.repeat(np.arange(4), weight)
    for k in range(1, 9):
        whole = local_affinity(SQUARED[np.ix_(copies, copies)], k)
        first = np.searchsorted(copies, np.arange(4))
        np.testing.assert_allclose(local_affinity(SQUARED, k, weight), whole[np.ix_(first, first)])
    np.testing.assert_allclose(local_affinity(SQUARED, 2, np.ones(4)), local_affinity(SQUARED, 2))


def test_scales_of_zero():
    squared = SQUARED[np.ix_([0, 0, 0, 3], [0, 0, 0, 3])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        affinity = local_affinity(squared, 2)
    expected = np.eye(4)
    expected[:3, :3] = 1.0
    np.testing.assert_array_equal(affinity, expected)
