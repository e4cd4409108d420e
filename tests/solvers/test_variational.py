"""Variational inference: the bound (against draws from q), its updates, quadrature, and a Gibbs sampler."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr

from gibbs import Gibbs
from kernelweave.solvers.variational import (
    Labels,
    Noise,
    Posterior,
    ascend,
    log_largest,
    mills,
    probabilities_of_largest,
    variances,
    whitened,
)

ONE = (1.0, 1.0)


def problem(q, n=30, P=3, seed=0, noise=0.3):
    """Gaussian kernels of four columns by twos, of which the first carries the target; and labels, or numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2 * P))
    matrices = [np.exp(-((A[:, None] - A[None]) ** 2).sum(axis=-1) / 4.0) for A in np.split(X, P, axis=1)]
    z = np.sin(X[:, 0]) + 0.5 * X[:, 1] + noise * rng.normal(size=n)
    if q is None:
        return np.array(matrices), (z - z.mean()) / z.std()
    return np.array(matrices), np.digitize(z, np.quantile(z, np.arange(1, q) / q))


def likelihood(y, q):
    return Noise(y, ONE) if q is None else Labels(y, q)


def posterior_of(q, spread=0.1, coef_prior=ONE, weight_prior=ONE, **settings):
    matrices, y = problem(q, **settings)
    return Posterior(matrices, likelihood(y, q), spread, coef_prior, weight_prior)


def odd(kind, matrices):
    matrices = matrices.copy()
    if kind == "constant":
        matrices[0] = 1.0
    elif kind == "zero":
        matrices[0] = 0.0
    elif kind == "twins":  # two samples with the same values in each kernel, and two equal kernels
        matrices[:, 1], matrices[:, :, 1] = matrices[:, 0], matrices[:, :, 0]
        matrices[-1] = matrices[0]
    elif kind == "missing":
        gone = np.random.default_rng(1).random(matrices.shape[:2]) < 0.4
        matrices[gone] = 0.0
        matrices.transpose(0, 2, 1)[gone] = 0.0
    elif kind == "large":
        matrices *= 1e4
    return matrices


@pytest.mark.parametrize("q", [None, 2, 3, 7])
@pytest.mark.parametrize("kind", ["plain", "one kernel", "constant", "zero", "twins", "missing", "large"])
def test_no_update_lowers_the_bound(q, kind):
    # An update is an exact maximum, so what remains is the rounding of a sum of terms whose sizes the bound has.
    for seed, spread, prior in ((0, 0.03, ONE), (1, 0.3, (1e-3, 1e-3)), (2, 2.0, (20.0, 2.0))):
        matrices, y = problem(q, n=14 + seed, P=1 if kind == "one kernel" else 3, seed=seed)
        posterior = Posterior(odd(kind, matrices), likelihood(y, q), spread, prior, ONE)
        bound = posterior.bound()
        for _ in range(15):
            for update in posterior.updates():
                update()
                before, bound = bound, posterior.bound()
                assert bound >= before - 1e-9 * (1.0 + abs(before)), (update.__name__, spread)


def test_fewer_samples_than_classes_and_kernels():
    matrices, _ = problem(2, n=6, P=9)
    posterior = Posterior(matrices, Labels(np.arange(6), 6), 0.1, ONE, ONE)
    history, _ = ascend(posterior, 1e-6, 50)
    bounds = [line["bound"] for line in history]
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds[0]) and np.isfinite(bounds).all()


def _normals(rng, mean, covariance, n):
    root = np.linalg.cholesky(covariance)
    return mean + rng.normal(size=(n, len(mean))) @ root.T


def _log_normal(x, mean, covariance):
    root = np.linalg.cholesky(covariance)
    z = np.linalg.solve(root, (x - mean).T)
    return -0.5 * (z**2).sum(axis=0) - np.log(np.diagonal(root)).sum() - 0.5 * len(root) * np.log(2 * np.pi)


def _gammas(rng, own, prior, n):
    """Draws of q, and log p - log q of each."""
    shape, scale = own.shape[None], 1.0 / own.rate[None]
    x = rng.gamma(np.broadcast_to(shape, (n, *own.shape.shape)), scale)
    found = stats.gamma.logpdf(x, prior[0], scale=1.0 / prior[1]) - stats.gamma.logpdf(x, shape, scale=scale)
    return x, found.reshape(n, -1).sum(axis=1)


