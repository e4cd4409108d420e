"""A Gibbs sampler of the model of `solvers.variational`: exact draws in the long run, without the factors of q."""

import numpy as np
from scipy.special import ndtr, ndtri


class Gibbs:
    """One chain; labels are the classes 0 to q - 1, or numbers where `q` is None."""

    def __init__(self, matrices, y, q, spread, coef_prior, weight_prior, noise_prior=(1.0, 1.0), seed=0):
        self.K, self.y, self.q, self.s = matrices, y, q, spread
        self.coef_prior, self.weight_prior, self.noise_prior = coef_prior, weight_prior, noise_prior
        self.rng = np.random.default_rng(seed)
        P, n, _ = matrices.shape
        self.n_outputs = 1 if q in (None, 2) else q
        self.Q = np.einsum("mij,mjk->ik", matrices, matrices)
        self.e, self.b, self.tau = np.full(P, 1.0 / P), np.zeros(self.n_outputs), 1.0
        self.lam, self.omega = np.ones((n, self.n_outputs)), np.ones(P)
        self.gamma = np.ones(self.n_outputs)
        if q is None:
            self.f = y[:, None].copy()
        elif q == 2:
            self.f = (2.0 * y - 1.0)[:, None]
        else:
            self.f = (y[:, None] == np.arange(q)).astype(float)
        self.g = np.broadcast_to(self.f, (P, n, self.n_outputs)).copy()

    def _normal(self, precision, linear):
        root = np.linalg.cholesky(precision)
        return np.linalg.solve(root.T, np.linalg.solve(root, linear) + self.rng.normal(size=len(linear)))

    def _gamma(self, prior, squares):
        return self.rng.gamma(prior[0] + 0.5, 1.0 / (prior[1] + 0.5 * squares))

    def step(self):
        P, n, q = self.g.shape
        for c in range(q):
            linear = np.einsum("mij,mj->i", self.K, self.g[:, :, c]) / self.s**2
            a = self._normal(np.diag(self.lam[:, c]) + self.Q / self.s**2, linear)
            self.lam[:, c] = self._gamma(self.coef_prior, a**2)
            inverse = np.linalg.inv(np.eye(P) / self.s**2 + self.tau * np.outer(self.e, self.e))
            linear = self.K @ a / self.s**2 + self.tau * np.outer(self.e, self.f[:, c] - self.b[c])
            self.g[:, :, c] = inverse @ linear + np.linalg.cholesky(inverse) @ self.rng.normal(size=(P, n))
        h = np.zeros((n * q, P + q))
        for c in range(q):
            h[c * n : (c + 1) * n, :P], h[c * n : (c + 1) * n, P + c] = self.g[:, :, c].T, 1.0
        precision = np.diag(np.concatenate([self.omega, self.gamma])) + self.tau * h.T @ h
        weights = self._normal(precision, self.tau * h.T @ self.f.T.ravel())
        self.e, self.b = weights[:P], weights[P:]
        self.omega, self.gamma = self._gamma(self.weight_prior, self.e**2), self._gamma(self.weight_prior, self.b**2)
        self._observe(np.tensordot(self.e, self.g, 1) + self.b)

    def _observe(self, means):
        if self.q is None:
            off = float(((self.y[:, None] - means) ** 2).sum())
            self.tau = self.rng.gamma(self.noise_prior[0] + 0.5 * len(self.y), 1.0 / (self.noise_prior[1] + 0.5 * off))
        elif self.q == 2:
            signs = 2.0 * self.y - 1.0
            self.f[:, 0] = signs * self._above(signs * means[:, 0], 0.0)
        else:
            rows = np.arange(len(self.y))
            for c in range(self.q):
                own, f = self.y == c, self.f.copy()
                f[:, c] = -np.inf
                largest = f.max(axis=1)
                self.f[own, c] = self._above(means[own, c], largest[own])
                self.f[~own, c] = -self._above(-means[~own, c], -self.f[rows, self.y][~own])

    def _above(self, means, low):
        """Normals with unit variance, cut to what is above a limit."""
        below = ndtr(means - low) * self.rng.random(len(means))
        return means - ndtri(np.maximum(below, 1e-300))
