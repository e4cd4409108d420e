"""Whatever is given as a parameter, `fit` works or one error names the parameter.

Takes many seconds: each of about 27 odd values is tried for each parameter of each public class.
"""

import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA

from cases import run_all
from kernelweave import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ColumnBoostingClassifier,
    ColumnBoostingRegressor,
    KernelSAMME,
    KernelVoting,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    MKLSurvival,
    cluster,
    combiners,
    estimators,
    kernels,
    model_selection,
    reduction,
)
from kernelweave.cluster import KernelKMeans
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
    EigenvalueCosts,
    ElasticMKL,
    ErrorWeights,
    FeatureSpaceMeasure,
    FixedWeights,
    Gate,
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
    PerOutput,
    PolynomialMKL,
    Product,
    Projected,
    Sigmoid,
    Softmax,
    SparseMKL,
    WidthMKL,
)
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.kernels import (
    ChiSquared,
    Clinical,
    Constant,
    Distance,
    Function,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Pairwise,
    Polynomial,
    Precomputed,
    Spectrum,
)
from kernelweave.model_selection import ResponseSurfaceSearchCV
from kernelweave.reduction import (
    AKDAQR,
    MKLDR,
    FromEstimator,
    Graph,
    KernelFisher,
    KernelOrthogonalCentroid,
    KernelPLS,
    LDAGraph,
    LDEGraph,
    LeadingComponents,
    LFDAGraph,
    LocalFisher,
    LPPGraph,
    MFAGraph,
    PCAGraph,
    SemiSupervisedGraph,
    SubspaceKernel,
    UserGraph,
)
from kernelweave.survival import outcome


class Odd:
    """An object of no use, with a short name."""

    def __repr__(self):
        return "Odd()"


NASTY = [
    np.array([1.0, 2.0]),
    np.array(["x", "y"]),
    np.array([[1.0, np.nan]]),
    np.array([]),
    [1.0, 2.0],
    ["x"],
    [],
    (),
    {},
    {"x": 1.0},
    {"x"},
    None,
    np.nan,
    np.inf,
    -1,
    0,
    0.5,
    10**400,
    -(10**400),
    "x",
    b"x",
    True,
    1j,
    np.datetime64("2020-01-01"),
    pd.Series([1.0, 2.0]),
    Odd(),
    Odd,
]

N = 18
Y = np.tile([0, 1, 2], 6)
X = np.random.default_rng(0).normal(size=(N, 2)) ** 2 + Y[:, None]
TWO = (Y > 0).astype(int)
WORDS = pd.DataFrame({"word": np.array(["abca", "bcab", "aabb"])[Y]})
TWO_KERNELS = [Linear(), Gaussian(scale=1.0)]


def overlap(A, B):
    return np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2)


def in_model(kernel):
    return MKLClassifier([kernel])


def as_combiner(model):
    return lambda changed: clone(model).set_params(combiner=changed)


BINARY = as_combiner(MKLClassifier(TWO_KERNELS))
REGRESSION = as_combiner(MKLRegressor(TWO_KERNELS))
ITSELF = clone
IN_GATE = lambda gate: MKLClassifier(TWO_KERNELS, Localized(gate, max_iter=2))  # noqa: E731
IN_MKLDR = lambda graph: MKLDR(TWO_KERNELS, graph, n_components=1, max_iter=2)  # noqa: E731

