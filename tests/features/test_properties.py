"""The explicit features of every kernel have its values."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from feature_properties import check_features
from kernelweave import kernels
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
    ViewKernel,
)
from own_kernels import ExponentialProduct, RationalQuadratic


def bent(A, B):
    """A similarity that is not positive semidefinite."""
    return np.tanh(A @ B.T)


rng = np.random.default_rng(0)
NUMBERS = rng.normal(size=(20, 4))
MISSING = NUMBERS.copy()
MISSING[[3, 11], :2] = np.nan
IDS = np.arange(20.0)[:, None]
TEXT = pd.DataFrame({"text": ["".join(rng.choice(list("acgt"), 12)) for _ in range(20)]})
LABELS = np.array([f"s{row}" for row in range(20)], dtype=object)
TABLE = pd.DataFrame(
    {"age": NUMBERS[:, 0], "sex": rng.choice(["f", "m"], 20).astype(object), "code": rng.integers(3, size=20)}
).mask(rng.random((20, 3)) < 0.3)
SIMILARITY = NUMBERS @ NUMBERS.T
DISTANCES = np.linalg.norm(NUMBERS[:, None] - NUMBERS, axis=2)
INDEFINITE = np.tanh(SIMILARITY - 1.0) + np.eye(20)
CASES = {
    "linear": (Linear(), NUMBERS),
    "polynomial": (Polynomial(), NUMBERS),
    "cubic": (Polynomial(degree=3, coef0=0.5), NUMBERS),
    "gaussian": (Gaussian(), NUMBERS),
    "laplacian": (Laplacian(), NUMBERS),
    "distance": (Distance(), NUMBERS),
    "function": (Function(bent, repair="clip"), NUMBERS),
    "constant": (Constant(2.0), NUMBERS),
    "zero": (Linear(), np.zeros((20, 2))),
    "copies": (Gaussian(), np.repeat(NUMBERS[:7], 3, axis=0)),
    "constant columns": (Gaussian(), np.column_stack([NUMBERS, np.ones((20, 2))])),
    "some zero rows": (Linear(), NUMBERS * (np.arange(20) % 3 > 0)[:, None]),
    "sum": (Linear([0, 1]) + 0.5 * Gaussian([2, 3]), NUMBERS),
    "product": (Polynomial([0]) * Gaussian(), NUMBERS),
    "pairwise": (Pairwise(Gaussian(scale=1.0), first=[0, 1], second=[2, 3]), NUMBERS),
    "rational quadratic": (RationalQuadratic(), NUMBERS),
    "exponential product": (ExponentialProduct(), NUMBERS),
    "chi-squared": (ChiSquared(), np.abs(NUMBERS)),
    "prepared": (Gaussian(transformer=make_pipeline(SimpleImputer(), StandardScaler())), MISSING * 100.0 + 5.0),
    "words": (Linear(transformer=CountVectorizer(analyzer="char", ngram_range=(2, 2))), TEXT),
    "spectrum": (Spectrum(k=2), TEXT),
    "precomputed": (Precomputed(SIMILARITY), IDS),
    "precomputed by label": (Precomputed(pd.DataFrame(SIMILARITY, LABELS, LABELS), "id"), pd.DataFrame({"id": LABELS})),
    "precomputed, one missing": (
        Precomputed(pd.DataFrame(SIMILARITY, LABELS, LABELS), "id"),
        pd.DataFrame({"id": [None, *LABELS[1:]]}),
    ),
    "precomputed, clipped": (Precomputed(INDEFINITE, repair="clip"), IDS),
    "distance matrix": (Distance(DISTANCES), IDS),
    "clinical": (Clinical(nominal=["code"]), TABLE),
    "missing linear": (Linear([0, 1]), MISSING),
    "missing gaussian": (Gaussian([0, 1]), MISSING),
    "missing sum": (Linear([0, 1]) + Gaussian([2, 3]), MISSING),
    "sparse linear": (Linear(), sp.random(20, 6, 0.6, "csr", random_state=0)),
    "sparse gaussian": (Gaussian(), sp.random(20, 6, 0.6, "csr", random_state=0)),
    "sparse laplacian": (Laplacian(), sp.random(20, 6, 0.6, "csr", random_state=0)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:.*is zero for")
@pytest.mark.filterwarnings("ignore:.*of the trace")
def test_features_of_every_kernel(name):
    kernel, X = CASES[name]
    check_features(kernel, X)


def test_every_public_kernel_is_here():
    def classes(kernel):
        parts = [getattr(kernel, part) for part in ("first", "second", "kernel") if hasattr(kernel, part)]
        return {type(kernel)}.union(*(classes(part) for part in parts if isinstance(part, Kernel)))

    here = set().union(*(classes(kernel) for kernel, _ in CASES.values()))
    public = {getattr(kernels, name) for name in kernels.__all__}
    assert {each for each in public if isinstance(each, type) and issubclass(each, Kernel)} - here == {
        Kernel,
        ViewKernel,
    }
