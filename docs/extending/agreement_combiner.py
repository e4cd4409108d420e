"""Between the mean and the product of the kernels: how far samples must agree in every view, learned."""

import numpy as np

from kernelweave.combiners import DescentCombiner, KernelFamily, PointwiseKernel
from kernelweave.solvers import ConvexSet


class AgreementKernel(PointwiseKernel):
    """k(x, z) = (1 - t) mean_m k_m(x, z) + t prod_m k_m(x, z), with t from 0 to 1."""

    def combine(self, values):
        values, t = list(values), self.theta[0]
        return (1.0 - t) * np.mean(values, axis=0) + t * np.prod(values, axis=0)


class AgreementFamily(KernelFamily):
    """The kernels of all t from 0 to 1."""

    def at(self, theta):
        return AgreementKernel(self.stack, theta)

    def pullback(self, kernel, coef):
        K = self.stack.matrices()
        return np.array([-0.5 * np.sum(coef * ((K.prod(axis=0) - K.mean(axis=0)) @ coef))])

    def start(self, machine, rng):
        return np.array([0.5])

    def domain(self):
        return ConvexSet(lambda theta: np.clip(theta, 0.0, 1.0))


class Agreement(DescentCombiner):
    """Minimise J(t) over t from 0 (samples are similar on average) to 1 (samples are similar in every view)."""

    def family(self, stack, machine, control):
        return AgreementFamily(stack)
