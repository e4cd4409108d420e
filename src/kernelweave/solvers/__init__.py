"""Pure functions on arrays: arrays in, one frozen `Result` out; no state, no printing."""

from kernelweave.solvers.box import solve_box_qp
from kernelweave.solvers.result import Result

__all__ = ["Result", "solve_box_qp"]
