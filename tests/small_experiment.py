"""A small experiment on IRIS that other tests run, and a script that runs it slowly enough to be killed."""

import sys
import time

from kernelweave.experiments import Experiment, Method, Paper, run_experiment, write_report
from kernelweave.experiments.fold import Fold
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
        Method("petal", ("petal",), Paper(90.0, 1.0, 50.0, 2.0)),
        Method("all", ("all",), Paper(95.0, 1.0, 40.0, 2.0)),
        Method("both", ("petal", "all")),
    ),
    baseline="all",
    grid={"C": [0.1, 10.0]},
    quick={"protocol": ThesisProtocol(n_repeats=1)},
)

if __name__ == "__main__":
    measure = Fold.measure

    def slowly(self, method):
        time.sleep(0.05)
        return measure(self, method)

    Fold.measure = slowly
    write_report(run_experiment(SMALL, sys.argv[1]), sys.argv[1])
