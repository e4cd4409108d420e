"""The state of a solve in parts, at the kernel's place, and the choice of the samples that one round works on.

Slopes and sides are those of `_pairs`: up_i is the slope of raising c_i (-inf where it may not rise), down_i that of
lowering it (+inf where it may not fall), and c is optimal where  max up <= min down.  A working set holds the samples
that violate this most on either side, and the most useful ones of the working set before it, so that a sample is given
up only after it has met some of the others.

Samples that have been safely at their bound for some rounds are *at rest*: the image is not brought up to date at
them, and they are not chosen, until `wake` brings it up to date there with one update for all changes since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._rounds import LEAST, fixed_jitter

FILLED = 2.0  # a working set holds at most so many times as many samples as violate
REST_EVERY = 10  # rounds between two looks for samples at rest; a sample rests if it is safe at two in a row
FEW = 0.95  # of the samples that a working set may have; one that lacks more is filled up
REST_SHARE = 0.1  # of the active samples; fewer are not put to rest


@dataclass
class Slopes:
    """What one look at the gradient finds, arrays of the place.

    Attributes
    ----------
    gradient, up, down : array of shape (n,)
        With -inf and +inf for samples that may not move, and for those at rest.
    top, low : float
        max up and min down.
    """

    gradient: Any
    up: Any
    down: Any
    top: float
    low: float

    @property
    def violation(self) -> float:
        """How far the samples that are not at rest are from being optimal, as in libsvm."""
        return max(0.0, self.top - self.low)


class State:
    """Coefficients, their image and the bounds.

    Attributes
    ----------
    c : ndarray of shape (n,)
        The coefficients, on the host; `there` has them at the place.
    image : image
        True at the samples that are not at rest.
    """

    def __init__(self, kernel: Any, linear: np.ndarray, lower: np.ndarray, upper: np.ndarray, insensitivity: float):
        self.kernel, self.place, self.xp = kernel, kernel.place, kernel.place.xp
        self.lower, self.upper, self.e = lower, upper, insensitivity
        self.p, self.l, self.u = (self._there(values) for values in (linear, lower, upper))
        self.jitter = self._there(fixed_jitter(len(linear)))
        self.chosen = np.empty(0, np.int64)
        self.active: np.ndarray | None = None
        self.resting: list[tuple[np.ndarray, np.ndarray]] = []  # samples, and the coefficients when they came to rest
        self.mask: Any = None
        self.safe: Any = None

    def _there(self, values: np.ndarray) -> Any:
        return self.place.asarray(values, "float64")

    def begin(self, c: np.ndarray, image: Any = None) -> None:
        """Begin at coefficients, given their image or not."""
        self.c, self.there = c, self._there(c.copy())
        if image is None:
            image = self.kernel.zero()
            rows = np.flatnonzero(c)
            if len(rows):
                self.kernel.add(image, rows, c[rows])
        self.image = image

    def gradient(self) -> Any:
        """p - K c; not true at samples at rest."""
        return self.p - self.kernel.value(self.image, self.there)

    def slopes(self) -> Slopes:
        """The one-sided slopes of all samples that are not at rest."""
        xp, c = self.xp, self.there
        gradient = self.gradient()
        rises, falls = c < self.u, c > self.l
        if self.mask is not None:
            rises, falls = rises & self.mask, falls & self.mask
        up = down = gradient
        if self.e > 0.0:
            up = gradient + self.e - 2.0 * self.e * xp.astype(c >= 0.0, xp.float64)
            down = gradient + self.e - 2.0 * self.e * xp.astype(c > 0.0, xp.float64)
        up, down = xp.where(rises, up, -np.inf), xp.where(falls, down, np.inf)
        top, low = self._numbers(xp.max(up), xp.min(down))
        return Slopes(gradient, up, down, top, low)

    def _numbers(self, *values: Any) -> list[float]:
        """Single numbers of the place on the host, in one transfer."""
        if self.place.is_host:
            return [float(value) for value in values]
        return self.place.numpy(self.xp.stack([self.xp.astype(value, self.xp.float64) for value in values])).tolist()

    def certificate(self, slopes: Slopes) -> tuple[float, float, float]:
        """Objective, gap at b, and the multiplier b, as `_rounds.survey` computes them."""
        xp, e, c, gradient, up, down = self.xp, self.e, self.there, slopes.gradient, slopes.up, slopes.down
        size = xp.abs(c)
        free = up == down
        objective, count, total = self._numbers(
            0.5 * xp.sum(c * (self.p + gradient)) - e * xp.sum(size),
            xp.sum(xp.astype(free, xp.int64)),
            xp.sum(xp.where(free, up, 0.0)),
        )
        if count > 0:
            b = total / count
        else:
            ends = [end for end in (slopes.top, slopes.low) if np.isfinite(end)]
            b = sum(ends) / len(ends) if ends else 0.0
        z = gradient - b
        best = xp.maximum(z * self.l - e * xp.abs(self.l), z * self.u - e * xp.abs(self.u))
        if e > 0.0:
            best = xp.where((best < 0.0) & (self.l < 0.0) & (self.u > 0.0), 0.0, best)
        excess = best - z * c + e * size
        counted = excess > 0.0 if self.mask is None else self.mask & (excess > 0.0)
        excess = xp.where(xp.isnan(excess) | counted, excess, 0.0)
        return objective, float(xp.sum(excess)), b

    def choose(self, slopes: Slopes, size: int) -> np.ndarray:
        """At most `size` samples, in increasing order, with the pair that violates most among them.

        Half of them are new, as far as there are samples that violate: those that violate most on either side. The
        others are those of the last working set that are closest to violating.
        """
        xp, place = self.xp, self.place
        middle = 0.5 * (slopes.top + slopes.low)
        shake = 1e-6 * (slopes.top - slopes.low) * self.jitter  # equal slopes are broken at random
        above, below = slopes.up - middle, middle - slopes.down
        rank = xp.maximum(above, below) + shake
        violating = int(xp.sum(xp.astype(rank > 0.0, xp.int64)))
        size = min(size, max(LEAST, int(FILLED * violating)))
        if len(self.c) <= size:
            return np.flatnonzero(place.numpy(rank > -np.inf))
        ends = xp.stack([xp.argmax(slopes.up), xp.argmin(slopes.down)])
        worth = place.numpy(xp.concat([place.take(rank, self.chosen), xp.astype(ends, xp.float64)]))  # one transfer
        worth, pair = worth[:-2], worth[-2:].astype(np.int64)
        kept = self.chosen[worth > -np.inf]
        if len(kept) > size // 2:
            kept = kept[np.argpartition(-worth[worth > -np.inf], size // 2 - 1)[: size // 2]]
        room = (size - len(kept) - 2) // 2
        picked = [pair, kept]
        for side in (above, below):
            side = side + shake
            place.put(side, kept, -np.inf)
            most, excess = place.top(side, min(room, len(self.c)))
            picked.append(most[excess > 0.0])
        found = np.unique(np.concatenate(picked))
        if len(found) < FEW * size:  # few violate: those closest to it
            place.put(rank, found, -np.inf)
            close, excess = place.top(rank, size - len(found))
            found = np.union1d(found, close[excess > -np.inf])
        return found

    def move(self, rows: np.ndarray, change: np.ndarray, new: np.ndarray) -> None:
        """Give samples new coefficients."""
        self.c[rows] = new
        self.place.put(self.there, rows, self._there(new))
        self.kernel.add(self.image, rows, change, targets=self.active)

    def rest(self, slopes: Slopes) -> None:
        """Put samples to rest that are safe at their bound now and were so at the last look."""
        xp = self.xp
        safe = (slopes.up < slopes.low) & (slopes.down > slopes.top)
        if self.mask is not None:
            safe = safe & self.mask
        if self.safe is not None:
            both = self.place.numpy(self.safe & safe)
            count, active = np.count_nonzero(both), len(self.c) if self.active is None else len(self.active)
            if count > REST_SHARE * active:
                self.resting.append((np.flatnonzero(both), self.c.copy()))
                mask = ~both if self.mask is None else ~both & self.place.numpy(self.mask)
                self.active = np.flatnonzero(mask)
                self.mask = self.place.asarray(mask)
                safe = xp.logical_and(safe, self.mask)
        self.safe = safe

    def wake(self) -> None:
        """Bring the image up to date at the samples at rest, and make them active."""
        for targets, before in self.resting:
            rows = np.flatnonzero(self.c != before)
            if len(rows):
                self.kernel.add(self.image, rows, self.c[rows] - before[rows], targets=targets)
        self.active = self.mask = self.safe = None
        self.resting = []
