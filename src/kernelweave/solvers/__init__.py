"""Pure functions on arrays: arrays in, one frozen `Result` out; no state, no printing."""

from .box import solve_box_qp
from .joint import solve_joint_qp
from .result import Result

__all__ = ["Result", "solve_box_qp", "solve_joint_qp"]
