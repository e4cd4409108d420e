"""Multiple kernel learning over all widths of a Gaussian of each view, beside the other kernels."""

from experiments.benchmark.ingredients import kernels_of, machines
from kernelweave.combiners import WidthMKL
from kernelweave.compare import Problem

NAME = "WidthMKL"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Four values of C. Of several Gaussians over one table the usual one stays: its widths are those of the others."""
    kernels = [
        (name, kernel) for name, kernel in kernels_of(problem) if name not in ("gaussian-narrow", "gaussian-wide")
    ]
    found = machines(problem, WidthMKL())
    return {label: model.set_params(kernels=kernels) for label, model in found.items()}
