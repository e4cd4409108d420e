"""Explicit features of kernels of projected samples, as functions of the projection, with derivatives.

    z = W' x,      k(z, z') ~ <phi(z), phi(z')>

==============  =======================  =============================================================
term            kernels                  phi(z)
==============  =======================  =============================================================
`LinearTerm`    linear                   z
`FourierTerm`   Gaussian                 cosines and sines of random frequencies of z
`NystroemTerm`  differentiable           k(z, L) with landmarks L = W' x_l, which move with W
==============  =======================  =============================================================

A function is f = phi v with the penalty 1/2 ||v||^2, of landmarks 1/2 v' K_LL(W) v. The v of landmarks are written as
v = R u with R = (K_LL + ridge I)^(-1/2) at some W: in these coordinates descent is well conditioned, and R stays as it
is when W moves. The ridge keeps directions that K_LL hardly has from growing then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....kernels.points.projected import PointKernel

RIDGE = 1e-3  # in units of the largest eigenvalue


class Term(ABC):
    """Features of one kernel's points; small, and sent to wherever blocks are."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Length of phi(z)."""

    def at(self, W: np.ndarray) -> Term:
        """The term at a projection."""
        return self

    def settled(self) -> Term:
        """What features at a projection take."""
        return self

    @abstractmethod
    def features(self, Z: np.ndarray) -> np.ndarray:
        """phi of points, of shape (n_points, n_features)."""

    @abstractmethod
    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Slopes by the points from slopes by their features; for landmarks also slopes by W that come of these."""

    def penalty(self, u: np.ndarray) -> tuple[float, np.ndarray, np.ndarray | None]:
        """The penalty, and its slopes by u and by W."""
        return 0.5 * float(np.vdot(u, u)), u, None


@dataclass(frozen=True)
class LinearTerm(Term):
    """phi(z) = z, of points of `width` numbers."""

    width: int

    @property
    def n_features(self) -> int:
        """As many as there are components."""
        return self.width

    def features(self, Z: np.ndarray) -> np.ndarray:
        """The points."""
        return Z

    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, None]:
        """The slopes."""
        return slopes, None


@dataclass(frozen=True)
class FourierTerm(Term):
    """Cosines and sines, for frequencies of shape (n_components, h); of squared norm `gain`."""

    frequencies: np.ndarray
    gain: float

    @property
    def n_features(self) -> int:
        """A cosine and a sine for each frequency."""
        return 2 * self.frequencies.shape[1]

    @property
    def _size(self) -> float:
        return float(np.sqrt(self.gain / self.frequencies.shape[1]))

    def features(self, Z: np.ndarray) -> np.ndarray:
        """Cosines, then sines."""
        angles = Z @ self.frequencies
        return self._size * np.hstack([np.cos(angles), np.sin(angles)])

    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, None]:
        """By the angles first."""
        angles, h = Z @ self.frequencies, self.frequencies.shape[1]
        by_angles = self._size * (np.cos(angles) * slopes[:, h:] - np.sin(angles) * slopes[:, :h])
        return by_angles @ self.frequencies.T, None


@dataclass(frozen=True)
class NystroemTerm(Term):
    """Kernel values to landmarks, times R.

    Attributes
    ----------
    kernel : PointKernel
    landmarks : ndarray of shape (n_landmarks, n_columns)
        Before their projection.
    basis : ndarray of shape (n_landmarks, n_features)
        R.
    points : ndarray of shape (n_landmarks, n_components)
        The landmarks at a projection.
    """

    kernel: PointKernel
    landmarks: np.ndarray
    basis: np.ndarray
    points: Any = None

    @property
    def n_features(self) -> int:
        """Columns of R."""
        return self.basis.shape[1]

    @classmethod
    def of(cls, kernel: PointKernel, landmarks: np.ndarray, W: np.ndarray) -> NystroemTerm:
        """The term with R of a projection."""
        values, vectors = np.linalg.eigh(kernel.gram(landmarks @ W))
        ridge = RIDGE * max(values[-1], np.finfo(float).tiny)
        return cls(kernel, landmarks, vectors / np.sqrt(np.maximum(values, 0.0) + ridge))

    def at(self, W: np.ndarray) -> NystroemTerm:
        """The landmarks, projected."""
        return replace(self, points=self.landmarks @ W)

    def settled(self) -> NystroemTerm:
        """The kernel and the landmarks, projected."""
        return replace(self, landmarks=self.landmarks[:0], basis=self.basis[:0])

    def features(self, Z: np.ndarray) -> np.ndarray:
        """k(z, L) R."""
        return self.kernel.cross(Z, self.points) @ self.basis

    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both the points and the landmarks move."""
        by_values = self.kernel.gain * (slopes @ self.basis.T)
        by_points = self.kernel.kernel.pullback(self.points, Z, by_values.T)
        return by_points, self.landmarks.T @ self.kernel.kernel.pullback(Z, self.points, by_values)

    def penalty(self, u: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """1/2 v' K_LL v with v = R u."""
        v = self.basis @ u
        image, pulled = self.kernel.contract(self.points, v)
        return 0.5 * float(np.vdot(v, image)), self.basis.T @ image, self.landmarks.T @ pulled
