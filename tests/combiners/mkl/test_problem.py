"""J as a function of the weights where J is 0: no gap is small against it."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelweave import MKLOneClass
from kernelweave.combiners import BinaryMKL, ConvexMKL, ElasticMKL, LpMKL
from kernelweave.kernels import Linear
from kernelweave.machines import BinaryMachine, OneClassMachine
from kernelweave.solvers.box_qp import LEAST_SIZE

COMBINERS = {
    "elastic": ElasticMKL(),
    "lp": LpMKL(),
    "lp, closed form": LpMKL(solver="closed-form"),
    "convex": ConvexMKL(),
    "level": ConvexMKL(solver="level"),
    "selection": BinaryMKL(2),
}


def centred(seed, n=60, views=3):
    """Samples around 0, which is then a mixture of any half of them, and kernels of two columns each."""
    X = np.random.default_rng(seed).normal(size=(n, 2 * views))
    return X - X.mean(axis=0), [Linear([2 * view, 2 * view + 1]) for view in range(views)]


@pytest.mark.parametrize("normalize", ["unit-diagonal", "center", None])
@pytest.mark.parametrize("name", COMBINERS)
def test_one_class_of_samples_around_the_origin(name, normalize):
    """The sum of weighted samples can be 0 whatever the weights of kernels are, and the first weights are optimal."""
    for seed in range(20):
        X, kernels = centred(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model = MKLOneClass(kernels, COMBINERS[name], nu=0.5, normalize=normalize).fit(X)
        largest = max(1.0, (X**2).sum(axis=1).max())  # of the diagonal; 1 is that of a normalised kernel
        assert abs(model.objective_) <= 1e-3 * LEAST_SIZE * largest
        assert len(model.history_) <= 4  # solves of the machine; they went on until rounding ended them


@pytest.mark.parametrize("tol", [1e-6, 1e-9])
@pytest.mark.parametrize("options", [{}, {"storage": "lazy"}], ids=str)
def test_smaller_tolerances(tol, options):
    for seed in range(5):
        X, kernels = centred(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            MKLOneClass(kernels, ElasticMKL(), nu=0.5, tol=tol, **options).fit(X)


def test_other_optima_are_as_exact_as_before():
    """J away from 0, on the scale of one sample: the certified gap is relative to J itself."""
    X, kernels = centred(0)
    for scale in (1e-3, 1.0, 1e3):
        model = MKLOneClass(kernels, ElasticMKL(), nu=0.05, normalize=None, tol=1e-4).fit(scale * (X + 2.0))
        assert -model.objective_ > 0.1 * scale**2 and model.duality_gap_ <= -1e-3 * model.objective_


def test_the_least_objective():
    K = np.diag([1.0, 4.0])
    assert OneClassMachine(np.ones(2)).least_objective(K) == 4.0 * LEAST_SIZE
    assert BinaryMachine(np.array([1.0, -1.0]), np.ones(2)).least_objective(K) == 0.0
