"""Pure functions on arrays: arrays in, one frozen `Result` out; no state, no printing."""

from .alternating import minimize_alternating
from .box import solve_box_qp
from .descent import Descent, minimize_armijo, minimize_lbfgs
from .domains import ConvexSet, Domain, Product, Space, Sphere, Stiefel
from .joint import solve_joint_qp
from .program import DualProgram
from .projections import project_ball
from .result import Result
from .scale_free import minimize_scale_free
from .semidefinite import solve_alignment_program, solve_margin_program
from .simplex import minimize_on_simplex, project_on_simplex
from .smooth import responses, solve_smooth_qp

__all__ = [
    "ConvexSet",
    "Descent",
    "Domain",
    "DualProgram",
    "Product",
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
    "solve_smooth_qp",
]
