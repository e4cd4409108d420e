"""What the tasks are: classes, numbers, or times to an event; the one place that says how recipes treat each.

==============  ======================  ==========================  ===========================
                classification          regression                  survival
==============  ======================  ==========================  ===========================
targets inside  positions of classes    standardised numbers        times and events, as
                                                                    `survival.outcome` makes them
folds keep      shares of classes       -                           the share of events
no information  the most frequent class the mean of the target      the same risk for all
                                                                    (Kaplan-Meier)
"linear"        logistic regression     ridge regression            Cox ridge regression:
                                                                    one linear kernel
==============  ======================  ==========================  ===========================

Of survival, a decision value is a risk: the logarithm of how many times as likely the event is at any time, where the
model is Cox's, and 0 for the average training sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype

from ..survival import outcome, times_and_events

CLASSES, NUMBERS, SURVIVAL = "classification", "regression", "survival"
Grid = Mapping[str, Sequence[float]]  # values of a parameter, by effort


@dataclass(frozen=True)
class Task:
    """One task: `strata` are what folds keep the shares of, from targets inside; the others are words and settings."""

    name: str
    _: KW_ONLY
    strata: Callable[[np.ndarray], np.ndarray]
    can_learn: Callable[[np.ndarray], bool]  # whether training samples of some strata say anything
    chance: str  # what tables call the prediction without information
    no_information: str  # the same in a sentence
    constant: str  # what is predicted for a sample on which a method cannot decide
    labels: Mapping[str, str]  # what tables call methods that differ between tasks
    costs: Grid  # C of kernel machines, whose kernels have a unit diagonal and regressions a target of variance 1
    linear_costs: Grid  # C of logistic regression, 1 / alpha of ridge regression, on standardised columns
    portfolio: tuple[str, ...]  # what "auto" chooses from, the simplest first
    lacks: Mapping[str, str]  # methods that are not for this task, and why
    without_kernels: tuple[str, ...] = (
        "linear",
        "forest",
        "boosting",
        "stacking",
    )  # models that are no kernel machines


PORTFOLIO = ("mean", "least-squares", "lp-least-squares", "lp-scales", "completed", "lp-completed", "forest")
_FOR_SURVIVAL_ONLY = "it is a model of times to an event"
_NOT_COX = "its machine is for classes and numbers, not for times to an event"

TASKS = {
    task.name: task
    for task in (
        Task(
            CLASSES,
            strata=lambda labels: labels,
            can_learn=lambda strata: len(np.unique(strata)) > 1,
            chance="most frequent class",
            no_information="always predicting the most frequent class",
            constant="the most frequent class",
            labels={"linear": "logistic regression"},
            costs={"full": (0.3, 3.0, 30.0), "quick": (3.0,)},
            linear_costs={"full": (0.01, 0.1, 1.0, 10.0), "quick": (0.1, 1.0)},
            portfolio=PORTFOLIO,
            lacks={"coxnet": _FOR_SURVIVAL_ONLY},
        ),
        Task(
            NUMBERS,
            strata=lambda values: np.zeros(len(values), dtype=int),
            can_learn=lambda strata: True,
            chance="mean of the target",
            no_information="always predicting the mean of the target",
            constant="the mean target",
            labels={"linear": "ridge regression"},
            costs={"full": (0.1, 1.0, 10.0, 100.0), "quick": (0.1, 1.0, 10.0)},
            linear_costs={"full": (0.001, 0.01, 0.1, 1.0), "quick": (0.01, 0.1)},
            portfolio=PORTFOLIO,
            lacks={"coxnet": _FOR_SURVIVAL_ONLY},
        ),
        Task(
            SURVIVAL,
            strata=lambda outcomes: outcomes["event"].astype(int),
            can_learn=lambda strata: bool(strata.any()),
            chance="Kaplan-Meier",
            no_information="giving all samples the same risk (Kaplan-Meier)",
            constant="the average risk",
            labels={"linear": "Cox ridge regression", "forest": "random survival forest"},
            costs={"full": (0.01, 0.1, 1.0, 10.0), "quick": (0.1, 1.0)},
            linear_costs={"full": (0.01, 0.1, 1.0, 10.0), "quick": (0.1, 1.0)},
            portfolio=("mean", "lp"),
            lacks=dict.fromkeys(
                ("least-squares", "lp-least-squares", "lp-scales", "completed", "lp-completed", "stacking"), _NOT_COX
            )
            | {"boosting": "scikit-learn has no gradient boosting of times to an event"},
            without_kernels=("coxnet", "forest"),
        ),
    )
}


def is_outcome(y: Any) -> bool:
    """Whether targets are times with events: a structured array, or a data frame with a column that says so."""
    if isinstance(y, pd.DataFrame):
        return y.shape[1] > 1 and ({"time", "event"} <= set(y.columns) or any(map(is_bool_dtype, y.dtypes)))
    return getattr(getattr(y, "dtype", None), "names", None) is not None


def outcomes_of(y: Any, name: str = "y") -> np.ndarray:
    """Times and events in the form that all parts of a comparison take, or an error that says what is wrong."""
    return outcome(*times_and_events(y, name))
