"""What the costs and C do to the weights on MULTIFEAT: thesis 2.8, and how a kernel of noise fares."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets, stack_views
from kernelweave.combiners import ConvexMKL
from kernelweave.kernels import Gaussian, Linear

VIEWS = ["fac", "fou", "kar", "mor", "pix", "zer"]


@pytest.fixture(scope="module")
def digits():
    """A third of the samples, standardised, beside five columns of noise."""
    X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    noise = stack_views({"noise": np.random.default_rng(0).normal(size=(len(X), 5))})
    X, _, y, _ = train_test_split(pd.concat([X, noise], axis=1), y, train_size=667, stratify=y, random_state=0)
    return StandardScaler().set_output(transform="pandas").fit_transform(X), y


def test_a_noise_kernel_goes_at_small_cost_and_not_at_large(digits):
    kernels = [Linear(view) for view in VIEWS] + [Gaussian("noise", scale="nearest")]
    weights = {C: MKLClassifier(kernels, ConvexMKL(), C=C).fit(*digits).kernel_weights_ for C in (0.1, 10.0)}
    assert weights[0.1]["noise"] < 1e-3
    assert weights[10.0]["noise"] == weights[10.0].max() > 0.3


def test_a_dear_view_is_left_out_and_not_read(digits):
    X, y = digits
    kernels = [Linear(view) for view in VIEWS]
    equal = MKLClassifier(kernels, ConvexMKL(), C=10.0).fit(X, y)
    dear = MKLClassifier(kernels, ConvexMKL(costs=(1, 1, 1, 1, 1, 50)), C=10.0).fit(X, y)
    assert equal.kernel_weights_["zer"] > 0.02 and (equal.kernel_weights_ > 0).all()
    assert dear.kernel_weights_["zer"] == 0.0 and (dear.kernel_weights_[VIEWS[:5]] > 0).all()
    without = X.drop(columns=[column for column in X if column.startswith("zer__")])
    assert dear.score(without, y) > 0.97
