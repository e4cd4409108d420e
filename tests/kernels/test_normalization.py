import numpy as np
import pytest

from kernelweave.kernels import Normalizer

rng = np.random.default_rng(0)
A = rng.normal(size=(10, 4))
B = rng.normal(size=(3, 4))
ALL = np.ones(10, dtype=bool)
EVERY = np.arange(10)


def normalised(method, weight=None, present=ALL):
    normalizer = Normalizer(method, "k")
    weight = np.ones(10) if weight is None else weight
    gram = normalizer.gram(A @ A.T, present, weight)
    cross = normalizer.cross(B @ A.T, (B * B).sum(axis=1), np.ones(3, dtype=bool), EVERY)
    return gram, cross


def test_unit_diagonal_is_the_cosine():
    gram, cross = normalised("unit-diagonal")
    unit, new = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    np.testing.assert_allclose(gram, unit @ unit.T)
    np.testing.assert_allclose(cross, new @ unit.T)
    assert (np.diagonal(gram) == 1).all()


def test_unit_trace():
    gram, cross = normalised("unit-trace")
    assert np.diagonal(gram).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(cross, B @ A.T / np.diagonal(A @ A.T).mean())
    weight = rng.integers(1, 4, size=10).astype(float)
    assert weight @ np.diagonal(normalised("unit-trace", weight)[0]) == pytest.approx(weight.sum())


def test_unit_trace_takes_huge_diagonals():
    K = np.diag(np.linspace(0.5e308, 1.5e308, 10))
    assert np.diagonal(Normalizer("unit-trace", "k").gram(K, np.ones(10, bool), np.ones(10))).mean() == pytest.approx(1)


def test_center_subtracts_the_training_mean():
    gram, cross = normalised("center")
    mean = A.mean(axis=0)
    np.testing.assert_allclose(gram, (A - mean) @ (A - mean).T, atol=1e-12)
    np.testing.assert_allclose(cross, (B - mean) @ (A - mean).T, atol=1e-12)


def test_none_changes_nothing():
    gram, cross = normalised(None)
    np.testing.assert_array_equal(gram, A @ A.T)
    np.testing.assert_array_equal(cross, B @ A.T)


@pytest.mark.parametrize("method", ["unit-trace", "center"])
def test_weights_count_as_repetitions(method):
    weight = rng.integers(1, 4, size=10)
    many = np.repeat(A, weight, axis=0)
    repeated = Normalizer(method, "k").gram(many @ many.T, np.ones(len(many), dtype=bool), np.ones(len(many)))
    first = np.cumsum(weight) - weight
    np.testing.assert_allclose(normalised(method, weight.astype(float))[0], repeated[np.ix_(first, first)], atol=1e-12)


@pytest.mark.parametrize("method", ["unit-diagonal", "unit-trace", "center", None])
def test_absent_samples_are_zero_and_take_no_part(method):
    present = np.arange(10) != 4
    gram, cross = normalised(method, present=present)
    assert not gram[4].any() and not gram[:, 4].any() and not cross[:, 4].any()
    others = np.flatnonzero(present)
    alone = Normalizer(method, "k").gram(A[others] @ A[others].T, np.ones(9, dtype=bool), np.ones(9))
    np.testing.assert_allclose(gram[np.ix_(others, others)], alone, atol=1e-12)


def test_zero_row_stays_zero_with_one_warning():
    K = np.diag([0.0, 4.0, 0.0])
    normalizer = Normalizer("unit-diagonal", "shape")
    with pytest.warns(UserWarning, match="kernel 'shape' is zero for 2 sample") as record:
        gram = normalizer.gram(K, np.ones(3, dtype=bool), np.ones(3))
    assert len(record) == 1
    np.testing.assert_array_equal(gram, np.diag([0.0, 1.0, 0.0]))
    cross = normalizer.cross(np.array([[0.0, 0.0, 0.0]]), np.array([0.0]), np.array([True]), np.arange(3))
    np.testing.assert_array_equal(cross, np.zeros((1, 3)))


def test_zero_kernel_has_no_trace_to_scale():
    gram = Normalizer("unit-trace", "k").gram(np.zeros((2, 2)), np.ones(2, dtype=bool), np.ones(2))
    np.testing.assert_array_equal(gram, np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("method", "message"), [("unit-diagonal", "negative diagonal"), ("unit-trace", "negative trace")]
)
def test_negative_diagonal_names_the_kernel(method, message):
    with pytest.raises(ValueError, match=f"kernel 'shape' has a {message}"):
        Normalizer(method, "shape").gram(-np.eye(2), np.ones(2, dtype=bool), np.ones(2))


def test_unknown_method():
    with pytest.raises(ValueError, match="normalize must be .*not 'cosine'"):
        Normalizer("cosine", "k")


def test_unit_trace_leaves_a_unit_diagonal_as_it_is():
    K = np.exp(-((A[:, :1] - A[:, 0]) ** 2))
    np.testing.assert_allclose(Normalizer("unit-trace", "k").gram(K.copy(), np.ones(10, bool), rng.random(10)), K)
