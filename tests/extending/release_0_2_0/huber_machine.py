"""A hinge that is rounded off at its kink: quadratic over a width, then linear, as Huber's loss."""

import numpy as np

from kernelweave.machines import BinaryLoss, DualTerms


class HuberHinge(BinaryLoss):
    """``C_i g(1 - y_i f(x_i))``: g(u) is 0 for u < 0, u^2 / (2 width) up to the width, and u - width / 2 beyond it.

    Parameters
    ----------
    width : float
        Lack of margin at which the loss becomes linear; small widths are close to the hinge.
    """

    def __init__(self, width=0.5):
        self.width = width

    def terms(self, y, bound):
        """The dual of the hinge, ``max y'c - 1/2 c'Kc`` with ``0 <= c_i y_i <= C_i``, and a diagonal added to K."""
        if not self.width > 0:
            raise ValueError(f"width must be positive, not {self.width!r}")
        ends = bound * y
        return DualTerms(
            linear=y,
            lower=np.minimum(ends, 0.0),
            upper=np.maximum(ends, 0.0),
            quadratic=self.width / bound,
        )
