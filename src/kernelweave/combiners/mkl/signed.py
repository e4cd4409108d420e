"""`LinearMKL`: weights of any sign under which the combined kernel stays positive semidefinite.

===========================  ======================================================  ========================
thesis                       here                                                    criterion
===========================  ======================================================  ========================
2.2.1.1, omega(K_eta)        the machine's optimum J                                 ``"margin"``
2.3.1.1, A(K_eta, yy')       alignment, not centred                                  ``"alignment"``
tr(K_eta) = c                `trace`; for the alignment only a scale                 both
===========================  ======================================================  ========================

The thesis learns in a transductive setting; here K_eta is positive semidefinite over the training samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...solvers import Result, solve_alignment_program, solve_margin_program
from ...solvers.weights.semidefinite import joint_rank
from ...stacks.base import check_every_view
from ...validation import Choice, Constraints, Number, check_parameters
from ..similarity.inner_products import compared_with_targets
from ..weighted.sums import ChosenWeights

CRITERIA = ("margin", "alignment")
LARGEST_RANK = 100
# Weights whose kernel has less than this share of the norm of the largest part are an interior point's zeros.
_ZERO = 1e-8


class LinearMKL(ChosenWeights):
    """Weights of any sign, with a positive semidefinite combined kernel, from a semidefinite program.

    Minimises the machine's optimum J(K_eta) (``"margin"``) or maximises the alignment <K_eta, T> / ||K_eta||
    (``"alignment"``) over all real weights for which K_eta is positive semidefinite on the training samples and has
    trace c (Lanckriet et al., 2004). T is that of `AlignmentWeights`, not centred.

    It helps where one kernel contains what is noise in another, which a negative weight takes out; otherwise signs are
    one more way to overfit, and it is for small samples only. Every sample needs every view. ``"margin"`` takes support
    vector machines with one output: two classes, regression, novelty detection; ``"alignment"`` takes every machine
    with targets.

    Parameters
    ----------
    criterion : {"margin", "alignment"}
    trace : float or None
        c; None is the mean trace of the kernels. For ``"margin"`` only c times C matters.

    Attributes
    ----------
    program_objective_ : float
        J, or the alignment, at the optimum of the program.
    gap_ : float
        Its duality gap.

    Notes
    -----
    Kernels that repeat others share their weight.

    The size of the program is the rank r of all kernels together, at most the number of samples; r is limited to 100.
    Memory: all P matrices of n x n, and about 15 r^4 bytes for the program: 0.2 GB for r = 60, 1.5 GB for r = 100. Time
    grows with r^6, from below a second for r = 30 to minutes for r = 100. ``storage="lazy"`` is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import LinearMKL
    >>> from kernelweave.kernels import Linear
    >>> rng = np.random.default_rng(0)
    >>> signal, noise = rng.normal(size=(2, 30))
    >>> X = np.column_stack([signal, 2 * noise])
    >>> kernels = [("both", Linear()), ("noise", Linear([1]))]
    >>> model = MKLClassifier(kernels, LinearMKL(), normalize="unit-trace").fit(X, signal > 0)
    >>> bool(model.kernel_weights_["noise"] < 0)
    True
    """

    any_sign = True

    _constraints = Constraints(criterion=Choice(*CRITERIA), trace=Number(above=0) | None)

    def __init__(self, criterion: str = "margin", trace: float | None = None):
        self.criterion = criterion
        self.trace = trace

    def needs(self, kernels=()):
        """The matrices of the program."""
        return {"gram": "LinearMKL solves a semidefinite program of whole Gram matrices"}

    def choose(self, stack, machine, control):
        """The weights at the optimum of the semidefinite program."""
        given = check_parameters(self)
        check_every_view(type(self).__name__, stack.names, stack.present, stack.reference)
        problem = self._problem(machine) if self.criterion == "margin" else None
        matrices = stack.matrices()
        rank = joint_rank(matrices)
        if rank > LARGEST_RANK:
            raise ValueError(
                f"LinearMKL solves a semidefinite program of the size of the kernels' joint rank, which is {rank} here "
                f"and may be at most {LARGEST_RANK}; use fewer samples, or weights of one sign (AlignmentWeights)"
            )
        traces = np.trace(matrices, axis1=1, axis2=2, dtype=np.float64)
        trace = traces.mean() if given.trace is None else given.trace
        if problem is not None:
            result = solve_margin_program(matrices, **problem, trace=trace)
            eta, self.program_objective_, self.gap_ = result.solution, result.objective, result.gap
        else:
            found = compared_with_targets(stack, machine, self, centered=False, pairs=True)
            result = solve_alignment_program(matrices, found.to_target, found.between)
            eta = result.solution * trace / (traces @ result.solution)
            self.program_objective_, self.gap_ = result.objective / found.target_norm, result.gap / found.target_norm
        self._warn(result)
        parts = np.abs(eta) * np.linalg.norm(matrices, axis=(1, 2))
        return np.where(parts > _ZERO * parts.max(), eta, 0.0), 0

    def _problem(self, machine: Any) -> dict[str, Any]:
        """The machine's box QP."""
        if not machine.has_box_dual:
            raise ValueError(
                'LinearMKL with criterion="margin" needs a support vector machine with one output (two classes, '
                'regression or novelty detection); criterion="alignment" takes any machine with targets, and several '
                'classes or targets are taken one by one with weights="per-class" or weights="per-target"'
            )
        return machine.problem()

    def _warn(self, result: Result) -> None:
        if not result.converged:
            warn(
                f"LinearMKL stopped after {result.steps} steps with a duality gap of {result.gap:.2g}; scale the "
                "kernels alike, or remove kernels that others repeat",
                ConvergenceWarning,
            )
