"""Localized kernels in M. Gönen's PhD thesis (Boğaziçi University, 2010): section 3.3 and Tables 5.16 to 5.24."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import Bunch

from experiments.declaration import Claim, Experiment, Method, Paper
from kernelweave.combiners import ConvexMKL, Gate, Localized, Sigmoid, Softmax
from kernelweave.datasets import make_gauss
from kernelweave.kernels import Linear, Polynomial
from kernelweave.model_selection import Split, SubjectProtocol, ThesisProtocol

# Localized kernels as the papers have them: gates of their norm, with a weak penalty that validation may change.

CLOSED = 1e-6  # gates below 0.001 are closed, and `gate_tol` compares squares


def papers_localized(gate: type[Gate], **options: Any) -> Localized:
    """`Localized` with gates of sum 1 (softmax) or each from 0 to 1 (sigmoid), thesis (3.2) and (3.3).

    Parameters
    ----------
    gate : type of Gate
        `Softmax` or `Sigmoid`.
    options : further parameters of `Localized`

    Examples
    --------
    >>> from kernelweave.combiners import Softmax
    >>> papers_localized(Softmax, inputs="x").gating
    Softmax(norm='paper')
    """
    return Localized(gate(norm="paper"), **{"l2": 1e-3, "gate_tol": CLOSED, **options})


SEEDED = {"random_state": 0}
C = [0.01, 0.1, 1.0, 10.0, 100.0]


def gated(
    gate: type[Gate],
    kernels: Sequence[str],
    grid: Mapping[str, Sequence[Any]],
    *,
    name: str | None = None,
    paper: Paper | None = None,
    options: Mapping[str, Any] = SEEDED,
    **gating: Any,
) -> Method:
    """A row with the papers' gates over some kernels, by default of standardised views of the same names.

    Parameters
    ----------
    gate : type of Gate
    kernels : sequence of str
    grid : mapping
        Hyper-parameters in place of the experiment's.
    name : str, optional
        "LMKL (softmax)" or "LMKL (sigmoid)" by default.
    paper : Paper, optional
    options : mapping
        Further parameters of the estimator.
    gating : further parameters of `Localized`

    Examples
    --------
    >>> from kernelweave.combiners import Softmax
    >>> gated(Softmax, ("fac", "fou"), {"C": [1.0]}).combiner.inputs
    ['fac', 'fou']
    """
    return Method(
        name or f"LMKL ({gate.__name__.lower()})",
        tuple(kernels),
        paper=paper,
        combiner=papers_localized(gate, **{"inputs": list(kernels), "scaling": "standard", **gating}),
        options=options,
        grid=grid,
    )


# Thesis Figures 3.2 and 3.3: localized kernels on GAUSS4, four Gaussians in the plane.

_DRAWS, _DRAWN, _TESTED = 5, 800, 10000
_TEST = -1  # the draw of the samples that test
_COPIES_GAUSS4 = tuple(f"L-{copy}" for copy in range(1, 11))
_SEEDED_GAUSS4 = {"random_state": 0, "tol": 1e-4}  # near equal gates J is flat, and a looser tolerance stops there
# The thesis' kernels of trace 1 have a diagonal of 1/400 over 400 samples and ours one of 1: C is the thesis' / 400.
_C_GAUSS4 = [1e3 / 400, 1e4 / 400]
_GATED_GAUSS4 = {"combiner__l2": [1e-4, 1e-2], "C": _C_GAUSS4}


class HalvesOfDraws(ThesisProtocol):
    """Draws of samples whose halves train and validate in turn; one further draw tests.

    `groups` has the number of the draw of each sample, -1 for those that test.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.tables.thesis_localized import HalvesOfDraws
    >>> y, draws = np.arange(20) % 2, np.repeat([0, 1, -1], [8, 8, 4])
    >>> folds = HalvesOfDraws(n_repeats=2).split(y, stratify=True, groups=draws)
    >>> len(folds), [len(part) for part in (folds[0].train, folds[0].validation, folds[0].test)]
    (4, [4, 4, 4])
    """

    @property
    def in_words(self) -> str:
        return f"{self.n_repeats} draws, the halves of each for training and validation in turn, and one for testing"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
        folds = []
        for draw in range(self.n_repeats):
            members = np.flatnonzero(groups == draw)
            halves = StratifiedKFold(2, shuffle=True, random_state=draw).split(members, y[members])
            folds += [Split(members[a], members[b], test=np.flatnonzero(groups == _TEST)) for a, b in halves]
        return folds


def draws() -> Bunch:
    """Five draws of 800 samples, and one of 10000 to test."""
    made = [make_gauss(4, _DRAWN, random_state=draw) for draw in range(_DRAWS)]
    made.append(make_gauss(4, _TESTED, random_state=_DRAWS))
    X = pd.DataFrame(np.concatenate([X for X, _ in made]), columns=["x__1", "x__2"])
    numbers = np.repeat([*range(_DRAWS), _TEST], [len(y) for _, y in made])
    return Bunch(data=X, target=np.concatenate([y for _, y in made]), original_target=numbers)


def _with_softmax(name: str, kernels: tuple[str, ...], paper: Paper | None = None, **options: Any) -> Method:
    """Softmax gates as in the thesis."""
    options = {"scaling": "unit-mean", "n_init": 5, "options": _SEEDED_GAUSS4, **options}
    return gated(Softmax, kernels, _GATED_GAUSS4, name=f"LMKL ({name}, softmax)", paper=paper, inputs="x", **options)


def _with_unit_gates(name: str, kernels: tuple[str, ...]) -> Method:
    """Gates of unit length, the library's own."""
    return Method(
        f"LMKL ({name}, unit gates)", kernels, combiner=Localized(inputs="x", n_init=5), options=_SEEDED_GAUSS4
    )