def _targets(rng, likelihood, y, q, means, n):
    """log p(y | f) p(f | mean) - log q(f) for draws of f, or of tau; means of the draws of all else."""
    if q is None:
        tau = rng.gamma(likelihood.shape, 1.0 / likelihood.rate, size=n)
        found = stats.gamma.logpdf(tau, 1.0, scale=1.0)
        found -= stats.gamma.logpdf(tau, likelihood.shape, scale=1.0 / likelihood.rate)
        return found + stats.norm.logpdf(y[None, :, None], means, tau[:, None, None] ** -0.5).sum(axis=(1, 2))
    found = np.full(n, likelihood.log_z.sum())  # q(f) is the normal at `cut_at`, cut, over Z
    for i, label in enumerate(y):
        centre, kept = likelihood.cut_at[i], np.empty((0, means.shape[2]))
        while len(kept) < n:  # by rejection
            f = centre + rng.normal(size=(4 * n, len(centre)))
            right = (f[:, 0] > 0) == (label == 1) if q == 2 else f.argmax(axis=1) == label
            kept = np.vstack([kept, f[right]])
        f = kept[:n]
        found += (stats.norm.logpdf(f, means[:, i]) - stats.norm.logpdf(f, centre)).sum(axis=1)
    return found


@pytest.mark.parametrize("q", [None, 2, 3])
@pytest.mark.parametrize("n_steps", [0, 3, 40])
def test_the_bound_is_the_mean_over_draws_from_q(q, n_steps):
    """E_q[log p - log q] by its definition: densities of SciPy at draws of all unknowns."""
    n_draws, rng, prior = 8000, np.random.default_rng(0), (2.0, 1.5)
    matrices, y = problem(q, n=5, P=2, seed=3)
    posterior = Watched(matrices, likelihood(y, q), 0.4, prior, prior)
    for step in range(n_steps):
        posterior.updates()[step % 6]()
    P, n, outputs = posterior.outputs.shape
    lam, total = _gammas(rng, posterior.coef_precision, prior, n_draws)
    omega, more = _gammas(rng, posterior.weight_precision, prior, n_draws)
    gamma, most = _gammas(rng, posterior.bias_precision, prior, n_draws)
    total = total + more + most
    weights = _normals(rng, posterior.weights, posterior.weights_covariance, n_draws)
    both = np.hstack([omega, gamma])
    total += stats.norm.logpdf(weights, 0.0, both**-0.5).sum(axis=1)
    total -= _log_normal(weights, posterior.weights, posterior.weights_covariance)
    means = np.empty((n_draws, n, outputs))
    for c in range(outputs):
        covariance = _coef_covariance(posterior, c)
        a = _normals(rng, posterior.coef[:, c], covariance, n_draws)
        total += stats.norm.logpdf(a, 0.0, lam[:, :, c] ** -0.5).sum(axis=1)
        total -= _log_normal(a, posterior.coef[:, c], covariance)
        for i in range(n):
            g = _normals(rng, posterior.outputs[:, i, c], posterior.outputs_covariance, n_draws)
            total += stats.norm.logpdf(g, a @ matrices[:, i].T, 0.4).sum(axis=1)
            total -= _log_normal(g, posterior.outputs[:, i, c], posterior.outputs_covariance)
            means[:, i, c] = (weights[:, :P] * g).sum(axis=1) + weights[:, P + c]
    total += _targets(rng, posterior.likelihood, y, q, means, n_draws)
    assert abs(posterior.bound() - total.mean()) < 5.0 * total.std() / np.sqrt(n_draws)


def _coef_covariance(posterior, c):
    """V_c as `update_coef` found it, before lambda was updated."""
    return np.linalg.inv(np.diag(posterior.seen[:, c]) + posterior.products / posterior.spread**2)


class Watched(Posterior):
    """Remembers at which E[lambda] the coefficients were found."""

    def update_coef(self):
        self.seen = self.coef_precision.mean
        super().update_coef()


