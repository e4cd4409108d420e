"""Tables 2 and 3 of SKFE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from experiments.declaration import Claim
from kernelweave.compare import Comparison, Contender, Problem
from kernelweave.compare.comparison import Candidates
from kernelweave.kernels import Gaussian
from kernelweave.model_selection import RepeatedHalves, RepeatedKFoldProtocol
from kernelweave.reduction import AKDAQR, KernelOrthogonalCentroid, KernelPLS, SubspaceKernel
from kernelweave.solvers.descent import Ascent

# SKFE, Table 3: features for text, by a 1-nearest-neighbour classifier.

METHODS = ("1-NN", "KPLS", "AKDA/QR", "KOC", "SKFE")

N_STEPS = 100
_STOP = (
    f"The paper does not say where SKFE stops. Here it ends after {N_STEPS} iterations of conjugate gradients in both "
    "tables: of 10, 20, 50, 100 and 200 that number is nearest to the paper's errors on the six expression sets and "
    "tr11, tr23, tr41 and tr45 together, on other splits; tolerances were as near there, and one of them was left for "
    "missing the paper's figure on la1. la2 and hitech had no part in any choice. SKFE, default is no column of the "
    "paper; its tolerance stops after 10 to 20 iterations on expression sets and 40 to 80 on text."
)


class SteppedKernel(SubspaceKernel):
    """`SubspaceKernel` that is meant to end after `max_iter` iterations, and does not warn then.

    Examples
    --------
    >>> from experiments.tables.skfe import SteppedKernel
    >>> X, y = [[1.0, 0.2, 0.0], [3.0, 0.1, 1.0], [0.1, 1.0, 1.0], [0.2, 2.0, 0.0]], ["a", "a", "b", "b"]
    >>> SteppedKernel(max_iter=2, tol=0.0).fit(X, y).n_iter_
    2
    """

    def _record(self, ascent: Ascent, criterion: Any) -> None:
        ascent.converged = True
        super()._record(ascent, criterion)


def stepped(kernel: Any = None, *, center: bool = False) -> SteppedKernel:
    """SKFE as the tables have it: `N_STEPS` iterations, fewer only where nothing rises any more."""
    return SteppedKernel(kernel, center=center, max_iter=N_STEPS, tol=0.0)


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


def skfe_comparison(errors: Mapping[str, Sequence[tuple[float, float]]], **fields: Any) -> Comparison:
    """A table of the paper, from its errors (mean and standard deviation) of `METHODS` on each data set."""
    return Comparison(
        datasets={name: (name, None) for name in errors},
        paper={name: dict(zip(METHODS, figures, strict=True)) for name, figures in errors.items()},
        **fields,
    )


TABLE_3 = skfe_comparison(
    name="skfe-3",
    title="Kernel feature extraction for text",
    source="SKFE 5.3, Table 3",
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
        Contender("SKFE", lambda data: {"default": with_neighbour(stepped())}),
        Contender("SKFE, default", lambda data: {"default": with_neighbour(SubspaceKernel())}),
        Contender("SKFE, centred", lambda data: {"default": with_neighbour(stepped(center=True))}),
    ),
    protocol=RepeatedHalves(n_repeats=20),
    errors={
        "tr11": ((26.66, 2.64), (21.71, 2.61), (23.63, 4.32), (15.29, 3.14), (15.78, 2.47)),
        "tr23": ((28.25, 4.76), (30.05, 6.35), (27.30, 4.88), (23.20, 4.40), (18.85, 3.86)),
        "tr41": ((20.17, 3.02), (9.56, 1.55), (9.59, 1.40), (7.66, 0.96), (6.14, 1.08)),
        "tr45": ((28.48, 2.68), (23.45, 2.24), (19.33, 3.84), (15.23, 2.15), (9.85, 1.80)),
        "la1": ((40.82, 1.68), (19.23, 0.69), (18.67, 0.77), (18.28, 0.82), (14.51, 0.96)),
        "la2": ((38.82, 1.59), (16.94, 0.76), (16.25, 1.02), (16.36, 0.94), (13.23, 0.74)),
        "hitech": ((57.83, 1.69), (33.14, 1.57), (31.88, 1.08), (31.71, 1.41), (29.71, 1.12)),
    },
    prepare=frequent_words,
    quick={"protocol": RepeatedHalves(n_repeats=2), "datasets": {name: (name, None) for name in ("tr11", "tr23")}},
    note="The paper does not say how words are weighted; raw counts of words in at least three documents bring its "
    "1-NN column (of raw counts, tf, tf-idf, binary, log and square-root counts, with and without unit length). Linear "
    "kernel; KPLS is the best of c/4, c/2 and c features, as in the paper. SKFE, centred is no column of the paper. "
    "How AKDA/QR and KPLS scale their features, which it leaves open too, was chosen among several ways by errors on "
    f"other splits of tr11, tr23, tr41 and tr45. {_STOP}",
    claim=Claim(
        "SKFE is better than all others on most data sets",
        "SKFE",
        ahead_of=("1-NN", "KPLS", "AKDA/QR", "KOC"),
        simpler=("1-NN", "KPLS", "AKDA/QR", "KOC"),
        own="SKFE, centred",
        reason="KOC wins on tr11 in the paper too",
        details="In the paper too KOC is ahead on tr11. How words are weighted is open.",
    ),
)


# SKFE, Table 2: features for gene expression, Gaussian kernel, by a 1-nearest-neighbour classifier.

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


TABLE_2 = skfe_comparison(
    name="skfe-2",
    title="Kernel feature extraction for gene expression",
    source="SKFE 5.2, Table 2",
    contenders=(
        Contender("1-NN", lambda data: {"raw": KNeighborsClassifier(1)}),
        Contender("KPLS", kpls_candidates),
        Contender("AKDA/QR", over_widths(lambda kernel: {"": AKDAQR(kernel)})),
        Contender("KOC", over_widths(lambda kernel: {"": KernelOrthogonalCentroid(kernel)})),
        Contender("SKFE", over_widths(lambda kernel: {"": stepped(kernel)})),
        Contender("SKFE, default", over_widths(lambda kernel: {"": SubspaceKernel(kernel)})),
    ),
    protocol=RepeatedKFoldProtocol(n_folds=5, n_repeats=20),
    errors={
        "brain_tumor1": ((14.33, 1.65), (14.28, 1.26), (13.89, 1.42), (14.83, 1.58), (12.00, 1.42)),
        "brain_tumor2": ((28.90, 2.79), (24.70, 3.57), (26.70, 3.63), (28.30, 2.99), (27.30, 2.27)),
        "leukemia1": ((11.94, 2.13), (5.21, 1.49), (7.50, 1.65), (7.57, 1.88), (4.86, 1.46)),
        "leukemia2": ((6.74, 1.64), (3.96, 2.27), (7.01, 1.77), (7.36, 1.81), (3.68, 0.82)),
        "prostate_tumor": ((24.17, 1.94), (19.80, 1.87), (28.82, 2.59), (20.88, 2.38), (14.85, 1.63)),
        "dlbcl": ((14.03, 1.72), (4.09, 1.21), (14.74, 1.80), (9.22, 1.93), (3.57, 0.93)),
    },
    quick={
        "protocol": RepeatedKFoldProtocol(n_folds=5, n_repeats=2),
        "datasets": {"brain_tumor2": ("brain_tumor2", None)},
    },
    prepare=np.asarray,
    note="The best error over widths s (gamma = 1/s^2, in units of the samples' spread) in each repeat, on the folds "
    "that measure it, as in the paper; expression values as they are, which brings the paper's 1-NN column. 11_Tumors "
    "is not to be had. How AKDA/QR and KPLS scale features was chosen on text (Table skfe-3). "
    f"{_STOP}",
    claim=Claim(
        "SKFE is better than KOC, where it starts, on all data sets",
        "SKFE",
        ahead_of=("KOC",),
        simpler=("1-NN", "KPLS", "KOC"),
        own="SKFE, default",
        reason="where the ascent stops is not stated",
        remark="where the ascent stops was inferred",
    ),
)

EXPERIMENTS = (TABLE_2, TABLE_3)
