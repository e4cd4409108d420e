"""What the combiners with a gating model share: their parameters, checks, fitted attributes and one warning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._warnings import warn
from ...kernels import Kernel
from ...machines import Machine
from ...stacks import FitControl, TrainingStack
from ...validation import Choice, Constraints, Flag, Instance, Number, check_parameters
from ..descent.combiner import DescentCombiner
from ..gates.base import Gate
from ..gates.inputs import SCALINGS, GatingInputs, NoInputs
from ..gates.kernel_map import KernelMap
from .family import GatingOptions
from .kernel import GatedSum

HARDLY = 0.01  # share of the weight that differs between samples, below which a model is not localized
TINY = np.finfo(float).tiny


class GatedCombiner(DescentCombiner):
    """A combiner k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z) whose gates eta (and perhaps k_m) are learned.

    Minimises J + l2/2 J0 ||V||^2, where J0 is the optimum under the mean kernel and V are all parameters of the gating
    model, biases too. Subclasses have the parameters `gating`, `inputs`, `quadratic`, `scaling`, `l2`, `gate_tol` and
    `validation_fraction` of `Localized`.
    """

    _constraints = Constraints(
        gating=Instance(Gate, "a gating model such as Softmax()") | None,
        quadratic=Flag(),
        scaling=Choice(*SCALINGS),
        l2=Number(low=0),
        gate_tol=Number(low=0, below=1),
        validation_fraction=Number(low=0, below=1),
    )
    gating: Gate | None
    inputs: Any
    quadratic: bool
    scaling: str | None
    l2: Any
    gate_tol: float
    validation_fraction: float
    gating_: Gate
    l2_: float

    @property
    def methods(self) -> frozenset[str]:
        """Gates, the kernel with the largest gate, and the values of each kernel alone."""
        return frozenset({"gates", "region", "local_values"})

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """Whole matrices for kernel values to all samples; samples and solves for what features cannot have."""
        name, found = type(self).__name__, dict[str, str]()
        if isinstance(self.inputs, KernelMap) and self.inputs.n_landmarks is None:
            found["gram"] = "KernelMap without n_landmarks reads the kernel values of all pairs of samples"
        if self.gating is not None and self.gating.per_sample:
            found["samples"] = f"{type(self.gating).__name__} has parameters of its own for each training sample"
        if self.optimizer != "lbfgs":
            found["nested"] = f"{name}(optimizer={self.optimizer!r}) solves the machine on whole kernels at every step"
        return found

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> GatedSum:
        """Learn the gating model, close small gates, then solve the machine."""
        kernel: Any = super().learn(stack, machine, control)
        self._warn_of_even_gates(kernel, machine)
        return kernel

    def remember(self, family: Any, kernel: Any) -> None:
        """Set the fitted gating model, and the penalty."""
        self.gating_, self.l2_ = family.gate, family.l2
        self.__dict__.pop("l2_path_", None)
        if family.l2_path is not None:
            self.l2_path_ = family.l2_path

    def _options(self) -> GatingOptions:
        return GatingOptions(self.l2, self.gate_tol, self.validation_fraction, self.n_jobs)

    def _coded(
        self, gate: Gate, inputs: GatingInputs | NoInputs, stack: TrainingStack, control: FitControl
    ) -> tuple[Gate, Any, np.ndarray]:
        """A fitted copy of a gating model, the stack with what it reads of the training samples, and of a sample."""
        values, gate = inputs.fit(stack.sample(), control.rng), clone(gate)
        gate.prepare(values, control.rng)
        codes = gate.encode(values)
        return gate, stack.coded(inputs, gate, codes), codes

    def _check(self) -> None:
        """Raise a `ValueError` if the gating model has wrong parameters, or parameters do not go together."""
        if self.gating is not None:
            check_parameters(self.gating)
        if isinstance(self.l2, str) and self.validation_fraction > 0.0:
            raise ValueError('l2="auto" holds out samples by itself; set validation_fraction to 0, or l2 to a number')

    def _warn_of_even_gates(self, kernel: GatedSum, machine: Machine) -> None:
        """Warn if gates hardly depend on the sample: a model with one weight for each kernel would do."""
        if kernel.n_kernels < 2 or not self.gating_.learns:
            return
        found = kernel.stack.gate_spread(kernel.function)
        if found is not None and found[1] <= HARDLY * max(found[0].sum(), TINY):
            warn(f"{self._reason()}: this model is not localized; {_advice(found[0], machine)}")

    def _reason(self) -> str:
        if not hasattr(self, "l2_path_") or np.isfinite(self.l2_):
            return "every sample has nearly the same kernel weights (kernel_weights_)"
        if self.l2_path_.empty:
            return 'no class has a second sample that could be held out, so l2="auto" took equal gates'
        return 'held-out samples give no reason to weigh kernels differently, so l2="auto" took equal gates'


def _advice(average: np.ndarray, machine: Machine) -> str:
    if machine.detects_novelty:
        return "for novelty detection prefer Mean(), because J only favours the kernel of largest similarities"
    if np.abs(average - 1.0 / len(average)).max() < HARDLY:
        return "Mean() is this model at less cost"
    return "a combiner with one weight for each kernel, such as ConvexMKL(), costs less"
