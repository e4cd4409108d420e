import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from drawing import plt
from kernelweave.display import ResponseSurfaceDisplay
from kernelweave.model_selection import ResponseSurfaceSearchCV


class Bowl(BaseEstimator):
    """Responses (log10 a - 0.4)^2 + 2 (log10 b + 0.2)^2 + (log10 c - 0.3)^2."""

    def __init__(self, a=1.0, b=1.0, c=1.0):
        self.a = a
        self.b = b
        self.c = c

    def fit(self, X, y=None):
        return self

    def score(self, X, y=None):
        a, b, c = np.log10([self.a, self.b, self.c])
        return -((a - 0.4) ** 2) - 2.0 * (b + 0.2) ** 2 - (c - 0.3) ** 2


@pytest.fixture
def search():
    return ResponseSurfaceSearchCV(Bowl(), ["a", "b", "c"], cv=2, refit=False).fit(np.zeros((10, 1)))


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def labels(ax):
    return {text.get_text() for text in ax.get_legend().get_texts()}


def test_the_surface_goes_through_the_best_point_of_the_other_factors(search):
    display = ResponseSurfaceDisplay.from_estimator(search, ["b", "a"], grid_resolution=5)
    assert display.factors == ("b", "a") and display.response.shape == (5, 5)
    other = np.log10(search.best_params_["c"])
    point = [display.first[3], display.second[1]]
    expected = search.surface_.predict([[point[1], point[0], other]])[0]
    assert display.response[1, 3] == pytest.approx(expected)
    assert display.best == pytest.approx((np.log10(search.best_params_["b"]), np.log10(search.best_params_["a"])))


def test_what_is_drawn(search):
    figure, ax = plt.subplots()
    display = ResponseSurfaceDisplay.from_estimator(search, ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    assert ax.get_xlabel().endswith("a") and ax.get_ylabel().endswith("b")
    assert labels(ax) == {"design", "centre", "path", "best"}
    circles, centre, star = (entry.get_offsets() for entry in ax.collections[-3:])
    assert len(circles) == 9 and len(display.design) == 10 and len(display.path) == len(search.path_)
    np.testing.assert_array_equal(centre, [[0.0, 0.0]])
    np.testing.assert_allclose(star, [[0.4, -0.2]], atol=1e-4)
    assert figure.axes[1].get_ylabel() == "fitted response"


def test_a_measured_grid_is_shaded_and_the_surface_drawn_as_lines(search):
    first, second = np.linspace(-1, 1, 4), np.linspace(-1, 1, 3)
    display = ResponseSurfaceDisplay.from_estimator(
        search, measured=(first, second, np.add.outer(second, first)), contour_kw={"levels": [-2, 0, 2]}
    )
    assert display.figure_.axes[1].get_ylabel() == "measured response"
    assert "fitted surface" in labels(display.ax_)
    again = display.plot()
    assert again is display and again.figure_.axes[0] is again.ax_


def test_a_search_that_ends_at_its_design_has_no_path():
    search = ResponseSurfaceSearchCV(Bowl(), ["a", "b"], cv=2, refit=False, scoring=lambda model, X, y=None: 0.0).fit(
        np.zeros((10, 1))
    )
    assert labels(ResponseSurfaceDisplay.from_estimator(search).ax_) == {"design", "centre", "best"}


@pytest.mark.parametrize("factors", [["a"], ["a", "a"], ["a", "d"], ["a", "b", "c"]])
def test_factors_must_be_two_of_the_search(search, factors):
    with pytest.raises(ValueError, match="two of the factors"):
        ResponseSurfaceDisplay.from_estimator(search, factors)


def test_one_factor_and_no_fit_are_errors():
    search = ResponseSurfaceSearchCV(Bowl(), ["a"], cv=2, refit=False)
    with pytest.raises(NotFittedError):
        ResponseSurfaceDisplay.from_estimator(search)
    with pytest.raises(ValueError, match="two of the factors"):
        ResponseSurfaceDisplay.from_estimator(search.fit(np.zeros((10, 1))))
