"""MKL-DR Table 1 on the ten digits of MULTIFEAT: six linear kernels and six Gaussian ones."""

from kernelweave.experiments.methods.mkldr import mkldr_experiment
from kernelweave.kernels import Gaussian, Linear
from kernelweave.model_selection import ThesisProtocol

_COLUMNS = {"fac": 216, "fou": 76, "kar": 64, "mor": 6, "pix": 240, "zer": 47}

EXPERIMENT = mkldr_experiment(
    name="mkldr-multifeat",
    title="MKL-DR on the ten digits of MULTIFEAT",
    dataset="multifeat",
    kernels={view: Linear(view) for view in _COLUMNS}
    | {f"{view}-g": Gaussian(view, scale=(2.0 * columns) ** 0.5) for view, columns in _COLUMNS.items()},
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 600},
    note="Gaussian kernels have the scale sqrt(2 columns), the typical distance of standardised samples.",
)
