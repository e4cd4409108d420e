"""Weights from how similar kernels are to the targets and to each other, thesis 2.3.

The ideal kernel of the targets is never formed: it is T = Z Z' with few columns, so that <K, T> = tr(Z'KZ). Centring
(Cortes, Mohri and Rostamizadeh, 2012) subtracts row means on the way, without a centred copy. Samples count by their
weight, <A, B> = sum_ij w_i w_j A_ij B_ij, so that a weight of 2 is a sample that stands there twice. A sample that
lacks a view has a zero row in that kernel and takes no part in its row means, so a kernel that few samples have can
only be a little similar to the targets.

==============  =============================================  =======================
thesis          here                                           name
==============  =============================================  =======================
yy'             ideal kernel T = Z Z', binary                  `IdealColumns` gives Z
<K_m, yy'>      inner product with the ideal kernel, a_m       `Similarity.to_target`
<K_m, K_h>      inner product of two kernels, G_mh             `Similarity.between`
==============  =============================================  =======================

Alignment (2.3.1), `AlignmentWeights`:

==============  ============================================================  ==========================
thesis          problem                                                       rule
==============  ============================================================  ==========================
(2.7)           eta_m = A(K_m, T) / sum_h A(K_h, T)                           ``"proportional"``
2.3.1.2, end    maximise a'eta - eta'G eta - lambda ||eta||^2, eta >= 0       ``"qp"`` (Kandola)
(2.6)           maximise a'eta, eta'G eta <= 1, eta >= 0                      ``"qcqp"`` (Lanckriet)
2.3.1.1         maximise A(K_eta, T) by its gradient, here with eta >= 0      ``"gradient"`` (Igel)
==============  ============================================================  ==========================

Scaling eta changes no alignment, so ``"qcqp"`` and ``"gradient"`` have the same solution and ``"qp"`` has it too where
lambda = 0: a'eta - eta'G eta is largest, over all multiples of eta, at (a'eta)^2 / (4 eta'G eta), which grows with the
alignment.

`IdealKernelDistance` is (2.8). `FeatureSpaceMeasure` (2.3.2; Nguyen and Ho, 2008) is FSM(K) = (s_+ + s_-) /
||m_+ - m_-||, where s is the standard deviation of a class along the line between the two centres m. With
g = <phi(x_i), m_+ - m_->, which takes only mean kernel values by class (`ClassMoments`),

    s = std(g) / ||m_+ - m_-||     and     ||m_+ - m_-||^2 = mean_+(g) - mean_-(g),

so that FSM = (std_+(g) + std_-(g)) / (mean_+(g) - mean_-(g)) and g_eta = sum_m eta_m g_m. For two classes this is a
convex function over a positive linear one, of which every stationary point is a minimum. (Measured in all directions,
the spread would make sqrt-concave functions of eta, whose minimum is always a single kernel.)

`KLDivergence` (2.3.2): KL(N(0, K) || N(0, S)) = 1/2 (tr(S^-1 K) - log det K + log det S - n) is convex in K. The target
of the thesis, yy', has rank one and an infinite divergence; S = T + sigma I has not, and with Z of few columns

    tr(S^-1 K) = (tr K - tr((sigma I + Z'Z)^-1 Z'KZ)) / sigma

needs no n x n inverse, so that only log det K_eta does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import LinAlgError, cho_factor, lapack
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..machines import Machine
from ..solvers import minimize_on_simplex, minimize_scale_free, solve_box_qp
from ..stacks import ExactStack, TrainingStack
from ..stacks.base import ClassMoments, Similarity
from ..validation import Choice, Constraints, Flag, Number, check_parameters
from .weighted import ChosenWeights


@dataclass(frozen=True)
class IdealColumns:
    n_classes: int

    def __call__(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        k = self.n_classes
        if k == 0:
            return y.reshape(len(y), -1).astype(float)
        if k == 2:
            return 2.0 * y[:, None] - 1.0
        return np.sqrt(k / (k - 1)) * (np.eye(k)[y] - 1.0 / k)


def n_classes_of(stack: TrainingStack, machine: Machine, combiner: object) -> int:
    if machine.strata is None:
        raise ValueError(f"{type(combiner).__name__} is for classification only; Mean works for every machine")
    return len(stack.class_counts(machine))


def ideal_columns(stack: TrainingStack, machine: Machine, combiner: object) -> IdealColumns:
    if machine.strata is not None:
        return IdealColumns(n_classes_of(stack, machine, combiner))
    if not machine.is_separable:
        raise ValueError(
            f"{type(combiner).__name__} compares kernels with targets, and times with censoring are none that a kernel "
            "can be compared with; use Mean, or learn weights with ConvexMKL or LpMKL"
        )
    if machine.detects_novelty or not stack.has_targets:
        raise ValueError(f"{type(combiner).__name__} compares kernels with targets, and there are none; use Mean")
    return IdealColumns(0)


def compared_with_targets(
    stack: TrainingStack, machine: Machine, combiner: object, centered: bool, pairs: bool
) -> Similarity:
    columns = ideal_columns(stack, machine, combiner)
    return stack.inner_products(columns, mean=columns.n_classes == 0, centered=centered, pairs=pairs)


def ideal_factor(stack: ExactStack, machine: Machine, combiner: object) -> np.ndarray:
    """Z of the ideal kernel T = Z Z', of shape (n_samples, n_columns), of samples in memory."""
    y: Any = stack.targets
    columns, weight = ideal_columns(stack, machine, combiner), stack.weight
    if columns.n_classes:
        return columns(y, weight)
    centred = (y - np.average(y, axis=0, weights=weight)).reshape(len(y), -1)
    return centred / np.sqrt(centred.shape[1])


