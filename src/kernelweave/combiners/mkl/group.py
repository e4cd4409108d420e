"""`GroupMKL`: all or none of a group of kernels (Szafranski et al. 2008), thesis 2.2.1.3.

Szafranski's composite kernels have weights eta_m = sigma_g^(1/2) tau_m^(1/2) with sum_g sigma_g = sum_m tau_m = 1. The
norms of the groups are then ||eta_g||_2 = (sigma_g sum_{m in g} tau_m)^(1/2), whose sum is at most 1, with equality for
the best sigma and tau; so that problem is the one here with p = 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...solvers.weights.methods import minimize_newton
from ...solvers.weights.sets import GroupBall, Simplex, WeightSet
from ...validation import Constraints, Exactly, Number
from ..named import entries_of
from .base import OptimalWeights, Tell, WeightResult
from .problem import WeightProblem


class GroupMKL(OptimalWeights):
    """Multiple kernel learning that takes all or none of the kernels of a group.

    Minimises ``J(eta)``, the optimum of the machine under ``sum_m eta_m k_m(x, z)``, over ``eta >= 0`` with
    ``sum_g (sum_{m in g} (d_m^2 eta_m)^p)^(1/p) <= 1`` (composite kernel learning, Szafranski, Grandvalet &
    Rakotomamonjy 2008, for p = 2). Works with every machine.

    It helps where several kernels are computed from one view: a view that is not needed need not be measured, and
    within a view nothing is saved by leaving a kernel out.

    Parameters
    ----------
    groups : mapping from group name to kernel names, mapping from kernel name to group, or sequence of group labels
        Kernels that a mapping does not name are groups of their own. None groups kernels over the same view.
    p : float
        At least 1; 1 is `ConvexMKL`, infinity gives all kernels of a group the same weight.
    costs : mapping, sequence, number, `EigenvalueCosts` or None
        d_m, as in `ConvexMKL`.
    max_iter : int
        Most solves of the machine.

    Attributes
    ----------
    costs_ : Series
        d_m by kernel name.

    Notes
    -----
    ``tol`` of the estimator is the relative duality gap. Memory: the P Gram matrices and one n x n matrix;
    with ``storage="lazy"`` n_samples x P numbers for each output of the machine.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import GroupMKL
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> kernels = [("a", Linear([0])), ("b", Gaussian([0])), ("c", Linear([1])), ("d", Gaussian([1]))]
    >>> groups = GroupMKL({"signal": ["a", "b"], "noise": ["c", "d"]})
    >>> model = MKLClassifier(kernels, groups, C=0.02, normalize="unit-trace")
    >>> (model.fit(X, X[:, 0] > 0).kernel_weights_ > 0).tolist()
    [True, True, False, False]
    """

    _constraints = Constraints(p=Number(low=1, high=1e6) | Exactly(np.inf, "infinity"))

    def __init__(self, groups: Any = None, p: float = 2.0, *, costs: Any = None, max_iter: int = 200):
        self.groups = groups
        self.p = p
        self.costs = costs
        self.max_iter = max_iter

    def for_kernels(self, names: list[str], kept: list[str]) -> GroupMKL:
        """A copy for some of the kernels, which stay in their groups; see `Combiner.for_kernels`."""
        other: Any = super().for_kernels(names, kept)
        if isinstance(self.groups, Mapping):
            stay = set(kept) | (set(_label_of(self.groups)) - set(names))
            groups: Any = {
                key: value if _is_label(value) else [name for name in value if name in stay]
                for key, value in self.groups.items()
                if not _is_label(value) or key in stay
            }
        else:
            groups = entries_of(self.groups, names, kept)
        return other.set_params(groups=groups)

    def minimize(self, problem: WeightProblem, costs: np.ndarray, tol: float, tell: Tell) -> WeightResult:
        """The weights in the ball of the mixed norm."""
        if self.p == 1.0:
            feasible: WeightSet = Simplex(np.zeros(len(costs)))
        else:
            feasible = GroupBall(group_numbers(self.groups, problem.names, problem.views), float(self.p))
        return WeightResult.of(minimize_newton(problem.evaluate, feasible, tol, self.max_iter, tell))


def group_numbers(groups: Any, names: list[str], views: list[Any]) -> np.ndarray:
    """The number of each kernel's group, from any of the forms that `GroupMKL` takes."""
    if groups is None:
        labels = views
    elif isinstance(groups, Mapping):
        label_of = _label_of(groups)
        unknown = sorted(set(label_of) - set(names), key=str)
        if unknown:
            raise ValueError(f"groups names kernels that are not there: {unknown}; there are {names}")
        labels = [("group", label_of[name]) if name in label_of else ("kernel", name) for name in names]
    elif isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str) and len(groups) == len(names):
        labels = list(groups)
    else:
        raise ValueError(
            f"groups must map group names to kernel names, or give one label for each of the {len(names)} kernels, "
            f"not {groups!r}"
        )
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(label, len(seen)) for label in labels])


def _label_of(groups: Mapping) -> dict[str, Any]:
    """Group by kernel name, from either kind of mapping."""
    label_of: dict[str, Any] = {}
    for key, value in groups.items():
        members = {key: value} if _is_label(value) else dict.fromkeys(value, key)
        twice = sorted(set(members) & set(label_of), key=str)
        if twice:
            raise ValueError(f"groups puts the kernels {twice} into two groups")
        label_of |= members
    return label_of


def _is_label(value: Any) -> bool:
    """Whether an entry of `groups` is the group of one kernel, rather than the kernels of a group."""
    return isinstance(value, str) or not isinstance(value, Sequence)
