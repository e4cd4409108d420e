"""Kernels as functions of one weight per kernel, thesis section 2.2.2: `FormKernel`, and its forms.

In tiles no matrix of all samples is formed. A form without products is a weighted sum (`TiledSum`), whose images K_m c
are kept for each kernel: they stay valid when the weights change, and give the derivative without further products. Any
other form is a function of the values of the kernels (`TiledFunction`). Its derivative takes the values among support
vectors once more, half of them by symmetry:

    -1/2 sum_ij G_ij dK_ij / deta_m,        G = sum_r c_r c_r'.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement, groupby
from typing import Any, Self

import numpy as np

from ..kernels import KernelStack
from ..kernels.normalization import check_known
from ..kernels.tiles.sums import TiledFunction, TiledSum, in_tiles, tile_shape
from ..machines import Solution
from ..machines.base import Operand
from ..solvers.sums import gaussian, gaussian_pullback, polynomial, polynomial_pullback
from ..stacks import TrainingStack, training
from ..stacks.tiles import kept_images
from ..validation.schemas import Schema, numbers, object_of
from ..views import Views
from .combined import CombinedKernel, Record
from .descent import KernelFamily, support_rows


class AugmentedStack(Record):
    """``samples``: k_m(x, x) of each training sample."""

    _saved = Schema(
        {"stack": object_of(KernelStack, "columns", "kernels", "support"), "samples": numbers("support", "kernels")}
    )

    @classmethod
    def of(cls, kernel: Any) -> Self:
        return cls(stack=kernel.stack, samples=kernel.diagonals)

    def restored(self, combiner: Any, theta: np.ndarray) -> FormKernel:
        return FormKernel(self.stack, theta, combiner.kernel_form(self.stack.n_kernels), self.samples)


class FormKernel(CombinedKernel):
    def __init__(
        self,
        stack: KernelStack,
        theta: np.ndarray,
        form: Monomials | GaussianForm,
        diagonals: Any,
        *,
        base: TiledSum | None = None,
    ):
        self.stack, self.theta, self.form, self.diagonals = stack, theta, form, diagonals
        self.base = base

    @property
    def active(self) -> np.ndarray:
        return self.theta > 0

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        return self.form.gram(self, out)

    def operand(self, out: np.ndarray | None = None) -> Operand:
        return training(self.stack).elementwise(self, out)

    def in_parts(self) -> TiledSum | TiledFunction:
        return self.form.in_parts(self)

    def rows(self, index: np.ndarray) -> np.ndarray:
        return training(self.stack).rows_of(self.operand(), index)

    def product(self, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        columns = coef if coef.ndim == 2 else coef[:, None]
        found = training(self.stack).values(self.operand(), np.arange(self.n_samples), index, columns)
        return found if coef.ndim == 2 else found[:, 0]

    def block(self, index: np.ndarray) -> np.ndarray:
        return training(self.stack).block_of(self.operand(), index)

    def cross(self, views: Views) -> np.ndarray:
        return self.form.cross(self, views)

    @property
    def is_sum(self) -> bool:
        return isinstance(self.form, Monomials)

    @property
    def terms(self) -> list[str]:
        return self.form.terms(self.names) if isinstance(self.form, Monomials) else self.names

    def shares(self, views: Views, coef: np.ndarray) -> np.ndarray:
        form = self.form
        if not isinstance(form, Monomials):
            return super().shares(views, coef)
        n_values = max(1, len(coef)) * (int(self.active.sum()) + form.degree)  # all kernels at once, and products
        return views.in_blocks(n_values, lambda part: form.shares(self, part, coef))

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        form = self.form
        if not isinstance(form, Monomials) or not form.is_weighted_sum:
            return None
        own = form.training_coef(self, coef) * (self.theta[m] * form.factor_of(1))
        return self.stack.feature_weights(m, own, np.ones(len(own)))

    def weights(self) -> np.ndarray:
        return self.theta

    def sample_weights(self, views: Views) -> np.ndarray:
        return self.form.sample_weights(self, views)

    def restrict(self, index: np.ndarray) -> FormKernel:
        diagonals = None if self.diagonals is None else self.diagonals[index]
        return self._over(self.stack.restrict(index, self.active), diagonals=diagonals, base=None)

    def _record(self) -> Any:
        return self.stack if self.diagonals is None else AugmentedStack.of(self)


class FormFamily(KernelFamily):
    """A form with all weights; subclasses define where the weights start and what they may be."""

    def __init__(self, stack: TrainingStack, form: Monomials | GaussianForm):
        super().__init__(stack)
        exact = training(stack)
        exact.prepare()
        self.form, self.diagonals, self.place = form, form.diagonals(exact), exact.place
        # a weighted sum in parts, whose images stay valid for all weights
        is_sum = isinstance(form, Monomials) and form.is_weighted_sum and exact.present.all()
        self.base: TiledSum | None = exact.kept_sum() if is_sum else None

    def at(self, theta: np.ndarray) -> FormKernel:
        return FormKernel(training(self.stack), theta, self.form, self.diagonals, base=self.base)

    def pullback(self, kernel: Any, coef: np.ndarray) -> np.ndarray:
        return training(kernel.stack).form_pullback(self.form, kernel, *support_rows(coef))

    def gradient(self, kernel: Any, solution: Solution) -> np.ndarray:
        """`pullback` of a solution; the images K_m c of a weighted sum in parts are not computed again."""
        rows, coef = support_rows(solution.coef)
        images = kept_images(solution, rows, self.place)
        if images is None or not isinstance(self.form, Monomials):
            return self.pullback(kernel, solution.coef)
        return self.form.sum_pullback(kernel, kernel.in_parts(), rows, coef, images)


class Monomials:
    """products (h_d(c, eta_1 k_1, .., eta_P k_P) - c^d) + sums (eta_1 k_1 + .. + eta_P k_P).

    h_d has each monomial of degree d once, with c as a factor; c alone, which only a bias would notice, is left out.

    A sample that lacks a view has a zero row in that kernel. Its row and column are scaled by (H / H_i)^(1/2), where H
    is the form's value for the weights and H_i that for the weights of the sample's kernels, which keeps the kernel
    positive semidefinite and what it makes of unit diagonals; for the plain sum that is the rule of `WeightedSum`.
    """

    def __init__(self, degree: int = 1, constant: float = 0.0, products: float = 1.0, sums: float = 0.0):
        self.degree = int(degree)  # a small type of NumPy wraps
        self.constant = constant
        self.products = products
        self.sums = sums

    def diagonals(self, stack: TrainingStack) -> None:
        return None

    def at_one(self, weights: np.ndarray) -> float:
        """The value where every kernel is 1, as on the diagonal of normalised ones."""
        return float(self._value(weights))

    def gram(self, kernel: FormKernel, out: np.ndarray | None = None) -> np.ndarray:
        stack, eta = kernel.stack, kernel.theta
        K = polynomial(stack.matrices(), eta, *self._shares, out)
        if not stack.present.all():
            factor = self._missing_factor(eta, stack.present)[0]
            K *= factor[:, None]
            K *= factor[None, :]
        return K

    def in_parts(self, kernel: FormKernel) -> TiledSum | TiledFunction:
        factor = self._missing_factor(kernel.theta, kernel.stack.present)[0]
        if not self.is_weighted_sum:
            return form_in_parts(kernel, factor)
        weights = kernel.theta * self.factor_of(1)
        if kernel.base is not None:
            return kernel.base.with_weights(weights)
        left = np.repeat(factor[:, None], kernel.n_kernels, axis=1)
        return TiledSum(kernel.stack.in_parts(), left, weights, keeps_images=True)

    def whole_pullback(self, kernel: FormKernel, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """-1/2 sum_r c_r' (dK / deta) c_r from whole matrices, for the samples with coefficients."""
        stack, eta = kernel.stack, kernel.theta
        present = stack.present[rows]
        if present.all():
            return polynomial_pullback(stack.matrices(), eta, *self._shares, rows, coef)[0]
        factor, slopes = self._missing_factor(eta, present)
        coef = coef * factor[:, None]
        gradient, row_sums = polynomial_pullback(stack.matrices(), eta, *self._shares, rows, coef)
        return gradient - row_sums @ slopes  # dK_ij = f_i f_j dh_ij + K_ij (dlog f_i + dlog f_j)

    def tile_pullback(self, kernel: FormKernel, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        if self.is_weighted_sum:
            operand: Any = kernel.in_parts()
            V = operand.place.asarray(operand.left[rows][:, :, None] * coef[:, None, :], "float64")
            images = operand.place.numpy(operand.tiles.images(rows, rows, V))  # k_m (f c) for each kernel
            return self.sum_pullback(kernel, operand, rows, coef, images)
        factor, slopes = self._missing_factor(kernel.theta, kernel.stack.present[rows])
        lacking = not kernel.stack.present[rows].all()
        gradient, row_sums = form_pullback(kernel, rows, coef * factor[:, None], sums=lacking)
        return gradient - row_sums @ slopes

    def sum_pullback(
        self, kernel: FormKernel, operand: Any, rows: np.ndarray, coef: np.ndarray, images: np.ndarray
    ) -> np.ndarray:
        shares = operand.left[rows] * np.einsum("ir,imr->im", coef, images)
        slopes = self._missing_factor(kernel.theta, kernel.stack.present[rows])[1]
        return -0.5 * self.factor_of(1) * shares.sum(axis=0) - (shares @ operand.weights) @ slopes

    def value_of(self, values: Iterable, shifts: None, xp: Any) -> Any:
        return self._value(values)

    def derivatives(self, values: list[Any], eta: np.ndarray, diagonals: None, xp: Any) -> tuple[Any, list[Any]]:
        """The form of the values of all kernels, and its derivative by each weight, arrays of a place."""
        h, total = self._powers(float(eta[m]) * x for m, x in enumerate(values))
        slopes = []
        for m, x in enumerate(values):
            slope = h[0]
            for k in range(1, self.degree):
                slope = h[k] + float(eta[m]) * x * slope
            slopes.append(x * (self.products * slope + self.sums))
        return self.products * h[-1] + self.sums * total, slopes

    def cross(self, kernel: FormKernel, views: Views) -> np.ndarray:
        stack, eta = kernel.stack, kernel.theta
        present = stack.presence(views, eta > 0)
        used = np.flatnonzero(eta)
        K = self._value(eta[m] * stack.cross(m, views, present[:, m]) for m in used.tolist())
        if not present[:, used].all() or not stack.present[:, used].all():
            K *= self._missing_factor(eta, present)[0][:, None]
            K *= self._missing_factor(eta, stack.present)[0][None, :]
        return K

    def terms(self, names: list[str]) -> list[str]:
        return [_monomial_name([names[m] for m in factors]) for factors in self._monomials(len(names))]

    def shares(self, kernel: FormKernel, views: Views, coef: np.ndarray) -> np.ndarray:
        """Each monomial of new samples times coefficients, of shape (n_new, n_outputs, n_terms)."""
        stack, eta = kernel.stack, kernel.theta
        present = stack.presence(views, eta > 0)
        base = {m: eta[m] * stack.cross(m, views, present[:, m]) for m in np.flatnonzero(eta).tolist()}
        rows = self._missing_factor(eta, present)[0][:, None]
        coef = self.training_coef(kernel, coef)
        monomials = self._monomials(len(eta))
        shares = np.zeros((views.n_samples, coef.shape[1], len(monomials)))
        products: list[tuple[tuple[int, ...], np.ndarray]] = []  # of the first factors: those of the last monomial
        for term, factors in enumerate(monomials):
            if not all(m in base for m in factors):
                continue
            while products and products[-1][0] != factors[: len(products[-1][0])]:
                products.pop()
            for length in range(len(products) + 1, len(factors) + 1):
                last = base[factors[length - 1]]
                products.append((factors[:length], products[-1][1] * last if products else last))
            shares[:, :, term] = self.factor_of(len(factors)) * rows * (products[-1][1] @ coef)
        return shares

    def training_coef(self, kernel: FormKernel, coef: np.ndarray) -> np.ndarray:
        return self._missing_factor(kernel.theta, kernel.stack.present)[0][:, None] * coef

    @property
    def is_weighted_sum(self) -> bool:
        return self.degree == 1 or self.products == 0.0

    def _monomials(self, n_kernels: int) -> list[tuple[int, ...]]:
        degrees = [degree for degree in range(1, self.degree + 1) if self.factor_of(degree) > 0.0]
        return [q for degree in degrees for q in combinations_with_replacement(range(n_kernels), degree)]

    def factor_of(self, degree: int) -> float:
        """The factor of monomials of a degree: h_d has c^(d - degree) with each of them."""
        return self.products * self.constant ** (self.degree - degree) + self.sums * (degree == 1)

    def sample_weights(self, kernel: FormKernel, views: Views) -> np.ndarray:
        """The weights, for a sample that lacks a view spread over the views it has."""
        eta, present = kernel.theta, kernel.stack.presence(views, kernel.active)
        degree = self.degree if self.products else 1
        return present * eta * self._missing_factor(eta, present)[0][:, None] ** (2.0 / degree)

    @property
    def _shares(self) -> tuple[int, float, float, float]:
        return self.degree, self.constant, self.products, self.sums

    def _value(self, values: Iterable) -> Any:
        h, total = self._powers(values)
        return self.products * h[-1] + self.sums * total

    def _powers(self, values: Iterable) -> tuple[list, Any]:
        """h_0 .. h_d of the constant and the values, h_d without the constant alone, and the sum of the values."""
        h, total = [self.constant**k for k in range(self.degree)] + [0.0], 0.0
        for x in values:
            total = total + x
            for k in range(1, self.degree + 1):
                h[k] = h[k] + x * h[k - 1]
        return h, total

    def _missing_factor(self, eta: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(H / H_i)^(1/2) of each sample, and the derivative of its logarithm by each weight; (1, 0) where H_i is 0."""
        values = np.vstack([eta, present * eta])
        h, total = self._powers(values.T)
        slopes = np.ones_like(values) * h[0]
        for k in range(1, self.degree):
            slopes = h[k][:, None] + values * slopes
        slopes = self.products * slopes + self.sums
        slopes[1:] *= present
        H = self.products * h[-1] + self.sums * total
        alone = H <= 0.0  # such rows of the kernel are zero anyway
        logs = np.divide(slopes, np.where(alone, 1.0, H)[:, None])
        factor = np.sqrt(np.where(alone[1:], 1.0, H[0] / np.where(alone, 1.0, H)[1:]))
        return factor, np.where(alone[1:, None], 0.0, 0.5 * (logs[0] - logs[1:]))


def _monomial_name(factors: list[str]) -> str:
    powers = [(name, len(list(equal))) for name, equal in groupby(factors)]
    return "*".join(name if power == 1 else f"{name}^{power}" for name, power in powers)


class GaussianForm:
    """exp(-sum_m eta_m d_m^2): a product of Gaussians of the distances in each kernel's feature space.

    A sample that lacks a view stands at the origin of that kernel's feature space, which is the mean of the training
    samples if kernels are centred; the kernel stays positive semidefinite.
    """

    def diagonals(self, stack: TrainingStack) -> np.ndarray:
        return training(stack).diagonals()

    def gram(self, kernel: FormKernel, out: np.ndarray | None = None) -> np.ndarray:
        return gaussian(kernel.stack.matrices(), kernel.theta, kernel.diagonals, out)

    def in_parts(self, kernel: FormKernel) -> TiledFunction:
        return form_in_parts(kernel, None)

    def whole_pullback(self, kernel: FormKernel, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return gaussian_pullback(kernel.stack.matrices(), kernel.theta, kernel.diagonals, rows, coef)

    def tile_pullback(self, kernel: FormKernel, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return form_pullback(kernel, rows, coef, sums=False)[0]

    def value_of(self, values: Iterable, shifts: Any, xp: Any) -> Any:
        """The form of weighted values, given sum_m eta_m (k_m(x, x) + k_m(z, z)) of each pair."""
        exponent = sum((2.0 * x for x in values), start=-shifts)
        return xp.exp(xp.clip(exponent, max=0.0))

    def derivatives(
        self, values: list[Any], eta: np.ndarray, diagonals: tuple[Any, Any], xp: Any
    ) -> tuple[Any, list[Any]]:
        squares = [diagonals[0][:, m][:, None] + diagonals[1][:, m][None, :] - 2.0 * x for m, x in enumerate(values)]
        exponent: Any = sum(-float(eta[m]) * square for m, square in enumerate(squares))
        K = xp.exp(xp.clip(exponent, max=0.0))
        return K, [-square * K for square in squares]

    def cross(self, kernel: FormKernel, views: Views) -> np.ndarray:
        stack, eta = kernel.stack, kernel.theta
        present = stack.presence(views, eta > 0)
        exponent = np.zeros((views.n_samples, stack.n_samples))
        exponent -= (kernel.diagonals @ eta)[None, :]
        for m in np.flatnonzero(eta).tolist():
            K, diagonal = stack.compare(m, views, present[:, m])
            check_known(diagonal, stack.names[m])
            K *= 2.0
            K -= diagonal[:, None]
            K *= eta[m]
            exponent += K
        return np.exp(np.minimum(exponent, 0.0, out=exponent), out=exponent)

    def sample_weights(self, kernel: FormKernel, views: Views) -> np.ndarray:
        return kernel.stack.presence(views, kernel.active) * kernel.theta


def form_in_parts(kernel: FormKernel, factor: np.ndarray | None) -> TiledFunction:
    form: Any = kernel.form
    eta, parts = kernel.theta, kernel.stack.in_parts()
    used = np.flatnonzero(eta).tolist()
    xp, place = parts.place.xp, parts.place
    shifts = None if kernel.diagonals is None else place.asarray(kernel.diagonals @ eta, "float64")

    def combine(values: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
        weighted = (float(eta[m]) * x for m, x in zip(used, values, strict=True))
        if shifts is None:
            return form.value_of(weighted, None, xp)
        left, right = (place.take(shifts, index) for index in (rows, columns))
        return form.value_of(weighted, left[:, None] + right[None, :], xp)

    diagonals = parts.diagonals()
    if kernel.diagonals is None:
        diagonal = np.asarray(form.value_of((eta[m] * diagonals[:, m] for m in used), None, np))
    else:
        diagonal = np.ones(len(diagonals))
    return TiledFunction(parts, combine, diagonal, kernels=used, factor=factor)


def form_pullback(
    kernel: FormKernel, rows: np.ndarray, coef: np.ndarray, *, sums: bool
) -> tuple[np.ndarray, np.ndarray]:
    """-1/2 sum_ij G_ij dK_ij / deta_m of each weight, and sum_j G_ij K_ij of each row."""
    parts, eta = kernel.stack.in_parts(), kernel.theta
    xp, place = parts.place.xp, parts.place
    form: Any = kernel.form
    C = place.asarray(coef, "float64")
    diagonals = None if kernel.diagonals is None else place.asarray(kernel.diagonals[rows], "float64")
    n_rows = len(rows)
    height, width = tile_shape(place, n_rows)
    n_tasks = -(-n_rows // height)
    gradients, row_sums = np.zeros((n_tasks, len(eta))), np.zeros(n_rows)

    def work(task: int) -> None:
        first, last = task * height, min((task + 1) * height, n_rows)
        stop = n_rows if sums else last
        for left in range(0, stop, width):
            right = min(left + width, stop)
            tile = rows[first:last], rows[left:right]
            values = [xp.astype(parts.block(m, *tile), xp.float64, copy=False) for m in range(len(eta))]
            both = None if diagonals is None else (diagonals[first:last, :], diagonals[left:right, :])
            K, slopes = form.derivatives(values, eta, both, xp)
            G = C[first:last, :] @ C[left:right, :].T
            if sums:
                row_sums[first:last] += place.numpy(xp.sum(G * K, axis=1))
            counted = np.where(np.arange(left, right) < (0 if sums else first), 1.0, 0.5)  # pairs left out count twice
            for m, slope in enumerate(slopes):
                gradients[task, m] -= place.numpy(xp.sum(G * slope, axis=0)) @ counted

    in_tiles(place, work, n_tasks)
    return gradients.sum(axis=0), row_sums
