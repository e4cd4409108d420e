"""Thesis Table 5.24: regression on WHITEWINE with the linear kernel and polynomial kernels up to the fifth degree."""

from kernelweave.experiments.declaration import Experiment, Method, Paper
from kernelweave.kernels import Linear, Polynomial
from kernelweave.model_selection import ThesisProtocol

EXPERIMENT = Experiment(
    name="5.24",
    title="Regression on WHITEWINE",
    source="thesis 5.3.2, Table 5.24",
    dataset="winewhite",
    task="regression",
    kernels={"L": Linear()} | {f"P{degree}": Polynomial(degree=degree) for degree in (2, 3, 4, 5)},
    methods=(
        Method("SVR (k_L)", ("L",), Paper(0.59, 0.00, 66.83, 0.57)),
        Method("SVR (k_P, q = 2)", ("P2",), Paper(0.54, 0.01, 66.22, 0.67)),
        Method("SVR (k_P, q = 3)", ("P3",), Paper(0.54, 0.00, 66.14, 1.13)),
        Method("SVR (k_P, q = 4)", ("P4",), Paper(0.52, 0.01, 66.55, 1.03)),
        Method("SVR (k_P, q = 5)", ("P5",), Paper(0.52, 0.01, 66.27, 1.24)),
    ),
    baseline="SVR (k_P, q = 5)",
    grid={"epsilon": [0.08, 0.16, 0.32, 0.64, 1.28], "C": [0.01, 0.1, 1.0, 10.0, 100.0]},
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 900},
    note="Scaling as for CONCRETE, on which the thesis is silent.",
)
