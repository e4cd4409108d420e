"""Response surfaces over the folds of a run: what they minimise, and that they resume."""

import dataclasses

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from experiments.fold import Fold
from experiments.runner import run_experiment, search_surface
from kernelweave.model_selection import RepeatedKFoldProtocol
from small_experiment import LEARNED

FOUND = LEARNED.methods[2]
BEST = np.log10(3.0)


def bowl(best=(BEST, BEST), log=None):
    """Cells whose validation accuracy has its top at d = 10^best[fold] for C = 10; at C = 0.1 all is worse."""

    def measure(methods, folds):
        cells = {}
        for method in methods:
            outer, _, values = LEARNED.paths(method)
            place = outer[0]["combiner__costs__all"]
            if log is not None:
                log.append(place)
            for fold in folds:
                tops = {10.0: (90.0, best[fold]), 0.1: (40.0, np.log10(0.2))}
                cells[method.name, fold] = [
                    {
                        "validation": tops[C][0] - 20.0 * (np.log10(place) - tops[C][1]) ** 2,
                        "parameters": outer[0] | {"C": C},
                    }
                    for C in values
                ]
        return cells

    return measure


def test_the_surface_finds_the_minimum_of_the_mean_over_folds():
    places = []
    cells = search_surface(LEARNED, FOUND, [0, 1], bowl(best=(0.1, 0.5), log=places))
    assert places[:3] == pytest.approx([1.0, 10**0.3, 10**-0.3])  # the design
    assert len(places) == 3  # the mean of the two folds has its top at one of them
    records = cells["found", 0]
    assert len(records) == 2 * len(places) == len(cells["found", 1])
    best = max(records, key=lambda record: record["validation"])
    assert best["parameters"]["C"] == 10.0 and records[0]["parameters"] == {"combiner__costs__all": 1.0, "C": 0.1}


def test_the_minimum_beyond_the_design_is_measured_and_the_box_is_kept():
    places = []
    search_surface(LEARNED, FOUND, [0], bowl((np.log10(7.0),), places))
    assert places[-1] == pytest.approx(7.0, rel=1e-3)
    places.clear()
    search_surface(LEARNED, FOUND, [0], bowl((1.2,), places))
    assert max(places) == pytest.approx(10.0)


def test_a_search_that_does_not_settle_is_told():
    hasty = dataclasses.replace(FOUND, search=dataclasses.replace(FOUND.search, max_iter=1, tol=1e-9))
    rng = np.random.default_rng(0)

    def noise(methods, folds):
        return {(m.name, fold): [{"validation": rng.uniform(50, 90)}] for m in methods for fold in folds}

    with pytest.warns(ConvergenceWarning, match="response surface of 'found' in experiment 'learned' stopped"):
        for _ in range(5):
            search_surface(LEARNED, hasty, [0], noise)


def test_a_search_in_an_experiment_resumes_and_reports_its_point(tmp_path, monkeypatch):
    quick = LEARNED.quickened()
    measured, measure = [], Fold.measure
    monkeypatch.setattr(Fold, "measure", lambda self, method: measured.append(method.name) or measure(self, method))
    row = run_experiment(quick, tmp_path).row("found")
    n_points = sum(name.startswith("found at ") for name in measured) // 2
    assert n_points >= 3 and row.n_settings == 2 * n_points
    chosen = row.parameters[0]["combiner__costs__all"]
    np.testing.assert_allclose(row.costs, [[1.0, chosen]] * 2)
    assert 0.1 <= chosen <= 10.0
    measured.clear()
    assert run_experiment(quick, tmp_path).row("found").parameters == row.parameters
    assert measured == []
    lost = sorted((tmp_path / "cells" / "table-learned").glob("found-at-*"))[0]
    (lost / "fold-001.json").unlink()
    run_experiment(quick, tmp_path)
    assert len(measured) == 1


def test_each_run_has_its_own_surface(tmp_path):
    protocol = RepeatedKFoldProtocol(n_folds=2, n_repeats=2)
    methods = (LEARNED.methods[0], FOUND)
    row = run_experiment(dataclasses.replace(LEARNED, protocol=protocol, methods=methods), tmp_path).row("found")
    assert len(row.parameters) == len(row.values["test"]) == 2
    np.testing.assert_allclose(row.costs[:, 1], [setting["combiner__costs__all"] for setting in row.parameters])
