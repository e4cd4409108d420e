"""Thesis Table 5.11: pen points and their 16 x 16 bitmap on PENDIGITS, at equal costs and with a costly bitmap."""

from kernelweave.experiments.engine.declaration import Paper
from kernelweave.experiments.methods.representations import pendigits_collection

EXPERIMENT = pendigits_collection(
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
