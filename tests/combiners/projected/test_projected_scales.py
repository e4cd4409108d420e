"""Projected models at odd scales, and what they take of memory."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from kernelweave import MKLClassifier, MKLOneClass
from kernelweave.combiners import GaussianGate, Projected, Softmax
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial, Precomputed
from kernelweave.machines import BinaryMachine
from localized_problem import SIGNS, N
from projected_problem import WIDE, X


@pytest.mark.parametrize(
    ("kernel", "factor", "normalize"),
    [
        (Linear(), 1e160, None),
        (Linear(), 1e160, "unit-trace"),
        (Polynomial(degree=3), 1e110, None),
        (Polynomial(degree=3), 1e110, "unit-trace"),
    ],
)
def test_overflowing_views_are_named(kernel, factor, normalize):
    with pytest.raises(ValueError, match=f"the kernel '{kernel.name}' gives .*overflowing values; scale its view"):
        MKLClassifier([kernel], Projected(1), normalize=normalize, random_state=0).fit(factor * X, SIGNS)


def test_single_precision_overflows_earlier():
    """Estimators take double precision for such features, whatever the user wishes; a stack is as it is made."""
    machine = BinaryMachine(np.where(SIGNS[0] == SIGNS, 1.0, -1.0), 1.0)
    stack = KernelStack([Linear()], None, dtype="float32").fit(1e25 * X)
    with pytest.raises(ValueError, match="the kernel 'linear' gives overflowing values"):
        Projected(2).fit(stack, machine)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(), Gaussian(scale=1.0)])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_tiny_views(kernel, normalize):
    for factor in (1e-155, 1e-200):
        model = MKLClassifier([kernel], Projected(2), normalize=normalize, random_state=0)
        try:
            model.fit(factor * X, SIGNS)
        except ValueError as error:
            assert "overflowing values; scale its view" in str(error)
        else:
            assert np.isfinite(model.decision_function(factor * X)).all()


@pytest.mark.parametrize("constraint", ["orthonormal", "norm"])
def test_the_scale_of_a_given_start_means_nothing(constraint):
    W, y = np.eye(WIDE.shape[1])[:, :1], WIDE[:, 0] + WIDE[:, 1] > 0
    ends = []
    for factor in (1.0, 1e-300, 1e-12, 1e12, 1e300):
        combiner = Projected(1, init={"linear": factor * W}, constraint=constraint)
        model = MKLClassifier([Linear()], combiner, C=10.0, random_state=0).fit(WIDE, y)
        ends.append((model.n_iter_, model.objective_))
    assert ends[0][0] > 2
    assert ends == [pytest.approx(ends[0], rel=1e-3)] * 5


def test_a_penalty_does_not_bound_one_class_machines():
    model = MKLOneClass([Linear()], Projected(1, constraint="penalty"), normalize=None)
    with pytest.raises(ValueError, match='constraint="penalty" does not bound the projections of a one-class machine'):
        model.fit(X)
    assert np.isfinite(model.set_params(combiner__constraint="norm").fit(X).objective_)


def test_gates_of_samples_far_away():
    model = MKLClassifier(
        [Linear()] * 2, Projected(2, GaussianGate(), gating_components=2, quadratic=True), random_state=0
    ).fit(X, SIGNS)
    assert np.isfinite(model.kernel_weights(1e200 * X).to_numpy()).all()


def peak(compute):
    tracemalloc.start()
    try:
        compute()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_sparse_views_stay_sparse():
    thin, y = sp.random(200, 20000, 0.001, random_state=0, format="csr"), np.arange(200) % 2
    taken = {}
    for init in ("random", "lda", "pca"):
        model = MKLClassifier([Linear()], Projected(1, init=init, max_iter=3), normalize=None, random_state=0, tol=1.0)
        model.fit(thin[:, :50], y)  # loads compiled code
        taken[init] = peak(lambda model=model: model.fit(thin, y))
    dense = 8 * 200 * 20000
    assert taken["lda"] < taken["random"] + 0.1 * dense and taken["pca"] < taken["random"] + 0.1 * dense


def test_kernel_features_are_kept_once():
    n, K = 200, WIDE @ WIDE.T + np.eye(200)
    ids, y = np.arange(n)[:, None], np.where(WIDE[:, 0] > 0, 1, -1)
    kernels = [Precomputed(K / (1.0 + m)) for m in range(4)]
    for gating, limit in ((None, 12.0), (Softmax(), 24.0)):
        model = MKLClassifier(kernels, Projected(1, gating, max_iter=2), random_state=0, tol=1.0).fit(ids, y)
        assert peak(lambda model=model: model.fit(ids, y)) / (8 * n * n) < limit


def test_prediction_through_kernel_features_compares_with_all_training_samples(monkeypatch):
    ids = np.arange(N)[:, None]
    model = MKLClassifier([Precomputed(X @ X.T + np.eye(N))], Projected(1), C=100.0, random_state=0).fit(ids, SIGNS)
    assert len(model.support_) < N and model.prediction_cost() == N
    values, points = model.decision_function(ids), model.project(ids)
    monkeypatch.setattr("kernelweave.views.table.BLOCK_VALUES", 5 * N)
    widths, cross = [], KernelStack.cross

    def watched(stack, m, views, *rest):
        widths.append(views.n_samples)
        return cross(stack, m, views, *rest)

    monkeypatch.setattr(KernelStack, "cross", watched)
    np.testing.assert_allclose(model.decision_function(ids), values)
    np.testing.assert_allclose(model.project(ids), points)
    assert max(widths) == 5
    plain = MKLClassifier([Linear()], Projected(1), C=100.0, random_state=0).fit(X, SIGNS)
    assert plain.prediction_cost() == len(plain.support_)


def test_widths_by_a_rule_come_from_the_starting_projection():
    noise = np.random.default_rng(0).normal(size=(60, 40))
    far = np.where(np.arange(60) % 2, 3.0, -3.0)
    samples = np.column_stack([far, noise])
    start = {"gaussian": np.eye(41, 1)}
    model = MKLClassifier([Gaussian()], Projected(1, init=start, max_iter=1), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(samples, far > 0)
    kernel = model._kernel.maps[0].kernel.kernel
    assert kernel.scale_ == pytest.approx(3.0)  # of the first column, not of all 41
    assert model.kernels_[0].scale_ == pytest.approx(np.sqrt(samples.var(axis=0).sum()))
    given = model.set_params(kernels=[Gaussian(scale=5.0)], combiner__max_iter=100).fit(samples, far > 0)
    assert given._kernel.maps[0].kernel.kernel.scale_ == 5.0
