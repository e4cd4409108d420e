"""What most tests need compiled, compiled once: `python tests/warmup.py 0` and `1` do half of it each.

Without it two workers that begin together with an empty cache compile the same functions twice. What is missing here is
compiled by the first test that needs it. Functions are compiled once for each memory layout and type of number they
meet, so the fits below differ in those. `measure=True` shows what each half costs.
"""

import sys
import warnings

import numpy as np

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import (
    AlignmentWeights,
    BestSingle,
    ConvexMKL,
    GeneralizedMKL,
    Localized,
    LpMKL,
    Projected,
    Softmax,
)
from kernelweave.kernels import Gaussian, Linear, Polynomial

X = np.random.default_rng(0).normal(size=(24, 4))
THREE, TWO = np.arange(24) % 3, np.arange(24) % 2
KERNELS = [Linear([0, 1]), Polynomial([1, 2]), Gaussian([2, 3])]


def machines() -> None:
    """Each machine, and weights learned for it."""
    for dtype in ("float64", "float32"):
        for combiner in (None, ConvexMKL(), LpMKL(), AlignmentWeights(), BestSingle(cv=2), GeneralizedMKL(max_iter=2)):
            MKLClassifier(KERNELS, combiner, dtype=dtype).fit(X, TWO)
        MKLClassifier(KERNELS, multiclass="joint", dtype=dtype, normalize="center").fit(X, THREE)
        MKLRegressor(KERNELS, ConvexMKL(), dtype=dtype).fit(X, X[:, 0])
        MKLOneClass(KERNELS, dtype=dtype).fit(X)


def gates_and_projections() -> None:
    """Gates and projections, learned for a few steps."""
    for dtype in ("float64", "float32"):
        options = {"random_state": 0, "dtype": dtype}
        MKLClassifier(KERNELS, Localized(l2=0.01, max_iter=2), **options).fit(X, TWO).predict(X)
        for gating in (None, Softmax()):
            MKLClassifier(KERNELS, Projected(1, gating, max_iter=2), **options).fit(X, TWO).predict(X)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    (machines, gates_and_projections)[int(sys.argv[1])]()
