"""One kernel discriminant for each kernel: what `KernelVoting` and `KernelSAMME` combine.

A discriminant embeds samples by the ratio-trace step (21) under one kernel, that is by kernel discriminant analysis
(KFD) or, with a graph, by its relatives (KLDE), and gives a sample the class of the nearest training sample, or of the
nearest class mean, in that space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone

from ...kernels import KernelStack
from ...kernels.stacking.memory import telling_memory_errors, warn_if_too_large
from ...kernels.stacking.naming import default_kernels
from ...solvers.embedding.graph_embedding import mean_spread, ratio_trace
from ...solvers.embedding.graph_laplacian import class_laplacians
from ...validation import Choice, Constraints, Number, Offers, Seed, Whole, check_parameters
from ...validation.inputs import (
    check_labels,
    check_row_labels,
    check_training_data,
    encode_labels,
    unchanged_on_failure,
)
from ...views import Views
from ..fitted import FittedStack
from ..kernel_lists.parameters import KernelParameters


@dataclass(frozen=True)
class Discriminant:
    """A fitted discriminant under one kernel.

    Attributes
    ----------
    coefficients : ndarray of shape (n_samples, n_components)
        Zero for samples that lack the view.
    places : ndarray of shape (n_places, n_components)
        Training samples, or class means, in the embedding.
    labels : ndarray of int, shape (n_places,)
    """

    coefficients: np.ndarray
    places: np.ndarray
    labels: np.ndarray

    def ranked(self, values: np.ndarray) -> np.ndarray:
        """Labels of the places, nearest first, for each row of kernel values to the training samples."""
        embedded = values @ self.coefficients
        # Squared distances up to the sample's own square, which does not change the order.
        distance = (self.places**2).sum(axis=1) - 2.0 * embedded @ self.places.T
        return self.labels[np.argsort(distance, axis=1, kind="stable")]


@dataclass(frozen=True)
class DiscriminantRule:
    """How discriminants are fitted: parameters of the ensemble, checked."""

    graph: Any
    n_components: int | None
    rule: str
    ridge: float
    rng: np.random.RandomState
    seed: int

    def fit(self, K: np.ndarray, labels: np.ndarray, present: np.ndarray) -> Discriminant:
        """Fit a discriminant to the samples that have the view.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        labels : ndarray of int, shape (n_samples,)
        present : ndarray of bool, shape (n_samples,)
        """
        rows = np.flatnonzero(present)
        K, labels = K[np.ix_(rows, rows)].astype(float, copy=False), labels[rows]
        if self.graph is None:
            numerator, denominator = class_laplacians(labels)
        else:
            there = np.ones((len(rows), 1), dtype=bool)
            numerator, denominator = self.graph.laplacians(K[None], there, np.unique(labels, return_inverse=True)[1])
        classes = np.unique(labels)
        wanted = max(1, len(classes) - 1) if self.n_components is None else self.n_components
        spread, found = mean_spread(K, denominator), np.zeros((len(rows), 1))
        if spread:  # otherwise all samples are equal under this kernel
            found = ratio_trace(
                K, numerator, denominator, self.ridge * spread, min(wanted, len(rows)), self.rng
            ).solution
        places = K @ found
        if self.rule == "centroid":
            places, labels = np.array([places[labels == c].mean(axis=0) for c in classes]), classes
        coefficients = np.zeros((len(present), found.shape[1]))
        coefficients[rows] = found
        return Discriminant(coefficients, places, labels)


class DiscriminantEnsemble(ClassifierMixin, FittedStack, KernelParameters):
    """Base of `KernelVoting` and `KernelSAMME`: fits one discriminant for each kernel."""

    _constraints = Constraints(
        graph=Offers("laplacians", words="a graph of kernelweave.reduction") | None,
        n_components=Whole(1) | None,
        rule=Choice("nearest-neighbor", "centroid"),
        ridge=Number(above=0),
        random_state=Seed(),
    )

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one discriminant for each kernel, and what each kernel counts.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            rule = self._checked_rule()
            check_row_labels(X, y=y)
            views = Views(*check_training_data(self, X))
            self.classes_, labels = encode_labels(self, check_labels(self, y, views.n_samples))
            self.class_count_ = np.bincount(labels).astype(np.float64)
            kernels = default_kernels(views) if self.kernels is None else self.kernels
            stack = KernelStack(kernels, self.normalize, dtype=self.dtype).fit(views, y=y)
            self.kernels_, self.kernel_names_ = stack.kernels, stack.names
            # Measured: a kernel, its copy without absent samples, and what the discriminant's eigenproblem takes.
            needed = 5 if rule.graph is None else 6, stack.n_samples, np.dtype(float), "the discriminant of a kernel"
            warn_if_too_large(*needed, has_dtype=False)
            self._discriminants, judgements = [], []
            with telling_memory_errors(*needed, has_dtype=False):
                for m in range(stack.n_kernels):
                    K = stack.gram(m)
                    self._discriminants.append(rule.fit(K, labels, stack.present[:, m]))
                    judgements.append(self._judge(K, labels, stack.present[:, m], rule))
            self._finish(judgements)
            self._state = stack.restrict(np.arange(stack.n_samples), self._active())
        return self

    def _judge(self, K: np.ndarray, labels: np.ndarray, present: np.ndarray, rule: DiscriminantRule) -> Any:
        """What `_finish` needs of a kernel, computed while its Gram matrix is there; nothing by default."""

    def _finish(self, judgements: list[Any]) -> None:
        """Learn how much each kernel counts; by default all count the same."""

    def _checked_rule(self) -> DiscriminantRule:
        given = check_parameters(self)
        graph = None if given.graph is None else clone(given.graph)
        seed = int(given.random_state.randint(2**31 - 1))
        return DiscriminantRule(graph, given.n_components, given.rule, given.ridge, given.random_state, seed)

    def _ranked(self, views: Views, m: int, present: np.ndarray) -> np.ndarray:
        """Labels by nearness under kernel m for the samples that have its view."""
        there = views if present.all() else views.rows(np.flatnonzero(present))
        values = self._state.cross(m, there, np.ones(there.n_samples, dtype=bool))
        return self._discriminants[m].ranked(values)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
