"""Models whose kernels prepare their views: the same as models over views that are prepared by hand.

Takes long: every combiner and estimator is fitted twice.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, combiners
from kernelweave.combiners import (
    AccuracyWeights,
    AlignmentWeights,
    BestSingle,
    BinaryMKL,
    ClusterGate,
    Combiner,
    ConvexLocalized,
    ConvexMKL,
    CorrelationWeights,
    EasyMKL,
    ElasticMKL,
    ErrorWeights,
    FeatureSpaceMeasure,
    FixedWeights,
    GaussianGate,
    GeneralizedMKL,
    GroupMKL,
    IdealKernelDistance,
    InstanceGate,
    KernelDifference,
    KernelMap,
    KLDivergence,
    LinearMKL,
    Localized,
    LpMKL,
    Mean,
    PolynomialMKL,
    Product,
    Projected,
    Sigmoid,
    Softmax,
    SparseMKL,
    WidthMKL,
)
from kernelweave.combiners.per_output import PerOutput
from kernelweave.estimators import KernelSAMME, KernelVoting, SparseLargeMarginClassifier
from kernelweave.kernels import Gaussian, Linear, Pairwise, Polynomial
from kernelweave.reduction import AKDAQR, MKLDR, FromEstimator, KernelFisher, KernelPLS, LocalFisher, SubspaceKernel
from preparation_problem import (
    DIFFERENTIABLE,
    KERNELS,
    MISSING,
    N_TRAIN,
    NUMBERS,
    VALUES,
    N,
    X,
    Y,
    rounds_alike,
    scaled,
    with_scalers,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*this model is not localized", "ignore:KernelDifference", "ignore::sklearn.exceptions.ConvergenceWarning"
)


ROUNDS_ALIKE = rounds_alike()
CLASSIFYING = [
    Mean(),
    FixedWeights([1.0, 0.0, 2.0, 0.5]),
    Product(),
    BestSingle(cv=3),
    AccuracyWeights(0.4, cv=3),
    AlignmentWeights(),
    FeatureSpaceMeasure(),
    IdealKernelDistance(),
    KLDivergence(),
    ConvexMKL(),
    LpMKL(),
    ElasticMKL(),
    GroupMKL({"both": ["a", "b"]}),
    SparseMKL(),
    WidthMKL(),
    EasyMKL(),
    LinearMKL(),
    BinaryMKL(2),
    KernelDifference(),
    PolynomialMKL(tau=0.5, max_iter=9),
    GeneralizedMKL(strength=3.0, max_iter=9),
    ConvexLocalized(2),
    ConvexLocalized(2, inputs="a"),
    Localized(l2=0.01, max_iter=9),
    Localized(Sigmoid(), inputs="b", l2=0.01, max_iter=9),
    Localized(GaussianGate(), inputs=["a", "c"], l2=0.01, max_iter=9),
    Localized(ClusterGate(n_clusters=2), max_iter=9),
    Localized(InstanceGate(), scaling=None, max_iter=9),
    Projected(1, max_iter=9),
    Projected(1, Softmax(), max_iter=9),
    Projected(1, Softmax(), inputs="a", max_iter=9),
    Projected(2, features="kpca", max_iter=9),
]
OF_NUMBERS = [CorrelationWeights(cv=3), ErrorWeights(cv=3)]


def check_like_by_hand(model, frame, y, *methods):
    """A model with scalers gives what it gives without them on samples scaled by hand."""
    by_hand, inside = clone(model), clone(model).set_params(kernels=with_scalers(model.kernels))
    check_same(by_hand, inside, frame, y, methods)


def check_same(by_hand, inside, frame, y, methods):
    given = scaled(frame)
    y_train = None if y is None else y[:N_TRAIN]
    by_hand.fit(given[:N_TRAIN], y_train)
    inside.fit(frame[:N_TRAIN], y_train)
    restored = pickle.loads(pickle.dumps(inside))
    for method in methods:
        expected, found = getattr(by_hand, method)(given), getattr(inside, method)(frame)
        assert_allclose(getattr(restored, method)(frame), found, rtol=1e-12, atol=1e-12)
        if ROUNDS_ALIKE:  # or descents that are cut short magnify the last bit
            assert_allclose(found, expected, rtol=1e-10, atol=1e-10, err_msg=method)


@pytest.mark.parametrize("combiner", CLASSIFYING, ids=lambda combiner: str(combiner)[:40])
def test_every_combiner(combiner):
    kernels = DIFFERENTIABLE if isinstance(combiner, Projected) else KERNELS
    model = MKLClassifier(kernels, combiner, random_state=0)
    check_like_by_hand(model, X, Y, "decision_function", "kernel_weights")


@pytest.mark.parametrize("combiner", OF_NUMBERS, ids=str)
def test_every_combiner_of_regressors(combiner):
    check_like_by_hand(MKLRegressor(KERNELS, combiner, random_state=0), X, NUMBERS, "predict")


def test_every_combiner_is_tested():
    public = [getattr(combiners, name) for name in combiners.__all__]
    every = {cls for cls in public if isinstance(cls, type) and issubclass(cls, Combiner)}
    bases = {Combiner, combiners.ChosenWeights, combiners.DescentCombiner, PerOutput}
    assert every - bases == {type(combiner) for combiner in [*CLASSIFYING, *OF_NUMBERS]}


@pytest.mark.parametrize(
    ("combiner", "normalize"),
    [
        *((Mean(), normalize) for normalize in ("unit-diagonal", "center", "unit-trace")),
        *((Localized(inputs=["b", "c"], l2=0.01), normalize) for normalize in ("unit-diagonal", "center")),
        (Localized(l2=0.01), "unit-trace"),
        *((Projected(1, Softmax()), normalize) for normalize in ("unit-diagonal", "center")),
    ],
)
def test_missing_views(combiner, normalize):
    kernels = DIFFERENTIABLE if isinstance(combiner, Projected) else KERNELS
    model = MKLClassifier(kernels, combiner, normalize=normalize, random_state=0)
    check_like_by_hand(model, MISSING, Y, "decision_function", "kernel_weights")


@pytest.mark.parametrize(
    "model",
    [
        MKLOneClass(KERNELS, nu=0.3),
        MKLRegressor(KERNELS, ConvexMKL(), weights="per-target"),
        MKLClassifier(KERNELS, LpMKL(), weights="per-class", multiclass="one-vs-all"),
        MKLDR(KERNELS, n_components=1),
        KernelVoting(KERNELS),
        KernelSAMME(KERNELS, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_estimator(model):
    y = {MKLOneClass: None, MKLRegressor: np.c_[NUMBERS, VALUES[:, 2]]}.get(type(model), Y)
    if isinstance(model, MKLClassifier):
        y = np.digitize(NUMBERS, [0.0, 1.0])
    discrete = isinstance(model, KernelVoting | KernelSAMME)
    check_like_by_hand(model, X, Y == "yes" if discrete else y, "transform" if isinstance(model, MKLDR) else "predict")


@pytest.mark.parametrize(
    "model",
    [
        KernelPLS(Gaussian(["a", "b"])),
        KernelFisher(Gaussian("a")),
        AKDAQR(Gaussian(["a", "b"])),
        AKDAQR(MKLClassifier(KERNELS[:2])),
        LocalFisher(3),
        SubspaceKernel(Gaussian("a"), 2, landmarks="centroids", tol=0.05, random_state=0),
        SparseLargeMarginClassifier(3, Gaussian("a"), tol=0.05, random_state=0),
        FromEstimator(MKLClassifier(DIFFERENTIABLE, Projected(1, Softmax()), random_state=0)),
    ],
    ids=lambda model: f"{type(model).__name__}-{type(getattr(model, 'kernel', None)).__name__}",
)
def test_every_transformer(model):
    inside = clone(model)
    parameters = model.get_params()
    if "kernel__kernels" in parameters:
        inside.set_params(kernel__kernels=with_scalers(parameters["kernel__kernels"]))
    elif "estimator__kernels" in parameters:
        inside.set_params(estimator__kernels=with_scalers(parameters["estimator__kernels"]))
    elif "kernel__view" in parameters:
        inside.set_params(kernel__transformer=StandardScaler())
    else:
        pytest.skip("it takes no kernel")
    check_same(model, inside, X, Y, ["transform" if hasattr(model, "transform") else "decision_function"])


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier,
        MKLRegressor,
        KernelVoting,
        KernelSAMME,
        MKLDR,
        lambda kernels: SparseLargeMarginClassifier(2, kernels[0], random_state=0),
        lambda kernels: KernelFisher(kernels[0]),
        lambda kernels: AKDAQR(MKLClassifier(kernels)),
    ],
)
def test_targets_reach_the_transformers_of_every_estimator(model):
    fitted = model([Gaussian(transformer=SelectKBest(k=1))]).fit(X, 1.0 * (Y == "yes"))
    assert fitted.kernels_[0].transformer_.get_support().tolist() == [True, False, False, False, False, False]


def test_sums_products_and_pairs():
    for kernel in (
        lambda **given: Linear("a", **given) + Gaussian("b", **given) * Polynomial("c", **given),
        lambda **given: Linear("a", **given) + 2.0,
    ):
        for combiner in (Mean(), Localized(l2=0.01)):
            by_hand, inside = (
                MKLClassifier([("sum", kernel(**given)), Linear("c", **given)], combiner, random_state=0)
                for given in ({}, {"transformer": StandardScaler()})
            )
            check_same(by_hand, inside, X, Y, ["decision_function"])
    pairs = Pairwise(Gaussian(scale=1.0, transformer=StandardScaler()), first="a", second="c")
    fitted = MKLClassifier([("pairs", pairs)]).fit(X[:N_TRAIN], Y[:N_TRAIN])
    both = np.vstack([X[["a__0", "a__1"]][:N_TRAIN], X[["c__0", "c__1"]][:N_TRAIN]])
    assert_allclose(fitted.kernels_[0].kernel_.transformer_.mean_, both.mean(axis=0))


def test_a_gating_kernel_with_a_transformer():
    by_hand, inside = (
        MKLClassifier(kernels, Localized(inputs=KernelMap(gating, n_landmarks=9), l2=0.01), random_state=0)
        for kernels, gating in (
            (KERNELS, Gaussian("b")),
            (with_scalers(KERNELS), Gaussian("b", transformer=StandardScaler())),
        )
    )
    check_same(by_hand, inside, X, Y, ["decision_function"])
    chosen = Gaussian("b", transformer=SelectKBest(k=1))
    model = MKLClassifier(KERNELS, Localized(inputs=KernelMap(chosen), l2=0.01), random_state=0).fit(X, Y)
    assert model.predict(X).shape == (N,)


def test_weights_of_samples_reach_the_scaler():
    weight = np.r_[0.0, np.linspace(0.5, 3.0, N - 1)]
    model = MKLClassifier(with_scalers(KERNELS)).fit(X, Y, sample_weight=weight)
    expected = np.average(X[["a__0", "a__1"]], axis=0, weights=weight)
    assert_allclose(model.kernels_[0].transformer_.mean_, expected)
    dropped = MKLClassifier(with_scalers(KERNELS)).fit(X[1:], Y[1:], sample_weight=weight[1:])
    assert_allclose(model.decision_function(X), dropped.decision_function(X), atol=1e-10)


# Clinical tables, documents, sparse samples
