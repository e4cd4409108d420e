"""Widths of kernels: the rules, and that they depend on nothing that they should not."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelweave import MKLClassifier
from kernelweave.kernels import ChiSquared, Distance, Gaussian, Laplacian, Pairwise, distances

rng = np.random.default_rng(0)
X = rng.gamma(2.0, size=(12, 4))
RULES = ["scale", "nearest", "median"]
LOOKED_UP = pairwise_distances(X, metric="cityblock")
KERNELS = {
    "gaussian": (Gaussian, "euclidean"),
    "laplacian": (Laplacian, "cityblock"),
    "chi-squared": (ChiSquared, None),  # no metric of scikit-learn's
    "euclidean": (Distance, "euclidean"),
    "cosine": (lambda **options: Distance("cosine", **options), "cosine"),
    "function": (lambda **options: Distance(lambda a, b: np.abs(a - b).max(), **options), "chebyshev"),
}


def off_diagonal(distances):
    return distances[~np.eye(len(distances), dtype=bool)]


@pytest.mark.parametrize("name", KERNELS)
class TestEveryKernel:
    def test_rules(self, name):
        make, metric = KERNELS[name]
        A = rng.gamma(2.0, size=(600, 5)) if name != "function" else X  # more than one block of rows
        distances = pairwise_distances(A, metric=metric) if metric else -additive_chi2_kernel(A)
        pairs = off_diagonal(distances)
        widths = {
            "nearest": (distances + np.diag(np.full(len(A), np.inf))).min(axis=1).mean(),
            "median": np.median(pairs),
            "scale": pairs.mean() if name in ("laplacian", "chi-squared") else np.sqrt((distances**2).mean() / 2),
        }
        for rule, width in widths.items():
            assert make(scale=rule).fit(A).scale_ == pytest.approx(width, rel=1e-9)
        assert make().fit(A).scale_ == make(scale="scale").fit(A).scale_

    @pytest.mark.parametrize("rule", RULES)
    def test_repeating_samples_equals_weighting_them(self, name, rule):
        kernel, weight = KERNELS[name][0](scale=rule), rng.integers(1, 4, size=len(X))
        weighted = kernel.fit(X, weight.astype(float)).scale_
        assert weighted == pytest.approx(kernel.fit(np.repeat(X, weight, axis=0)).scale_, rel=1e-9)
        assert weighted == pytest.approx(kernel.fit(X, 0.1 * weight).scale_, rel=1e-9)
        assert kernel.fit(X).scale_ == pytest.approx(kernel.fit(np.vstack([X, X])).scale_, rel=1e-9)

    @pytest.mark.parametrize("rule", RULES)
    def test_of_samples_that_coincide_is_one(self, name, rule):
        same = np.full((7, 3), 0.1)
        kernel = KERNELS[name][0](scale=rule).fit(same, rng.random(7))
        assert kernel.scale_ == 1.0
        np.testing.assert_allclose(kernel.gram(same), np.ones((7, 7)))

    @pytest.mark.parametrize("rule", RULES)
    def test_samples_without_the_view_take_no_part(self, name, rule):
        holes, kernel = X.copy(), KERNELS[name][0](scale=rule)
        holes[3] = np.nan
        assert kernel.fit(holes).scale_ == kernel.fit(np.delete(X, 3, axis=0)).scale_

    @pytest.mark.parametrize("scale", [0, -1.0, np.inf, np.nan, "wide", True, [1.0]])
    def test_other_values_are_refused(self, name, scale):
        message = r"scale of the kernel .\w+. must be a positive finite number, .scale., .nearest., .median. or None"
        with pytest.raises(ValueError, match=message):
            KERNELS[name][0](scale=scale).fit(X)


def test_default_is_that_of_svc_on_standardised_columns():
    A = rng.normal(size=(150, 5)) @ np.diag([1.0, 10.0, 0.1, 3.0, 0.0])  # the last column is constant
    A, y = StandardScaler().fit_transform(A), (rng.random(150) < 0.5).astype(int)
    ours = MKLClassifier([Gaussian()], C=2.0, tol=1e-8).fit(A, y)
    theirs = SVC(C=2.0, gamma="scale", tol=1e-8).fit(A, y)
    assert 1.0 / ours.kernels_[0].scale_ ** 2 == pytest.approx(theirs._gamma, rel=1e-12)
    np.testing.assert_allclose(ours.decision_function(A), theirs.decision_function(A), atol=1e-5)


@pytest.mark.parametrize("as_matrix", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("factor", [1.0, 1e-170, 1e200])
@pytest.mark.parametrize("rule", RULES)
def test_gaussian_takes_huge_and_tiny_values(as_matrix, factor, rule):
    plain, scaled = as_matrix(X), as_matrix(X * factor)
    kernel, other = Gaussian(scale=rule).fit(plain), Gaussian(scale=rule).fit(scaled)
    assert other.scale_ == pytest.approx(factor * kernel.scale_, rel=1e-12)
    np.testing.assert_allclose(other.gram(scaled), kernel.gram(plain), rtol=1e-12)
    np.testing.assert_allclose(
        Distance("cityblock").fit(X * factor).gram(X * factor), Distance("cityblock").fit(X).gram(X)
    )


@pytest.mark.parametrize("as_matrix", [np.asarray, sp.csr_matrix])
def test_default_does_not_see_shifts(as_matrix):
    shift = np.array([1e6, -1e8, 0.0, 1e3])
    weight = rng.random(12)
    assert Gaussian().fit(as_matrix(X + shift), weight).scale_ == pytest.approx(
        Gaussian().fit(X, weight).scale_, rel=1e-7
    )
    np.testing.assert_allclose(Gaussian().fit(X + 1e6).gram(X + 1e6), Gaussian().fit(X).gram(X), atol=1e-6)


@pytest.mark.parametrize("as_matrix", [np.asarray, sp.csr_matrix])
def test_rounding_in_a_constant_column_is_no_variance(as_matrix):
    A = np.tile([0.3, 1e12], (50, 1))
    A[::2, 0] = 0.1 + 0.2  # not quite 0.3
    assert Gaussian().fit(as_matrix(A), rng.random(50)).scale_ == 1.0
    A = np.column_stack([A, np.arange(50) / 1e3])
    assert Gaussian().fit(as_matrix(A)).scale_ == pytest.approx(np.std(A[:, 2]), rel=1e-9)


def test_default_of_sparse_views():
    dense = np.where(rng.random((40, 30)) < 0.8, 0.0, rng.normal(size=(40, 30)))
    weight = rng.random(40)
    mean = weight @ dense / weight.sum()
    variance = (weight @ (dense - mean) ** 2 / weight.sum()).sum()
    sparse = sp.csr_matrix(dense)
    assert Gaussian().fit(sparse, weight).scale_ ** 2 == pytest.approx(variance, rel=1e-12)
    twice = sp.csr_matrix(
        (np.r_[dense[0], 1.0], np.r_[np.arange(30), 3], [0, 31]), shape=(1, 30)
    )  # entry 3 in two parts
    dense[0, 3] += 1.0
    assert Gaussian().fit(sp.vstack([twice, sparse[1:]]).tocsr()).scale_ == pytest.approx(Gaussian().fit(dense).scale_)


def test_of_looked_up_distances():
    ids = np.arange(12)[:, None]
    for rule in RULES:
        looked_up, computed = Distance(LOOKED_UP, scale=rule), Distance("cityblock", scale=rule)
        assert looked_up.fit(ids).scale_ == pytest.approx(computed.fit(X).scale_, rel=1e-12)


def test_of_pairs_is_that_of_both_objects():
    kernel = Pairwise(Gaussian(), first=[0, 1], second=[2, 3]).fit(X)
    assert kernel.kernel_.scale_ == pytest.approx(Gaussian().fit(np.vstack([X[:, :2], X[:, 2:]])).scale_)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["gaussian", "laplacian", "chi-squared", "cosine"])
@pytest.mark.parametrize("shape", ["gamma", "clusters", "skewed"])
def test_a_part_of_many_samples(name, rule, shape, monkeypatch):
    """Some of the pairs give the width of all of them; which ones depends on nothing but the number of samples."""
    many = np.random.default_rng(1)
    A = many.gamma(2.0, size=(2500, 5))
    if shape == "clusters":
        A[:800] += 30.0
    elif shape == "skewed":
        A = np.exp(A / 3.0)
    every = KERNELS[name][0](scale=rule).fit(A).scale_
    for constant, number in (("MOST_SAMPLES", 2000), ("_CHOSEN_ROWS", 1200), ("_CHOSEN_COLUMNS", 1200)):
        monkeypatch.setattr(distances, constant, number)
    some = KERNELS[name][0](scale=rule).fit(A).scale_
    assert some == pytest.approx(every, rel=0.05 if rule == "nearest" else 0.02)
    assert some != every or (name == "gaussian" and rule == "scale")  # which takes no pairs
    np.random.random_sample(10)  # noqa: NPY002 - the state of NumPy's own generator changes nothing
    assert KERNELS[name][0](scale=rule).fit(A).scale_ == some
