"""`KernelMap`: kernel values as gating inputs.

Thesis (3.5), and section 2.2 of Gönen and Alpaydın, Multiple kernel machines using localized kernels (2009).

=========  ===================================
paper      here
=========  ===================================
k_G        kernel
x_1 ...    landmarks_, training samples
=========  ===================================
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, clone

from ...kernels import KernelStack, Precomputed
from ...kernels.base import Kernel
from ...validation import Constraints, Instance, Whole, check_parameters
from ...views import Views


class KernelMap(BaseEstimator):
    """The empirical kernel map x^G = (k_G(x_1, x), ..., k_G(x_N, x)) as the gating inputs of `Localized`.

    For samples that are sequences, graphs or ids rather than vectors, and for views with many more features than there
    are samples: thesis (Gönen 2010), (3.5).

    Parameters
    ----------
    kernel : Kernel
        k_G, one of the combined kernels or another one.
    n_landmarks : int or None
        How many training samples to compare with, drawn at random from those that have the kernel's view; None means
        all of them, which is an n x n matrix and not for models in lazy storage.

    Notes
    -----
    Memory: n_samples x n_landmarks numbers while fitting; the landmarks' columns afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import KernelMap, Localized
    >>> from kernelweave.kernels import Gaussian, Precomputed
    >>> A = np.random.default_rng(0).normal(size=(40, 3))
    >>> kernel = Precomputed(A @ A.T)
    >>> model = MKLClassifier([kernel, kernel], Localized(inputs=KernelMap(kernel)), random_state=0)
    >>> model.fit(np.arange(40)[:, None], A[:, 0] * A[:, 1] > 0).kernel_weights([[3]]).shape
    (1, 2)
    """

    _constraints = Constraints(kernel=Instance(Kernel, "a kernel such as Gaussian()"), n_landmarks=Whole(1) | None)

    def __init__(self, kernel: Kernel, n_landmarks: int | None = None):
        self.kernel = kernel
        self.n_landmarks = n_landmarks

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Fit the kernel and choose the landmarks among the samples of a stack; returns what `read` gives of them."""
        check_parameters(self)
        views = stack.support
        self.kernel_ = clone(self.kernel).fit(views, stack.weight, "gating kernel", stack.y)
        present = np.flatnonzero(self.kernel_.present(views))
        if self.n_landmarks is not None:
            present = np.sort(rng.permutation(present)[: self.n_landmarks])
        if len(present) == 0:
            raise ValueError("no training sample has the view of the gating kernel; choose another kernel")
        self.landmarks_ = views.keep(present, self.kernel_.columns())
        return self.read(views)

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Kernel values, and which of them are there, both of shape (n_samples, n_landmarks)."""
        present = self.kernel_.present(views)
        if not present.all():
            raise ValueError(
                f"{views.first(~present)} lacks the view of the gating kernel; impute it, or give KernelMap a kernel "
                "of a view that every sample has"
            )
        values = self.kernel_.cross(views, self.landmarks_)
        return values, np.ones(values.shape, dtype=bool)

    def names(self, stack: KernelStack) -> list[str]:
        """The landmarks."""
        return [f"sample {position}" for position in self.landmarks_.positions]

    def columns(self) -> np.ndarray:
        """Positions of the columns that are read."""
        return self.kernel_.columns()

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices that are read."""
        return self.kernel_.lookups(self.landmarks_)

    def replace(self, old: Kernel, new: Kernel) -> None:
        """Install a kernel with further ids in the place of the gating kernel, if that reads the same matrix."""
        if self.kernel_.reads_ids and type(self.kernel_) is type(old) and _matrix(self.kernel_).equals(_matrix(old)):
            self.kernel_ = new.bound_like(self.kernel_)


def _matrix(kernel: Kernel) -> Precomputed:
    """The matrix in which a kernel looks ids up."""
    ((matrix, _),) = kernel.lookups(None)
    return matrix
