"""Climbing a criterion over subspaces of a kernel's feature space (SKFE, section 4).

A criterion depends on W only through the subspace that ``Z = X W`` spans, so W is kept orthonormal there,
``W'(K + ridge) W = I``; then ``K^w = F F'`` with features ``F = K W``, and with ``M = d value / d K^w`` (25)-(27) are

    d value / dW = 2 (K M F - (K + ridge) W F'M F).

Conjugate gradients need two products of K with an n x n_f matrix per iteration: one for the gradient, one for the
direction. Along a line ``W + t D`` everything else is of size n x n_f, so line searches are nearly free.

==================  ==========================================================
SKFE                here
==================  ==========================================================
W, K W              W, features (both orthonormalised as above)
T of (7)            inverse of the triangular root of ``W'(K + ridge) W``
beta, t of (26-27)  ``F' V`` and ``K V - F F' V`` for any V, here for ``M F``
==================  ==========================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.optimize import line_search

from ...solvers.descent import Ascent, Progress

Criterion = Callable[[np.ndarray], tuple[float, np.ndarray]]

# Shares of the largest eigenvalue below which directions count as dependent.
_RANK = 1e-12
# Strong Wolfe conditions; conjugate gradients need a tight second one.
_CURVATURE = 0.1
_FIRST_MOVE = 0.01
_LARGEST_CHANGE = 1e3


def orthonormal(W: np.ndarray, KW: np.ndarray, ridge: float = 0.0, limit: int | None = None) -> np.ndarray:
    """A basis of what the columns of W span, orthonormal in the feature space, strongest first, SKFE (5)-(8).

    Columns that depend on others are left out, so fewer may come back, or none.
    """
    products = W.T @ KW + ridge * (W.T @ W)
    # Columns of unit length first, so that small ones do not pass for dependent ones.
    length = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    kept = np.flatnonzero(length > _RANK * length.max(initial=0.0))
    products = products[np.ix_(kept, kept)] / np.outer(length[kept], length[kept])
    values, vectors = eigh((products + products.T) / 2.0) if len(kept) else (np.empty(0), np.empty((0, 0)))
    strong = np.flatnonzero(values > _RANK * values.max(initial=0.0))[::-1][:limit]
    return (W[:, kept] / length[kept]) @ (vectors[:, strong] / np.sqrt(values[strong]))  # T of (7)


def conjugate_gradients(
    K: np.ndarray,
    W: np.ndarray,
    *,
    criterion: Criterion,
    ridge: float,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> Ascent:
    """Polak-Ribiere conjugate gradients over subspaces, with strong Wolfe line searches.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    W : ndarray of shape (n_samples, n_components)
        The start, orthonormal (`orthonormal`).
    criterion : callable
        From features to its value and its derivative times the features.
    ridge : float
    max_iter : int
    tol : float
        Stop where the value rises by less per iteration, on average over ten.
    progress : callable, optional
    """
    features = K @ W
    value, derivative = criterion(features)
    ascent = Ascent(W, [value])
    direction: Any = None
    gradient: Any = None
    last: Any = None
    while len(ascent.values) <= max_iter and not ascent.converged:
        previous, gradient = gradient, _gradient(K, W, features, derivative, ridge)
        fresh = direction is None
        direction = gradient if fresh else _conjugate(gradient, previous, direction)
        line = _Line(K, W, features, direction, criterion, ridge)
        slope = float(np.sum(gradient * direction))
        step = line.search(value, slope, _guess(W, direction, slope, last))
        if step is None:
            # No rise along the gradient itself: the maximum, to the accuracy of floating point.
            ascent.converged = fresh
            direction = last = None
            continue
        last = step, slope
        root, features, value, derivative = line.at(step)
        W = _right_divide(root, W + step * direction)
        direction = _right_divide(root, direction)
        ascent.position = W
        ascent.values.append(value)
        ascent.converged = ascent.settled(tol)
        if progress is not None:
            progress(len(ascent.values) - 1, max_iter)
    return ascent


def over_coefficients(
    K: np.ndarray, criterion: Criterion, ridge: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """The criterion as a function of free coefficients W, with its gradient, for `climb`."""

    def function(W: np.ndarray) -> tuple[float, np.ndarray]:
        KW = K @ W
        root = _root(W.T @ KW + ridge * (W.T @ W))
        if root is None:
            return -np.inf, np.zeros_like(W)
        features = _right_divide(root, KW)
        value, derivative = criterion(features)
        gradient = _gradient(K, _right_divide(root, W), features, derivative, ridge)
        return value, _right_divide(root, gradient, transposed=True)

    return function


class _Line:
    """The criterion along ``W + t D``, with all products of K computed beforehand."""

    def __init__(self, K, W, features, direction, criterion, ridge):
        self.features, self.criterion = features, criterion
        self.K_direction = K @ direction
        mixed = W.T @ self.K_direction + ridge * (W.T @ direction)
        self.linear = mixed + mixed.T
        self.quadratic = direction.T @ self.K_direction + ridge * (direction.T @ direction)
        self.points: dict[float, tuple] = {}

    def at(self, t: float) -> tuple[Any, np.ndarray, float, np.ndarray]:
        """Triangular root of ``W(t)'(K + ridge) W(t)``, orthonormal features, value, and derivative times features."""
        if t not in self.points:
            root = _root(np.eye(len(self.linear)) + t * self.linear + t * t * self.quadratic)
            if root is None:
                self.points[t] = None, self.features, -np.inf, np.zeros_like(self.features)
            else:
                features = _right_divide(root, self.features + t * self.K_direction)
                self.points[t] = root, features, *self.criterion(features)
        return self.points[t]

    def slope(self, t: float) -> float:
        """d value / dt: ``2 <M F, K D> - <F'M F, d(root root')/dt>`` in the basis of t."""
        root, features, _, derivative = self.at(t)
        if root is None:
            return 0.0
        moved = _right_divide(root, derivative, transposed=True)
        inner = solve_triangular(root, features.T @ derivative, lower=True, trans="T")
        inner = _right_divide(root, inner, transposed=True)
        return float(2.0 * np.sum(moved * self.K_direction) - np.sum(inner * (self.linear + 2.0 * t * self.quadratic)))

    def search(self, value: float, slope: float, unit: float) -> float | None:
        """A step that satisfies the strong Wolfe conditions, searched around `unit`; None where none is found."""
        if not (slope > 0.0 and np.isfinite(value)):
            return None
        with warnings.catch_warnings():  # finding no step is a valid outcome
            warnings.simplefilter("ignore", RuntimeWarning)
            step = line_search(
                lambda t: -self.at(unit * float(t[0]))[2],
                lambda t: np.array([-unit * self.slope(unit * float(t[0]))]),
                np.zeros(1),
                np.ones(1),
                np.array([-unit * slope]),
                -value,
                c2=_CURVATURE,
            )[0]
        if step is None or not self.at(unit * float(step))[2] > value:
            return None
        return unit * float(step)


