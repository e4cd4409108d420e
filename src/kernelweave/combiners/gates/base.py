"""Gating models: how open each kernel is for a sample, and the two models that are linear inside.

A gate turns *codes* of samples (their gating inputs, or what the gate makes of them) into scores s_im, one for each
kernel, and scores into gates by a softmax or a sigmoid. `pullback` goes the other way: from dJ/dgates to dJ/dtheta. A
sample that lacks a kernel's view has gate 0 there; gates that compete are then shared by the kernels that it has.

The combined kernel has the diagonal sum_m g_m^2 k_m(x, x). With the papers' gates, of sum 1 or each up to 1, that
depends on the gates: everything on one kernel multiplies the scale by P, sigmoids that all open by 4, and J falls by
scale alone. Gates of *unit length*, sum_m g_m^2 = 1, leave no such way:

    g = h / ||h||,    l = log h,    dJ/dl_m = g_m (t_m - g_m sum_h g_h t_h)    for t = dJ/dg

with h = exp(s / 2) for a softmax, so that g^2 is the softmax, and h = sigmoid(s), all in logarithms. Equal scores,
such as those of theta = 0, are the mean of the kernels.

Gates are computed where codes are, through the array API: theta may be NumPy's wherever codes are.

==============  =============================================================
thesis          here
==============  =============================================================
eta_m(x|V)      `Gate.values` with norm="paper", (n_samples, n_kernels)
V               theta, one vector: slopes v_m of all kernels, then biases v_m0
x^G             codes
(3.2), (3.3)    `Softmax`, `Sigmoid`
==============  =============================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

from ...arrays import place_of, precision_of
from ...validation import Choice, Constraints

LARGEST = 1e300  # scores beyond are cut, so that their differences stay finite
NORMS = ("unit", "paper")
SMALL = 0.1  # spread of the parameters at the start: nearer to 0, which may be stationary, no step promises enough


class Gate(ABC, BaseEstimator):
    """A gating model: subclasses supply scores and their pullback, and whether the kernels compete for a sample.

    Attributes
    ----------
    norm : {"unit", "paper"}
        Gates of unit length, sum_m g_m^2 = 1; or those of the papers: of sum 1 where kernels compete, else each by
        itself from 0 to 1.
    competes : bool
        Whether scores become gates by a softmax or by a sigmoid.
    learns : bool
        Whether there are parameters to learn.
    per_sample : bool
        Whether each training sample has parameters of its own, so that no sample can be held out.
    codes_pullback : callable or None
        ``codes_pullback(theta, codes, slopes)`` is dJ/dcodes from dJ/dscores; None for gates whose inputs cannot be
        projected, such as those whose codes are not the inputs themselves.
    """

    _constraints = Constraints(norm=Choice(*NORMS))
    norm: str = "unit"
    competes = True
    learns = True
    per_sample = False
    codes_pullback: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None

    def prepare(self, inputs: np.ndarray, rng: np.random.RandomState) -> None:
        """Learn what the scores need beside theta from the gating inputs of the training samples; nothing here."""

    def encode(self, inputs: np.ndarray) -> np.ndarray:
        """What scores are computed from; by default the inputs themselves."""
        return inputs

    @property
    def reads_inputs(self) -> bool:
        """Whether codes are the gating inputs as they are."""
        return type(self).encode is Gate.encode

    @abstractmethod
    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        """A first theta: small and random, so that kernels differ and restarts do too."""

    @abstractmethod
    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        """s_im, of shape (n_samples, n_kernels)."""

    @abstractmethod
    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        """dJ/dtheta from dJ/dscores."""

    def coefficients(self, theta: np.ndarray, n_kernels: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Slopes of the scores by the inputs, of shape (n_kernels, n_inputs), and biases; None if not linear."""
        return None

    def values(self, theta: Any, codes: Any, present: Any, tol: float = 0.0) -> Any:
        """The gates.

        Parameters
        ----------
        theta : ndarray
        codes : array of shape (n_samples, ...)
            NumPy's, or those of another namespace of the array API; gates are in the same place and precision.
        present : array of bool, shape (n_samples, n_kernels)
            Which sample has which kernel's view; one that has none has gates 0.
        tol : float
            Gates whose square is below are closed, that is 0. What is left open is brought to length (or sum) 1 again,
            and the largest gate of a sample always stays; but the papers' sigmoid gates are each by itself.
        """
        place = place_of(codes)
        xp, present = place.xp, place.asarray(present)
        scores = self.scores(theta, codes, present.shape[1])
        largest = min(LARGEST, float(xp.finfo(scores.dtype).max) / 8.0)
        gates = self._scaled(xp, self._openings(xp, xp.clip(scores, -largest, largest), present))
        if tol > 0.0:
            weights = gates**2
            if self._shared:
                limits = xp.max(weights, axis=1, keepdims=True)
                limits = xp.where(limits < tol, limits, xp.full_like(limits, tol))
            else:
                limits = xp.full_like(weights[:, :1], tol)
            gates = self._scaled(xp, xp.where(weights < limits, xp.zeros_like(gates), gates))
        return gates

    def pullback(self, theta: Any, codes: Any, gates: Any, slopes: Any) -> Any:
        """dJ/dtheta from dJ/dgates, both gates and slopes of shape (n_samples, n_kernels)."""
        return self.scores_pullback(theta, codes, self.score_slopes(theta, codes, gates, slopes))

    def score_slopes(self, theta: Any, codes: Any, gates: Any, slopes: Any) -> Any:
        """dJ/dscores from dJ/dgates."""
        xp = place_of(gates).xp
        if self.norm == "unit":
            by_logs = gates * (slopes - gates * xp.sum(gates * slopes, axis=1, keepdims=True))
            if self.competes:
                return 0.5 * by_logs
            return _sigmoid(xp, -self.scores(theta, codes, gates.shape[1])) * by_logs
        if self.competes:
            return gates * (slopes - xp.sum(gates * slopes, axis=1, keepdims=True))
        return gates * (1.0 - gates) * slopes

    @property
    def _shared(self) -> bool:
        """Whether a sample's gates share a length or sum of 1, so that one of them is always open."""
        return self.norm == "unit" or self.competes

    def _openings(self, xp: Any, scores: Any, present: Any) -> Any:
        """Gates up to the scale of each sample; 0 where a view is missing."""
        if not self._shared:
            return xp.where(present, _sigmoid(xp, scores), xp.zeros_like(scores))
        if not self.competes:
            scores = -xp.logaddexp(xp.zeros_like(scores), -scores)
        elif self.norm == "unit":
            scores = 0.5 * scores
        logs = xp.where(present, scores, xp.full_like(scores, -xp.inf))
        largest = xp.max(logs, axis=1, keepdims=True)
        logs -= xp.where(largest == -xp.inf, xp.zeros_like(largest), largest)
        return xp.exp(logs)

    def _scaled(self, xp: Any, gates: Any) -> Any:
        """Rows of length or sum 1; rows of zeros stay."""
        if not self._shared:
            return gates
        sizes = xp.sum(gates**2 if self.norm == "unit" else gates, axis=1, keepdims=True)
        sizes = xp.where(sizes > 0.0, sizes, xp.ones_like(sizes))
        return gates / (xp.sqrt(sizes) if self.norm == "unit" else sizes)


