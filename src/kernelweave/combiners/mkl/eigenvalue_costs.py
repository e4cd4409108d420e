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

import numpy as np
from sklearn.base import BaseEstimator

from ...stacks import TrainingStack, training
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

    def needs(self) -> dict[str, str]:
        """Eigenvalues, where some are to be counted."""
        if np.all(self.gamma == 0):
            return {}
        return {"eigenvalues": f"{type(self).__name__} counts eigenvalues of whole Gram matrices"}

    def costs(self, stack: TrainingStack) -> np.ndarray:
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
        counts = np.array(training(stack).eigenvalue_counts(), dtype=float)
        if gamma * np.log10(counts.max()) > _LARGEST:
            raise ValueError(f"gamma of EigenvalueCosts is {shown(gamma)}: costs overflow; take a smaller one")
        return counts**gamma
