import numpy as np
import pandas as pd
import pytest

from kernelweave.views import Views

NAMES = ["fac__0", "fac__1", "facade__0", "id", "mor__0"]
X = pd.DataFrame(np.arange(10.0).reshape(2, 5), columns=NAMES)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("fac", [0, 1]),
        ("id", [3]),
        (None, [0, 1, 2, 3, 4]),
        ([0, 2], [0, 2]),
        ([-1], [4]),
        (3, [3]),
        (["mor", "fac"], [4, 0, 1]),
        (["fac__1", "id"], [1, 3]),
        (["fac", 3], [0, 1, 3]),
        (np.array(["id"]), [3]),
        (["fac", "fac__1"], [0, 1]),
        (pd.Index(["id", "mor__0"]), [3, 4]),
        (slice(1, 3), [1, 2]),
        (slice("fac__1", "id"), [1, 2, 3]),
        (slice(None, "fac"), [0, 1]),
        ([True, False, False, False, True], [0, 4]),
        (np.array([1, 2]), [1, 2]),
        (lambda frame: [c for c in frame.columns if c.startswith("m")], [4]),
        (lambda frame: slice(0, 2), [0, 1]),
    ],
)
def test_selector_means_columns(selector, expected):
    np.testing.assert_array_equal(Views(X).columns(selector), expected)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("nothing", "'nothing' matches no column.*fac, facade, id, mor"),
        ([], "selects no column"),
        (slice(2, 2), "selects no column"),
        ([0, 7], "columns that X .5. does not have"),
        ([True, False], "mask has 2 entries"),
        ([0.5], "is not a name"),
        ({"a": 1}, "is not a name"),
        (["fac", 3.5], "is not a name"),
        ([None, "fac"], "is not a name"),
        ([False] * 5, "selects no column"),
    ],
)
def test_bad_selector_is_named(selector, message):
    with pytest.raises(ValueError, match=message):
        Views(X).columns(selector)


def test_names_need_column_names():
    with pytest.raises(ValueError, match="'fac' is a name, but X has no column names"):
        Views(X.to_numpy()).columns("fac")


def test_inside_a_list_a_column_goes_before_a_view_of_its_name():
    views = Views(X.set_axis(["fac", "fac__1", "facade__0", "id", "mor__0"], axis=1))
    np.testing.assert_array_equal(views.columns("fac"), [0, 1])
    np.testing.assert_array_equal(views.columns(["fac", "id"]), [0, 3])
    np.testing.assert_array_equal(views.columns(lambda frame: list(frame.columns)), [0, 1, 2, 3, 4])
