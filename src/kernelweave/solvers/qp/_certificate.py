"""The least duality gap of a point of the box QP over scaled primal points. Symbols as in `box`.

It is needed where the gap at t = 1 and the multiplier b (`_rounds.certify`) is above the limit.

With s = 1 - t and z_i = g_i + s f_i - b, the gap P(t, b) - D is a sum of non-negative terms,

    gap(s, b) = s^2/2 c'Kc + sum_i [h_i(z_i) - (z_i c_i - e |c_i|)],

so that primal and dual do not cancel. For one s the best b is that of a fractional knapsack: by linear programming
duality

    min_b gap(s, b) = s^2/2 c'Kc + max_v  sum_i (g_i + s f_i)(v_i - c_i) - e (|v_i| - |c_i|)

over lower <= v <= upper, sum(v) = total, which is solved by sorting slopes; its solution v gives the slope by s, too.
"""

from __future__ import annotations

import numpy as np

WORTHWHILE = 100.0  # a gap is looked for where violation * distance to the bounds is within this multiple of the limit
MOST_CUTS = 60


def least_gap(
    c: np.ndarray,
    gradient: np.ndarray,
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    insensitivity: float,
    total: float,
    gap: float,
    limit: float,
    violation: float,
) -> float:
    """The least of `gap` and min over b and t >= 0 of P(t, b) - D, found until it is clear on which side of the limit.

    Far from the solution, where it could not be within the limit, it is not looked for.
    """
    inside = np.minimum(c - lower, upper - c)
    if insensitivity > 0.0:
        inside = np.minimum(inside, np.abs(c))
    f = linear - gradient
    size = np.abs(f).max()
    if not (violation * inside.sum() <= WORTHWHILE * limit and 0.0 < size < np.inf):
        return gap
    cuts = _Cuts(c, gradient, f, lower, upper, insensitivity, total)
    value, slope = cuts.at(0.0)
    gap = min(gap, value)
    end, other_end = (0.0, value, slope), None  # tangents on both sides of the minimum, once there are two
    step = -np.sign(slope) * max(violation, 1e-16) / size
    for _ in range(MOST_CUTS):
        if gap <= 0.5 * limit or slope == 0.0:
            break
        if other_end is None:
            s = min(1.0, end[0] + step)
            step *= 4.0
        else:
            (a, at_a, slope_a), (b, at_b, slope_b) = end, other_end
            s = a + (at_b - at_a - slope_b * (b - a)) / (slope_a - slope_b)  # where the tangents meet
            floor = at_a + slope_a * (s - a)
            if floor > limit or gap - max(0.0, floor) <= 0.1 * gap:
                break
            near, far = min(a, b), max(a, b)
            s = min(max(s, near + 0.05 * (far - near)), far - 0.05 * (far - near))
        value, slope = cuts.at(s)
        gap = min(gap, value)
        if slope * end[2] > 0.0:
            end = (s, value, slope)
            if s == 1.0:  # t = 0
                break
        else:
            other_end = (s, value, slope)
    return float(gap)


class _Cuts:
    """min_b gap(s, b) and its slope by s, for any s."""

    def __init__(self, c, gradient, f, lower, upper, insensitivity, total):
        self.c, self.gradient, self.f, self.insensitivity = c, gradient, f, insensitivity
        self.curvature = max(0.0, float(c @ f))
        self.lower, self.missing = lower, total - lower.sum()
        # An interval with zero inside is two: the slope of z v - e|v| changes there.
        kinked = (lower < 0.0) & (upper > 0.0) if insensitivity > 0.0 else np.zeros(len(c), dtype=bool)
        sign = np.where(lower >= 0.0, 1.0, -1.0)
        self.sample = np.concatenate([np.arange(len(c)), np.flatnonzero(kinked)])
        self.shift = insensitivity * np.concatenate([sign, np.ones(kinked.sum())])
        self.width = np.concatenate([np.where(kinked, -lower, upper - lower), upper[kinked]])

    def at(self, s: float) -> tuple[float, float]:
        slopes = self.gradient + s * self.f
        keys = slopes[self.sample] - self.shift
        order = np.argsort(-keys, kind="stable")
        width = self.width[order]
        before = np.cumsum(width) - width
        fill = np.clip(self.missing - before, 0.0, width)
        last = np.flatnonzero(fill > 0.0)
        b = keys[order[last[-1] if len(last) else 0]]
        v = self.lower + np.bincount(self.sample[order], fill, len(self.c))
        l1 = self.insensitivity * (np.abs(v) - np.abs(self.c))
        gap = np.maximum(0.0, (slopes - b) * (v - self.c) - l1).sum() + 0.5 * s * s * self.curvature
        return float(gap), float(s * self.curvature + (self.f * (v - self.c)).sum())
