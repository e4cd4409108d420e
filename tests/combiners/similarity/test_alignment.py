import clarabel
import numpy as np
import pytest
from scipy import sparse

from kernelweave import MKLClassifier, MKLRegressor, datasets
from kernelweave.combiners import AlignmentWeights, FixedWeights
from kernelweave.kernels import Gaussian, IndefiniteKernelWarning, KernelStack, Linear, Polynomial, Precomputed

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 5))
Y = (X[:, 0] + 0.4 * X[:, 1] ** 2 + 0.3 * rng.normal(size=40) > 0.3).astype(int)
SIGNS = 2.0 * Y - 1
KERNELS = [Linear([0]), Gaussian([1]), Polynomial([0, 1, 2]), Gaussian([3, 4]), Linear([3])]


def fit(rule="qcqp", kernels=KERNELS, X=X, y=Y, **options):
    normalize = options.pop("normalize", "unit-diagonal")
    return MKLClassifier(kernels, AlignmentWeights(rule, **options), normalize=normalize, tol=1e-8).fit(X, y)


def products(centered, kernels=KERNELS, y=SIGNS):
    """<K_m, yy'>, <K_m, K_h> and the norm of the target, from full centred matrices."""
    K = KernelStack(kernels).fit(X).matrices()
    H = np.eye(40) - (1 / 40 if centered else 0)
    K = H @ K @ H
    T = H @ np.outer(y, y) @ H
    return np.einsum("mij,ij->m", K, T), np.einsum("mij,hij->mh", K, K), np.linalg.norm(T)


def clarabel_solution(cost, P, rows, right, cones):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    A = sparse.csc_matrix(np.vstack(rows))
    answer = clarabel.DefaultSolver(sparse.csc_matrix(np.triu(P)), cost, A, np.concatenate(right), cones, settings)
    return np.array(answer.solve().x)


@pytest.mark.parametrize("centered", [True, False])
def test_proportional_weights(centered):
    model = fit("proportional", center=centered)
    a, G, norm = products(centered)
    alignments = a / np.sqrt(np.diag(G)) / norm
    np.testing.assert_allclose(model.combiner_.alignments_, alignments, rtol=1e-9)
    clipped = np.maximum(alignments, 0)
    np.testing.assert_allclose(model.kernel_weights_, clipped / clipped.sum(), rtol=1e-9)


@pytest.mark.parametrize("centered", [True, False])
def test_qcqp_is_the_conic_program(centered):
    a, G, norm = products(centered)
    root = np.linalg.cholesky(G).T
    eta = clarabel_solution(  # thesis (2.6)
        -a / np.abs(a).max(),
        np.zeros((5, 5)),
        [-np.eye(5), np.zeros((1, 5)), -root],
        [np.zeros(5), [1.0], np.zeros(5)],
        [clarabel.NonnegativeConeT(5), clarabel.SecondOrderConeT(6)],
    )
    model = fit("qcqp", center=centered)
    np.testing.assert_allclose(model.kernel_weights_, eta / eta.sum(), atol=1e-6)
    assert model.combiner_.alignment_ == pytest.approx(a @ eta / np.sqrt(eta @ G @ eta) / norm)
    assert model.combiner_.alignment_ >= model.combiner_.alignments_.max()


@pytest.mark.parametrize("ridge", [0.0, 0.1, 10.0])
def test_qp_is_kandolas_problem(ridge):
    a, G, _ = products(True)
    lam = ridge * np.diag(G).mean()
    unit = np.diag(G).mean()
    eta = clarabel_solution(
        -a / unit, 2 * (G + lam * np.eye(5)) / unit, [-np.eye(5)], [np.zeros(5)], [clarabel.NonnegativeConeT(5)]
    )
    np.testing.assert_allclose(fit("qp", ridge=ridge).kernel_weights_, eta / eta.sum(), atol=1e-6)


@pytest.mark.parametrize("centered", [True, False])
def test_the_gradient_reaches_the_optimum_of_the_qcqp(centered):
    exact, ascent = (fit(rule, center=centered) for rule in ("qcqp", "gradient"))
    np.testing.assert_allclose(ascent.kernel_weights_, exact.kernel_weights_, atol=1e-5)
    assert ascent.combiner_.alignment_ == pytest.approx(exact.combiner_.alignment_, abs=1e-9)
    np.testing.assert_allclose(fit("qp", center=centered, ridge=0.0).kernel_weights_, exact.kernel_weights_, atol=1e-9)


def test_a_large_ridge_gives_weights_by_inner_products():
    a, _, _ = products(True)
    np.testing.assert_allclose(
        fit("qp", ridge=1e9).kernel_weights_, np.maximum(a, 0) / np.maximum(a, 0).sum(), rtol=1e-5
    )