GAUSS4 = Experiment(
    name="gauss4",
    title="Localized kernels on GAUSS4",
    source="thesis 3.3, Figures 3.2 and 3.3",
    dataset="GAUSS4",
    make=draws,
    task="classification",
    kernels={"L": Linear(), "P": Polynomial(degree=2)} | {copy: Linear() for copy in _COPIES_GAUSS4},
    methods=(
        Method("SVM (k_L)", ("L",)),
        Method("SVM (k_P)", ("P",)),
        Method(
            "MKL (k_L, k_P)",
            ("L", "P"),
            paper=Paper(90.95, 0.61, support=38.23, support_std=2.34, weights=(0.32, 0.68)),
            combiner=ConvexMKL(),
        ),
        _with_softmax("k_L, k_P", ("L", "P"), Paper(91.83, 0.24, support=25.13, support_std=0.91)),
        _with_unit_gates("k_L, k_P", ("L", "P")),
        _with_softmax("2 k_L", _COPIES_GAUSS4[:2]),
        _with_softmax("2 k_L, quadratic gating", _COPIES_GAUSS4[:2], quadratic=True),
        _with_softmax("3 k_L", _COPIES_GAUSS4[:3], Paper(91.78, 0.55, support=23.83, support_std=1.20)),
        _with_unit_gates("3 k_L", _COPIES_GAUSS4[:3]),
        _with_softmax("5 k_L", _COPIES_GAUSS4[:5]),
        _with_softmax("10 k_L", _COPIES_GAUSS4),
    ),
    baseline="MKL (k_L, k_P)",
    grid={"C": _C_GAUSS4},
    protocol=HalvesOfDraws(n_repeats=_DRAWS),
    standardize=False,
    normalize="unit-trace",
    features=("x",),
    quick={"protocol": HalvesOfDraws(n_repeats=1)},
    note="As in the thesis there are ten trainings on 400 samples, with C and l2 by the mean validation accuracy. But "
    "these are the halves of five draws and not of one, because results on halves of one draw are off by up to a point "
    "together, and testing is on 10000 fresh samples instead of 400, which are too few to tell a method from the Bayes "
    "rule. That rule has an accuracy of 89.7 per cent on this mixture. The thesis' weights are those of one fold.",
    claim=Claim(
        "More accurate than MKL with fewer support vectors",
        "LMKL (k_L, k_P, softmax)",
        ahead_of=("MKL (k_L, k_P)",),
        sparser_than=("MKL (k_L, k_P)",),
        simpler=("SVM (k_L)", "SVM (k_P)", "MKL (k_L, k_P)"),
        own="LMKL (k_L, k_P, unit gates)",
        reason="the thesis is above the Bayes rule",
        details="The thesis' figures are of one draw of 400 test samples, and above the Bayes rule of the mixture as "
        "it is printed (89.7), which no method can beat on many fresh samples. MKL is further from the thesis than "
        "LMKL and no better than one kernel alone here; why is not known.",
    ),
)


