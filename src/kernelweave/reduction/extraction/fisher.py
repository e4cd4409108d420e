"""`KernelFisher`: Fisher's discriminant in a kernel's feature space (KFDA), for two classes or more.

====================  ========================================================================
Mika et al. (2001)    here
====================  ========================================================================
M                     between-class scatter ``K B B' K``, B with one column per class
N                     within-class scatter ``A' A``, A = K with class means of rows taken off
mu                    ridge, relative to the mean diagonal of N; ``ridge_`` is its absolute value
alpha                 columns of `coef_`, with ``alpha' (N + ridge I) alpha = 1``
====================  ========================================================================
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from ...validation import Constraints, Number
from ..base import Extraction, KernelTransformer, TrainingSamples, indicators

# Eigenvalues below this share of the largest are rounding: the scatter between c classes has rank c - 1.
_NOTHING = 1e-10
# Scatter within classes below this share of that between them is rounding.
_NO_SCATTER = 1e-12


class KernelFisher(KernelTransformer):
    """Kernel Fisher discriminant analysis: features that spread classes while their members stay together.

    Maximises ``a' M a / a' (N + ridge I) a``, between-class over within-class scatter of the features ``K a`` (Mika et
    al., 2001; Baudat and Anouar, 2000 for several classes). There are at most n_classes - 1 such features. The choice
    of the kernel itself under this criterion (Kim, Magnani and Boyd, 2006; Ye, Ji and Chen, 2008) is multiple kernel
    learning with the least-squares machine: give such an `MKLClassifier` as `kernel`.

    Parameters
    ----------
    kernel : Kernel, callable, MKLClassifier or None
        The kernel; None means `Linear()`. An `MKLClassifier` stands for its combined kernel, which is learned first.
    n_components : int or None
        None for all, one less than there are classes.
    ridge : float
        Ridge, relative to the mean diagonal of the within-class scatter N (of M where N is zero).
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of the kernel.

    Attributes
    ----------
    coef_ : ndarray of shape (n_samples, n_components)
        Directions as combinations of training samples.
    offset_ : ndarray of shape (n_components,)
        Zero here.
    eigenvalues_ : ndarray of shape (n_components,)
        The criterion of each direction, descending.
    ridge_ : float
        The ridge in absolute terms.
    kernel_ : Kernel or MKLClassifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
    n_components_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Memory: two n x n matrices, the kernel and N. Time: one Cholesky factorisation; no eigenproblem of that size.

    Examples
    --------
    >>> from kernelweave.reduction import KernelFisher
    >>> X = [[1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    >>> KernelFisher().fit_transform(X, ["a", "a", "b", "b"]).shape
    (4, 1)
    """

    _constraints = Constraints(ridge=Number(above=0))

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | None = None,
        *,
        ridge: float = 1e-3,
        normalize: str | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.ridge = ridge
        self.normalize = normalize

    def _extract(self, samples: TrainingSamples, labels: np.ndarray, given: SimpleNamespace) -> Extraction:
        limit = len(self.classes_) - 1 if given.n_components is None else given.n_components
        K = samples.gram()
        Y = indicators(labels)
        sizes = Y.sum(axis=0)
        means = (Y.T @ K) / sizes[:, None]
        between = (np.sqrt(sizes)[:, None] * (means - K.mean(axis=0))).T  # K B
        for label, mean in enumerate(means):
            K[labels == label] -= mean  # A, in the place of K
        within = K.T @ K
        scatter, apart = float(np.trace(within)), float(np.sum(between**2))
        if scatter <= _NO_SCATTER * apart:  # members of a class that are all alike, up to rounding
            scatter = apart
        self.ridge_ = given.ridge * (scatter or 1.0) / len(within)
        within[np.diag_indices_from(within)] += self.ridge_
        # The between-class scatter has a few columns only, so the eigenproblem is as small as they are many.
        # Transposed, the symmetric matrix has the order that LAPACK overwrites without a copy.
        solved = cho_solve(cho_factor(within.T, lower=True, overwrite_a=True), between)
        values, vectors = eigh(between.T @ solved)
        strong = np.flatnonzero(values > _NOTHING * values.max(initial=0.0))[::-1][:limit]
        if len(strong) == 0:
            raise ValueError("the classes have the same mean in the kernel's feature space and cannot be separated")
        self.eigenvalues_ = values[strong]
        coef = solved @ (vectors[:, strong] / np.sqrt(values[strong]))
        return Extraction(coef, 0.0, K @ coef + (means @ coef)[labels])
