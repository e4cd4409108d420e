"""Thesis Figure 5.21: small against large digits of USPS, after reductions and with projection kernels."""

from kernelweave.experiments.engine.claim import Claim
from kernelweave.experiments.engine.declaration import Paper
from kernelweave.experiments.methods.projected import projection_experiment
from kernelweave.experiments.tables.thesis_figures.figure_5_20 import DIMENSIONS, EASIER, USPS

EXPERIMENT = projection_experiment(
    "x",
    DIMENSIONS,
    more_dimensions=(15,),
    papers={"SVM": Paper(76.36), "PCA (R = 15)": Paper(70.0)}
    | {f"LFDA (R = {count})": Paper(68.0) for count in DIMENSIONS}
    | {f"GPK (R = {count})": Paper(75.0) for count in DIMENSIONS}
    | {f"LPK (P = {regions}, R = {count})": Paper(86.0, support=5.0) for regions in (2, 3) for count in DIMENSIONS},
    name="figure-5.21",
    title="Projections on USPS-SL",
    source="thesis 5.4.3, Figure 5.21",
    variant="small-vs-large",
    claim=Claim(
        "Local projections are more accurate than global ones and the SVM, with fewer support vectors",
        "LPK (P = 3, R = 2)",
        ahead_of=("SVM", "PCA (R = 2)", "LFDA (R = 2)", "GPK (R = 2)"),
        sparser_than=("SVM", "GPK (R = 2)"),
        simpler=("SVM", "PCA (R = 2)", "LFDA (R = 2)", "GPK (R = 2)"),
        remark=EASIER,
    ),
    **USPS,
)
