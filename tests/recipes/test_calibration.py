"""Probabilities from decision values."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.calibration import _SigmoidCalibration

from kernelweave.recipes.search import Calibration


def test_two_classes_as_scikit_learn_fits_platts_sigmoid():
    rng = np.random.default_rng(0)
    values = rng.normal(size=300) * 3.0
    labels = (rng.random(300) < expit(0.8 * values + 0.5)).astype(int)
    rival = _SigmoidCalibration().fit(values, labels)
    found = Calibration.fit(values, labels)
    np.testing.assert_allclose([found.slope[0], found.intercept[0]], [-rival.a_, -rival.b_], rtol=1e-3)
    probabilities = found.probabilities(values)[:, 1]
    free = values * (values + found.intercept[0] / found.slope[0]) > 0
    np.testing.assert_allclose(probabilities[free], rival.predict(values[free]), rtol=1e-3)
    assert 0 < (~free).sum() < 100


def test_several_classes_have_the_temperature_of_least_loss():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200, 4))
    labels = np.array([rng.choice(4, p=np.exp(row)) for row in log_softmax(2.5 * values, axis=1)])
    slope = Calibration.fit(values, labels).slope[0]
    target = np.full((200, 4), 1 / 202 / 4)
    target[np.arange(200), labels] += 1 - 1 / 202

    def loss(theta):
        return -(target * log_softmax(theta[0] * values, axis=1)).sum()

    best = minimize(loss, [1.0], method="Nelder-Mead", options={"xatol": 1e-8}).x[0]
    assert slope == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_of_decision_values_does_not_matter(scale):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 100)
    values = labels + rng.normal(size=100)
    first, second = Calibration.fit(values, labels), Calibration.fit(scale * values, labels)
    np.testing.assert_allclose(first.probabilities(values), second.probabilities(scale * values), atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_most_probable_class_is_the_predicted_one(n_classes):
    rng = np.random.default_rng(3)
    for offset in (-2.0, 0.0, 2.0):
        values = rng.normal(size=(80, n_classes)) + offset
        labels = values.argmax(axis=1) if offset else rng.integers(0, n_classes, 80)
        values = values[:, 1] if n_classes == 2 else values
        probabilities = Calibration.fit(values, labels).probabilities(values)
        expected = (values > 0).astype(int) if n_classes == 2 else values.argmax(axis=1)
        np.testing.assert_array_equal(probabilities.argmax(axis=1), expected)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_more_certain_decisions_are_more_probable():
    values, labels = np.array([-3.0, -1.0, 0.2, 1.0, 2.0, 2.5]), np.array([0, 0, 0, 0, 1, 1])
    grid = np.linspace(-5, 5, 1001)
    found = Calibration.fit(values, labels).probabilities(grid)[:, 1]
    assert (np.diff(found) > 0).all()


def test_perfect_and_useless_decisions():
    labels = np.repeat([0, 1, 2], 10)
    perfect = Calibration.fit(np.eye(3)[labels], labels).probabilities(np.eye(3))
    assert (np.diag(perfect) > 0.9).all() and (np.diag(perfect) < 1.0).all()
    useless = Calibration.fit(np.zeros(30), labels % 2).probabilities(np.zeros(2))
    np.testing.assert_allclose(useless, [[2 / 3, 1 / 3]] * 2, atol=0.01)
    backwards = Calibration.fit(-(2.0 * (labels > 0) - 1.0), (labels > 0).astype(int))
    assert backwards.slope[0] > 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("size", [1e-310, 1.1, 1e4, 1e200])
def test_equal_decision_values_give_the_shares_of_the_classes_whatever_their_rounding(size, several):
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 5 == 0
    values = -size * (1.0 + 1e-16 * rng.integers(-3, 4, 30))
    values = np.column_stack([values, values, values]) if several else values
    found = Calibration.fit(values, labels.astype(int)).probabilities(values)
    assert np.allclose(found, 1 / 3 if several else [25 / 32 + 1e-3, 7 / 32], atol=0.02)
    assert np.ptp(found, axis=0).max() < 1e-6
