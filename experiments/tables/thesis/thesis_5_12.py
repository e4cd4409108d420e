"""Thesis Table 5.12: pen points and three bitmaps on PENDIGITS, at equal costs and by resolution."""

from kernelweave.experiments.engine.declaration import Paper
from kernelweave.experiments.methods.representations import pendigits_collection

EXPERIMENT = pendigits_collection(
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
