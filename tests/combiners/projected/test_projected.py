"""Projection kernels: gradients through every machine, equalities, constraints and what the descent reaches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cases import each
from kernelweave import MKLClassifier
from kernelweave.combiners import FitControl, GaussianGate, Localized, Projected, Softmax
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial
from kernelweave.stacks import training
from kernelweave.views import Views
from localized_problem import LABELS, MACHINES
from projected_problem import GATINGS, KERNELS, MISSING, SIDE, WIDE, X, local_model, prepared, solved


def check_gradient(family, theta, machine, n_directions=2):
    value, gradient, solution = solved(family, theta, machine)
    h = 1e-5
    for direction in np.random.RandomState(2).normal(size=(n_directions, len(theta))):
        ahead, behind = (
            solved(family, point, machine, solution)[0] for point in (theta + h * direction, theta - h * direction)
        )
        assert gradient @ direction == pytest.approx((ahead - behind) / (2 * h), rel=1e-3, abs=5e-5)


@each("kernels", KERNELS)
@each("machine", MACHINES)
def test_gradient_through_the_solved_machine(machine, kernels):
    check_gradient(*prepared(kernels), MACHINES[machine])


@each("gating", GATINGS)
@each("machine", MACHINES)
def test_gradient_with_every_gating_model(machine, gating):
    check_gradient(*prepared("mixed", gating), MACHINES[machine])


@pytest.mark.parametrize("gating", ["none", "softmax, projected", "sigmoid"])
@pytest.mark.parametrize("normalize", ["unit-trace", "center", None])
def test_gradient_with_other_normalisations(gating, normalize):
    samples = X if normalize != "unit-trace" else 10.0 * X
    check_gradient(*prepared("mixed", gating, samples, normalize=normalize), MACHINES["least-squares"])


@pytest.mark.parametrize("gating", ["none", "softmax, projected", "gaussian"])
def test_gradient_where_views_are_missing(gating):
    check_gradient(*prepared("gaussian", gating, MISSING), MACHINES["binary"])


@pytest.mark.parametrize("method", ["kpca", "map"])
@pytest.mark.parametrize("machine", ["binary", "regression", "joint"])
def test_gradient_of_projected_kernel_features(machine, method):
    check_gradient(*prepared("gaussian", features=method), MACHINES[machine])


def test_gradient_with_penalty_and_quadratic_inputs():
    options = {"constraint": "penalty", "projection_l2": 2.0, "quadratic": True}
    family, theta = prepared("mixed", "softmax, projected", **options)
    check_gradient(family, theta, MACHINES["binary"], 4)
    V, T = family.layout.gating(theta)
    matrices = family.layout.projections(theta)
    expected = 0.15 * (V**2).sum() + sum((W**2).sum() for W in matrices)  # biases too
    assert family.penalty(theta)[0] == pytest.approx(expected)


@pytest.mark.parametrize("constraint", ["orthonormal", "norm", "penalty"])
def test_derivative_along_the_curves_of_the_domain(constraint):
    family, theta = prepared("gaussian", constraint=constraint)
    machine, domain = MACHINES["binary"], family.domain()
    theta = domain.enter(theta)
    _, gradient, solution = solved(family, theta, machine)
    slope = domain.tangent(theta, gradient)
    direction = domain.tangent(theta, np.random.RandomState(3).normal(size=len(theta)))
    ahead, behind = (solved(family, domain.move(theta, direction, h)[0], machine, solution)[0] for h in (1e-5, -1e-5))
    assert slope @ direction == pytest.approx((ahead - behind) / 2e-5, rel=1e-3)
    assert gradient @ direction == pytest.approx(slope @ direction)


def identity_theta(family, localized_theta):
    """Parameters of `Localized` with projections that leave features as they are."""
    matrices = [np.eye(*shape) for shape in family.layout.shapes]
    return family.layout.join(localized_theta, None, matrices)


@each("gating", ["softmax", "sigmoid", "gaussian", "cluster", "instance"])
@each(
    ("kernels", "normalize", "features"),
    [
        ("linear", "unit-diagonal", "auto"),
        ("gaussian", "unit-diagonal", "auto"),
        ("mixed", None, "auto"),
        ("mixed", "unit-trace", "auto"),
        ("linear", "center", "auto"),
        ("mixed", "unit-diagonal", "kpca"),
        ("mixed", "center", "kpca"),
    ],
)
def test_identity_projection_is_localized(kernels, normalize, features, gating):
    options = {"normalize": normalize, "n_components": 999, "features": features}
    family, _ = prepared(kernels, gating, inputs=[0, 5], **options)
    plain = Localized(GATINGS[gating][0], inputs=[0, 5], scaling="standard")
    stack = KernelStack(KERNELS[kernels], normalize).fit(X)
    gated = plain.family(training(stack), None, FitControl())
    theta = 60.0 * gated.start(None, np.random.RandomState(1))
    own = identity_theta(family, theta)
    K = gated.at(theta).gram()
    assert_allclose(family.at(own).gram(), K, atol=1e-9 * np.abs(K).max())
    new = Views(np.random.default_rng(3).normal(size=(9, 7)))
    cross = gated.finish(theta).cross(new)
    atol = 1e-4 if features == "kpca" else 1e-9  # small eigenvalues: a polynomial of 3 features is of low rank
    assert_allclose(family.finish(own).cross(new), cross, atol=atol * np.abs(cross).max())


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(scale=3.0), Polynomial(degree=3)])
@pytest.mark.parametrize("features", ["auto", "kpca"])
def test_all_components_are_the_plain_machine(features, kernel, normalize):
    scale = 1.0 if normalize == "unit-trace" else 0.2
    if features == "auto" and isinstance(kernel, Polynomial) and normalize in ("unit-diagonal", "center"):
        pytest.skip("rows are normalised before the polynomial is taken")
    if features == "auto" and isinstance(kernel, Gaussian) and normalize == "center":
        pytest.skip("a Gaussian kernel of centred features is not a centred kernel")
    C = 300.0 if normalize == "unit-trace" else 1.0
    options = {"C": C, "normalize": normalize, "random_state": 0, "tol": 1e-6}
    plain = MKLClassifier([kernel], **options).fit(scale * X, LABELS)
    combiner = Projected(999, features=features, max_iter=3)
    model = MKLClassifier([kernel], combiner, **options).fit(scale * X, LABELS)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    new = scale * np.random.default_rng(3).normal(size=(9, 7))
    assert_allclose(model._values(new), plain._values(new), atol=1e-3)


def test_one_region_is_a_global_projection():
    options = {"C": 10.0, "normalize": None, "random_state": 0, "tol": 1e-7}
    start = {"linear": np.eye(6, 2)}
    global_one = MKLClassifier([Linear()], Projected(2, init=start), **options).fit(WIDE, SIDE)
    W = global_one.projections_["linear"].to_numpy()
    for gating, components in ((Softmax(), None), (Softmax(), 1), (GaussianGate(), 2)):
        combiner = Projected(2, gating, gating_components=components, init=start)
        local = MKLClassifier([Linear()], combiner, **options).fit(WIDE, SIDE)
        U = local.projections_["linear"].to_numpy()
        assert local.objective_ == pytest.approx(global_one.objective_, rel=1e-4)
        assert_allclose(U @ U.T, W @ W.T, atol=0.05)  # J is flat near its minimum
        assert_allclose(local.decision_function(WIDE), global_one.decision_function(WIDE), atol=0.1)


@pytest.mark.parametrize("gating", ["softmax", "softmax, projected", "gaussian", "cluster", "instance"])
def test_one_region_has_the_kernel_of_a_global_projection(gating):
    family, theta = prepared([Polynomial()], gating)
    plain, _ = prepared([Polynomial()], "none")
    W = family.layout.projections(theta)[0]
    assert_allclose(family.at(theta).gram(), plain.at(W.ravel().copy()).gram(), atol=1e-12)


@pytest.mark.parametrize("kernels", KERNELS)
def test_rotations_change_nothing(kernels):
    family, theta = prepared(kernels, l2=0.0)
    V, T = family.layout.gating(theta)
    matrices, n_kernels = family.layout.projections(theta), family.n_kernels
    random = np.random.default_rng(0)
    turns = [np.linalg.qr(random.normal(size=(2, 2)))[0] for _ in range(n_kernels + 1)]
    slopes = V[:-n_kernels].reshape(n_kernels, 2) @ turns[-1]  # rows are V's columns: V -> Q'V
    turned = family.layout.join(
        np.concatenate([slopes.ravel(), V[-n_kernels:]]),
        T @ turns[-1],
        [W @ Q for W, Q in zip(matrices, turns, strict=False)],
    )
    assert not np.allclose(turned, theta)
    assert_allclose(family.at(turned).gram(), family.at(theta).gram(), atol=1e-12)


def test_view_and_kernel_pca_features_of_a_linear_kernel_reach_the_same():
    shape, options = (6, 2), {"C": 10.0, "normalize": None, "random_state": 0, "tol": 1e-6}
    start = np.linalg.qr(np.random.default_rng(4).normal(size=shape))[0]
    by_view = MKLClassifier([Linear()], Projected(2, init={"linear": start}), **options).fit(WIDE, SIDE)
    values, vectors = np.linalg.eigh(WIDE @ WIDE.T)
    values, vectors = values[:-7:-1], vectors[:, :-7:-1]
    turn = WIDE.T @ (vectors / np.sqrt(values))  # features of kernel PCA are WIDE @ turn, up to signs
    stack = KernelStack([Linear()], None).fit(WIDE)
    probe = Projected(2, features="kpca").family(training(stack), MACHINES["binary"], FitControl())
    turn *= np.sign(np.sum((WIDE @ turn) * probe.features[0], axis=0))
    combiner = Projected(2, features="kpca", init={"linear": turn.T @ start})
    by_kernel = MKLClassifier([Linear()], combiner, **options).fit(WIDE, SIDE)
    assert by_kernel.objective_ == pytest.approx(by_view.objective_, rel=1e-4)
    assert_allclose(turn @ by_kernel.projections_["linear"], by_view.projections_["linear"], atol=0.01)
    assert_allclose(by_kernel.decision_function(X[:, :6]), by_view.decision_function(X[:, :6]), atol=0.02)


@pytest.mark.parametrize(
    ("constraint", "optimizer"),
    [("orthonormal", "lbfgs"), ("orthonormal", "armijo"), ("norm", "lbfgs"), ("penalty", "armijo")],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_projections_stay_where_they_may_be_for_a_hundred_steps(constraint, optimizer):
    combiner = Projected(
        2, Softmax(), gating_components=2, constraint=constraint, optimizer=optimizer, max_iter=100, l2=0.0
    )
    noisy = SIDE ^ (np.random.default_rng(0).random(200) < 0.2)
    model = MKLClassifier([Linear(), Gaussian(scale=3.0)], combiner, C=10.0, random_state=0, tol=1e-14)
    model.fit(WIDE[:80], noisy[:80])
    assert len(model.history_) > (90 if optimizer == "armijo" else 40)
    T = model.gating_projection_.to_numpy()
    assert_allclose(T.T @ T, np.eye(2), atol=1e-10)
    for W in model.projections_.values():
        inner = W.to_numpy().T @ W.to_numpy()
        if constraint == "orthonormal":
            assert_allclose(inner, np.eye(2), atol=1e-10)
        elif constraint == "norm":
            assert np.trace(inner) == pytest.approx(2.0, abs=1e-10) and not np.allclose(inner, np.eye(2), atol=0.01)
        else:
            assert abs(np.trace(inner) - 2.0) > 0.01


def test_descents_never_rise_and_quasi_newton_needs_fewer_solves():
    y = WIDE[:, 0] + 0.5 * WIDE[:, 1] ** 2 + 0.3 * WIDE[:, 2] > 0.5
    histories = []
    for optimizer in ("lbfgs", "armijo"):
        model = MKLClassifier(
            [Gaussian(scale=2.0)],
            Projected(2, optimizer=optimizer, init="random", max_iter=2000),
            C=10.0,
            random_state=0,
            tol=1e-5,
        ).fit(WIDE, y)
        histories.append(model.history_)
        assert np.diff(model.history_["objective"]).max() <= 1e-5 * model.history_["objective"].iloc[0]
    fast, slow = (history["objective"].iloc[-1] for history in histories)
    assert fast <= slow * 1.0001
    assert histories[0]["solves"].sum() < histories[1]["solves"].sum()


def test_a_penalty_weighs_against_the_scale():
    sizes = [
        np.linalg.norm(
            local_model(Projected(1, Softmax(), constraint="penalty", projection_l2=penalty)).projections_["linear"]
        )
        for penalty in (0.1, 10.0, 1000.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2] > 0.0


@pytest.mark.parametrize("gating", GATINGS)
@pytest.mark.parametrize(("samples", "normalize"), [(X, "unit-diagonal"), (MISSING, "unit-diagonal"), (X, "center")])
def test_new_samples_are_treated_as_training_samples(gating, samples, normalize):
    for features in ("auto", "kpca", "map"):
        family, theta = prepared("gaussian", gating, samples, None, normalize, gate_tol=0.2, features=features)
        kernel = family.finish(theta)
        K, views = kernel.gram(), family.stack.reference
        assert np.linalg.eigvalsh(K).min() > -1e-10
        assert_allclose(kernel.cross(views), K, atol=1e-9)
        assert_allclose(kernel.gates_of(views), kernel.gates, atol=1e-9)
        assert_allclose(kernel.sample_weights(views), kernel.gates**2, atol=1e-9)
        coef = np.random.default_rng(0).normal(size=(len(K), 2))
        assert_allclose(kernel.values(views, coef), K @ coef, atol=1e-8)
        lean = kernel.restrict(np.array([2, 9, 30]))
        assert_allclose(lean.cross(views), K[:, [2, 9, 30]], atol=1e-9)
        gates, points = lean.project(views)
        assert_allclose(gates, kernel.gates, atol=1e-9)
        for m, F in enumerate(family.features):
            has = family.stack.present[:, m] & kernel.active[m]
            assert_allclose(points[m][has], F[has] @ family.layout.projections(theta)[m], atol=1e-8)
            assert np.isnan(points[m][~has]).all()
