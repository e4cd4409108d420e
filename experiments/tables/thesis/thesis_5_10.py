"""Thesis Table 5.10: linear, polynomial and Gaussian kernels on fifteen problems, at equal and increasing costs."""

from kernelweave.combiners import ConvexMKL
from kernelweave.experiments.engine.claim import Claim
from kernelweave.experiments.engine.collection import Collection, over_datasets
from kernelweave.experiments.engine.declaration import Experiment, Method, Paper
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.model_selection import ThesisProtocol

_SOURCE = "thesis 5.2.3.1, Table 5.10"
# Data set, variant, the thesis' name; its figures for equal costs and for increasing ones.
_DATA = (
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
        source=_SOURCE,
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


_members = over_datasets(_on("x"), [row for row in _DATA if row[0] != "pendigits"])
_members += over_datasets(_on("dyn"), [row for row in _DATA if row[0] == "pendigits"])
EXPERIMENT = Collection(
    name="5.10",
    title="Cost-conscious kernel selection on UCI data sets",
    source=_SOURCE,
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
