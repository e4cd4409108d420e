"""`choose_n_clusters`: the number that is there is found, and the table is what it says."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from kernelweave import stack_views
from kernelweave.cluster import LEARNED, KernelKMeans, choose_n_clusters
from kernelweave.kernels import Gaussian


def problem(k, seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    centres = 6.0 * np.eye(k)
    return stack_views({v: centres[y] + rng.normal(size=(n, k)) for v in ("a", "b")})


KERNELS = [Gaussian("a"), Gaussian("b")]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_number_of_clusters_is_found(k):
    found = choose_n_clusters(KernelKMeans(KERNELS, n_init=3), problem(k), range(2, 8), n_subsamples=6, random_state=0)
    assert found.n_clusters == k and list(found.table.index) == list(range(2, 8))
    assert found.table.loc[k, "agreement"] > 0.99
    assert (found.table.loc[k + 1 :, "agreement"] < 0.97).all()


@pytest.mark.parametrize("weights", LEARNED)
def test_learned_weights(weights):
    model = KernelKMeans(KERNELS, weights=weights, n_init=2)
    assert choose_n_clusters(model, problem(3), range(2, 5), n_subsamples=4, random_state=0).n_clusters == 3


def test_agreements_are_adjusted_rand_indices_of_subsamples():
    """The labels that are compared are those of fits to the subsamples."""
    X, model = problem(3).iloc[:40], KernelKMeans(KERNELS, n_init=1)
    found = choose_n_clusters(model, X, [4], n_subsamples=2, share=0.7, random_state=5)
    rng = np.random.RandomState(5)
    parts = []
    for _ in range(2):
        rows = np.sort(rng.permutation(40)[:28])
        seed = int(rng.randint(2**31 - 1))
        own = KernelKMeans(KERNELS, 4, n_init=1, random_state=seed).fit(X.iloc[rows])
        parts.append(pd.Series(own.labels_, rows))
    both = parts[0].index.intersection(parts[1].index)
    expected = adjusted_rand_score(parts[0][both], parts[1][both])
    assert_allclose(found.table.loc[4].to_list(), [expected, 0.0], atol=1e-15)
    assert model.n_clusters == 8 and not hasattr(model, "n_features_in_")


def test_noise_agrees_little():
    X = stack_views({v: np.random.default_rng(0).normal(size=(100, 20)) for v in ("a", "b")})
    found = choose_n_clusters(KernelKMeans(KERNELS, n_init=2), X, [3, 6], n_subsamples=5, random_state=0)
    assert (found.table["agreement"] < 0.4).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_clusters": 3}, "n_clusters must be several whole numbers"),
        ({"n_clusters": []}, "numbers from 2 to 96, the size of a subsample"),
        ({"n_clusters": [2, 97]}, "numbers from 2 to 96"),
        ({"n_clusters": [1, 2]}, "n_clusters must be a whole number of at least 2, not 1"),
        ({"n_subsamples": 1}, "n_subsamples must be a whole number of at least 2"),
        ({"share": 1.0}, "share must be a number above 0 and below 1"),
        ({"model": "k-means"}, "model must be a KernelKMeans"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(ValueError, match=message):
        choose_n_clusters(**{"model": KernelKMeans(KERNELS), "X": problem(3), "random_state": 0, **given})
