"""Fitted models of every kind, for the tests of saving."""

import functools

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import make_column_selector
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from kernelweave import ColumnBoostingClassifier, ColumnBoostingRegressor, MKLClassifier, stack_views
from kernelweave.cluster import KernelKMeans
from kernelweave.combiners import (
    AccuracyWeights,
    AlignmentWeights,
    BestSingle,
    BinaryMKL,
    ClusterGate,
    ConvexLocalized,
    ConvexMKL,
    CorrelationWeights,
    EasyMKL,
    EigenvalueCosts,
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
    PolynomialMKL,
    Product,
    Projected,
    Sigmoid,
    Softmax,
    SparseMKL,
    WidthMKL,
)
from kernelweave.estimators import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    KernelSAMME,
    KernelVoting,
    SparseLargeMarginClassifier,
)
from kernelweave.kernels import (
    ChiSquared,
    Constant,
    Distance,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Pairwise,
    Polynomial,
    Precomputed,
    Spectrum,
)
from kernelweave.machines import (
    EpsilonInsensitive,
    Hinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
    SquaredMargin,
)
from kernelweave.reduction import (
    AKDAQR,
    MKLDR,
    FromEstimator,
    KernelFisher,
    KernelOrthogonalCentroid,
    KernelPLS,
    LDEGraph,
    LFDAGraph,
    LocalFisher,
    LPPGraph,
    MFAGraph,
    PCAGraph,
    SemiSupervisedGraph,
    SubspaceKernel,
    UserGraph,
)
from saved_builders import (
    ALIKE,
    CALLABLES,
    DISTANCES,
    EMBEDDED,
    FRAME,
    GRAM,
    INDEFINITE,
    KERNELS,
    NEW,
    NUMBERED,
    SOME,
    TARGETS,
    THREE,
    TWO,
    VALUE,
    A,
    N,
    by_label,
    classifier,
    clinical,
    common_letters,
    dot,
    extended,
    ids,
    labelled,
    on_frame,
    on_sparse_frame,
    one_class,
    pairs_and_counts,
    regressor,
    survival,
)
from saved_explicit import EXPLICIT
from saved_prepared import PREPARED
from saved_recipes import RECIPES
from saved_rivals import RIVALS

# Kernels of three views, of which some samples lack one or two
LACKING = np.where((np.arange(N) % 4 == 1)[:, None] & (np.arange(5) < 2), np.nan, A)
COMPLETED = [Linear("u"), Gaussian("v"), Gaussian("u"), Linear("w")]
INCOMPLETE = [(row, ["u__0", "u__1"]) for row in (3, 4, N + 1, N + 2)] + [
    (row, "w") for row in (4, 9, 10, N + 2, N + 5)
]

