"""Gating models: the weight (gate) of each kernel for each sample, thesis section 3.1.

A gate turns *codes* of samples (their gating inputs, or what the gate makes of them) into scores s_im, one for each
kernel, and scores into gates by a softmax or a sigmoid. `pullback` goes the other way: from dJ/dgates to dJ/dtheta. A
sample that lacks a kernel's view has gate 0 there; gates that compete are then shared by the kernels that it has.

The combined kernel has the diagonal sum_m g_m^2 k_m(x, x). With the papers' gates, of sum 1 or each up to 1, that
depends on the gates: everything on one kernel multiplies the scale by P, sigmoids that all open by 4, and J falls by
scale alone. Gates of *unit length*, sum_m g_m^2 = 1, leave no such way:

    g = h / ||h||,    l = log h,    dJ/dl_m = g_m (t_m - g_m sum_h g_h t_h)    for t = dJ/dg

with h = exp(s / 2) for a softmax, so that g^2 is the softmax, and h = sigmoid(s), all in logarithms. Equal scores,
such as those of theta = 0, are the mean of the kernels.

Gates are computed through the array API, on the device of the codes; theta may be a NumPy array all the same.

==================  ==========================================================================
thesis              here
==================  ==========================================================================
eta_m(x|V)          `Gate.values` with norm="paper", (n_samples, n_kernels)
V                   theta, one vector: slopes v_m of all kernels, then biases v_m0
x^G                 codes
(3.2), (3.3)        `Softmax`, `Sigmoid`
(3.4)               `GaussianGate`; theta has the means mu_m and then log(sigma_m)
eta_{c_i}^m (3.5.5) a row of theta for the cluster c_i of a sample, `ClusterGate`
eta_i^m (3.5.5)     a row of theta for the training sample i, `InstanceGate`
==================  ==========================================================================

Gates of a region (3.5.5) are written as a softmax, too. Yang et al. (2010) give new samples equal weights, so that
training and prediction use two different kernels; here they take those of the nearest training sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

from ..arrays import place_of, precision_of
from ..solvers.tiles import open_gates, score_slopes
from ..validation import Choice, Constraints, Whole, check_parameters
from ..validation.schemas import Schema, numbers, one_of, optional

LARGEST = 1e300  # scores beyond are cut, so that their differences stay finite
NORMS = ("unit", "paper")
MANY_INPUTS = 100
SMALL = 0.1  # spread of the parameters at the start: nearer to 0, which may be stationary, no step promises enough


class Gate(ABC, BaseEstimator):
    """A gating model: subclasses supply scores and their pullback, and whether the kernels compete for a sample.

    Attributes
    ----------
    norm : {"unit", "paper"}
        Gates of unit length, sum_m g_m^2 = 1; or the papers': of sum 1 where kernels compete, else each from 0 to 1.
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

    _saved = Schema({"norm": optional(one_of(*NORMS))})

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

    def _n_parameters(self, n_inputs: int, n_kernels: int) -> int:
        """The number of parameters for these inputs, before `encode`."""
        return n_kernels * (n_inputs + 1)


def _sigmoid(xp: Any, scores: Any) -> Any:
    return expit(scores) if isinstance(scores, np.ndarray) else xp.exp(-xp.logaddexp(xp.zeros_like(scores), -scores))


def parameters_like(theta: Any, codes: Any) -> Any:
    return place_of(codes).asarray(theta, precision_of(codes))


def _by_samples(codes: Any) -> bool:
    # the order in which BLAS takes less time: half of it for many inputs in double precision, two thirds for others
    return codes.shape[1] >= MANY_INPUTS and codes.dtype == place_of(codes).xp.float64


