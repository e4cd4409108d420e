"""The choice of a method of a portfolio, and class offsets."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score

from kernelweave import datasets, load, save, stack_views
from kernelweave.recipes import CohortModel
from kernelweave.recipes.choice import Selection, chosen, class_offsets, standard_error
from kernelweave.recipes.search import Found, remembering
from kernelweave.recipes.tasks import PORTFOLIO

FOLDS = [(np.flatnonzero(np.arange(300) % 3 != k), np.flatnonzero(np.arange(300) % 3 == k)) for k in range(3)]
Y = np.arange(300) % 2
WHOLE = [method for method in PORTFOLIO if "completed" not in method]  # where no view is missing


def accuracy(values, y):
    return float(((values > 0).astype(int) == y).mean())


def found(losses, values=None, score=0.5):
    values = np.zeros(300) if values is None else values
    return Found({}, score, pd.DataFrame(), values, losses)


def test_the_simplest_of_methods_that_are_as_good_is_chosen():
    losses = np.random.default_rng(0).random(300)
    same = chosen({"a": found(losses), "b": found(losses.copy())}, Y, FOLDS, accuracy)
    assert (same.method, list(same.table.index)) == ("a", ["a", "b"])
    noise = np.random.default_rng(1).normal(size=300)
    noise -= noise.mean()
    # 0.1 standard errors ahead is as good; 3 are clearly better.
    for gap, expected in ((0.1, "a"), (3.0, "b")):
        ahead = losses + noise - gap * noise.std() / np.sqrt(300)
        selection = chosen({"a": found(losses), "b": found(ahead)}, Y, FOLDS, accuracy)
        assert selection.method == expected
        other = selection.table.iloc[1]
        sign = 1.0 if expected == "b" else -1.0
        assert other["behind"] / other["std_error"] == pytest.approx(sign * gap)


def test_without_losses_the_score_decides():
    rng = np.random.default_rng(2)
    good, bad = np.where(Y, 1.0, -1.0), rng.normal(size=300)
    selection = chosen({"bad": found(None, bad, accuracy(bad, Y)), "good": found(None, good, 1.0)}, Y, FOLDS, accuracy)
    assert selection.method == "good"
    assert selection.table.loc["bad", "behind"] == pytest.approx(1.0 - accuracy(bad, Y))


def test_the_standard_error_of_a_difference_is_that_of_its_samples():
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=300) + Y, rng.normal(size=300) + Y
    error = standard_error(first, second, Y, FOLDS, accuracy)
    differences = (first > 0).astype(float) * (2 * Y - 1) - (second > 0) * (2 * Y - 1)
    assert error == pytest.approx(differences.std() / np.sqrt(300), rel=0.25)


@pytest.mark.parametrize(
    ("behind", "words"),
    [(0.0, "as good, and less simple"), (-0.001, "hardly better"), (0.02, "may be chance"), (0.5, "clearly behind")],
)
def test_how_sure_the_choice_is_in_words(behind, words):
    table = pd.DataFrame({"score": [0.9, 0.8], "behind": [0.0, behind], "std_error": [0.0, 0.01]}, index=["mean", "lp"])
    sentence = Selection("mean", found(None), table).sentence({"mean": "mean of kernels", "lp": "lp MKL"})
    assert sentence.startswith("The best of 2 methods by inner validation is 'mean of kernels'; then 'lp MKL', ")
    assert words in sentence


def unbalanced(n_samples, seed, n_classes=2):
    """Decision values that rank well, with a threshold that favours the large class."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.1] * (n_classes - 1) + [1.0 - 0.1 * (n_classes - 1)])
    labels = rng.choice(n_classes, size=n_samples, p=shares)
    values = rng.normal(size=(n_samples, n_classes)) * 0.5 + 2.0 * np.eye(n_classes)[labels]
    values[:, -1] += 1.5
    return (values[:, 1] - values[:, 0] if n_classes == 2 else values), labels


@pytest.mark.parametrize("n_classes", [2, 4])
def test_offsets_mend_a_threshold_that_favours_a_class(n_classes):
    def score(values, y):
        predicted = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return balanced_accuracy_score(y, predicted)

    values, labels = unbalanced(300, 0, n_classes)
    offsets, gain = class_offsets(values, labels, labels, FOLDS, score, is_balanced=True)
    assert gain > 0.02 and np.shape(offsets) == ((1,) if n_classes == 2 else (n_classes,))
    new, truth = unbalanced(5000, 1, n_classes)
    assert score(new + offsets, truth) > score(new, truth) + 0.02


def test_offsets_that_gain_nothing_are_left_out():
    rng = np.random.default_rng(4)
    values = rng.normal(size=300) + 2.0 * (2 * Y - 1)
    assert class_offsets(values, Y, Y, FOLDS, accuracy, is_balanced=False) is None
    # too few samples, no folds, and a class that is in one fold only
    some = [(FOLDS[0][0], FOLDS[0][1][:20])]
    assert class_offsets(values, Y, Y, some, accuracy, is_balanced=False) is None
    assert class_offsets(np.full(300, np.nan), Y, Y, [], accuracy, is_balanced=False) is None
    rare = np.zeros(300, dtype=int)
    rare[FOLDS[0][1][:3]] = 1
    assert class_offsets(values, rare, rare, FOLDS, accuracy, is_balanced=False) is None


