"""Gates, machines and small problems that the tests of localized kernels share."""

import numpy as np
from sklearn.base import clone

from kernelweave import MKLClassifier
from kernelweave.combiners import (
    ClusterGate,
    FitControl,
    GaussianGate,
    InstanceGate,
    Localized,
    Sigmoid,
    Softmax,
)
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import (
    BinaryMachine,
    EpsilonInsensitive,
    JointMachine,
    LeastSquaresClassMachine,
    LeastSquaresMachine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    PosteriorMachine,
    RegressionMachine,
)
from kernelweave.stacks import training

rng = np.random.default_rng(0)
N = 32
X = rng.normal(size=(N, 4))
NEW = rng.normal(size=(9, 4))
LABELS = rng.permutation(np.arange(N) % 3)
SIGNS = np.where(LABELS > 0, 1.0, -1.0)
BOUND = rng.uniform(0.3, 3.0, N)
TARGET = X[:, 0] + 0.2 * rng.normal(size=N)
KERNELS = [Gaussian([0, 1], scale=2.0), Gaussian([2, 3], scale=1.5), Gaussian(scale=3.0)]
MACHINES = {
    "binary": BinaryMachine(SIGNS, BOUND),
    "regression": RegressionMachine(TARGET, BOUND, epsilon=0.1),
    "one-class": OneClassMachine(5 * BOUND / BOUND.sum()),
    "one-vs-one": OneVsOneMachine(LABELS, BOUND),
    "one-vs-all": OneVsAllMachine(LABELS, BOUND),
    "joint": JointMachine(LABELS, BOUND),
    "posterior": PosteriorMachine(rng.random(N), BOUND),
    "least-squares": LeastSquaresMachine(TARGET, BOUND),
    "least-squares, classes": LeastSquaresClassMachine(LABELS, BOUND),
    "targets": EpsilonInsensitive(epsilon=0.1).several_targets(np.column_stack([TARGET, 2.0 * X[:, 2]]), BOUND),
    "least-squares, targets": LeastSquaresMachine(np.column_stack([TARGET, 2.0 * X[:, 2]]), BOUND),
}
GATES = {
    "softmax": Softmax(),
    "sigmoid": Sigmoid(),
    "gaussian": GaussianGate(),
    "cluster": ClusterGate(n_clusters=3),
    "instance": InstanceGate(),
}
MISSING = X.copy()
MISSING[1::5, 2:] = np.nan
MISSING[3::10, :2] = np.nan
STACKS = {
    "complete": training(KernelStack(KERNELS).fit(X)),
    "missing views": training(KernelStack(KERNELS[:2]).fit(MISSING)),
}

TOY = np.random.default_rng(5).normal(size=(260, 2))
SIDE = TOY[:, 1] * np.sign(TOY[:, 0]) > 0  # two linear models, switched by the sign of the first feature


def toy_model(gating=None, C=10.0, l2=0.001, kernels=2, **options):
    model = MKLClassifier([Linear()] * kernels, Localized(gating, l2=l2, **options), C=C, random_state=0)
    return model.fit(TOY[:160], SIDE[:160])


def prepared(gate, stack, l2=0.3, spread=60.0, norm="unit", **options):
    """A family of gated sums, and a theta whose gates differ from sample to sample."""
    combiner = Localized(clone(GATES[gate]).set_params(norm=norm), l2=l2, **options)
    family = combiner.family(STACKS[stack], None, FitControl())
    family.strength = l2
    return family, spread * family.start(None, np.random.RandomState(1))