RULES = ("proportional", "qp", "qcqp", "gradient")
# Eigenvalues of <K_m, K_h>, of kernels scaled to norm 1, below this share of the largest are rounding.
_DEPENDENT = 1e-12


class AlignmentWeights(ChosenWeights):
    """Weights that align the combined kernel with the ideal kernel T of the targets.

    Maximises the cosine <K_eta, T> / (||K_eta|| ||T||), Frobenius inner products, over eta >= 0 (``"qcqp"``,
    ``"gradient"``), the same with a penalty on large weights (``"qp"``), or takes each kernel's own alignment
    (``"proportional"``). Weights sum to 1. After Cristianini et al. (2002); rules after Qiu and Lane (2009), Kandola et
    al. (2002), Lanckriet et al. (2004) and Igel et al. (2007); centring after Cortes, Mohri and Rostamizadeh (2012).

    It helps where some kernels are unrelated to the targets, and costs less than one fit of the machine; where all
    kernels are good it does about as well as `Mean`. ``"qcqp"`` gives weight 0 to kernels that repeat others;
    ``"proportional"`` gives each of them its weight.

    T is yy' for two classes, 1 within and -1/(k - 1) between k classes, and yy' with centred y for regression, averaged
    over targets. A sample without a view counts as a zero row of that kernel. Without any kernel of positive alignment
    all weights are equal, with a warning.

    Parameters
    ----------
    rule : {"proportional", "qp", "qcqp", "gradient"}
        ``"proportional"`` needs no products of kernels with each other, and so less memory and time.
    center : bool
        Whether to centre kernels and targets in feature space first; without it a kernel that is large everywhere
        counts as aligned with the majority class.
    ridge : float
        lambda of ``"qp"``, in units of the mean of ||K_m||^2. Large values make weights proportional to <K_m, T>.

    Attributes
    ----------
    alignments_ : Series
        A(K_m, T) by kernel name.
    alignment_ : float
        A(K_eta, T), except for ``"proportional"``, which does not compute it.

    Notes
    -----
    Multiplying a kernel by a constant leaves the combined kernel of ``"qcqp"`` and ``"gradient"`` as it is, and the
    weights of ``"proportional"``. Memory: one n x n matrix at a time for ``"proportional"``, all P of them for the
    other rules; with ``storage="lazy"`` a tile of each, in two passes over the kernels. With explicit features: a
    matrix of the size of two kernels' features for each kernel, or for each pair of them.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import AlignmentWeights
    >>> from kernelweave.kernels import Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Linear("zer")], AlignmentWeights()).fit(X[::10], y[::10])
    >>> model.kernel_weights_.round(2)
    fou    0.62
    zer    0.38
    dtype: float64
    """

    _constraints = Constraints(rule=Choice(*RULES), center=Flag(), ridge=Number(low=0))

    def __init__(self, rule: str = "proportional", center: bool = True, *, ridge: float = 0.1):
        self.rule = rule
        self.center = center
        self.ridge = ridge

    def choose(self, stack, machine, control):
        given = check_parameters(self)
        found = compared_with_targets(stack, machine, self, given.center, pairs=self.rule != "proportional")
        self.alignments_ = pd.Series(found.alignments, index=stack.names)
        if not (found.alignments > 0).any():
            warn("no kernel is aligned with the targets, so all weights are equal")
            eta = np.ones(stack.n_kernels)
        elif self.rule == "proportional":
            eta = np.maximum(found.alignments, 0.0)  # thesis (2.7)
        elif self.rule == "gradient":
            eta = _ascent(found)
        else:  # thesis (2.6), whose solution is a multiple of that of Kandola's problem without a penalty
            penalty = given.ridge * np.mean(found.norms**2) if self.rule == "qp" else 0.0
            eta = _non_negative_optimum(found.between + penalty * np.eye(stack.n_kernels), found.to_target)
        if found.between is not None:
            norm = np.sqrt(eta @ found.between @ eta) * found.target_norm
            self.alignment_ = float(found.to_target @ eta / norm) if norm > 0 else 0.0
        return eta / eta.sum(), 0


