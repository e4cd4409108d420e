"""Table 2 of the projection paper (SLDR): small against large digits of MULTIFEAT."""

from typing import Any

from kernelweave.combiners import ConvexMKL, Projected, Softmax
from kernelweave.experiments.engine.claim import Claim
from kernelweave.experiments.engine.declaration import Experiment, Method, Paper
from kernelweave.experiments.methods.localized import papers_localized
from kernelweave.experiments.methods.projected import sldr
from kernelweave.experiments.tables.thesis.thesis_5_16 import VIEWS
from kernelweave.kernels import Linear
from kernelweave.model_selection import ThesisProtocol

C = [1.0, 10.0, 100.0]
_SEEDED = {"random_state": 0}
_LEARNED: dict[str, list[Any]] = {"combiner__init": ["lda", "random"], "combiner__l2": [1e-3, 1e-2], "C": C}

EXPERIMENT = Experiment(
    name="sldr-2",
    title="Dimension reduction on MULTIFEAT-SL",
    source="Gönen and Alpaydın, Supervised and localized dimensionality reduction, Table 2",
    dataset="multifeat",
    variant="small-vs-large",
    task="classification",
    kernels={view: Linear(view) for view in VIEWS} | {"all": Linear()},
    methods=(
        Method("SVM (FAC)", ("fac",), paper=Paper(94.97, 0.87, support=17.93, support_std=0.91)),
        Method("SVM (ALL)", ("all",), paper=Paper(97.69, 0.44, support=23.34, support_std=1.13)),
        Method("MKL", VIEWS, paper=Paper(97.40, 0.37, support=32.59, support_std=0.82), combiner=ConvexMKL()),
        Method(
            "LMKL",
            VIEWS,
            paper=Paper(97.73, 0.57, support=14.35, support_std=1.43),
            combiner=papers_localized(Softmax, inputs=list(VIEWS), scaling="standard"),
            options=_SEEDED,
            grid={"combiner__l2": [1e-3, 1e-2], "C": C},
        ),
        sldr(VIEWS, 2, gating_components=10, paper=Paper(97.09, 0.52, support=2.89, support_std=0.67), grid=_LEARNED),
        sldr(VIEWS, 2, gating_components=2, paper=None, grid=_LEARNED),
        sldr(VIEWS, 1, gating_components=2, paper=None, grid=_LEARNED),
        Method(
            "unit gates (R_m = 2, R_G = 10)",
            VIEWS,
            paper=None,
            combiner=Projected(2, Softmax(), gating_components=10),
            options=_SEEDED,
            from_features=True,
        ),
    ),
    baseline="SVM (ALL)",
    grid={"C": C},
    features=VIEWS,
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 150},
    note="Scaling as for Table 5.16: standardised features, rows of length 1 in each representation. SLDR also chooses "
    "by validation where projections begin (at random, or at directions between classes) and the penalty l2 of its "
    "gates, LMKL the latter; the paper chose R_m and R_G, here each is a row. A representation that is switched off "
    "has a mean gate near 0 among the weights. The last row is no row of the paper: gates of unit length, the default "
    "of `Projected`.",
    claim=Claim(
        "As accurate as SVM, MKL and LMKL with far fewer support vectors",
        "SLDR (R_m = 2, R_G = 10)",
        no_worse_than=("SVM (ALL)", "MKL", "LMKL"),
        sparser_than=("SVM (FAC)", "SVM (ALL)", "MKL", "LMKL"),
        simpler=("SVM (ALL)", "MKL", "LMKL"),
        own="unit gates (R_m = 2, R_G = 10)",
    ),
)
