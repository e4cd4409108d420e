"""Pure functions on arrays: arrays in, one frozen `Result` out; no state, no printing.

=================  ==================================================================================================
room               contents
=================  ==================================================================================================
`qp`               the dual quadratic programs of kernel machines
`weights`          kernel weights: convex sets, projections onto them, minimisation over them
`descent`          minimisation of smooth functions of many parameters
`stacks`           sums, products and elementwise functions of stacks of kernel matrices
`embedding`        graph embedding for dimensionality reduction
=================  ==================================================================================================

`compiled` is the decorator of all compiled functions. "Thesis" in these modules is Gönen 2010, PhD thesis, Boğaziçi
University.
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
