"""scikit-learn's own estimator checks: all for equal weights, those of what fit and predict do for learned ones."""

import pytest

from conventions import checks
from kernelweave.cluster import LEARNED, KernelKMeans
from kernelweave.kernels import Gaussian, Linear


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@checks(
    [KernelKMeans(n_init=2)],
    [KernelKMeans([Linear(), Gaussian(scale=1.0)], n_init=2, weights=weights) for weights in LEARNED],
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)


def test_tags():
    tags = KernelKMeans().__sklearn_tags__()
    assert tags.estimator_type == "clusterer" and tags.input_tags.sparse and not tags.target_tags.required
