"""Euclidean projections onto convex sets of weights."""

from __future__ import annotations

import numpy as np


def project_ball(point: np.ndarray, center: np.ndarray, radius: float) -> np.ndarray:
    """The nearest point x >= 0 with ||x - center|| <= radius; the centre must be >= 0.

    The optimality conditions give x = max(0, (point + t center) / (1 + t)) with the smallest t >= 0 that is in the
    ball. The distance to the centre falls as t grows, so t is found by bisection.

    Examples
    --------
    >>> import numpy as np
    >>> project_ball(np.array([3.0, -1.0]), center=np.array([1.0, 1.0]), radius=1.0).round(3)
    array([1.707, 0.293])
    """
    inside = np.maximum(point, 0.0)
    if np.linalg.norm(inside - center) <= radius:
        return inside
    if radius == 0.0:
        return center.copy()
    low, high = 0.0, float(np.linalg.norm(point - center)) / radius  # at t + 1 = high the unclipped point is inside
    for _ in range(100):
        middle = 0.5 * (low + high)
        inside = np.maximum((point + middle * center) / (1.0 + middle), 0.0)
        if np.linalg.norm(inside - center) > radius:
            low = middle
        else:
            high = middle
        if high - low <= 1e-15 * high:
            break
    return np.maximum((point + high * center) / (1.0 + high), 0.0)
