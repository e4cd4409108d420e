"""The regressions of the thesis (5.3.2): the linear kernel and polynomial kernels, alone and localized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...combiners import Localized, Sigmoid, Softmax
from ...kernels import Linear, Polynomial
from ..engine.declaration import Experiment, Method, Paper
from .localized import papers_localized

_DEGREES = (2, 3, 4, 5)
_C = [0.01, 0.1, 1.0, 10.0, 100.0]
SINGLE = ("SVR (k_L)", *(f"SVR (k_P, q = {degree})" for degree in _DEGREES))


def regression_experiment(
    single: Sequence[Paper],
    localized: Sequence[Paper],
    *,
    epsilon: Sequence[float],
    localized_C: Sequence[float] = _C,
    unit_gates: bool = False,
    **fields: Any,
) -> Experiment:
    """Support vector regression with each of five kernels, and with gates over all of them.

    Parameters
    ----------
    single : sequence of Paper
        The figures of the thesis for the linear kernel and for degrees 2 to 5.
    localized : sequence of Paper
        Those for softmax and for sigmoid gates.
    epsilon : sequence of float
        Widths of the tube to try.
    localized_C : sequence of float
        Values of C to try with gates.
    unit_gates : bool
        Whether there is a row of the library's own gates, which choose their penalty by themselves.
    fields : further fields of `Experiment`

    Examples
    --------
    >>> from kernelweave.experiments import Paper
    >>> from kernelweave.experiments.methods.regression import regression_experiment
    >>> about = {"name": "x", "title": "x", "source": "here", "dataset": "concrete", "baseline": "SVR (k_L)"}
    >>> made = regression_experiment([Paper(1.0)] * 5, [Paper(1.0)] * 2, epsilon=[0.1], **about)
    >>> [method.name for method in made.methods][-2:]
    ['LMKL (softmax)', 'LMKL (sigmoid)']
    """
    kernels = {"L": Linear()} | {f"P{degree}": Polynomial(degree=degree) for degree in _DEGREES}
    methods = [
        Method(name, (kernel,), paper=paper) for name, kernel, paper in zip(SINGLE, kernels, single, strict=True)
    ]
    for gate, paper in zip((Softmax, Sigmoid), localized, strict=True):
        gated = Method(
            f"LMKL ({gate.__name__.lower()})",
            tuple(kernels),
            paper=paper,
            combiner=papers_localized(gate, inputs="x", scaling="standard"),
            options={"random_state": 0},
            grid={"combiner__l2": [1e-4, 1e-3], "epsilon": list(epsilon), "C": list(localized_C)},
        )
        methods.append(gated)
    if unit_gates:
        # These gates choose their penalty in every fit, which is slow: the middle of the tubes, and the two largest C.
        grid = {"epsilon": list(epsilon[1:-1]), "C": list(localized_C[-2:])}
        own = Localized(inputs="x")
        methods.append(
            Method("LMKL (unit gates)", tuple(kernels), combiner=own, options={"random_state": 0}, grid=grid)
        )
    return Experiment(
        task="regression",
        kernels=kernels,
        methods=tuple(methods),
        grid={"epsilon": list(epsilon), "C": _C},
        features=("x",),
        **fields,
    )
