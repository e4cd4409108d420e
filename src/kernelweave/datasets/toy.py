"""Toy problems of M. Gönen's PhD thesis (2010): the mixtures of Table 2.2 and the local projections of Figure 4.3."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..validation import Seed, Whole, check

_POSITIVE_VARIANCE = (0.8, 2.0)
_NEGATIVE_VARIANCE = (0.8, 4.0)
# Thesis Table 2.2: (prior, first mean) of each component; the second mean is +1.0 (positive) or -2.2 (negative).
_COMPONENTS = {
    2: ([(0.50, -1.0)], [(0.50, 1.0)]),
    3: ([(0.25, -2.0), (0.25, 2.0)], [(0.50, 0.0)]),
    4: ([(0.25, -3.0), (0.25, 1.0)], [(0.25, -1.0), (0.25, 3.0)]),
    5: ([(0.16, -4.0), (0.18, 0.0), (0.16, 4.0)], [(0.25, -2.0), (0.25, 2.0)]),
}


def make_gauss(
    n_components: int = 4, n_samples: int = 1200, *, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw GAUSS2 ... GAUSS5: two classes in two dimensions, each a mixture of Gaussians (Gönen 2010, Table 2.2).

    Parameters
    ----------
    n_components : {2, 3, 4, 5}
        Number of Gaussians over both classes.
    n_samples : int
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.

    See Also
    --------
    gauss_posterior : The Bayes rule of these problems.

    Examples
    --------
    >>> from kernelweave.datasets import gauss_posterior, make_gauss
    >>> X, y = make_gauss(4, 20000, random_state=0)
    >>> bayes = (gauss_posterior(X, 4) > 0.5) == (y > 0)
    >>> round(float(bayes.mean()), 2)
    0.9
    """
    rng = check(None, "random_state", random_state, Seed())
    prior, mean, variance, label = _mixture(n_components)
    component = rng.choice(len(prior), size=n_samples, p=prior)
    X = mean[component] + np.sqrt(variance[component]) * rng.normal(size=(n_samples, 2))
    return X, label[component]


def gauss_posterior(X: Any, n_components: int = 4) -> np.ndarray:
    """Pr(+1 | x) under the mixture of `make_gauss`; the Bayes rule predicts +1 where it exceeds 1/2.

    Parameters
    ----------
    X : array of shape (n_samples, 2)
    n_components : {2, 3, 4, 5}

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from kernelweave.datasets import gauss_posterior
    >>> bool(gauss_posterior([[-1.0, 1.0]], 2)[0] > 0.9)
    True
    """
    prior, mean, variance, label = _mixture(n_components)
    X = np.asarray(X, dtype=float)
    # Log-densities relative to the largest one: far from every component all densities underflow.
    deviation = (X[:, None, :] - mean[None, :, :]) ** 2 / variance
    log_density = np.log(prior) - 0.5 * deviation.sum(axis=2) - 0.5 * np.log(variance).sum(axis=1)
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return density[:, label > 0].sum(axis=1) / density.sum(axis=1)


def make_local_projection_toy(
    n_samples: int = 400, noise: float = 0.4, *, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw four clusters, two of each class, that one linear projection cannot separate (Gönen 2010, Figure 4.3).

    Left of the vertical axis the positive class lies above the negative one, right of it below: each half of the plane
    has its own one-dimensional projection in which the classes are apart, the whole plane has none. The thesis (Gönen
    2010) gives the picture only; centres and spread are ours.

    Parameters
    ----------
    n_samples : int
    noise : float
        Standard deviation of each cluster.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    region : ndarray of shape (n_samples,)
        0 for the left half, 1 for the right one.

    Examples
    --------
    >>> from kernelweave.datasets import make_local_projection_toy
    >>> X, y, region = make_local_projection_toy(random_state=0)
    >>> X.shape
    (400, 2)
    """
    rng = check(None, "random_state", random_state, Seed())
    centres = np.array([[-2.5, 1.0], [-1.5, -1.0], [1.5, 1.0], [2.5, -1.0]])
    labels = np.array([1, -1, -1, 1])
    cluster = np.arange(n_samples) % len(centres)
    rng.shuffle(cluster)
    X = centres[cluster] + noise * rng.normal(size=(n_samples, 2))
    return X, labels[cluster], cluster // 2


def _mixture(n_components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    n_components = check(None, "n_components", n_components, Whole(min(_COMPONENTS), max(_COMPONENTS)))
    positive, negative = _COMPONENTS[n_components]
    prior = np.array([weight for weight, _ in positive + negative])
    mean = np.array([(first, 1.0) for _, first in positive] + [(first, -2.2) for _, first in negative])
    variance = np.array([_POSITIVE_VARIANCE] * len(positive) + [_NEGATIVE_VARIANCE] * len(negative))
    label = np.array([1] * len(positive) + [-1] * len(negative))
    return prior, mean, variance, label
