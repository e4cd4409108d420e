"""`SharedKernel`: kernel values of known samples, computed once and shared by any number of fits.

A search fits many models to the same few sets of training samples. A `KernelSheet` holds what one kernel gives for one
such set: the fitted kernel, and its values between the training samples and the training and further samples. It
recognises samples by their entries, so that a model is the same whether its values are looked up or computed: a sample
that is not on the sheet is computed, each model does its own normalisation and repair, and models may be steps of
pipelines. Recognising takes time in proportion to the entries of X, and pays for all but the cheapest kernels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from ...views import Views, as_views
from ..base import Kernel


class SharedKernel(Kernel):
    """The kernel k(x, z) of `kernel`, with the values of known samples looked up.

    Fitted to the training samples of one of its sheets (with the same weights and, where it is supervised, targets) it
    is that sheet; fitted to others it is `kernel`, fitted. Cloning returns the kernel itself: sheets are never copied.

    Parameters
    ----------
    kernel : Kernel
    sheets : sequence of KernelSheet
        One for each set of training samples.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.kernels.stacking.shared import KernelSheet, SharedKernel
    >>> X = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> kernel = SharedKernel(Gaussian(), [KernelSheet.compute(Gaussian(), X[:3], X[3:])])
    >>> kernel.fit(X[:3])
    KernelSheet(Gaussian(), <3 training samples, 1 other>)
    >>> kernel.fit(X[1:])
    Gaussian()
    """

    def __init__(self, kernel: Kernel, sheets: Sequence[KernelSheet] = ()):
        self.kernel = kernel
        self.sheets = sheets

    def __sklearn_clone__(self) -> SharedKernel:
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"SharedKernel({self.kernel!r}, <{len(self.sheets)} sheets>)"

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self.kernel.name

    @property
    def supervised(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.supervised

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None) -> Kernel:
        """The sheet of these training samples, or the kernel fitted to them where there is none."""
        views = as_views(X)
        key = _training_key(views, sample_weight, y if self.supervised else None)
        known = next((sheet for sheet in self.sheets if sheet.key == key), None)
        return clone(self.kernel).fit(views, sample_weight, label, y) if known is None else known.bound(views)


class KernelSheet(Kernel):
    """Values of a fitted kernel among its training samples, and between those and other samples.

    Made by `compute`. Memory: one matrix of n_training x (n_training + n_others) values.

    Parameters
    ----------
    kernel : Kernel
        Fitted.
    key : bytes
        Digest of the training samples, their weights and, for a supervised kernel, their targets.
    places : dict from digest to int
        Row of `values` by the digest of a sample (`Views.digests`); training samples come first.
    values : ndarray of shape (n_training + n_others, n_training)
    self_similarity : ndarray of shape (n_training + n_others,)
    presence : ndarray of bool, shape (n_training + n_others,)
        Which samples have the kernel's view.
    """

    _source: object = None
    _place_of_position: np.ndarray

    def __init__(
        self,
        kernel: Kernel,
        key: bytes,
        *,
        places: dict,
        values: np.ndarray,
        self_similarity: np.ndarray,
        presence: np.ndarray,
    ):
        self.kernel = kernel
        self.key = key
        self.places = places
        self.values = values
        self.self_similarity = self_similarity
        self.presence = presence

    @classmethod
    def compute(
        cls,
        kernel: Kernel,
        X: Any,
        others: Any,
        sample_weight: np.ndarray | None = None,
        label: str | None = None,
        y: Any = None,
    ) -> KernelSheet:
        """Fit a copy of the kernel to X and compute its values.

        Parameters
        ----------
        kernel : Kernel
        X : array, DataFrame, sparse matrix or Views
            Training samples.
        others : array, DataFrame, sparse matrix or Views
            Further samples that will be compared with them.
        sample_weight, label, y
            As in `Kernel.fit`.
        """
        views, others = as_views(X), as_views(others)
        fitted = clone(kernel).fit(views, sample_weight, label, y)
        places: dict[bytes, int] = {}
        for place, digest in enumerate([*views.digests(), *others.digests()]):
            places.setdefault(digest, place)
        values = np.vstack([fitted.gram(views), fitted.cross(others, views)])
        self_similarity = np.concatenate([fitted.diagonal(views), fitted.diagonal(others)])
        presence = np.concatenate([fitted.present(views), fitted.present(others)])
        key = _training_key(views, sample_weight, y if kernel.supervised else None)
        return cls(fitted, key, places=places, values=values, self_similarity=self_similarity, presence=presence)

    def bound(self, views: Views) -> KernelSheet:
        """A copy, sharing the values, that finds these `Views` of the training samples, and parts of them, by position.

        Other samples are found by their digests.
        """
        copy = KernelSheet(
            self.kernel,
            self.key,
            places=self.places,
            values=self.values,
            self_similarity=self.self_similarity,
            presence=self.presence,
        )
        copy._source = views.source
        copy._place_of_position = np.full(views.positions.max(initial=-1) + 1, -1)
        copy._place_of_position[views.positions] = np.arange(views.n_samples)
        return copy

    def __sklearn_clone__(self) -> KernelSheet:
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        n_all, n_training = self.values.shape
        return f"KernelSheet({self.kernel!r}, <{n_training} training samples, {n_all - n_training} other>)"

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self.kernel.name

    @property
    def positive_semidefinite(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.positive_semidefinite

    @property
    def supervised(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.supervised

    @property
    def repair(self) -> str | None:  # type: ignore[override]  # an attribute of other kernels, computed here
        """The repair of the kernel."""
        return self.kernel.repair

    def parts(self) -> list[Kernel]:
        """Those of the kernel."""
        return self.kernel.parts()

    def lookups(self, X: Any) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices inside the kernel."""
        return self.kernel.lookups(X)

    def columns(self) -> np.ndarray:
        """Positions of the columns that the kernel reads."""
        return self.kernel.columns()

    def present(self, X: Any) -> np.ndarray:
        """Which samples have the kernel's view, looked up where all are on the sheet."""
        places = self._found(X)
        return self.presence[places] if (places >= 0).all() else self.kernel.present(X)

    def gram(self, X: Any) -> np.ndarray:
        """Kernel values among samples, looked up where all are training samples; a new array."""
        places = self._found(X)
        n_training = self.values.shape[1]
        if np.array_equal(places, np.arange(n_training)):
            return np.array(self.values[:n_training])
        return self._looked_up(places, places) if self._known(places, places) else self.kernel.gram(X)

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        """Kernel values between samples, looked up where all are on the sheet and those of Y are training samples."""
        rows, columns = self._found(X), self._found(Y)
        return self._looked_up(rows, columns) if self._known(rows, columns) else self.kernel.cross(X, Y)

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) of each sample."""
        places = self._found(X)
        return self.self_similarity[places] if (places >= 0).all() else self.kernel.diagonal(X)

    def _found(self, X: Any) -> np.ndarray:
        """The rows of these samples on the sheet, -1 for others."""
        views = as_views(X)
        if views.source is self._source:
            last = len(self._place_of_position) - 1
            return np.where(views.positions > last, -1, self._place_of_position[np.minimum(views.positions, last)])
        digests = views.digests()
        return np.fromiter((self.places.get(digest, -1) for digest in digests), dtype=int, count=len(digests))

    def _known(self, rows: np.ndarray, columns: np.ndarray) -> bool:
        return bool((rows >= 0).all() and (columns >= 0).all() and (columns < self.values.shape[1]).all())

    def _looked_up(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self.values[np.ix_(rows, columns)])


def _training_key(views: Views, sample_weight: np.ndarray | None, y: Any) -> bytes:
    """A digest of all that a kernel may learn constants from."""
    digest = hashlib.blake2b(digest_size=16)
    for row in views.digests():
        digest.update(row)
    weight = np.ones(views.n_samples) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    digest.update(weight.tobytes())
    if y is not None:
        digest.update(repr(np.asarray(y).ravel().tolist()).encode())
    return digest.digest()
