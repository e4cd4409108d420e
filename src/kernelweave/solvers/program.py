"""A machine's dual, written out for cone solvers, and the second derivative of its optimum by kernel weights.

    J = max over z    p'z - 1/2 z'diag(h)z - 1/2 sum_r c_r' K c_r
    subject to        lower <= z <= upper,      sum_i C[i, r] = total_r  for every column r

Every dual variable z_v belongs to one sample and adds itself to one column of C, takes itself from one, or both:

=====================  ===============  =================================  ============
machine                z                C                                  h
=====================  ===============  =================================  ============
binary, one-class      c                z                                  0
epsilon-SVR            alpha+, alpha-   alpha+ - alpha-                    0
joint multiclass       alpha_i^l        [y_i = l] A_i - alpha_i^l          0
least squares          alpha            alpha                              1 / C_i
squared hinge          c                z                                  1 / C_i
squared epsilon-SVR    alpha+, alpha-   alpha+ - alpha-                    1 / C_i
=====================  ===============  =================================  ============

Where z is free (strictly between its bounds) it follows the kernel: with K = sum_m eta_m K_m, the free part of z solves
a linear system whose matrix G is that of the quadratic form in the free variables, and

    d2 J / d eta_m d eta_h = R_m' (G^-1 - G^-1 A' (A G^-1 A')^-1 A G^-1) R_h

where R_m[v] is the entry of K_m C that z_v multiplies (in the column that it adds to, less the one that it takes from),
and A sums the columns (Chapelle & Rakotomamonjy, *Second order optimization of kernel parameters*, 2008). The curvature
is exact until the free set changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .sums import Images

SMALL = 64  # free variables of a program of one column up to which many of them are solved together
TOGETHER = 256  # so many at a time
DIRECT = 700  # free variables up to which a factorisation is faster than conjugate gradients
MOST_WHOLE = 3000  # free variables whose part of a kernel in parts is made whole; 1/4 of all cost few more solves
MOST_STEPS = 8  # of conjugate gradients: a rough curvature serves as well
RIDGE = 1e-8  # of the mean diagonal, so that duplicated samples do no harm
INSIDE = 1e-8  # of the width of the box (of the largest z where that is infinite): nearer counts as at the bound
ARRAYS = ("linear", "quadratic", "lower", "upper", "sample", "plus", "minus")


@dataclass(frozen=True)
class DualProgram:
    """One independent part of a machine's dual.

    Attributes
    ----------
    linear, quadratic : ndarray of shape (n_variables,)
        p and h.
    lower, upper : ndarray of shape (n_variables,)
    sample : ndarray of int, shape (n_variables,)
        The sample each variable belongs to.
    plus, minus : ndarray of int, shape (n_variables,)
        The column of C it adds itself to, and the one it takes itself from; -1 for none.
    total : float
        Required sum of each column of C.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.machines import RegressionMachine
    >>> program = RegressionMachine(np.array([1.0, 2.0]), bound=3.0, epsilon=0.1).programs()[0]
    >>> program.plus, program.minus, program.linear
    (array([ 0,  0, -1, -1]), array([-1, -1,  0,  0]), array([ 0.9,  1.9, -1.1, -2.1]))
    """

    linear: np.ndarray
    quadratic: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    sample: np.ndarray
    plus: np.ndarray
    minus: np.ndarray
    total: float = 0.0

    def part(self, chosen: slice) -> DualProgram:
        """The program of some of the variables."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in ARRAYS})

    def placed(self, rows: np.ndarray, column: int) -> DualProgram:
        """The program of one column as a part of a larger one: of the samples at these rows, and of this column."""
        plus, minus = np.where(self.plus >= 0, column, -1), np.where(self.minus >= 0, column, -1)
        return replace(self, sample=rows[self.sample], plus=plus, minus=minus)

    def columns(self) -> np.ndarray:
        """The columns of C that belong to this part."""
        used = np.union1d(self.plus, self.minus)
        return used[used >= 0]

    def variables(self, coef: np.ndarray) -> np.ndarray:
        """The dual variables behind coefficients C of shape (n_samples, n_outputs)."""
        taken = self.minus >= 0
        z = np.where(taken, -coef[self.sample, self.minus], coef[self.sample, self.plus])
        return np.clip(z, self.lower, self.upper)

    def seen_by(self, images: Images, chosen: np.ndarray) -> np.ndarray:
        """What the chosen variables, none of them zero, see of images: column plus minus column minus."""
        seen = np.zeros((len(images.values), len(chosen)))
        for columns, sign in ((self.plus[chosen], 1.0), (self.minus[chosen], -1.0)):
            has = columns >= 0
            seen[:, has] += sign * images.at(self.sample[chosen][has], columns[has])
        return seen

    def matrix(self, K: Any, chosen: np.ndarray) -> np.ndarray:
        """The quadratic form in the chosen variables, diag(h) included; K is a matrix or in parts."""
        incidence = self.incidence(chosen)
        samples = self.sample[chosen]
        block = K[np.ix_(samples, samples)] if isinstance(K, np.ndarray) else K.block(samples)
        G = block.astype(np.float64, copy=False)  # new in either case
        if incidence.shape[1] > 1 or (incidence < 0).any():
            G *= incidence @ incidence.T
        G[np.diag_indices_from(G)] += self.quadratic[chosen]
        return G

    def incidence(self, chosen: np.ndarray) -> np.ndarray:
        """+1 at each variable's column plus, -1 at its column minus, of shape (n_chosen, n_columns)."""
        columns = self.columns()
        return 1.0 * (self.plus[chosen, None] == columns) - (self.minus[chosen, None] == columns)


