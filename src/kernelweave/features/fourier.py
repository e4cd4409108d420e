"""`FourierFeatures`: random frequencies of a kernel that depends on differences only (Rahimi and Recht 2008).

phi(x) = (cos <omega_j, x>, sin <omega_j, x>)_j / h^(1/2),      j = 1 ... h

==========================================  =====================================================================
kernel                                      frequencies
==========================================  =====================================================================
Gaussian, exp(-||x - z||^2 / scale^2)       normal, of variance 2 / scale^2; in orthogonal groups (Yu et al. 2016)
Laplacian, exp(-||x - z||_1 / scale)        Cauchy, of width 1 / scale, in each column
==========================================  =====================================================================
"""

from __future__ import annotations

import numpy as np

from ..kernels import Kernel, KernelStack
from ..kernels.tiles.functions import PointFunction
from ..validation import Constraints, Whole, check_parameters
from ..validation.schemas import Schema, Sizes, agree, numbers
from ..views import Views
from .base import Approximation, n_compared_by
from .exact import DirectMap

KINDS = ("gaussian", "laplacian")


class FourierMap(DirectMap):
    """Cosines and sines of a view's features; frequencies are of shape (n_columns, n_frequencies)."""

    _saved = Schema({"frequencies": numbers("read", "frequencies")})

    def __init__(self, kernel: Kernel, label: str, frequencies: np.ndarray):
        super().__init__(kernel, label, 2 * frequencies.shape[1])
        self.frequencies = frequencies

    def expand(self, views: Views) -> np.ndarray:
        angles = np.asarray(self.kernel.read(views)[0] @ self.frequencies)
        features = np.empty((len(angles), self.width))
        np.cos(angles, out=features[:, : angles.shape[1]])
        np.sin(angles, out=features[:, angles.shape[1] :])
        features /= np.sqrt(angles.shape[1])
        return features

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """Frequencies are those of the kernel's features, and each has a cosine and a sine."""
        agree(sizes, "read", n_compared_by(self.kernel, f"{path}.kernel"), f"{path}.frequencies")
        agree(sizes, "features", 2 * self.frequencies.shape[1], f"{path}.frequencies")


class FourierFeatures(Approximation):
    """Features cos <omega, x> and sin <omega, x> of random frequencies omega, for Gaussian and Laplacian kernels.

    k(x, z) is the expectation of <phi(x), phi(z)>, whose deviation falls with the root of n_components; ||phi(x)|| is
    exact. Unlike `NystroemFeatures`, they read nothing of the samples but the number of columns and the width, and are
    computed without landmarks; for the same accuracy more of them are needed, where kernels are smooth many more.

    Parameters
    ----------
    n_components : int
        Number of features for each kernel: a cosine and a sine for each of n_components / 2 frequencies, rounded up.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLRegressor
    >>> from kernelweave.features import FourierFeatures
    >>> from kernelweave.kernels import Gaussian
    >>> X = np.linspace(-3.0, 3.0, 200)[:, None]
    >>> model = MKLRegressor([Gaussian()], C=100.0, approximation=FourierFeatures(100), random_state=0)
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.95)
    True
    """

    _constraints = Constraints(n_components=Whole(1))

    def __init__(self, n_components: int = 256):
        self.n_components = n_components

    def fit_map(self, stack: KernelStack, m: int, rng: np.random.RandomState, *, dtype: np.dtype) -> FourierMap:
        given = check_parameters(self)
        name, kernel = stack.names[m], stack.kernels[m]
        function = kernel.point_function()
        if function is None or function.kind not in KINDS:
            raise ValueError(
                f"FourierFeatures are for Gaussian and Laplacian kernels, but the kernel {name!r} is "
                f"{type(kernel).__name__}; use NystroemFeatures, which serve every kernel, for it: "
                f"approximation={{{name!r}: NystroemFeatures(), ...}}"
            )
        n_columns = kernel.read(stack.support)[0].shape[1]
        frequencies = frequencies_of(function, n_columns, -(-given.n_components // 2), rng)
        found = FourierMap(kernel, name, frequencies)
        found.normalized(stack, m)
        return found


def frequencies_of(function: PointFunction, n_columns: int, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Random frequencies of a Gaussian or Laplacian kernel of so many columns, of shape (n_columns, count)."""
    if function.kind == "laplacian":
        return rng.standard_cauchy((n_columns, count)) / function.scale
    groups = []
    for _ in range(-(-count // max(1, n_columns))):
        directions, _ = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))
        directions *= np.where(rng.uniform(size=n_columns) < 0.5, -1.0, 1.0)
        lengths = np.sqrt(rng.chisquare(n_columns, size=n_columns))  # those of normal vectors
        groups.append(directions * lengths)
    return np.hstack(groups)[:, :count] * (np.sqrt(2.0) / function.scale)
