"""Thesis Tables 5.24, 5.25: regression on WHITEWINE with the linear kernel and polynomial kernels of degree 2 to 5."""

from kernelweave.combiners import Sigmoid, Softmax
from kernelweave.experiments.engine.declaration import Experiment, Method, Paper
from kernelweave.experiments.methods.localized import papers_localized
from kernelweave.kernels import Linear, Polynomial
from kernelweave.model_selection import ThesisProtocol

_KERNELS = ("L", "P2", "P3", "P4", "P5")
_EPSILON, _C = [0.08, 0.16, 0.32, 0.64, 1.28], [0.01, 0.1, 1.0, 10.0, 100.0]
_GATED = {"combiner__l2": [1e-4, 1e-3], "epsilon": _EPSILON, "C": [0.1, 1.0, 10.0]}
_SEEDED = {"random_state": 0}

EXPERIMENT = Experiment(
    name="5.24",
    title="Regression on WHITEWINE",
    source="thesis 5.3.2, Tables 5.24 and 5.25",
    dataset="winewhite",
    task="regression",
    kernels={"L": Linear()} | {f"P{degree}": Polynomial(degree=degree) for degree in (2, 3, 4, 5)},
    methods=(
        Method("SVR (k_L)", ("L",), Paper(0.59, 0.00, 66.83, 0.57)),
        Method("SVR (k_P, q = 2)", ("P2",), Paper(0.54, 0.01, 66.22, 0.67)),
        Method("SVR (k_P, q = 3)", ("P3",), Paper(0.54, 0.00, 66.14, 1.13)),
        Method("SVR (k_P, q = 4)", ("P4",), Paper(0.52, 0.01, 66.55, 1.03)),
        Method("SVR (k_P, q = 5)", ("P5",), Paper(0.52, 0.01, 66.27, 1.24)),
        Method(
            "LMKL (softmax)",
            _KERNELS,
            Paper(0.52, 0.01, 18.66, 13.41, weights=(0.2238, 0.0302, 0.1430, 0.0296, 0.5733), active=1.05),
            papers_localized(Softmax, inputs="x", scaling="standard"),
            _SEEDED,
            _GATED,
        ),
        Method(
            "LMKL (sigmoid)",
            _KERNELS,
            Paper(0.51, 0.00, 38.29, 2.34, weights=(0.5956, 0.9698, 0.9978, 0.9849, 0.9929), active=4.58),
            papers_localized(Sigmoid, inputs="x", scaling="standard"),
            _SEEDED,
            _GATED,
        ),
    ),
    baseline="SVR (k_P, q = 5)",
    grid={"epsilon": _EPSILON, "C": _C},
    features=("x",),
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 900},
    note="Scaling as for CONCRETE, on which the thesis is silent.",
)
