"""Variational inference of kernel weights with normal priors, for numbers, two classes and several.

The model (Gönen, Bayesian efficient multiple kernel learning, 2012) is, for samples i, kernels m and outputs c,

    lambda_ic ~ Gamma,  a_ic ~ N(0, 1 / lambda_ic)          coefficients of the training samples
    g_mic ~ N(k_mi' a_c, s^2)                               what kernel m says of sample i; k_mi: row i of K_m
    omega_m ~ Gamma,    e_m ~ N(0, 1 / omega_m)             kernel weights, of either sign
    gamma_c ~ Gamma,    b_c ~ N(0, 1 / gamma_c)             biases
    f_ic ~ N(sum_m e_m g_mic + b_c, 1 / tau)                decision values

with Gammas of given shape and rate. Numbers are y_i = f_i, and tau ~ Gamma. Two classes are y_i = sign(f_i), and
several are the c of the largest f_ic, both with tau = 1: probit models, so that no likelihood has a free scale.

The posterior is approximated by the product q of independent factors for which the bound

    L = E[log p(y, everything)] - E[log q(everything but y)]  <=  log p(y)

is largest. L is maximised by one factor while the others stay, so that no update lowers it. With E and V for mean and
covariance under q, Q = sum_m K_m K_m and E[ee'] = E[e]E[e]' + V[e], the factors are

    lambda_ic     Gamma(shape + 1/2, rate + E[a_ic^2] / 2), and so omega_m of e_m, gamma_c of b_c
    a_c           N: V_c = (diag E[lambda_c] + Q / s^2)^-1,  E = V_c sum_m K_m E[g_mc] / s^2
    g_ic          N: S = (I / s^2 + tau E[ee'])^-1,  E = S (k_mi' E[a_c] / s^2 + tau (E[e] E[f_ic] - E[e b_c]))_m
    (e, b)        N: precision  diag(E[omega], E[gamma]) + tau sum_ic E[h h'],  h = (g_ic, unit vector of c), and
                  mean  V tau sum_ic E[h] E[f_ic]
    tau           Gamma(shape + n q / 2, rate + sum_ic E[(f_ic - e'g_ic - b_c)^2] / 2)
    f_i           N(mu_i, I) cut to the region of the label,  mu_ic = E[e'g_ic + b_c]

E[f] of two classes is mu + y phi(mu) / Phi(y mu). For class y of several, with d_c = mu_y - mu_c,

    Z = E[prod_{c != y} Phi(u + d_c)],  u ~ N(0, 1);   E[f_c] = mu_c - E[phi(u + d_c) prod_{l != c} Phi(u + d_l)] / Z

and E[f_y] = mu_y + sum_c (mu_c - E[f_c]) (Girolami and Rogers, 2006), by quadrature (`probabilities_of_largest`). The
part of f in the bound is  log Z_i - 1/2 sum_c (mu'_c - mu_c) (mu'_c + mu_c - 2 E[f_ic]) - 1/2 sum_c V[e'g_ic + b_c]
where mu is the mean that f was found at and mu' the present one, so that moments of second order are not needed.

==================  =====================================================
symbol              name
==================  =====================================================
K_m, Q              `matrices[m]`, `products`
n, P, q             n_samples, n_kernels, n_outputs
lambda, omega       `coef_precision`, `weight_precision`: `Precisions`
gamma               `bias_precision`
E[a], diag V_c      `coef`, `coef_variance`
k_mi' E[a_c]        `fitted`, of shape (P, n, q)
s                   `spread`
E[g], S             `outputs`, of shape (P, n, q), and `outputs_covariance`
E[e, b], V[e, b]    `weights`, `weights_covariance`: kernels, then outputs
E[f], tau           `expected`, `precision` of the likelihood
==================  =====================================================
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lapack
from scipy.special import digamma, gammaln, log_ndtr

LOG_2PI = float(np.log(2.0 * np.pi))

#: A Gamma prior: shape and rate.
Prior = tuple[float, float]


class Precisions:
    """q of precisions with a Gamma prior, of independent normals with mean 0."""

    def __init__(self, prior: Prior, shape: tuple[int, ...]):
        self.prior = prior
        self.shape, self.rate = np.full(shape, prior[0]), np.full(shape, prior[1])

    @property
    def mean(self) -> np.ndarray:
        return self.shape / self.rate

    def update(self, squares: np.ndarray) -> None:
        """The best q for given E[x^2] of the normals."""
        self.shape, self.rate = np.full(squares.shape, self.prior[0] + 0.5), self.prior[1] + 0.5 * squares

    def bound(self, squares: np.ndarray) -> float:
        """E[log p(x | precision)] + E[log p(precision)] - E[log q(precision)]."""
        expected_log = digamma(self.shape) - np.log(self.rate)
        normals = 0.5 * (expected_log - LOG_2PI - self.mean * squares)
        return float(normals.sum()) + gamma_bound(self.prior, self.shape, self.rate)


def gamma_bound(prior: Prior, shape: Any, rate: Any) -> float:
    """E[log p(x)] - E[log q(x)] for x ~ Gamma(prior) and q = Gamma(shape, rate): minus their divergence."""
    expected_log, mean = digamma(shape) - np.log(rate), shape / rate
    before = prior[0] * np.log(prior[1]) - gammaln(prior[0]) + (prior[0] - 1.0) * expected_log - prior[1] * mean
    after = shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * expected_log - rate * mean
    return float(np.sum(before - after))


# What is observed


class Likelihood(Protocol):
    """p(y | f) with q(f): expected decision values of shape (n_samples, n_outputs), and the precision tau.

    `update` and `bound` take the means mu of shape (n_samples, n_outputs) of e'g + b, and the sum of their variances.
    """

    expected: np.ndarray

    @property
    def precision(self) -> float: ...

    def update(self, means: np.ndarray, variance: float) -> None: ...

    def bound(self, means: np.ndarray, variance: float) -> float: ...


class Noise:
    """Numbers with normal noise of unknown precision: y_i = f_i."""

    def __init__(self, y: np.ndarray, prior: Prior):
        self.expected, self.prior = y[:, None], prior
        self.shape, self.rate = prior

    @property
    def precision(self) -> float:
        return self.shape / self.rate

    def _squares(self, means: np.ndarray, variance: float) -> float:
        return float(((self.expected - means) ** 2).sum()) + variance

    def update(self, means: np.ndarray, variance: float) -> None:
        self.shape = self.prior[0] + 0.5 * self.expected.size
        self.rate = self.prior[1] + 0.5 * self._squares(means, variance)

    def bound(self, means: np.ndarray, variance: float) -> float:
        expected_log = float(digamma(self.shape)) - np.log(self.rate)
        normals = 0.5 * self.expected.size * (expected_log - LOG_2PI)
        normals -= 0.5 * self.precision * self._squares(means, variance)
        return float(normals) + gamma_bound(self.prior, self.shape, self.rate)


class Labels:
    """Classes 0 to q - 1: the class of the largest f (of q > 2), or the sign of the only one (two classes)."""

    @property
    def precision(self) -> float:
        return 1.0

    def __init__(self, labels: np.ndarray, n_classes: int):
        self.labels, self.n_classes = labels, n_classes
        self.signs = 2.0 * labels - 1.0
        self.n_outputs = 1 if n_classes == 2 else n_classes
        # Before the first update: mu = 0.
        self.update(np.zeros((len(labels), self.n_outputs)), 0.0)

    def update(self, means: np.ndarray, variance: float) -> None:
        self.cut_at = means
        if self.n_classes == 2:
            margins = self.signs * means[:, 0]
            self.log_z = log_ndtr(margins)
            self.expected = means + (self.signs * mills(margins, self.log_z))[:, None]
        else:
            self.log_z, self.expected = truncated(means, self.labels)

    def bound(self, means: np.ndarray, variance: float) -> float:
        moved = (means - self.cut_at) * (means + self.cut_at - 2.0 * self.expected)
        return float(self.log_z.sum() - 0.5 * moved.sum()) - 0.5 * variance


def mills(z: np.ndarray, log_cdf: np.ndarray) -> np.ndarray:
    """phi(z) / Phi(z)."""
    return np.exp(-0.5 * (z**2 + LOG_2PI) - log_cdf)


def truncated(means: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log Z and E[f] of normals with unit variances, cut to where that of the label is largest."""
    n_samples, n_classes = means.shape
    rows = np.arange(n_samples)
    others = np.arange(n_classes)[None, :] != labels[:, None]
    gaps = (means[rows, labels][:, None] - means)[others].reshape(n_samples, n_classes - 1)  # d_c
    log_z, slopes = log_largest(gaps, np.ones_like(gaps))
    expected = means.copy()
    expected[others] -= slopes.ravel()
    expected[rows, labels] += slopes.sum(axis=1)
    return log_z, expected


