"""Smooth losses on a kernel in parts: Newton's method by conjugate gradients, one product for all outputs in each step.

For each output by itself the machine minimises, over coefficients c and a bias b,

    P(c, b) = 1/2 c'Kc + sum_i loss_i(z_i) + b total,      z = p - K c - b

with the losses, responses v(z) and the gap of `ridge`. Samples whose response is between its bounds are free (F), the
others are not (B), and a step of Newton's method solves

    (K_FF + H_FF) c_F + b 1 = p_F - e sign(v_F) - K_FB v_B,     1'c_F = total - 1'v_B,     c_B = v_B

by conjugate gradients on changes of sum 0. They end where the gap is reached, or where most of the gap comes from
samples that are free no longer; a line search on P follows. For least squares all samples are free: one step is all.

In the preconditioner K is replaced by its Nystroem approximation from m columns, at random, of which only matrices of
shape (m, m) are kept:

    (K_FF + H_FF)^-1  ~  W - W K_Fm S^-1 K_mF W,      S = K_mm + K_mF W K_Fm,      W = H_FF^-1

m is such that forming S takes about as long as one product or, where the pace promises many more steps, as a fourth of
them. Where free samples change, S is brought up to date if that takes no longer; else H alone is the preconditioner. In
the end coefficients are put within their bounds and
to their sum, and the gap of all samples is computed with a fresh product.

p is `linear`, h `quadratic`, e `insensitivity`, of `terms`, v `response` and K c `values`; arrays are of the kernel's
place, of shape (n_samples, n_outputs). Bounds are 0 or infinite; others are for `in_parts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .in_parts import NOT_FINITE

MOST_STEPS, MOST_NEWTON = 2000, 200  # of conjugate gradients, and of Newton's method
# Share of the gap that free samples have where a step of Newton's method has done its part; a tenth of it, down to the
# second, after each step that left more than the share `SHORT`
WRONG_SET = 0.01, 1e-6
SHORT = 0.5
IDLE, MOST_IDLE = 1e-13, 6  # relative change of P that is rounding, and steps with no more in a row that end a solve
CLOSER = 0.5  # of the gap that is wanted: an estimate at which the end is computed
LOOK = 4  # steps after which the pace is measured
MANY, MOST_LEFT = 6, 100  # steps left that are worth a better preconditioner, and as many as a pace may promise
LITTLE = 1.0  # products as long as which the first preconditioner may take
VALUE = 16.0  # products of two numbers, in a product of matrices, that take as long as a value of a base kernel
FEWEST, MOST_LANDMARKS = 32, 4096
SMALL = 512  # samples up to which all of them are landmarks, so that a step is solved as by a factorisation
MORE = 1.4  # times as many landmarks that are worth another preconditioner
CHUNK = 2**24  # values of K that are in memory at once
FLAT, FLATTEST = 0.1, 1e-10  # a line search ends at such a share of the first slope, or at one of P: rounding
MOST_TRIALS = 30  # of a line search, or of a bias
EPS = float(np.finfo(np.float64).eps)
SUM_ERROR = 1e-12  # of the sum of all |c|: sums of coefficients that differ by less are equal
INDEFINITE = "K plus the diagonal is not positive definite: K has a clearly negative eigenvalue; repair the kernel"


@dataclass
class Columns:
    """The end of a solve for all outputs, arrays of the host but `images`; gaps and objectives are those of each."""

    coef: np.ndarray
    intercept: np.ndarray
    objectives: np.ndarray
    gaps: np.ndarray
    violations: np.ndarray
    converged: np.ndarray
    steps: int
    images: Any


def solve_newton_in_parts(
    kernel: Any,
    terms: Any,
    start: np.ndarray | None = None,
    images: Any = None,
    *,
    gap_tol: float = 1e-3,
    max_steps: int | None = None,
) -> Columns:
    """Solve until the gap of each output is at most ``gap_tol * max(1, |objective|)``.

    Parameters
    ----------
    kernel : KernelInParts
        With methods for several columns: ``images``, ``summed``, ``times`` and ``part``.
    terms : DualTerms
        Of shape (n_samples, n_outputs); all quadratic terms are positive.
    start : ndarray of shape (n_samples, n_outputs), optional
    images : images, optional
        Those of the start, where the kernel has them.
    gap_tol : float, default=1e-3
    max_steps : int, optional
        Most steps of conjugate gradients.
    """
    most = MOST_STEPS if max_steps is None else int(max_steps)
    solve = _Newton(kernel, terms, gap_tol, most)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # what is not finite raises an error
        solve.begin(start, images)
        return solve.run()


class _Newton:
    def __init__(self, kernel: Any, terms: Any, gap_tol: float, most: int):
        self.kernel, self.place, self.xp = kernel, kernel.place, kernel.place.xp
        self.terms = terms.mapped(lambda term: self.place.asarray(np.ascontiguousarray(term)))
        self.shape = terms.linear.shape
        self.gap_tol, self.most, self.steps = gap_tol, most, 0
        self.near: Landmarks | None = None
        self.idle = 0  # steps in a row that gained nothing
        self.closer, self.wrong_set = CLOSER, WRONG_SET[0]
        self.bend = self.terms.quadratic + self.place.asarray(np.asarray(kernel.diagonal, dtype=np.float64))[:, None]
        self.first, self.share = 0.0, 0.0  # of progress
        self.is_fresh = True  # whether images are products with c, and no sum of products

    # Points

    def begin(self, start: np.ndarray | None, images: Any) -> None:
        """At the start, clipped to its bounds, or at zero for outputs of which that is worse."""
        place, xp, terms = self.place, self.xp, self.terms
        zeros = place.zeros(self.shape)
        self.c, self.values, self.images = zeros, zeros, self.kernel.no_images(self.shape[1])
        weight = xp.sum(1.0 / terms.quadratic, axis=0)
        self.b = self._balanced(zeros, xp.sum(terms.linear / terms.quadratic, axis=0) / weight)
        if start is None or not np.any(start):
            return
        if start.shape != self.shape or not np.isfinite(start).all():
            raise ValueError(f"start must hold finite coefficients of shape {self.shape}")
        before = place.asarray(start, "float64")
        c = self._within(before)
        if images is None or bool(xp.any(c != before)):
            images = self._product(c)
        values = self.kernel.summed(images)
        b = self._balanced(values, self.b)
        better = self._primal(c, values, b) < self._primal(zeros, zeros, self.b)
        self.c, self.values = xp.where(better, c, zeros), xp.where(better, values, zeros)
        self.images, self.b = xp.where(better, images, self.images), xp.where(better, b, self.b)

    def _within(self, c: Any) -> Any:
        return self.xp.minimum(self.xp.maximum(c, self.terms.lower), self.terms.upper)

    def _feasible(self, c: Any) -> Any:
        """Coefficients within bounds and of the right sum: those that may fall are lowered, each by its share."""
        xp, c = self.xp, self._within(c)
        for _ in range(MOST_TRIALS):
            excess = xp.sum(c, axis=0) - self.terms.total
            if bool(xp.all(xp.abs(excess) <= SUM_ERROR * xp.sum(xp.abs(c), axis=0))):
                break
            falling = xp.clip(xp.sign(excess) * c, min=0.0)
            room = xp.where(xp.sum(falling, axis=0) > 0.0, falling, xp.abs(c))
            whole = xp.sum(room, axis=0)
            c = self._within(c - room * xp.where(whole > 0.0, excess / whole, 0.0))
        return c

    def _product(self, columns: Any) -> Any:
        found = self.kernel.images(columns)
        if not bool(self.xp.all(self.xp.isfinite(self.xp.sum(found)))):
            raise ValueError(NOT_FINITE)
        return found

    def _primal(self, c: Any, values: Any, b: Any) -> Any:
        losses, _ = self.terms.respond(values + b)
        return 0.5 * self.xp.sum(c * values, axis=0) + losses + b * self.terms.total

    def _gaps(self, c: Any, values: Any, b: Any) -> tuple[Any, Any]:
        """Gap and objective of each output.

        Coefficients beyond their bounds, which the end will not have, are put to them; of what that changes in c'Kc the
        diagonal is counted, so that the gap is an estimate then.
        """
        xp, terms = self.xp, self.terms
        within = self._within(c)
        z = terms.linear - values - b
        excess = terms.worth(terms.coefficients(values + b), z) - terms.worth(within, z)
        excess = xp.where(excess < 0.0, 0.0, excess) + 0.5 * self.bend * (c - within) ** 2
        objective = xp.sum(terms.worth(within, terms.linear) - 0.5 * within * values, axis=0)
        return xp.sum(excess, axis=0), objective

    def _excess(self) -> float:
        """How many times the largest gap is what is wanted."""
        gaps, objective = self._gaps(self.c, self.values, self.b)
        return float(self.xp.max(gaps / self._limits(objective)))

    def _limits(self, objective: Any) -> Any:
        return self.gap_tol * self.xp.clip(self.xp.abs(objective), min=1.0)

    def _balanced(self, values: Any, b: Any) -> Any:
        """The bias of each output at which responses add up to the total: Newton's method between bounds.

        Where no response depends on the bias it goes on beyond the next kink.
        """
        xp, terms = self.xp, self.terms
        low, high = xp.full_like(b, -np.inf), xp.full_like(b, np.inf)
        stride = 1.0 + xp.max(xp.abs(terms.linear - values - b), axis=0)
        for _ in range(MOST_TRIALS):
            v = terms.coefficients(values + b)
            excess = xp.sum(v, axis=0) - terms.total
            rate = xp.sum(xp.where(terms.curves(v), 1.0 / terms.quadratic, 0.0), axis=0)
            right = xp.abs(excess) <= SUM_ERROR * (xp.sum(xp.abs(v), axis=0) + abs(terms.total))
            if bool(xp.all(right)):
                break
            low, high = xp.where(excess > 0.0, b, low), xp.where(excess < 0.0, b, high)
            new = b + xp.where(rate > 0.0, excess / xp.where(rate > 0.0, rate, 1.0), xp.sign(excess) * stride)
            beyond = (new <= low) | (new >= high)
            b = xp.where(right, b, xp.where(beyond & xp.isfinite(low) & xp.isfinite(high), 0.5 * (low + high), new))
        return b

    # The method

    def run(self) -> Columns:
        xp, best, newton = self.xp, np.inf, 0
        while True:
            newton += 1
            gaps, objective = self._gaps(self.c, self.values, self.b)
            stops = self.steps >= self.most or self.idle >= MOST_IDLE or newton > MOST_NEWTON
            if stops or bool(xp.all(gaps <= self.closer * self._limits(objective))):
                found = self._ended()
                excess = float((found.gaps / (self.gap_tol * np.maximum(1.0, np.abs(found.objectives)))).max())
                found.converged = found.gaps <= self.gap_tol * np.maximum(1.0, np.abs(found.objectives))
                if found.converged.all() or stops or not (excess <= 0.9 * best or np.isinf(best)):
                    return found
                self._refresh(found)
                best, self.closer = excess, self.closer * CLOSER * (min(1.0, CLOSER / excess) if excess < np.inf else 1)
            self._step()

    def _ended(self) -> Columns:
        """The end from here: coefficients within bounds, of the right sum, a fresh product, and the best biases."""
        place, xp, terms = self.place, self.xp, self.terms
        c, images = self._feasible(self.c), self.images
        if not self.is_fresh or bool(xp.any(c != self.c)):
            images = self._product(c)
        values = self.kernel.summed(images)
        b = self._balanced(values, self.b)
        gaps, objective = self._gaps(c, values, b)
        excess = xp.abs(xp.sum(c, axis=0) - terms.total)
        gaps = xp.where(excess <= SUM_ERROR * (terms.total + xp.sum(xp.abs(c), axis=0)), gaps, np.inf)
        missed = terms.quadratic * (terms.coefficients(values + b) - c)
        found = Columns(
            coef=np.array(place.numpy(c)),
            intercept=np.array(place.numpy(b)),
            objectives=np.array(place.numpy(objective)),
            gaps=np.array(place.numpy(gaps)),
            violations=np.array(place.numpy(xp.max(xp.abs(missed), axis=0))),
            converged=np.zeros(self.shape[1], dtype=bool),
            steps=self.steps,
            images=images,
        )
        if not np.isfinite(found.objectives).all() or np.isnan(found.gaps).any():
            raise ValueError(NOT_FINITE)
        return found

    def _refresh(self, found: Columns) -> None:
        """Remove what rounding has done to the images, where the end was not good enough."""
        if self.is_fresh:
            return
        same = bool(self.xp.all(self.place.asarray(found.coef) == self.c))
        self.images, self.is_fresh = found.images if same else self._product(self.c), True
        self.values = self.kernel.summed(self.images)

    def _step(self) -> None:
        """One step of Newton's method: its direction, and how far to go."""
        xp, terms = self.xp, self.terms
        v = terms.coefficients(self.values + self.b)
        free = terms.curves(v)
        change, images = self._direction(v, free)
        moved = self.kernel.summed(images)
        before = self._primal(self.c, self.values, self.b)
        length, self.b, after = self._search(change, moved)
        excess = self._excess()
        self.c = self.c + length * change
        self.values = self.values + length * moved
        self.images, self.is_fresh = self.images + length * images, False
        if not bool(xp.all(xp.isfinite(self.b))):
            raise ValueError(NOT_FINITE)
        is_closer = self._excess() < SHORT * excess
        self.wrong_set = WRONG_SET[0] if is_closer else max(WRONG_SET[1], 0.1 * self.wrong_set)
        self.idle = 0 if is_closer or float(xp.sum(after)) < (1.0 - IDLE) * float(xp.sum(before)) else self.idle + 1

    def _direction(self, v: Any, free: Any) -> tuple[Any, Any]:
        """The change of c that solves the free samples' equations, and its images."""
        xp, terms = self.xp, self.terms
        mask = xp.astype(free, xp.float64)
        change = (1.0 - mask) * (v - self.c)
        lacking = terms.total - xp.sum(self.c + change, axis=0)
        change = change + mask * (lacking / xp.clip(xp.sum(mask, axis=0), min=1.0))
        moves = bool(xp.any(xp.abs(change) > 0.0))
        images = self._product(change) if moves else self.kernel.no_images(self.shape[1])
        equations = _Equations(self, v, mask, change, images)
        equations.restart(self._landmarks(mask, LITTLE))
        excesses: list[float] = []
        while self.steps < self.most:
            excess, is_done = equations.state()
            excesses.append(excess)
            self._show(excess)
            if is_done:
                break
            if not equations.is_plain and (left := steps_left(excesses)) > MANY:
                near = self._landmarks(mask, 0.25 * min(left, MOST_LEFT))
                if near is not equations.near:
                    equations.restart(near)
                    excesses.clear()
            if not equations.advance():
                break
        return equations.change, equations.images

    def _landmarks(self, mask: Any, products: float) -> Landmarks | None:
        """The preconditioner for these free samples that takes no longer than so many products; None for none."""
        xp, n, near = self.xp, self.shape[0], self.near
        same = bool(xp.all(mask == mask[:, :1]))
        if near is None or mask is near.mask:
            weight = 1.0 / self.terms.quadratic + xp.zeros_like(mask)
            is_shared = same and bool(xp.all(weight == weight[:, :1]))
            value = VALUE * self.kernel.n_used / (1 if is_shared else mask.shape[1])
            m = n if n <= SMALL else min(MOST_LANDMARKS, n, int((products * value * n) ** 0.5))
            if (m < FEWEST and n > SMALL) or (near is not None and m < MORE * len(near.rows)):
                return near
            rows = np.sort(np.random.RandomState(0).choice(n, m, replace=False))
            near = self.near = Landmarks(self.kernel, rows, weight, is_shared)
        else:
            changed = float(xp.sum(xp.abs((mask - near.mask)[:, :1] if same else mask - near.mask)))
            if n > SMALL and changed * len(near.rows) ** 2 > products * VALUE * self.kernel.n_used * n**2:
                return None
        near.follow(mask)
        return near

    def _search(self, change: Any, moved: Any) -> tuple[Any, Any, Any]:
        """How far to go with each output, to the end or to where P is about least on the way, the bias and P there."""
        xp, terms = self.xp, self.terms

        def at(t: Any, b: Any) -> tuple[Any, Any, Any]:
            """P and its slope at the best bias, and that."""
            c, values = self.c + t * change, self.values + t * moved
            b = self._balanced(values, b)
            losses, v = terms.respond(values + b)
            value = 0.5 * xp.sum(c * values, axis=0) + losses + b * terms.total
            return value, xp.sum(moved * (c - v), axis=0), b

        low, high = xp.zeros_like(self.b), xp.ones_like(self.b)
        end = self._balanced(self.values + moved, self.b)
        gaps, objective = self._gaps(self.c + change, self.values + moved, end)
        ends = gaps <= self.closer * self._limits(objective)  # P need not fall there
        before, first, _ = at(low, self.b)
        slack, t, b = IDLE * xp.abs(before), high, self.b
        flat = FLAT * xp.abs(first) + FLATTEST * xp.abs(before)
        for _ in range(MOST_TRIALS):
            after, rise, b = at(t, b)
            enough = ends | ((after <= before + slack) & (rise <= flat) & ((t == 1.0) | (rise >= -flat)))
            if bool(xp.all(enough)):
                break
            low, high = xp.where(rise > 0.0, low, t), xp.where(rise > 0.0, t, high)
            t = xp.where(enough, t, 0.5 * (low + high))
        after, _, b = at(t, b)
        worse = (after > before + slack) & ~ends
        return xp.where(worse, 0.0, t), xp.where(worse, self.b, b), xp.where(worse, before, after)

    def _show(self, excess: float) -> None:
        """Call the kernel's `progress` with the share of the orders of magnitude that is done."""
        progress = getattr(self.kernel, "progress", None)
        if progress is None or not 0.0 < excess < np.inf:
            return
        self.first = max(self.first, excess)
        share = np.log(self.first / excess) / np.log(self.first) if excess > 1.0 else 1.0
        self.share = max(self.share, float(share))
        progress(self.share)


