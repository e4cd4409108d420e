"""The progress bar reaches its end, also where a fit converges before it must, and not where it fails."""

import numpy as np
import pytest
from rich.progress import Progress

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import (
    BestSingle,
    BinaryMKL,
    ConvexMKL,
    EasyMKL,
    GeneralizedMKL,
    Localized,
    LpMKL,
    Mean,
    PolynomialMKL,
    Projected,
    SparseMKL,
    WidthMKL,
)
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.kernels import Gaussian, Linear
from kernelweave.model_selection import ResponseSurfaceSearchCV
from kernelweave.reduction import MKLDR, SubspaceKernel

rng = np.random.default_rng(0)
Y = np.tile([0, 1], 15)
X = rng.normal(size=(30, 3)) + Y[:, None]
KERNELS = [Linear(), Gaussian(scale=2.0)]
COMBINERS = [
    Mean(),
    BestSingle(cv=2),
    BinaryMKL(1),
    ConvexMKL(),
    ConvexMKL(solver="conic"),
    EasyMKL(),
    GeneralizedMKL(),
    Localized(n_init=2),
    LpMKL(),
    PolynomialMKL(),
    Projected(1),
    SparseMKL(),
    WidthMKL(),
]
MODELS = [
    *(MKLClassifier(KERNELS, combiner, tol=0.1, random_state=0, verbose=1) for combiner in COMBINERS),
    MKLClassifier(KERNELS, ConvexMKL(), multiclass="one-vs-all", weights="per-class", verbose=1),
    MKLRegressor(KERNELS, LpMKL(), verbose=1),
    MKLOneClass(KERNELS, ConvexMKL(), verbose=True),
    SparseLargeMarginClassifier(2, tol=0.5, verbose=1),
    MKLDR(KERNELS, tol=0.1, verbose=1),
    SubspaceKernel(tol=0.5, verbose=1),
    ResponseSurfaceSearchCV(MKLClassifier(), ["C"], cv=2, tol=1.0, verbose=1),
]


@pytest.fixture
def seen(monkeypatch):
    """Every (completed, total) of the bar's one task, in order."""
    steps = []

    class Recorded(Progress):
        def update(self, task_id, **changes):
            super().update(task_id, **changes)
            steps.append((self.tasks[0].completed, self.tasks[0].total))

    monkeypatch.setattr("rich.progress.Progress", Recorded)
    return steps


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}-{getattr(model, 'combiner', '')}")
def test_the_bar_reaches_its_end(model, seen, capsys):
    model.fit(X, Y)
    assert seen[-1][0] == seen[-1][1] > 0
    assert all(done <= total for done, total in seen)


def test_a_fit_that_converges_early_had_more_to_go(seen, capsys):
    MKLClassifier(KERNELS, ConvexMKL(), tol=0.1, verbose=1).fit(X, Y)
    assert seen[-2][0] < seen[-2][1]


def test_a_fit_that_fails_does_not_reach_it(seen, capsys):
    def nan_later(A, B):
        return A @ B.T if len(A) < 20 else np.full((len(A), len(B)), np.nan)

    with pytest.raises(ValueError, match="nan_later"):
        MKLClassifier([nan_later, Linear()], BestSingle(cv=2), verbose=1).fit(X, Y)
    assert not seen or seen[-1][0] < seen[-1][1]


def test_no_bar_unless_asked_for(seen, capsys):
    MKLClassifier().fit(X, Y)
    assert not seen and not capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MKLClassifier(KERNELS), Y),
        (MKLClassifier(KERNELS), np.arange(30) % 3),
        (MKLClassifier(KERNELS, multiclass="one-vs-one"), np.arange(30) % 3),
        (MKLOneClass(KERNELS), None),
    ],
)
def test_a_single_solve_in_parts_shows_how_far_it_is(model, y, seen, capsys):
    """Each output in turn, and never backwards."""
    model.set_params(storage="lazy", verbose=1, tol=1e-6).fit(X, y)
    shares = [done / total for done, total in seen[:-1]]
    assert len(set(shares)) > 1 and shares == sorted(shares) and shares[-1] <= 1.0
    assert seen[-1][0] == seen[-1][1]
    assert model.fit_kernel(X, y).solution.converged