def _non_negative_optimum(G: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The maximiser of a'eta - eta'G eta / 2 over eta >= 0, as a least-squares problem of the size of G.

    Kernels are scaled to G_mm = 1 first, so that no kernel is lost to rounding; one with G_mm = 0 has weight 0.
    """
    scale = np.sqrt(np.diagonal(G))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    values, vectors = np.linalg.eigh(G * inverse[:, None] * inverse[None, :])
    kept = values > _DEPENDENT * values[-1]
    root = np.sqrt(values[kept])
    basis = vectors[:, kept].T
    return nnls(root[:, None] * basis, basis @ (a * inverse) / root)[0] * inverse


def _ascent(found: Similarity) -> np.ndarray:
    """Ascend the alignment by its gradient, thesis 2.3.1.1, over weights of kernels scaled to norm 1."""
    known = found.norms > 0
    norms = found.norms[known]
    G = found.between[np.ix_(known, known)] / np.outer(norms, norms)
    a = found.alignments[known]

    def descent(eta):
        image = G @ eta
        square = eta @ image
        value = a @ eta / np.sqrt(square)
        gradient = (a * square - (a @ eta) * image) / square**1.5  # thesis 2.3.1.1, Igel et al. (2007)
        return -value, -gradient

    # Alignments of non-negative combinations have no other local maxima where they are positive.
    result = minimize_scale_free(descent, np.maximum(a, 0.0))
    if not result.converged:
        warn(
            f"AlignmentWeights stopped after {result.steps} steps with a violation of {result.violation:.2g}; "
            'rule="qcqp" finds the same weights directly',
            ConvergenceWarning,
        )
    eta = np.zeros(len(known))
    eta[known] = result.solution / norms
    return eta


_GAP = 1e-10


class IdealKernelDistance(ChosenWeights):
    """Weights of the convex combination with the smallest distance ||K_eta - T|| to the ideal kernel T.

    Minimises ``eta'G eta - 2 a'eta`` with ``G_mh = <K_m, K_h>`` and ``a_m = <K_m, T>`` over eta >= 0, sum(eta) = 1
    (He et al., 2008; thesis (Gönen 2010), (2.8)). T is that of `AlignmentWeights`; nothing is centred.

    It helps where kernels are on the scale of the targets' agreement, as with a unit diagonal or trace; unlike the
    alignment it depends on that scale, and with kernels much smaller than T it just takes the one with the largest
    <K_m, T>. A sample without a view counts as a zero row of that kernel.

    Attributes
    ----------
    distance_ : float
        ||K_eta - T||, Frobenius norm, samples counted by their weight.

    Notes
    -----
    Memory: all P matrices of n x n; with ``storage="lazy"`` a tile of each; with explicit features a matrix of the
    size of two kernels' features for each pair of kernels.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import IdealKernelDistance
    >>> from kernelweave.kernels import Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Linear("zer")], IdealKernelDistance()).fit(X[::10], y[::10])
    >>> model.kernel_weights_.round(2)
    fou    1.0
    zer    0.0
    dtype: float64
    """

    def choose(self, stack, machine, control):
        found = compared_with_targets(stack, machine, self, centered=False, pairs=True)
        unit = max(found.norms.max() ** 2, np.finfo(float).tiny)  # the solver's tolerance is relative to 1
        ones = np.ones(stack.n_kernels)
        result = solve_box_qp(  # thesis (2.8), as a maximum and divided by 2
            found.between / unit, found.to_target / unit, 0.0 * ones, ones, total=1.0, gap_tol=_GAP
        )
        if not result.converged:
            warn(
                f"IdealKernelDistance stopped with a gap of {result.gap * unit:.2g}; scale the kernels alike",
                ConvergenceWarning,
            )
        square = found.target_norm**2 - 2.0 * unit * result.objective
        self.distance_ = float(np.sqrt(max(square, 0.0)))
        return result.solution, 0


# Of the squared distance of two centres, relative to the mean diagonal: less is no distance.
_NO_DISTANCE = 1e-12


class FeatureSpaceMeasure(ChosenWeights):
    """Weights that make classes narrow against the distance of their centres.

    Minimises ``FSM(K_eta) = (s_+ + s_-) / ||m_+ - m_-||`` over eta >= 0, sum(eta) = 1, where m are the class centres in
    feature space and s the standard deviations of the classes along the line between them (Nguyen and Ho, 2008; Tanabe
    et al., 2008). More than two classes: the mean of the measure over all pairs of classes; the minimum found, from
    equal weights, is then a local one.

    It helps with a few kernels in which each class is one cloud. It underrates kernels in which a class has several
    clusters, and among hundreds overrates those that separate the classes by chance. It takes sums of the kernels, in
    time linear in their size. For classification only. A sample without a view counts as a zero row of that kernel.

    Attributes
    ----------
    measure_ : float
        FSM of the combined kernel.
    measures_ : Series
        FSM of each kernel by itself; infinite where two of its class centres coincide.

    Notes
    -----
    The scale of all kernels changes nothing. Memory: one n x n matrix at a time; none with ``storage="lazy"``.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import FeatureSpaceMeasure
    >>> from kernelweave.kernels import Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Linear("zer")], FeatureSpaceMeasure()).fit(X[::10], y[::10])
    >>> model.kernel_weights_.round(2)
    fou    0.54
    zer    0.46
    dtype: float64
    """

    def choose(self, stack, machine, control):
        found = stack.class_moments(n_classes_of(stack, machine, self))
        pairs = _pairs(found)
        largest = float(np.abs(found.inner).max())
        least = _NO_DISTANCE * max(largest, np.finfo(float).tiny)

        def alone(m: int) -> float:
            corner = np.eye(stack.n_kernels)[m]
            return _measure(corner, pairs)[0] if min(d[m] for _, _, d in pairs) > least else np.inf

        measures = np.array([alone(m) for m in range(stack.n_kernels)])
        self.measures_ = pd.Series(measures, index=stack.names)
        start = np.full(stack.n_kernels, 1.0 / stack.n_kernels)
        if min(start @ distances for _, _, distances in pairs) <= least:
            raise ValueError(
                "FeatureSpaceMeasure finds two classes with the same centre in every kernel; use Mean, or kernels that "
                "tell the classes apart"
            )
        result = minimize_scale_free(lambda eta: _measure(eta, pairs), start)
        if not result.converged:
            warn(
                f"FeatureSpaceMeasure stopped after {result.steps} steps with a violation of {result.violation:.2g}",
                ConvergenceWarning,
            )
        self.measure_ = result.objective
        return result.solution, 0


def _pairs(found: ClassMoments) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each pair of classes the covariances of g_1 .. g_P within each, and squared distances of centres."""
    inner, spread = found.inner, found.spread
    pairs = []
    for a, b in combinations(range(inner.shape[1]), 2):
        own = [
            spread[c][:, a, :, a] - spread[c][:, a, :, b] - spread[c][:, b, :, a] + spread[c][:, b, :, b]
            for c in (a, b)
        ]
        pairs.append((own[0], own[1], inner[:, a, a] - inner[:, a, b] - inner[:, b, a] + inner[:, b, b]))
    return pairs


