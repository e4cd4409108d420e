"""Warnings name the line of the user, however deep in the library and in scikit-learn they arise."""

import inspect
import re
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import kernelweave
from kernelweave import MKLClassifier, stack_views
from kernelweave.combiners import ConvexMKL
from kernelweave.kernels import Gaussian


def data(n=30):
    X = np.random.default_rng(0).normal(size=(n, 3))
    y = np.arange(n) % 2
    X[0] = 0.0  # a sample that a linear kernel cannot scale to a unit diagonal
    return X, y


def lines(call):
    """Lines of this file that the warnings of a call name, and None for each that names another file."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    assert told
    return {item.lineno if Path(item.filename) == Path(__file__) else None for item in told}


def line_of(text):
    """The line of the calling test in which the text stands first."""
    source, start = inspect.getsourcelines(inspect.currentframe().f_back.f_code)
    return start + next(i for i, line in enumerate(source) if text in line)


def test_a_plain_fit():
    X, y = data()
    assert lines(lambda: MKLClassifier().fit(X, y)) == {line_of("MKLClassifier().fit")}


def test_a_fit_that_stops_early_deep_in_a_combiner():
    X, y = data()
    model = MKLClassifier([Gaussian(scale=1.0), Gaussian(scale=3.0)], ConvexMKL(max_iter=1), tol=1e-9)
    assert lines(lambda: model.fit(X, y)) == {line_of("lambda: model.fit")}


def test_a_fit_in_a_pipeline():
    X, y = data()
    model = make_pipeline(FunctionTransformer(), MKLClassifier())
    assert lines(lambda: model.fit(X, y)) == {line_of("lambda: model.fit")}


@pytest.mark.parametrize("predict", ["predict", "decision_function", "kernel_weights"])
def test_prediction(predict):
    rng = np.random.default_rng(1)
    y = np.arange(30) % 2
    views = {"told": rng.normal(size=(30, 2)) + 4 * y[:, None], "noise": rng.normal(size=(30, 2))}
    model = MKLClassifier(combiner=ConvexMKL()).fit(stack_views(views), y)
    assert model.kernel_weights_["noise"] == 0.0
    new = stack_views({"told": np.full((1, 2), np.nan), "noise": np.ones((1, 2))})  # no view that counts
    call = getattr(model, predict)
    assert lines(lambda: call(new)) == {line_of("lambda: call(new)")}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search(n_jobs):
    X, y = data()
    search = GridSearchCV(MKLClassifier(), {"C": [1.0, 2.0]}, n_jobs=n_jobs, cv=2)
    with joblib.parallel_backend("threading"):
        assert lines(lambda: search.fit(X, y)) == {line_of("lambda: search.fit")}


def test_a_thread_that_is_waited_for():
    X, y = data()

    def in_pool():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(MKLClassifier().fit, X, y).result()

    assert lines(in_pool) <= set(range(*line_range(in_pool)))


def test_a_thread_that_nobody_waits_for_names_the_method(monkeypatch):
    X, y = data()
    monkeypatch.setattr(sys, "_current_frames", dict)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        thread = threading.Thread(target=MKLClassifier().fit, args=(X, y))
        thread.start()
        thread.join()
    assert [Path(item.filename).name for item in told] == ["classifier.py"]


def line_range(function):
    source, start = inspect.getsourcelines(function)
    return start, start + len(source)


def test_nothing_counts_frames_by_hand():
    root = Path(kernelweave.__file__).parent
    for path in root.rglob("*.py"):
        if path.name != "_warnings.py":
            assert not re.search(r"stacklevel|warnings\.warn\b", path.read_text()), path
