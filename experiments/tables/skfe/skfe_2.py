"""SKFE, Table 2: features for gene expression, Gaussian kernel, by a 1-nearest-neighbour classifier."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from kernelweave.experiments.engine.claim import Claim
from kernelweave.experiments.engine.comparison import Candidates, Comparison, Contender, Problem
from kernelweave.experiments.tables.skfe.skfe_3 import METHODS, numbers_of_features, with_neighbour
from kernelweave.kernels import Gaussian
from kernelweave.model_selection import RepeatedKFoldProtocol
from kernelweave.reduction import AKDAQR, KernelOrthogonalCentroid, KernelPLS, SubspaceKernel

WIDTHS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def over_widths(make: Callable[[Gaussian], dict[str, Any]]) -> Candidates:
    """A method with Gaussian kernels of several widths, in units of the samples' spread around their mean."""

    def candidates(data: Problem) -> dict[str, Any]:
        spread = float(np.sqrt(np.var(data.X, axis=0).sum()))
        return {
            f"{label}s = {width:g}": with_neighbour(transformer)
            for width in WIDTHS
            for label, transformer in make(Gaussian(scale=width * spread)).items()
        }

    return candidates


def _with_features(k: int, kernel: Any) -> dict[str, Any]:
    return {f"{k} features, ": KernelPLS(kernel, k)}


def kpls_candidates(data: Problem) -> dict[str, Any]:
    """KPLS with every width and number of features."""
    found: dict[str, Any] = {}
    for k in numbers_of_features(data.y):
        found |= over_widths(partial(_with_features, k))(data)
    return found


EXPERIMENT = Comparison(
    name="skfe-2",
    title="Kernel feature extraction for gene expression",
    source="SKFE 5.2, Table 2",
    datasets={
        name: (name, None)
        for name in ("brain_tumor1", "brain_tumor2", "leukemia1", "leukemia2", "prostate_tumor", "dlbcl")
    },
    contenders=(
        Contender("1-NN", lambda data: {"raw": KNeighborsClassifier(1)}),
        Contender("KPLS", kpls_candidates),
        Contender("AKDA/QR", over_widths(lambda kernel: {"": AKDAQR(kernel)})),
        Contender("KOC", over_widths(lambda kernel: {"": KernelOrthogonalCentroid(kernel)})),
        Contender("SKFE", over_widths(lambda kernel: {"": SubspaceKernel(kernel)})),
    ),
    protocol=RepeatedKFoldProtocol(n_folds=5, n_repeats=20),
    paper={
        name: dict(zip(METHODS, figures, strict=True))
        for name, figures in {
            "brain_tumor1": ((14.33, 1.65), (14.28, 1.26), (13.89, 1.42), (14.83, 1.58), (12.00, 1.42)),
            "brain_tumor2": ((28.90, 2.79), (24.70, 3.57), (26.70, 3.63), (28.30, 2.99), (27.30, 2.27)),
            "leukemia1": ((11.94, 2.13), (5.21, 1.49), (7.50, 1.65), (7.57, 1.88), (4.86, 1.46)),
            "leukemia2": ((6.74, 1.64), (3.96, 2.27), (7.01, 1.77), (7.36, 1.81), (3.68, 0.82)),
            "prostate_tumor": ((24.17, 1.94), (19.80, 1.87), (28.82, 2.59), (20.88, 2.38), (14.85, 1.63)),
            "dlbcl": ((14.03, 1.72), (4.09, 1.21), (14.74, 1.80), (9.22, 1.93), (3.57, 0.93)),
        }.items()
    },
    quick={
        "protocol": RepeatedKFoldProtocol(n_folds=5, n_repeats=2),
        "datasets": {"brain_tumor2": ("brain_tumor2", None)},
    },
    prepare=np.asarray,
    note="The best error over widths s (gamma = 1/s^2, in units of the samples' spread) in each repeat, on the folds "
    "that measure it, as in the paper; expression values as they are, which brings the paper's 1-NN column. 11_Tumors "
    "is not to be had. Where SKFE stops and how AKDA/QR and KPLS scale features was chosen on text (Table skfe-3).",
    claim=Claim(
        "SKFE is better than KOC, where it starts, on all data sets",
        "SKFE",
        ahead_of=("KOC",),
        simpler=("1-NN", "KPLS", "KOC"),
        reason="where the ascent stops is not stated",
        details="The paper does not say where the ascent stops; that was settled on text, not here. On brain_tumor1 "
        "the paper's ranking is not reproduced.",
    ),
)
