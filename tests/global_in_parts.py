"""Combiners with global weights on stacks with both storages, and problems that they are compared on."""

import numpy as np

from kernelweave.arrays import HOST
from kernelweave.combiners import (
    AccuracyWeights,
    AlignmentWeights,
    BestSingle,
    BinaryMKL,
    ConvexLocalized,
    ConvexMKL,
    CorrelationWeights,
    EasyMKL,
    EigenvalueCosts,
    ElasticMKL,
    ErrorWeights,
    FeatureSpaceMeasure,
    FixedWeights,
    GroupMKL,
    IdealKernelDistance,
    KLDivergence,
    LinearMKL,
    LpMKL,
    Mean,
    PerOutput,
    SparseMKL,
    WidthMKL,
)
from kernelweave.kernels import Gaussian, KernelStack, Laplacian, Linear, Polynomial
from kernelweave.machines import (
    BinaryMachine,
    JointMachine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    PosteriorMachine,
    RegressionMachine,
)
from kernelweave.stacks import training

LEARNED = {
    "convex": ConvexMKL(),
    "convex, costs and limits": ConvexMKL(costs=[1.0, 0.8, 1.3, 1.0], min_weight=0.02),
    "convex, free costs": ConvexMKL(costs=EigenvalueCosts(gamma=0)),
    "level": ConvexMKL(solver="level"),
    "silp": ConvexMKL(solver="silp"),
    "reduced gradient": ConvexMKL(solver="reduced-gradient"),
    "lp": LpMKL(),
    "lp, closed form": LpMKL(p=1.5, solver="closed-form"),
    "elastic": ElasticMKL(l2=5.0),
    "group": GroupMKL([0, 0, 1, 1]),
    "regional": ConvexLocalized(2),
    "sparse": SparseMKL(),
    "selection": BinaryMKL(2),
    "widths": WidthMKL(),
}
CLASSES = {  # combiners that compare classes
    "easy": EasyMKL(),
    "accuracy": AccuracyWeights(),
    "feature space": FeatureSpaceMeasure(),
}
TARGETS = {
    "proportional": AlignmentWeights(),
    "not centred": AlignmentWeights(center=False),
    "qp": AlignmentWeights("qp"),
    "qcqp": AlignmentWeights("qcqp"),
    "gradient": AlignmentWeights("gradient"),
    "ideal kernel": IdealKernelDistance(),
}
VALUES = {"correlation": CorrelationWeights(), "error": ErrorWeights()}  # for regression
ANY = {"mean": Mean(), "fixed": FixedWeights([0.2, 0.5, 0.0, 1.0]), "best single": BestSingle()} | LEARNED
DENSE = {  # with a word of the reason
    "conic": (ConvexMKL(solver="conic"), "cone solver"),
    "eigenvalue costs": (LpMKL(costs=EigenvalueCosts()), "EigenvalueCosts"),
    "semidefinite": (LinearMKL(), "semidefinite"),
    "divergence": (KLDivergence(), "determinants"),
    "per output": (PerOutput(KLDivergence()), "determinants"),
}
KERNELS = [Gaussian([0, 1, 2]), Linear([3, 4]), Polynomial([3, 5], degree=2), Laplacian([4, 5])]


def global_combiners(kind: str) -> dict:
    """The combiners that take a kind of machine: "binary", "one-vs-all", "one-vs-one", "regression", "one-class"."""
    if kind == "one-class":
        return ANY
    return ANY | TARGETS | (VALUES if kind == "regression" else CLASSES)


class Problem:
    """Samples, sample weights and machines; some samples lack the first three columns where `missing`."""

    def __init__(self, n=200, seed=0, missing=False, weighted=False, normalize="unit-diagonal"):
        rng = np.random.default_rng(seed)
        self.normalize = normalize
        self.X = rng.normal(size=(n, 6))
        noise = 0.4 * rng.normal(size=n)
        score = self.X[:, 0] * self.X[:, 1] + self.X[:, 3] + noise
        signs, labels = np.where(score > 0, 1.0, -1.0), np.digitize(score, [-0.7, 0.7])
        self.weight = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
        bound = 1.5 * self.weight
        self.cases = {
            "binary": (BinaryMachine(signs, bound), (signs > 0).astype(int)),
            "one-vs-all": (OneVsAllMachine(labels, bound), labels),
            "one-vs-one": (OneVsOneMachine(labels, bound), labels),
            "regression": (RegressionMachine(score, bound, epsilon=0.1), score),
            "joint": (JointMachine(labels, bound), labels),
            "posterior": (PosteriorMachine(1.0 / (1.0 + np.exp(-score)), bound), (signs > 0).astype(int)),
            "one-class": (OneClassMachine(self.weight / (0.2 * self.weight.sum())), None),
        }
        if missing:
            self.X[rng.random(n) < 0.15, :3] = np.nan

    def stack(self, storage, dtype="float64", place=HOST):
        """The kernels over the samples."""
        stack = KernelStack(KERNELS, self.normalize, storage=storage, dtype=dtype, place=place)
        return stack.fit(self.X, self.weight)

    def training(self, kind, *storage, **options):
        """The same with the targets of a kind of machine."""
        return training(self.stack(*storage, **options)).for_machine(*self.cases[kind])
