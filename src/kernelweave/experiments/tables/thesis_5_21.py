"""Thesis Table 5.21: men against women of OLIVETTI, from images at five resolutions."""

from kernelweave.experiments.declaration import Experiment, Method, Paper
from kernelweave.kernels import Linear
from kernelweave.model_selection import SubjectProtocol

EXPERIMENT = Experiment(
    name="5.21",
    title="Gender recognition on OLIVETTI",
    source="thesis 5.3.1.2, Table 5.21",
    dataset="olivetti",
    variant="gender",
    task="classification",
    kernels={f"x{side}": Linear(f"x{side}") for side in (4, 8, 16, 32, 64)},
    methods=(
        Method("SVM (x = 4x4)", ("x4",), Paper(93.28, 0.65, 21.70, 0.93)),
        Method("SVM (x = 8x8)", ("x8",), Paper(97.50, 1.16, 20.13, 1.04)),
        Method("SVM (x = 16x16)", ("x16",), Paper(97.03, 0.93, 19.91, 1.01)),
        Method("SVM (x = 32x32)", ("x32",), Paper(97.97, 1.48, 23.71, 1.39)),
        Method("SVM (x = 64x64)", ("x64",), Paper(97.66, 1.41, 25.94, 1.01)),
    ),
    baseline="SVM (x = 64x64)",
    grid={"C": [0.01, 0.1, 1.0, 10.0, 100.0]},
    protocol=SubjectProtocol(),
    quick={"protocol": SubjectProtocol(n_folds=2)},
    note="Lower resolutions are block means. The test set has 80 images, eight of them of women, so one image is 1.25 "
    "points. The thesis names the 5x2 cv paired F test here too, but eight folds are not 5x2; ours is a paired t test.",
)
