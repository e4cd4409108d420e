"""MKL-DR Table 1 on the 27 folds of PROTEIN: twelve linear kernels."""

from kernelweave.experiments.methods.mkldr import mkldr_experiment
from kernelweave.kernels import Linear
from kernelweave.model_selection import KFoldProtocol

_VIEWS = (
    "composition",
    "secondary",
    "hydrophobicity",
    "volume",
    "polarity",
    "polarizability",
    "l1",
    "l4",
    "l14",
    "l30",
    "swblosum62",
    "swpam50",
)

EXPERIMENT = mkldr_experiment(
    name="mkldr-protein",
    title="MKL-DR on the 27 folds of PROTEIN",
    dataset="protein_fold",
    kernels={view: Linear(view) for view in _VIEWS},
    protocol=KFoldProtocol(),
    quick={"protocol": KFoldProtocol(n_folds=2), "max_samples": 400},
)