def _sigmoid(xp: Any, scores: Any) -> Any:
    """1 / (1 + exp(-s)), without overflow."""
    return expit(scores) if isinstance(scores, np.ndarray) else xp.exp(-xp.logaddexp(xp.zeros_like(scores), -scores))


def parameters_like(theta: Any, codes: Any) -> Any:
    """Parameters in the place of codes, and in their precision."""
    return place_of(codes).asarray(theta, precision_of(codes))


class LinearGate(Gate):
    """Scores <v_m, x^G> + v_m0: regions with flat boundaries in the gating inputs."""

    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        """Normal numbers of spread 0.1."""
        return SMALL * rng.normal(size=n_kernels * (codes.shape[1] + 1))

    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        """<v_m, x^G> + v_m0."""
        slopes, biases = self.coefficients(parameters_like(theta, codes), n_kernels)
        return (slopes @ codes.T).T + biases  # in this order BLAS takes two thirds of the time

    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        """Thesis section 3.3, with the contraction over samples and kernels done before."""
        place = place_of(codes)
        narrow = place.asarray(slopes, precision_of(codes))
        flat = place.xp.reshape(narrow.T @ codes, (-1,))
        return place.xp.concat([place.asarray(flat, precision_of(slopes)), place.xp.sum(slopes, axis=0)])

    def codes_pullback(self, theta: np.ndarray, codes: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Each sample's scores pull along the v_m."""
        n_kernels = slopes.shape[1]
        return slopes @ theta[:-n_kernels].reshape(n_kernels, -1)

    def coefficients(self, theta: Any, n_kernels: int) -> tuple[Any, Any]:
        """The slopes v_m, one row for each kernel, and the biases v_m0."""
        return place_of(theta).xp.reshape(theta[:-n_kernels], (n_kernels, -1)), theta[-n_kernels:]


class Softmax(LinearGate):
    """Softmax gating: g_m(x)^2 = exp(s_m) / sum_h exp(s_h) with scores s_m = <v_m, x^G> + v_m0.

    The kernels compete for each sample. With ``norm="paper"`` the gates themselves are the softmax, thesis (Gönen
    2010), (3.2): most end near 0 or 1, one kernel for all samples lowers J by scale alone, and only early stopping or
    the `l2` penalty prevents that. As the gating model of `Localized` it minimises the objective stated there (Gönen
    and Alpaydın 2008).

    Parameters
    ----------
    norm : {"unit", "paper"}
        Gates of length 1, sum_m g_m^2 = 1; or of sum 1, as in the papers.

    Examples
    --------
    >>> import numpy as np
    >>> theta = np.array([1000.0, -1000.0, 0.0, 0.0])  # v_1, v_2, v_10, v_20
    >>> Softmax().values(theta, np.array([[1.0], [0.0]]), np.ones((2, 2), dtype=bool)).round(3)
    array([[1.   , 0.   ],
           [0.707, 0.707]])
    >>> Softmax(norm="paper").values(theta, np.array([[1.0], [0.0]]), np.ones((2, 2), dtype=bool))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """

    def __init__(self, norm: str = "unit"):
        self.norm = norm


class Sigmoid(LinearGate):
    """Sigmoid gating: g_m(x) in proportion to 1 / (1 + exp(-s_m)) with scores s_m = <v_m, x^G> + v_m0.

    Several kernels can be wide open for one sample, where a softmax divides one unit among them. With ``norm="paper"``
    the gates are the sigmoids themselves, thesis (Gönen 2010), (3.3): each kernel is switched on and off by itself, and
    J falls until all gates are 1, so that only the `l2` penalty of `Localized`, or its `validation_fraction`, ends
    learning (Gönen and Alpaydın 2008).

    Parameters
    ----------
    norm : {"unit", "paper"}
        Gates of length 1, sum_m g_m^2 = 1; or each from 0 to 1, as in the papers.

    Examples
    --------
    >>> import numpy as np
    >>> theta = np.array([1000.0, -1000.0, 0.0, 0.0])
    >>> Sigmoid().values(theta, np.array([[1.0], [0.0]]), np.ones((2, 2), dtype=bool)).round(3)
    array([[1.   , 0.   ],
           [0.707, 0.707]])
    >>> Sigmoid(norm="paper").values(theta, np.array([[1.0], [0.0]]), np.ones((2, 2), dtype=bool))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """

    competes = False

    def __init__(self, norm: str = "unit"):
        self.norm = norm