def _measure(eta: np.ndarray, pairs: list) -> tuple[float, np.ndarray]:
    """Mean FSM over the pairs of classes and its gradient."""
    value, gradient = 0.0, np.zeros_like(eta)
    for first, second, distances in pairs:
        distance = distances @ eta
        for covariance in (first, second):
            image = covariance @ eta
            spread = np.sqrt(max(eta @ image, 0.0))
            value += spread / distance  # thesis 2.3.2: s / ||m_+ - m_-||
            slope = image / spread if spread > 0 else np.zeros_like(eta)
            gradient += slope / distance - spread * distances / distance**2
    return value / len(pairs), gradient / len(pairs)


_TOLERANCE = 1e-4


class KLDivergence(ChosenWeights):
    """Weights for which the Gaussian with covariance K_eta is nearest to the one of the ideal kernel.

    Minimises KL(N(0, K_eta + r I) || N(0, T + sigma I)) over eta >= 0, sum(eta) = 1, by projected gradients that never
    raise it (Ying et al., 2009). T is that of `AlignmentWeights`. Convex; solved to a gap of 1e-4 per sample.

    It helps to keep kernels of high rank beside an informative one: log det K rewards kernels under which samples
    differ, for any targets; with a small `sigma` the targets decide. It costs an n x n factorisation for each step. A
    sample without a view counts as a zero row of that kernel, and sample weights do not enter.

    Parameters
    ----------
    sigma : float
        Variance that no target explains, added to T; in units of T, whose diagonal is 1 for classification.
    ridge : float
        r in units of the mean diagonal of the kernels: what keeps log det finite for singular kernels.

    Attributes
    ----------
    divergence_ : float
        The minimum found.
    gap_ : float
        How far, at most, it is from its minimum.

    Notes
    -----
    Memory: all P matrices and two more of n x n; ``storage="lazy"`` is refused.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import KLDivergence
    >>> from kernelweave.kernels import Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Linear("zer")], KLDivergence()).fit(X[::20], y[::20])
    >>> bool(model.kernel_weights_.sum().round(6) == 1)
    True
    """

    _constraints = Constraints(sigma=Number(above=0), ridge=Number(above=0))

    def __init__(self, sigma: float = 0.1, ridge: float = 1e-3):
        self.sigma = sigma
        self.ridge = ridge

    def needs(self, kernels=()):
        return {"gram": "KLDivergence takes determinants of whole Gram matrices"}

    def choose(self, stack, machine, control):
        given = check_parameters(self)
        if not any(K.any() for K in stack.matrices()):
            raise ValueError(f"KLDivergence needs a kernel that is not zero, but all are: {stack.names}")
        divergence = _Divergence(stack.matrices(), ideal_factor(stack, machine, self), given.sigma, given.ridge)
        start = np.full(stack.n_kernels, 1.0 / stack.n_kernels)
        result = minimize_on_simplex(divergence, start, tol=_TOLERANCE)
        if not result.converged:
            warn(
                f"KLDivergence stopped after {result.steps} steps with a gap of {result.gap:.2g} per sample; "
                "raise sigma or ridge",
                ConvergenceWarning,
            )
        self.divergence_ = result.objective * stack.n_samples
        self.gap_ = result.gap * stack.n_samples
        return result.solution, 0


