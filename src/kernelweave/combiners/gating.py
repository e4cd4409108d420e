"""Gating models: the weight of each kernel as a function of the sample, and the two of them that are linear inside.

A gate turns *codes* of samples (their gating inputs, or what the gate makes of them) into scores s_im, one for each
kernel, and scores into weights in [0, 1] by a softmax or a sigmoid. `pullback` goes the other way: from dJ/dgates to
dJ/dtheta. A sample that lacks a kernel's view has gate 0 there; the softmax is then taken over what it has.

==============  =============================================================
thesis          here
==============  =============================================================
eta_m(x|V)      `Gate.values`, of shape (n_samples, n_kernels)
V               theta, one vector: slopes v_m of all kernels, then biases v_m0
x^G             codes
(3.2), (3.3)    `Softmax`, `Sigmoid`
==============  =============================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

LARGEST = 1e300  # scores beyond are cut, so that their differences stay finite
SMALL = 0.01  # spread of the parameters at the start


class Gate(ABC, BaseEstimator):
    """A gating model: subclasses supply scores and their pullback, and whether weights of a sample compete.

    Attributes
    ----------
    competes : bool
        Whether scores become weights by a softmax, which sum to 1, or each by a sigmoid of its own.
    per_sample : bool
        Whether each training sample has parameters of its own, so that no sample can be held out.
    codes_pullback : callable or None
        ``codes_pullback(theta, codes, slopes)`` is dJ/dcodes from dJ/dscores; None for gates whose inputs cannot be
        projected.
    """

    competes = True
    per_sample = False
    codes_pullback: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None

    def prepare(self, inputs: np.ndarray, rng: np.random.RandomState) -> None:
        """Learn what the scores need beside theta from the gating inputs of the training samples; nothing here."""

    def encode(self, inputs: np.ndarray) -> np.ndarray:
        """What scores are computed from; by default the inputs themselves."""
        return inputs

    @abstractmethod
    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        """A first theta: small and random, so that kernels differ and restarts do too."""

    @abstractmethod
    def scores(self, theta: np.ndarray, codes: np.ndarray, n_kernels: int) -> np.ndarray:
        """s_im, of shape (n_samples, n_kernels)."""

    @abstractmethod
    def scores_pullback(self, theta: np.ndarray, codes: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """dJ/dtheta from dJ/dscores."""

    def penalized(self, theta: np.ndarray, n_kernels: int) -> np.ndarray:
        """The part of theta that the l2 penalty counts, as a view; all of it by default."""
        return theta

    def values(self, theta: np.ndarray, codes: np.ndarray, present: np.ndarray, tol: float = 0.0) -> np.ndarray:
        """The gates.

        Parameters
        ----------
        theta : ndarray
        codes : ndarray of shape (n_samples, ...)
        present : ndarray of bool, shape (n_samples, n_kernels)
            Which sample has which kernel's view; one that has none has gates 0.
        tol : float
            Gates below are closed, that is 0. What a softmax leaves open is scaled to sum to 1 again; the largest
            gate of a sample always stays.
        """
        scores = self.scores(theta, codes, present.shape[1])
        if not self.competes:
            gates = np.where(present, expit(scores), 0.0)
            return np.where(gates < tol, 0.0, gates)
        scores = np.where(present, np.clip(scores, -LARGEST, LARGEST), -np.inf)
        scores -= np.maximum(scores.max(axis=1, keepdims=True), -LARGEST)
        gates = _of_sum_one(np.exp(scores, out=scores))
        if tol > 0.0:
            gates[gates < np.minimum(tol, gates.max(axis=1, keepdims=True))] = 0.0
            gates = _of_sum_one(gates)
        return gates

    def pullback(self, theta: np.ndarray, codes: np.ndarray, gates: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """dJ/dtheta from dJ/dgates, both gates and slopes of shape (n_samples, n_kernels)."""
        return self.scores_pullback(theta, codes, self.score_slopes(gates, slopes))

    def score_slopes(self, gates: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """dJ/dscores from dJ/dgates."""
        if self.competes:
            return gates * (slopes - (gates * slopes).sum(axis=1, keepdims=True))
        return gates * (1.0 - gates) * slopes


def _of_sum_one(gates: np.ndarray) -> np.ndarray:
    """Rows divided by their sums, in place; rows of zeros stay."""
    totals = gates.sum(axis=1, keepdims=True)
    return np.divide(gates, totals, out=gates, where=totals > 0.0)


class LinearGate(Gate):
    """Scores <v_m, x^G> + v_m0: regions with flat boundaries in the gating inputs."""

    def start(self, codes, n_kernels, rng) -> np.ndarray:
        """Normal numbers of spread 0.01."""
        return SMALL * rng.normal(size=n_kernels * (codes.shape[1] + 1))

    def scores(self, theta, codes, n_kernels) -> np.ndarray:
        """<v_m, x^G> + v_m0."""
        slopes, biases = self.coefficients(theta, n_kernels)
        return (slopes @ codes.T).T + biases  # in this order BLAS takes two thirds of the time

    def scores_pullback(self, theta, codes, slopes) -> np.ndarray:
        """Thesis section 3.3, with the contraction over samples and kernels done before."""
        return np.concatenate([(slopes.T @ codes).ravel(), slopes.sum(axis=0)])

    def codes_pullback(self, theta, codes, slopes) -> np.ndarray:
        """Each sample's scores pull along the v_m."""
        n_kernels = slopes.shape[1]
        return slopes @ theta[:-n_kernels].reshape(n_kernels, -1)

    def coefficients(self, theta: np.ndarray, n_kernels: int) -> tuple[np.ndarray, np.ndarray]:
        """The slopes v_m, one row for each kernel, and the biases v_m0."""
        return theta[:-n_kernels].reshape(n_kernels, -1), theta[-n_kernels:]

    def penalized(self, theta, n_kernels) -> np.ndarray:
        """The v_m, not the biases."""
        return theta[:-n_kernels]


class Softmax(LinearGate):
    """Softmax gating, eta_m(x) = exp(<v_m, x^G> + v_m0) / sum_h exp(<v_h, x^G> + v_h0); thesis (3.2).

    The kernels compete for each sample, most gates end near 0 or 1. As the gating model of `Localized` it minimises
    what that says (Gönen and Alpaydın 2008).

    Examples
    --------
    >>> import numpy as np
    >>> theta = np.array([1000.0, -1000.0, 0.0, 0.0])  # v_1, v_2, v_10, v_20
    >>> Softmax().values(theta, np.array([[1.0], [0.0]]), np.ones((2, 2), dtype=bool))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """


class Sigmoid(LinearGate):
    """Sigmoid gating, eta_m(x) = 1 / (1 + exp(-<v_m, x^G> - v_m0)); thesis (3.3).

    Each kernel is switched on and off by itself. J falls for ever as all gates go to 1 (there is no minimiser), so the
    `l2` penalty of `Localized`, or its `validation_fraction`, is what ends learning (Gönen and Alpaydın 2008).

    Examples
    --------
    >>> import numpy as np
    >>> theta = np.array([1000.0, -1000.0, 0.0, 0.0])
    >>> Sigmoid().values(theta, np.array([[1.0], [0.0]]), np.ones((2, 2), dtype=bool))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """

    competes = False
