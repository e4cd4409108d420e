"""Completion of features: what `kernels.completion` makes of kernels, in the span of explicit features.

A sample that lacks a view is stood for by a mean of samples that have it, with coefficients a(x): its features are
sum_i a_i(x) phi(x_i). With psi, the features of the other views, and S = <psi, psi> that is ridge regression:

    phi(x)  ->  mu + (psi(x) - nu) B,      B = (P' D P + lambda I)^-1 P' D Phi,      lambda = 0.1 tr(P' D P) / tr(D)

mu and nu are the means of phi and psi, rows of P are psi(x_i) - nu, and D has the weights w_i. In psi the features of
each view are divided by the roots of the number of its kernels and of that of the other views, and in the first step
multiplied by what `root_of_lack` says of the views that a sample has.

Regressions are fitted to the reservoir, as maps are: with all training samples in it and as landmarks, features have
the products of the completed kernels. What is kept of them, and what a new sample takes, does not grow with samples.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..kernels import KernelStack, Normalizer
from ..kernels.completion import CONSTANT, STRENGTH, View, n_steps, not_completed, root_of_lack, views_of
from ..validation.schemas import Schema, Sizes, count, expect, maybe, numbers, object_of, refuse, several
from ..views import Views
from .base import FeatureMap


@dataclass(frozen=True, eq=False)
class FeatureRegression:
    """phi of one view from psi: `intercept` + (psi - `center`) @ `slope`."""

    center: np.ndarray
    slope: np.ndarray
    intercept: np.ndarray

    _saved = Schema({"center": numbers("psi"), "slope": numbers("psi", "phi"), "intercept": numbers("phi")})

    @classmethod
    def fit(cls, psi: np.ndarray, phi: np.ndarray, weight: np.ndarray) -> FeatureRegression:
        share, root = weight / weight.sum(), np.sqrt(weight)[:, None]
        center, intercept = share @ psi, share @ phi
        P, target = psi - center, root * (phi - intercept)
        ridge = STRENGTH * float(share @ (P**2).sum(axis=1))
        if ridge <= CONSTANT * (psi**2).sum(axis=1).max():
            return cls(center, np.zeros((psi.shape[1], phi.shape[1])), intercept)
        P *= root
        by_sample = len(P) < P.shape[1]
        T = P @ P.T if by_sample else P.T @ P
        T.flat[:: len(T) + 1] += ridge
        factor = cho_factor(T, lower=True, overwrite_a=True)
        slope = P.T @ cho_solve(factor, target) if by_sample else cho_solve(factor, P.T @ target)
        return cls(center, slope, intercept)

    def predict(self, psi: np.ndarray) -> np.ndarray:
        return self.intercept + (psi - self.center) @ self.slope


class FeatureCompletion:
    """The regressions of each step and view, between the features of `maps`; `stack` finds out who has which view."""

    _saved = Schema(
        {
            "stack": object_of(KernelStack, "columns", "kernels", support="nobody"),
            "maps": several(object_of(FeatureMap, "columns"), "kernels"),
            "regressions": several(several(maybe(object_of(FeatureRegression)))),
        }
    )

    def __init__(self, stack: KernelStack, maps: list[FeatureMap], views: Views, weight: np.ndarray):
        self.stack, self.maps = only_presence(stack), maps
        self.regressions: list[list[FeatureRegression | None]] = []
        phi, held = self._read(views)
        parts = views_of(self.stack.kernels, held)
        filled, held = phi, _by_view(held, parts)
        for step in range(n_steps(parts)):
            if step and held.all():
                self.regressions.append(self.regressions[0])
                continue
            self.regressions.append([self._fitted(view, parts, step, phi, filled, held, weight) for view in parts])
            filled = self._filled(parts, step, phi, filled, held)

    @property
    def names(self) -> list[str]:
        return self.stack.names

    @property
    def views(self) -> list[View]:
        """The views of the kernels, without the samples of their regressions."""
        return views_of(self.stack.kernels, np.ones((0, self.stack.n_kernels), dtype=bool))

    def span(self, m: int) -> slice:
        first = sum(found.n_features for found in self.maps[:m])
        return slice(first, first + self.maps[m].n_features)

    def presence(self, views: Views, active: np.ndarray | None = None) -> np.ndarray:
        there = np.ones_like(self.stack.presence(views))
        return there if active is None else np.logical_and(there, active)

    def features(self, views: Views) -> np.ndarray:
        """The features of all kernels side by side, computed once for these samples."""

        def compute() -> tuple[np.ndarray, np.ndarray]:
            phi, held = self._read(views)
            filled, parts = phi, self.views
            for step in range(0 if held.all() else n_steps(parts)):
                filled = self._filled(parts, step, phi, filled, _by_view(held, parts))
            return filled, np.asarray(held.all(axis=1))

        return views.prepared(self, compute)[0]

    def _read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        held = self.stack.presence(views)
        return np.hstack([found.transform(views, own) for found, own in zip(self.maps, held.T, strict=True)]), held

    def _columns(self, view: View) -> np.ndarray:
        return np.concatenate([np.arange(self.span(m).start, self.span(m).stop) for m in view.kernels])

    def _others(self, view: View, views: list[View], step: int, filled: np.ndarray, held: np.ndarray) -> np.ndarray:
        others = [views[u] for u in view.others]
        psi = np.hstack([filled[:, self._columns(u)] / np.sqrt(len(u.kernels) * len(others)) for u in others])
        return psi * root_of_lack(held[:, view.others])[:, None] if step == 0 else psi

    def _fitted(
        self,
        view: View,
        views: list[View],
        step: int,
        phi: np.ndarray,
        filled: np.ndarray,
        held: np.ndarray,
        weight: np.ndarray,
    ) -> FeatureRegression | None:
        """The regression of a view in a step; None where no sample tells of it."""
        rows = view.rows
        if not len(rows):
            return None
        psi = self._others(view, views, step, filled[rows], held[rows])
        return FeatureRegression.fit(psi, phi[rows][:, self._columns(view)], weight[rows])

    def _filled(
        self, views: list[View], step: int, phi: np.ndarray, filled: np.ndarray, held: np.ndarray
    ) -> np.ndarray:
        found = phi.copy()
        for v, view in enumerate(views):
            lacking = np.flatnonzero(~held[:, v])
            if len(lacking):
                regression = self.regressions[step][v]
                if regression is None:
                    raise not_completed(view, self.names)
                psi = self._others(view, views, step, filled[lacking], held[lacking])
                found[np.ix_(lacking, self._columns(view))] = regression.predict(psi)
        return found

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        views = self.views
        expect(n_steps(views), len(self.regressions), f"{path}.regressions", "steps")
        for step, found in enumerate(self.regressions):
            expect(len(views), len(found), f"{path}.regressions[{step}]", "views")
            for v, (view, each) in enumerate(zip(views, found, strict=True)):
                if each is not None:
                    others = sum(len(self._columns(views[u])) for u in view.others)
                    shape = others, len(self._columns(view))
                    if each.slope.shape != shape:
                        refuse(f"{path}.regressions[{step}][{v}]", f"is not of {shape[0]} and {shape[1]} features")


class CompletedMap(FeatureMap):
    """The features of kernel `m`, completed, for all samples."""

    whitening = None

    _saved = Schema({"completion": object_of(FeatureCompletion, "columns"), "m": count()})

    def __init__(self, completion: FeatureCompletion, m: int):
        self.completion, self.m, self.trace_share = completion, m, completion.maps[m].trace_share

    @property
    def n_raw(self) -> int:
        return self.completion.maps[self.m].n_features

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        return np.where(present[:, None], self.completion.features(views)[:, self.completion.span(self.m)], 0.0)

    def feature_weights(self, weights: np.ndarray) -> np.ndarray | None:
        return self.completion.maps[self.m].feature_weights(weights)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if self.m >= len(self.completion.maps):
            refuse(f"{path}.m", "is no kernel")


def completion_of(maps: list[FeatureMap]) -> FeatureCompletion | None:
    return next((found.completion for found in maps if isinstance(found, CompletedMap)), None)


def only_presence(stack: KernelStack, active: np.ndarray | None = None) -> KernelStack:
    """The kernels without samples, which find out who has which view: maps have constants of their own."""
    bare = copy(stack)
    bare.normalizers = [Normalizer(None, found.name) for found in stack.normalizers]
    bare.repairs = [repair.unlearned() for repair in stack.repairs]
    kept = bare.restrict(np.empty(0, dtype=int), active)
    kept.normalizers = [Normalizer(found.method, found.name) for found in stack.normalizers]
    return kept


def _by_view(held: np.ndarray, views: list[View]) -> np.ndarray:
    return held[:, [view.kernels[0] for view in views]]
