"""Pure functions on arrays, which return one frozen `Result`; no state, no printing.

==============================  =====================================================================================
modules                         contents
==============================  =====================================================================================
`box_qp`, `pairs`               the dual of binary, regression and one-class machines, by blocks of pair updates
`in_parts`                      the same dual on a kernel of which only parts are computed, in any place
`ridge`                         the same dual with a diagonal added to the kernel: machines with a smooth loss
`newton_in_parts`               the same, of several outputs at once, on a kernel of which only parts are computed
`joint_qp`, `cycles`            the dual of the joint multiclass machine
`joint_in_parts`                the same on a kernel of which only parts are computed
`coupled`                       losses of censored times, and machines whose loss couples samples
`columns`                       sums of kernel columns with an l1 penalty, by column generation
`program`                       any of these duals written out, and the second derivative of its optimum
`weights`                       kernel weights: convex sets, minimisation over them
`descent`, `domains`            minimisation of smooth functions of many parameters, and where these may be
`embedding`                     graph embedding for dimensionality reduction
`sums`                          sums, products and elementwise functions of stacks of kernel matrices
`partitions`                    clusters of samples, and kernel weights learned with them
`variational`                   a posterior over kernel weights, by a lower bound of the evidence
`tiles`                         blocks of kernel values and gates, and losses in one read of explicit features
`base`, `compiled`              what solvers share, and the decorator of all compiled functions
==============================  =====================================================================================

"Thesis" in these modules is Gönen 2010, PhD thesis, Boğaziçi University.
"""

from .base import Result
from .box_qp import solve_box_qp
from .descent import Descent, minimize_alternating, minimize_armijo, minimize_lbfgs
from .domains import ConvexSet, Domain, ProductSpace, Space, Sphere, Stiefel
from .joint_qp import solve_joint_qp
from .program import DualProgram
from .ridge import responses, solve_ridged_qp
from .weights.semidefinite import solve_alignment_program, solve_margin_program
from .weights.sets import minimize_on_simplex, minimize_scale_free, project_ball, project_on_simplex

__all__ = [
    "ConvexSet",
    "Descent",
    "Domain",
    "DualProgram",
    "ProductSpace",
    "Result",
    "Space",
    "Sphere",
    "Stiefel",
    "minimize_alternating",
    "minimize_armijo",
    "minimize_lbfgs",
    "minimize_on_simplex",
    "minimize_scale_free",
    "project_ball",
    "project_on_simplex",
    "responses",
    "solve_alignment_program",
    "solve_box_qp",
    "solve_joint_qp",
    "solve_margin_program",
    "solve_ridged_qp",
]
