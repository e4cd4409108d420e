"""SKFE, Table 3: features for text, by a 1-nearest-neighbour classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from kernelweave.experiments.engine.claim import Claim
from kernelweave.experiments.engine.comparison import Comparison, Contender
from kernelweave.model_selection import RepeatedHalves
from kernelweave.reduction import AKDAQR, KernelOrthogonalCentroid, KernelPLS, SubspaceKernel

METHODS = ("1-NN", "KPLS", "AKDA/QR", "KOC", "SKFE")


def with_neighbour(transformer: Any) -> Any:
    """A transformer followed by a 1-nearest-neighbour classifier."""
    return make_pipeline(transformer, KNeighborsClassifier(1))


def numbers_of_features(y: np.ndarray) -> list[int]:
    """c/4, c/2 and c, the numbers of KPLS features that the paper tries; 1 and 2 for two classes."""
    n_classes = len(np.unique(y))
    return sorted({max(1, n_classes // 4), n_classes // 2, n_classes})


def frequent_words(X: sp.csr_matrix) -> sp.csr_matrix:
    """The words that occur in at least three documents; HITECH then has the paper's 10080."""
    return X[:, np.flatnonzero(X.getnnz(axis=0) >= 3)]


EXPERIMENT = Comparison(
    name="skfe-3",
    title="Kernel feature extraction for text",
    source="SKFE 5.3, Table 3",
    datasets={name: (name, None) for name in ("tr11", "tr23", "tr41", "tr45", "la1", "la2", "hitech")},
    contenders=(
        Contender("1-NN", lambda data: {"raw": KNeighborsClassifier(1)}),
        Contender(
            "KPLS",
            lambda data: {
                f"{k} features": with_neighbour(KernelPLS(n_components=k)) for k in numbers_of_features(data.y)
            },
        ),
        Contender("AKDA/QR", lambda data: {"default": with_neighbour(AKDAQR())}),
        Contender("KOC", lambda data: {"default": with_neighbour(KernelOrthogonalCentroid())}),
        Contender("SKFE", lambda data: {"default": with_neighbour(SubspaceKernel())}),
        Contender("SKFE, centred", lambda data: {"default": with_neighbour(SubspaceKernel(center=True))}),
    ),
    protocol=RepeatedHalves(n_repeats=20),
    paper={
        name: dict(zip(METHODS, figures, strict=True))
        for name, figures in {
            "tr11": ((26.66, 2.64), (21.71, 2.61), (23.63, 4.32), (15.29, 3.14), (15.78, 2.47)),
            "tr23": ((28.25, 4.76), (30.05, 6.35), (27.30, 4.88), (23.20, 4.40), (18.85, 3.86)),
            "tr41": ((20.17, 3.02), (9.56, 1.55), (9.59, 1.40), (7.66, 0.96), (6.14, 1.08)),
            "tr45": ((28.48, 2.68), (23.45, 2.24), (19.33, 3.84), (15.23, 2.15), (9.85, 1.80)),
            "la1": ((40.82, 1.68), (19.23, 0.69), (18.67, 0.77), (18.28, 0.82), (14.51, 0.96)),
            "la2": ((38.82, 1.59), (16.94, 0.76), (16.25, 1.02), (16.36, 0.94), (13.23, 0.74)),
            "hitech": ((57.83, 1.69), (33.14, 1.57), (31.88, 1.08), (31.71, 1.41), (29.71, 1.12)),
        }.items()
    },
    prepare=frequent_words,
    quick={"protocol": RepeatedHalves(n_repeats=2), "datasets": {name: (name, None) for name in ("tr11", "tr23")}},
    note="The paper does not say how words are weighted; raw counts of words in at least three documents bring its "
    "1-NN column (of raw counts, tf, tf-idf, binary, log and square-root counts, with and without unit length). Linear "
    "kernel; KPLS is the best of c/4, c/2 and c features, as in the paper. SKFE, centred is no column of the paper. "
    "Where SKFE stops (tol) and how AKDA/QR and KPLS scale their features, which the paper leaves open, was chosen "
    "among several ways by errors on other splits of tr11, tr23, tr41 and tr45; la1, la2, hitech had no part in it.",
    claim=Claim(
        "SKFE is better than all others on most data sets",
        "SKFE",
        ahead_of=("1-NN", "KPLS", "AKDA/QR", "KOC"),
        simpler=("1-NN", "KPLS", "AKDA/QR", "KOC"),
        own="SKFE, centred",
        reason="KOC wins on tr11 in the paper too",
        details="In the paper too KOC is ahead on tr11. How words are weighted and where the ascent stops is open.",
    ),
)
