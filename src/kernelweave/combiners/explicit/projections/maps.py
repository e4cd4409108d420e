"""`ProjectedMap`: the explicit features of a kernel of projected samples, at a learned projection."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....features import FeatureMap
from ....features.nystroem import root_inverse
from ....kernels.base import ViewKernel
from ....solvers.spectrum import above_rounding
from ....views import Views
from ...projected.feature_maps import ViewFeatures
from .terms import LinearTerm, NystroemTerm, Term


class ProjectedMap(FeatureMap):
    """phi(W' x), where x are the normalised features of a kernel's view.

    Parameters
    ----------
    features : ViewFeatures
        Fitted: what is projected.
    kernel : ViewKernel
        Fitted: it reads the view.
    directions : ndarray of shape (n_columns, n_components)
        W.
    term : Term
        At W.
    whitening : ndarray or None
        Of kernel values to landmarks; W itself of a linear kernel, whose raw values are the features x.
    """

    def __init__(self, features: ViewFeatures, kernel: ViewKernel, directions: np.ndarray, term: Term):
        self.features, self.kernel, self.directions = features, kernel, directions
        self.term, self.whitening, self.trace_share = term.settled(), None, 1.0
        if isinstance(term, LinearTerm):
            self.whitening = directions
        elif isinstance(term, NystroemTerm):
            values, vectors = np.linalg.eigh(term.kernel.gram(term.points))
            self.whitening = root_inverse(values, vectors, above_rounding(values))

    @property
    def n_raw(self) -> int:
        """Number of raw values of a sample."""
        return self.term.n_features if self.whitening is None else len(self.whitening)

    def points(self, views: Views) -> np.ndarray:
        """W' x of samples."""
        return np.asarray(self.features.of(self.kernel, views) @ self.directions)

    @property
    def is_linear(self) -> bool:
        """Whether features are linear in the points."""
        return isinstance(self.term, LinearTerm)

    def features_at(self, points: np.ndarray) -> np.ndarray:
        """phi of points."""
        if isinstance(self.term, NystroemTerm):
            return self.term.kernel.cross(points, self.term.points) @ self.whitening
        return self.term.features(points)

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        """Features that are projected, kernel values to landmarks, or cosines and sines."""
        values: Any
        if isinstance(self.term, LinearTerm):
            values = self.features.of(self.kernel, views)
            values = values.copy() if isinstance(values, np.ndarray) else values.toarray()
        elif isinstance(self.term, NystroemTerm):
            values = self.term.kernel.cross(self.points(views), self.term.points)
        else:
            values = self.term.features(self.points(views))
        values[~present] = 0.0
        return values
