"""Kernel weights in the unit ball of the lp norm, by a weight step in closed form (Kloft et al. 2010, 2011).

    minimise over x    J(x)      subject to   x >= 0,   ||x||_p <= 1

With w_m the machine's weight vector in the space of kernel m, ||w_m||^2 = x_m^2 q_m, J(x) is the minimum over w of a
function that is convex in (w, x) together, and for fixed w the best weights are known:

    x_m = ||w_m||^(2 / (p + 1)) / (sum_h ||w_h||^(2p / (p + 1)))^(1/p).

Alternating between that step and the machine never raises J. The lower bound is that of `sets.GroupBall` with one
group.
"""

from __future__ import annotations

import numpy as np

from .bundle import Bundle
from .methods import Evaluate, Progress
from .sets import GroupBall


def best_weights(norms: np.ndarray, p: float) -> np.ndarray:
    """The x that minimises ``sum_m ||w_m||^2 / x_m`` over the unit ball of the lp norm.

    Parameters
    ----------
    norms : ndarray of shape (P,)
        ||w_m||, not all zero.
    p : float
        Above 1, possibly infinite.

    Examples
    --------
    >>> import numpy as np
    >>> best_weights(np.array([0.0, 2.0]), p=2.0)
    array([0., 1.])
    """
    if np.isinf(p):
        return np.ones(len(norms))
    a = (norms / norms.max()) ** (2.0 / (p + 1.0))
    return a / (a**p).sum() ** (1.0 / p)


def minimize_in_norm_ball(evaluate: Evaluate, p: float, n: int, tol: float, most: int, progress: Progress) -> Bundle:
    """Alternate between the machine and the weights in closed form; parameters as in `methods.minimize_newton`."""
    ball = GroupBall(np.zeros(n, dtype=int), p)
    bundle = Bundle(ball, tol)
    evaluation = evaluate(ball.start(), None)
    bundle.add(evaluation)
    progress(bundle)
    while not bundle.converged and bundle.evaluations < most:
        norms = evaluation.point * np.sqrt(np.maximum(evaluation.forms, 0.0))
        x = best_weights(norms, p) if norms.any() else evaluation.point
        evaluation = evaluate(x, bundle.inner_gap)
        bundle.add(evaluation)
        progress(bundle)
    return bundle
