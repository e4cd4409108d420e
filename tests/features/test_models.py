"""Models on explicit features of all kinds: agreement with exact ones, landmarks by id, and warnings."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

from kernelweave import MKLClassifier, MKLRegressor, load, save
from kernelweave.combiners import Mean
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.kernels import Distance, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Spectrum

rng = np.random.default_rng(0)
n = 150
A = rng.normal(size=(n, 4))
Y = (A[:, 0] * A[:, 1] > 0).astype(int)
LABELS = [f"s{row}" for row in range(n)]
SIMILARITY = pd.DataFrame(Gaussian().fit(A).gram(A), LABELS, LABELS)
DISTANCES = pd.DataFrame(np.linalg.norm(A[:, None] - A, axis=2), LABELS, LABELS)


def exact_and_explicit(kernels, approximation, X=A, **options):
    settings = {"tol": 1e-9, **options}
    exact = MKLClassifier(kernels, Mean(), machine="squared-hinge", **settings).fit(X, Y)
    return exact, MKLClassifier(kernels, Mean(), approximation=approximation, dtype="float64", **settings).fit(X, Y)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
@pytest.mark.parametrize("approximation", [NystroemFeatures(n), ExactFeatures()])
def test_exact_features_give_the_exact_model(approximation, normalize):
    X = A.copy()
    X[::7, 2:] = np.nan
    kernels = [Linear([0, 1]), Polynomial([2, 3], degree=3), Linear([0]) + 1.0]
    exact, explicit = exact_and_explicit(kernels, approximation, X, normalize=normalize)
    assert explicit.objective_ == pytest.approx(exact.objective_, rel=1e-7)
    np.testing.assert_allclose(explicit.decision_function(X), exact.decision_function(X), atol=1e-5)


def test_each_kernel_has_its_own_features():
    kernels = [("a", Gaussian([0, 1])), ("b", Laplacian([0, 1])), ("c", Linear([2, 3])), ("d", Gaussian([2, 3]))]
    approximation = {"a": NystroemFeatures(40), "b": FourierFeatures(50), "c": ExactFeatures(), "d": PCA(1)}
    model = MKLClassifier(kernels, Mean(), approximation=approximation, random_state=0).fit(A, Y)
    assert {name: len(coef) for name, coef in model.feature_coef_.items()} == {"a": 40, "b": 50, "c": 2, "d": 1}
    assert model.trace_shares_["b"] == pytest.approx(1.0) and model.trace_shares_["a"] > 0.95
    assert model.score(A, Y) > 0.9


def test_new_samples_of_a_matrix_are_compared_with_landmarks_only(tmp_path):
    known, new = LABELS[:120], LABELS[120:]
    kernels = [
        ("like", Precomputed(SIMILARITY.loc[known, known], "id")),
        ("far", Distance(DISTANCES.loc[known, known], "id")),
    ]
    X = pd.DataFrame({"id": known}, index=known)
    model = MKLClassifier(kernels, Mean(), approximation=NystroemFeatures(15), random_state=0).fit(X, Y[:120])
    landmarks = {
        name: [known[place] for place in found.landmarks.support.positions]
        for name, found in model.approximation_.items()
    }
    assert all(len(each) == 15 for each in landmarks.values())
    blocks = {"like": SIMILARITY.loc[new, landmarks["like"]], "far": DISTANCES.loc[new, landmarks["far"]]}
    values = model.decision_function(model.extend_kernels(blocks, diagonal=1.0))
    whole = MKLClassifier(
        [("like", Precomputed(SIMILARITY, "id")), ("far", Distance(DISTANCES, "id", scale=model.kernels_[1].scale_))],
        Mean(),
        approximation=NystroemFeatures(15),
        random_state=0,
    ).fit(X, Y[:120])
    np.testing.assert_allclose(values, whole.decision_function(pd.DataFrame({"id": new})), atol=1e-6)
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw")
    np.testing.assert_array_equal(again.decision_function(again.extend_kernels(blocks, diagonal=1.0)), values)
    assert again.kernels_[0].K.shape[1] == 15


def test_text_by_landmarks():
    words = pd.DataFrame({"text": ["".join(rng.choice(list("acgt"), 15)) for _ in range(120)]})
    y = words.text.str.count("a").to_numpy(dtype=float)
    model = MKLRegressor([Spectrum(k=2)], Mean(), approximation=NystroemFeatures(120), C=10.0).fit(words, y)
    exact = MKLRegressor([Spectrum(k=2)], Mean(), machine="squared-epsilon-insensitive", C=10.0).fit(words, y)
    assert abs(model.score(words, y) - exact.score(words, y)) < 0.01


def test_methods_draw_different_landmarks_and_seeds_repeat_them():
    found = {}
    for method in ("rpcholesky", "kmeans++", "uniform"):
        models = [
            MKLClassifier([Gaussian()], approximation=NystroemFeatures(20, method=method), random_state=3).fit(A, Y)
            for _ in range(2)
        ]
        first, second = (each.decision_function(A) for each in models)
        np.testing.assert_array_equal(first, second)
        found[method] = tuple(models[0].approximation_["gaussian"].landmarks.support.positions)
    assert len(set(found.values())) == 3


def test_a_kernel_that_is_zero_changes_nothing():
    X = np.column_stack([A, np.zeros(n)])
    kernels = [Linear([0, 1, 2]), Linear([4])]
    with pytest.warns(UserWarning, match="is zero for 150 sample"):
        exact, explicit = exact_and_explicit(kernels, NystroemFeatures(20), X)
    np.testing.assert_allclose(explicit.decision_function(X), exact.decision_function(X), atol=1e-5)


def test_errors_name_the_kernel():
    with pytest.raises(
        ValueError, match="FourierFeatures are for Gaussian and Laplacian kernels, but the kernel 'flat'"
    ):
        MKLClassifier([("flat", Linear())], approximation=FourierFeatures(10)).fit(A, Y)
    with pytest.raises(ValueError, match=r"it lacks \['round'\]; the kernels are \['flat', 'round'\]"):
        kernels = [("flat", Linear()), ("round", Gaussian())]
        MKLClassifier(kernels, approximation={"flat": ExactFeatures()}).fit(A, Y)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "approximation", [NystroemFeatures(30), FourierFeatures(30), PCA(2)], ids=["nystroem", "fourier", "pca"]
)
def test_features_that_are_computed_in_every_pass(approximation, normalize, dtype):
    X = A.copy()
    X[::7, 2:] = np.nan
    kernels = [Gaussian([0, 1]), Gaussian([2, 3])]
    options = {"approximation": approximation, "normalize": normalize, "dtype": dtype, "random_state": 0, "tol": 1e-6}
    held, again = (MKLClassifier(kernels, Mean(), storage=each, **options).fit(X, Y) for each in ("dense", "lazy"))
    assert held.storage_ == "dense" and again.storage_ == "lazy"
    assert again.objective_ == pytest.approx(held.objective_, rel=1e-4)
    np.testing.assert_allclose(again.decision_function(X), held.decision_function(X), atol=2e-2)


def test_a_clipped_similarity_computed_in_every_pass():
    bent = Precomputed(np.tanh(3.0 * A @ A.T - 1.0) + np.eye(n), repair="clip")
    ids, options = np.arange(n)[:, None], {"approximation": NystroemFeatures(40), "random_state": 0, "tol": 1e-6}
    held, again = (MKLClassifier([bent], Mean(), storage=each, **options).fit(ids, Y) for each in ("dense", "lazy"))
    assert again.objective_ == pytest.approx(held.objective_, rel=1e-4)