def steps_left(excesses: list[float]) -> float:
    """How many steps more the pace of the last ones promises until 1 is reached; 0 before there is a pace.

    >>> steps_left([1e5, 1e4, 1e3, 1e2])
    0.0
    >>> round(steps_left([1e6, 1e5, 1e4, 1e3, 1e2]), 3)
    2.0
    """
    if len(excesses) <= LOOK:
        return 0.0
    pace = (excesses[-1] / excesses[-LOOK]) ** (1.0 / (LOOK - 1))
    return float(-np.log(excesses[-1]) / np.log(pace)) if pace < 1.0 else np.inf


class _Equations:
    """Conjugate gradients on the equations of one step, from a change of c and its images."""

    def __init__(self, newton: _Newton, v: Any, mask: Any, change: Any, images: Any):
        self.newton, self.xp, self.mask = newton, newton.xp, mask
        self.change, self.images = change, images
        self.values = newton.kernel.summed(images)
        terms = newton.terms
        self.weight = mask / terms.quadratic
        self.total = self.xp.sum(self.weight, axis=0)
        right = terms.linear - terms.insensitivity * self.xp.sign(v) if terms.insensitivity else terms.linear
        self.b = self.xp.zeros_like(newton.b)
        self.residual = mask * (right - newton.values - self.values - terms.quadratic * (newton.c + change))
        self._centre()
        self.b = self.xp.where(self.total > 0.0, self.b, newton.b)
        self.near: Landmarks | None = None
        self.is_plain = False  # whether there is to be no preconditioner
        self.direction: Any = None
        self.before: Any = None  # the residual before the last step, and its product with what it was conditioned to
        self.product: Any = None

    def _centre(self) -> None:
        """Move the bias to where the weighted residuals add up to 0."""
        shift = self.xp.sum(self.weight * self.residual, axis=0) / self.xp.where(self.total > 0.0, self.total, 1.0)
        self.residual = self.residual - self.mask * shift
        self.b = self.b + shift

    def state(self) -> tuple[float, bool]:
        """How many times the largest gap is what is wanted, and whether nothing is left to do here."""
        newton, xp, wrong = self.newton, self.xp, self.newton.wrong_set
        left = 0.5 * xp.sum(self.weight * self.residual**2, axis=0)
        gaps, objective = newton._gaps(newton.c + self.change, newton.values + self.values, self.b)
        limits = newton.closer * newton._limits(objective)
        done = (gaps <= limits) | (left <= wrong * gaps)
        return float(xp.max(xp.where(done, 0.0, gaps / limits))), bool(xp.all(done))

    def restart(self, near: Landmarks | None) -> None:
        """Go on with a preconditioner, if there is one."""
        if near is None:
            return
        self.near, self.direction = near, None
        self.ones = near.solve(self.mask, self.mask)
        self.sums = self.xp.sum(self.ones, axis=0)

    def _conditioned(self) -> Any:
        if self.near is None:
            return self.weight * self.residual
        z = self.near.solve(self.residual, self.mask)
        return z - self.ones * (self.xp.sum(z, axis=0) / self.xp.where(self.sums != 0.0, self.sums, 1.0))

    def advance(self) -> bool:
        """One step for all outputs; whether any of them moved."""
        newton, xp, terms = self.newton, self.xp, self.newton.terms
        z = self._conditioned()
        product = xp.sum(z * self.residual, axis=0)
        if self.near is not None and bool(xp.any(product < 0.0)):  # rounding left it indefinite
            self.near, self.direction, self.is_plain = None, None, True
            return self.advance()
        if self.direction is None:
            self.direction = z
        else:  # Polak and Ribiere's form: rounding may make the preconditioner another one in each step
            ratio = xp.sum(z * (self.residual - self.before), axis=0) / self.product
            self.direction = z + xp.where(self.product > 0.0, ratio, 0.0) * self.direction
        images = newton._product(self.direction)
        values = newton.kernel.summed(images)
        newton.steps += 1
        image = self.mask * (values + terms.quadratic * self.direction)
        bend = xp.sum(self.direction * image, axis=0)
        if bool(xp.any((bend < 0.0) & (product > 0.0))):
            raise ValueError(INDEFINITE)
        length = xp.where(bend > 0.0, product / xp.where(bend > 0.0, bend, 1.0), 0.0)
        self.before, self.product = self.residual, product
        self.change = self.change + length * self.direction
        self.images, self.values = self.images + length * images, self.values + length * values
        self.residual = self.residual - length * image
        self._centre()
        return bool(xp.any(length != 0.0))


