import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import FixedWeights, KernelDifference
from kernelweave.kernels import Gaussian, IndefiniteKernelWarning, KernelStack, Linear, Polynomial, Precomputed

rng = np.random.default_rng(5)
X = rng.normal(size=(30, 3))
NEW = rng.normal(size=(7, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0, 1, 0)
SIGNS = 2.0 * Y - 1
KERNELS = [Linear([0, 1]), Gaussian(), Polynomial([1, 2])]
STACK = KernelStack(KERNELS).fit(np.vstack([X, NEW]))
YY = np.outer(SIGNS, SIGNS)
TERMS = {"absolute": lambda D: YY * np.abs(D), "difference": lambda D: YY * D, "square": lambda D: D @ D}


def fitted(form, tau=0.3, kernels=KERNELS, y=Y, **options):
    repair = options.pop("repair", "clip")
    return MKLClassifier(kernels, KernelDifference(form, tau, repair=repair), tol=1e-9, **options).fit(X, y)


def expected(form, tau, n_kernels):
    matrices = KernelStack(KERNELS[:n_kernels]).fit(X).matrices()
    K = matrices[0]
    for other in matrices[1:]:
        K = (K + other) / 2 + tau * TERMS[form](K - other)
    return K


def clipped(K):
    values, vectors = np.linalg.eigh(K)
    return (vectors * np.maximum(values, 0)) @ vectors.T


@pytest.mark.parametrize("n_kernels", [2, 3])
@pytest.mark.parametrize("form", ["absolute", "difference", "square"])
def test_training_kernel(form, n_kernels):
    model = fitted(form, kernels=KERNELS[:n_kernels])
    K = clipped(expected(form, 0.3, n_kernels))
    reference = MKLClassifier([Precomputed(K)], normalize=None, tol=1e-9).fit(np.arange(30)[:, None], Y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-6)
    np.testing.assert_allclose(model.dual_coef_, reference.dual_coef_, atol=1e-5)


def test_forms_with_labels_can_be_indefinite_and_are_repaired():
    for form in ("absolute", "difference"):
        assert np.linalg.eigvalsh(expected(form, 0.9, 2))[0] < -0.1
        model = fitted(form, 0.9, KERNELS[:2])
        assert np.linalg.eigvalsh(model._kernel.gram())[0] > -1e-8
        with pytest.warns(IndefiniteKernelWarning, match="'combined' is not positive semidefinite"):
            fitted(form, 0.9, KERNELS[:2], repair=None)
    assert np.linalg.eigvalsh(expected("square", 0.9, 3))[0] > -1e-10


@pytest.mark.parametrize("n_kernels", [2, 3])
def test_new_samples_of_the_square_form(n_kernels):
    """The values of a training sample that comes again are those that it was trained with."""
    model = fitted("square", kernels=KERNELS[:n_kernels])
    K = expected("square", 0.3, n_kernels)
    np.testing.assert_allclose(
        model.decision_function(X), K[:, model.support_] @ model.dual_coef_[0] + model.intercept_, atol=1e-8
    )


@pytest.mark.parametrize("repair", ["clip", "shift"])
@pytest.mark.parametrize("form", ["absolute", "difference"])
def test_new_samples_count_with_the_label_that_the_mean_kernel_gives_them(form, repair):
    model = fitted(form, 0.5, KERNELS[:2], repair=repair)
    guess = np.clip(MKLClassifier(KERNELS[:2], tol=1e-9).fit(X, Y).decision_function(NEW), -1, 1)
    stack = KernelStack(KERNELS[:2]).fit(X)
    stack.matrices()
    views = model._new_views(NEW)
    k = [stack.cross(m, views, np.ones(7, dtype=bool)) for m in range(2)]
    difference = np.abs(k[0] - k[1]) if form == "absolute" else k[0] - k[1]
    row = (k[0] + k[1]) / 2 + 0.5 * np.outer(guess, SIGNS) * difference
    if repair == "clip":
        values, vectors = np.linalg.eigh(expected(form, 0.5, 2))
        kept = vectors[:, values > 1e-10 * values[-1]]
        row = row @ kept @ kept.T
    value = row[:, model.support_] @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(NEW), value, atol=1e-5)


@pytest.mark.parametrize("form", ["absolute", "difference", "square"])
def test_without_tau_it_is_a_mean(form):
    model = fitted(form, 0.0)
    mean = MKLClassifier(KERNELS, FixedWeights([0.25, 0.25, 0.5]), tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(NEW), mean.decision_function(NEW), atol=1e-6)
    np.testing.assert_allclose(model.kernel_weights_, [0.25, 0.25, 0.5])
    np.testing.assert_allclose(model.kernel_weights(NEW), np.tile([0.25, 0.25, 0.5], (7, 1)))


@pytest.mark.parametrize("form", ["absolute", "square"])
def test_order_of_two_kernels_does_not_matter(form):
    one, other = fitted(form, kernels=KERNELS[:2]), fitted(form, kernels=KERNELS[1::-1])
    np.testing.assert_allclose(one.decision_function(NEW), other.decision_function(NEW), atol=1e-5)


def test_square_takes_every_machine_and_the_others_two_classes():
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    square = KernelDifference("square")
    assert MKLClassifier(KERNELS, square).fit(X, three).predict(NEW).shape == (7,)
    assert MKLRegressor(KERNELS, square).fit(X, X[:, 0]).predict(NEW).shape == (7,)
    assert MKLOneClass(KERNELS, square).fit(X).predict(NEW).shape == (7,)
    for model, y in [(MKLClassifier(KERNELS), three), (MKLRegressor(KERNELS), X[:, 0]), (MKLOneClass(KERNELS), None)]:
        with pytest.raises(ValueError, match="it is for two classes only"):
            model.set_params(combiner=KernelDifference()).fit(X, y)
    assert set(MKLClassifier(KERNELS, KernelDifference(), machine="least-squares").fit(X, Y).predict(NEW)) <= {0, 1}


def test_bad_input():
    with pytest.raises(ValueError, match="form of KernelDifference must be"):
        fitted("cubic")
    with pytest.raises(ValueError, match="tau of KernelDifference must be a finite number of at least 0"):
        fitted("square", -1.0)
    with pytest.raises(ValueError, match="repair of the kernel 'combined' must be"):
        fitted("absolute", repair="flip")
    frame = stack_views({"a": X[:, :2], "b": X[:, 2:]})
    model = MKLClassifier([Linear("a"), Linear("b")], KernelDifference("square")).fit(frame, Y)
    frame.loc[3, "b__0"] = np.nan
    with pytest.raises(ValueError, match="sample 3 lacks the view of the kernel 'b'"):
        model.predict(frame)
    with pytest.raises(ValueError, match="sample 3 lacks the view of the kernel 'b'"):
        model.fit(frame, Y)


def test_an_early_stop_of_the_first_machine_is_told():
    with pytest.warns(ConvergenceWarning) as record:
        MKLClassifier(KERNELS, KernelDifference(), C=1e4, max_iter=1).fit(X, Y)
    assert "by which KernelDifference labels new samples, stopped after 1 steps" in str(record[0].message)