MODELS = {
    "default": lambda: (MKLClassifier().fit(A, TWO), NEW),
    "binary": classifier(),
    "strided columns": classifier([Linear([4, 0, 2]), Gaussian([3, 0])]),
    "one-vs-one": classifier(y=THREE, multiclass="one-vs-one", n_jobs=2),
    "one-vs-all": classifier(y=THREE, multiclass="one-vs-all"),
    "joint": classifier(y=THREE, multiclass="joint"),
    "joint, soft labels": classifier(y=THREE, multiclass="joint", soft_labels="knn", n_neighbors=5),
    "least squares": classifier(machine="least-squares"),
    "least squares, one-vs-all": classifier(y=THREE, machine="least-squares", multiclass="one-vs-all"),
    "least squares regressor": regressor(machine="least-squares"),
    "squared hinge": classifier(machine="squared-hinge"),
    "least squares, one-vs-one, by an object": classifier(y=THREE, machine=SquaredMargin(), multiclass="one-vs-one"),
    "squared epsilon-insensitive": regressor(machine=SquaredEpsilonInsensitive(epsilon=0.2)),
    "hinge by an object": classifier(machine=Hinge(), combiner=BestSingle(cv=KFold(2))),
    "squared hinge by an object": classifier(
        machine=SquaredHinge(), combiner=BestSingle(cv=StratifiedShuffleSplit(2, random_state=1))
    ),
    "epsilon-insensitive by an object": regressor(
        machine=EpsilonInsensitive(epsilon=0.2), combiner=BestSingle(cv=ShuffleSplit(2, random_state=1))
    ),
    "squared error by an object": regressor(machine=SquaredError(), combiner=BestSingle(cv=LeaveOneOut())),
    "posterior": classifier(fit={"posterior": np.where(TWO == "yes", 0.9, 0.2)}),
    "integer labels": classifier(y=np.where(TWO == "yes", 7, -3), class_weight={7: 2.0, -3: 0.5}),
    "boolean labels": classifier(y=TWO == "yes", class_weight={np.True_: np.float64(2.0), np.False_: 1}),
    "object labels": classifier(y=THREE.astype(object), class_weight="balanced"),
    "sample weight": classifier(fit={"sample_weight": np.arange(N) % 3}),
    "float32": classifier(dtype="float32"),
    "unit-trace": classifier(normalize="unit-trace"),
    "center": classifier(normalize="center"),
    "no normalisation": classifier(normalize=None, C=0.1),
    "regressor": regressor(),
    "regressor without support": regressor(epsilon=100.0),
    "regressor, centred": regressor(normalize="center", epsilon=np.float32(0.25)),
    "targets": regressor(TARGETS, combiner=LpMKL(), n_jobs=2),
    "targets, least squares": regressor(TARGETS.to_numpy(), machine="least-squares"),
    "targets, one column": regressor(TARGETS[["first"]], machine="squared-epsilon-insensitive"),
    "weights per target": regressor(TARGETS, combiner=ConvexMKL(), weights="per-target"),
    "survival": survival(combiner=LpMKL()),
    "survival, strata": survival(stratified=True, combiner=ConvexMKL()),
    "survival, ranking, features": survival(loss="ranking", approximation="nystroem"),
    "one-class": one_class(Gaussian()),
    "one-class, convex": one_class(Gaussian([0, 1]), Linear(), combiner=ConvexMKL()),
    "product": classifier(combiner=Product()),
    "fixed weights": classifier(combiner=FixedWeights({"gaussian": 2.0})),
    "fixed weights, array": classifier(combiner=FixedWeights(np.array([1.0, 0.0, 3.0]))),
    "eigenvalue costs": classifier(combiner=ConvexMKL(EigenvalueCosts(0.5))),
    "best single": classifier(combiner=BestSingle(cv=2), random_state=3),
    "best single, splitter": classifier(combiner=BestSingle(cv=StratifiedKFold(3, shuffle=True, random_state=1))),
    "generalized, product": classifier([Linear([m]) for m in range(5)], combiner=GeneralizedMKL(strength=3.0)),
    "generalized, centred": classifier(combiner=GeneralizedMKL(), normalize="center", y=THREE, multiclass="joint"),
    "generalized, sum": regressor(combiner=GeneralizedMKL("sum", "l2")),
    "generalized, precomputed": ids(
        Precomputed(GRAM), Precomputed(np.eye(N + 11)), n=N + 11, combiner=GeneralizedMKL()
    ),
    "localized, softmax": classifier(combiner=Localized(gate_tol=0.3, l2=0.01), C=10.0, random_state=0),
    "localized, sigmoid": regressor(
        combiner=Localized(Sigmoid(), inputs=[1, 2], quadratic=True, l2=0.01), random_state=0
    ),
    "localized, gaussian": classifier(
        y=THREE, combiner=Localized(GaussianGate(), l2=0.01), weights="per-class", random_state=0
    ),
    "localized, clusters": classifier(
        combiner=Localized(ClusterGate(n_clusters=3)), normalize="center", random_state=0
    ),
    "localized, instances": classifier(combiner=Localized(InstanceGate(), scaling="unit-row"), random_state=0),
    "localized, views": on_frame(
        [Linear("u"), Gaussian("v")],
        combiner=Localized(inputs=["u", "v"], l2=0.01, validation_fraction=0.3),
        missing=[(3, ["u__0", "u__1"]), (N + 5, ["v__0", "v__1"])],
        random_state=0,
    ),
    "localized, kernel map": ids(
        Precomputed(GRAM),
        Precomputed(np.eye(N + 11) + 0.1),
        n=N + 11,
        combiner=Localized(inputs=KernelMap(Precomputed(GRAM), n_landmarks=9), l2=0.01),
        random_state=0,
    ),
    "localized, kernel map of text": on_frame(
        [Linear("u"), Linear("v")],
        combiner=Localized(Softmax("paper"), inputs=KernelMap(Spectrum("word", k=2)), l2=0.01),
        random_state=0,
    ),
    "projected": classifier(combiner=Projected(2), random_state=0),
    "projected, centred": regressor(
        combiner=Projected([1, 2, 1], constraint="norm"), normalize="center", random_state=0
    ),
    "projected, softmax": on_frame(
        [Linear("u"), Gaussian("v"), Polynomial("w")],
        y=THREE,
        combiner=Projected(2, Softmax(), gating_components=2, quadratic=True, init="lda"),
        missing=[(3, ["u__0", "u__1"]), (N + 5, ["v__0", "v__1"])],
        random_state=0,
    ),
    "projected, per class": classifier(
        y=THREE, combiner=Projected(1, Softmax(), gating_components=1), weights="per-class", random_state=0
    ),
    "projected, precomputed": ids(
        Precomputed(GRAM), Precomputed(np.eye(N + 11) + 0.1), n=N + 11, combiner=Projected(2), random_state=0
    ),
    "projected, precomputed, softmax": ids(
        Precomputed(GRAM),
        Precomputed(np.eye(N + 11) + 0.1),
        n=N + 11,
        combiner=Projected(2, Softmax(), gating_components=2, features={"precomputed": "map"}),
        random_state=0,
    ),
    "projected, text": on_frame(
        [Spectrum("word", k=2), Linear("u")],
        combiner=Projected(2, Sigmoid()),
        missing=[(4, "word"), (N + 2, "word")],
        random_state=0,
    ),
    "projected, kernel map": on_frame(
        [Linear("u"), Gaussian("v")],
        combiner=Projected(1, Softmax(), inputs=KernelMap(Gaussian("w"), n_landmarks=5)),
        random_state=0,
    ),
    "projected, kernel pca": classifier(
        combiner=Projected(2, features={"gaussian": "kpca", "linear": "view"}), random_state=0
    ),
    "projected, sparse": classifier(
        [Linear([0, 3]), Gaussian([2, 3])],
        X=sp.csr_matrix(A),
        new=sp.csr_matrix(NEW),
        combiner=Projected(1),
        random_state=0,
    ),
    "polynomial": classifier(
        combiner=PolynomialMKL(ball_center={"linear": 0.5}, ball_radius=0.4, constant=1.0, tau=0.5)
    ),
    "polynomial, held out": classifier(combiner=PolynomialMKL(), random_state=0),
    "accuracy weights": classifier(combiner=AccuracyWeights(0.4, cv=3), random_state=0),
    "alignment": classifier(combiner=AlignmentWeights()),
    "alignment, qcqp": classifier(y=THREE, combiner=AlignmentWeights("qcqp")),
    "binary selection": classifier(combiner=BinaryMKL(2)),
    "correlation weights": regressor(combiner=CorrelationWeights(), random_state=0),
    "difference, absolute": classifier(combiner=KernelDifference()),
    "difference, shifted": classifier(combiner=KernelDifference("difference", 0.5, repair="shift")),
    "difference, square": classifier(y=THREE, combiner=KernelDifference("square")),
    "difference, precomputed": ids(Precomputed(GRAM), Precomputed(np.eye(N + 11)), combiner=KernelDifference()),
    "divergence": classifier(combiner=KLDivergence()),
    "error weights": regressor(combiner=ErrorWeights(), random_state=0),
    "feature space measure": classifier(combiner=FeatureSpaceMeasure()),
    "ideal kernel distance": classifier(combiner=IdealKernelDistance()),
    "linear": classifier(combiner=LinearMKL()),
    "sums and products": classifier(
        [0.5 * Linear([0]) + Gaussian([1, 2]) * Polynomial([3]) + 1.0, ("c", Constant(2.0))]
    ),
    "named kernels": classifier([("x", Linear(np.array([0, 2]))), ("y", Gaussian(np.array([True] * 3 + [False] * 2)))]),
    "frame": on_frame([Linear("u"), Gaussian("v"), Linear(["w", "flag", "count"])]),
    "frame, default kernels": classifier(None, TWO, FRAME.iloc[:N, :5], FRAME.iloc[N:, :5]),
    "frame, slice of names": on_frame([Linear(slice("u", "v")), Linear(range(2)), Linear(pd.Index(["u", "w"]))]),
    "frame, missing views": on_frame(
        [Linear("u"), Gaussian("v")], missing=[(3, ["u__0", "u__1"]), (5, ["v__0", "v__1"])]
    ),
    "frame, selector": on_frame([Linear(make_column_selector("^v__"))]),
    "completed views": on_frame(COMPLETED, missing=INCOMPLETE, rule="complete"),
    "completed views, weights": on_frame(
        COMPLETED, missing=INCOMPLETE, rule="complete", combiner=FixedWeights([1.0, 0.0, 2.0, 0.5]), normalize="center"
    ),
    "completed views, polynomial": on_frame(COMPLETED, missing=INCOMPLETE, rule="complete", combiner=PolynomialMKL()),
    "completed views, per class": on_frame(
        COMPLETED, THREE, missing=INCOMPLETE, rule="complete", combiner=LpMKL(), weights="per-class"
    ),
    "completed views, precomputed": on_frame(
        [Precomputed(GRAM, "id"), Linear("v")],
        missing=[(3, "id"), (N + 1, "id"), (5, ["v__0", "v__1"])],
        rule="complete",
    ),
    "text": on_frame([Function(common_letters, "word"), Linear("u")], missing=[(4, "word"), (N + 2, "word")]),
    "mixed text": on_frame([Function(pairs_and_counts, ["word", "count"])], normalize=None, C=0.01),
    "callable": classifier([dot, Function(dot, [1, 2])]),
    "partial": classifier([("half", functools.partial(dot, factor=0.5))]),
    "sparse matrix": classifier(X=sp.csr_matrix(A), new=sp.csr_matrix(NEW)),
    "sparse array": classifier([Linear([0, 3]), Function(dot, [3])], X=sp.csr_array(A), new=NEW),
    "sparse view": classifier(
        [Linear("s"), Gaussian("d"), Gaussian(["s", "d"]), Pairwise(Linear(), first=["s__0"], second=["s__1"])],
        X=stack_views({"s": sp.csr_matrix(A[:, :3]), "d": A[:, 3:], "word": ["ab"] * N}),
        new=stack_views({"s": NEW[:, :3], "d": NEW[:, 3:]}),
    ),
    "sparse view, missing": on_sparse_frame,
    "precomputed": ids(Precomputed(GRAM)),
    "precomputed, float32": ids(Precomputed((GRAM + np.eye(N + 11)).astype(np.float32)), n=N + 11),
    "precomputed, centred": ids(Precomputed(GRAM), n=N + 11, normalize="center"),
    "precomputed, parts": ids(Precomputed(GRAM) * Precomputed(GRAM) + 1.0, Precomputed(np.eye(N))),
    "precomputed, inactive": on_frame([Precomputed(GRAM, "id"), Linear("v")], combiner=FixedWeights({"v": 1.0})),
    "precomputed, missing": on_frame([Precomputed(GRAM, "id"), Linear("v")], missing=[(3, "id"), (N + 1, "id")]),
    "extended": extended,
    "precomputed, labels": functools.partial(by_label, missing=["s3", "s30"]),
    "precomputed, labels, blocks": functools.partial(by_label, N, combiner=ConvexMKL()),
    "precomputed, labels, unknown diagonal": functools.partial(by_label, N, normalize=None, C=0.1),
    "precomputed, support vector without id": on_frame(
        [Precomputed(GRAM, "id"), Linear("v")], missing=[(row, "id") for row in range(0, N, 2)], normalize=None
    ),
    "laplacian, chi-squared, distance": classifier(
        [Laplacian([0, 1]), ChiSquared([2, 3]), Distance("cityblock", scale=2.0)], X=np.abs(A), new=np.abs(NEW)
    ),
    "distances with constants": classifier([Distance("seuclidean"), ("own", Distance("mahalanobis", view=[0, 1]))]),
    "distance matrix": ids(Distance(DISTANCES), n=N + 11),
    "clipped": ids(Precomputed(INDEFINITE, repair="clip"), Precomputed(GRAM), n=N + 11),
    "shifted": ids(Precomputed(INDEFINITE, repair="shift"), n=N + 11),
    "clipped, inactive": ids(
        ("bad", Precomputed(INDEFINITE, repair="clip")), ("good", Precomputed(GRAM)), combiner=FixedWeights([0.0, 1.0])
    ),
    "clipped function": classifier([Function(dot, repair="clip"), Linear([1])], normalize="center"),
    "spectrum": on_frame([Spectrum("word", k=2), Linear("u")], missing=[(4, "word"), (N + 2, "word")]),
    "clinical": clinical,
    "pairwise": on_frame([Pairwise(Linear([1]) + Gaussian(), first="u", second="v"), Linear("u")]),
    "pairwise, sparse": classifier(
        [Pairwise(Linear(), first=[0, 1], second=[2, 3])], X=sp.csr_matrix(A), new=sp.csr_matrix(NEW)
    ),
    "pairwise, precomputed": on_frame([Pairwise(Precomputed(GRAM), first=["count"], second=["id"])]),
    "convex": classifier(combiner=ConvexMKL(costs={"gaussian": 2.0}, min_weight=[0.0, 0.1, 0.0])),
    "lp": classifier(combiner=LpMKL(p=1.5)),
    "elastic": regressor(combiner=ElasticMKL(l2=2.0)),
    "group": classifier(combiner=GroupMKL({"both": ["linear", "gaussian"]})),
    "easy": classifier(y=THREE, combiner=EasyMKL()),
    "sparse": classifier(combiner=SparseMKL()),
    "regions": classifier(y=THREE, combiner=ConvexLocalized(2, inputs=[0, 1], costs={"gaussian": 2.0})),
    "regions, given": classifier(X=np.abs(A), new=np.abs(NEW), combiner=ConvexLocalized([2, 3], p=1)),
    "regions per class": classifier(y=THREE, combiner=ConvexLocalized(2), weights="per-class"),
    "widths": classifier([Linear(), Gaussian([0, 1]), Gaussian([2, 3])], combiner=WidthMKL(), C=30.0),
    "widths per class": classifier(
        [Gaussian([0, 1]), Gaussian([2, 3])], THREE, combiner=WidthMKL(), weights="per-class", multiclass="one-vs-all"
    ),
    "widths, precomputed": on_frame(
        [Precomputed(GRAM, "id"), Gaussian("v")], combiner=WidthMKL(costs={"v": 0.3}), missing=[(3, "id")]
    ),
    "weights per pair": classifier(y=THREE, combiner=ConvexMKL(), weights="per-class"),
    "weights per class": classifier(y=THREE, combiner=LpMKL(), weights="per-class", multiclass="one-vs-all"),
    "weights per pair, precomputed": classifier(
        [Precomputed(GRAM), Precomputed(np.eye(N + 11))],
        THREE,
        np.arange(N)[:, None],
        np.arange(N + 11)[:, None],
        combiner=ConvexMKL(),
        weights="per-class",
    ),
    "subspace kernel": labelled(SubspaceKernel(Gaussian(scale=3.0), tol=0.05)),
    "subspace kernel, landmarks": labelled(
        SubspaceKernel(Linear([4, 1]), 2, landmarks="centroids", tol=0.05, random_state=0)
    ),
    "kernel pls": labelled(KernelPLS(normalize="unit-diagonal")),
    "kernel pls, combined kernel": labelled(KernelPLS(MKLClassifier(KERNELS, FixedWeights([1.0, 0.0, 2.0])))),
    "kernel orthogonal centroid": labelled(
        KernelOrthogonalCentroid(Linear([0]) + Gaussian([1, 2]), n_clusters=2, random_state=0)
    ),
    "akda/qr": labelled(AKDAQR(Gaussian(scale=3.0))),
    "kernel fisher": labelled(KernelFisher(Precomputed(GRAM)), *NUMBERED),
    "local fisher": labelled(LocalFisher(3, metric="plain")),
    "local fisher, frame": labelled(LocalFisher(), FRAME.iloc[:N, :5], FRAME.iloc[N:, :5]),
    "projections of an estimator": labelled(
        FromEstimator(MKLClassifier(KERNELS, Projected(1, Softmax()), multiclass="joint", random_state=0))
    ),
    "sparse large margin": labelled(SparseLargeMarginClassifier(3, tol=0.05, random_state=0)),
    "mkldr": labelled(MKLDR(EMBEDDED, n_components=1)),
    "mkldr, paper": labelled(MKLDR(EMBEDDED, LDEGraph(), step="paper", max_iter=1000)),
    "mkldr, given weights": labelled(
        MKLDR(EMBEDDED, LFDAGraph(), n_components=1, init={"gaussian": 1.0, "linear": 2.0}, weights_step="fixed")
    ),
    "mkldr, lpp": labelled(MKLDR(EMBEDDED, LPPGraph(), n_components=1, dtype="float32"), y=None),
    "mkldr, mfa": labelled(MKLDR(EMBEDDED, MFAGraph(), n_components=1, normalize="center")),
    "mkldr, pca": labelled(MKLDR(EMBEDDED, PCAGraph()), y=None),
    "mkldr, semi-supervised": labelled(MKLDR(EMBEDDED, SemiSupervisedGraph(), n_components=1), y=SOME),
    "mkldr, user": labelled(MKLDR(EMBEDDED, UserGraph(sp.csr_matrix(ALIKE), 1 - ALIKE), n_components=1), y=None),
    "mkldr, precomputed": labelled(MKLDR([Precomputed(GRAM)], n_components=1), *NUMBERED),
    "kernel k-means": labelled(KernelKMeans(EMBEDDED, 2, n_init=1, random_state=0), y=None),
    "kernel k-means, given weights": labelled(
        KernelKMeans(EMBEDDED, 3, weights={"gaussian": 2.0}, normalize="center", n_init=1, random_state=0), y=None
    ),
    "kernel k-means, min-max": labelled(
        KernelKMeans([Precomputed(GRAM)], 2, weights="min-max", n_init=1, random_state=0), *NUMBERED[:2], y=None
    ),
    "kernel k-means, localized": labelled(
        KernelKMeans(EMBEDDED, 2, weights="localized", n_init=1, random_state=0), y=None
    ),
    "voting": labelled(KernelVoting(EMBEDDED, LDEGraph())),
    "columns": labelled(ColumnBoostingClassifier(EMBEDDED, C=10.0, normalize="center")),
    "columns, two classes, squares": labelled(
        ColumnBoostingClassifier(KERNELS, C=10.0, loss="squared", class_weight="balanced"), y=TWO
    ),
    "columns, none": labelled(ColumnBoostingClassifier(KERNELS, C=1e-5), y=TWO),
    "columns, targets, views": labelled(
        ColumnBoostingRegressor([Linear("u"), Gaussian("v")], C=10.0), FRAME.iloc[:N, :5], FRAME.iloc[N:, :5], TARGETS
    ),
    "columns, precomputed": labelled(
        ColumnBoostingRegressor([Precomputed(GRAM)], C=10.0), *NUMBERED, y=TARGETS["first"]
    ),
    "samme": labelled(KernelSAMME(EMBEDDED, random_state=1)),
    "bayesian, two classes": labelled(BayesianMKLClassifier(EMBEDDED, tol=0.01), y=TWO),
    "bayesian, three classes": labelled(BayesianMKLClassifier(EMBEDDED, tol=0.01, spread=0.3)),
    "bayesian, missing views": labelled(
        BayesianMKLClassifier([Linear([0, 1]), Gaussian([2, 3, 4])], tol=0.01), LACKING
    ),
    "bayesian, numbers": labelled(BayesianMKLRegressor(EMBEDDED, tol=0.01), y=VALUE),
    **EXPLICIT,
    **PREPARED,
    **RECIPES,
    **RIVALS,
}


def callables_of(name):
    return {
        **CALLABLES,
        "dot": functools.partial(dot, factor=0.5) if name == "partial" else dot,
        "make_column_selector": make_column_selector("^v__"),
    }
