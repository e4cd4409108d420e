"""Thesis Figure 5.13 and the last row of Table 5.22: regression on CONCRETE with copies of the linear kernel."""

from kernelweave.combiners import Softmax
from kernelweave.experiments.engine.claim import Claim
from kernelweave.experiments.engine.declaration import Experiment, Method, Paper
from kernelweave.experiments.methods.localized import papers_localized
from kernelweave.kernels import Linear
from kernelweave.model_selection import ThesisProtocol

_EPSILON = [1.0, 2.0, 4.0, 8.0, 16.0]
_PRINTED = {5: Paper(53.14, 6.42, support=34.93, support_std=8.45)}


def _copies(count: int) -> Method:
    """A piecewise linear model of so many pieces."""
    return Method(
        f"LMKL ({count} k_L and softmax)",
        tuple(f"L-{copy}" for copy in range(1, count + 1)),
        paper=_PRINTED.get(count),
        combiner=papers_localized(Softmax, inputs="x", scaling="standard"),
        options={"random_state": 0},
        grid={"combiner__l2": [1e-3, 1e-2], "epsilon": [2.0, 4.0, 8.0], "C": [10.0, 100.0]},
    )


EXPERIMENT = Experiment(
    name="5.22-copies",
    title="Regression on CONCRETE with copies of the linear kernel",
    source="thesis 5.3.2, Table 5.22 and Figure 5.13",
    dataset="concrete",
    task="regression",
    kernels={"L": Linear()} | {f"L-{copy}": Linear() for copy in range(1, 11)},
    methods=(
        Method("SVR (k_L)", ("L",), paper=Paper(120.61, 2.15, support=44.31, support_std=3.46)),
        *(_copies(count) for count in (2, 3, 5, 10)),
    ),
    baseline="SVR (k_L)",
    grid={"epsilon": _EPSILON, "C": [0.01, 0.1, 1.0, 10.0, 100.0]},
    normalize=None,
    features=("x",),
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 300},
    note="Kernels are not normalised here, unlike those of 5.22: a linear kernel of unit diagonal loses the length of "
    "a sample, so that its copies make no piecewise linear model and five of them stay above 65. The figure has no "
    "printed numbers but those for five copies.",
    claim=Claim(
        "Copies of the linear kernel, localized, are far better than one",
        "LMKL (5 k_L and softmax)",
        ahead_of=("SVR (k_L)",),
        simpler=("SVR (k_L)",),
    ),
)