@pytest.mark.parametrize("rule", ["qcqp", "gradient"])
def test_scales_of_kernels_do_not_matter_to_the_combined_kernel(rule):
    scaled = [1e4 * Linear([0]), Gaussian([1]), 1e-5 * Polynomial([0, 1, 2])]
    plain = [Linear([0]), Gaussian([1]), Polynomial([0, 1, 2])]
    one, other = (fit(rule, kernels, normalize=None).kernel_weights_.to_numpy() for kernels in (plain, scaled))
    other = other * [1e4, 1, 1e-5]
    np.testing.assert_allclose(other / other.sum(), one / one.sum(), atol=1e-4)


def test_proportional_weights_do_not_depend_on_scales():
    one = fit("proportional", [Linear([0]), Gaussian([1])], normalize=None)
    other = fit("proportional", [9.0 * Linear([0]), Gaussian([1])], normalize=None)
    np.testing.assert_allclose(other.kernel_weights_.to_numpy(), one.kernel_weights_.to_numpy(), rtol=1e-9)


@pytest.mark.parametrize("rule", ["qcqp", "gradient"])
def test_a_repeated_kernel_changes_no_combined_kernel(rule):
    plain = fit(rule, [Linear([0]), Gaussian([1])])
    twice = fit(rule, [Linear([0]), Gaussian([1]), Linear([0])])
    assert twice.kernel_weights_.iloc[1] == pytest.approx(plain.kernel_weights_.iloc[1], abs=1e-5)


def test_proportional_needs_one_matrix_at_a_time(monkeypatch):
    expected = fit("proportional").kernel_weights_
    monkeypatch.setattr(KernelStack, "matrices", lambda self: pytest.fail("all matrices were asked for"))
    assert fit("proportional").kernel_weights_.equals(expected)


def test_useless_kernels_get_little_weight_for_every_kind_of_target():
    noise = [("signal", Linear([0])), ("noise", Linear([4]))]
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    for model in (
        MKLClassifier(noise, AlignmentWeights(), normalize="center").fit(X, three),
        MKLRegressor(noise, AlignmentWeights(), normalize="center").fit(X, X[:, 0] + 7),
    ):
        assert model.kernel_weights_["signal"] > 0.9


def test_centring_undoes_a_common_offset():
    """A large constant makes a kernel of noise look aligned with an uneven target."""
    y = np.where(np.arange(40) < 32, 1, 0)
    K = np.eye(40) + 0.1 * np.outer(y - 0.5, y - 0.5)
    offset = [Precomputed(K), Precomputed(np.eye(40) + 5.0)]
    ids = np.arange(40)[:, None]
    plain = MKLClassifier(offset, AlignmentWeights(center=False), normalize=None).fit(ids, y)
    centred = MKLClassifier(offset, AlignmentWeights(), normalize=None).fit(ids, y)
    assert plain.kernel_weights_.iloc[1] > centred.kernel_weights_.iloc[1]


def test_no_alignment_at_all_is_told():
    K = np.ones((6, 6))
    with pytest.warns(UserWarning, match="no kernel is aligned"):
        model = MKLClassifier([Precomputed(K), Precomputed(2 * K)], AlignmentWeights(), normalize=None)
        model.fit(np.arange(6)[:, None], [0, 1, 0, 1, 0, 1])
    assert model.kernel_weights_.tolist() == [0.5, 0.5]


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match="rule of AlignmentWeights must be"):
        fit("best")
    with pytest.raises(ValueError, match="ridge of AlignmentWeights must be a finite number of at least 0"):
        fit("qp", ridge=-1.0)


def test_weights_are_those_of_the_kernel_that_is_trained():
    model = fit("qcqp")
    same = MKLClassifier(KERNELS, FixedWeights(model.kernel_weights_), tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X))


def test_no_worse_than_the_mean_on_multifeat():
    X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    X = (X - X.mean()) / X.std()
    train, test = slice(0, None, 4), slice(1, None, 4)
    learned = MKLClassifier(combiner=AlignmentWeights()).fit(X[train], y[train]).score(X[test], y[test])
    mean = MKLClassifier().fit(X[train], y[train]).score(X[test], y[test])
    assert learned > mean - 0.01


def test_negative_alignments_count_as_none():
    """Only kernels that are not positive semidefinite have one: <K, yy'> = y'Ky."""
    against = np.eye(40) - 0.2 * np.outer(SIGNS, SIGNS)
    kernels = [Precomputed(np.eye(40) + 0.1 * np.outer(SIGNS, SIGNS)), Precomputed(against)]
    with pytest.warns(IndefiniteKernelWarning):
        model = MKLClassifier(kernels, AlignmentWeights(), normalize=None).fit(np.arange(40)[:, None], Y)
    assert model.combiner_.alignments_.iloc[1] < 0
    assert model.kernel_weights_.tolist() == [1.0, 0.0]
