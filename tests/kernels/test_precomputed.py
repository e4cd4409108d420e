import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from kernelweave import MKLClassifier
from kernelweave.combiners import KernelMap, Localized
from kernelweave.kernels import Distance, Linear, Precomputed
from kernelweave.model_selection import ResponseSurfaceSearchCV
from kernelweave.reduction import KernelFisher

rng = np.random.default_rng(0)
A = rng.normal(size=(8, 3))
K = A @ A.T


def test_looks_samples_up_by_id():
    ids = np.array([[3], [1], [7]])
    kernel = Precomputed(K).fit(ids)
    np.testing.assert_array_equal(kernel.gram(ids), K[np.ix_([3, 1, 7], [3, 1, 7])])
    np.testing.assert_array_equal(kernel.cross([[0], [2]], ids), K[np.ix_([0, 2], [3, 1, 7])])
    np.testing.assert_array_equal(kernel.diagonal(ids), np.diagonal(K)[[3, 1, 7]])


def test_clone_and_fit_share_the_matrix():
    kernel = Precomputed(K)
    assert clone(kernel) is kernel
    bound = kernel.fit([[0], [1]])
    assert np.shares_memory(bound.K, K)
    assert not hasattr(kernel, "columns_")


def test_is_immutable():
    kernel = Precomputed(K)
    with pytest.raises(ValueError, match="read-only"):
        kernel.K[0, 0] = 5
    with pytest.raises(AttributeError, match="cannot be changed"):
        kernel.set_params(view="id")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda kernel: pickle.loads(pickle.dumps(kernel))])
def test_copies_work(copied):
    kernel = copied(Precomputed(K).extend(K[:2] + 1, [1.0, 2.0]).fit([[0], [1]]))
    np.testing.assert_array_equal(kernel.cross([[9]], [[4]]), K[1:2, 4:5] + 1)


def test_extend_adds_samples_to_predict():
    rows, diagonal = rng.normal(size=(2, 8)), np.array([5.0, 6.0])
    more = Precomputed(K).extend(rows[:1], diagonal[:1]).extend(rows[1:], diagonal[1:]).fit([[0], [1]])
    np.testing.assert_array_equal(more.cross([[9], [2], [8]], [[4], [5]]), [rows[1, 4:6], K[2, 4:6], rows[0, 4:6]])
    np.testing.assert_array_equal(more.diagonal([[8], [9]]), diagonal)
    with pytest.raises(ValueError, match="cannot be trained on|can be predicted but not trained on"):
        more.fit([[0], [8]])
    with pytest.raises(ValueError, match="no similarities to the samples added by extend"):
        more.cross([[0]], [[8]])


@pytest.mark.parametrize(
    ("rows", "diagonal"),
    [
        (np.zeros((2, 7)), np.zeros(2)),
        (np.zeros((2, 8)), np.zeros(3)),
        (np.full((1, 8), np.nan), np.zeros(1)),
    ],
)
def test_extend_checks_its_input(rows, diagonal):
    with pytest.raises(ValueError, match="extend"):
        Precomputed(K).extend(rows, diagonal)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([[0.5], [1]], "whole numbers from 0 to 7, but one is 0.5; did a scaler touch"),
        ([[-1], [1]], "one is -1"),
        ([[0], [8]], "one is 8"),
        ([[0, 1], [1, 2]], "needs one column of ids, but its view has 2"),
    ],
)
def test_bad_ids(ids, message):
    with pytest.raises(ValueError, match=message):
        Precomputed(K).fit(np.array(ids, dtype=float))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), "view 'dna' must be a square matrix, not of shape .2, 3."),
        (np.zeros(3), "square"),
        ([[1.0, 2.0], [0.0, 1.0]], "must be symmetric, but differs from the transpose by up to 2"),
        ([[1.0, np.nan], [np.nan, 1.0]], "contains NaN or infinity"),
        ([[np.inf, 0.0], [0.0, 1.0]], "contains NaN or infinity"),
        (np.array([[2, 1j], [-1j, 2]]), "must be a dense array of real numbers"),
        (sp.eye(3), "must be a dense array of real numbers"),
    ],
)
def test_bad_matrix_names_the_view(matrix, message):
    with pytest.raises(ValueError, match=message):
        Precomputed(matrix, view="dna")