def joined(programs: list[DualProgram]) -> DualProgram:
    arrays: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in programs]) for name in ARRAYS}
    return replace(programs[0], **arrays)


def curvature(programs: list[DualProgram], K: Any, coef: np.ndarray, images: Images) -> np.ndarray:
    """Second derivatives of J, of shape (P, P) and positive semidefinite, by the weights of the matrices of the images.

    K is a matrix or in parts; in parts, at most `MOST_WHOLE` free variables of a program, chosen at random, stand for
    all of them. C need not be exact, and `images` are what `sums.images` returns for it.
    """
    H = np.zeros((len(images.values), len(images.values)))
    if not programs:
        return H
    every = joined(programs)
    z = every.variables(coef)
    width = every.upper - every.lower
    margin = INSIDE * np.where(np.isfinite(width), width, np.abs(z).max(initial=0.0))
    inside = (z > every.lower + margin) & (z < every.upper - margin)
    diagonal = (np.diagonal(K) if isinstance(K, np.ndarray) else K.diagonal)[every.sample] + every.quadratic
    # A sample that K has nothing of, such as one whose views all have weight 0, has no finite curvature to add.
    free = np.flatnonzero(inside & (z != 0.0) & (diagonal > RIDGE * diagonal.max(initial=0.0)))
    seen = every.seen_by(images, free)
    begins = np.cumsum([0, *(len(program.linear) for program in programs)])
    starts = np.searchsorted(free, begins)  # where the free variables of each program begin
    counts = np.diff(starts)
    one_column = _one_column(every, begins[:-1])
    small = one_column & (counts <= SMALL) & isinstance(K, np.ndarray)
    sharing: dict[Any, list[int]] = {}  # programs with the same quadratic form, such as targets of least squares
    for part in np.flatnonzero(~small & (counts > 0)).tolist():
        chosen = free[starts[part] : starts[part + 1]]
        form = (every.sample[chosen], every.plus[chosen] >= 0, every.quadratic[chosen])
        sharing.setdefault(tuple(a.tobytes() for a in form) if one_column[part] else part, []).append(part)
    for parts in sharing.values():
        chosen = free[starts[parts[0]] : starts[parts[0] + 1]] - begins[parts[0]]
        H += _parts(programs[parts[0]], K, chosen, [seen[:, starts[part] : starts[part + 1]] for part in parts])
    alike = np.flatnonzero(small & (counts > 0))
    alike = alike[np.argsort(counts[alike], kind="stable")]  # those of about the same size together
    for first in range(0, len(alike), TOGETHER):
        chunk = alike[first : first + TOGETHER]
        H += _small_parts(every, K, free, seen, starts[chunk], counts[chunk])
    return H


def _one_column(every: DualProgram, begins: np.ndarray) -> np.ndarray:
    """Whether all variables of a program, which begin at these places, add to or take from one and the same column."""
    column = np.maximum(every.plus, every.minus)
    one_sided = np.logical_and.reduceat(np.minimum(every.plus, every.minus) < 0, begins)
    return one_sided & (np.minimum.reduceat(column, begins) == np.maximum.reduceat(column, begins))


