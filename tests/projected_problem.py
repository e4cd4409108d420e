"""Kernels, gates and small problems that the tests of projections share."""

import numpy as np

import localized_problem
from kernelweave import MKLClassifier
from kernelweave.combiners import ClusterGate, FitControl, GaussianGate, InstanceGate, Projected, Sigmoid, Softmax
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial
from kernelweave.stacks import training
from localized_problem import MACHINES, N
from reference_qp import exactly

X = np.hstack([localized_problem.X, np.random.default_rng(1).normal(size=(N, 3))])
A, B = [0, 1, 2], [3, 4, 5, 6]
KERNELS = {
    "linear": [Linear(A), Linear(B)],
    "quadratic": [Polynomial(A), Polynomial(B)],
    "cubic": [Polynomial(A, degree=3, coef0=0.5), Polynomial(B, degree=3)],
    "gaussian": [Gaussian(A, scale=2.0), Gaussian(B, scale=1.5)],
    "mixed": [Linear(A), Polynomial(B), Gaussian(scale=3.0)],
}
GATINGS = {
    "none": (None, None),
    "softmax": (Softmax(), None),
    "softmax, projected": (Softmax(), 2),
    "sigmoid": (Sigmoid(), None),
    "sigmoid, projected": (Sigmoid(), 2),
    "gaussian": (GaussianGate(), None),
    "gaussian, projected": (GaussianGate(), 2),
    "cluster": (ClusterGate(n_clusters=3), None),
    "instance": (InstanceGate(), None),
}
MISSING = X.copy()
MISSING[1::5, 3:] = np.nan
MISSING[3::10, :3] = np.nan

WIDE = np.random.default_rng(5).normal(size=(200, 6))
SIDE = WIDE[:, 1] * np.sign(WIDE[:, 0]) > 0  # two directions, switched by the sign of the first feature


def prepared(
    kernels="mixed",
    gating="softmax, projected",
    samples=X,
    machine=None,
    normalize="unit-diagonal",
    storage="dense",
    **options,
):
    """A family of projection kernels, and a theta whose gates differ from sample to sample."""
    gate, components = GATINGS[gating]
    options = {"n_components": 2, "l2": 0.3, **options}
    combiner = Projected(gating=gate, gating_components=components, **options)
    kernels = KERNELS[kernels] if isinstance(kernels, str) else kernels
    stack = training(KernelStack(kernels, normalize, storage=storage).fit(samples))
    machine = MACHINES["regression"] if machine is None else machine
    family = combiner.family(stack, machine, FitControl())
    family.strength = combiner.l2
    theta = family.start(MACHINES["one-class"], np.random.RandomState(1))
    theta[: family.layout.n_gating] *= 60.0
    return family, theta


def solved(family, theta, machine, start=None):
    """The objective, its gradient and the machine's solution."""
    kernel = family.at(theta)
    solution = exactly(machine, kernel.gram(), start)
    penalty, slope = family.penalty(theta)
    return solution.objective + penalty, family.pullback(kernel, solution.coef) + slope, solution


def local_model(combiner=None, kernels=2, n=120, **options):
    """Local projections of one view, on a problem with two regions."""
    combiner = Projected(1, Softmax(), l2=0.01, n_init=5) if combiner is None else combiner
    options = {"C": 10.0, "normalize": None, "random_state": 0, **options}
    return MKLClassifier([Linear()] * kernels, combiner, **options).fit(WIDE[:n], SIDE[:n])