_REACH, _STEP = 8.5, 0.7  # standard deviations; exp(-8.5^2 / 2) = 2e-16, and exp(-2 (pi / 0.7)^2) = 3e-18


def log_largest(gaps: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log E[prod_c Phi(scales_c u + gaps_c)] for u ~ N(0, 1), and its derivatives by the gaps; rows of (n, n_others).

    The integrand is log-concave, with a second derivative of at most -1, so that it lies within 8.5 of its mode to
    rounding. Newton's method finds the mode, and the trapezoidal rule around it, with steps as fine as the curvature at
    its left end asks for, is exact to rounding: the integrand is entire.
    """
    mode = np.zeros(len(gaps))
    for _ in range(60):  # from the left of the mode on Newton's steps do not overshoot
        slope, curvature = _slopes(mode, gaps, scales)
        moved = slope / curvature
        mode = mode + moved
        if np.abs(moved).max(initial=0.0) < 1e-6:
            break
    curvature = _slopes(mode, gaps, scales)[1]
    left = _REACH / np.sqrt(curvature)
    finest = np.sqrt(_slopes(mode - left, gaps, scales)[1])
    n_nodes = int(np.ceil(((left + _REACH) * finest / _STEP).max(initial=1.0))) + 1
    step = (left + _REACH) / (n_nodes - 1)
    total, peak = np.zeros(len(gaps)), _log_integrand(mode, gaps, scales)[0]
    slopes = np.zeros_like(gaps)
    for node in range(n_nodes):
        u = mode - left + node * step
        logarithm, z, log_cdf = _log_integrand(u, gaps, scales)
        value = np.exp(logarithm - peak)
        total += value
        slopes += value[:, None] * mills(z, log_cdf)
    return np.log(total * step) + peak - 0.5 * LOG_2PI, slopes / total[:, None]


def _log_integrand(u: np.ndarray, gaps: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    z = scales * u[:, None] + gaps
    log_cdf = log_ndtr(z)
    return log_cdf.sum(axis=1) - 0.5 * u**2, z, log_cdf


def _slopes(u: np.ndarray, gaps: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first derivative of the logarithm of the integrand, and minus the second."""
    _, z, log_cdf = _log_integrand(u, gaps, scales)
    ratio = mills(z, log_cdf)
    return (scales * ratio).sum(axis=1) - u, 1.0 + (scales**2 * ratio * (z + ratio)).sum(axis=1)


def probabilities_of_largest(means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """The probability of each of independent normals to be the largest, of shape (n_samples, n_classes)."""
    n_classes, spread = means.shape[1], np.sqrt(variances)
    found = np.empty_like(means)
    for c in range(n_classes):
        others = np.arange(n_classes) != c
        gaps = (means[:, [c]] - means[:, others]) / spread[:, others]
        found[:, c] = np.exp(log_largest(gaps, spread[:, [c]] / spread[:, others])[0])
    return found / found.sum(axis=1, keepdims=True)


# The posterior


class Posterior:
    """The factors of q over given Gram matrices (P, n, n), each with its update, and the bound.

    It begins at outputs that all say what is to be explained, so that all kernels are alike.
    """

    def __init__(
        self, matrices: np.ndarray, likelihood: Likelihood, spread: float, coef_prior: Prior, weight_prior: Prior
    ):
        P, n, _ = matrices.shape
        q = likelihood.expected.shape[1]
        self.likelihood, self.spread = likelihood, spread
        self.n_kernels, self.n_samples, self.n_outputs = P, n, q
        self.stacked = matrices.reshape(P * n, n)
        with np.errstate(over="ignore", invalid="ignore"):
            self.products = self.stacked.T @ self.stacked
        if not np.isfinite(self.products / spread**2).all():
            raise ValueError("the values of the kernels are too large to be multiplied")
        self.coef_precision = Precisions(coef_prior, (n, q))
        self.weight_precision, self.bias_precision = Precisions(weight_prior, (P,)), Precisions(weight_prior, (q,))
        self.outputs = np.broadcast_to(likelihood.expected, (P, n, q)).copy()
        self.outputs_covariance, self.outputs_log_det = spread**2 * np.eye(P), 2.0 * P * np.log(spread)
        self.update_coef()
        self.update_coef_precision()
        self.update_weights()

    def updates(self) -> tuple[Callable[[], None], ...]:
        """The updates of one iteration, in order."""
        return (
            self.update_outputs,
            self.update_coef,
            self.update_coef_precision,
            self.update_weights,
            self.update_weight_precision,
            self.update_likelihood,
        )

    def update_outputs(self) -> None:
        P, tau, moments = self.n_kernels, self.likelihood.precision, self._weight_moments()
        self.outputs_covariance, self.outputs_log_det = _inverse(
            np.eye(P) / self.spread**2 + tau * moments[:P, :P],
        )
        linear = self.weights[:P, None, None] * self.likelihood.expected - moments[:P, None, P:]
        linear = self.fitted / self.spread**2 + tau * linear
        self.outputs = (self.outputs_covariance @ linear.reshape(P, -1)).reshape(linear.shape)

    def update_coef(self) -> None:
        n, q = self.n_samples, self.n_outputs
        precision = self.coef_precision.mean
        linear = self.stacked.T @ self.outputs.reshape(-1, q) / self.spread**2
        self.coef, self.coef_variance = np.empty((n, q)), np.empty((n, q))
        self.coef_log_det = self.coef_trace = 0.0
        for c in range(q):
            scale, root = whitened(self.products, precision[:, c], self.spread)
            self.coef[:, c] = scale * lapack.dpotrs(root, scale * linear[:, c], lower=1)[0]
            self.coef_log_det += 2.0 * float(np.log(scale).sum() - np.log(np.diagonal(root)).sum())
            inverse = lapack.dtrtri(root, lower=1, overwrite_c=1)[0]
            shares = np.einsum("ij,ij->j", inverse, inverse)  # E[lambda_ic] V_ic
            self.coef_variance[:, c] = scale**2 * shares
            self.coef_trace += n - float(shares.sum())  # tr(V_c Q) / s^2
        self.fitted = (self.stacked @ self.coef).reshape(self.n_kernels, n, q)

    def update_coef_precision(self) -> None:
        self.coef_precision.update(self.coef**2 + self.coef_variance)

    def update_weights(self) -> None:
        P, tau, expected = self.n_kernels, self.likelihood.precision, self.likelihood.expected
        prior = np.concatenate([self.weight_precision.mean, self.bias_precision.mean])
        self.weights_covariance, self.weights_log_det = _inverse(np.diag(prior) + tau * self._output_moments())
        linear = np.concatenate([self.outputs.reshape(P, -1) @ expected.ravel(), expected.sum(axis=0)])
        self.weights = self.weights_covariance @ (tau * linear)

    def update_weight_precision(self) -> None:
        squares = np.diagonal(self._weight_moments())
        self.weight_precision.update(squares[: self.n_kernels])
        self.bias_precision.update(squares[self.n_kernels :])

    def update_likelihood(self) -> None:
        self.likelihood.update(*self._predicted())

    def _weight_moments(self) -> np.ndarray:
        """E[(e, b)(e, b)']."""
        return np.outer(self.weights, self.weights) + self.weights_covariance

    def _output_moments(self) -> np.ndarray:
        """sum_ic E[h h']."""
        P, n, q = self.outputs.shape
        flat, moments = self.outputs.reshape(P, -1), np.zeros((P + q, P + q))
        moments[:P, :P] = flat @ flat.T + n * q * self.outputs_covariance
        moments[:P, P:] = self.outputs.sum(axis=1)
        moments[P:, :P] = moments[:P, P:].T
        moments[P:, P:] = n * np.eye(q)
        return moments

    def means(self) -> np.ndarray:
        """mu of the training samples, of shape (n_samples, n_outputs)."""
        P = self.n_kernels
        return np.tensordot(self.weights[:P], self.outputs, 1) + self.weights[P:]

    def _predicted(self) -> tuple[np.ndarray, float]:
        """mu, and the sum of all V[e'g + b]."""
        P, n, q = self.outputs.shape
        e = self.weights[:P]
        of_outputs = n * q * float(e @ self.outputs_covariance @ e)
        return self.means(), of_outputs + float(np.sum(self.weights_covariance * self._output_moments()))

    def bound(self) -> float:
        """L at the present q."""
        P, n, q = self.outputs.shape
        squares = np.diagonal(self._weight_moments())
        # p and q of a, lambda; of e, omega, b, gamma
        found = self.coef_precision.bound(self.coef**2 + self.coef_variance)
        found += 0.5 * (n * q * (1.0 + LOG_2PI) + self.coef_log_det)
        found += self.weight_precision.bound(squares[:P]) + self.bias_precision.bound(squares[P:])
        found += 0.5 * ((P + q) * (1.0 + LOG_2PI) + self.weights_log_det)
        # of g, where log 2 pi cancels
        apart = float(((self.outputs - self.fitted) ** 2).sum()) + n * q * float(np.trace(self.outputs_covariance))
        found -= n * q * P * np.log(self.spread) + 0.5 * (apart / self.spread**2 + self.coef_trace)
        found += 0.5 * n * q * (P + self.outputs_log_det)
        return float(found) + self.likelihood.bound(*self._predicted())


def _inverse(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """The inverse of a positive definite matrix, and the logarithm of the determinant of the inverse."""
    root = np.linalg.inv(np.linalg.cholesky(matrix))
    return root.T @ root, 2.0 * float(np.log(np.diagonal(root)).sum())


def whitened(products: np.ndarray, precision: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """D^-1/2 and the Cholesky factor of  B = I + D^-1/2 Q D^-1/2 / s^2,  so that  V_c = D^-1/2 B^-1 D^-1/2.

    D is diag E[lambda_c]. No eigenvalue of B is less than 1, however small some of lambda are.
    """
    scale = 1.0 / np.sqrt(precision)
    B = np.array(products * (scale[:, None] / spread) * (scale / spread), order="F")
    B[np.diag_indices_from(B)] += 1.0
    root, failed = lapack.dpotrf(B, lower=1, overwrite_a=1, clean=1)
    if failed:
        raise ValueError("the values of the kernels are too large beside the spread")
    return scale, root


def ascend(
    posterior: Posterior, tol: float, max_iter: int, progress: Callable[[int, int], None] | None = None
) -> tuple[list[dict[str, float]], bool]:
    """Iterate until the bound rises by less than `tol` for each sample; the bounds, and whether it ended so."""
    history: list[dict[str, float]] = []
    clock, before = perf_counter(), posterior.bound()
    while len(history) < max_iter:
        for update in posterior.updates():
            update()
        bound, now = posterior.bound(), perf_counter()
        history.append({"bound": bound, "seconds": now - clock})
        if progress is not None:
            progress(len(history), max_iter)
        if bound - before < tol * posterior.n_samples:
            return history, True
        clock, before = now, bound
    return history, False


def variances(
    cross: np.ndarray,
    coef: np.ndarray,
    factors: list[tuple[np.ndarray, np.ndarray]],
    weights: np.ndarray,
    weights_covariance: np.ndarray,
    spread: float,
) -> np.ndarray:
    """V[e'g + b] of new samples, of shape (n_new, n_outputs), for kernel values (P, n_new, n) to the training samples.

    `factors` has `whitened` of each output. With x_m the row of kernel m,  E[g_mc] = x_m' E[a_c],  V[g_c] = (x_m' V_c
    x_l)_ml + s^2 I  and  M = E[ee'],  it is  sum_ml M_ml V[g_c]_ml + E[h]' V[e, b] E[h].
    """
    P, n_new, n = cross.shape
    moments = np.outer(weights[:P], weights[:P]) + weights_covariance[:P, :P]
    values, vectors = np.linalg.eigh(moments)
    mixed = np.tensordot(vectors.T * np.sqrt(np.maximum(values, 0.0))[:, None], cross, 1).reshape(P * n_new, n)
    outputs = cross @ coef
    found = np.empty((n_new, coef.shape[1]))
    for c, (scale, root) in enumerate(factors):
        parts = lapack.dtrtrs(root, (mixed * scale).T, lower=1)[0]
        found[:, c] = (parts**2).sum(axis=0).reshape(P, n_new).sum(axis=0) + spread**2 * np.trace(moments)
        own = [*range(P), P + c]
        h = np.vstack([outputs[:, :, c], np.ones(n_new)])
        found[:, c] += np.maximum(np.einsum("mi,ml,li->i", h, weights_covariance[np.ix_(own, own)], h), 0.0)
    return found