# Thesis Tables 5.16 and 5.17: small against large digits of MULTIFEAT, single views and their combinations.

VIEWS = ("fac", "fou", "kar", "mor", "pix", "zer")
_COPIES = tuple(f"fac-{copy}" for copy in range(1, 7))
_GATED = {"combiner__validation_fraction": [0.0, 0.2], "combiner__l2": [1e-4, 1e-3, 1e-2], "C": C}
_TABLE_5_17: dict[str, Any] = {  # mean gates, and kernels in use
    "MKL": {"weights": (0.2466, 0.2968, 0.0886, 0.1464, 0.1494, 0.0722), "active": 6.00},
    "softmax": {"weights": (0.1908, 0.1333, 0.1492, 0.3335, 0.1134, 0.0797), "active": 2.43},
    "sigmoid": {"weights": (0.5115, 0.5192, 0.5429, 0.5566, 0.5274, 0.5132), "active": 5.36},
}

_CLAIM_5_16 = Claim(
    "More accurate than SVM and MKL, with fewer support vectors",
    "LMKL (sigmoid)",
    ahead_of=("SVM (FAC)", "SVM (ALL)", "MKL"),
    sparser_than=("SVM (ALL)", "MKL"),
    simpler=("SVM (ALL)", "MKL", "mean of six kernels"),
    own="LMKL (unit gates)",
    reason="one test set: see 5.16-thirds",
    details="Which third of the samples tests moves a row by as much as the thesis' standard deviation, which is of "
    "ten trainings on one test set. Gradient descent by Armijo's rule with the thesis' stopping rule (5.1, tau 0.001) "
    "and no penalty has a row of its own, and is less accurate than the penalty that validation chooses. Mean gates of "
    "about a half say nothing of where a descent stopped: both rows have them.",
)

TABLE_5_16 = Experiment(
    name="5.16",
    title="Classification on MULTIFEAT-SL",
    source="thesis 5.3.1.1, Tables 5.16 and 5.17",
    dataset="multifeat",
    variant="small-vs-large",
    task="classification",
    kernels={view: Linear(view) for view in VIEWS} | {"all": Linear()} | {copy: Linear("fac") for copy in _COPIES},
    methods=(
        Method("SVM (FAC)", ("fac",), paper=Paper(94.97, 0.87, support=17.93, support_std=0.91)),
        Method("SVM (FOU)", ("fou",), paper=Paper(90.54, 1.11, support=28.90, support_std=1.69)),
        Method("SVM (KAR)", ("kar",), paper=Paper(88.13, 0.73, support=33.62, support_std=1.31)),
        Method("SVM (MOR)", ("mor",), paper=Paper(69.61, 0.14, support=61.90, support_std=0.49)),
        Method("SVM (PIX)", ("pix",), paper=Paper(89.42, 0.65, support=46.35, support_std=1.64)),
        Method("SVM (ZER)", ("zer",), paper=Paper(89.12, 0.63, support=26.27, support_std=1.67)),
        Method("SVM (ALL)", ("all",), paper=Paper(97.69, 0.44, support=23.36, support_std=1.15)),
        Method(
            "MKL",
            VIEWS,
            paper=Paper(97.40, 0.37, support=32.59, support_std=0.82, **_TABLE_5_17["MKL"]),
            combiner=ConvexMKL(),
        ),
        gated(
            Softmax, VIEWS, _GATED, paper=Paper(97.69, 0.44, support=15.06, support_std=1.03, **_TABLE_5_17["softmax"])
        ),
        gated(
            Sigmoid, VIEWS, _GATED, paper=Paper(98.58, 0.41, support=15.27, support_std=0.92, **_TABLE_5_17["sigmoid"])
        ),
        gated(Sigmoid, VIEWS, {"C": C}, name="LMKL (sigmoid, thesis' descent)", optimizer="armijo", l2=0.0),
        gated(Softmax, VIEWS, _GATED, name="LMKL (softmax, scaled inputs)", scaling="unit-mean"),
        gated(
            Sigmoid,
            _COPIES,
            _GATED,
            name="LMKL (6 FAC and sigmoid)",
            paper=Paper(97.03, 0.67, support=18.52, support_std=2.47),
            inputs="fac",
        ),
        Method("LMKL (unit gates)", VIEWS, combiner=Localized(inputs=list(VIEWS)), options=SEEDED),
        Method("mean of six kernels", VIEWS),
    ),
    baseline="SVM (ALL)",
    grid={"C": C},
    features=VIEWS,
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 600},
    note="The thesis does not say how features and kernels are scaled; standardised features and unit-diagonal kernels "
    "come nearest to it. Gating inputs are standardised and not scaled further: only so are the average gates, "
    "the active kernels and the support vectors those of the thesis. Scaled inputs have rows of length about 1, the "
    "default scaling of `Localized`. One row descends and stops as the thesis says; the others with the thesis' gates "
    "choose their penalty l2 too, and whether to hold out a fifth of the training samples for early stopping. Scaled "
    "inputs, unit gates (the default of `Localized`, which chooses its penalty by itself) and the mean of six kernels "
    "are no rows of the thesis.",
    claim=_CLAIM_5_16,
)


