"""Kernels that users write, with derivatives by their features, under projections: nothing depends on their class."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave import MKLClassifier
from kernelweave.combiners import Projected, Softmax
from kernelweave.kernels import KernelStack, Linear
from kernelweave.views import Views
from localized_problem import MACHINES
from own_kernels import ExponentialProduct, RationalQuadratic
from projected_problem import A, B, X, prepared, solved

OWN = [RationalQuadratic(A), ExponentialProduct(B), Linear(B), RationalQuadratic(B, scale=2.0)]


@pytest.mark.parametrize("constraint", ["orthonormal", "norm", "penalty"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_gradient_through_the_solved_machine_under_every_constraint(normalize, constraint):
    family, theta = prepared(OWN, constraint=constraint, normalize=normalize, samples=0.5 * X)
    machine, domain = MACHINES["binary"], family.domain()
    theta = domain.enter(theta)
    _, gradient, solution = solved(family, theta, machine)
    slope = domain.tangent(theta, gradient)
    direction = domain.tangent(theta, np.random.RandomState(3).normal(size=len(theta)))
    ahead, behind = (solved(family, domain.move(theta, direction, h)[0], machine, solution)[0] for h in (1e-5, -1e-5))
    assert slope @ direction == pytest.approx((ahead - behind) / 2e-5, rel=1e-3)
    assert gradient @ direction == pytest.approx(slope @ direction)


@pytest.mark.parametrize("machine", MACHINES)
def test_gradient_through_every_machine(machine):
    family, theta = prepared(OWN, samples=0.5 * X)
    _, gradient, solution = solved(family, theta, MACHINES[machine])
    for direction in np.random.RandomState(2).normal(size=(2, len(theta))):
        ahead, behind = (solved(family, theta + h * direction, MACHINES[machine], solution)[0] for h in (1e-5, -1e-5))
        assert gradient @ direction == pytest.approx((ahead - behind) / 2e-5, rel=1e-3, abs=5e-5)


def test_features_are_projected_and_the_width_is_learned_there():
    family, theta = prepared(OWN, "none", n_components=2, samples=X)
    assert [each.by_kernel for each in family.maps] == [False] * 4
    W = family.layout.projections(theta)[0]
    points = X[:, A] @ W  # a stationary kernel's features are projected as they are
    own = RationalQuadratic().fit(points)
    assert family.maps[0].kernel.kernel.scale_ == pytest.approx(own.scale_, rel=1e-9)
    assert_allclose(family.maps[0].kernel.gram(points), 0.5 * own.gram(points), atol=1e-12)  # a diagonal of 1
    assert family.maps[3].kernel.kernel.scale_ == 2.0


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace"])
def test_normalisation_gives_a_mean_diagonal_of_1(normalize):
    family, _ = prepared([OWN[1]], "none", n_components=999, normalize=normalize, samples=X)
    identity = family.layout.join(np.empty(0), None, [np.eye(4)])
    diagonal = np.diagonal(family.at(identity).gram())
    assert diagonal.mean() == pytest.approx(1.0) and np.ptp(diagonal) > 0.01
    plain = np.diagonal(KernelStack([OWN[1]], None).fit(X).gram(0))
    rows = X[:, B] / np.linalg.norm(X[:, B], axis=1, keepdims=True)
    raw = plain if normalize == "unit-trace" else ExponentialProduct().fit(rows).diagonal(rows)
    assert_allclose(diagonal, raw / raw.mean(), rtol=1e-9)


def test_a_model_is_fitted_and_predicts():
    y = np.sign(X[:, 0] + X[:, 3] ** 2 - 0.5)
    combiner = Projected(2, Softmax(), l2=0.01)
    model = MKLClassifier(OWN[:3], combiner, C=10.0, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert [W.shape for W in model.projections_.values()] == [(3, 2), (4, 2), (4, 2)]
    cross = model._kernel.cross(Views(X))
    assert_allclose(cross @ model.dual_coef_.T + model.intercept_, model.decision_function(X)[:, None], atol=1e-8)
