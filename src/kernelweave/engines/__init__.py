"""Training as sums over blocks of samples, wherever the blocks are: in memory, in files, on a device or on a cluster.

    P(w, b, theta) = 1/2 ||w||^2 + total sum_r b_r + sum_i loss_i(f_i) + penalty(theta)
    f_ir = sum_m a_m(x_i; theta) <w_mr, phi_m(x_i)> + b_r

is minimised by L-BFGS, and at fixed theta, where features are few, by Newton's method; one pass over the blocks gives P
and its gradient.

=====================================  ===========================================================================
the two operations on blocks           `base` (in memory); in `from_files`, `cluster` and `device` blocks are elsewhere
blocks as given, and a sample of       `base`, `reservoir`
them on which features are fitted
blocks ready for training              `block` (features), `targets`
P, its gradient, two ways down, and    `training`; compiled passes in `host`, the same in torch in `device`
the duality gap
what similarities read                 `moments` of features
=====================================  ===========================================================================
"""

from .base import Engine
from .memory import InMemory

__all__ = ["Engine", "InMemory"]
