"""The ten digits of MULTIFEAT with the joint multiclass machine, under mean and localized kernels: no paper has it."""

from kernelweave.combiners import Localized, Sigmoid, Softmax
from kernelweave.experiments.engine.claim import Claim
from kernelweave.experiments.engine.declaration import Experiment, Method
from kernelweave.experiments.methods.localized import papers_localized
from kernelweave.experiments.tables.thesis.thesis_5_16 import VIEWS
from kernelweave.kernels import Linear
from kernelweave.model_selection import ThesisProtocol

_JOINT = {"multiclass": "joint", "random_state": 0}
_GATED = {"combiner__l2": [1e-4, 1e-3, 1e-2], "C": [1.0, 10.0]}

EXPERIMENT = Experiment(
    name="multifeat-ten",
    title="Ten digits of MULTIFEAT with the joint machine",
    source="thesis 1.4 and 3.4.3, without a table",
    dataset="multifeat",
    task="classification",
    kernels={view: Linear(view) for view in VIEWS} | {"all": Linear()},
    methods=(
        Method("SVM (ALL)", ("all",), options=_JOINT),
        Method("mean of six kernels", VIEWS, options=_JOINT),
        Method(
            "LMKL (softmax)",
            VIEWS,
            combiner=papers_localized(Softmax, inputs=list(VIEWS), scaling="standard"),
            options=_JOINT,
            grid=_GATED,
        ),
        Method(
            "LMKL (sigmoid)",
            VIEWS,
            combiner=papers_localized(Sigmoid, inputs=list(VIEWS), scaling="standard"),
            options=_JOINT,
            grid=_GATED,
        ),
        Method("LMKL (unit gates)", VIEWS, combiner=Localized(inputs=list(VIEWS)), options=_JOINT),
    ),
    baseline="mean of six kernels",
    grid={"C": [0.1, 1.0, 10.0]},
    features=VIEWS,
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 450},
    claim=Claim(
        "Gates improve on the mean kernel (no paper has this table)",
        "LMKL (sigmoid)",
        ahead_of=("SVM (ALL)", "mean of six kernels"),
        simpler=("SVM (ALL)", "mean of six kernels"),
        own="LMKL (unit gates)",
    ),
)
