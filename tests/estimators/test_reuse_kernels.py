import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import FixedWeights, Projected
from kernelweave.estimators.reuse import SharedFoldKernels
from kernelweave.kernels import Gaussian, Linear, MemoryWarning, Precomputed
from kernelweave.kernels.arithmetic import SharedKernel

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = X[:, 0] + rng.normal(size=60) > 0
TRAIN, TEST = np.arange(40), np.arange(40, 60)


class Counting(Gaussian):
    calls = 0

    def gram_of(self, A):
        Counting.calls += 1
        return super().gram_of(A)

    def cross_of(self, A, B):
        Counting.calls += 1
        return super().cross_of(A, B)


def model(**options):
    return MKLClassifier(
        [("linear", Linear()), ("gauss", Counting())], FixedWeights({"linear": 1.0, "gauss": 0.5}), **options
    )


@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_fits_look_values_up_and_are_the_same(normalize, in_pipeline):
    estimator = model(normalize=normalize)
    prefix = ""
    if in_pipeline:
        estimator, prefix = make_pipeline(StandardScaler(), PCA(3), estimator), "mklclassifier__"
    shared = SharedFoldKernels(estimator, [f"{prefix}C"])
    parameters = shared.parameters([shared.of_fold(X, Y, TRAIN, TEST)])
    plain = clone(estimator).set_params(**{f"{prefix}C": 3.0}).fit(X[TRAIN], Y[TRAIN])
    expected = plain.decision_function(X[TEST])
    Counting.calls = 0
    fitted = clone(estimator).set_params(**{f"{prefix}C": 3.0}, **parameters).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(fitted.decision_function(X[TEST]), expected, rtol=1e-9, atol=1e-12)
    assert Counting.calls == 0
    fitted.fit(X[:30], Y[:30])
    assert Counting.calls == 1


def test_sample_weights_enter_learned_constants():
    weight = np.r_[np.zeros(5), np.linspace(0.1, 3.0, 55)]
    shared = SharedFoldKernels(model(), ["C"])
    parameters = shared.parameters([shared.of_fold(X, Y, TRAIN, TEST, {"sample_weight": weight})])
    expected = model().fit(X[TRAIN], Y[TRAIN], weight[TRAIN]).decision_function(X[TEST])
    Counting.calls = 0
    fitted = model().set_params(**parameters).fit(X[TRAIN], Y[TRAIN], weight[TRAIN])
    np.testing.assert_allclose(fitted.decision_function(X[TEST]), expected, rtol=1e-9)
    assert Counting.calls == 0


def test_what_is_not_shared():
    parameters = SharedFoldKernels(model(), ["kernels__gauss__scale", "C"])
    (first, second) = parameters.parameters([parameters.of_fold(X, Y, TRAIN, TEST)])["kernels"]
    assert isinstance(first[1], SharedKernel) and type(second[1]) is Counting
    ids = MKLClassifier([Precomputed(X @ X.T)])
    shared = SharedFoldKernels(ids, ["C"])
    (entry,) = shared.parameters([shared.of_fold(np.arange(60)[:, None], Y, TRAIN, TEST)])["kernels"]
    assert entry[1] is ids.kernels[0]
    assert not SharedFoldKernels(SVC(), ["C"]).possible
    assert not SharedFoldKernels(model(), ["kernels"]).possible
    pipeline = make_pipeline(PCA(2), MKLRegressor())
    assert SharedFoldKernels(pipeline, ["mklregressor__C"]).possible
    assert not SharedFoldKernels(pipeline, ["mklregressor__C", "pca__tol"]).possible


def test_memory_is_told(monkeypatch):
    monkeypatch.setattr("kernelweave.kernels.resources.available_memory", lambda: 1000)
    with pytest.warns(MemoryWarning, match="2 kernels of 5 folds"):
        SharedFoldKernels(model(), ["C"]).warn_of_memory(60, 5)


def test_nothing_is_shared_with_combiners_that_read_features():
    """Kernel values looked up have no derivatives: projections of features would become projections of kernel PCA."""
    assert SharedFoldKernels(MKLClassifier([Linear()]), ["C"]).possible
    assert not SharedFoldKernels(MKLClassifier([Linear()], Projected(1)), ["C"]).possible
    assert not SharedFoldKernels(make_pipeline(MKLClassifier([Linear()], Projected(1))), []).possible
