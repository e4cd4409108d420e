import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression

from kernelweave.datasets import gauss_posterior, make_gauss, make_local_projection_toy


@pytest.mark.parametrize(("n_components", "positive"), [(2, 0.5), (3, 0.5), (4, 0.5), (5, 0.5)])
def test_gauss_classes_and_bayes_rule(n_components, positive):
    X, y = make_gauss(n_components, 40000, random_state=0)
    assert set(y) == {-1, 1}
    assert (y > 0).mean() == pytest.approx(positive, abs=0.01)
    posterior = gauss_posterior(X, n_components)
    # A posterior is calibrated: among samples where it is about p, a share p is positive.
    for low in np.arange(0.05, 0.95, 0.1):
        inside = (posterior >= low) & (posterior < low + 0.1)
        assert (y[inside] > 0).mean() == pytest.approx(posterior[inside].mean(), abs=0.06)


def test_bayes_accuracy_of_gauss4():
    X, y = make_gauss(4, 200000, random_state=1)
    accuracy = ((gauss_posterior(X, 4) > 0.5) == (y > 0)).mean()
    assert accuracy == pytest.approx(0.897, abs=0.003)


def test_gauss4_density_by_hand():
    x = np.array([[0.3, -0.4]])

    def density(mean, variance):
        return multivariate_normal(mean, np.diag(variance)).pdf(x[0])

    positive = density([-3, 1], [0.8, 2.0]) + density([1, 1], [0.8, 2.0])
    negative = density([-1, -2.2], [0.8, 4.0]) + density([3, -2.2], [0.8, 4.0])
    assert gauss_posterior(x, 4)[0] == pytest.approx(positive / (positive + negative))


def test_posterior_far_away_is_finite():
    assert np.isfinite(gauss_posterior([[1e6, -1e6]], 5)).all()


def test_gauss_is_reproducible_and_checks_its_number():
    np.testing.assert_array_equal(make_gauss(3, 50, random_state=1)[0], make_gauss(3, 50, random_state=1)[0])
    with pytest.raises(ValueError, match="n_components must be a whole number from 2 to"):
        make_gauss(6)


def test_local_projection_toy_needs_two_projections():
    X, y, region = make_local_projection_toy(400, random_state=0)
    assert LogisticRegression().fit(X, y).score(X, y) < 0.7
    for part in (0, 1):
        inside = region == part
        assert LogisticRegression().fit(X[inside], y[inside]).score(X[inside], y[inside]) > 0.95
        assert np.bincount(y[inside] > 0).tolist() == [100, 100]
