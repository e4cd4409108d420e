"""The benchmark's data sets: all of their columns are in views, as numbers, and the outcomes are those of the files."""

import numpy as np
import pytest

from experiments.benchmark.tasks.survival_sets import SETS, load
from kernelweave.survival import times_and_events

datasets = pytest.importorskip("sksurv.datasets")
SIZES = {
    "gbsg2": (686, 10, 299),
    "whas500": (500, 13, 215),
    "veterans": (137, 9, 128),
    "aids": (1151, 20, 96),
    "aids_death": (1151, 20, 26),
    "flchain": (2000, 9, 529),
    "breast_cancer": (198, 83, 51),
}


@pytest.mark.parametrize("name", SETS)
def test_a_set_is_numbers_in_views(name):
    X, y = load(name)
    time, event = times_and_events(y)
    assert (*X.shape, event.sum()) == SIZES[name] and len(y) == len(X)
    assert np.isfinite(X.to_numpy(float)).all() and (X.std() > 0).all()
    assert {column.partition("__")[0] for column in X} == set(SETS[name].views)
    assert (X.to_numpy() == time[:, None]).mean(axis=0).max() < 0.04  # no column is the time of some


@pytest.mark.parametrize("name", sorted(set(SETS) - {"flchain"}))
def test_outcomes_and_columns_are_those_of_the_file(name):
    table, y = getattr(datasets, SETS[name].loader)(**SETS[name].options)
    X, found = load(name)
    assert all(
        np.array_equal(found[own], y[theirs]) for own, theirs in zip(found.dtype.names, y.dtype.names, strict=True)
    )
    plain = {column.partition("__")[2]: column for column in X}
    for column in set(table.columns) & set(plain):
        assert np.array_equal(X[plain[column]], table[column].astype(float))


def test_the_draw_of_flchain_has_its_own_outcomes():
    """Kappa and age, which hardly two samples share, find a sample of the file."""
    table, y = datasets.load_flchain()
    X, found = load("flchain")
    whole = set(zip(table["kappa"], table["lambda"], table["age"], y["death"], y["futime"], strict=True))
    columns = ["chains__kappa", "chains__lambda", "patient__age"]
    drawn = zip(*(X[column] for column in columns), found["event"], found["time"], strict=True)
    assert set(drawn) <= whole
    missing = X["kidney__creatinine_missing"] == 1.0
    assert 0.1 < missing.mean() < 0.25 and X.loc[missing, "kidney__creatinine"].nunique() == 1