def _small_parts(every, K, free, seen, starts, counts):
    """The sum of `_parts` over programs of one column, padded to the same size by variables that do nothing."""
    n, width = len(seen), counts.max()
    real = np.arange(width) < counts[:, None]
    place = np.where(real, starts[:, None] + np.arange(width), 0)
    chosen = free[place]
    samples = every.sample[chosen]
    signs = np.where(every.plus[chosen] >= 0, 1.0, -1.0) * real
    G = K[samples[:, :, None], samples[:, None, :]] * (signs[:, :, None] * signs[:, None, :])
    diagonal = np.einsum("bii->bi", G)  # a view
    diagonal += every.quadratic[chosen] * real
    ridge = RIDGE * np.maximum(diagonal.sum(axis=1) / counts, np.finfo(float).tiny)
    diagonal += np.where(real, ridge[:, None], 1.0)
    right = np.concatenate([seen.T[place] * real[:, :, None], signs[:, :, None]], axis=2)
    products = right.transpose(0, 2, 1) @ np.linalg.solve(G, right)
    H, across, total = products[:, :n, :n], products[:, :n, n], products[:, n, n]
    return np.sum(_semidefinite(H - across[:, :, None] * (across / total[:, None])[:, None, :]), axis=0)


def _parts(program: DualProgram, K: Any, free: np.ndarray, seen: list[np.ndarray]) -> np.ndarray:
    """The sum over programs that have the quadratic form of this one and see these images: one solve for all."""
    if len(free) > MOST_WHOLE and not isinstance(K, np.ndarray):
        # Free variables are no more than the rank of K, and what they add to the curvature grows with their number.
        some = np.sort(np.random.RandomState(0).permutation(len(free))[:MOST_WHOLE])
        return len(free) / MOST_WHOLE * _parts(program, K, free[some], [own[:, some] for own in seen])
    G = program.matrix(K, free)
    G[np.diag_indices_from(G)] += RIDGE * max(G.diagonal().mean(), np.finfo(float).tiny)
    A = _independent(program.incidence(free).T)
    solved = _solve(G, np.vstack([*seen, A]).T)
    n, total = len(seen[0]), np.zeros((len(seen[0]),) * 2)
    by_sum = solved[:, len(seen) * n :]
    small = A @ by_sum
    for place, own in enumerate(seen):
        across = own @ by_sum
        H = own @ solved[:, place * n : (place + 1) * n]
        H -= across @ np.linalg.lstsq(0.5 * (small + small.T), across.T, rcond=None)[0]
        total += _semidefinite(H)
    return total


def _semidefinite(H: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(0.5 * (H + np.swapaxes(H, -1, -2)))
    return (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _independent(A: np.ndarray) -> np.ndarray:
    """An orthogonal basis of the rows of A: the columns of a joint machine always add up to zero."""
    values, vectors = np.linalg.eigh(A @ A.T)
    return vectors[:, values > 1e-10 * values[-1]].T @ A


def _solve(G: np.ndarray, right: np.ndarray) -> np.ndarray:
    """G^-1 right: by Cholesky where G is small, roughly by conjugate gradients where it is not."""
    if len(G) <= DIRECT:
        try:
            return cho_solve(cho_factor(G, check_finite=False), right, check_finite=False)
        except LinAlgError:
            return np.linalg.lstsq(G, right, rcond=None)[0]
    diagonal = G.diagonal()[:, None]
    x = np.zeros_like(right)
    residual = right.copy()
    z = residual / diagonal
    direction = z.copy()
    product = (residual * z).sum(axis=0)
    first = np.maximum(product, np.finfo(float).tiny)
    for _ in range(MOST_STEPS):
        image = G @ direction
        bend = (direction * image).sum(axis=0)
        step = np.divide(product, bend, out=np.zeros_like(bend), where=bend > 0.0)
        x += step * direction
        residual -= step * image
        z = residual / diagonal
        new = (residual * z).sum(axis=0)
        if (new <= 1e-4 * first).all():
            break
        direction = z + np.divide(new, product, out=np.zeros_like(new), where=product > 0.0) * direction
        product = new
    return x
