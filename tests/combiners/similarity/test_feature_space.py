from itertools import combinations

import numpy as np
import pytest

from kernelweave import MKLClassifier
from kernelweave.combiners import FeatureSpaceMeasure
from kernelweave.kernels import Gaussian, Linear, Precomputed

rng = np.random.default_rng(2)
X = rng.normal(size=(50, 6))
Y = (X[:, 0] + 0.5 * X[:, 2] + 0.5 * rng.normal(size=50) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.5 * X[:, 3], [-0.5, 0.6])
VIEWS = [[0, 1], [2], [3, 4, 5]]
KERNELS = [Linear(view) for view in VIEWS]


def measure(eta, y, weight=None):
    """FSM of explicit features: those of each linear kernel, times the root of its weight."""
    weight = np.ones(len(y)) if weight is None else weight
    features = np.hstack([np.sqrt(e) * X[:, view] for e, view in zip(eta, VIEWS, strict=True)])
    values = []
    for a, b in combinations(np.unique(y), 2):
        parts = [(features[y == c], weight[y == c]) for c in (a, b)]
        centres = [np.average(part, axis=0, weights=w) for part, w in parts]
        gap = np.linalg.norm(centres[0] - centres[1])
        line = (centres[0] - centres[1]) / gap
        spreads = [
            np.sqrt(np.average(((part - centre) @ line) ** 2, weights=w))
            for (part, w), centre in zip(parts, centres, strict=True)
        ]
        values.append(sum(spreads) / gap)
    return np.mean(values)


@pytest.mark.parametrize("y", [Y, THREE])
@pytest.mark.parametrize("weight", [None, rng.uniform(0.5, 2, size=50)])
def test_the_measure_is_that_of_explicit_features(y, weight):
    model = MKLClassifier(KERNELS, FeatureSpaceMeasure(), normalize=None).fit(X, y, sample_weight=weight)
    found = model.combiner_
    assert found.measure_ == pytest.approx(measure(model.kernel_weights_, y, weight))
    for m in range(3):
        assert found.measures_.iloc[m] == pytest.approx(measure(np.eye(3)[m], y, weight))
    assert found.measure_ <= found.measures_.min() + 1e-9


@pytest.mark.parametrize("y", [Y, THREE])
def test_no_other_weights_are_better(y):
    model = MKLClassifier(KERNELS, FeatureSpaceMeasure(), normalize=None).fit(X, y)
    near = model.kernel_weights_.to_numpy() + rng.normal(size=(50, 3)) * 1e-3
    for eta in np.vstack([rng.dirichlet(np.ones(3), size=300), near]):
        eta = np.maximum(eta, 0)
        assert measure(eta / eta.sum(), y) >= model.combiner_.measure_ - 1e-6


def test_one_scale_of_all_kernels_does_not_matter():
    one = MKLClassifier([Linear([0]), Gaussian()], FeatureSpaceMeasure(), normalize=None).fit(X, Y)
    other = MKLClassifier([5.0 * Linear([0]), 5.0 * Gaussian()], FeatureSpaceMeasure(), normalize=None).fit(X, Y)
    np.testing.assert_allclose(one.kernel_weights_.to_numpy(), other.kernel_weights_.to_numpy(), atol=1e-4)


def test_classes_with_one_centre():
    K = np.ones((6, 6))
    y, ids = [0, 1, 0, 1, 0, 1], np.arange(6)[:, None]
    with pytest.raises(ValueError, match="same centre in every kernel"):
        MKLClassifier([Precomputed(K)], FeatureSpaceMeasure(), normalize=None).fit(ids, y)
    better = np.outer([1.0, -1, 1, -1, 1, -1], [1.0, -1, 1, -1, 1, -1]) + np.eye(6)
    model = MKLClassifier([Precomputed(K), Precomputed(better)], FeatureSpaceMeasure(), normalize=None).fit(ids, y)
    assert np.isinf(model.combiner_.measures_.iloc[0])
    assert np.isfinite(model.combiner_.measure_)
