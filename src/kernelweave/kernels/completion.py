"""Completion of kernels: rows of samples that lack a view, from kernel ridge regression on the kernels of other views.

For each view let Q be the training samples that have it and some other view. A sample x that lacks the view is stood
for by a mean of these, with coefficients a(x) that may be negative, so that with one matrix A for all kernels K_m of
the view, whose row is a unit vector for a sample that has the view, and a(x) for one that lacks it,

    K_m  ->  A K_m[Q, Q] A',     a(x) = w/W + s_c(x) R (R T R + lambda I)^-1 R,     lambda = 0.1 sum_i w_i T_ii / W

which is positive semidefinite. T is S[Q, Q] and s_c(x) is S[x, Q], both about their means; w are the weights of samples
in Q, W their sum and R the diagonal matrix of their roots. That is ridge regression with an intercept: coefficients add
up to 1. S is a kernel of the other views, those that read none of the same columns; each view counts once, by the mean
of its kernels. In the first step S is their sum as `stacks.base.missing_factor` scales it for the views that a sample
has, in the next two the mean of the kernels that the step before completed. New samples go through the same steps with
the regressions of the training samples. Explicit features are completed alike, see `features.completion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigvalsh

from ..arrays import Place
from ..validation.schemas import Schema, Sizes, expect, flags, numbers, refuse, several
from ..views import Views
from .stack import KernelStack, feature_weights

STEPS = 3
STRENGTH = 0.1  # of the ridge; the same as by leave-one-out error, to 0.1 points of accuracy on 24 masked data sets
CONSTANT = 1e-12  # share of S that varies, below which samples tell nothing of each other


@dataclass(frozen=True)
class View:
    """A view: the `kernels` that read it, positions of the `others` that complete it, `rows` (Q) of its regression."""

    kernels: list[int]
    others: list[int]
    rows: np.ndarray


def views_of(kernels: Sequence[Any], held: np.ndarray) -> list[View]:
    """The views that fitted kernels read: kernels of the same columns have one, but kernels of ids each their own."""
    groups: dict[Any, list[int]] = {}
    for m, kernel in enumerate(kernels):
        columns = frozenset(kernel.columns().tolist())
        groups.setdefault((columns, m if kernel.reads_ids else None), []).append(m)
    columns_of = [columns for columns, _ in groups]
    members = list(groups.values())
    there = held[:, [group[0] for group in members]]
    found = []
    for v, columns in enumerate(columns_of):
        others = [u for u, other in enumerate(columns_of) if u != v and not columns & other]
        found.append(View(members[v], others, np.flatnonzero(there[:, v] & there[:, others].any(axis=1))))
    return found


def n_steps(views: list[View]) -> int:
    """How often views are completed; of two views, the other one needs no completion."""
    return STEPS if len(views) > 2 else 1


def not_completed(view: View, names: list[str]) -> ValueError:
    """What is raised where nothing tells of a view that a sample lacks."""
    why = "no training sample has both" if view.others else "there are none"
    return ValueError(
        f'missing="complete" completes the kernel {names[view.kernels[0]]!r} from kernels that read other columns, but '
        f'{why}; use missing="native"'
    )


class Regression:
    """a(x) of one view from S[x, Q], given S[Q, Q] and the weights of these samples."""

    def __init__(self, S: np.ndarray, weight: np.ndarray):
        self.share, self.root = weight / weight.sum(), np.sqrt(weight)
        self.means = self.share @ S
        self.mean = float(self.means @ self.share)
        T = S - self.means - self.means[:, None] + self.mean
        ridge = STRENGTH * float(self.share @ np.diagonal(T))
        self.factor: Any = None
        if ridge > CONSTANT * np.abs(np.diagonal(S)).max():
            T *= self.root * self.root[:, None]
            self.factor = _factor(T, ridge)

    def coefficients(self, S: np.ndarray) -> np.ndarray:
        """a(x) of some samples, of shape (n_samples, len(Q)); w/W where S is constant."""
        if self.factor is None:
            return np.tile(self.share, (len(S), 1))
        S = S - (S @ self.share)[:, None] - self.means + self.mean
        return cho_solve(self.factor, (S * self.root).T).T * self.root + self.share


def _factor(T: np.ndarray, ridge: float) -> Any:
    """The Cholesky factor of T + ridge I; the ridge is larger where a kernel is not positive semidefinite."""
    diagonal = T.reshape(-1)[:: len(T) + 1]
    diagonal += ridge
    try:
        return cho_factor(T, lower=True)
    except LinAlgError:
        diagonal += ridge - float(eigvalsh(T)[0])
        return cho_factor(T, lower=True)


class Completion:
    """The regressions of all views in each step, and the coefficients a(x) of training samples that lack a view.

    `matrices` are the kernels of all training samples, with rows of 0 where a sample lacks the view; `held`, of shape
    (n_samples, n_kernels), says who has it.
    """

    def __init__(self, matrices: np.ndarray, names: list[str], views: list[View], held: np.ndarray, weight: np.ndarray):
        self.names, self.views, self.weight = names, views, weight
        self.held = self.by_view(held)
        self.coefficients: list[list[np.ndarray]] = []
        self.kernels = self.means(matrices)
        self._filled, self._made = [self.kernels], dict[tuple[int, int], Regression]()
        self.n_steps = n_steps(self.views)
        if not self.held.all():
            for step in range(self.n_steps):
                self._take(step)

    def by_view(self, held: np.ndarray) -> np.ndarray:
        """Which samples have which view, of shape (n_samples, n_views)."""
        return held[:, [view.kernels[0] for view in self.views]]

    def means(self, kernels: Any) -> list[np.ndarray]:
        return [np.asarray(sum(kernels[m] for m in view.kernels), float) / len(view.kernels) for view in self.views]

    def _take(self, step: int) -> None:
        found = [self._regressed(v, step, self._filled[step], self.held) for v in range(len(self.views))]
        self.coefficients.append(found)
        if step + 1 < self.n_steps:
            filled = []
            for K, A, view, held in zip(self.kernels, found, self.views, self.held.T, strict=True):
                filled.append(complete_gram(K.copy(), view.rows, ~held, A) if len(A) else K)
            self._filled.append(filled)

    def of_new(self, kernels: list[np.ndarray], held: np.ndarray) -> list[np.ndarray]:
        """The coefficients of new samples that lack a view, from the mean kernels to the training samples, by view."""
        filled = kernels
        for step in range(self.n_steps):
            found = [self._regressed(v, step, filled, held) for v in range(len(self.views))]
            if step + 1 < self.n_steps:
                filled = [self._completed(v, step, K, held, found[v]) for v, K in enumerate(kernels)]
        return found

    def _completed(self, v: int, step: int, K: np.ndarray, held: np.ndarray, A: np.ndarray) -> np.ndarray:
        rows, lacking = self.views[v].rows, ~self.held[:, v]
        K = K.copy()
        if lacking.any():
            K[:, lacking] = K[:, rows] @ self.coefficients[step][v].T
        if len(A):
            K[~held[:, v]] = A @ self._of_step(step + 1)[v][rows]
        return K

    def _regressed(self, v: int, step: int, filled: list[np.ndarray], held: np.ndarray) -> np.ndarray:
        """a(x) of the samples that lack view v."""
        lacking = np.flatnonzero(~held[:, v])
        if not len(lacking):
            return np.empty((0, len(self.views[v].rows)))
        return self._regression(v, step).coefficients(self._shared(v, step, filled, held, lacking))

    def _of_step(self, step: int) -> list[np.ndarray]:
        """The kernels of training samples that a step reads; the same in each where no sample lacks a view."""
        return self._filled[min(step, len(self._filled) - 1)]

    def _regression(self, v: int, step: int) -> Regression:
        if self.held.all():
            step = 0
        if (v, step) not in self._made:
            rows = self.views[v].rows
            if not len(rows):
                raise not_completed(self.views[v], self.names)
            S = self._shared(v, step, self._of_step(step), self.held, rows)
            self._made[v, step] = Regression(S, self.weight[rows])
        return self._made[v, step]

    def _shared(self, v: int, step: int, filled: list[np.ndarray], held: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """S between chosen samples and Q."""
        others, rows = self.views[v].others, self.views[v].rows
        S = np.zeros((len(chosen), len(rows)))
        for u in others:
            S += filled[u][np.ix_(chosen, rows)]
        S /= len(others)
        if step == 0:
            S *= root_of_lack(held[chosen][:, others])[:, None] * root_of_lack(self.held[rows][:, others])
        return S


def root_of_lack(held: np.ndarray) -> np.ndarray:
    """(number of views / number of those that a sample has)^(1/2); where it has none, its kernel values are 0."""
    return np.sqrt(held.shape[1] / np.maximum(held.sum(axis=1), 1))


def complete_gram(K: np.ndarray, rows: np.ndarray, lacking: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Fill the rows and columns of training samples that lack the view, in place: K = A K[Q, Q] A'."""
    filled = A @ K[rows]
    own = filled[:, rows] @ A.T
    filled[:, lacking] = 0.5 * (own + own.T)
    K[lacking] = filled
    K[:, lacking] = filled.T
    return K