class _Divergence:
    """KL per sample and its gradient in the weights."""

    def __init__(self, matrices: np.ndarray, factor: np.ndarray, sigma: float, ridge: float):
        self.matrices = matrices
        n_samples = matrices.shape[1]
        inner = factor.T @ factor
        noisy = inner + sigma * np.eye(len(inner))
        traces = np.array([np.trace(K, dtype=np.float64) for K in matrices])
        explained = [np.trace(np.linalg.solve(noisy, factor.T @ (K @ factor))) for K in matrices]
        self.traces = (traces - explained) / sigma  # tr(S^-1 K_m)
        self.ridge = ridge * max(traces.mean() / n_samples, np.finfo(float).tiny)
        log_det = np.linalg.slogdet(noisy)[1] + (n_samples - len(inner)) * np.log(sigma)
        ridge_trace = self.ridge * (n_samples - np.trace(np.linalg.solve(noisy, inner))) / sigma
        self.constant = log_det + ridge_trace - n_samples

    def __call__(self, eta: np.ndarray) -> tuple[float, np.ndarray]:
        n_samples = self.matrices.shape[1]
        K = np.tensordot(eta, self.matrices, axes=1).astype(np.float64, copy=False)
        K.flat[:: n_samples + 1] += self.ridge
        try:
            factor = cho_factor(K, lower=True, overwrite_a=True)[0]
        except LinAlgError:
            raise ValueError(
                "KLDivergence needs positive semidefinite kernels; repair them (repair='clip'), or raise ridge"
            ) from None
        log_det = 2.0 * np.log(np.diagonal(factor)).sum()
        # The lower triangle of the inverse, entries below the diagonal twice: products with symmetric matrices agree.
        inverse = np.tril(lapack.dpotri(factor, lower=1)[0])
        inverse *= 2.0
        inverse.flat[:: n_samples + 1] /= 2.0
        slopes = self.traces - np.array([np.vdot(inverse, K_m) for K_m in self.matrices])
        value = self.traces @ eta - log_det + self.constant
        return 0.5 * value / n_samples, 0.5 * slopes / n_samples
