"""One step of lp-norm MKL: weights by what each kernel adds to a machine that gives all of them the same weight."""

import numpy as np

from kernelweave.combiners import ChosenWeights


class OneStep(ChosenWeights):
    """The weights of `LpMKL` after its first step: eta_m in proportion to ||w_m||^(2 / (p + 1)), of p-norm 1.

    Parameters
    ----------
    p : float
        Close to 0 for few kernels; large for weights that are nearly equal.
    """

    def __init__(self, p=1.0):
        self.p = p

    def choose(self, stack, machine, control):
        if not self.p > 0:
            raise ValueError(f"p must be positive, not {self.p!r}")
        mean = np.full(stack.n_kernels, 1.0 / stack.n_kernels)
        sums = stack.sums()
        solution = machine.solve(sums.at(mean), tol=control.tol)
        norms = mean * np.sqrt(np.maximum(sums.forms(machine, solution), 0.0))
        if not norms.any():
            return mean, 1
        eta = (norms / norms.max()) ** (2.0 / (self.p + 1.0))
        return eta / np.sum(eta**self.p) ** (1.0 / self.p), 1