class CompletedStack(KernelStack):
    """A stack in which every sample has every kernel: what a sample lacks is completed from its other views.

    Its parameters and attributes are those of `KernelStack`; `complete` is to be called once after `fit`. All training
    samples are kept for prediction, as those of "center" are, because regressions are fitted to them. A new sample that
    has all views is compared with the support vectors, and with Q where one of these lacks the view; the regressions
    are computed again when the first sample comes that lacks a view, and held from then on.
    """

    keeps_all = True
    held: np.ndarray  # (n_reference, n_kernels): which training sample has which view; `present` is True for all
    counts: np.ndarray  # (n_reference,): the weights of all training samples
    coefficients: list[np.ndarray]  # for each view, a(x) of the samples with coefficients that lack it
    _found: dict[str, Any]  # what was computed once: the views, and the regressions with the matrices they are from

    _saved = Schema(
        {
            "held": flags("reference", "kernels"),
            "counts": numbers("reference", low=np.finfo(float).tiny),
            "coefficients": several(numbers("lacking", "fitted"), own=("lacking", "fitted")),
        },
        transient={"_found": dict},
    )

    @property
    def views(self) -> list[View]:
        """The views of the kernels, each with the samples that its regression is fitted to."""
        if "views" not in self._found:
            self._found["views"] = views_of(self.kernels, self.held)
        return self._found["views"]

    def holding(self, held: np.ndarray, counts: np.ndarray) -> None:
        """Take note of which training samples have which view, and of their weights."""
        self.held, self.counts, self._found = held, counts, {}

    def complete(self) -> None:
        """Complete the Gram matrices of the training samples, where one of them lacks a view."""
        self.holding(self.present, self.weight)
        self.coefficients = [np.empty((0, len(view.rows))) for view in self.views]
        if not self.held.all():
            n_matrices = self.n_kernels + 2 * len(self.views) + 1
            self.check_memory(n_matrices, "kernels and their completion", per_kernel=True)
            matrices = self.matrices()
            self.coefficients = self._completion(matrices).coefficients[-1]
            for view, A in zip(self.views, self.coefficients, strict=True):
                for m in view.kernels if len(A) else ():
                    complete_gram(matrices[m], view.rows, ~self.held[:, m], A)
        self.present = np.ones_like(self.held)

    def presence(self, views: Views, active: np.ndarray | None = None) -> np.ndarray:
        """All active kernels, whatever views a sample has; one without any view is an error."""
        if not hasattr(self, "held"):
            return super().presence(views, active)
        super().presence(views)
        there = np.ones(self.n_kernels, dtype=bool) if active is None else active
        return np.tile(there, (views.n_samples, 1))

    def compare(
        self, m: int, views: Views, present: np.ndarray, columns: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        there = self.kernels[m].present(views)
        rows = self.rows if columns is None else self.rows[columns]
        A, had = self._own(m, columns), self.held[rows, m]
        if had.all():
            K, diagonal = super().compare(m, views, there, columns)
        else:
            fitted = self._view(m)[1].rows
            needed = np.union1d(rows[had], fitted)
            values, diagonal = self._native().compare(m, views, there, needed)
            K = np.empty((len(values), len(rows)))
            K[:, had] = values[:, np.searchsorted(needed, rows[had])]
            K[:, ~had] = values[:, np.searchsorted(needed, fitted)] @ A.T
        if not there.all():
            K[~there], diagonal[~there] = self._completed(m, self._of_new(views, m)[~there], rows, A)
        return K, diagonal

    def _completed(self, m: int, new: np.ndarray, rows: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of samples that lack the view of kernel m, from their coefficients, and k(x, x)."""
        fitted, had = self._view(m)[1].rows, self.held[rows, m]
        images = new @ self._training()[1][m][fitted]
        K = np.empty((len(new), len(rows)))
        K[:, had] = images[:, rows[had]]
        K[:, ~had] = images[:, fitted] @ A.T
        return K, np.einsum("ij,ij->i", images[:, fitted], new)

    def _view(self, m: int) -> tuple[int, View]:
        return next((v, view) for v, view in enumerate(self.views) if m in view.kernels)

    def _own(self, m: int, columns: np.ndarray | None) -> np.ndarray:
        """a(x) of those of the samples with coefficients at `columns` that lack the view of kernel m."""
        A, lacking = self.coefficients[self._view(m)[0]], ~self.held[self.rows, m]
        if columns is None:
            return A
        return A[(np.cumsum(lacking) - 1)[columns][lacking[columns]]]

    def _native(self) -> KernelStack:
        """The kernels over all training samples, with the views that these have."""
        every, one = np.arange(self.reference.n_samples), np.ones(self.n_kernels, dtype=bool)
        learned: dict[str, Any] = {"normalizers": self.normalizers, "repairs": self.repairs}
        return self._over(self.reference, self.reference, every, self.counts, self.held, active=one, **learned)

    def _completion(self, matrices: np.ndarray) -> Completion:
        return Completion(matrices, self.names, self.views, self.held, self.counts)

    def _training(self) -> tuple[Completion, np.ndarray]:
        if "training" not in self._found:
            native = self._native()
            every = np.arange(native.n_samples)
            matrices = np.stack([native.gram_rows(m, every) for m in range(self.n_kernels)])
            self._found["training"] = self._completion(matrices), matrices
        return self._found["training"]

    def _of_new(self, views: Views, m: int) -> np.ndarray:
        """a(x) of new samples for the view of kernel m; 0 for samples that have all views."""
        values, _ = views.prepared(self, lambda: self._prepared(views))
        v, widths = self._view(m)[0], np.cumsum([0, *(len(view.rows) for view in self.views)])
        return values[:, widths[v] : widths[v + 1]]

    def _prepared(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """a(x) of all views side by side, and which samples have all of them."""
        held = super().presence(views)
        lacking, native = np.flatnonzero(~held.all(axis=1)), self._native()
        completion, part, held = self._training()[0], views.rows(lacking), held[lacking]
        kernels = completion.means([native.cross(m, part, held[:, m]) for m in range(self.n_kernels)])
        there = completion.by_view(held)
        values = np.zeros((views.n_samples, sum(len(view.rows) for view in self.views)))
        start = 0
        for v, A in enumerate(completion.of_new(kernels, there)):
            values[lacking[~there[:, v]], start : start + A.shape[1]] = A
            start += A.shape[1]
        return values, ~np.isin(np.arange(views.n_samples), lacking)

    @property
    def read_besides(self) -> np.ndarray:
        """The columns of all kernels, also of those without weight: a view is completed from all others."""
        return np.concatenate([kernel.columns() for kernel in self.kernels])

    def lookups(self, active: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        return super().lookups(np.ones_like(active))

    def values_in(
        self, place: Place, views: Views, present: np.ndarray, left: np.ndarray, right: Any, coef: np.ndarray
    ) -> None:
        """Nothing: what is completed is computed on the host."""

    def values_per_sample(self, active: np.ndarray, coef: np.ndarray) -> int:
        return max(len(coef), len(self.views) * self.reference.n_samples)

    def n_compared(self, coef: np.ndarray) -> np.ndarray:
        had = self.held[self.rows]
        fitted = [len(self._view(m)[1].rows) for m in range(self.n_kernels)]
        return np.where(had.all(axis=0), len(had), had.sum(axis=0) + fitted).astype(float)

    def feature_weights(self, m: int, coef: np.ndarray, right: Any) -> np.ndarray | None:
        had = self.held[self.rows, m]
        if had.all():
            return super().feature_weights(m, coef, right)
        coef = right[:, None] * coef
        of_all = np.zeros((self.reference.n_samples, coef.shape[1]))
        of_all[self.rows[had]] = coef[had]
        of_all[self._view(m)[1].rows] += self._own(m, None).T @ coef[~had]
        return feature_weights(self._native(), m, of_all)

    def restrict(self, rows: np.ndarray, active: np.ndarray | None = None) -> CompletedStack:
        """What prediction needs: all training samples and all kernels, which complete each other."""
        found = CompletedStack.__new__(CompletedStack)
        found.__dict__.update(vars(super().restrict(rows)))
        found.holding(self.held, self.counts)
        found.coefficients = self.coefficients_at(rows)
        return found

    def coefficients_at(self, rows: np.ndarray) -> list[np.ndarray]:
        """Those of some of the samples with coefficients."""
        return [self._own(view.kernels[0], rows) for view in self.views]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_found": {}}

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if not self.present.all():
            refuse(f"{path}.present", "lacks views, although they are completed")
        views = self.views
        expect(len(views), len(self.coefficients), f"{path}.coefficients", "views")
        for v, (view, A) in enumerate(zip(views, self.coefficients, strict=True)):
            held = self.held[:, view.kernels[0]]
            expect(int((~held[self.rows]).sum()), len(A), f"{path}.coefficients[{v}]", "samples that lack the view")
            expect(len(view.rows), A.shape[1], f"{path}.coefficients[{v}]", "samples that have the view")
        for m, normalizer in enumerate(self.normalizers):
            if not np.array_equal(vars(normalizer)["present_"], self.held[:, m]):
                refuse(f"{path}.held", "has other views than the normalisation")
        if not self.active.all():
            refuse(f"{path}.active", "lacks kernels from which others are completed")