# Table 5.16 for even against odd digits of MULTIFEAT, for which the thesis has multiple kernel learning only.

MKL_EVEN_VS_ODD = Paper(98.31, 0.34, support=14.86, support_std=0.79, weights=(0.30, 0.29, 0.11, 0.01, 0.28, 0.02))

TABLE_5_16_EO = dataclasses.replace(
    TABLE_5_16,
    name="5.16-eo",
    title="Classification on MULTIFEAT-EO",
    source="thesis Table 5.6 (MKL); the methods of Table 5.16",
    variant="even-vs-odd",
    methods=tuple(
        dataclasses.replace(method, paper=MKL_EVEN_VS_ODD if method.name == "MKL" else None)
        for method in TABLE_5_16.methods
        if method.kernels in (("fac",), ("all",), VIEWS) and "scaled inputs" not in method.name
    ),
    claim=dataclasses.replace(
        _CLAIM_5_16,
        words="As Table 5.16: more accurate than SVM and MKL, with fewer support vectors",
        reason="a claim about other classes",
        details="The thesis prints MKL only for these classes, so that the claim is carried over from Table 5.16.",
    ),
)


# The ten digits of MULTIFEAT with the joint multiclass machine, under mean and localized kernels: no paper has it.

_JOINT = {"multiclass": "joint", "random_state": 0}
_GATED_TEN = {"combiner__l2": [1e-4, 1e-3, 1e-2], "C": [1.0, 10.0]}

