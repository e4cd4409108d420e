"""The kernel of a distance: by name, by function, and looked up by id."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import pairwise_distances

from kernelweave import MKLClassifier
from kernelweave.kernels import Distance, Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 4))
Y = rng.normal(size=(5, 4))
D = pairwise_distances(X, metric="cityblock")
IDS = np.arange(12)[:, None]


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "chebyshev", "correlation", "l2"])
def test_formula(metric):
    kernel = Distance(metric, scale=1.5).fit(X)
    distances = pairwise_distances(Y, X, metric=metric)
    np.testing.assert_allclose(kernel.cross(Y, X), np.exp(-(distances**2) / 1.5**2))


def test_euclidean_is_gaussian():
    np.testing.assert_allclose(Distance().fit(X).gram(X), Gaussian().fit(X).gram(X), rtol=1e-12)
    assert Distance("l2").positive_semidefinite and not Distance("l1").positive_semidefinite


def test_of_equal_samples_gives_ones():
    np.testing.assert_array_equal(Distance("cityblock").fit(np.ones((3, 2))).gram(np.ones((3, 2))), np.ones((3, 3)))
    np.testing.assert_array_equal(Distance(np.zeros((3, 3))).fit([[0], [2]]).gram([[0], [2]]), np.ones((2, 2)))


def test_text_with_missing_samples():
    words = np.array([["ab"], ["abc"], [None], ["x"]], dtype=object)
    kernel = Distance(lambda a, b: abs(len(a[0]) - len(b[0])), scale=1.0).fit(words)
    np.testing.assert_array_equal(kernel.present(words), [True, True, False, True])
    np.testing.assert_allclose(kernel.gram(words)[0, [1, 3]], np.exp([-1, -1]))


def test_sparse_samples():
    np.testing.assert_allclose(
        Distance("cosine").fit(sp.csr_matrix(X)).gram(sp.csr_matrix(X)), Distance("cosine").fit(X).gram(X), atol=1e-12
    )


class TestMatrix:
    def test_looks_samples_up_by_id(self):
        kernel = Distance(D, scale=3.0).fit(IDS[:5])
        np.testing.assert_allclose(kernel.cross(IDS[[7, 2]], IDS[:5]), np.exp(-(D[[7, 2], :5] ** 2) / 9))
        np.testing.assert_array_equal(kernel.diagonal(IDS[3:]), np.ones(9))

    def test_clones_share_the_matrix_and_keep_their_own_scale(self):
        kernel = Distance(D, scale=3.0)
        assert np.shares_memory(clone(kernel).metric.K, D)
        assert clone(kernel).set_params(scale=1.0).scale != kernel.scale
        assert np.shares_memory(kernel.fit(IDS).lookup_.K, D)

    def test_set_params_checks_a_new_matrix(self):
        assert Distance().set_params(metric=D).reads_ids
        with pytest.raises(ValueError, match="symmetric"):
            Distance().set_params(metric=np.triu(D))

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda kernel: pickle.loads(pickle.dumps(kernel))])
    def test_copies_work(self, copied):
        kernel = copied(Distance(D).fit(IDS))
        np.testing.assert_array_equal(kernel.gram(IDS), Distance(D).fit(IDS).gram(IDS))

    def test_extend_adds_samples_to_predict(self):
        more = Distance(D[:8, :8], scale=2.0).extend(D[8:10, :8]).extend(D[10:, :8]).fit(IDS[:8])
        np.testing.assert_allclose(more.cross(IDS[[9, 1, 11]], IDS[:8]), np.exp(-(D[[9, 1, 11], :8] ** 2) / 4))
        np.testing.assert_array_equal(more.diagonal(IDS[8:]), np.ones(4))
        with pytest.raises(ValueError, match="distance matrix 'distance' was extended.*not trained on"):
            more.fit(IDS)
        with pytest.raises(ValueError, match="no similarities to the samples added by extend"):
            more.cross(IDS[:1], IDS[8:9])

    def test_a_model_predicts_new_ids_as_if_it_had_known_them(self):
        y = np.tile([0, 1], 4)
        kernel = Distance(D[:8, :8])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            small = MKLClassifier([("d", kernel)]).fit(IDS[:8], y)
            whole = MKLClassifier([("d", Distance(D))]).fit(IDS[:8], y)
        small.replace_kernel("d", kernel.extend(D[8:, :8]))
        np.testing.assert_allclose(small.decision_function(IDS[8:]), whole.decision_function(IDS[8:]))
        with pytest.raises(ValueError, match="other values among the training samples"):
            small.replace_kernel("d", Distance(2 * D[:8, :8]))
        with pytest.raises(ValueError, match="can replace another of its kind, but 'd' is"):
            small.replace_kernel("d", Distance())

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (np.zeros((2, 3)), "rows of extend must be of shape .n_new, 12., not .2, 3."),
            (np.full((1, 12), -1.0), "rows of extend holds a negative distance .-1."),
            (np.full((1, 12), np.nan), "extend got rows .* NaN"),
        ],
    )
    def test_extend_checks_its_input(self, rows, message):
        with pytest.raises(ValueError, match=message):
            Distance(D).extend(rows)

    def test_only_a_matrix_can_be_extended(self):
        with pytest.raises(ValueError, match="only a Distance of a matrix can be extended.*'euclidean'"):
            Distance().extend(np.zeros((1, 3)))

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            (np.zeros((2, 3)), "distance matrix of view 'dna' must be a square matrix, not of shape .2, 3."),
            (None, "square"),
            (np.triu(D), "distance matrix of view 'dna' must be symmetric, but differs"),
            (np.full((2, 2), np.nan), "contains NaN"),
            (-D, "has negative entries .*Use Precomputed"),
            (D + 1.0, "must be 0 on the diagonal.*Use Precomputed"),
            ("precomputed", "pass the matrix of distances itself"),
        ],
    )
    def test_bad_matrix(self, matrix, message):
        with pytest.raises(ValueError, match=message):
            Distance(matrix, view="dna")

    @pytest.mark.parametrize(
        ("ids", "message"),
        [
            ([[0.5], [1]], "ids of the distance matrix 'distance' must be whole numbers from 0 to 11, but one is 0.5"),
            ([[0], [12]], "one is 12"),
            ([[0, 1], [1, 2]], "distance matrix 'distance' needs one column of ids, but its view has 2"),
        ],
    )
    def test_bad_ids(self, ids, message):
        with pytest.raises(ValueError, match=message):
            Distance(D).fit(np.array(ids, dtype=float))
        if "column" not in message:
            with pytest.raises(ValueError, match=message):
                Distance(D).fit(IDS).diagonal(np.array(ids, dtype=float))

    def test_ids_are_not_sparse(self):
        with pytest.raises(ValueError, match="'distance' .Distance. does not take sparse"):
            Distance(D).fit(sp.csr_matrix([[0.0], [1.0]]))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Distance("euklid", scale=1.0), "metric 'euklid' of the kernel 'shape' fails"),
        (Distance(lambda a, b: -1.0, scale=1.0), "of the kernel 'shape' gives negative or NaN"),
        (Distance(lambda a, b: np.nan), "of the kernel 'shape' gives negative or NaN"),
        (Distance(lambda a, b: "far"), "of the kernel 'shape' fails"),
        (Distance(scale=0.0), "scale of the kernel 'shape' must be a positive finite number"),
        (Distance("cityblock", scale="wide"), "scale of the kernel 'shape'"),
    ],
)
def test_bad_parameters_are_named_at_fit(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.fit(X, label="shape")


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_metrics_with_constants_learn_them_from_the_training_samples(metric):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 3)) * [1.0, 5.0, 0.1], rng.normal(size=(4, 3))
    kernel = Distance(metric, scale=2.0).fit(A)
    options = {"V": A.var(axis=0, ddof=1)} if metric == "seuclidean" else {"VI": np.linalg.inv(np.cov(A.T))}
    np.testing.assert_allclose(kernel.cross(B, A), np.exp(-(cdist(B, A, metric, **options) ** 2) / 4))
    np.testing.assert_allclose(kernel.cross(B[:1], A), kernel.cross(B, A)[:1])
