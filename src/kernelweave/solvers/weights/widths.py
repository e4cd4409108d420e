"""The largest form of a Gaussian over all its widths, with a bound that holds between the widths that are looked at.

    q(u) = sum_ij w_ij exp(-t_ij),      t_ij = e_ij exp(-2 u),      u = log(s / s_0),      w = C C'

s_0 is a first width and e_ij = d_ij^2 / s_0^2 the exponents at it. By u, exp(-t) has the derivatives 2 t exp(-t) and
g(t) = 4 t (t - 1) exp(-t). g turns at t = (3 - sqrt 5) / 2, where it is smallest, and at (3 + sqrt 5) / 2, where it is
largest, and nowhere else. So the largest value of w_ij g(t_ij) between two points a < b is at one of them or at a turn,
and the sum B >= 0 of these values bounds the second derivative of q. By Taylor's theorem, for a <= u <= b,

    q(u) <= q(a) + q'(a) (u - a) + B/2 (u - a)^2      and      q(u) <= q(b) - q'(b) (b - u) + B/2 (b - u)^2.

The lower of the two parabolas is largest at a, at b, or where they cross. `largest_form` halves the intervals in which
that leaves too much open; rounding is left out of account.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

PAIRS = 2**16  # that are in memory at once: a few arrays of them stay in a processor's cache
FIRST_STEP = 0.3  # between the logarithms of the first widths
MOST_POINTS = 2000
EASE = 0.5  # share of what the largest form found exceeds the level by that may stay open
TURNS = 0.5 * (3.0 - np.sqrt(5.0)), 0.5 * (3.0 + np.sqrt(5.0))


def _bend(t: np.ndarray | float) -> np.ndarray:
    return 4.0 * t * (t - 1.0) * np.exp(-np.asarray(t))


LEAST, MOST = (float(_bend(t)) for t in TURNS)

#: From two ranges of samples to the exponents e between them, a new array.
Exponents = Callable[[slice, slice], np.ndarray]


class WidthForms:
    """q of coefficients C, of shape (n_samples, n_outputs), with its derivative and bounds of the second one.

    >>> e = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> forms = WidthForms(lambda rows, columns: e[rows, columns].copy(), np.array([[1.0], [-1.0]]))
    >>> value, slope, bend = forms.along(np.array([[0.0, 0.1]]))
    >>> bool(np.isclose(value[0, 0], 2.0 - 2.0 * np.exp(-1.0)) and np.isclose(slope[0, 0], -4.0 * np.exp(-1.0)))
    True
    """

    def __init__(self, exponents: Exponents, coef: np.ndarray):
        self.exponents, self.coef = exponents, coef

    def along(self, chains: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q and q' at increasing points u, (n_chains, n_points), and B between neighbours of a chain."""
        values, slopes = np.zeros(chains.shape), np.zeros(chains.shape)
        bends = np.zeros((len(chains), chains.shape[1] - 1))
        n = len(self.coef)
        height = max(1, PAIRS // max(1, n))
        for first in range(0, n, height):
            rows, others = slice(first, min(first + height, n)), slice(first, n)
            e = self.exponents(rows, others)
            n_rows = len(e)
            e[np.arange(n_rows), np.arange(n_rows)] = 0.0
            w = self.coef[rows] @ self.coef[others].T
            w[:, n_rows:] *= 2.0  # pairs below the diagonal are those above it
            self._add(e.ravel(), w.ravel(), chains, values, slopes, bends)
        return values, slopes, bends

    @staticmethod
    def _add(
        e: np.ndarray, w: np.ndarray, chains: np.ndarray, values: np.ndarray, slopes: np.ndarray, bends: np.ndarray
    ) -> None:
        gains, losses = np.maximum(w, 0.0), np.minimum(w, 0.0)
        for c, chain in enumerate(chains):
            last: tuple[np.ndarray, np.ndarray] | None = None
            for p, u in enumerate(chain.tolist()):
                t = e * np.exp(-2.0 * u)
                k = np.exp(-t)
                values[c, p] += w @ k
                k *= t
                slopes[c, p] += 2.0 * (w @ k)
                if len(chain) > 1:
                    k *= 4.0 * (t - 1.0)
                    if last is not None:
                        bends[c, p - 1] += _steepest(*last, t, k, gains, losses)
                    last = t, k


def _steepest(
    t_a: np.ndarray, g_a: np.ndarray, t_b: np.ndarray, g_b: np.ndarray, gains: np.ndarray, losses: np.ndarray
) -> float:
    """sum_ij of the largest w_ij g(t) for t between those at both ends, t_b <= t_a."""
    high, low = np.maximum(g_a, g_b), np.minimum(g_a, g_b)
    high[(t_b < TURNS[1]) & (t_a > TURNS[1])] = MOST
    low[(t_b < TURNS[0]) & (t_a > TURNS[0])] = LEAST
    return float(gains @ high + losses @ low)


@dataclass(frozen=True)
class Peak:
    """The largest q that was found, at `point`, and a `bound` of q between the first and the last of all points."""

    point: float
    value: float
    bound: float
    points: np.ndarray
    values: np.ndarray


def largest_form(forms: WidthForms, low: float, high: float, level: float, slack: float) -> Peak:
    """The largest q(u) for u from low to high.

    Intervals are halved until the bound is above both the level and the largest value found by at most `slack`, or by
    half of what that value is above the level. Of intervals that can hold nothing above the level no more is known.
    """
    n_first = 2 + int((high - low) / FIRST_STEP) if high > low else 1
    points = np.linspace(low, high, n_first)
    values, slopes, bends = (each[0] for each in forms.along(points[None, :]))
    seen = [points], [values]
    ends = np.stack([points[:-1], points[1:]])
    bounds = _bounds(ends, np.stack([values[:-1], values[1:]]), np.stack([slopes[:-1], slopes[1:]]), bends)
    settled = -np.inf
    while True:
        points, values = np.concatenate(seen[0]), np.concatenate(seen[1])
        best = int(np.argmax(values))
        allowed = max(level, values[best]) + max(slack, EASE * (values[best] - level))
        is_open = bounds > allowed
        settled = max(settled, bounds.max(initial=-np.inf, where=~is_open))
        if not is_open.any() or len(points) > MOST_POINTS:
            break
        ends = ends[:, is_open]
        chains = np.column_stack([ends[0], ends.mean(axis=0), ends[1]])
        found, slopes, bends = forms.along(chains)
        seen[0].append(chains[:, 1])
        seen[1].append(found[:, 1])
        ends, at_ends, rises = (np.concatenate([each[:, :2], each[:, 1:]]).T for each in (chains, found, slopes))
        bounds = _bounds(ends, at_ends, rises, bends.T.ravel())
    order = np.argsort(points)
    bound = max(float(values[best]), float(settled), float(bounds.max(initial=-np.inf)))
    return Peak(float(points[best]), float(values[best]), bound, points[order], values[order])


def _bounds(ends: np.ndarray, values: np.ndarray, slopes: np.ndarray, bends: np.ndarray) -> np.ndarray:
    """An upper bound of q in each interval, from its two ends."""
    B, h, first = np.maximum(bends, 0.0), ends[1] - ends[0], slopes[0]
    turn = first - slopes[1] + B * h  # at least 0 but for rounding
    reach = values[1] - values[0] - slopes[1] * h + 0.5 * B * h**2
    x = np.clip(np.divide(reach, turn, out=np.zeros_like(h), where=turn > 0.0), 0.0, h)
    crossing = values[0] + first * x + 0.5 * B * x**2
    return np.maximum(np.maximum(values[0], values[1]), crossing)
