"""Tables 5.6 and 5.10 to 5.12 of M. Gönen's PhD thesis (Boğaziçi University, 2010): kernels that cost something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.declaration import Claim, Collection, Experiment, Method, Paper, SurfaceSearch, over_datasets
from kernelweave.combiners import ConvexMKL, EigenvalueCosts, FixedWeights
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.model_selection import ThesisProtocol

# Thesis Table 5.6 and Figure 5.3: regularised MKL and its rivals on six views of MULTIFEAT.

_SOURCE = "thesis 5.2.2.1 and 2.7, Table 5.6 and Figure 5.3"
_VIEWS = ("fac", "fou", "kar", "mor", "pix", "zer")
_C = [0.01, 0.1, 1.0, 10.0, 100.0]
_ONES = (1.0,) * 6
_TEMPLATE = Experiment(
    name="5.6",
    title="",
    source=_SOURCE,
    dataset="",
    task="classification",
    kernels={view: Linear(view) for view in _VIEWS},
    methods=(
        Method("MKL", _VIEWS, combiner=ConvexMKL()),
        Method(
            "RMKL",
            _VIEWS,
            combiner=ConvexMKL(),
            search=SurfaceSearch(tuple(f"combiner__costs__{view}" for view in _VIEWS[1:])),
        ),
        Method(
            "EMKL",
            _VIEWS,
            combiner=ConvexMKL(costs=EigenvalueCosts()),
            grid={"combiner__costs__gamma": [step / 10 for step in range(11)], "C": _C},
        ),
        Method(
            "RWKL",
            _VIEWS,
            combiner=FixedWeights(dict.fromkeys(_VIEWS, 1 / 6)),
            search=SurfaceSearch(tuple(f"combiner__weights__{view}" for view in _VIEWS[1:])),
        ),
        Method("mean of six kernels", _VIEWS),
    ),
    baseline="MKL",
    grid={"C": _C},
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 300},
)
_DATA = (
    (
        "multifeat",
        "even-vs-odd",
        "EO",
        (
            Paper(
                98.31, 0.34, support=14.86, support_std=0.79, weights=(0.30, 0.29, 0.11, 0.01, 0.28, 0.02), costs=_ONES
            ),
            Paper(
                98.18,
                0.29,
                support=14.50,
                support_std=0.96,
                weights=(0.40, 0.24, 0.22, 0.05, 0.00, 0.27),
                costs=(1.00, 1.07, 1.02, 0.58, 1.63, 0.53),
            ),
            None,
            None,
            None,
        ),
    ),
    (
        "multifeat",
        "small-vs-large",
        "SL",
        (
            Paper(
                97.40, 0.37, support=32.59, support_std=0.82, weights=(0.25, 0.30, 0.09, 0.15, 0.15, 0.07), costs=_ONES
            ),
            Paper(
                97.13,
                0.31,
                support=27.58,
                support_std=1.56,
                weights=(0.31, 1.11, 0.13, 0.47, 0.00, 0.00),
                costs=(1.00, 0.59, 1.19, 0.50, 1.58, 2.14),
            ),
            None,
            None,
            None,
        ),
    ),
)
TABLE_5_6 = Collection(
    name="5.6",
    title="Regularised MKL on MULTIFEAT, and its rivals of Figure 5.3",
    source=_SOURCE,
    members=over_datasets(_TEMPLATE, _DATA),
    note="RMKL searches the costs d of all kernels but the first, RWKL their weights, by response surfaces over the "
    "validation error of all folds, at each point with the C of least error; d and weights stay within a tenth and ten "
    "times their start. EMKL tries gamma from 0 to 1. Figure 5.3 has no printed numbers, so EMKL and RWKL have none of "
    "the paper; the mean of six kernels is no method of the thesis.",
    claim=Claim(
        "As accurate as MKL with fewer support vectors",
        "RMKL",
        no_worse_than=("MKL",),
        sparser_than=("MKL",),
        simpler=("MKL", "mean of six kernels"),
    ),
)


# Thesis Table 5.10: linear, polynomial and Gaussian kernels on fifteen problems, at equal and increasing costs.

_SOURCE_5_10 = "thesis 5.2.3.1, Table 5.10"
# Data set, variant, the thesis' name; its figures for equal costs and for increasing ones.
_DATA_5_10 = (
    (
        "banana",
        None,
        "BANANA",
        (
            Paper(83.17, 0.52, support=90.68, support_std=0.11, cost=70.14, cost_std=0.08, weights=(0.00, 0.03, 0.97)),
            Paper(83.27, 1.05, support=83.27, support_std=0.11, cost=64.40, cost_std=0.08, weights=(0.00, 0.04, 0.96)),
        ),
    ),
    (
        "heart",
        None,
        "HEART",
        (
            Paper(79.67, 1.74, support=79.44, support_std=3.28, cost=18.00, cost_std=0.74, weights=(1.00, 0.00, 0.00)),
            Paper(79.67, 1.74, support=79.44, support_std=3.28, cost=18.00, cost_std=0.74, weights=(1.00, 0.00, 0.00)),
        ),
    ),
    (
        "ionosphere",
        None,
        "IONOSPHERE",
        (
            Paper(93.85, 1.13, support=64.36, support_std=2.73, cost=54.25, cost_std=7.54, weights=(0.01, 0.46, 0.53)),
            Paper(90.94, 1.57, support=46.67, support_std=2.52, cost=44.65, cost_std=7.54, weights=(0.29, 0.60, 0.10)),
        ),
    ),
    (
        "bupa",
        None,
        "LIVERDISORDER",
        (
            Paper(64.17, 4.14, support=93.30, support_std=1.54, cost=57.01, cost_std=20.32, weights=(0.02, 0.00, 0.98)),
            Paper(65.91, 3.17, support=80.87, support_std=3.60, cost=66.57, cost_std=20.32, weights=(0.67, 0.30, 0.03)),
        ),
    ),
    (
        "optdigits",
        "1vs8",
        "OPTDIGITS (1vs8)",
        (
            Paper(98.01, 0.14, support=28.21, support_std=2.68, cost=28.21, cost_std=1.00, weights=(0.27, 0.38, 0.34)),
            Paper(98.01, 0.14, support=19.12, support_std=1.83, cost=10.46, cost_std=1.00, weights=(0.53, 0.47, 0.00)),
        ),
    ),
    (
        "optdigits",
        "3vs9",
        "OPTDIGITS (3vs9)",
        (
            Paper(96.71, 1.53, support=25.46, support_std=4.19, cost=25.46, cost_std=1.15, weights=(0.44, 0.20, 0.36)),
            Paper(97.37, 1.39, support=15.25, support_std=2.10, cost=8.34, cost_std=1.15, weights=(0.73, 0.27, 0.00)),
        ),
    ),
    (
        "pendigits",
        "0vs8",
        "PENDIGITS (0vs8)",
        (
            Paper(99.30, 0.11, support=11.70, support_std=0.53, cost=11.70, cost_std=0.11, weights=(0.18, 0.71, 0.11)),
            Paper(99.80, 0.00, support=9.10, support_std=0.11, cost=9.10, cost_std=0.11, weights=(0.25, 0.66, 0.09)),
        ),
    ),
    (
        "pendigits",
        "1vs7",
        "PENDIGITS (1vs7)",
        (
            Paper(100.00, 0.00, support=14.00, support_std=1.69, cost=14.00, cost_std=1.58, weights=(0.39, 0.24, 0.37)),
            Paper(100.00, 0.00, support=6.50, support_std=1.58, cost=6.50, cost_std=1.58, weights=(0.68, 0.23, 0.09)),
        ),
    ),
    (
        "pendigits",
        "5vs9",
        "PENDIGITS (5vs9)",
        (
            Paper(99.20, 0.21, support=33.20, support_std=0.21, cost=18.16, cost_std=0.05, weights=(0.79, 0.21, 0.00)),
            Paper(99.20, 0.21, support=32.60, support_std=0.21, cost=7.39, cost_std=0.05, weights=(1.00, 0.00, 0.00)),
        ),
    ),
    (
        "pima",
        None,
        "PIMA",
        (
            Paper(73.09, 0.75, support=68.91, support_std=1.62, cost=20.14, cost_std=0.37, weights=(0.97, 0.03, 0.00)),
            Paper(72.93, 1.01, support=68.79, support_std=1.65, cost=15.58, cost_std=0.37, weights=(1.00, 0.00, 0.00)),
        ),
    ),
    (
        "ringnorm",
        None,
        "RINGNORM",
        (
            Paper(98.01, 0.63, support=26.85, support_std=0.00, cost=12.17, cost_std=0.79, weights=(0.00, 0.00, 1.00)),
            Paper(87.25, 0.42, support=82.46, support_std=1.16, cost=56.05, cost_std=0.79, weights=(0.75, 0.00, 0.25)),
        ),
    ),
    (
        "sonar",
        None,
        "SONAR",
        (
            Paper(81.14, 3.14, support=86.96, support_std=2.46, cost=86.96, cost_std=3.10, weights=(0.14, 0.33, 0.54)),
            Paper(80.29, 3.61, support=69.13, support_std=5.68, cost=37.81, cost_std=3.10, weights=(0.48, 0.52, 0.00)),
        ),
    ),
    (
        "spambase",
        None,
        "SPAMBASE",
        (
            Paper(92.53, 0.10, support=42.99, support_std=4.33, cost=42.99, cost_std=6.23, weights=(0.39, 0.18, 0.43)),
            Paper(92.43, 0.00, support=31.06, support_std=2.53, cost=12.40, cost_std=6.23, weights=(0.96, 0.04, 0.00)),
        ),
    ),
    (
        "twonorm",
        None,
        "TWONORM",
        (
            Paper(97.20, 0.00, support=89.10, support_std=0.11, cost=20.18, cost_std=0.05, weights=(1.00, 0.00, 0.00)),
            Paper(97.20, 0.00, support=89.00, support_std=0.21, cost=20.16, cost_std=0.05, weights=(1.00, 0.00, 0.00)),
        ),
    ),
    (
        "wdbc",
        None,
        "WDBC",
        (
            Paper(95.45, 0.91, support=22.26, support_std=3.21, cost=16.97, cost_std=0.36, weights=(0.70, 0.06, 0.24)),
            Paper(94.97, 0.97, support=17.00, support_std=1.59, cost=3.85, cost_std=0.36, weights=(1.00, 0.00, 0.00)),
        ),
    ),
)
_COSTS = {"L": 1.0, "P": 2**0.5, "G": 2.0}


def _on(view: str) -> Experiment:
    """The experiment on one view of a data set."""
    return Experiment(
        name="5.10",
        title="",
        source=_SOURCE_5_10,
        dataset="",
        task="classification",
        kernels={"L": Linear(view), "P": Polynomial(view, degree=2), "G": Gaussian(view, scale="nearest")},
        methods=(
            Method("MKL", ("L", "P", "G"), combiner=ConvexMKL()),
            Method("cost-conscious", ("L", "P", "G"), combiner=ConvexMKL(costs=_COSTS)),
        ),
        baseline="MKL",
        grid={"C": [10.0**exponent for exponent in range(-4, 5)]},
        costs=_COSTS,
        normalize_weights=True,
        quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 240},
    )


_members = over_datasets(_on("x"), [row for row in _DATA_5_10 if row[0] != "pendigits"])
_members += over_datasets(_on("dyn"), [row for row in _DATA_5_10 if row[0] == "pendigits"])
TABLE_5_10 = Collection(
    name="5.10",
    title="Cost-conscious kernel selection on UCI data sets",
    source=_SOURCE_5_10,
    members=tuple(sorted(_members, key=lambda member: member.title)),
    note="Costs are 1, sqrt(2) and 2 for the linear, the polynomial and the Gaussian kernel; the total cost charges "
    "both methods with them, as the thesis does. Its PENDIGITS is a part of ours; see Table 5.11.",
    paper_counts={
        ("cost-conscious", "test"): ("2-12-1", "4-5-6", "T"),
        ("cost-conscious", "support"): ("8-6-1", "13-1-1", "W"),
        ("cost-conscious", "total_cost"): ("8-6-1", "12-1-2", "W"),
    },
    claim=Claim(
        "As accurate as equal costs, with fewer support vectors and lower cost",
        "cost-conscious",
        no_worse_than=("MKL",),
        sparser_than=("MKL",),
        cheaper_than=("MKL",),
        reason="ties and losses as in the thesis; scaling not stated",
        details="The thesis has ties and losses too (8-6-1 in support vectors and in cost by its test). Where its "
        "figure is not reached, that of MKL is not reached either (BANANA, IONOSPHERE, PENDIGITS 1vs7): the scaling of "
        "features and kernels is not stated, and its PENDIGITS is a part of ours.",
    ),
)


# Cost-conscious selection of representations of PENDIGITS, thesis 5.2.3.2 (Tables 5.11 and 5.12).

_NOTE = (
    "The thesis' figures are steps of 0.2 points with the standard deviations of two results five times each: it seems "
    "to have tested on 500 samples (a third of the original training file; ours is the whole set) and to have used one "
    "split in two for all five repeats."
)

_CLAIM = Claim(
    "As accurate as equal costs, with fewer support vectors and lower cost",
    "cost-conscious",
    no_worse_than=("MKL",),
    sparser_than=("MKL",),
    cheaper_than=("MKL",),
    reason="another part of PENDIGITS",
    details="The thesis tested on 500 samples, as it seems, and on one split in two for all repeats; ours is the whole "
    "set. MKL at equal costs is short of the thesis on 1vs7 too.",
)


def pendigits_collection(
    name: str, title: str, *, costs: Mapping[str, float], papers: Mapping[str, Sequence[Paper]], note: str
) -> Collection:
    """A linear kernel for each representation, combined at equal costs and at given costs.

    Parameters
    ----------
    name, title : str
        The number of the table, and its title.
    costs : mapping from view to cost
        The representations, and what an evaluation of each is charged with.
    papers : mapping from variant to the figures of the thesis
        For each pair of digits those at equal costs and at given costs.
    note : str
        Words before the common note.
    """
    source, views = f"thesis 5.2.3.2, Table {name}", tuple(costs)
    template = Experiment(
        name=name,
        title="",
        source=source,
        dataset="",
        task="classification",
        kernels={view: Linear(view) for view in views},
        methods=(
            Method("MKL", views, combiner=ConvexMKL()),
            Method("cost-conscious", views, combiner=ConvexMKL(costs=dict(costs))),
        ),
        baseline="MKL",
        grid={"C": [10.0**exponent for exponent in range(-4, 5)]},
        costs=costs,
        normalize_weights=True,
        quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 240},
    )
    data = [("pendigits", variant, f"PENDIGITS ({variant})", figures) for variant, figures in papers.items()]
    return Collection(
        name, title, source=source, members=over_datasets(template, data), note=f"{note} {_NOTE}", claim=_CLAIM
    )


# Thesis Table 5.11: pen points and their 16 x 16 bitmap on PENDIGITS, at equal costs and with a costly bitmap.

TABLE_5_11 = pendigits_collection(
    "5.11",
    "Cost-conscious selection of two representations of PENDIGITS",
    costs={"dyn": 1.0, "sta16": 4.0},
    papers={
        "0vs8": (
            Paper(99.40, 0.21, support=15.10, support_std=0.95, cost=15.10, cost_std=0.21, weights=(0.21, 0.79)),
            Paper(99.00, 0.42, support=8.80, support_std=0.21, cost=8.80, cost_std=0.21, weights=(0.75, 0.25)),
        ),
        "1vs7": (
            Paper(99.70, 0.32, support=11.00, support_std=0.21, cost=11.00, cost_std=0.02, weights=(0.35, 0.65)),
            Paper(100.00, 0.00, support=3.70, support_std=0.11, cost=0.74, cost_std=0.02, weights=(1.00, 0.00)),
        ),
        "5vs9": (
            Paper(99.20, 0.21, support=32.80, support_std=0.21, cost=6.56, cost_std=0.08, weights=(1.00, 0.00)),
            Paper(99.20, 0.21, support=32.80, support_std=0.42, cost=6.56, cost_std=0.08, weights=(1.00, 0.00)),
        ),
    },
    note="The bitmap costs 4, the pen points 1; the total cost charges both methods so.",
)


# Thesis Table 5.12: pen points and three bitmaps on PENDIGITS, at equal costs and by resolution.

TABLE_5_12 = pendigits_collection(
    "5.12",
    "Cost-conscious selection of four representations of PENDIGITS",
    costs={"dyn": 1.0, "sta4": 1.0, "sta8": 2.0, "sta16": 4.0},
    papers={
        "0vs8": (
            Paper(
                99.50,
                0.11,
                support=10.70,
                support_std=0.11,
                cost=10.70,
                cost_std=0.33,
                weights=(0.24, 0.16, 0.33, 0.26),
            ),
            Paper(
                99.30, 0.32, support=5.80, support_std=0.42, cost=2.90, cost_std=0.21, weights=(0.48, 0.38, 0.14, 0.00)
            ),
        ),
        "1vs7": (
            Paper(
                99.90, 0.11, support=9.70, support_std=0.53, cost=9.70, cost_std=1.33, weights=(0.32, 0.31, 0.31, 0.06)
            ),
            Paper(
                99.70, 0.32, support=3.00, support_std=0.42, cost=1.50, cost_std=0.21, weights=(0.45, 0.51, 0.04, 0.00)
            ),
        ),
        "5vs9": (
            Paper(
                99.30,
                0.11,
                support=12.90,
                support_std=0.95,
                cost=12.90,
                cost_std=0.04,
                weights=(0.35, 0.12, 0.10, 0.44),
            ),
            Paper(
                99.50, 0.11, support=10.30, support_std=0.11, cost=2.58, cost_std=0.03, weights=(0.64, 0.36, 0.00, 0.00)
            ),
        ),
    },
    note="Bitmaps cost 1, 2 and 4 by resolution, the pen points 1; the total cost charges both methods so.",
)

EXPERIMENTS = (TABLE_5_6, TABLE_5_10, TABLE_5_11, TABLE_5_12)
