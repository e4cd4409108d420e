"""`reduced_svm`: reduce the dimension, then a linear support vector machine (Gönen 2010, PhD thesis, 5.4.3).

This is what learned projections are compared with: here the projection is found without the machine's loss. Figures
5.19 to 5.22 of the thesis compare with PCA and LFDA at the same number of components.

==================================  =======================================
thesis 5.4.3                        here
==================================  =======================================
number of dimensions, R_m           `n_components`
PCA before LFDA (OLIVETTI, to 100)  `pca_first`
stored support vectors              ``pipeline["svm"].support_``
==================================  =======================================
"""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ..estimators import MKLClassifier
from ..kernels import Linear
from ..validation import Whole, check
from .extraction.local_fisher import LocalFisher
from .leading import LeadingComponents

_REDUCERS = ("pca", "kpca", "lda", "lfda")


def reduced_svm(
    reducer: Any,
    n_components: int | None = 2,
    *,
    C: float = 1.0,
    random_state: Any = None,
    pca_first: int | None = 100,
) -> Pipeline:
    """The comparison "reduce, then linear SVM" as a pipeline: ``scale``, ``reduce``, ``svm``.

    Features are standardised, reduced by the criterion of the reducer, and the machine minimises ``1/2 ||w||^2 + C
    sum_i max(0, 1 - y_i (<w, z_i> + b))`` over the reduced samples z. These are not normalised: their lengths are what
    the reduction found, and rows of unit length in one dimension would be +1 and -1 only. Reference: Gönen (2010),
    thesis 5.4.3.

    Parameters
    ----------
    reducer : {"pca", "kpca", "lda", "lfda"}, transformer or None
        Principal components; those of a Gaussian kernel (``reduce__gamma``, 1 / n_features by default); linear
        discriminants; `LocalFisher` with orthonormal directions, as those of PCA are, so that one C means the same to
        both; a transformer of your own, with its own parameters; None for no reduction.
    n_components : int or None
        For reducers given by name; None for the reducer's own default (all components; 2 for "lfda"). More than
        there are features is the reducer's error. "lda" alone takes as many as there are, n_classes - 1 at most: that
        limit comes from the labels, and all two-class problems would fail otherwise.
    C : float
        Cost of a margin violation.
    random_state : int, RandomState or None
        For "pca" and "kpca", which draw random numbers on large data, and for the machine.
    pca_first : int or None
        "lfda" is given only this many leading principal components, as in the thesis, or all where there are fewer (a
        step ``pca`` before ``reduce``). None: no such step.

    Returns
    -------
    Pipeline
        Unfitted. Its last step is an `MKLClassifier` with one linear kernel: ``pipeline["svm"].support_`` holds the
        support vectors.

    Notes
    -----
    Memory: the n x n kernel of the machine, and what the reducer takes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.reduction import reduced_svm
    >>> X, y = load_iris(return_X_y=True)
    >>> model = reduced_svm("lfda", n_components=2).fit(X, y == 1)
    >>> model[:-1].transform(X).shape
    (150, 2)
    >>> bool(model.score(X, y == 1) > 0.7), len(model["svm"].support_) < 150
    (True, True)
    """
    check(None, "n_components", n_components, Whole(1) | None)
    check(None, "pca_first", pca_first, Whole(1) | None)
    steps = [("scale", StandardScaler())]
    if isinstance(reducer, str) and reducer == "lfda" and pca_first is not None:
        steps.append(("pca", LeadingComponents(PCA(), pca_first)))
    steps.append(("reduce", _reducer(reducer, n_components, random_state)))
    steps.append(("svm", MKLClassifier([Linear()], C=C, normalize=None, random_state=random_state)))
    return Pipeline(steps)


def _reducer(reducer: Any, n_components: int | None, random_state: Any) -> Any:
    """The step that reduces."""
    if reducer is None:
        return "passthrough"
    if isinstance(reducer, str) and reducer in _REDUCERS:
        return {
            "pca": lambda: PCA(n_components, random_state=random_state),
            "kpca": lambda: KernelPCA(n_components, kernel="rbf", random_state=random_state),
            "lda": lambda: LeadingComponents(LinearDiscriminantAnalysis(), n_components),
            "lfda": lambda: LocalFisher(n_components, metric="orthonormalized"),
        }[reducer]()
    if isinstance(reducer, str | type) or not (hasattr(reducer, "fit") and hasattr(reducer, "transform")):
        raise ValueError(
            f"reducer must be one of {', '.join(map(repr, _REDUCERS))}, a transformer or None, not {reducer!r}"
        )
    return reducer
