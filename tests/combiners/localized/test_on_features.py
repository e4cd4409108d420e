"""Whole fits of `Localized` on explicit features: against the exact path, and what its parameters promise."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from explicit_gates import ALL, explicit_problem
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import (
    ClusterGate,
    FitControl,
    GaussianGate,
    InstanceGate,
    KernelMap,
    Localized,
    Mean,
    Sigmoid,
    Softmax,
)
from kernelweave.combiners.localized import PATH
from kernelweave.datasets import make_gauss
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.stacks.held_out import Judge, Split, divided
from kernelweave.stacks.localized import Coding

rng = np.random.default_rng(5)
N = 240
X = rng.normal(size=(2 * N, 4))
VALUES = np.where(X[:, 0] > 0.0, X[:, 1], X[:, 2])  # one kernel on each side
Y, NUMBERS = VALUES > 0.0, VALUES + 0.05 * rng.normal(size=2 * N)
THREE = np.digitize(VALUES, [-0.4, 0.4])
KERNELS = [Linear([1]), Linear([2])]
EXPLICIT = {"approximation": ALL, "dtype": "float64", "random_state": 0}


def models(combiner, estimator=MKLClassifier, machine="squared-hinge", **options):
    """The exact model and that on explicit features."""
    exact = estimator(KERNELS, combiner, machine=machine, random_state=0, C=3.0, **options)
    return exact, clone(exact).set_params(**EXPLICIT)


@pytest.mark.parametrize("gate", [Softmax(), Sigmoid(), GaussianGate(), ClusterGate(4)], ids=str)
def test_classes(gate):
    combiner = Localized(gate, inputs=[0], l2=0.003)
    exact, explicit = (model.fit(X[:N], Y[:N]) for model in models(combiner))
    ends = [model.history_["objective"].iloc[-1] for model in (exact, explicit)]
    assert ends[1] <= 1.01 * ends[0]
    assert explicit.score(X[N:], Y[N:]) >= exact.score(X[N:], Y[N:]) - 0.02 > 0.85
    assert explicit.duality_gap_ <= 1e-3 * explicit.objective_
    assert_allclose(explicit.kernel_weights_, exact.kernel_weights_, atol=0.1)


def test_one_class_against_all_others():
    combiner = Localized(inputs=[0], l2=0.003)
    exact, explicit = (model.fit(X[:N], THREE[:N]) for model in models(combiner))
    assert explicit.history_["objective"].iloc[-1] <= 1.01 * exact.history_["objective"].iloc[-1]
    assert explicit.score(X[N:], THREE[N:]) >= exact.score(X[N:], THREE[N:]) - 0.02


@pytest.mark.parametrize("machine", ["squared-epsilon-insensitive", "least-squares"])
@pytest.mark.parametrize("several", [False, True])
def test_numbers(machine, several):
    y = np.column_stack([NUMBERS, -2.0 * NUMBERS]) if several else NUMBERS
    combiner = Localized(inputs=[0], l2=0.003)
    exact, explicit = (model.fit(X[:N], y[:N]) for model in models(combiner, MKLRegressor, machine))
    assert explicit.history_["objective"].iloc[-1] <= 1.01 * exact.history_["objective"].iloc[-1]
    assert explicit.score(X[N:], y[N:]) >= exact.score(X[N:], y[N:]) - 0.02 > 0.5


def test_single_precision():
    _, model = models(Localized(inputs=[0], l2=0.003))
    half = clone(model).set_params(dtype="float32").fit(X[:N], Y[:N])
    whole = model.fit(X[:N], Y[:N])
    assert_allclose(half.objective_, whole.objective_, rtol=5e-3)
    assert np.mean(half.predict(X[N:]) == whole.predict(X[N:])) > 0.98


def test_blocks_do_not_matter():
    found = []
    for n_rows in (53, 240):
        estimator = clone(models(Localized())[1])
        stack, machine = explicit_problem(estimator, X[:N], Y[:N], n_rows=n_rows)
        combiner = Localized(inputs=[0], validation_fraction=0.0)
        kernel = combiner.fit(stack, machine, FitControl(np.random.RandomState(0), tol=1e-6))
        found.append((combiner.l2_, combiner.l2_path_, kernel.solution.objective, kernel.weights()))
    assert found[0][0] == found[1][0] < np.inf
    assert_allclose(found[0][1]["risk"], found[1][1]["risk"])
    assert_allclose(found[0][2], found[1][2], rtol=1e-3)
    assert_allclose(found[0][3], found[1][3], atol=1e-2)


def test_penalty_by_held_out_samples():
    _, model = models(Localized(inputs=[0]))
    path = model.fit(X[:N], Y[:N]).combiner_.l2_path_
    assert list(path.index) == list(PATH) and list(path.columns) == ["risk", "difference", "error"]
    assert path["risk"].between(0.0, 1.0).all() and (path["difference"] >= 0.0).all()
    assert model.combiner_.l2_ == path.index[(path["difference"] <= path["error"]).argmax()]
    assert path.loc[np.inf, "risk"] > path.loc[model.combiner_.l2_, "risk"]
    assert model.score(X[N:], Y[N:]) > 0.85


def test_penalty_takes_equal_gates_where_samples_do_not_differ():
    y = X[:, 1] + X[:, 2] > 0.0
    _, model = models(Localized(inputs=[3]))
    with pytest.warns(UserWarning, match="held-out samples give no reason"):
        model.fit(X[:N], y[:N])
    assert model.combiner_.l2_ == np.inf
    mean = clone(model).set_params(combiner=Mean()).fit(X[:N], y[:N])
    assert_allclose(model.objective_, mean.objective_, rtol=3e-3)


def test_a_part_of_many_samples_chooses_the_penalty(monkeypatch):
    monkeypatch.setattr("kernelweave.stacks.held_out.ENOUGH", 250)
    _, model = models(Localized(inputs=[0]))
    model.fit(X, Y)
    assert np.isfinite(model.combiner_.l2_)
    assert model.score(X, Y) > 0.85


def test_rare_classes_keep_a_training_sample():
    y = np.where(np.arange(60) == 7, "rare", np.where(X[:60, 0] * X[:60, 1] > 0.0, "a", "b"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models(Localized())[1].fit(X[:60], y)
    assert np.isfinite(model.combiner_.l2_path_["risk"]).all()


def test_early_stopping():
    _, model = models(Localized(inputs=[0], l2=0.003, validation_fraction=0.25))
    model.fit(X[:N], Y[:N])
    risk = model.history_["validation_risk"]
    assert risk[:-1].notna().all() and np.isnan(risk.iloc[-1])
    assert risk.min() < risk.iloc[0]
    assert model.score(X[N:], Y[N:]) > 0.85
    # the machine is solved for all samples at last
    slack = np.maximum(0.0, 1.0 - np.where(Y[:N], 1.0, -1.0) * model.decision_function(X[:N]))
    size = sum((coef**2).sum() for coef in model.feature_coef_.values())
    assert_allclose(model.objective_, 0.5 * size + 0.5 * 3.0 * (slack**2).sum(), rtol=2e-3)


def test_penalty_and_early_stopping_do_not_go_together():
    _, model = models(Localized(validation_fraction=0.2))
    with pytest.raises(ValueError, match="validation_fraction"):
        model.fit(X[:N], Y[:N])


def test_starts():
    copies = [Linear([1, 2])] * 3
    ends = []
    for n_init in (1, 4):
        combiner = Localized(inputs=[0, 1, 2], l2=0.001, n_init=n_init)
        model = MKLClassifier(copies, combiner, C=3.0, tol=1e-4, **EXPLICIT)
        ends.append(model.fit(X[:200], X[:200, 0] * X[:200, 1] > 0.0).history_["objective"].iloc[-1])
    assert ends[1] <= ends[0] * (1.0 + 1e-9)


def test_gates_leave_the_boundary_of_the_mean_kernel():
    points, labels = make_gauss(4, 20_000, random_state=1)
    kernels = [("linear", Linear()), ("quadratic", Polynomial(degree=2))]
    common = {"approximation": "nystroem", "normalize": None}
    even = MKLClassifier(kernels, Mean(), random_state=0, **common).fit(points, labels)
    for seed in range(2):
        gated = MKLClassifier(kernels, Localized(l2=1e-4), random_state=seed, **common).fit(points, labels)
        assert gated.objective_ < 0.85 * even.objective_


def test_history_and_progress(capsys):
    _, model = models(Localized(inputs=[0], l2=0.01))
    model.fit(X[:N], Y[:N])
    history = model.history_
    assert {"objective", "passes", "seconds"} <= set(history) and model.n_iter_ == len(history)
    assert (np.diff(history["objective"][:-1]) <= 0.0).all() and (history["seconds"] >= 0.0).all()
    last = history["objective"].iloc[-1]
    assert_allclose(last, history["objective"].iloc[-2], rtol=1e-2)
    assert last > model.objective_  # the penalty is in it
    done = []
    estimator = clone(model)
    stack, machine = explicit_problem(estimator, X[:N], Y[:N], n_rows=100)
    Localized(inputs=[0], l2=0.01).fit(stack, machine, FitControl(progress=lambda k, n: done.append((k, n))))
    assert [k for k, _ in done] == list(range(1, len(done) + 1)) and {n for _, n in done} == {200}


def test_too_few_iterations_are_a_warning():
    _, model = models(Localized(inputs=[0], l2=0.001, max_iter=3))
    with pytest.warns(ConvergenceWarning, match="raise the combiner's max_iter"):
        model.fit(X[:N], Y[:N])


def test_equal_gates_are_a_warning():
    _, model = models(Localized(inputs=[3], l2=10.0))
    with pytest.warns(UserWarning, match="this model is not localized"):
        model.fit(X[:N], Y[:N])


@pytest.mark.parametrize(
    ("combiner", "message"),
    [
        (Localized(InstanceGate()), "InstanceGate has parameters of its own for each training sample"),
        (Localized(inputs=KernelMap(Gaussian())), "KernelMap without n_landmarks"),
        (Localized(optimizer="armijo"), "optimizer='armijo'"),
    ],
    ids=["instance", "kernel map", "armijo"],
)
def test_what_needs_the_exact_path_is_refused(combiner, message):
    with pytest.raises(ValueError, match=message):
        models(combiner)[1].fit(X[:N], Y[:N])


def test_small_gates_are_closed_and_kernels_leave():
    y = X[:, 1] > 0.0
    combiner = Localized(inputs=[0], l2=0.0001, gate_tol=0.2)
    model = models(combiner)[1].fit(X[:N], y[:N])
    gates = model.gates(X[N:])
    assert ((gates == 0.0) | (gates**2 >= 0.2)).all(axis=None)
    assert_allclose((gates**2).sum(axis=1), 1.0)
    assert model.kernel_weights_.sum() == pytest.approx(1.0)
    assert model.active_kernels_ == list(model.kernel_weights_.index[model.kernel_weights_ > 0.0])


def test_weights_and_summary_are_those_of_all_samples():
    model = models(Localized(inputs=[0], l2=0.003))[1].fit(X[:N], THREE[:N])
    assert_allclose(model.kernel_weights_, model.kernel_weights(X[:N]).mean(), rtol=1e-9)
    expected = model.gating_summary(X[:N], THREE[:N])
    training = model.gating_summary_[model.gating_summary_["samples"] == "training"].reset_index(drop=True)
    pd.testing.assert_frame_equal(training.drop(columns="samples"), expected.drop(columns="samples"))
    support = model.gating_summary_[model.gating_summary_["samples"] == "support"]
    assert set(support["class"]) == {"all", 0, 1, 2}


def test_missing_views():
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    combiner = Localized(inputs=[0], l2=0.003)
    exact, explicit = (model.fit(gaps[:N], Y[:N]) for model in models(combiner))
    assert explicit.history_["objective"].iloc[-1] <= 1.01 * exact.history_["objective"].iloc[-1]
    gates = explicit.gates(gaps[:14]).to_numpy()
    assert (gates[[0, 7], 0] == 0.0).all()
    assert_allclose((gates**2).sum(axis=1), 1.0)
    assert explicit.score(gaps[N:], Y[N:]) >= exact.score(gaps[N:], Y[N:]) - 0.02


def test_landmarks_are_enough():
    frame = np.hstack([X, X[:, :2] ** 2])
    kernels = [Gaussian([1, 2]), Gaussian([0, 3]), Gaussian()]
    combiner = Localized(inputs=[0], l2=0.003)
    exact = MKLClassifier(kernels, combiner, machine="squared-hinge", random_state=0).fit(frame[:N], Y[:N])
    model = clone(exact).set_params(approximation=NystroemFeatures(60)).fit(frame[:N], Y[:N])
    assert model.score(frame[N:], Y[N:]) >= exact.score(frame[N:], Y[N:]) - 0.02


def test_features_computed_in_each_pass_give_the_same():
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    held = models(Localized(inputs=[0], l2=0.003))[1].set_params(approximation=NystroemFeatures(30), tol=1e-5)
    lazy = clone(held).set_params(storage="lazy")
    assert_allclose(lazy.fit(gaps, Y).objective_, held.fit(gaps, Y).objective_, rtol=1e-4)
    assert_allclose(lazy.kernel_weights_, held.kernel_weights_, atol=1e-3)
    chosen = models(Localized(inputs=[0]))[1].set_params(storage="lazy").fit(X[:N], Y[:N])
    assert np.isfinite(chosen.combiner_.l2_)


def test_one_class():
    options = {**EXPLICIT, "nu": 0.2}
    model = MKLOneClass([Gaussian([0, 1]), Gaussian([2, 3])], Localized(l2=0.01), **options).fit(X[:N])
    assert np.mean(model.predict(X[:N]) == -1) == pytest.approx(0.2, abs=0.02)
    with pytest.raises(ValueError, match="validation_fraction must be 0 for novelty detection"):
        clone(model).set_params(combiner=Localized(l2=0.1, validation_fraction=0.2)).fit(X[:N])


def test_what_is_sent_to_blocks_can_be_pickled():
    stack, machine = explicit_problem(clone(models(Localized())[1]), X[:N], Y[:N], n_rows=100)
    family = Localized(inputs=[0], l2=0.01).family(stack, machine, FitControl())
    mean, theta = machine.solve(family.mean_operand()), family.start(machine, np.random.RandomState(0))
    judge = Judge(family.amplitudes, mean.coef, mean.intercept[None], theta[None], True)
    sent = Coding(family.inputs, family.gate), Split(0, 1.0, 0.0, 0.3), judge
    block, found = stack.engine.blocks[0], []
    for coding, part, own in (sent, pickle.loads(pickle.dumps(sent))):
        coded = coding(block)
        found.append((coded.codes, own(divided(coded, part))))
    assert_allclose(found[0][0], found[1][0])
    assert_allclose(found[0][1].losses, found[1][1].losses)
    assert found[0][1].count == found[1][1].count > 0
