"""`Solution`: what the solve of a machine returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Solution:
    """A solved machine.

    Attributes
    ----------
    coef : ndarray of shape (n_samples, n_outputs)
        Signed dual coefficients C.
    intercept : ndarray of shape (n_outputs,)
        Biases b; raw values of samples with kernel rows `k` are ``k @ coef + intercept``.
    objective : float
        J, summed over outputs.
    gap : float
        Duality gap, summed over outputs: the optimum is at most ``objective + gap``.
    violation : float
        Largest KKT violation of any output.
    steps : int
        Pair updates, summed over outputs.
    converged : bool
        Whether every output reached the tolerance.
    outputs : tuple of Solution
        The solutions of independent outputs, each on its own samples, where there are several.
    rounds : int
        Working sets, summed over outputs, where the machine was solved in parts.
    image : image or None
        What a kernel in parts keeps of its product with the coefficients, where there is one output.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.machines import BinaryMachine
    >>> solution = BinaryMachine(np.array([1.0, -1.0]), bound=10.0).solve(np.eye(2))
    >>> solution.coef.shape, solution.converged
    ((2, 1), True)
    """

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    gap: float
    violation: float
    steps: int
    converged: bool
    outputs: tuple[Solution, ...] = field(default=(), repr=False, kw_only=True)
    rounds: int = field(default=0, kw_only=True)
    image: Any = field(default=None, repr=False, kw_only=True)


def join(parts: list[Solution], coef: np.ndarray) -> Solution:
    """Independent columns as one solution: J, gaps and steps add up, the worst violation counts."""
    return Solution(
        coef=coef,
        intercept=np.concatenate([part.intercept for part in parts]),
        objective=sum(part.objective for part in parts),
        gap=sum(part.gap for part in parts),
        violation=max(part.violation for part in parts),
        steps=sum(part.steps for part in parts),
        converged=all(part.converged for part in parts),
        rounds=sum(part.rounds for part in parts),
        outputs=tuple(parts),
    )
