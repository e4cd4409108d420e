"""`Function`: any callable as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..validation import shown
from .base import ViewKernel
from .lookups.matrices import check_symmetric


class Function(ViewKernel):
    """The kernel k(x, z) = function(A, B)[i, j] for row i of A and row j of B.

    Parameters
    ----------
    function : callable
        Takes two arrays of samples (rows) and returns the array of shape (len(A), len(B)) of their similarities,
        which must be symmetric. Columns that are not numbers come as object arrays, sparse views as CSR matrices.
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    repair : {"clip", "shift", None}
        What a model does where the similarities of its training samples are not positive semidefinite, see `Repair`;
        None only warns.
    transformer : transformer or None
        A transformer of scikit-learn that prepares the view, such as ``StandardScaler()``: the kernel compares what it
        returns. A copy of it, `transformer_`, is fitted (with y) to the training samples that have the view.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Function
    >>> overlap = Function(lambda A, B: np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2))
    >>> X = [[1.0, 2.0], [3.0, 0.0]]
    >>> overlap.fit(X).gram(X)
    array([[3., 1.],
           [1., 3.]])
    """

    takes_text = True
    takes_sparse = True

    def __init__(
        self,
        function: Callable[[Any, Any], np.ndarray],
        view: Any = None,
        *,
        repair: str | None = None,
        transformer: Any = None,
    ):
        self.function = function
        self.view = view
        self.repair = repair
        self.transformer = transformer

    @property
    def name(self) -> str:
        """The view's name, or the function's."""
        return self.view if isinstance(self.view, str) else getattr(self.function, "__name__", "function").strip("<>")

    def learn(self, values, sample_weight):
        """Check that the function can be called."""
        if not callable(self.function) or isinstance(self.function, type):
            raise ValueError(
                f"function of the kernel {self.label_!r} (Function) must be a callable f(A, B), not "
                f"{shown(self.function)}"
            )

    def gram_of(self, A):
        """function(A, A), which must be symmetric."""
        K = self.cross_of(A, A)
        check_symmetric(K, f"the values of the kernel {self.label_!r}")
        return K

    def cross_of(self, A, B):
        """function(A, B), checked."""
        K = self.function(_private(A), _private(B))
        if sp.issparse(K) or np.iscomplexobj(K):
            raise ValueError(
                f"the kernel {self.label_!r} returned sparse or complex values; it must return real arrays"
            )
        K = np.array(K, dtype=np.float64)
        if K.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"the kernel {self.label_!r} returned shape {K.shape} for {A.shape[0]} and {B.shape[0]} samples; "
                f"its function must return shape {(A.shape[0], B.shape[0])}"
            )
        return K


def _private(values: Any) -> Any:
    """A copy that the user's function may write to; some compiled functions take nothing else."""
    return values.copy()