MULTIFEAT_TEN = Experiment(
    name="multifeat-ten",
    title="Ten digits of MULTIFEAT with the joint machine",
    source="thesis 1.4 and 3.4.3, without a table",
    dataset="multifeat",
    task="classification",
    kernels={view: Linear(view) for view in VIEWS} | {"all": Linear()},
    methods=(
        Method("SVM (ALL)", ("all",), options=_JOINT),
        Method("mean of six kernels", VIEWS, options=_JOINT),
        *(gated(gate, VIEWS, _GATED_TEN, options=_JOINT) for gate in (Softmax, Sigmoid)),
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


# Thesis Table 5.21: men against women of OLIVETTI, from whole images and from patches chosen at low resolution.

_PATCHES = tuple(f"patch{number}" for number in range(16))


def _over_patches(gate: type[Gate], side: int, paper: Paper) -> Method:
    """Kernels over patches, with gates that read the image at a low resolution."""
    name = f"LMKL ({gate.__name__.lower()}, {side}x{side})"
    return gated(gate, _PATCHES, {"combiner__l2": [1e-3, 1e-2], "C": C}, name=name, paper=paper, inputs=f"x{side}")


TABLE_5_21 = Experiment(
    name="5.21",
    title="Gender recognition on OLIVETTI",
    source="thesis 5.3.1.2, Table 5.21",
    dataset="olivetti",
    variant="gender",
    task="classification",
    kernels={f"x{side}": Linear(f"x{side}") for side in (4, 8, 16, 32, 64)}
    | {patch: Linear(patch) for patch in _PATCHES},
    methods=(
        Method("SVM (x = 4x4)", ("x4",), paper=Paper(93.28, 0.65, support=21.70, support_std=0.93)),
        Method("SVM (x = 8x8)", ("x8",), paper=Paper(97.50, 1.16, support=20.13, support_std=1.04)),
        Method("SVM (x = 16x16)", ("x16",), paper=Paper(97.03, 0.93, support=19.91, support_std=1.01)),
        Method("SVM (x = 32x32)", ("x32",), paper=Paper(97.97, 1.48, support=23.71, support_std=1.39)),
        Method("SVM (x = 64x64)", ("x64",), paper=Paper(97.66, 1.41, support=25.94, support_std=1.01)),
        Method("MKL", _PATCHES, paper=Paper(99.06, 0.88, support=22.19, support_std=1.00), combiner=ConvexMKL()),
        _over_patches(Softmax, 4, Paper(97.19, 2.81, support=16.65, support_std=3.34)),
        _over_patches(Softmax, 8, Paper(97.19, 2.48, support=22.54, support_std=4.56)),
        _over_patches(Softmax, 16, Paper(99.22, 1.33, support=16.38, support_std=1.50)),
        _over_patches(Sigmoid, 4, Paper(99.22, 0.93, support=22.72, support_std=1.83)),
        _over_patches(Sigmoid, 8, Paper(99.84, 0.44, support=26.88, support_std=2.24)),
        _over_patches(Sigmoid, 16, Paper(99.38, 1.34, support=21.65, support_std=1.44)),
        Method("LMKL (unit gates, 8x8)", _PATCHES, combiner=Localized(inputs="x8"), options=SEEDED),
    ),
    baseline="MKL",
    grid={"C": C},
    protocol=SubjectProtocol(),
    features=("x4", "x8", "x16"),
    quick={"protocol": SubjectProtocol(n_folds=2)},
    note="Lower resolutions are block means. The test set has 80 images, eight of them of women, so one image is 1.25 "
    "points. The thesis names the 5x2 cv paired F test here too, but eight folds are not 5x2; ours is a paired t test. "
    "MKL and LMKL combine linear kernels on sixteen patches of 16x16 pixels. Unit gates are no row of the thesis.",
    claim=Claim(
        "More accurate than MKL and single kernels",
        "LMKL (sigmoid, 8x8)",
        ahead_of=("MKL", "SVM (x = 8x8)", "SVM (x = 32x32)", "SVM (x = 64x64)"),
        simpler=("MKL", "SVM (x = 64x64)"),
        own="LMKL (unit gates, 8x8)",
    ),
)


# The regressions of the thesis (5.3.2): the linear kernel and polynomial kernels, alone and localized.

_DEGREES = (2, 3, 4, 5)
SINGLE = ("SVR (k_L)", *(f"SVR (k_P, q = {degree})" for degree in _DEGREES))


def regression_experiment(
    single: Sequence[Paper],
    localized: Sequence[Paper],
    *,
    epsilon: Sequence[float],
    localized_C: Sequence[float] = C,
    unit_gates: bool = False,
    **fields: Any,
) -> Experiment:
    """Support vector regression with each of five kernels, and with gates over all of them.

    Parameters
    ----------
    single : sequence of Paper
        The figures of the thesis for the linear kernel and for degrees 2 to 5.
    localized : sequence of Paper
        Those for softmax and for sigmoid gates.
    epsilon : sequence of float
        Widths of the tube to try.
    localized_C : sequence of float
        Values of C to try with gates.
    unit_gates : bool
        Whether there is a row of the library's own gates, which choose their penalty by themselves.
    fields : further fields of `Experiment`

    Examples
    --------
    >>> from experiments import Paper
    >>> from experiments.tables.thesis_localized import regression_experiment
    >>> about = {"name": "x", "title": "x", "source": "here", "dataset": "concrete", "baseline": "SVR (k_L)"}
    >>> made = regression_experiment([Paper(1.0)] * 5, [Paper(1.0)] * 2, epsilon=[0.1], **about)
    >>> [method.name for method in made.methods][-2:]
    ['LMKL (softmax)', 'LMKL (sigmoid)']
    """
    kernels = {"L": Linear()} | {f"P{degree}": Polynomial(degree=degree) for degree in _DEGREES}
    methods = [
        Method(name, (kernel,), paper=paper) for name, kernel, paper in zip(SINGLE, kernels, single, strict=True)
    ]
    gates_grid = {"combiner__l2": [1e-4, 1e-3], "epsilon": list(epsilon), "C": list(localized_C)}
    for gate, paper in zip((Softmax, Sigmoid), localized, strict=True):
        methods.append(gated(gate, tuple(kernels), gates_grid, paper=paper, inputs="x"))
    if unit_gates:
        # These gates choose their penalty in every fit, which is slow: the middle of the tubes, and the two largest C.
        grid = {"epsilon": list(epsilon[1:-1]), "C": list(localized_C[-2:])}
        own = Localized(inputs="x")
        methods.append(Method("LMKL (unit gates)", tuple(kernels), combiner=own, options=SEEDED, grid=grid))
    return Experiment(
        task="regression",
        kernels=kernels,
        methods=tuple(methods),
        grid={"epsilon": list(epsilon), "C": C},
        features=("x",),
        **fields,
    )


# Thesis Tables 5.22, 5.23: regression on CONCRETE with the linear kernel and polynomial kernels of degree 2 to 5.

_SOFTMAX, _SIGMOID = (0.1495, 0.0091, 0.0117, 0.0951, 0.7346), (0.6675, 0.8176, 0.9962, 0.9721, 0.9989)

TABLE_5_22 = regression_experiment(
    single=(
        Paper(120.61, 2.15, support=44.31, support_std=3.46),
        Paper(92.57, 4.19, support=36.22, support_std=1.24),
        Paper(58.32, 3.66, support=73.16, support_std=1.21),
        Paper(63.83, 9.58, support=52.52, support_std=2.40),
        Paper(61.26, 5.31, support=52.17, support_std=2.23),
    ),
    localized=(
        Paper(44.80, 6.33, support=64.28, support_std=4.02, weights=_SOFTMAX, active=4.52),
        Paper(48.18, 5.22, support=49.20, support_std=2.05, weights=_SIGMOID, active=4.68),
    ),
    epsilon=[1.0, 2.0, 4.0, 8.0, 16.0],
    name="5.22",
    title="Regression on CONCRETE",
    source="thesis 5.3.2, Tables 5.22 and 5.23",
    dataset="concrete",
    baseline="SVR (k_P, q = 3)",
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 300},
    note="The thesis does not say how features and kernels are scaled; as for MULTIFEAT, features are standardised and "
    "kernels have a unit diagonal. None of eight scalings that were looked at (on two folds, test scores included) "
    "gives all rows of the thesis; this one was kept to agree with MULTIFEAT, not because it fitted best. Gating "
    "inputs are standardised. LMKL with five copies of the linear kernel is in 5.22-copies; other test sets and "
    "another scaling are in 5.22-thirds. Unit gates are no row of the thesis.",
    unit_gates=True,
    claim=Claim(
        "More accurate than every single kernel",
        "LMKL (softmax)",
        ahead_of=SINGLE,
        simpler=SINGLE,
        own="LMKL (unit gates)",
    ),
)


# Thesis Figure 5.13 and the last row of Table 5.22: regression on CONCRETE with copies of the linear kernel.

_PRINTED = {5: Paper(53.14, 6.42, support=34.93, support_std=8.45)}


def _copies(count: int) -> Method:
    """A piecewise linear model of so many pieces."""
    return gated(
        Softmax,
        [f"L-{copy}" for copy in range(1, count + 1)],
        {"combiner__l2": [1e-3, 1e-2], "epsilon": [2.0, 4.0, 8.0], "C": [10.0, 100.0]},
        name=f"LMKL ({count} k_L and softmax)",
        paper=_PRINTED.get(count),
        inputs="x",
    )


TABLE_5_22_COPIES = Experiment(
    name="5.22-copies",
    title="Regression on CONCRETE with copies of the linear kernel",
    source="thesis 5.3.2, Table 5.22 and Figure 5.13",
    dataset="concrete",
    task="regression",
    kernels={"L": Linear()} | {f"L-{copy}": Linear() for copy in range(1, 11)},
    methods=(
        TABLE_5_22.methods[0],
        *(_copies(count) for count in (2, 3, 5, 10)),
    ),
    baseline="SVR (k_L)",
    grid=TABLE_5_22.grid,
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


# Thesis Tables 5.24, 5.25: regression on WHITEWINE with the linear kernel and polynomial kernels of degree 2 to 5.

_SOFTMAX_5_24, _SIGMOID_5_24 = (0.2238, 0.0302, 0.1430, 0.0296, 0.5733), (0.5956, 0.9698, 0.9978, 0.9849, 0.9929)

TABLE_5_24 = regression_experiment(
    single=(
        Paper(0.59, 0.00, support=66.83, support_std=0.57),
        Paper(0.54, 0.01, support=66.22, support_std=0.67),
        Paper(0.54, 0.00, support=66.14, support_std=1.13),
        Paper(0.52, 0.01, support=66.55, support_std=1.03),
        Paper(0.52, 0.01, support=66.27, support_std=1.24),
    ),
    localized=(
        Paper(0.52, 0.01, support=18.66, support_std=13.41, weights=_SOFTMAX_5_24, active=1.05),
        Paper(0.51, 0.00, support=38.29, support_std=2.34, weights=_SIGMOID_5_24, active=4.58),
    ),
    epsilon=[0.08, 0.16, 0.32, 0.64, 1.28],
    localized_C=[0.1, 1.0, 10.0],
    name="5.24",
    title="Regression on WHITEWINE",
    source="thesis 5.3.2, Tables 5.24 and 5.25",
    dataset="winewhite",
    baseline="SVR (k_P, q = 5)",
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 900},
    note="Scaling as for CONCRETE, on which the thesis is silent. Other test sets and another scaling: 5.24-thirds.",
    claim=Claim(
        "As accurate as the best single kernels, with fewer support vectors",
        "LMKL (sigmoid)",
        ahead_of=SINGLE[:3],
        no_worse_than=SINGLE[3:],
        sparser_than=SINGLE,
        simpler=SINGLE,
        reason="one test set, a hard one: see 5.24-thirds",
        details="Which third of the samples tests moves all rows together, those of single kernels too, by more than "
        "the thesis' standard deviations, which are of ten trainings on one test set. Over five test sets "
        "(5.24-thirds) they are near the thesis.",
    ),
)


# Tables 5.16, 5.22 and 5.24 over five test sets: ten trainings that are tested on one third share what is hard in it.


class FreshThirds(ThesisProtocol):
    """Another random third for testing in each repeat, and two-fold cross-validation on the rest.

    The first repeat is that of `ThesisProtocol`. Each is a run, which chooses its hyper-parameters by itself: samples
    that validate in one repeat test in another.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.tables.thesis_localized import FreshThirds
    >>> folds = FreshThirds().split(np.arange(30) % 2, stratify=True)
    >>> [fold.run for fold in folds], [len(part) for part in (folds[0].train, folds[0].validation, folds[0].test)]
    ([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [10, 10, 10])
    """

    @property
    def in_words(self) -> str:
        return f"{self.n_repeats} times another random third of the samples for testing, two-fold on the others"

    def split(self, y: Any, stratify: bool, *, groups: Any = None, is_train: Any = None) -> list[Split]:
        repeats = (
            ThesisProtocol(1, self.test_size, random_state=self.random_state + run) for run in range(self.n_repeats)
        )
        return [
            dataclasses.replace(fold, run=run)
            for run, repeat in enumerate(repeats)
            for fold in repeat.split(y, stratify, groups=groups, is_train=is_train)
        ]


_NOTE_THIRDS = (
    "The table of the same number, on a test set of its own for each of the five repeats. The thesis' standard "
    "deviations are of ten trainings on one test set, and say nothing of how much a table moves with that set; those "
    "here do. The first of the five is the one of the table of the same number. Each chooses its settings by itself."
)


def over_thirds(
    table: Experiment,
    methods: Sequence[Method] | None = None,
    *,
    note: str = "",
    reason: str = "",
    details: str = "",
    **fields: Any,
) -> Experiment:
    """A table on another test set in each of five repeats.

    Parameters
    ----------
    table : Experiment
    methods : sequence of Method, optional
        Those of the table by default.
    note : str
        What else differs from the table.
    reason, details : str
        Those of the claim.
    fields : further fields of `Experiment`

    Examples
    --------
    >>> from experiments.tables.thesis_localized import TABLE_5_22, over_thirds
    >>> over_thirds(TABLE_5_22).name
    '5.22-thirds'
    """
    quick = {**table.quick, "protocol": FreshThirds(n_repeats=1)}
    claim = table.claim
    if claim is not None:
        claim = dataclasses.replace(claim, reason=reason, details=details, remark="five test sets", again=True)
    return dataclasses.replace(
        table,
        name=f"{table.name}-thirds",
        title=f"{table.title}, five test sets",
        protocol=FreshThirds(),
        methods=table.methods if methods is None else tuple(methods),
        quick=quick,
        note=f"{_NOTE_THIRDS} {note}".strip(),
        claim=claim,
        **fields,
    )


_IN_RANGE = {
    "L in [0, 1]": Linear(transformer=MinMaxScaler()),
    "P5 in [0, 1]": Polynomial(degree=5, transformer=MinMaxScaler()),
}
_SVR_IN_RANGE = tuple(
    Method(f"{name}, features in [0, 1]", (kernel,)) for name, kernel in zip(SINGLE[::4], _IN_RANGE, strict=True)
)
_NOTE_RANGE = "Rows of features in [0, 1] are no rows of the thesis."

TABLE_5_16_THIRDS = over_thirds(
    TABLE_5_16, [method for method in TABLE_5_16.methods if method.name in {row.name for row in TABLE_5_16_EO.methods}]
)
TABLE_5_22_THIRDS = over_thirds(
    TABLE_5_22,
    (*TABLE_5_22.methods, *_SVR_IN_RANGE),
    note=_NOTE_RANGE,
    kernels={**TABLE_5_22.kernels, **_IN_RANGE},
)

# Of the grids of 5.24 what its rows choose among, since fits of the largest C are the longest by far, and a smaller C.
_EPSILON_5_24 = [0.16, 0.32, 0.64]
_GATED_5_24 = {"combiner__l2": [1e-3], "epsilon": _EPSILON_5_24, "C": [0.01, 0.1, 1.0]}
_ROWS_5_24 = [
    method if method.grid is None else dataclasses.replace(method, grid=_GATED_5_24) for method in TABLE_5_24.methods
]
_WIDE_5_24 = tuple(  # the best single kernel and sigmoid gates
    dataclasses.replace(
        method,
        name=f"{method.name}, epsilon 0.64",
        paper=None,
        grid={**(method.grid or TABLE_5_24.grid), "epsilon": [0.64]},
    )
    for method in (_ROWS_5_24[4], _ROWS_5_24[6])
)

TABLE_5_24_THIRDS = over_thirds(
    TABLE_5_24,
    (*_ROWS_5_24, *_WIDE_5_24, *_SVR_IN_RANGE),
    note=f"{_NOTE_RANGE} Rows at one epsilon are none either. The grids are around the settings that 5.24 chooses.",
    kernels={**TABLE_5_24.kernels, **_IN_RANGE},
    grid={"epsilon": _EPSILON_5_24, "C": C},
    reason="the thesis rounds to two decimals; epsilon decides what is stored",
    details="How many samples are stored is a matter of epsilon and not of gates: at 0.64 the best single kernel and "
    "sigmoid gates both store less than a third, at no significant loss. The thesis' figures look as if validation had "
    "chosen a wider tube for gates than for single kernels; here it chooses 0.32 or less for both.",
)

EXPERIMENTS = (
    GAUSS4,
    MULTIFEAT_TEN,
    TABLE_5_16,
    TABLE_5_16_EO,
    TABLE_5_16_THIRDS,
    TABLE_5_21,
    TABLE_5_22,
    TABLE_5_22_COPIES,
    TABLE_5_22_THIRDS,
    TABLE_5_24,
    TABLE_5_24_THIRDS,
)
