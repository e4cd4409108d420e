"""`Calibration`: from decision values to probabilities, by few constants.

Two classes: Platt's sigmoid, Pr(second class) = 1 / (1 + exp(-(slope f + intercept))), with his targets
(n_+ + 1) / (n_+ + 2) and 1 / (n_- + 2) in place of 1 and 0 (Platt 1999, Probabilistic outputs for support vector
machines). More classes: the softmax of slope times the decision values, a temperature of 1 / slope, so that the largest
probability is always that of the largest decision value.

Platt's sigmoid need not be 1/2 at the decision value 0, where the label changes. From there to where it is 1/2,
probabilities are held just beyond 1/2, so that the more probable class is always the one that is predicted.

Constants minimise the log loss of decision values of samples that the model was not fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

# Slope times the spread of decision values: probabilities are nearly 1/2 or the share of a class, or 0 and 1.
_FLATTEST, _STEEPEST = 1e-3, 1e3
_SAME, _SMALLEST = 1e-9, 1e-150  # spread relative to the size of decision values, and size, that count as none
_HELD = 1e-3  # share of the slope between 0 and where the sigmoid is 1/2
_LEAST = 4.0 * float(np.finfo(float).eps)  # of log-odds, so that a lead within rounding is one of probabilities, too


@dataclass(frozen=True, eq=False)
class Calibration:
    """Constants that turn decision values into probabilities.

    Attributes
    ----------
    slope : ndarray of shape (1,)
        Positive.
    intercept : ndarray of shape (1,)
        Of two classes; 0 for more.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.recipes.calibration import Calibration
    >>> values, labels = np.array([-2.0, -1.0, -0.5, 0.4, 1.0, 3.0]), np.array([0, 0, 1, 0, 1, 1])
    >>> calibration = Calibration.fit(values, labels)
    >>> calibration.probabilities(np.array([-3.0, 0.0, 3.0])).round(2)
    array([[0.85, 0.15],
           [0.51, 0.49],
           [0.17, 0.83]])
    """

    slope: np.ndarray
    intercept: np.ndarray

    @classmethod
    def fit(cls, values: np.ndarray, labels: np.ndarray) -> Calibration:
        """The constants of least log loss.

        Parameters
        ----------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values of samples that the model was not fitted to.
        labels : ndarray of int, shape (n_samples,)
        """
        size = float(np.abs(values).max())
        size = size if size > _SMALLEST else 1.0
        values = values / size
        middle = float(values.mean()) if values.ndim == 1 else values.mean(axis=1, keepdims=True)
        values = values - middle
        spread = float(values.std())
        if spread <= _SAME:  # all samples have one decision value, up to rounding
            values, spread = np.zeros_like(values), 1.0
        if values.ndim > 1:
            return cls(np.array([_temperature(values / spread, labels) / spread / size]), np.zeros(1))
        slope, intercept = _sigmoid(values / spread, labels)
        return cls(np.array([slope / spread / size]), np.array([intercept - slope * middle / spread]))

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Probabilities of all classes, of shape (n_samples, n_classes).

        Parameters
        ----------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        if values.ndim == 1:
            scores, held = self.slope[0] * values + self.intercept[0], _HELD * self.slope[0] * np.abs(values)
            held = np.maximum(held, _LEAST)
            scores = np.where(values > 0, np.maximum(scores, held), np.minimum(scores, -held))
            return np.column_stack([expit(-scores), expit(scores)])
        scores = self.slope[0] * values
        scores = scores - scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        odds[np.arange(len(values)), values.argmax(axis=1)] = 1.0 + _LEAST
        return odds / odds.sum(axis=1, keepdims=True)


def _sigmoid(values: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Slope, positive, and intercept of Platt's sigmoid."""
    positive = int((labels == 1).sum())
    negative = len(labels) - positive
    target = np.where(labels == 1, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        scores = theta[0] * values + theta[1]
        residual = expit(scores) - target
        total = np.logaddexp(0.0, scores) - target * scores
        return float(total.mean()), np.array([(residual * values).mean(), residual.mean()])

    start = np.array([1.0, np.log((positive + 1.0) / (negative + 1.0))])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(_FLATTEST, _STEEPEST), (None, None)])
    return float(found.x[0]), float(found.x[1])


def _temperature(values: np.ndarray, labels: np.ndarray) -> float:
    """The slope of the softmax, positive.

    Labels are smoothed, as Platt's targets are: all classes share 1 / (n + 2) of each. Otherwise the slope would grow
    without limit where all decisions are right.
    """
    n_samples = len(values)
    weight = 1.0 / (n_samples + 2.0)
    own = values[np.arange(n_samples), labels]
    mean = values.mean(axis=1)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        scores = theta[0] * values
        log_sum = logsumexp(scores, axis=1)
        expected = (np.exp(scores - log_sum[:, None]) * values).sum(axis=1)
        target = (1.0 - weight) * own + weight * mean
        return float((log_sum - theta[0] * target).mean()), np.array([(expected - target).mean()])

    found = minimize(loss, np.array([1.0]), jac=True, method="L-BFGS-B", bounds=[(_FLATTEST, _STEEPEST)])
    return float(found.x[0])