CASES = [  # what has the parameters, the model to fit it in, and the samples
    (MKLClassifier(TWO_KERNELS), ITSELF, X, Y),
    (MKLClassifier(TWO_KERNELS, soft_labels="knn", n_neighbors=3), ITSELF, X, TWO),
    (MKLClassifier(TWO_KERNELS, machine="least-squares", multiclass="one-vs-all"), ITSELF, X, Y),
    (MKLRegressor(TWO_KERNELS), ITSELF, X, Y),
    (MKLOneClass(TWO_KERNELS), ITSELF, X, None),
    (MKLSurvival(TWO_KERNELS), ITSELF, X, outcome(1.0 + np.arange(N), Y > 0)),
    (MKLSurvival(TWO_KERNELS, loss="ranking"), ITSELF, X, outcome(1.0 + np.arange(N), Y > 0)),
    (ColumnBoostingClassifier(TWO_KERNELS), ITSELF, X, Y),
    (ColumnBoostingRegressor(TWO_KERNELS), ITSELF, X, Y),
    (KernelVoting(), ITSELF, X, Y),
    (KernelSAMME(), ITSELF, X, Y),
    (BayesianMKLClassifier(tol=0.1), ITSELF, X, Y),
    (BayesianMKLRegressor(tol=0.1), ITSELF, X, Y),
    (SparseLargeMarginClassifier(2, max_iter=3), ITSELF, X, Y),
    *((kernel, in_model, X, TWO) for kernel in (Linear(), Polynomial(), Gaussian(), Laplacian(), ChiSquared())),
    *((kernel, in_model, X, TWO) for kernel in (Distance(), Distance("cityblock"), Constant(2.0))),
    (Function(overlap), in_model, X, TWO),
    (Precomputed(X @ X.T), in_model, np.arange(N)[:, None], TWO),
    (Spectrum(k=2), in_model, WORDS, TWO),
    (Clinical(), in_model, X, TWO),
    (Pairwise(Linear(), first=[0], second=[1]), in_model, X, TWO),
    (Linear() + Gaussian(scale=1.0), in_model, X, TWO),
    (Linear() * Gaussian(scale=1.0), in_model, X, TWO),
    *(
        (combiner, BINARY, X, TWO)
        for combiner in (
            AccuracyWeights(cv=2),
            AlignmentWeights(),
            AlignmentWeights("qcqp"),
            BestSingle(cv=2),
            BinaryMKL(1),
            ConvexLocalized(2),
            ConvexMKL(),
            EasyMKL(),
            ElasticMKL(),
            FeatureSpaceMeasure(),
            FixedWeights([1.0, 2.0]),
            GeneralizedMKL(max_iter=3),
            GroupMKL(),
            IdealKernelDistance(),
            KernelDifference(),
            KLDivergence(),
            LinearMKL(),
            Localized(max_iter=2),
            LpMKL(),
            Mean(),
            PolynomialMKL(max_iter=3),
            Product(),
            Projected(1, max_iter=2),
            Projected(1, Softmax(), max_iter=2),
            SparseMKL(n_rounds=2),
            WidthMKL(),
        )
    ),
    *((combiner, REGRESSION, X, Y) for combiner in (CorrelationWeights(cv=2), ErrorWeights(cv=2))),
    (PerOutput(Mean()), as_combiner(MKLClassifier(TWO_KERNELS)), X, Y),
    (EigenvalueCosts(), lambda costs: MKLClassifier(TWO_KERNELS, ConvexMKL(costs)), X, TWO),
    *((gate, IN_GATE, X, TWO) for gate in (Softmax(), Sigmoid(), GaussianGate(), ClusterGate(2), InstanceGate())),
    (
        KernelMap(Gaussian(scale=1.0)),
        lambda inputs: MKLClassifier(TWO_KERNELS, Localized(inputs=inputs, max_iter=2)),
        X,
        TWO,
    ),
    (AKDAQR(), ITSELF, X, Y),
    (KernelFisher(), ITSELF, X, Y),
    (KernelOrthogonalCentroid(), ITSELF, X, Y),
    (KernelPLS(), ITSELF, X, Y),
    (SubspaceKernel(max_iter=2), ITSELF, X, Y),
    (SubspaceKernel(Gaussian(scale=1.0), landmarks="samples", criterion="radius-margin", max_iter=2), ITSELF, X, TWO),
    (LocalFisher(), ITSELF, X, Y),
    (LeadingComponents(PCA()), ITSELF, X, Y),
    (FromEstimator(MKLClassifier(TWO_KERNELS, Projected(1, max_iter=2))), ITSELF, X, TWO),
    (MKLDR(TWO_KERNELS, max_iter=2), ITSELF, X, Y),
    *((graph, IN_MKLDR, X, Y) for graph in (LDAGraph(), LDEGraph(), LFDAGraph(), LPPGraph(), MFAGraph(), PCAGraph())),
    (SemiSupervisedGraph(), IN_MKLDR, X, Y),
    (UserGraph(np.ones((N, N)) - np.eye(N), D=np.ones(N)), IN_MKLDR, X, None),
    (KernelKMeans(TWO_KERNELS, 2, n_init=1), ITSELF, X, None),
    (KernelKMeans(TWO_KERNELS, 2, weights="localized", n_init=1), ITSELF, X, None),
    (ResponseSurfaceSearchCV(MKLClassifier(), ["C"], cv=2, max_iter=1, error_score="raise"), ITSELF, X, TWO),
]
ABSTRACT = (Kernel, kernels.ViewKernel, Combiner, combiners.ChosenWeights, combiners.DescentCombiner, Gate, Graph)


def test_every_public_class_with_parameters_is_here():
    public = {
        each
        for module in (estimators, kernels, combiners, cluster, reduction, model_selection)
        for name in module.__all__
        if inspect.isclass(each := getattr(module, name)) and issubclass(each, BaseEstimator)
    }
    assert public - set(ABSTRACT) == {type(thing) for thing, *_ in CASES}


# Of the search's other parameters, scikit-learn takes care.
OWN = ("factors", "delta", "order", "subsample", "bounds", "tol", "max_iter", "share_kernels", "random_state")
IDS = [f"{type(thing).__name__}{place}" for place, (thing, *_) in enumerate(CASES)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", range(len(CASES)), ids=IDS)
def test_fit_works_or_names_the_parameter(place, capsys):
    thing, model_with, data, y = CASES[place]
    model_with(thing).fit(data, y)  # a case can be fitted before anything is changed
    is_search = isinstance(thing, ResponseSurfaceSearchCV)
    names = [name for name in thing.get_params(deep=False) if not is_search or name in OWN]
    run_all({name: partial(check_parameter, place, name) for name in names})


def check_parameter(place, name):
    thing, model_with, data, y = CASES[place]
    is_first = all(type(other) is not type(thing) for other, *_ in CASES[:place])
    for value in NASTY if is_first else NASTY[len(name) % 3 :: 3]:  # the check of a value is the same in a class
        try:
            changed = type(thing)(**{**thing.get_params(deep=False), name: value})
            model_with(changed).fit(data, y)
        except (ValueError, TypeError) as error:
            assert name in str(error), f"{name}={type(value)!s:.60}: {type(error).__name__}: {error}"


def test_numbers_that_cannot_be_printed():
    with pytest.raises(
        ValueError,
        match='C of MKLClassifier must be a positive finite number or "gcv", not a number of 5001 digits or so',
    ):
        MKLClassifier(C=10**5000).fit(X, TWO)


@pytest.mark.parametrize("sample_weight", [{}, {"x": 1.0}, "x", object(), [[1.0]], ["x"] * N, 10**400, [10**400] * N])
def test_sample_weights(sample_weight):
    for model in (MKLClassifier(), MKLRegressor(), MKLOneClass(), LocalFisher()):
        with pytest.raises(ValueError, match="[sS]ample.weight"):
            model.fit(X, TWO, sample_weight=sample_weight)


def test_large_numbers_are_numbers():
    assert MKLClassifier(tol=10**30).fit(X, TWO).n_iter_ == 1
    assert MKLRegressor(epsilon=10**30).fit(X, Y).support_.size == 0  # no error is as large
