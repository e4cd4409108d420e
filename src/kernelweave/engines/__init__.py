"""Training as sums over blocks of samples, which are in memory, in files, on a device or on a cluster.

    P(w, b, theta) = 1/2 ||w||^2 + total sum_r b_r + sum_i loss_i(f_i) + penalty(theta)
    f_ir = sum_m a_m(x_i; theta) <w_mr, phi_m(x_i)> + b_r

is minimised by L-BFGS, and at fixed theta, where features are few, by Newton's method.

================================  ============================================================================
the two operations on blocks      `base`; `memory`, and in `files`, `dask` and `device` blocks are elsewhere
blocks ready for training         `memory` (features, and a pass over them), `targets`
a sample of all samples           `reservoir`, on which kernels and features are fitted
P, its gradient, the certificate  `primal`; two ways down in `training`
what similarities read            `moments` of features
================================  ============================================================================
"""

from .base import Engine
from .memory import InMemory

__all__ = ["Engine", "InMemory"]
