"""A small experiment on IRIS that other tests run, and a script that runs it slowly enough to be killed."""

import sys
import time

from experiments.declaration import Collection, Experiment, Method, Paper, SurfaceSearch, over_datasets
from experiments.fold import Fold
from experiments.reports.writing import write_report
from experiments.runner import run_experiment
from kernelweave.combiners import ConvexMKL
from kernelweave.kernels import Gaussian, Linear
from kernelweave.model_selection import ThesisProtocol

SMALL = Experiment(
    name="small",
    title="IRIS",
    source="nowhere",
    dataset="iris",
    variant="merged",
    task="classification",
    kernels={"petal": Linear([2, 3]), "sepal": Linear([0, 1]), "all": Gaussian()},
    methods=(
        Method("petal", ("petal",), paper=Paper(90.0, 1.0, support=50.0, support_std=2.0)),
        Method("all", ("all",), paper=Paper(95.0, 1.0, support=40.0, support_std=2.0)),
        Method("both", ("petal", "all")),
    ),
    baseline="all",
    grid={"C": [0.1, 10.0]},
    quick={"protocol": ThesisProtocol(n_repeats=1)},
)
LEARNED = Experiment(
    name="learned",
    title="IRIS",
    source="nowhere",
    dataset="iris",
    variant="merged",
    task="classification",
    kernels={"petal": Linear([2, 3]), "all": Gaussian()},
    methods=(
        Method("MKL", ("petal", "all"), combiner=ConvexMKL()),
        Method("dear", ("petal", "all"), combiner=ConvexMKL(costs={"all": 30.0})),
        Method(
            "found", ("petal", "all"), combiner=ConvexMKL(), search=SurfaceSearch(("combiner__costs__all",), tol=0.4)
        ),
    ),
    baseline="MKL",
    grid={"C": [0.1, 10.0]},
    costs={"petal": 1.0, "all": 3.0},
    normalize_weights=True,
    max_samples=90,
    quick={"protocol": ThesisProtocol(n_repeats=1)},
)
SEVERAL = Collection(
    name="several",
    title="IRIS and WDBC",
    source="nowhere",
    members=over_datasets(
        LEARNED,
        [
            (
                "iris",
                "merged",
                "IRIS",
                (
                    Paper(
                        90.0,
                        1.0,
                        support=50.0,
                        support_std=2.0,
                        cost=12.0,
                        cost_std=1.0,
                        weights=(0.25, 0.75),
                        costs=(1.0, 1.0),
                    ),
                    None,
                    None,
                ),
            ),
            ("wdbc", None, "WDBC", (None, None, None)),
        ],
    ),
    paper_counts={("dear", "total_cost"): ("0-2-0", "2-0-0", "T")},
)

if __name__ == "__main__":
    measure = Fold.measure

    def slowly(self, method):
        time.sleep(0.05)
        return measure(self, method)

    Fold.measure = slowly
    write_report(run_experiment(SMALL, sys.argv[1]), sys.argv[1])
