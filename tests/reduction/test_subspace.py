"""SubspaceKernel: its criteria against plain formulas, gradients against differences, and that it only ever rises."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, minimize
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from kernelweave.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed
from kernelweave.kernels.points import LandmarkKernel
from kernelweave.reduction import KernelOrthogonalCentroid, SubspaceKernel
from kernelweave.reduction.base import orthonormal
from kernelweave.reduction.subspace import Alignment, RadiusMargin, _Line, conjugate_gradients, over_coefficients

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)[::3] + 0.3
y = y[::3]
K = X @ X.T
rng = np.random.default_rng(0)


def subspace_kernel(K, W):
    """(4), as written."""
    return K @ W @ np.linalg.inv(W.T @ K @ W) @ W.T @ K


def alignment(K, W, y, centered):
    """(17), as written, on n x n matrices."""
    first, second = subspace_kernel(K, W), (y[:, None] == y[None, :]).astype(float)
    if centered:
        H = np.eye(len(y)) - 1.0 / len(y)
        first, second = H @ first @ H, H @ second @ H
    return np.sum(first * second) / np.sqrt(np.sum(first**2) * np.sum(second**2))


@pytest.mark.parametrize("centered", [False, True])
def test_fast_alignment_is_the_alignment(centered):
    W = rng.normal(size=(len(y), 3))
    basis = orthonormal(W, K @ W)
    value, _ = Alignment(y, centered)(K @ basis)
    assert np.exp(value) == pytest.approx(alignment(K, W, y, centered), rel=1e-10)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_gradient_of_the_alignment(centered, ridge):
    G = rbf_kernel(X, gamma=0.05) + 0.01 * np.eye(len(y))
    W = rng.normal(size=(len(y), 2))
    function = over_coefficients(G, Alignment(y, centered), ridge)
    expected = approx_fprime(W.ravel(), lambda w: function(w.reshape(W.shape))[0], 1e-7).reshape(W.shape)
    np.testing.assert_allclose(function(W)[1], expected, atol=1e-5 * np.abs(expected).max())
    if ridge == 0.0:
        assert function(W)[0] == pytest.approx(np.log(alignment(G, W, y, centered)), rel=1e-10)


def test_slope_along_a_line():
    W = rng.normal(size=(len(y), 2))
    W = orthonormal(W, K @ W, 0.5)
    direction = rng.normal(size=W.shape) * 0.02
    line = _Line(K, W, K @ W, direction, Alignment(y, False), 0.5)
    for t in (0.0, 0.7):
        difference = (line.at(t + 1e-6)[2] - line.at(t - 1e-6)[2]) / 2e-6
        assert line.slope(t) == pytest.approx(difference, rel=1e-5)
    moved = W + 0.7 * direction
    free = over_coefficients(K, Alignment(y, False), 0.5)
    assert line.at(0.7)[2] == pytest.approx(free(moved)[0], rel=1e-10)


@pytest.mark.parametrize("optimizer", ["cg", "lbfgs"])
@pytest.mark.parametrize("init", ["koc", "kpca", "kpls", "random"])
@pytest.mark.parametrize("centered", [False, True])
def test_alignment_rises_from_its_start(optimizer, init, centered):
    model = SubspaceKernel(optimizer=optimizer, init=init, center=centered, random_state=0).fit(X, y)
    objective = model.history_["objective"].to_numpy()
    assert (np.diff(objective) >= 0).all() and objective[-1] > objective[0]
    assert model.objective_ == objective[-1] and model.n_iter_ == len(objective) - 1
    assert alignment(K, model.coef_, y, centered) == pytest.approx(model.objective_, rel=1e-4)


def test_default_start_is_the_centroids():
    model = SubspaceKernel().fit(X, y)
    start = KernelOrthogonalCentroid().fit(X, y)
    assert model.history_["objective"][0] == pytest.approx(alignment(K, start.coef_, y, False), rel=1e-4)
    pca = SubspaceKernel(init="kpca").fit(X, y)
    vectors = np.linalg.eigh(K)[1][:, -3:]
    assert pca.history_["objective"][0] == pytest.approx(alignment(K, vectors, y, False), rel=1e-4)


def test_features_are_coordinates_in_an_orthonormal_basis():
    model = SubspaceKernel(Gaussian(scale=3.0), 4, random_state=0).fit(X, y)
    G = Gaussian(scale=3.0).fit(X).gram(X)
    np.testing.assert_allclose(model.coef_.T @ G @ model.coef_, np.eye(4), atol=1e-5)
    features = model.transform(X)
    np.testing.assert_allclose(features @ features.T, subspace_kernel(G, model.coef_), atol=1e-5)
    inner = features.T @ features
    np.testing.assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-9 * inner.max())


def test_both_optimizers_find_the_best_subspace_of_input_space():
    """Linear kernel, four columns: the best of many searches over two directions in input space."""
    data, labels = load_iris(return_X_y=True)
    criterion = Alignment(labels, False)
    searches = [
        minimize(lambda D: -criterion(data @ np.linalg.qr(D.reshape(4, 2))[0])[0], start, method="BFGS")
        for start in np.random.default_rng(0).normal(size=(10, 8))
    ]
    best = max(np.exp(-search.fun) for search in searches)
    for optimizer, init in (("cg", "koc"), ("lbfgs", "random")):
        model = SubspaceKernel(n_components=2, optimizer=optimizer, init=init, tol=1e-9, max_iter=5000, random_state=0)
        assert model.fit(data, labels).objective_ == pytest.approx(best, rel=1e-5)


def test_number_of_components():
    assert SubspaceKernel().fit(X, y).n_components_ == 3
    assert SubspaceKernel(n_components=2).fit(X, y).n_components_ == 2
    assert SubspaceKernel(n_components=6, random_state=0).fit(X, y).n_components_ == 6
    with pytest.warns(UserWarning, match="n_components is 20, but the kernel of the training samples has rank 13"):
        assert SubspaceKernel(n_components=20, random_state=0).fit(X, y).n_components_ == 13


def test_dependent_centroids():
    """Singular W'KW at the start: the third centroid is the mean of the others."""
    data = np.vstack([np.tile([[2.0, 0.0, 0.1]], (4, 1)), np.tile([[0.0, 2.0, 0.1]], (4, 1)), [[1.0, 1.0, 0.1]] * 4])
    data += np.tile([[0.0, 0.0, 0.05], [0.0, 0.0, -0.05]], (6, 1))
    labels = np.repeat([0, 1, 2], 4)
    W = (labels[:, None] == np.arange(3)) / 4.0
    assert np.linalg.matrix_rank(W.T @ data @ data.T @ W) == 2 and orthonormal(W, data @ data.T @ W).shape[1] == 2
    assert KernelOrthogonalCentroid().fit(data, labels).n_components_ == 2
    model = SubspaceKernel(random_state=0).fit(data, labels)
    assert model.n_components_ == 3 and np.isfinite(model.transform(data)).all()
    assert model.history_["objective"].is_monotonic_increasing


