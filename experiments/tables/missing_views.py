"""Samples that lack views: the library's own treatments against imputation before the same model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.benchmark.data_sets import mask_at_random, mask_by_block
from experiments.declaration import Claim
from experiments.tables.thesis_localized import VIEWS, papers_localized
from kernelweave.combiners import Combiner, Localized, Mean, Softmax
from kernelweave.compare import Comparison, Contender, Problem
from kernelweave.compare.comparison import Candidates
from kernelweave.datasets import load_multifeat
from kernelweave.estimators import MKLClassifier
from kernelweave.kernels import Linear
from kernelweave.model_selection import ThesisProtocol

_IMPUTERS = {"mean imputed": SimpleImputer(), "5 neighbours imputed": KNNImputer(n_neighbors=5)}
_C = (1.0, 10.0)
_SVM_C = (1e-4, 1e-3, 1e-2, 0.1)
_SOFTMAX = papers_localized(Softmax, inputs=list(VIEWS), scaling="standard", l2=0.01)


def masked(mask: Callable[[int, int], np.ndarray]) -> Callable[[Any], Problem]:
    """What makes the digits of MULTIFEAT, small against large, without the views that a mask takes away."""

    def make(data_home: Any) -> Problem:
        X, y = load_multifeat(target="small-vs-large", return_X_y=True)
        X, present = X.astype(float), mask(len(y), len(VIEWS))
        for place, view in enumerate(VIEWS):
            X.loc[~present[:, place], [name for name in X.columns if name.startswith(f"{view}__")]] = np.nan
        return Problem(X, y, views={view: view for view in VIEWS})

    return make


def _candidates(combiner: Combiner, imputer: Any, missing: str = "native") -> Candidates:
    """A model with each C, after imputation or without."""

    def candidates(problem: Problem) -> dict[str, Any]:
        found = {}
        for C in _C:
            kernels = [Linear(view) for view in VIEWS]
            model: Any = MKLClassifier(kernels, combiner, C=C, missing=missing, random_state=0)
            found[f"C = {C:g}"] = model if imputer is None else make_pipeline(imputer, model)
        return found

    return candidates


def _contenders(name: str, combiner: Combiner) -> tuple[Contender, ...]:
    """A model of views as they are, and after each imputation."""
    imputed = [
        Contender(f"{name}, {words}", _candidates(combiner, imputer.set_output(transform="pandas")))
        for words, imputer in _IMPUTERS.items()
    ]
    return (Contender(name, _candidates(combiner, None)), *imputed)


MISSING_VIEWS = Comparison(
    name="missing-views",
    title="Missing views of MULTIFEAT-SL",
    source="No table of a paper",
    datasets={"30 % at random": masked(mask_at_random), "30 % by block": masked(mask_by_block)},
    contenders=(
        Contender(
            "SVM on all columns, mean imputed",
            lambda problem: {f"C = {C:g}": make_pipeline(SimpleImputer(), SVC(kernel="linear", C=C)) for C in _SVM_C},
        ),
        *_contenders("mean of six kernels", Mean()),
        Contender("mean of six kernels, completed", _candidates(Mean(), None, "complete")),
        Contender("LMKL (softmax)", _candidates(_SOFTMAX, None)),
        *_contenders("LMKL (unit gates)", Localized(inputs=list(VIEWS))),
    ),
    protocol=ThesisProtocol(n_repeats=2),
    scaling=lambda problem: StandardScaler().set_output(transform="pandas"),  # leaves NaN alone
    level=0.05,
    quick={"protocol": ThesisProtocol(n_repeats=1)},
    note="30 per cent of the (sample, view) pairs are removed, among training and test samples alike, at random or by "
    "block (four groups of samples, each without the same views); each sample keeps a view. Methods that are not said "
    'to impute take the samples as they are; completed is missing="complete". C by validation.',
    claim=Claim(
        "As good as imputation before the same model (a question of ours)",
        "LMKL (unit gates)",
        no_worse_than=("LMKL (unit gates), mean imputed", "LMKL (unit gates), 5 neighbours imputed"),
        simpler=(
            "SVM on all columns, mean imputed",
            "mean of six kernels",
            "mean of six kernels, mean imputed",
            "mean of six kernels, 5 neighbours imputed",
            "mean of six kernels, completed",
        ),
        reason="redundant views: neighbours restore them",
        details="The views of MULTIFEAT are redundant: samples that are near in the views that are there are near in "
        "the others, so that neighbours restore what is missing.",
    ),
)

EXPERIMENTS = (MISSING_VIEWS,)
