"""Newton's method on P(w, b) at fixed amplitudes: a few steps, where features are few enough for their Gram matrix.

The losses are piecewise quadratic, so that P is, and each output r has a P of its own. With the samples whose loss
curves, d_i = 1 / h_i for these and 0 for others, and phi(x_i) the features times the amplitudes,

    Hessian by (w, b) = [I 0; 0 0] + sum_i d_i [phi_i; 1] [phi_i; 1]'

where the set of such samples does not change any more, one step ends at the minimiser. That is one step for least
squares. Around the mean mu = sum_i d_i phi_i / sum_i d_i, the bias separates from the weights,

    (I + S) dw = -(dP/dw - mu dP/db),    S = sum_i d_i (phi_i - mu)(phi_i - mu)',    db = -dP/db / sum_i d_i - mu'dw

and a large mean costs no precision. S is a sum over blocks like all else, see `scatter`. Steps are shortened, for each
output by itself, until P decreases enough. Where there are fewer samples than features, features are first rotated into
as many directions as there are samples, outside of which w is 0.

A step costs n D^2 / 2 products for each output, and Cholesky's factors D^3 / 3, where a pass costs 4 n D: the more
features, the more steps of L-BFGS it must save. `Newton.patience` is the number of these that take as long, from times
of one core. L-BFGS has so many before Newton's method, so that together they take at most about twice the time of the
better one; where it is less than L-BFGS takes for nearly all problems, about `PER_DIGIT` for each digit of the
tolerance, Newton's method begins. Seconds of one core for L-BFGS alone, Newton's method alone, and this rule (float32;
"cancer" and "digits" of scikit-learn, two generated problems; two Gaussian kernels):

========  =======  ====  ====  =============  =================  =================
problem   samples  D     C     outputs        tol 1e-3           tol 1e-6
========  =======  ====  ====  =============  =================  =================
cancer    569      100   1     1              0.02, 0.02, 0.02   0.03, 0.02, 0.02
cancer    569      100   100   1              0.05, 0.02, 0.02   0.16, 0.02, 0.02
cancer    569      1000  1     1              0.03, 0.21, 0.03   0.07, 0.20, 0.07
waves     3000     128   1     1              0.05, 0.03, 0.04   0.18, 0.04, 0.04
waves     3000     128   100   1              0.90, 0.04, 0.03   0.91, 0.04, 0.04
waves     3000     512   1     1              0.07, 0.20, 0.12   0.29, 0.18, 0.28
waves     3000     512   100   1              0.80, 0.30, 0.46   2.85, 0.28, 0.45
made      6000     128   1     1              0.05, 0.07, 0.07   0.16, 0.07, 0.08
made      6000     512   1     1              0.14, 0.50, 0.15   0.45, 0.47, 0.40
made      6000     512   100   1              1.09, 0.57, 0.85   4.51, 0.58, 1.02
digits    1797     256   1     10             1.47, 0.45, 0.65   2.49, 0.44, 0.43
========  =======  ====  ====  =============  =================  =================

==========  ==============================
symbol      name
==========  ==============================
d           rates
mu, S       Scatter.means, Scatter.products
==========  ==============================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from ...solvers.descent.smooth import Descent, Point
from ..block import Block, StoredFeatures
from ..memory import InMemory
from .certificate import best_intercepts, scored
from .descent import TINY
from .primal import Pass, Primal
from .scatter import EPS, Alone, Gathered, Scatter, gathered, kinds, scatter, signatures, solved

MOST_BYTES = 2**26  # of the products of all blocks, or an eighth of the features where that is more
# Seconds: of a step of either method beside its sums, of a pass for each feature of a sample, of products for each pair
# of features (half the samples count), of Cholesky's factors, and of the rotation for each product.
OVERHEAD, PASS, PRODUCTS, FACTORS, ROTATION = 5e-4, 8e-10, 2.5e-11, 2.2e-11, 2e-10
STEPS = 8  # that Newton's method takes, about; 1 for least squares
PER_DIGIT = 20  # steps of L-BFGS for each digit of the tolerance, about
MOST_STEPS = 60
MOST_TRIALS = 30  # lengths of a step
FLAT = 0.3  # of the first slope, that the last one may be where a step is shortened
DECREASE = 1e-4  # of what the slope promises, that a step must bring
ROUNDING = 1e-13  # relative, of P


class Newton:
    """Newton's method from some position; see the head of this module.

    Parameters
    ----------
    primal : Primal
        Of amplitudes without parameters.

    Attributes
    ----------
    intercept : ndarray of shape (n_outputs,) or None
        Second derivatives by the biases, as of the last step.
    """

    def __init__(self, primal: Primal):
        self.primal = primal
        self.intercept: np.ndarray | None = None
        self.n_samples, self.room = 0, MOST_BYTES  # room: bytes of products, of each block

    def patience(self, gap_tol: float) -> float:
        """How many steps of L-BFGS come before this method: as many as take its time, and none where these are few.

        Infinite where the method is not used: on devices, for amplitudes that have parameters, and for products that
        take too much memory.
        """
        (D, q), engine = self.primal.shape, self.primal.engine
        if self.primal.amplitudes.n_parameters or not engine.takes_products:
            return np.inf
        n_blocks, n, others, alike = engine.sum(kinds)
        self.n_samples, width = n, min(n, D)
        self.room = max(MOST_BYTES, n * D // 2) // max(1, n_blocks if n >= D else 1)
        if not 0 < 8 * width * D <= self.room:
            return np.inf
        rotation = ROTATION * n**2 * D if n < D else 0.0
        taken, distinct = (STEPS, q) if others else (1, len(np.unique(alike)))
        step = OVERHEAD + 2.0 * PASS * n * D * q + distinct * (PRODUCTS * n * width**2 + FACTORS * width**3)
        steps = (taken * step + rotation) / (OVERHEAD + PASS * n * D * q)
        return 0.0 if steps <= PER_DIGIT * max(2.0, -np.log10(max(gap_tol, EPS))) else float(np.ceil(steps))

    def minimize(self, position: np.ndarray, max_steps: int, callback: Callable[[int, Any], bool | None]) -> Descent:
        """Minimise, with as many features as there are samples where there are fewer; see `descend`."""
        primal = self.primal
        if self.n_samples >= primal.shape[0]:
            return self.descend(position, max_steps, callback)
        w, b, theta = primal.parts(position)
        found: Gathered = primal.engine.sum(gathered, primal.amplitudes, theta)
        rotation, triangle = scipy.linalg.qr(found.features.T, mode="economic", check_finite=False)
        offsets, n = np.array([0, triangle.shape[0]]), self.n_samples
        block = Block(0, StoredFeatures(np.ascontiguousarray(triangle.T), offsets), found.losses, None, np.ones(n))
        small = Primal(InMemory([block]), Alone(), n, primal.shape[1], total=primal.total)
        inner = Newton(small)

        def after(step: int, point: Any) -> bool | None:
            self.intercept = inner.intercept
            v, b, _ = small.parts(point.position)
            by_v, by_b, _ = small.parts(point.gradient)
            wide = (primal.join(rotation @ u, c, theta) for u, c in ((v, b), (by_v, by_b)))
            position, gradient = wide
            return callback(step, Point(position, point.value, gradient, point.detail))

        end = inner.descend(small.join(rotation.T @ w, b, theta), max_steps, after)
        v, b, _ = small.parts(end.solution)
        return replace(end, solution=primal.join(rotation @ v, b, theta))

    def descend(self, position: np.ndarray, max_steps: int, callback: Callable[[int, Any], bool | None]) -> Descent:
        """Steps until the callback returns True, none decreases P, or there were `max_steps`.

        Parameters
        ----------
        position : ndarray
        max_steps : int
        callback : callable
            ``callback(step, point)`` at the start (step 0) and after each step.
        """
        calls = self.primal.evaluations
        point = self._point(*self._with_intercepts(position))
        status = "stopped" if callback(0, point) else "max_iterations"
        steps, progress = 0, np.inf
        while status == "max_iterations" and steps < min(max_steps, MOST_STEPS):
            new = self._search(point, *self._directions(point))
            if new is None:
                progress, status = 0.0, "converged"
                break
            steps += 1
            progress = max(0.0, point.value - new.value) / max(1.0, abs(new.value))
            point = new
            if callback(steps, point):
                status = "stopped"
        calls = self.primal.evaluations - calls
        return Descent(point.position, point.value, point.detail, steps, calls, progress, status)

    def _with_intercepts(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w, and the best biases for it, so that some sample's loss curves."""
        w, b, theta = self.primal.parts(position)
        engine = self.primal.engine.replace(scored, self.primal.amplitudes, w, theta)
        return w, best_intercepts(engine, b, self.primal.total)

    def _point(self, w: np.ndarray, b: np.ndarray) -> Point:
        position = self.primal.join(w, b, np.empty(0))
        return Point(position, *self.primal(position))

    def _values(self, w: np.ndarray, b: np.ndarray, found: Pass) -> np.ndarray:
        """P of each output."""
        return 0.5 * (w**2).sum(axis=0) + self.primal.total * b + found.loss

    def _directions(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """dw and db of all outputs."""
        primal, (w, b, theta) = self.primal, self.primal.parts(point.position)
        by_w, by_b, _ = primal.parts(point.gradient)
        given = primal.amplitudes, w, b, theta
        (D, q), groups = primal.shape, np.zeros(1, dtype=int)
        if q > 1:
            groups = np.unique(primal.engine.sum(signatures, *given), return_inverse=True)[1].ravel()
        alike = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
        dw, db, bend = np.zeros((D, q)), np.zeros(q), np.zeros(q)
        width = max(1, self.room // (8 * D * D))
        for first in range(0, len(alike), width):
            some = alike[first : first + width]
            found: Scatter = primal.engine.sum(scatter, *given, [int(own[0]) for own in some])
            for place, own in enumerate(some):
                mean, total = found.means[place][:, None], float(found.totals[place])
                dw[:, own] = -solved(found.products[place], by_w[:, own] - mean * by_b[own])
                bend[own] = total
                if total > 0.0:
                    db[own] = -by_b[own] / total - mean[:, 0] @ dw[:, own]
        self.intercept = np.maximum(bend, TINY)
        return dw, db

    def _search(self, point: Point, dw: np.ndarray, db: np.ndarray) -> Point | None:
        """A point with a smaller P of each output that promises one; None where no output does.

        P is convex along a direction, and its slope piecewise linear and rising. The whole step is taken where it
        brings enough; else a length is searched at which the slope is small, between one where it falls and one where
        it rises (regula falsi with halved slopes). Where values are the same to rounding, slopes alone decide.
        """
        w, b, _ = self.primal.parts(point.position)
        values, slopes = self._values(w, b, point.detail), self._slopes(point, dw, db)
        noise = ROUNDING * np.maximum(1.0, np.abs(values))
        length = np.where(slopes < -EPS * np.abs(values), 1.0, 0.0)
        bracket = _Bracket(slopes)
        for _ in range(MOST_TRIALS):
            if not length.any():
                return None
            new = self._point(w + length * dw, b + length * db)
            new_w, new_b, _ = self.primal.parts(new.position)
            there, ends = self._values(new_w, new_b, new.detail), self._slopes(new, dw, db)
            with np.errstate(invalid="ignore", over="ignore"):
                small = np.abs(ends) <= FLAT * np.abs(slopes)
                lower = (there <= values + DECREASE * length * slopes) & (small | (length == 1.0))
                good = lower | ((np.abs(there - values) <= noise) & small) | (length == 0.0)
            if good.all():
                return new
            length = np.where(good, length, bracket.next(length, ends))
        length = np.where(good, length, bracket.low)  # where P has fallen all the way
        return self._point(w + length * dw, b + length * db) if length.any() else None

    def _slopes(self, point: Point, dw: np.ndarray, db: np.ndarray) -> np.ndarray:
        """Of P of each output, along its direction."""
        by_w, by_b, _ = self.primal.parts(point.gradient)
        return (by_w * dw).sum(axis=0) + by_b * db


class _Bracket:
    """Lengths between which slopes, which rise, are 0; an entry for each output.

    Parameters
    ----------
    slopes : ndarray
        At length 0, negative.
    """

    def __init__(self, slopes: np.ndarray):
        self.low, self.high = np.zeros(len(slopes)), np.full(len(slopes), np.inf)
        self.falls, self.rises = slopes.copy(), np.zeros(len(slopes))
        self.side = np.zeros(len(slopes))  # where the last length was: -1 below, 1 above

    def next(self, length: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """The lengths to try next, from the slopes at the last ones."""
        above = ~(slopes < 0.0)  # also where they are not finite
        side = np.where(above, 1.0, -1.0)
        again = side == self.side
        self.falls = np.where(~above, slopes, np.where(again & above, 0.5 * self.falls, self.falls))
        self.rises = np.where(above, slopes, np.where(again & ~above, 0.5 * self.rises, self.rises))
        self.low, self.high = np.where(above, self.low, length), np.where(above, length, self.high)
        self.side = side
        width = self.high - self.low
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = self.falls / (self.falls - self.rises)
        share = np.clip(np.where(np.isfinite(share), share, 0.1), 0.02, 0.98)
        return np.where(np.isfinite(width), self.low + share * width, 2.0 * length)
