"""Kernels of pairs of objects."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from kernelweave import MKLClassifier, stack_views
from kernelweave.kernels import Function, Gaussian, Linear, Pairwise, Precomputed, Spectrum

rng = np.random.default_rng(0)
A = rng.normal(size=(10, 3))
B = rng.normal(size=(10, 3))
X = stack_views({"bait": A, "prey": B})
SWAPPED = stack_views({"bait": B, "prey": A})


def formula(k, first, second):
    return k(first, first) * k(second, second) + k(first, second) * k(second, first)


def test_formula():
    kernel = Pairwise(Linear(), first="bait", second="prey").fit(X[:6])
    new = A[6:] @ A[:6].T * (B[6:] @ B[:6].T) + A[6:] @ B[:6].T * (B[6:] @ A[:6].T)
    np.testing.assert_allclose(kernel.cross(X[6:], X[:6]), new)
    np.testing.assert_allclose(kernel.gram(X), formula(lambda P, Q: P @ Q.T, A, B))


def test_order_within_a_pair_does_not_matter():
    kernel = Pairwise(Gaussian(), first="bait", second="prey").fit(X)
    np.testing.assert_allclose(kernel.gram(SWAPPED), kernel.gram(X), rtol=1e-10)
    np.testing.assert_allclose(kernel.cross(SWAPPED[:4], X), kernel.cross(X[:4], X), rtol=1e-10)
    assert Pairwise(Gaussian(), first="prey", second="bait").fit(X).kernel_.scale_ == pytest.approx(
        kernel.kernel_.scale_
    )


def test_objects_of_both_places_are_fitted_together():
    scale = Gaussian().fit(np.vstack([A, B])).scale_
    kernel = Pairwise(Gaussian(), first="bait", second="prey")
    assert kernel.fit(X).kernel_.scale_ == pytest.approx(scale)
    assert not hasattr(kernel.kernel, "scale_")


def test_both_orders_of_combination():
    def linear(P, Q):
        return P[:, :1] @ Q[:, :1].T

    def quadratic(P, Q):
        return (P[:, 1:] @ Q[:, 1:].T) ** 2

    first, second = Function(lambda P, Q: linear(P, Q)), Function(lambda P, Q: quadratic(P, Q))
    sum_of_pairs = Pairwise(first, first="bait", second="prey") + Pairwise(second, first="bait", second="prey")
    pairs_of_sum = Pairwise(first + second, first="bait", second="prey")
    np.testing.assert_allclose(sum_of_pairs.fit(X).gram(X), formula(linear, A, B) + formula(quadratic, A, B))
    np.testing.assert_allclose(pairs_of_sum.fit(X).gram(X), formula(lambda P, Q: linear(P, Q) + quadratic(P, Q), A, B))


def test_views_inside_an_object_are_names_after_its_prefix_or_positions():
    strings = ["".join(rng.choice(list("ab"), size=6)) for _ in range(20)]
    frame = pd.DataFrame({"bait__seq": strings[:10], "bait__expr__0": A[:, 0], "bait__expr__1": A[:, 1], "other": 0.0})
    frame = frame.assign(prey__seq=strings[10:], prey__expr__0=B[:, 0], prey__expr__1=B[:, 1])
    named = Pairwise(Linear("expr"), first="bait", second="prey").fit(frame)
    np.testing.assert_allclose(named.gram(frame), formula(lambda P, Q: P @ Q.T, A[:, :2], B[:, :2]))
    np.testing.assert_array_equal(named.columns(), [1, 2, 5, 6])
    placed = Pairwise(Linear([1, 2]), first=["bait"], second=slice("prey__seq", "prey__expr__1")).fit(frame)
    np.testing.assert_allclose(placed.gram(frame), named.gram(frame))
    both = Pairwise(Spectrum("seq", k=2) + Linear("expr"), first="bait", second="prey").fit(frame)
    assert both.gram(frame).shape == (10, 10)
    with pytest.raises(ValueError, match="the view 'bait' matches no column of X; the views of X are: expr, seq"):
        Pairwise(Linear("bait"), first="bait", second="prey").fit(frame)


def test_ids_of_the_two_objects():
    C = rng.normal(size=(6, 4))
    K = C @ C.T
    ids = pd.DataFrame({"a": rng.integers(6, size=8), "b": rng.integers(6, size=8)})
    kernel = Pairwise(Precomputed(K), first="a", second="b")
    assert clone(kernel).kernel is kernel.kernel
    expected = formula(lambda P, Q: P @ Q.T, C[ids["a"]], C[ids["b"]])
    np.testing.assert_allclose(kernel.fit(ids).gram(ids), expected)
    np.testing.assert_allclose(kernel.diagonal(ids), np.diagonal(expected))


def test_a_pair_needs_both_objects():
    frame = X.copy()
    frame.loc[2, ["bait__0", "bait__1", "bait__2"]] = np.nan
    frame.loc[5, ["prey__0", "prey__1", "prey__2"]] = np.nan
    kernel = Pairwise(Linear(), first="bait", second="prey").fit(frame)
    np.testing.assert_array_equal(np.flatnonzero(~kernel.present(frame)), [2, 5])
    frame.loc[7, "prey__1"] = np.nan
    with pytest.raises(ValueError, match="view 'pairs' of sample 7 is NaN in some of its columns"):
        Pairwise(Linear(), first="bait", second="prey").fit(frame, label="pairs")


def test_diagonal_of_many_pairs():
    P = rng.normal(size=(100, 4))
    kernel = Pairwise(Gaussian(), first=[0, 1], second=[2, 3]).fit(P)
    np.testing.assert_allclose(kernel.diagonal(P), np.diagonal(kernel.gram(P)), rtol=1e-10)


def test_in_a_model():
    y = np.sign(np.einsum("ij,ij->i", A, B))
    kernels = [Pairwise(Linear(), first="bait", second="prey"), Pairwise(Gaussian(), first="bait", second="prey")]
    model = MKLClassifier(kernels, C=10.0).fit(X, y)
    assert model.kernel_names_ == ["pairwise-linear", "pairwise-gaussian"]
    model.set_params(**{"kernels__pairwise-gaussian__kernel__scale": 2.0}).fit(X, y)
    assert model.kernels_[1].kernel_.scale_ == 2.0
    np.testing.assert_allclose(model.decision_function(SWAPPED), model.decision_function(X))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            Pairwise(Linear(), first="bait", second="prey__0"),
            "kernel 'ppi' .Pairwise. must have equally many columns.*3.*'prey__0' has 1",
        ),
        (Pairwise(Linear(), first="cat", second="prey"), "the view 'cat' matches no column"),
        (
            Pairwise(np.dot, first="bait", second="prey"),
            "kernel of the kernel 'ppi' .Pairwise. must be a kernel of single objects",
        ),
        (Pairwise(Gaussian(scale=-1.0), first="bait", second="prey"), "scale of the kernel 'ppi'"),
        (Pairwise(Linear([5]), first="bait", second="prey"), "names columns that X .3. does not have"),
    ],
)
def test_bad_parameters_are_named(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.fit(X, label="ppi")


def test_objects_need_the_same_columns():
    frame = pd.DataFrame(np.ones((3, 4)), columns=["a__x", "a__y", "b__y", "b__x"])
    with pytest.raises(ValueError, match="'ppi' .Pairwise. must have the same columns in the same order, but 'a' has"):
        Pairwise(Linear(), first="a", second="b").fit(frame, label="ppi")