class Landmarks:
    """The preconditioner for some free samples, for each output, or for all where they have the same equations.

    With L L' = K_mm, raised a little so that rounding leaves it definite, S = L (I + G) L', G = L^-1 K_mF W K_Fm L^-T;
    I + G is what is inverted, since it is far from singular.
    """

    def __init__(self, kernel: Any, rows: np.ndarray, weight: Any, is_shared: bool):
        self.kernel, self.rows, self.weight, self.is_shared = kernel, rows, weight, is_shared
        self.place, self.xp = kernel.place, kernel.place.xp
        self.mask = self.place.zeros(weight.shape)  # of no sample yet
        own = self.xp.astype(kernel.part(rows, rows), self.xp.float64)
        self.eye = self.place.asarray(np.eye(len(rows)))
        own = 0.5 * (own + own.T) + self._ridge(own) * self.eye
        try:
            self.root = self.xp.linalg.inv(self.xp.linalg.cholesky(own))
        except (ValueError, RuntimeError) as indefinite:  # of NumPy, and of torch
            raise ValueError(NOT_FINITE if bool(self.xp.any(own != own)) else INDEFINITE) from indefinite
        n_systems = 1 if is_shared else weight.shape[1]
        self.sums = self.place.zeros((n_systems, len(rows), len(rows)))  # K_mF W K_Fm

    def _ridge(self, own: Any) -> float:
        xp, n, m = self.xp, self.weight.shape[0], len(self.rows)
        size, cost = float(xp.max(xp.abs(own))), float(xp.max(self.weight))
        of_values = self.kernel.rounding * size * (1.0 + cost * size * n**0.5)
        return m * of_values + 100.0 * EPS * cost * size**2 * n or 1.0

    def follow(self, mask: Any) -> None:
        """Bring the sums up to date for other free samples."""
        place, xp = self.place, self.xp
        if self.is_shared and not bool(xp.all(mask == mask[:, :1])):
            self.sums, self.is_shared = xp.concat([self.sums] * mask.shape[1]), False
        change = place.numpy(mask - self.mask)
        changed = np.flatnonzero(change.any(axis=1))
        size = max(1, CHUNK // len(self.rows))
        for first in range(0, len(changed), size):
            some = changed[first : first + size]
            part = xp.astype(self.kernel.part(some, self.rows), xp.float64)
            by = place.take(place.asarray(change) * self.weight, some)
            for r in range(self.sums.shape[0]):
                own = np.flatnonzero(change[some, r])
                mine = part if len(own) == len(some) else place.take(part, own)
                self.sums[r, ...] += mine.T @ (place.take(by[:, r], own)[:, None] * mine)
        self.mask = mask
        inner = self.root @ self.sums @ self.root.T
        self.inverse = xp.linalg.inv(0.5 * (inner + xp.matrix_transpose(inner)) + self.eye)

    def solve(self, residual: Any, mask: Any) -> Any:
        """The preconditioner times residuals of the free samples."""
        xp, weighted = self.xp, mask * self.weight * residual
        seen = self.root @ self.kernel.times(self.rows, None, weighted)
        if self.is_shared:
            inner = self.inverse[0, ...] @ seen
        else:
            inner = xp.stack([self.inverse[r, ...] @ seen[:, r] for r in range(seen.shape[1])], axis=1)
        return weighted - mask * self.weight * self.kernel.times(None, self.rows, self.root.T @ inner)
