"""The headline: what is said first, and what is doubted."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import StratifiedKFold, cross_val_score

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import FixedWeights, Localized
from kernelweave.kernels import Linear
from reported import cohort, report, text

KERNELS = [Linear("rna"), Linear("protein"), Linear("noise")]


def joined(contents):
    return " ".join(contents.headline)


def test_the_score_is_that_of_cross_validation():
    X, y = cohort(80)
    model = MKLClassifier(KERNELS).fit(X, y)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    scores = 100 * cross_val_score(model, X, y, cv=folds)
    first = report(model, X, y, cv=folds).headline[0]
    assert first == (
        f"On samples that it has not seen, the model predicts the right class for {scores.mean():.1f} % "
        f"(cross-validation of 80 samples; {scores.min():.1f} % to {scores.max():.1f} % in the 4 folds)."
    )


def test_other_scores_are_named():
    X, y = cohort(60)
    model = MKLClassifier(KERNELS).fit(X, y)
    found = report(model, X, y, cv=2, scoring="roc_auc")
    assert "reaches a score (roc auc) of" in found.headline[0]
    assert found.data["score"] == "roc auc"
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    regression = MKLRegressor(KERNELS).fit(X, X["rna__0"])
    assert "reaches a score (" in report(regression, X, X["rna__0"], cv=2, scoring=scorer).headline[0]


def test_a_regression_explains_a_share_of_the_variation():
    X, _ = cohort(60)
    model = MKLRegressor(KERNELS).fit(X, X["rna__0"])
    assert "% of the variation of the target, an R² of 0." in report(model, X, X["rna__0"], cv=3).headline[0]
    noise = np.random.default_rng(1).normal(size=60)
    found = report(MKLRegressor(KERNELS, C=100.0).fit(X, noise), X, noise, cv=3)
    assert "no better than the mean of the target does" in found.headline[0]


def test_without_cross_validation_the_score_is_doubted():
    X, y = cohort(60)
    found = report(MKLClassifier(KERNELS).fit(X, y), X, y)
    assert found.headline[0].startswith("On the 60 samples given here, the model predicts the right class")
    assert "it has seen the answers" in joined(found)
    assert "it has seen the answers" not in joined(report(MKLClassifier(KERNELS).fit(X, y), X, y, cv=2))


def test_a_model_no_better_than_the_most_frequent_class_is_doubted():
    X, _ = cohort(60)
    y = np.where(np.random.default_rng(0).uniform(size=60) < 0.3, "a", "b")
    found = report(MKLClassifier([Linear("noise")]).fit(X, y), X, y, cv=3)
    share = max((y == "a").mean(), (y == "b").mean())
    assert f"which is right for {100 * share:.1f} % of the samples" in joined(found)
    X, y = cohort(60)
    assert "most frequent class" not in joined(report(MKLClassifier(KERNELS).fit(X, y), X, y, cv=3))


def test_the_view_that_matters_most():
    X, y = cohort(120)
    X["protein__0"] += 6.0 * (y == "class 1")
    X[["rna__0", "rna__1"]] = np.random.default_rng(0).normal(size=(120, 2))
    found = report(MKLClassifier(KERNELS).fit(X, y), X, y, cv=5)
    assert "The view that matters most is protein: without it the accuracy falls by" in joined(found)
    assert "The best view alone is protein, with an accuracy of" in text(found, "views")


def test_without_folds_the_view_with_the_largest_weight_is_named():
    X, y = cohort(60)
    model = MKLClassifier(KERNELS, FixedWeights({"rna": 3.0, "protein": 1.0})).fit(X, y)
    assert "The view with the largest weight is rna (3)." in report(model, X, y).headline
    assert "All views have the same weight." in report(MKLClassifier(KERNELS).fit(X, y), X, y).headline


def test_a_fit_that_was_cut_short_is_doubted():
    X, y = cohort(60)
    with pytest.warns(ConvergenceWarning):
        model = MKLClassifier(KERNELS, C=1000.0, max_iter=5).fit(X, y)
    found = report(model, X, y)
    assert "The fit did not reach its optimum" in joined(found)
    assert "The fit is not finished" in text(found, "certificates")
    with pytest.warns(ConvergenceWarning):
        model = MKLClassifier(KERNELS, Localized(l2=0.001, max_iter=2), C=10.0, random_state=0).fit(X, y)
    assert "stopped at max_iter" in joined(report(model, X, y))


def test_a_fit_that_converged_is_certified():
    X, y = cohort(60)
    found = report(MKLClassifier(KERNELS).fit(X, y), X, y)
    assert "The fit is certified" in text(found, "certificates")
    assert "optimum" not in joined(found)


def test_gates_that_learned_nothing_are_told():
    X, y = cohort(60)
    with pytest.warns(match="not localized"):
        model = MKLClassifier(KERNELS, Localized(l2=1e9), random_state=0).fit(X, y)
    found = report(model, X, y)
    assert "The gates came out the same for all samples, so this model is not localized." in found.headline
    assert "the model learned no regions" in text(found, "gates")
