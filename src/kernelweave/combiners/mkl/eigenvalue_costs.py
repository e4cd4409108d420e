"""`EigenvalueCosts`: kernel costs from the number of large eigenvalues (EMKL), thesis 2.7.2, Bach et al. (2005).

========  ==========================================================
thesis    here
========  ==========================================================
e_m       number of eigenvalues of K_m above tr(K_m) / (2 n)
gamma     `EigenvalueCosts.gamma`
d_m       `EigenvalueCosts.costs`, e_m ** gamma
========  ==========================================================

The thesis counts eigenvalues above 1/2, which is tr(K_m) / (2 n) for kernels of unit diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs
from sklearn.base import BaseEstimator

from ...engines.moments import means_of, products_of
from ...kernels import KernelStack
from ...validation import Constraints, Number, check_parameters, shown

_LARGEST = 100  # of the logarithms of costs, whose squares are used


class EigenvalueCosts(BaseEstimator):
    """Costs d_m = e_m^gamma, with e_m the number of eigenvalues of K_m above tr(K_m) / (2 n) (Bach et al., 2005).

    A kernel with many large eigenvalues can follow the training samples more closely, so it is made more expensive
    beforehand: EMKL of the thesis (Gönen 2010), 2.7.2. With gamma 0 all costs are 1. Give it as the `costs` of a
    combiner, and search ``combiner__costs__gamma`` (the thesis tries 0, 0.1, ..., 1). Multiplying a kernel by a number
    changes nothing.

    The eigenvalues are counted, not computed: one factorisation of each kernel, O(n^3) time for n samples and the
    memory of two n x n matrices, so that ``storage="lazy"`` is refused unless gamma is 0. Of explicit features they are
    computed, from their second moments. A sample that lacks a
    kernel's view does not count there.

    Parameters
    ----------
    gamma : float
        At least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.combiners import EigenvalueCosts
    >>> from kernelweave.kernels import Gaussian, KernelStack, Linear
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> EigenvalueCosts(gamma=1.0).costs(KernelStack([Linear(), Gaussian(scale=0.1)]).fit(X))
    array([ 2., 48.])
    """

    _constraints = Constraints(gamma=Number(low=0))

    def __init__(self, gamma: float = 0.5):
        self.gamma = gamma

    takes_features = True  # explicit ones: eigenvalues of their second moments are those of the kernel

    @property
    def takes_parts(self) -> bool:
        """Whether a stack with ``storage="lazy"`` will do: where nothing is to be counted."""
        return bool(np.all(self.gamma == 0))

    def costs(self, stack: KernelStack) -> np.ndarray:
        """One cost per kernel, each at least 1.

        Parameters
        ----------
        stack : KernelStack
            The kernels over the training samples.

        Returns
        -------
        ndarray of shape (n_kernels,)
        """
        gamma = check_parameters(self).gamma
        if gamma == 0:
            return np.ones(stack.n_kernels)
        explicit = stack.storage == "explicit"
        found = _counts_of_features(stack) if explicit else [_n_large_eigenvalues(stack, m) for m in range(stack.n_kernels)]
        counts = np.array(found, dtype=float)
        if gamma * np.log10(counts.max()) > _LARGEST:
            raise ValueError(f"gamma of EigenvalueCosts is {shown(gamma)}: costs overflow; take a smaller one")
        return counts**gamma


def _counts_of_features(stack: Any) -> list[int]:
    """e_m of kernels with explicit features: F'F has the eigenvalues of F F' that are not 0."""
    none = np.zeros(stack.n_features)
    n_present, _ = means_of(stack.engine, stack.offsets, weighted=False)
    moments = products_of(stack.engine, stack.offsets, none, pairs=False, weighted=False)
    counts = []
    for m, n in enumerate(n_present.tolist()):
        values = np.linalg.eigvalsh(moments[m, m])
        counts.append(max(1, int((values > values.sum() / (2 * max(1.0, n))).sum())))
    return counts


def _n_large_eigenvalues(stack: KernelStack, m: int) -> int:
    """e_m, at least 1: the largest eigenvalue exceeds half of their mean, unless all are zero."""
    present = stack.present[:, m]
    K = stack.gram(m)
    if not present.all():
        K = K[np.ix_(present, present)]
    threshold = np.trace(K) / (2 * max(1, len(K)))  # Bach et al. (2005): 1 / (2 n) at unit trace
    K.flat[:: len(K) + 1] -= threshold
    return max(1, _n_positive_eigenvalues(K))


def _n_positive_eigenvalues(A: np.ndarray) -> int:
    """By Sylvester's law of inertia, from the signs of D in A = L D L' (Bunch and Kaufman 1977); overwrites A."""
    factorize, workspace = get_lapack_funcs(("sytrf", "sytrf_lwork"), (A,))
    n_work, _ = workspace(len(A), lower=1)
    # The transpose of a symmetric matrix in row order is the matrix in LAPACK's column order: no copy is made.
    D, pivots, _ = factorize(A.T, lwork=int(n_work), lower=1, overwrite_a=1)
    single = pivots > 0
    # A 2 x 2 block of D has one positive and one negative eigenvalue, and stands in two entries of `pivots`.
    return int((np.diagonal(D)[single] > 0).sum() + np.count_nonzero(~single) // 2)
