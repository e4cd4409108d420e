"""Data sets with times to an event, which scikit-survival's package ships.

`load` returns a table with columns ``view__column`` and the outcomes. Views are what is measured together:

=============  =========================================================================================================
name           samples, event
=============  =========================================================================================================
gbsg2          breast cancer (German Breast Cancer Study Group 2): recurrence or death
whas500        heart attacks (Worcester): death
veterans       lung cancer (Veterans' Administration): death
aids           HIV infection (AIDS Clinical Trials Group 320): a disease that defines AIDS, or death
aids_death     the same samples: death
flchain        a population with free light chains of their blood's immunoglobulins: death
breast_cancer  node-negative breast cancer (GSE7390), 76 genes of a signature and clinical columns: distant metastasis
=============  =========================================================================================================

- Categories are one-hot encoded: two as one column of 0 and 1 for the second, more as a column for each. Those that are
  scores (Karnofsky's, the tenths of light chains, the year) are numbers.
- Left out is what nobody knew at time 0: of whas500 the length of the hospital's stay, which for those who died there
  is the time of death, and of flchain the cause of death.
- Missing are creatinines of flchain alone: the column has the median of the others there, and a column
  ``creatinine_missing`` says where.
- Of flchain 2000 of the 7874 samples are drawn, always the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from kernelweave import stack_views
from kernelweave._extras import optional
from kernelweave.survival import outcome

N_MOST = 2000


@dataclass(frozen=True)
class SurvivalSet:
    """How to get a set from scikit-survival, and what its columns are.

    A view of no columns has those that are not named.
    """

    loader: str
    views: Mapping[str, Sequence[str]]
    scores: Sequence[str] = ()  # categories that are numbers
    left_out: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


_AIDS = {
    "immune": ["cd4", "strat2"],
    "treatment": ["tx", "txgrp", "priorzdv"],
    "patient": ["age", "sex", "raceth", "ivdrug", "hemophil", "karnof"],
}
SETS = {
    "gbsg2": SurvivalSet(
        "load_gbsg2",
        {
            "tumour": ["tsize", "tgrade", "pnodes"],
            "receptors": ["estrec", "progrec"],
            "patient": ["age", "menostat", "horTh"],
        },
    ),
    "whas500": SurvivalSet(
        "load_whas500",
        {
            "history": ["age", "gender", "bmi", "cvd", "miord"],
            "vitals": ["hr", "sysbp", "diasbp"],
            "attack": ["mitype", "sho", "chf", "av3", "afb"],
        },
        left_out=["los"],
    ),
    "veterans": SurvivalSet(
        "load_veterans_lung_cancer",
        {
            "tumour": ["Celltype", "Months_from_Diagnosis"],
            "patient": ["Age_in_years", "Karnofsky_score"],
            "treatment": ["Treatment", "Prior_therapy"],
        },
    ),
    "aids": SurvivalSet("load_aids", _AIDS, scores=["karnof"], options={"endpoint": "aids"}),
    "aids_death": SurvivalSet("load_aids", _AIDS, scores=["karnof"], options={"endpoint": "death"}),
    "flchain": SurvivalSet(
        "load_flchain",
        {
            "chains": ["kappa", "lambda", "flc.grp", "mgus"],
            "kidney": ["creatinine"],
            "patient": ["age", "sex", "sample.yr"],
        },
        scores=["flc.grp", "sample.yr"],
        left_out=["chapter"],
    ),
    "breast_cancer": SurvivalSet("load_breast_cancer", {"clinical": ["age", "er", "grade", "size"], "genes": []}),
}


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The table of a set, and times and events of its samples.

    Parameters
    ----------
    name : str
        One of `SETS`.
    """
    given = SETS[name]
    optional("sksurv", "for its data sets", "survival")
    table, y = getattr(import_module("sksurv.datasets"), given.loader)(**given.options)
    event, time = (y[field] for field in y.dtype.names)
    named = [*given.left_out, *(column for columns in given.views.values() for column in columns)]
    rest = [column for column in table.columns if column not in named]
    views = {view: list(columns) or rest for view, columns in given.views.items()}
    if not set(named) <= set(table.columns) or (rest and rest not in views.values()):
        raise ValueError(f"{name} of this scikit-survival has other columns: {list(table.columns)}")
    if len(table) > N_MOST:
        drawn = np.sort(np.random.RandomState(0).choice(len(table), N_MOST, replace=False))
        table, event, time = table.iloc[drawn], event[drawn], time[drawn]
    X: Any = stack_views({view: _numbers(table[columns], given.scores) for view, columns in views.items()})
    return X.reset_index(drop=True), outcome(time, event)


def _numbers(table: pd.DataFrame, scores: Sequence[str]) -> pd.DataFrame:
    columns = {}
    for name, values in table.items():
        if isinstance(values.dtype, pd.CategoricalDtype) and name not in scores:
            levels = list(values.cat.categories)
            for level in levels[1:] if len(levels) == 2 else levels:
                columns[f"{name}_{level}"] = (values == level).astype(float)
            continue
        numbers = values.astype(float)
        columns[name] = numbers.fillna(numbers.median())
        if numbers.isna().any():
            columns[f"{name}_missing"] = numbers.isna().astype(float)
    return pd.DataFrame(columns)