def test_how_often_offsets_of_noise_are_kept():
    """They are kept where they gain by chance, so not often, and then cost little."""
    kept, cost = 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=300) + (2 * Y - 1)
        offsets = class_offsets(values, Y, Y, FOLDS, accuracy, is_balanced=False)
        kept += offsets is not None
        if offsets is not None:
            new, truth = rng.normal(size=4000) + np.tile([-1.0, 1.0], 2000), np.tile([0, 1], 2000)
            cost.append(accuracy(new, truth) - accuracy(new + offsets[0], truth))
    assert kept <= 8 and max(cost, default=0.0) < 0.02


@pytest.fixture(scope="module")
def digits():
    X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    return X.iloc[::16], y[::16]


def test_auto_is_the_chosen_method_alone(digits, tmp_path):
    X, y = digits
    model = CohortModel(random_state=0).fit(X, y)
    assert model.method == "auto" and set(model.portfolio_.index) == set(WHOLE)
    assert model.method_ == model.setting_["method"] == model.portfolio_.index[0]
    assert sum("methods by inner validation" in sentence for sentence in model.decisions_) == 1
    alone = CohortModel(model.method_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(alone.decision_function(X), model.decision_function(X))
    assert alone.validation_score_ == model.validation_score_
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw")
    assert again.method_ == model.method_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_auto_leaves_out_what_cannot_differ():
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.3, size=(60, 30))
    model = CohortModel(effort="quick", random_state=0).fit(stack_views({"words": counts}), np.arange(60) % 2)
    assert set(model.portfolio_.index) == {"mean", "least-squares", "lp-least-squares"}


def test_views_that_share_what_they_tell_are_completed(tmp_path):
    """Two noisy copies of one signal and a third, weak view: a missing copy is known from the other one."""
    rng = np.random.default_rng(7)
    signal = rng.normal(size=(240, 4))
    y = (signal[:, 0] * signal[:, 1] > 0).astype(int)
    views = {name: signal + 0.2 * rng.normal(size=signal.shape) for name in ("a", "b")} | {
        "c": rng.normal(size=(240, 2))
    }
    missing = np.arange(240) % 4
    for place, name in enumerate(("a", "b")):
        views[name][missing == place] = np.nan
    X = stack_views(views)
    model = CohortModel(random_state=0).fit(X[:160], y[:160])
    assert set(model.portfolio_.index) == set(PORTFOLIO)
    completed = CohortModel("completed", random_state=0).fit(X[:160], y[:160])
    assert completed.model_.missing == "complete" and completed.score(X[160:], y[160:]) > 0.7
    np.testing.assert_allclose(
        completed.contributions(X).sum(axis=1), completed.decision_function(X), rtol=1e-9, atol=1e-9
    )
    save(completed, tmp_path / "model.kw")
    np.testing.assert_allclose(load(tmp_path / "model.kw").decision_function(X), completed.decision_function(X))


def test_offsets_are_part_of_decision_values(tmp_path):
    rng = np.random.default_rng(6)
    labels = (np.arange(400) % 10 == 0).astype(int)
    X = stack_views({"a": rng.normal(size=(400, 5)) + 0.8 * labels[:, None], "b": rng.normal(size=(400, 2))})
    model = CohortModel("least-squares", class_weight=None, random_state=0).fit(X, labels)
    assert model.scoring_ == "balanced_accuracy" and model.offsets_ is not None
    assert any("offset for each class" in sentence for sentence in model.decisions_)
    inner = model.model_.decision_function(model.table(X))
    np.testing.assert_allclose(model.decision_function(X), inner + model.offsets_)
    np.testing.assert_allclose(model.contributions(X).sum(axis=1), model.decision_function(X), atol=1e-9)
    assert balanced_accuracy_score(labels, model.predict(X)) > balanced_accuracy_score(labels, inner > 0) + 0.05
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").decision_function(X), model.decision_function(X))


def test_fits_to_the_same_samples_are_not_repeated(digits, monkeypatch):
    X, y = digits
    plain = CohortModel(random_state=0).fit(X, y)
    calls = []
    from kernelweave.estimators.base import KernelMachineEstimator

    original = KernelMachineEstimator._fit_kernel
    monkeypatch.setattr(
        KernelMachineEstimator, "_fit_kernel", lambda self, *args, **kw: calls.append(1) or original(self, *args, **kw)
    )
    with remembering([]):
        for method in WHOLE:
            CohortModel(method, random_state=0).fit(X, y)
        n_before = len(calls)
        again = CohortModel(random_state=0).fit(X, y)
        assert len(calls) == n_before and again.spared_seconds_ > 0.0
        assert CohortModel(random_state=1).fit(X, y) and len(calls) > n_before  # other folds
    np.testing.assert_array_equal(again.decision_function(X), plain.decision_function(X))


def test_fits_with_other_parameters_are_not_taken_for_the_same():
    """What columns hold is a long table: its text is cut short, and would be the same."""
    X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    X, y = X.iloc[::16], y[::16]
    kinds = {
        view: pd.Series(["left out" if name.startswith(view) else "number" for name in X.columns], X.columns)
        for view in ("fou", "kar")
    }
    assert repr(kinds["fou"]) == repr(kinds["kar"])
    with remembering([]):
        models = {
            view: CohortModel("mean", kinds=own, effort="quick", random_state=0).fit(X, y)
            for view, own in kinds.items()
        }
        again = CohortModel("mean", kinds=kinds["kar"].copy(), effort="quick", random_state=0).fit(X, y)
    assert "fou" not in models["fou"].views and "kar" not in models["kar"].views
    assert all("kar-linear" not in model.model_.kernel_names_ for model in (models["kar"], again))
    assert again.model_ is models["kar"].model_ is not models["fou"].model_
