"""Most of what the tests need compiled, compiled once: `python tests/warmup.py 0` and `1` do about half of it each.

Without it two workers that begin together with an empty cache compile the same functions twice. What is missing here is
compiled by the first test that needs it. A function is compiled for each type and memory layout of the arrays that it
meets, so the fits below differ in those. Of exact kernels the second half uses the joint machine only, and explicit
features have single precision in the first half and double precision in the second, so that neither half compiles what
the other does.
"""

import sys
import warnings

import numpy as np

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import (
    AlignmentWeights,
    ConvexMKL,
    GaussianGate,
    GeneralizedMKL,
    Localized,
    LpMKL,
    PolynomialMKL,
    Projected,
    Softmax,
)
from kernelweave.kernels import Gaussian, Linear, Polynomial

X = np.random.default_rng(0).normal(size=(30, 4))
THREE, TWO = np.arange(30) % 3, np.arange(30) % 2
KERNELS = [Linear([0, 1]), Polynomial([1, 2]), Gaussian([2, 3])]


def machines() -> None:
    """The machines but the joint one, and weights learned for them."""
    for dtype in ("float64", "float32"):
        for combiner in (None, ConvexMKL(), LpMKL(), AlignmentWeights("qcqp"), Localized(l2=0.01, max_iter=2)):
            MKLClassifier(KERNELS, combiner, dtype=dtype, random_state=0).fit(X, TWO).predict(X)
        MKLRegressor(KERNELS, ConvexMKL(), dtype=dtype, normalize="center").fit(X, X[:, 0])
        MKLOneClass(KERNELS, dtype=dtype).fit(X)
    MKLClassifier(KERNELS, Localized(max_iter=2), random_state=0).fit(X, TWO)  # learned from parts of the samples
    for combiner in (None, ConvexMKL(), AlignmentWeights(), Localized(GaussianGate(), l2=0.1, max_iter=2)):
        MKLClassifier(KERNELS, combiner, storage="lazy", random_state=0).fit(X, TWO).predict(X)
    explicit("float32")


def combiners() -> None:
    """The joint machine, and what is learned by descent for it."""
    for dtype in ("float64", "float32"):
        for combiner in (
            None,
            PolynomialMKL(max_iter=2),
            GeneralizedMKL(max_iter=2),
            Projected(1, max_iter=2),
            Projected(1, Softmax(), max_iter=2),
        ):
            model = MKLClassifier(KERNELS, combiner, multiclass="joint", dtype=dtype, random_state=0)
            model.fit(X, THREE).predict(X)
    explicit("float64")


def explicit(dtype: str) -> None:
    """Explicit features, held and computed again, of weights and of gates, for one output and for several."""
    options = {"approximation": "nystroem", "dtype": dtype, "random_state": 0}
    weight = np.ones(len(X))
    for storage in ("dense", "lazy"):
        for combiner in (None, Localized(l2=0.01, max_iter=2)):
            for y in (TWO, THREE):
                MKLClassifier(KERNELS, combiner, storage=storage, **options).fit(X, y, weight).predict(X)
    MKLOneClass(KERNELS, **options).fit(X)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    (machines, combiners)[int(sys.argv[1])]()
