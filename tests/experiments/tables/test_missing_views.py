"""Missing views."""

import dataclasses

import numpy as np

from experiments.discovery import find_experiment
from experiments.runner import run_experiment
from kernelweave.model_selection import ThesisProtocol


def test_whole_views_are_missing_and_every_sample_has_one():
    experiment = find_experiment("missing-views")
    for make in experiment.datasets.values():
        X = make(None).X
        views = np.array([name.partition("__")[0] for name in X.columns])
        gone = np.column_stack([X.loc[:, views == view].isna().to_numpy() for view in np.unique(views)])
        by_view = np.column_stack([X.loc[:, views == view].isna().all(axis=1) for view in np.unique(views)])
        assert gone.any() and not by_view.all(axis=1).any() and 0.2 < by_view.mean() < 0.4
        assert gone.mean(axis=0).max() <= by_view.mean(axis=0).max()  # a view is missing as a whole


def test_models_take_samples_as_they_are_and_imputed(tmp_path):
    experiment = find_experiment("missing-views")
    names = ["SVM on all columns, mean imputed"]
    names += ["mean of six kernels", "mean of six kernels, mean imputed", "mean of six kernels, completed"]
    small = dataclasses.replace(
        experiment,
        contenders=tuple(one for one in experiment.contenders if one.name in names),
        datasets={"30 % at random": experiment.datasets["30 % at random"]},
        protocol=ThesisProtocol(n_repeats=1, test_size=0.8),
        claim=None,
    )
    outcome = run_experiment(small, tmp_path)
    assert len(outcome.results) == len(names)
    assert all(result.mean < 15 for result in outcome.results.values())