def test_stopping_early_is_a_warning():
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=2 iterations"):
        SubspaceKernel(max_iter=2, tol=0.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=2 iterations"):
        SubspaceKernel(max_iter=2, tol=0.0, optimizer="lbfgs").fit(X, y)


def test_nothing_to_gain_is_convergence():
    """Features that are the indicators already: alignment 1 at the start."""
    ideal = np.eye(3)[y % 3]
    balanced = np.repeat(np.arange(3), 4)
    model = SubspaceKernel().fit(np.eye(3)[balanced], balanced)
    assert model.objective_ == pytest.approx(1.0) and model.n_iter_ <= 11
    assert SubspaceKernel(max_iter=1000).fit(ideal, y).objective_ <= 1.0 + 1e-12


def test_a_large_sparse_matrix_stays_sparse(monkeypatch):
    big = sp.random(60, 200_000, density=1e-3, random_state=0, format="csr")
    to_array = sp.csr_matrix.toarray

    def checked(self, *args, **options):
        assert self.shape[1] <= 60, "made dense"
        return to_array(self, *args, **options)

    monkeypatch.setattr(sp.csr_matrix, "toarray", checked)
    model = SubspaceKernel(max_iter=20, tol=1.0).fit(big, np.arange(60) % 3)
    assert model.transform(big[:5]).shape == (5, 3)


def quadratic_program(P, q, A, b, n_equal):
    """min 1/2 x'Px + q'x with the first rows of Ax = b and the others Ax <= b, by Clarabel."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.ZeroConeT(n_equal), clarabel.NonnegativeConeT(len(b) - n_equal)]
    solver = clarabel.DefaultSolver(sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(A), b, cones, settings)
    return solver.solve()


def radius_margin(F, y, C):
    """The bound by Clarabel: a ball, and an L2 machine for each class."""
    n = len(F)
    G = F @ F.T + np.eye(n) / C
    positive = np.vstack([np.ones((1, n)), -np.eye(n)])
    ball = quadratic_program(2 * G, -np.diag(G), positive, np.r_[1.0, np.zeros(n)], 1)
    norms = 0.0
    for label in range(1 if y.max() == 1 else y.max() + 1):
        sign = np.where(y == (1 if y.max() == 1 else label), 1.0, -1.0)
        dual = quadratic_program(
            G * np.outer(sign, sign), -np.ones(n), np.vstack([sign[None], -np.eye(n)]), np.zeros(n + 1), 1
        )
        norms += -2.0 * dual.obj_val
    return -ball.obj_val * norms


@pytest.mark.parametrize("classes", [2, 3])
def test_radius_margin_bound(classes):
    chosen = y < classes
    labels, F = y[chosen], X[chosen][:, :3]
    value, derivative = RadiusMargin(labels, 2.0)(F)
    assert np.exp(-value) == pytest.approx(radius_margin(F, labels, 2.0), rel=1e-5)
    # M F is half the gradient by F, since K^w = F F'.
    expected = approx_fprime(F.ravel(), lambda f: RadiusMargin(labels, 2.0)(f.reshape(F.shape))[0], 1e-5)
    np.testing.assert_allclose(2 * derivative, expected.reshape(F.shape), atol=2e-3 * np.abs(expected).max())


def test_radius_margin_bound_falls():
    model = SubspaceKernel(criterion="radius-margin", C=10.0, tol=1e-2).fit(X, y)
    objective = model.history_["objective"].to_numpy()
    assert (np.diff(objective) <= 0).all() and objective[-1] < objective[0]
    assert model.objective_ == pytest.approx(radius_margin(model.transform(X), y, 10.0), rel=1e-3)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=3), Gaussian(scale=3.0), Gaussian([2, 0, 5])])
@pytest.mark.parametrize("sparse", [False, True])
def test_gradient_by_landmarks(kernel, sparse):
    columns = np.array([2, 0, 5]) if kernel.view else np.arange(13)
    values = sp.csr_matrix(X[:, columns]) if sparse else X[:, columns]
    spanned = LandmarkKernel(kernel.fit(X), values, ridge=0.01)
    Z = rng.normal(size=(3, len(columns)))
    function = spanned.judged_by(Alignment(y, True))
    expected = approx_fprime(Z.ravel(), lambda z: function(z.reshape(Z.shape))[0], 1e-7).reshape(Z.shape)
    np.testing.assert_allclose(function(Z)[1], expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("landmarks", ["centroids", "samples", X[:3] + 0.1])
@pytest.mark.parametrize("optimizer", ["cg", "lbfgs"])
def test_landmarks(landmarks, optimizer):
    model = SubspaceKernel(Gaussian(scale=4.0), landmarks=landmarks, optimizer=optimizer, random_state=0).fit(X, y)
    assert model.landmarks_.shape == (3, 13) and model.coef_.shape == (3, 3)
    assert model.history_["objective"].is_monotonic_increasing and model.n_iter_ > 0
    # (16) as written, from the landmarks alone
    psi, products = rbf_kernel(X, model.landmarks_, gamma=1 / 16), rbf_kernel(model.landmarks_, gamma=1 / 16)
    features = model.transform(X)
    np.testing.assert_allclose(features @ features.T, psi @ np.linalg.inv(products) @ psi.T, atol=1e-4)


def test_landmarks_of_a_view():
    """Landmarks live in the columns of the kernel's view, in its order."""
    model = SubspaceKernel(Gaussian([5, 1], scale=2.0), landmarks="centroids", tol=0.05).fit(X, y)
    assert model.landmarks_.shape == (3, 2)
    psi = rbf_kernel(X[:, [5, 1]], model.landmarks_, gamma=1 / 4)
    products = rbf_kernel(model.landmarks_, gamma=1 / 4)
    features = model.transform(X)
    np.testing.assert_allclose(features @ features.T, psi @ np.linalg.inv(products) @ psi.T, atol=1e-4)


def test_landmarks_need_a_kernel_that_can_move_them():
    with pytest.raises(ValueError, match="landmarks can be moved under kernels that are differentiable"):
        SubspaceKernel(Laplacian(), landmarks="centroids").fit(X, y)
    with pytest.raises(ValueError, match="landmarks can be moved under"):
        SubspaceKernel(Precomputed(K), landmarks="centroids").fit(np.arange(len(y))[:, None], y)
    with pytest.raises(ValueError, match="landmarks need one kernel, and normalize=None"):
        SubspaceKernel(landmarks="centroids", normalize="unit-diagonal").fit(X, y)
    with pytest.raises(ValueError, match='landmarks must be "centroids", "samples" or an array'):
        SubspaceKernel(landmarks="corners").fit(X, y)
    with pytest.raises(ValueError, match="must be 3 rows of 13 finite numbers"):
        SubspaceKernel(landmarks=X[:2]).fit(X, y)
    with pytest.raises(ValueError, match="depend on each other"):
        SubspaceKernel(landmarks=X[[0, 0, 1]], ridge=0.0).fit(X, y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("criterion", "loss"), ("init", "lda"), ("optimizer", "adam"), ("C", 0.0), ("ridge", -1.0), ("tol", -1.0),
     ("max_iter", 0)],
)  # fmt: skip
def test_wrong_parameters_are_named(parameter, value):
    with pytest.raises(ValueError, match=f"{parameter} of SubspaceKernel must be"):
        SubspaceKernel(**{parameter: value}).fit(X, y)


def test_conjugate_gradients_from_a_useless_start():
    """Features orthogonal to every centred class: no gradient, no rise, no failure."""
    labels = np.array([0, 0, 1, 1])
    data = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    G = data @ data.T
    W = orthonormal(data, G @ data)
    ascent = conjugate_gradients(G, W, criterion=Alignment(labels, True), ridge=0.0, max_iter=10, tol=1e-3)
    assert ascent.converged and len(ascent.values) == 1
