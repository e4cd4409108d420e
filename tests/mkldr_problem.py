"""Samples of three classes, kernels and graphs, for the tests of `MKLDR`."""

import numpy as np

from kernelweave.kernels import Gaussian, Linear
from kernelweave.reduction import LDAGraph, LDEGraph, LFDAGraph, LPPGraph, MFAGraph, SemiSupervisedGraph

rng = np.random.default_rng(0)
N = 60
Y = rng.permutation(np.arange(N) % 3)
X = rng.normal(size=(N, 6))
X[:, 0] += 2.0 * Y
X[:, 3] -= 1.5 * (Y == 1)
NEW = rng.normal(size=(9, 6))
KERNELS = [("a", Gaussian([0, 1, 2], scale=3.0)), ("b", Gaussian([3, 4, 5], scale=3.0)), ("c", Linear([1, 2, 4]))]
GRAPHS = [LDAGraph(), LDEGraph(3, 10), MFAGraph(3, 10), LFDAGraph(3), LPPGraph(4), SemiSupervisedGraph(4)]