def _gradient(K: np.ndarray, W: np.ndarray, features: np.ndarray, derivative: np.ndarray, ridge: float) -> np.ndarray:
    """d value / dW at an orthonormal W, SKFE (25)-(27) summed over all vectors."""
    gradient = K @ derivative
    gradient -= (features + ridge * W) @ (features.T @ derivative)
    gradient *= 2.0
    return gradient


def _conjugate(gradient: np.ndarray, previous: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Polak-Ribiere, with restarts where it would not rise."""
    share = max(0.0, float(np.sum(gradient * (gradient - previous)) / np.sum(previous**2)))
    conjugate = gradient + share * direction
    return conjugate if np.sum(gradient * conjugate) > 0.0 else gradient


def _guess(W: np.ndarray, direction: np.ndarray, slope: float, last: tuple[float, float] | None) -> float:
    """Where to look first: a small move of W, later the last step with the same expected rise."""
    if last is None or not slope > 0.0:
        length = np.linalg.norm(direction)
        return _FIRST_MOVE * float(np.linalg.norm(W) / length) if length > 0.0 else 1.0
    step, slope_before = last
    return step * float(np.clip(slope_before / slope, 1.0 / _LARGEST_CHANGE, _LARGEST_CHANGE))


def _root(products: np.ndarray) -> np.ndarray | None:
    """Lower triangular root of a symmetric matrix, or None where it is not positive definite."""
    try:
        return cholesky((products + products.T) / 2.0, lower=True)
    except np.linalg.LinAlgError:
        return None


def _right_divide(root: np.ndarray, values: np.ndarray, transposed: bool = False) -> np.ndarray:
    """values root^-T, or with `transposed` values root^-1."""
    return np.ascontiguousarray(solve_triangular(root, values.T, lower=True, trans="T" if transposed else "N").T)
