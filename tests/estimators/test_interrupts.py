"""Ctrl-C in a fit ends it soon and leaves the estimator as it was, in both storages."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from conventions import NumericSurvival
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import ConvexMKL, Mean
from kernelweave.kernels import Function, Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
LONGEST = 20.0  # seconds to the end of the interrupted process on a busy machine


class Interrupted:
    """A linear kernel whose user gives up when it is evaluated for the n-th time."""

    __name__ = "interrupted"

    def __init__(self):
        self.left = np.inf

    def __deepcopy__(self, memo):
        return self

    def __call__(self, A, B):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return A @ B.T


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("combiner", [Mean(), ConvexMKL()])
@pytest.mark.parametrize("estimator", [MKLClassifier, MKLRegressor, MKLOneClass, NumericSurvival])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(estimator, combiner, storage):
    function = Interrupted()
    model = estimator([Function(function), Gaussian()], clone(combiner), storage=storage)
    function.left = 0
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert set(vars(model)) == set(model.get_params(deep=False))
    function.left = np.inf
    model.fit(X, Y)
    before, values = dict(vars(model)), model.predict(X)
    function.left = 0 if storage == "dense" else 1
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[::-1] + 1.0, Y)
    function.left = np.inf
    assert vars(model).keys() == before.keys() and all(vars(model)[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.predict(X), values)


SCRIPT = """
import sys
import numpy as np
from kernelweave import MKLClassifier
from kernelweave.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(40_000, 40))
y = rng.integers(0, {n_classes}, len(X))  # nothing to learn, which takes longest
model = MKLClassifier([Gaussian(list(range(20))), Gaussian(list(range(20, 40)))], C=100.0, storage="lazy", n_jobs=2)
model.fit(X[:300], y[:300])
before = dict(vars(model))
print("begins", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    same = vars(model).keys() == before.keys() and all(vars(model)[name] is before[name] for name in before)
    print("interrupted", "unchanged" if same else "changed", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_control_c_ends_a_long_fit_soon(n_classes):
    command = [sys.executable, "-c", SCRIPT.format(n_classes=n_classes)]
    quiet = os.environ | {"PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet)
    try:
        assert process.stdout.readline() == "begins\n"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=LONGEST)
    finally:
        process.kill()
    assert said == "interrupted unchanged\n"
