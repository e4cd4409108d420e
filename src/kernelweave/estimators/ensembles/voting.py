"""`KernelVoting`: one kernel discriminant for each kernel, combined by their votes (KFD-Voting of MKL-DR, 4.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...machines.multiclass import heavier_first
from ...views import Views
from .discriminant import DiscriminantEnsemble


class KernelVoting(DiscriminantEnsemble):
    """One kernel discriminant for each kernel; the class with the most votes wins.

    Each discriminant minimises ``tr[(A'S'A)^-1 A'SA]``, S the within-class scatter with the ridge and S' the total
    scatter under its kernel, and votes for the class of the nearest training sample there. While classes have equally
    many votes the next nearest sample under each kernel votes too (Lin, Liu and Fuh, 2008, section 4.4).

    Parameters
    ----------
    kernels : list of kernels or (name, kernel), or None
        As in `MKLClassifier`.
    graph : graph of `kernelweave.reduction` or None
        Which samples a discriminant brings together and keeps apart; None for those of discriminant analysis (KFD).
    n_components : int or None
        Dimension of each discriminant's space; None means one less than there are classes.
    rule : {"nearest-neighbor", "centroid"}
        Whether the nearest training sample or the nearest class mean decides.
    ridge : float
        Ridge on the within-class scatter, in units of the mean eigenvalue of the total scatter.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
    dtype : {"float64", "float32"}
        Of the Gram matrices.
    random_state : int, RandomState or None
        For the start of Lanczos' method.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
        Training samples of each class.
    kernels_ : list of Kernel
    kernel_names_ : list of str
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Memory: about five n x n matrices while fitting, one kernel at a time; all training samples afterwards. A sample
    that lacks a view has no vote from that kernel.

    Examples
    --------
    >>> from kernelweave import KernelVoting, datasets
    >>> from kernelweave.kernels import Gaussian
    >>> X, y = datasets.load_multifeat(return_X_y=True)
    >>> model = KernelVoting([Gaussian("fac"), Gaussian("kar"), Gaussian("pix")]).fit(X[::10], y[::10])
    >>> bool(model.score(X[5::20], y[5::20]) > 0.9)
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        graph: Any = None,
        *,
        n_components: int | None = None,
        rule: str = "nearest-neighbor",
        ridge: float = 0.01,
        normalize: str | None = "unit-diagonal",
        dtype: str = "float64",
        random_state: Any = None,
    ):
        self.kernels = kernels
        self.graph = graph
        self.n_components = n_components
        self.rule = rule
        self.ridge = ridge
        self.normalize = normalize
        self.dtype = dtype
        self.random_state = random_state

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the most votes; the more frequent class where votes stay equal.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        """
        views = self._new_views(X)
        return self.classes_[views.in_blocks(len(self.kernels_) * self._state.n_samples, self._elected)]

    def _elected(self, views: Views) -> np.ndarray:
        """Positions in `classes_`."""
        present = self._state.presence(views)
        ballots = [
            (np.flatnonzero(there), self._ranked(views, m, there)) for m, there in enumerate(present.T) if there.any()
        ]
        votes = np.zeros((len(present), len(self.classes_)), dtype=int)
        undecided = np.ones(len(present), dtype=bool)
        for place in range(max(ranked.shape[1] for _, ranked in ballots)):
            for rows, ranked in ballots:
                voting = undecided[rows] & (place < ranked.shape[1])
                if voting.any():
                    np.add.at(votes, (rows[voting], ranked[voting, place]), 1)
            undecided &= (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
            if not undecided.any():
                break
        return heavier_first(votes, 0.0, vars(self).get("class_count_")).argmax(axis=1)

    def _active(self) -> np.ndarray:
        return np.ones(len(self.kernels_), dtype=bool)
