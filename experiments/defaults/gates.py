"""`Localized`: the gates' norm and the penalty on their parameters, two classes from one view or several."""

from typing import Any

from kernelweave.combiners import Localized, Mean, Softmax
from kernelweave.experiments.engine.comparison import Candidates, Problem
from kernelweave.experiments.methods.default_settings import default_comparison, machine, over_costs, over_views
from kernelweave.kernels import Gaussian, Kernel, Linear

_VARIANTS = {
    "multifeat": "even-vs-odd",
    "usps": "small-vs-large",
    "pendigits": "1vs7",
    "olivetti": "gender",
    "protein_fold": "merged",
    "segment": "merged",
    "waveform": "merged",
    "letter": "merged",
}
_SETTINGS: list[tuple[str, str | float]] = [
    ("unit", "auto"),
    ("unit", 0.3),
    ("unit", 0.03),
    ("unit", 0.003),
    ("paper", "auto"),
    ("paper", 0.03),
]


def _kernels(data: Problem) -> list[tuple[str, Kernel]]:
    """Linear kernels of several views; a single view is worth gating where its kernels differ."""
    return over_views(data, Linear) if len(data.views) > 1 else over_views(data, Linear, Gaussian)


def _gated(norm: str, l2: str | float) -> Candidates:
    def make(data: Problem, C: float) -> Any:
        return machine(data, _kernels(data), combiner=Localized(Softmax(norm=norm), l2=l2), C=C)

    return over_costs(make)


EXPERIMENT = default_comparison(
    name="gates",
    title="Norm of gates and penalty on their parameters",
    datasets=(*_VARIANTS, "banana", "ringnorm", "heart", "ionosphere", "sonar", "pima", "spambase"),
    contenders={f"norm={norm!r}, l2={l2!r}": _gated(norm, l2) for norm, l2 in _SETTINGS}
    | {"Mean()": over_costs(lambda data, C: machine(data, _kernels(data), combiner=Mean(), C=C))},
    default="norm='unit', l2='auto'",
    note="`Localized(Softmax(norm=...), l2=...)` over linear kernels of several views, or a linear and a Gaussian "
    "kernel of a single one; two classes. A number l2 is relative to the optimum of the mean kernel.",
    variants=_VARIANTS,
)
