import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave.views import Views, as_views


def read(X, columns=(0, 1), **options):
    return Views(X).read(np.array(columns), "v", **options)


def test_adjacent_columns_of_an_array_are_not_copied():
    X = np.arange(12.0).reshape(4, 3)
    values, present = read(X, (1, 2))
    assert np.shares_memory(values, X)
    assert present.all()
    np.testing.assert_array_equal(read(X, (2, 0))[0], X[:, [2, 0]])


def test_views_are_read_once():
    views = Views(pd.DataFrame({"a": [1, 2], "b": [3, 4]}))
    assert views.read(np.array([0, 1]), "v")[0] is views.read(np.array([0, 1]), "v")[0]
    assert as_views(views) is views


def test_wholly_missing_view_is_absent_and_zero():
    X = np.array([[1.0, 2.0, 9.0], [np.nan, np.nan, 9.0]])
    values, present = read(X)
    np.testing.assert_array_equal(present, [True, False])
    np.testing.assert_array_equal(values, [[1.0, 2.0], [0.0, 0.0]])
    assert np.isnan(X[1, 0])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan], [1.0, 2.0]], "view 'v' of sample 0 is NaN in some"),
        ([[1.0, 2.0], [np.inf, 2.0]], "view 'v' contains infinity .sample 1"),
        ([[np.nan, np.inf], [1.0, 2.0]], "infinity"),
        (np.array([["a", "b"], ["c", "d"]], dtype=object), "view 'v' holds values that are not numbers"),
        (np.array([["1", "2"], ["3", "4"]], dtype=object), "not numbers"),
        ([[1 + 2j, 1], [0, 1]], "not numbers"),
    ],
)
def test_bad_values_name_the_view(X, message):
    with pytest.raises(ValueError, match=message):
        read(np.asarray(X))


def test_object_columns_of_numbers_are_numbers():
    values, present = read(np.array([[1, 2.5], [None, None]], dtype=object))
    assert values.dtype == np.float64
    np.testing.assert_array_equal(present, [True, False])


def test_text_is_welcome_where_asked_for():
    X = pd.DataFrame({"s": ["ab", None, "c"], "t": ["x", None, "y"]})
    values, present = read(X, text=True)
    np.testing.assert_array_equal(present, [True, False, True])
    assert values[2, 1] == "y"
    with pytest.raises(ValueError, match="sample 1 is missing"):
        read(pd.DataFrame({"s": ["ab", None], "t": ["x", "y"]}), text=True)


def test_mixed_frame_keeps_its_numbers():
    X = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["u", "v"]})
    values, present = read(X, (0,))
    np.testing.assert_array_equal(present, [True, False])


def test_huge_finite_values_are_not_mistaken_for_infinity():
    values, present = read(np.full((3, 2), 1.7e308))
    assert present.all()


def test_sparse_views():
    X = sp.random(5, 4, density=0.5, random_state=0, format="coo")
    values, present = read(X, (1, 3))
    np.testing.assert_array_equal(values.toarray(), X.toarray()[:, [1, 3]])
    assert present.all()
    bad = sp.csr_matrix(np.array([[np.nan, 0.0], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="view 'v' is sparse and contains NaN"):
        read(bad)


@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame, sp.csr_matrix])
def test_rows(wrap):
    X = np.arange(12.0).reshape(4, 3)
    part = Views(wrap(X)).rows(np.array([2, 0])).read(np.array([0, 2]), "v")[0]
    part = part.toarray() if sp.issparse(part) else part
    np.testing.assert_array_equal(part, X[[2, 0]][:, [0, 2]])


def test_one_dimensional_x_is_an_error():
    with pytest.raises(ValueError, match="two dimensions"):
        Views(np.arange(3.0))