def test_asymmetry_far_from_the_first_block_is_found():
    large = np.eye(1100)
    large[1090, 3] = 0.1
    with pytest.raises(ValueError, match="symmetric"):
        Precomputed(large)


def test_missing_id_is_a_missing_view_and_parts_combine():
    X = np.array([[0, 1.0], [np.nan, 2.0], [3, 4.0]])
    kernel = (Precomputed(K, view=[0]) + Linear([1])).fit(X)
    np.testing.assert_array_equal(kernel.present(X), [True, False, True])
    np.testing.assert_allclose(kernel.gram(X)[0, 2], K[0, 3] + 4.0)


def test_keeps_float32_without_a_copy():
    small = K.astype(np.float32)
    assert np.shares_memory(Precomputed(small).K, small)
    assert "8 x 8 matrix" in repr(Precomputed(small, view="id"))


def test_some_columns_are_enough_to_compare_with_some_samples():
    kernel = Precomputed(K).extend(K[:1] + 1, [1.0])
    few = kernel.with_columns([5, 2, 5])
    assert few.K.shape == (8, 2) and few.columns_kept.tolist() == [2, 5]
    bound = few.fit([[5], [2]])
    new, known = np.arange(9)[:, None], [[5], [2], [5]]
    np.testing.assert_array_equal(bound.cross(new, known), kernel.fit([[0]]).cross(new, known))
    np.testing.assert_array_equal(bound.diagonal(new), kernel.fit([[0]]).diagonal(new))
    assert few.with_columns([2, 5]) is few and few.with_columns([5]).K.shape == (8, 1)
    with pytest.raises(ValueError, match="id 3 is none of them; to fit again, give the whole matrix"):
        few.fit([[2], [3]])
    with pytest.raises(ValueError, match="id 0 is none of them"):
        bound.cross([[5]], [[0]])


def test_rounding_of_single_precision_is_no_asymmetry():
    F = np.random.default_rng(1).normal(size=(200, 6)).astype(np.float32)
    gram = F @ F.T
    scale = np.sqrt(np.diagonal(gram))
    K = gram / scale[:, None] / scale[None, :]
    assert np.abs(K - K.T).max() > 1e-8 * np.abs(K).max()  # more than double precision would be allowed
    assert np.shares_memory(Precomputed(K).K, K)


def test_no_repr_prints_the_matrix():
    K = np.outer(np.arange(1, 6), np.arange(1, 6)) * 0.123456 + np.eye(5) * 7.654321
    kernels = [Precomputed(K), Precomputed(K).extend(K[:1], [1.0]), Distance(1.0 - np.eye(5)) + Precomputed(K)]
    shown = []
    for kernel in kernels:
        model = MKLClassifier([("ids", kernel), Precomputed(K, "id")])
        search = GridSearchCV(model, {"kernels__ids": [kernel, Precomputed(K)]})
        shown += [kernel, model, make_pipeline(model), search, ResponseSurfaceSearchCV(model, ["C"])]
        shown += [KernelFisher(kernel), Localized(inputs=KernelMap(kernel))]
    fitted = MKLClassifier([Precomputed(K)]).fit(np.arange(5)[:, None], [0, 1, 0, 1, 0])
    shown += [fitted, fitted.kernels_, {"kernel": kernels[0]}]
    for each in shown:
        text = repr(each) + (each._repr_html_() if hasattr(each, "_repr_html_") else "")
        assert "<5 x 5 matrix>" in text
        assert "7.77" not in text and "array(" not in text
    assert repr(kernels[0]) == "Precomputed(K=<5 x 5 matrix>)"
    np.testing.assert_array_equal(kernels[0].get_params()["K"], K)
    assert np.shares_memory(kernels[0].get_params()["K"], K)
