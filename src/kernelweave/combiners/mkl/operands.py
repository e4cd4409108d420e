"""The weighted sums of a stack that machines are solved on while weights are learned: whole matrices, or in parts.

    K = F (sum_m eta_m K_m) F,      images F K_m F C      (F: the diagonal matrix of `factor`)

`operands_of` chooses by the storage of the stack. Whole matrices are summed and multiplied; in parts the images K_m C
are what the solver of the machine keeps anyway, so that they cost nothing and stay true when the weights change.
Kernels with explicit features are in `explicit`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ...kernels import KernelStack
from ...kernels.parts.sums import SumInParts
from ...machines import Machine, Solution
from ...solvers.qp.program import DualProgram, curvature
from ...solvers.stacks.images import Images, images
from ...solvers.stacks.sums import sum_kernels

MOST_UPDATES = 20  # of the combined kernel before it is summed afresh


class Operands(ABC):
    """What machines are solved on, for any weights.

    Attributes
    ----------
    n_samples, n_kernels : int
    """

    n_samples: int
    n_kernels: int
    _rows: list[np.ndarray] | None = None
    _programs: list[DualProgram] | None = None

    @abstractmethod
    def scale(self, factor: np.ndarray) -> None:
        """Multiply rows and columns of every kernel by a factor of each sample from now on.

        With explicit features the factors are given by the weights that they are computed from, see
        `WeightedSum.scaling`.
        """

    @abstractmethod
    def sum(self, eta: np.ndarray, ridge: float = 0.0) -> Any:
        """K plus a ridge on the diagonal, which the next call may overwrite."""

    @abstractmethod
    def among(self, K: Any, rows: np.ndarray) -> Any:
        """A sum among some of the samples."""

    @abstractmethod
    def images(self, outputs: list[tuple[np.ndarray, Solution]]) -> Images:
        """Every F K_m F C of solutions on the latest sum, each given with the positions of its samples."""

    def start(self, last: Solution) -> Solution:
        """Where to begin a solve on the latest sum, given the last solution."""
        return last

    def found(self, machine: Machine, solution: Solution) -> Any:
        """`images` of a machine's solution on the latest sum, which have the `forms` q_m = sum_r c_r' K_m c_r."""
        if not solution.outputs:
            return self.images([(np.arange(machine.n_samples), solution)])
        if self._rows is None:
            self._rows = [rows for rows, _ in machine.outputs()]
        return self.images(list(zip(self._rows, solution.outputs, strict=True)))

    def curvature(self, machine: Machine, K: Any, solution: Solution, found: Any) -> np.ndarray:
        """Second derivatives of J by the weights, of shape (P, P).

        Parameters
        ----------
        machine : Machine
            The same in every call.
        K
            The latest sum.
        solution : Solution
            On it.
        found
            What `found` gave for it.
        """
        if self._programs is None:
            self._programs = machine.programs()
        return curvature(self._programs, K, solution.coef, found)

    def _coef(self, outputs: list[tuple[np.ndarray, Solution]]) -> np.ndarray:
        """The coefficients of all samples, one column for each solution of one output."""
        coef = np.zeros((self.n_samples, sum(solution.coef.shape[1] for _, solution in outputs)))
        column = 0
        for rows, solution in outputs:
            width = solution.coef.shape[1]
            coef[rows, column : column + width] = solution.coef
            column += width
        return coef


class WholeKernels(Operands):
    """Sums of the Gram matrices of a stack.

    Memory: the P Gram matrices and one n x n matrix, the sum; it is updated where one or two weights move, and summed
    afresh otherwise.
    """

    def __init__(self, stack: KernelStack):
        self.matrices = stack.matrices()
        self.n_kernels, self.n_samples = self.matrices.shape[:2]
        self.factor: np.ndarray | None = None
        self._K = np.empty(self.matrices.shape[1:], self.matrices.dtype)
        self._weights: np.ndarray | None = None
        self._updates = 0

    def scale(self, factor: np.ndarray) -> None:
        """Of the next sum on."""
        self.factor = None if (factor == 1.0).all() else factor

    def sum(self, eta: np.ndarray, ridge: float = 0.0) -> np.ndarray:
        """The combined kernel, updated or summed afresh; overwritten by the next call."""
        moved = None if self._weights is None else eta - self._weights
        few = moved is not None and np.count_nonzero(moved) <= min(2, int(np.count_nonzero(eta)) - 1)
        if moved is not None and few and self.factor is None and self._updates < MOST_UPDATES:
            if moved.any():
                sum_kernels(self.matrices, moved, out=self._K, add=True)
                self._updates += 1
        else:
            sum_kernels(self.matrices, eta, out=self._K)
            self._updates = 0
            if self.factor is not None:
                self._K *= self.factor[:, None]
                self._K *= self.factor
        self._weights = None if self.factor is not None or ridge else eta.copy()
        if ridge:
            self._K[np.diag_indices_from(self._K)] += ridge
        return self._K

    def among(self, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """A copy of rows and columns, or the whole matrix."""
        return K if len(rows) == self.n_samples else K[np.ix_(rows, rows)]

    def images(self, outputs: list[tuple[np.ndarray, Solution]]) -> Images:
        """Products with the matrices."""
        coef = self._coef(outputs)
        if self.factor is None:
            return images(self.matrices, coef)
        return images(self.matrices, self.factor[:, None] * coef).scaled(self.factor)


class KernelsInParts(Operands):
    """Sums in parts, whose images are kept for each kernel.

    Memory: features, and n_samples x P numbers for each output of a machine.
    """

    def __init__(self, stack: KernelStack):
        self.n_kernels, self.n_samples = stack.n_kernels, stack.n_samples
        self._parts = stack.in_parts()
        self._latest = self._start(np.ones(self.n_samples))

    def _start(self, factor: np.ndarray) -> SumInParts:
        left = np.repeat(factor[:, None], self.n_kernels, axis=1)
        return SumInParts(self._parts, left, keeps_images=True)

    def scale(self, factor: np.ndarray) -> None:
        """Images of the sums before are of no use then."""
        if not np.array_equal(factor, self._latest.left[:, 0]):
            self._latest = self._start(factor)

    def sum(self, eta: np.ndarray, ridge: float = 0.0) -> SumInParts:
        """A sum that shares its images with those before."""
        self._latest = self._latest.with_weights(eta, ridge)
        return self._latest

    def among(self, K: SumInParts, rows: np.ndarray) -> SumInParts:
        """The sum itself where all samples take part."""
        return K if len(rows) == self.n_samples else K.subset(rows)

    def images(self, outputs: list[tuple[np.ndarray, Solution]]) -> Images:
        """What the solutions carry; computed where one carries none."""
        coef = self._coef(outputs)
        columns, rows = np.nonzero(coef.T)
        values = [np.empty((0, self.n_kernels))]
        for index, solution in outputs:
            for c in solution.coef.T:
                if c.any():
                    kernel = self.among(self._latest, index)
                    image = solution.image if kernel.reuses(solution.image) else kernel.image(c)
                    values.append(kernel.images_at(image, np.flatnonzero(c)))
        return Images(rows, columns, coef[rows, columns], np.concatenate(values).T)


def operands_of(stack: Any) -> Operands:
    """The sums of a stack, as its storage allows."""
    if stack.storage == "explicit":
        from .explicit import ExplicitOperands

        return ExplicitOperands(stack)
    return WholeKernels(stack) if stack.storage == "dense" else KernelsInParts(stack)