@pytest.mark.parametrize("n_others", [1, 4, 26])
def test_quadrature_is_exact(n_others):
    rng = np.random.default_rng(n_others)
    for size in (0.3, 3.0, 12.0):
        gaps, scales = size * rng.normal(size=(6, n_others)), rng.uniform(0.2, 4.0, (6, n_others))
        gaps[0], scales[0] = -size, 1.0
        found, slopes = log_largest(gaps, scales)
        for row in range(6):
            logarithm = _integrand(gaps[row], scales[row])
            u = np.linspace(-10.0, 80.0, 9001)
            peak = u[logarithm(u).argmax()]
            top = logarithm(np.array([peak]))[0]

            def relative(u, logarithm=logarithm, top=top):
                return np.exp(logarithm(np.array([u]))[0] - top)

            area = quad(relative, peak - 10.0, peak + 10.0, epsabs=1e-13)[0]
            assert_allclose(found[row], np.log(area) + top, rtol=1e-10, atol=1e-10)
            moved = [log_largest(gaps[[row]] + h, scales[[row]])[0][0] for h in (1e-5, -1e-5)]
            assert_allclose(slopes[row].sum(), (moved[0] - moved[1]) / 2e-5, rtol=1e-5, atol=1e-8)


def _integrand(gaps, scales):
    return lambda u: log_ndtr(scales * u[:, None] + gaps).sum(axis=1) - 0.5 * (u**2 + np.log(2.0 * np.pi))


def test_probabilities_of_classes_add_up_to_one():
    rng = np.random.default_rng(0)
    means, variance = 3.0 * rng.normal(size=(40, 5)), rng.uniform(1.0, 4.0, (40, 5))
    found = probabilities_of_largest(means, variance)
    draws = means + np.sqrt(variance) * rng.normal(size=(20000, 40, 5))
    shares = (draws.argmax(axis=2)[:, :, None] == np.arange(5)).mean(axis=0)
    assert_allclose(found, shares, atol=5.0 * np.sqrt(0.25 / 20000))
    gaps = (means[:, [0]] - means[:, 1:]) / np.sqrt(variance[:, 1:])
    scales = np.sqrt(variance[:, [0]] / variance[:, 1:])
    # each probability is right by itself: they are divided by their sum, which is 1 up to rounding
    assert_allclose(np.exp(log_largest(gaps, scales)[0]), found[:, 0], rtol=1e-11)


def test_tails():
    """No overflow where a label is all but impossible."""
    found, slopes = log_largest(np.array([[-1e3, -1e3, 5.0], [60.0, 0.0, 900.0]]), np.ones((2, 3)))
    assert np.isfinite(found).all() and np.isfinite(slopes).all() and found[0] < -3e5
    assert_allclose(mills(np.array([-1e4]), log_ndtr(np.array([-1e4]))), 1e4, rtol=1e-6)


@pytest.mark.parametrize("q", [None, 2, 4])
def test_variances_are_those_of_draws(q):
    matrices, y = problem(q, n=24, P=3)
    kept, new = np.ascontiguousarray(matrices[:, :20, :20]), matrices[:, 20:, :20]
    own = np.unique(y[:20], return_inverse=True)[1] if q else y[:20]
    posterior = Posterior(kept, likelihood(own, q), 0.3, ONE, ONE)
    ascend(posterior, 1e-4, 100)
    P, n_outputs, rng, n_draws = 3, posterior.n_outputs, np.random.default_rng(0), 20000
    precision = posterior.coef_precision.mean
    factors = [whitened(posterior.products, column, 0.3) for column in precision.T]
    found = variances(new, posterior.coef, factors, posterior.weights, posterior.weights_covariance, 0.3)
    weights = _normals(rng, posterior.weights, posterior.weights_covariance, n_draws)
    for c in range(n_outputs):
        covariance = np.linalg.inv(np.diag(precision[:, c]) + posterior.products / 0.09)
        a = _normals(rng, posterior.coef[:, c], covariance, n_draws)
        g = np.einsum("mij,sj->sim", new, a) + 0.3 * rng.normal(size=(n_draws, new.shape[1], P))
        f = np.einsum("sim,sm->si", g, weights[:, :P]) + weights[:, [P + c]]
        assert_allclose(found[:, c], f.var(axis=0), rtol=0.08)  # the relative error of a variance is about 1 %


