"""What a user writes, with types: `mypy --strict` accepts it (tests/test_distribution.py). It is not run."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    __version__,
    calibrated,
    config_context,
    get_config,
    load,
    open_views,
    predict_views,
    read_views,
    read_views_in_blocks,
    report,
    save,
    set_config,
    show_versions,
    stack_views,
)
from kernelweave.cluster import KernelKMeans, choose_n_clusters
from kernelweave.combiners import (
    AlignmentWeights,
    ChosenWeights,
    Combiner,
    ConvexLocalized,
    ConvexMKL,
    ElasticMKL,
    FitControl,
    FixedWeights,
    GroupMKL,
    KernelMap,
    Localized,
    LpMKL,
    Mean,
    PolynomialMKL,
    Projected,
    Softmax,
    SparseMKL,
    WidthMKL,
)
from kernelweave.compare import Comparison, ComparisonOutcome, Contender, Problem, run_comparison
from kernelweave.datasets import load_multifeat
from kernelweave.display import GatingDisplay
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.files import ViewTables
from kernelweave.kernels import ChiSquared, Gaussian, Kernel, Laplacian, Linear, Polynomial
from kernelweave.machines import EpsilonInsensitive, Hinge, Machine
from kernelweave.model_selection import NestedFolds, paired_loss_test, view_importance, view_report
from kernelweave.recipes import CohortModel
from kernelweave.reduction import MKLDR, KernelPLS, LDAGraph
from kernelweave.survival import concordance, kaplan_meier, outcome

Numbers = NDArray[np.float64]


def kernels() -> list[Kernel]:
    product = Linear("a") * Gaussian("b") + Linear("b")
    return [Gaussian("b", scale=2.0), Polynomial("a", degree=2), Laplacian("a"), ChiSquared("b"), product]


def combiners() -> list[Combiner]:
    given = [Mean(), FixedWeights([1.0, 2.0]), AlignmentWeights(), PolynomialMKL(degree=2), Projected(2)]
    learned = [LpMKL(p=2.0), ElasticMKL(0.1), GroupMKL({"g": ["a", "b"]}), SparseMKL(), WidthMKL()]
    gates = [Localized(Softmax(), l2="auto"), Localized(inputs=KernelMap(Gaussian("a"))), ConvexLocalized(3)]
    return [*given, *learned, *gates]


def classify(X: Any, y: Numbers) -> NDArray[Any]:
    model = MKLClassifier(kernels(), ConvexMKL(solver="level"), C=10.0, machine=Hinge(), missing="complete")
    model.fit(X, y)
    print(model.kernel_weights_.round(3), model.duality_gap_, model.contributions(X), model.feature_weights("a"))
    probabilities: Numbers = calibrated(model).fit(X, y).predict_proba(X)
    print(probabilities, model.decision_function(X)[:3])
    return model.predict(X)


def score(model: MKLClassifier, X: Any, y: Numbers) -> float:
    return model.score(X, y)


def regress(X: Any, y: Numbers) -> Numbers:
    features = {"a": ExactFeatures(), "b": FourierFeatures(100)}
    MKLRegressor(["a", Gaussian("b")], approximation=features).fit(X, y).predict(X)
    MKLRegressor(kernels(), approximation=NystroemFeatures(50), machine=EpsilonInsensitive()).fit(X, y)
    mean, std = BayesianMKLRegressor(kernels()).fit(X, y).predict(X, return_std=True)
    print(std.max(), BayesianMKLRegressor(kernels()).fit(X, y).predict(X).max())
    return mean


def others(X: Any, y: Numbers) -> NDArray[Any]:
    ColumnBoostingClassifier(kernels()).fit(X, y).predict(X)
    ColumnBoostingRegressor(kernels()).fit(X, y).predict(X)
    KernelVoting(kernels()).fit(X, y).predict(X)
    KernelSAMME(kernels()).fit(X, y).predict(X)
    BayesianMKLClassifier(kernels()).fit(X, y).predict_proba(X)
    return MKLOneClass(kernels(), nu=0.2).fit(X).predict(X)


def survive(X: Any, time: Numbers, event: Numbers) -> float:
    y = outcome(time, event > 0)
    model = MKLSurvival(kernels(), Mean()).fit(X, y)
    print(model.predict_survival_function(X, [365.0]).max(), kaplan_meier(y))
    return concordance(y, model.predict(X))


def cluster(X: Any) -> NDArray[Any]:
    print(choose_n_clusters(KernelKMeans(kernels()), X))
    return KernelKMeans(kernels(), n_clusters=3).fit(X).predict(X)


def reduce(X: Any, y: Numbers) -> Numbers:
    print(KernelPLS(Gaussian()).fit(X, y).transform(X).shape)
    return MKLDR(kernels(), LDAGraph(), n_components=2).fit(X, y).transform(X)


def read(folder: Path) -> ViewTables:
    for block in read_views_in_blocks([folder / "rna.csv"], id="sample"):
        print(block)
    return read_views(
        [folder / "rna.csv", folder / "protein.csv"], target=f"{folder}/labels.csv:diagnosis", id="sample"
    )


def cohort(tables: ViewTables, path: Path) -> CohortModel:
    model = CohortModel("auto", scoring="balanced_accuracy", log=["rna"]).fit(tables.X, tables.y)
    save(model, path)
    again: CohortModel = load(path)
    print(again.predict(tables.X)[0], again.predict_proba(tables.X).max(), again.feature_importance())
    table = open_views([path.with_name("rna.npy")])
    print(predict_views(again, table, path.with_suffix(".csv")).name, model.decisions_)
    report(model, tables.X, tables.y, cv=5).save(path.with_suffix(".html"))
    return model


def compare(X: Any, y: Numbers, folder: Path) -> ComparisonOutcome:
    def machine(problem: Problem) -> MKLClassifier:
        return MKLClassifier(kernels())

    comparison = Comparison(
        "mine",
        "My data",
        source="",
        datasets={"data": Problem(X, y)},
        protocol=NestedFolds(5),
        contenders=(Contender("svm", machine),),
    )
    return run_comparison(comparison, folder)


def examine(X: Any, y: Numbers, losses: Numbers) -> float:
    model = MKLClassifier(kernels()).fit(X, y)
    print(view_report(model, X, y, cv=3).loc["a"], view_importance(model, X, y))
    GatingDisplay.from_estimator(model, X)
    return paired_loss_test(losses, losses[::-1], n_train=100).pvalue


def settings() -> None:
    set_config(dense_bytes=1e9)
    with config_context(cache_bytes=1e8):
        print(get_config(), __version__)
    show_versions()
    X, y = load_multifeat(return_X_y=True)
    print(stack_views({"a": X, "b": X}).shape, len(y))


class Rational(Kernel):
    """A kernel of one's own."""

    def __init__(self, view: Any = None, *, scale: float = 1.0) -> None:
        self.view = view
        self.scale = scale

    def cross_of(self, A: Any, B: Any) -> Numbers:
        distance: Numbers = ((A[:, None] - B[None]) ** 2).sum(axis=2)
        return 1.0 - distance / (distance + self.scale)


class ByTrace(ChosenWeights):
    """A combiner of one's own."""

    def choose(self, stack: Any, machine: Machine, control: FitControl) -> tuple[Numbers, int]:
        return np.ones(stack.n_kernels), 0