class LinearGate(Gate):
    """Scores <v_m, x^G> + v_m0: regions with flat boundaries in the gating inputs."""

    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        return SMALL * rng.normal(size=n_kernels * (codes.shape[1] + 1))

    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        slopes, biases = self.coefficients(parameters_like(theta, codes), n_kernels)
        return (codes @ slopes.T if _by_samples(codes) else (slopes @ codes.T).T) + biases

    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        """Thesis section 3.3, with the contraction over samples and kernels done before."""
        place = place_of(codes)
        narrow = place.asarray(slopes, precision_of(codes))
        flat = place.xp.reshape((codes.T @ narrow).T if _by_samples(codes) else narrow.T @ codes, (-1,))
        return place.xp.concat([place.asarray(flat, precision_of(slopes)), place.xp.sum(slopes, axis=0)])

    def codes_pullback(self, theta: np.ndarray, codes: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """dJ/dcodes from dJ/dscores: sum_m dJ/ds_im v_m for sample i."""
        n_kernels = slopes.shape[1]
        return slopes @ theta[:-n_kernels].reshape(n_kernels, -1)

    def coefficients(self, theta: Any, n_kernels: int) -> tuple[Any, Any]:
        return place_of(theta).xp.reshape(theta[:-n_kernels], (n_kernels, -1)), theta[-n_kernels:]


class Softmax(LinearGate):
    """Softmax gating: g_m(x)^2 = exp(s_m) / sum_h exp(s_h) with scores s_m = <v_m, x^G> + v_m0.

    The kernels compete for each sample. With ``norm="paper"`` the gates themselves are the softmax, thesis (Gönen
    2010), (3.2): most end near 0 or 1, one kernel for all samples lowers J by scale alone, and only early stopping or
    the `l2` penalty prevents that. It minimises the objective of `Localized` (Gönen and Alpaydın 2008).

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
    """

    competes = False

    def __init__(self, norm: str = "unit"):
        self.norm = norm


class EvenGate(Gate):
    """Every kernel alike: eta_m = 1 / sqrt(n_kernels), so that the gated sum is the mean of the kernels.

    A sample that lacks views spreads their weight over those it has, as `Mean` does. There is nothing to learn.
    """

    learns = False

    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        return np.empty(0)

    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        return place_of(codes).zeros((codes.shape[0], n_kernels), precision_of(codes))

    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        return place_of(slopes).zeros(0, precision_of(slopes))

    def values(self, theta: Any, codes: Any, present: Any, tol: float = 0.0) -> Any:
        place = place_of(codes)
        there = place.asarray(place.asarray(present), precision_of(codes))
        count = place.xp.sum(there, axis=1, keepdims=True)
        return there / place.xp.sqrt(place.xp.where(count > 0.0, count, place.xp.ones_like(count)))

    def _n_parameters(self, n_inputs: int, n_kernels: int) -> int:
        return 0


LARGEST_LOG = {"float64": 100.0, "float32": 15.0}  # of a spread, either way: its square must not overflow


class GaussianGate(Gate):
    """Gaussian gating: a softmax of the scores s_m = -||x^G - mu_m||^2 / sigma_m^2.

    The kernels compete for each sample by how near it is to their centres. Parameters are the means mu_m and the
    logarithms of the spreads sigma_m; the `l2` penalty of `Localized` counts both (a spread of 1 costs nothing). It
    minimises the objective of `Localized` (Gönen and Alpaydın 2008; thesis (Gönen 2010), (3.4), 3.3).

    Parameters
    ----------
    norm : {"unit", "paper"}
        Gates of length 1, sum_m g_m^2 = 1; or of sum 1, as in the papers.

    Examples
    --------
    >>> import numpy as np
    >>> theta = np.array([0.0, 1.0, 0.0, 0.0])  # mu_1, mu_2, log sigma_1, log sigma_2
    >>> GaussianGate("paper").values(theta, np.array([[0.5], [1.0]]), np.ones((2, 2), dtype=bool)).round(3)
    array([[0.5  , 0.5  ],
           [0.269, 0.731]])
    """

    def __init__(self, norm: str = "unit"):
        self.norm = norm

    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        """Means near the mean of standardised inputs, spreads near 1."""
        return SMALL * rng.normal(size=n_kernels * (codes.shape[1] + 1))

    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        means, precisions, _ = self._parts(parameters_like(theta, codes), n_kernels)
        return -self._distances(codes, means) * precisions

    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        """Thesis section 3.3; d/dlog(sigma) = sigma d/dsigma."""
        place = place_of(codes)
        xp, slopes = place.xp, place.asarray(slopes, precision_of(codes))
        means, precisions, free = self._parts(parameters_like(theta, codes), slopes.shape[1])
        weighted = 2.0 * slopes * precisions
        by_means = weighted.T @ codes - xp.sum(weighted, axis=0)[:, None] * means
        by_spreads = xp.sum(weighted * self._distances(codes, means), axis=0) * place.asarray(free, precision_of(codes))
        return xp.concat([xp.reshape(by_means, (-1,)), by_spreads])

    def codes_pullback(self, theta: np.ndarray, codes: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Samples are pulled towards the means of kernels that should be more open for them."""
        means, precisions, _ = self._parts(theta, slopes.shape[1])
        weighted = 2.0 * slopes * precisions
        return weighted @ means - weighted.sum(axis=1)[:, None] * codes

    def _parts(self, theta: Any, n_kernels: int) -> tuple[Any, Any, Any]:
        """Means, 1 / sigma^2, and which spreads are not at their limit."""
        xp, limit = place_of(theta).xp, LARGEST_LOG[precision_of(theta)]
        logs = theta[-n_kernels:]
        precisions = xp.exp(-2.0 * xp.clip(logs, -limit, limit))
        return xp.reshape(theta[:-n_kernels], (n_kernels, -1)), precisions, xp.abs(logs) < limit

    def _distances(self, codes: Any, means: Any) -> Any:
        xp = place_of(codes).xp
        squares = xp.sum(codes**2, axis=1)[:, None] + xp.sum(means**2, axis=1)
        return xp.clip(squares - 2.0 * codes @ means.T, 0.0, None)


class RegionGate(Gate):
    """Scores from a table with a row for each centre; a sample reads the row of its nearest centre."""

    centers_: np.ndarray

    _saved = Schema({"centers_": numbers("centers", "inputs")})

    def encode(self, inputs: np.ndarray) -> np.ndarray:
        from sklearn.metrics import pairwise_distances_argmin

        return pairwise_distances_argmin(inputs, self.centers_)

    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        return SMALL * rng.normal(size=len(self.centers_) * n_kernels)

    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        place = place_of(codes)
        return place.xp.take(place.xp.reshape(place.asarray(theta), (-1, n_kernels)), codes, axis=0)

    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        place = place_of(codes)
        if place.is_host:
            columns = [np.bincount(codes, column, len(self.centers_)) for column in slopes.T]
            return np.stack(columns, axis=1).ravel()
        regions = place.asarray(np.arange(len(self.centers_), dtype=np.int64))
        members = place.asarray(regions[:, None] == place.xp.astype(codes, regions.dtype), precision_of(slopes))
        return place.xp.reshape(members @ slopes, (-1,))

    def _n_parameters(self, n_inputs: int, n_kernels: int) -> int:
        return n_kernels * len(self.centers_)


class ClusterGate(RegionGate):
    """Weights for each cluster of samples, eta_m(x) = eta_{c(x)}^m (Yang et al. 2009; thesis (Gönen 2010), 3.5.5).

    The training samples are clustered by k-means on the gating inputs beforehand, then the weights of each cluster
    minimise the objective of `Localized`. The `l2` penalty counts the logarithms of the weights (up to a constant).
    Reference: J. Yang, Y. Li, Y. Tian, L. Duan, W. Gao, Group-sensitive multiple kernel learning for object
    categorization, ICCV 2009.

    Parameters
    ----------
    n_clusters : int
        At most as many are made as there are different samples.
    norm : {"unit", "paper"}
        Gates of length 1, sum_m g_m^2 = 1; or of sum 1, as in the papers.

    Attributes
    ----------
    centers_ : ndarray of shape (n_clusters, n_inputs)

    Examples
    --------
    >>> import numpy as np
    >>> gate = ClusterGate(n_clusters=2)
    >>> gate.prepare(np.array([[0.0], [0.1], [5.0], [5.1]]), np.random.RandomState(0))
    >>> len(set(gate.encode(np.array([[0.2], [4.0]]))))
    2
    """

    _constraints = Constraints(n_clusters=Whole(1))

    def __init__(self, n_clusters: int = 5, norm: str = "unit"):
        self.n_clusters = n_clusters
        self.norm = norm

    def prepare(self, inputs: np.ndarray, rng: np.random.RandomState) -> None:
        from sklearn.cluster import KMeans

        count = min(check_parameters(self).n_clusters, len(np.unique(inputs, axis=0)))
        self.centers_ = KMeans(count, n_init=3, random_state=rng).fit(inputs).cluster_centers_


class InstanceGate(RegionGate):
    """Weights of its own for each training sample, eta_m(x_i) = eta_i^m (Yang et al. 2010).

    The weights minimise the objective of `Localized`; only the `l2` penalty, which counts the logarithms of the weights
    (up to a constant), keeps n_samples * n_kernels parameters from fitting every sample. Samples with the same gating
    inputs share their weights. A new sample takes the weights of the nearest training sample: thesis (Gönen 2010),
    3.5.5. Reference: J. Yang, Y. Li, Y. Tian, L. Duan, W. Gao, Per-sample multiple kernel approach for visual concept
    learning, EURASIP Journal on Image and Video Processing, 2010.

    Parameters
    ----------
    norm : {"unit", "paper"}
        Gates of length 1, sum_m g_m^2 = 1; or of sum 1, as in the papers.

    Attributes
    ----------
    centers_ : ndarray of shape (n_samples, n_inputs)
        The gating inputs of all training samples, which prediction needs.

    Examples
    --------
    >>> import numpy as np
    >>> gate = InstanceGate()
    >>> gate.prepare(np.array([[0.0], [1.0], [5.0]]), np.random.RandomState(0))
    >>> gate.encode(np.array([[0.9]]))
    array([1])
    """

    per_sample = True

    def __init__(self, norm: str = "unit"):
        self.norm = norm

    def prepare(self, inputs: np.ndarray, rng: np.random.RandomState) -> None:
        self.centers_ = inputs


class GateFunction:
    """Gates as amplitudes: a_m(x) = eta_m(x|V)."""

    def __init__(
        self,
        gate: Gate,
        active: np.ndarray,
        n_parameters: int = 0,
        *,
        fixed: np.ndarray | None = None,
        tol: float = 0.0,
    ):
        self.gate, self.active, self.fixed, self.tol = gate, active, fixed, tol
        self.n_parameters = n_parameters if fixed is None else 0

    def values(self, theta: np.ndarray, block: Any, rows: slice) -> np.ndarray:
        codes = block.codes[rows]
        place = place_of(codes)
        present: Any = place.asarray(self.active)
        if block.present is not None:
            present = present & block.present[rows]
        else:
            present = place.xp.broadcast_to(present, (codes.shape[0], len(self.active)))
        theta = theta if self.fixed is None else self.fixed
        if self.tol == 0.0 and is_compiled(self.gate, codes):
            return compiled_gates(self.gate, theta, codes, present)
        return self.gate.values(theta, codes, present, self.tol)

    def pullback(
        self, theta: np.ndarray, block: Any, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        codes = block.codes[rows]
        if is_compiled(self.gate, codes):
            return compiled_pullback(self.gate, theta, codes, amplitudes, slopes)
        return self.gate.pullback(theta, codes, amplitudes, slopes)

    def by_kernel(self, amplitudes: Any) -> Any:
        return amplitudes

    @property
    def linear_kind(self) -> str | None:
        """Softmax or sigmoid, and its norm, where gates are linear and none is closed; for programs of a device."""
        if type(self.gate) not in (Softmax, Sigmoid) or self.tol > 0.0 or not self.active.all():
            return None
        return f"{'softmax' if self.gate.competes else 'sigmoid'}-{self.gate.norm}"


def is_compiled(gate: Gate, codes: Any) -> bool:
    """Whether compiled code serves the gates: they are of the plain form, with codes in memory."""
    return type(gate) in (Softmax, Sigmoid) and isinstance(codes, np.ndarray) and codes.dtype.kind == "f"


def compiled_gates(gate: Gate, theta: np.ndarray, codes: np.ndarray, present: np.ndarray) -> np.ndarray:
    scores, biases = _scores(theta, codes, present.shape[1])
    found = np.empty(present.shape)
    open_gates(scores, biases, np.ascontiguousarray(present), gate.competes, gate.norm == "unit", found)
    return found


def compiled_pullback(
    gate: Gate, theta: np.ndarray, codes: np.ndarray, gates: np.ndarray, slopes: np.ndarray
) -> np.ndarray:
    unit, found = gate.norm == "unit", np.empty(gates.shape, dtype=codes.dtype)
    scores, biases = found, theta[-gates.shape[1] :]
    if unit and not gate.competes:
        scores, biases = _scores(theta, codes, gates.shape[1])
    score_slopes(gates, slopes, scores, biases, gate.competes, unit, found)
    return np.concatenate([(found.T @ codes).ravel(), found.sum(axis=0, dtype=np.float64)])


def _scores(theta: np.ndarray, codes: np.ndarray, n_kernels: int) -> tuple[np.ndarray, np.ndarray]:
    slopes = theta[:-n_kernels].reshape(n_kernels, -1).astype(codes.dtype)
    return np.ascontiguousarray((slopes @ codes.T).T), theta[-n_kernels:]