def test_ascend_says_whether_it_converged():
    assert not ascend(posterior_of(2), 1e-6, 5)[1]
    history, converged = ascend(posterior_of(2), 1e-2, 500)
    assert converged and len(history) < 500
    assert set(history[0]) == {"bound", "seconds"}


def test_values_that_are_too_large():
    with pytest.raises(ValueError, match="too large to be multiplied"):
        Posterior(np.full((1, 3, 3), 1e200), Labels(np.array([0, 1, 1]), 2), 0.1, ONE, ONE)


SAMPLED = {  # q, n, noise of z, spread, priors of coefficients and of weights, least correlation of decision values
    "numbers": (None, 30, 0.3, 0.5, (10.0, 10.0), (10.0, 10.0), 0.99),
    "two classes": (2, 60, 1.0, 0.1, (20.0, 2.0), (20.0, 20.0), 0.95),
    "two classes, default priors": (2, 60, 1.0, 0.1, ONE, ONE, 0.85),
    "three classes": (3, 40, 1.0, 0.1, (20.0, 2.0), (20.0, 20.0), 0.85),
}


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLED)
def test_means_agree_with_a_gibbs_sampler(name):
    """Means of e'g + b, and ratios of spreads: q is narrower than the posterior, and of classes it is shrunk, too.

    Of one chain, so limits are wide. What several classes have in common in f means nothing, and is taken away.
    """
    q, n, noise, spread, coef_prior, weight_prior, least = SAMPLED[name]
    matrices, y = problem(q, n=n, noise=noise)
    posterior = Posterior(matrices, likelihood(y, q), spread, coef_prior, weight_prior)
    assert ascend(posterior, 1e-7, 5000)[1]
    sampler = Gibbs(matrices, y, q, spread, coef_prior, weight_prior)
    draws, weights = [], []
    for step in range(7000):
        sampler.step()
        if step >= 1000:
            draws.append(np.tensordot(sampler.e, sampler.g, 1) + sampler.b)
            weights.append(sampler.e.copy())
    draws, weights = np.array(draws), np.array(weights)
    exact, own = draws.mean(axis=0), posterior.means()
    if q == 3:
        exact, own = (f - f.mean(axis=1, keepdims=True) for f in (exact, own))
    slope = float((own * exact).sum() / (exact**2).sum())
    ratio = np.sqrt(np.diagonal(posterior.weights_covariance)[:3]) / weights.std(axis=0)
    values = float(np.median(np.sqrt(_variance(posterior)) / draws.std(axis=0)))
    correlation = np.corrcoef(own.ravel(), exact.ravel())[0, 1]
    print(f"\n{name}: decision values correlate by {correlation:.3f}, ours are {slope:.2f} of the sampler's; ratios of")
    print(f"standard deviations: weights {ratio.round(2)}, decision values {values:.2f}")
    assert correlation > least
    assert 0.9 < slope < 1.1 if q is None else 0.3 < slope < 1.5
    assert values < 1.0 and (ratio[0] < 1.0 or coef_prior == ONE)
    if q is None:
        assert np.sqrt(np.mean((own - exact) ** 2)) < 0.3 * draws.std(axis=0).mean()
    if q == 2 and coef_prior != ONE:
        assert_allclose(ndtr(draws).mean(axis=0), ndtr(own / np.sqrt(1.0 + _variance(posterior))), atol=0.15)


def _variance(posterior):
    """V[e'g + b] of the training samples under q, by draws."""
    rng, (P, n, q) = np.random.default_rng(0), posterior.outputs.shape
    weights = _normals(rng, posterior.weights, posterior.weights_covariance, 4000)
    noise = rng.normal(size=(4000, n, q, P)) @ np.linalg.cholesky(posterior.outputs_covariance).T
    g = posterior.outputs.transpose(1, 2, 0) + noise
    return (np.einsum("snqm,sm->snq", g, weights[:, :P]) + weights[:, None, P:]).var(axis=0)
