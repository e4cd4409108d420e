"""What float32 and float64 leave of a kernel: columns of other scales and means, against the exact model."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave import MKLClassifier
from kernelweave.engines.memory import KernelValues, raw_values
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.features.base import float32_holds, moments_of, raw_dtype
from kernelweave.features.exact import ExactMap
from kernelweave.features.nystroem import NystroemMap
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial
from kernelweave.views import as_views

N = 240
RNG = np.random.default_rng(0)
Z = RNG.normal(size=(2 * N, 3))
Y = Z[:, 0] + 0.3 * RNG.normal(size=2 * N) > 0.0
MEANS = [0.0, 1e3, 1e6]
SCALES = [1.0, 1e2, 1e4]


def columns(scale, mean, width=3):
    """z_1 as it is, the others times `scale`, all around `mean`."""
    return Z[:, :width] * np.array([1.0, *[scale] * (width - 1)]) + mean


def fitted(kernel, X, **options):
    return MKLClassifier([kernel], random_state=0, **options).fit(X[:N], Y[:N])


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("normalize", [None, "center"])
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("scale", [1.0, 3e3, 1e4])
def test_linear_kernels_have_the_model_of_their_columns_alone(scale, mean, normalize, storage):
    """A bias makes up for the mean, and C k(x, x) is so large that z_1 counts alone, whatever the others are."""
    X = columns(scale, mean)
    model = fitted(Linear(), X, approximation="nystroem", normalize=normalize, storage=storage, tol=1e-5)
    plain = fitted(Linear(), columns(scale, 0.0), machine="squared-hinge", normalize=None)
    assert isinstance(model.approximation_["linear"], ExactMap)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-4)
    same = model.predict(X[N:]) == plain.predict(columns(scale, 0.0)[N:])
    assert same.mean() >= 0.99  # one or two samples lie on the boundary, to within the tolerance of both


@pytest.mark.parametrize("normalize", [None, "unit-diagonal", "center"])
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("scale", SCALES)
def test_gaussian_kernels_have_the_exact_model(scale, mean, normalize):
    """With all samples as landmarks; the width is that of the widest columns, so that C has to be large."""
    X, options = columns(scale, mean), {"normalize": normalize, "C": 100.0, "tol": 1e-6}
    exact = fitted(Gaussian(), X, machine="squared-hinge", **options)
    model = fitted(Gaussian(), X, approximation=NystroemFeatures(N), **options)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-4)
    assert (model.predict(X[N:]) == exact.predict(X[N:])).mean() >= 0.99
    other = fitted(Gaussian(), X, approximation=NystroemFeatures(N), storage="lazy", **options)
    np.testing.assert_allclose(other.objective_, model.objective_, rtol=1e-5)


@pytest.mark.parametrize("mean", MEANS)
def test_more_columns_than_landmarks_lose_no_small_one(mean):
    """40 landmarks of 60 columns: what they span differs, and not by the mean."""
    wide = np.random.default_rng(1).normal(size=(2 * N, 60)) * np.r_[1.0, np.full(59, 1e-3)]
    y = wide[:, 0] > 0.0
    scores = []
    for shift in (0.0, mean):
        model = MKLClassifier([Linear()], approximation=NystroemFeatures(40), normalize=None, random_state=0)
        model.fit(wide[:N] + shift, y[:N])
        assert isinstance(model.approximation_["linear"], NystroemMap)
        scores.append(model.score(wide[N:] + shift, y[N:]))
    assert min(scores) > 0.95


def map_of(kernel, X, approximation=None, normalize=None):
    stack = KernelStack([kernel], normalize).fit(X, checks_means=False)
    given = NystroemFeatures(64) if approximation is None else approximation
    return given.fit_map(stack, 0, np.random.RandomState(0), dtype=np.dtype("float32")), stack


@settings(max_examples=40, deadline=None)
@given(
    kernel=st.sampled_from([Linear(), Gaussian(), Polynomial(), 0.5 * Linear([0]) + Gaussian([1, 2])]),
    normalize=st.sampled_from(["unit-diagonal", "unit-trace", "center", None]),
    scale=st.sampled_from(SCALES),
    mean=st.sampled_from([0.0, 1.0, 1e3]),
    seed=st.integers(0, 1000),
)
def test_features_have_the_values_of_the_kernel(kernel, normalize, scale, mean, seed):
    """With all samples as landmarks, to rounding relative to k(x, x) before it is centred."""
    X = columns(scale, mean)[np.random.default_rng(seed).permutation(2 * N)[:60]]
    found, stack = map_of(kernel, X, NystroemFeatures(60), normalize)
    phi = found.transform(stack.support, np.ones(60, dtype=bool))
    size = np.abs(KernelStack([kernel], None if normalize == "center" else normalize).fit(X).gram(0)).max()
    np.testing.assert_allclose(phi @ phi.T, KernelStack([kernel], normalize).fit(X).gram(0), atol=1e-11 * size, rtol=0)


@pytest.mark.parametrize(
    ("kernel", "width"), [(Linear(), 3), (Polynomial(), 10), (Polynomial([0], degree=4), 5), (Linear() * Linear(), 9)]
)
def test_few_exact_features_are_taken(kernel, width):
    for count in (width, width + 5):
        found = map_of(kernel, Z, NystroemFeatures(count))[0]
        assert isinstance(found, ExactMap) and found.n_features == width
    assert isinstance(map_of(kernel, Z, NystroemFeatures(width - 1))[0], NystroemMap)
    assert isinstance(map_of(kernel, Z[: width - 1], NystroemFeatures(50))[0], NystroemMap)  # all samples are fewer


def test_raw_values_are_in_float64_where_the_whitening_enlarges_rounding():
    smooth, rough = (map_of(Gaussian(scale=scale), Z)[0] for scale in (30.0, 1.0))
    assert raw_dtype(smooth, "float32") == np.float64 and raw_dtype(rough, "float32") == np.float32
    assert raw_dtype(smooth, "float64") == raw_dtype(rough, "float64") == np.float64
    for found, dtype in ((smooth, np.float64), (rough, np.float32)):
        values = raw_values(found, "float32")
        assert isinstance(values, KernelValues) and values.columns.dtype == dtype
    for other in (ExactFeatures(), FourierFeatures(10)):
        kernel = Linear() if isinstance(other, ExactFeatures) else Gaussian()
        assert raw_dtype(map_of(kernel, Z, other)[0], "float32") == np.float32


@pytest.mark.parametrize(
    ("mean", "normalize", "wide"), [(0.0, None, False), (1e3, None, False), (1e6, None, True), (1e6, "center", False)]
)
@pytest.mark.filterwarnings("ignore:only a share of")
def test_features_are_in_float64_where_float32_would_round_off_what_differs(mean, normalize, wide):
    for kernel in (Linear(), Polynomial()):
        for approximation in (NystroemFeatures(64), NystroemFeatures(2)):
            found, stack = map_of(kernel, Z + mean, approximation, normalize)
            assert float32_holds(found, stack, 0) is not wide
    found, stack = map_of(Gaussian(), Z + mean, normalize=normalize)
    assert float32_holds(found, stack, 0)


def test_a_feature_that_is_constant_is_no_reason_for_float64():
    for X in (np.c_[Z, np.full(len(Z), 1e6)], np.c_[Z, np.full(len(Z), 1e6 / 3.0)]):
        found, stack = map_of(Linear(), X)
        assert float32_holds(found, stack, 0)


def test_float32_that_is_asked_for_is_warned_of():
    options = {"approximation": "nystroem", "normalize": None}
    X = columns(1.0, 1e6)
    with pytest.warns(UserWarning, match=r"of the kernel 'linear' have means .* float32 rounds off .*dtype=None"):
        MKLClassifier([Linear()], dtype="float32", **options).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (None, "float64"):
            MKLClassifier([Linear()], dtype=dtype, **options).fit(X, Y)
        MKLClassifier([Linear()], dtype="float32", **options).fit(Z, Y)


@pytest.mark.parametrize("approximation", [NystroemFeatures(5), NystroemFeatures(64)], ids=["landmarks", "exact"])
def test_polynomials_that_have_lost_their_signal_are_warned_of(approximation):
    """Terms of degree 3 are 1e-36 of k(x, x): float64 has lost them."""
    with pytest.warns(UserWarning, match=r"'polynomial', and of its terms of degree 3 nothing.*StandardScaler"):
        map_of(Polynomial(degree=3), Z + 1e6, approximation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        map_of(Polynomial(degree=3), Z + 10.0, approximation)
        map_of(Gaussian(), Z + 1e6, approximation)
        map_of(Linear(), Z + 1e6, approximation)
        map_of(Linear(), np.full((50, 2), 1e6), approximation)  # samples that are all the same have nothing to lose


def test_spreads_beside_a_large_mean():
    """Around a sample they have eps of their own size, and not of the squared mean."""
    shares, X = np.full(len(Z), 1.0 / len(Z)), Z + 1e7
    found = moments_of(
        as_views(X), shares, 3, lambda views: (views.read(np.arange(3), "x")[0], np.ones(views.n_samples))
    )
    assert found.spread == pytest.approx(Z.var(axis=0).sum(), rel=1e-7)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-14)
