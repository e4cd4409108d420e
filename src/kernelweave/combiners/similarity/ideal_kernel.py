"""`IdealKernelDistance`: the convex combination nearest to the ideal kernel, thesis (2.8).

=============  =====================================  ====================
thesis         here                                   name
=============  =====================================  ====================
<K_m, K_h>     inner products of the kernels          `Similarity.between`
<K_m, yy'>     inner products with the ideal kernel   `Similarity.to_target`
=============  =====================================  ====================
"""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...solvers import solve_box_qp
from ..weighted.sums import ChosenWeights
from .inner_products import compared_with_targets

_GAP = 1e-10


class IdealKernelDistance(ChosenWeights):
    """Weights of the convex combination with the smallest distance ||K_eta - T|| to the ideal kernel T.

    Minimises ``eta'G eta - 2 a'eta`` with ``G_mh = <K_m, K_h>`` and ``a_m = <K_m, T>`` over eta >= 0, sum(eta) = 1
    (He et al., 2008; thesis (Gönen 2010), (2.8)). T is that of `AlignmentWeights`; nothing is centred.

    It helps where kernels are on the scale of the targets' agreement, as with a unit diagonal or trace; unlike the
    alignment it depends on that scale, and with kernels much smaller than T it just takes the one with the largest
    <K_m, T>. A sample without a view counts as a zero row of that kernel.

    Attributes
    ----------
    distance_ : float
        ||K_eta - T||, Frobenius norm, samples counted by their weight.

    Notes
    -----
    Memory: all P matrices of n x n; with ``storage="lazy"`` a tile of each; with explicit features a matrix of the
    size of two kernels' features for each pair of kernels.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import IdealKernelDistance
    >>> from kernelweave.kernels import Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Linear("zer")], IdealKernelDistance()).fit(X[::10], y[::10])
    >>> model.kernel_weights_.round(2)
    fou    1.0
    zer    0.0
    dtype: float64
    """

    def choose(self, stack, machine, control):
        """The minimiser of the distance on the simplex."""
        found = compared_with_targets(stack, machine, self, centered=False, pairs=True)
        unit = max(found.norms.max() ** 2, np.finfo(float).tiny)  # the solver's tolerance is relative to 1
        ones = np.ones(stack.n_kernels)
        result = solve_box_qp(  # thesis (2.8), as a maximum and divided by 2
            found.between / unit, found.to_target / unit, 0.0 * ones, ones, total=1.0, gap_tol=_GAP
        )
        if not result.converged:
            warn(
                f"IdealKernelDistance stopped with a gap of {result.gap * unit:.2g}; scale the kernels alike",
                ConvergenceWarning,
            )
        square = found.target_norm**2 - 2.0 * unit * result.objective
        self.distance_ = float(np.sqrt(max(square, 0.0)))
        return result.solution, 0
