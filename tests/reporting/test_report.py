"""`kernelweave.report`: which sections which model gets, what may be given to it, and what is refused.

Models of over thirty kinds are fitted.
"""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import kernelweave
from kernelweave import KernelVoting, MKLClassifier, MKLOneClass, MKLRegressor, load, save
from kernelweave.combiners import ConvexMKL, Localized, Product, Projected, Softmax
from kernelweave.kernels import Gaussian, Linear
from kernelweave.reporting.content import Section, Table, Text
from reported import blocks, cohort, column, ids, report, section, text
from saved_models import MODELS

ALWAYS = ["views", "weights", "contributions", "certificates", "data", "cite"]
KERNELS = [Linear("rna"), Linear("protein"), Linear("noise")]
SOME_KINDS = [
    *("default", "strided columns", "one-vs-one", "joint", "least squares regressor", "integer labels"),
    *("boolean labels", "regressor without support", "targets", "weights per target", "one-class, convex", "product"),
    *("generalized, product", "localized, sigmoid", "localized, gaussian", "localized, views", "localized, clusters"),
    *("localized, kernel map", "projected, softmax", "projected, per class", "projected, text", "projected, sparse"),
    *("polynomial", "difference, absolute", "linear", "sums and products", "callable", "sparse view", "extended"),
    *("precomputed, missing", "precomputed, labels, blocks", "clinical", "pairwise", "weights per pair"),
]


def test_sections_of_a_plain_model():
    X, y = cohort()
    assert ids(report(MKLClassifier(KERNELS).fit(X, y), X, y)) == ALWAYS


def test_sections_of_models_with_gates_and_projections():
    X, y = cohort()
    local = MKLClassifier(KERNELS, Localized(l2=0.01), random_state=0).fit(X, y)
    assert ids(report(local, X, y)) == ["views", "weights", "gates", *ALWAYS[2:]]
    projected = MKLClassifier(KERNELS, Projected(2), random_state=0).fit(X, y)
    assert ids(report(projected, X, y)) == ["views", "weights", "projections", *ALWAYS[2:]]
    both = MKLClassifier(KERNELS, Projected(2, Softmax()), random_state=0).fit(X, y)
    assert ids(report(both, X, y)) == ["views", "weights", "gates", "projections", *ALWAYS[2:]]


def test_a_regression_without_targets_has_no_errors_to_show():
    X, _ = cohort()
    model = MKLRegressor(KERNELS).fit(X, X["rna__0"])
    assert "contributions" not in ids(report(model, X))
    assert "contributions" in ids(report(model, X, X["rna__0"]))


@pytest.mark.parametrize("kind", SOME_KINDS)
def test_every_kind_of_model_has_a_report_that_json_can_hold(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, new = MODELS[kind]()
    for y in (None, model.predict(new)):
        found = kernelweave.report(model, new, y, cv=False)
        json.dumps(found.contents.to_plain(), allow_nan=False)
        assert set(ids(found.contents)) >= {"views", "weights", "certificates", "data", "cite"}


def test_a_loaded_model_has_the_same_report(tmp_path):
    X, y = cohort()
    model = MKLClassifier(KERNELS, Localized(l2=0.01), random_state=0).fit(X, y)
    save(model, tmp_path / "model.kw")
    first, second = (report(one, X, y).to_plain() for one in (model, load(tmp_path / "model.kw")))
    assert second["provenance"].pop("date") >= first["provenance"].pop("date")
    assert first == second


@pytest.mark.parametrize("wrap", ["pipeline", "search", "calibrated", "pipeline in a search"])
def test_models_inside_other_estimators(wrap):
    X, y = cohort()
    plain = MKLClassifier(KERNELS, C=2.0)
    same = FunctionTransformer()
    estimator = {
        "pipeline": make_pipeline(same, plain),
        "search": GridSearchCV(plain, {"C": [2.0]}, cv=2),
        "calibrated": CalibratedClassifierCV(plain, ensemble=False, cv=2),
        "pipeline in a search": GridSearchCV(make_pipeline(same, plain), {"mklclassifier__C": [2.0]}, cv=2),
    }[wrap].fit(X, y)
    found, direct = report(estimator, X, y), report(MKLClassifier(KERNELS, C=2.0).fit(X, y), X, y)
    for name in ("weights", "certificates"):
        assert blocks(found, name, "table")[0].rows[:5] == blocks(direct, name, "table")[0].rows[:5]
    assert [b.labels for b in blocks(found, "contributions", "bars")] == [
        b.labels for b in blocks(direct, "contributions", "bars")
    ]


def test_a_pipeline_prepares_the_samples_of_the_model():
    X, y = cohort()
    values = X.to_numpy()
    estimator = make_pipeline(StandardScaler(), MKLClassifier([Linear([0, 1]), Linear([2, 3])])).fit(values, y)
    bars = blocks(report(estimator, values, y), "contributions", "bars")[0]
    decision = estimator.decision_function(values)
    assert np.allclose(bars.totals, decision[[int(label) for label in bars.labels]])


def test_a_transformed_target_is_explained_on_its_own_scale():
    X, _ = cohort()
    y = 100.0 * X["rna__0"] + 7.0
    estimator = TransformedTargetRegressor(MKLRegressor(KERNELS), transformer=StandardScaler()).fit(X, y)
    found = report(estimator, X, y)
    assert "after the target was transformed" in text(found, "contributions")
    bars = blocks(found, "contributions", "bars")[0]
    inner = pd.Series(estimator.regressor_.predict(X), X.index)
    assert np.allclose(bars.totals, inner[bars.labels])
    worst = (estimator.predict(X) - y).abs().sort_values(ascending=False).index[:20]
    assert bars.labels == list(worst)


def test_arrays_and_sparse_matrices_have_samples_by_number():
    X, y = cohort()
    dense = X.to_numpy()
    for values in (dense, sp.csr_matrix(dense)):
        model = MKLClassifier([Linear([0, 1, 2, 3]), Linear([4, 5])]).fit(values, y)
        labels = blocks(report(model, values, y), "contributions", "bars")[0].labels
        assert set(labels) <= {str(i) for i in range(len(y))}


def test_a_comparison_and_decisions_come_first():
    X, y = cohort()
    methods = Section(id="methods", title="Methods", blocks=[Text(text="All of them.")])
    table = Table(title="Files", columns=[], rows=[])
    given = [("target", "guessed as classes"), "Two files were read.", table]
    model = MKLClassifier(KERNELS).fit(X, y)
    found = report(model, X, y, comparison=(["Use the mean."], methods), data=given, title="Tumours")
    assert ids(found) == ["methods", *ALWAYS]
    assert found.headline[0] == "Use the mean."
    assert found.title == "Tumours"
    first = section(found, "data").blocks[:3]
    assert first[0].text == "Two files were read."
    assert first[1] is table
    assert first[2].rows == [["target", "guessed as classes"]]


@pytest.mark.parametrize("comparison", [3, "text", (["a"], "no section"), ["one"]])
def test_a_wrong_comparison_is_refused(comparison):
    X, y = cohort()
    with pytest.raises(ValueError, match="comparison must be a list of sentences and a Section"):
        report(MKLClassifier(KERNELS).fit(X, y), X, y, comparison=comparison)


def test_what_is_no_kernel_machine_is_refused():
    X, y = cohort()
    with pytest.raises(ValueError, match="report needs a fitted MKLClassifier"):
        report(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="report needs a fitted MKLClassifier"):
        report(KernelVoting(KERNELS).fit(X, y), X, y)
    with pytest.raises(ValueError, match="ensemble=False"):
        report(CalibratedClassifierCV(MKLClassifier(KERNELS), cv=2).fit(X, y), X, y)
    with pytest.raises(ValueError, match="not fitted"):
        report(MKLClassifier(KERNELS), X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_points": 0}, "max_points"), ({"n_shown": -1}, "n_shown"), ({"random_state": "x"}, "random_state")],
)
def test_wrong_options_are_refused(options, message):
    X, y = cohort()
    with pytest.raises(ValueError, match=message):
        report(MKLClassifier(KERNELS).fit(X, y), X, y, **options)


def test_targets_that_do_not_fit_the_samples_are_refused():
    X, y = cohort()
    model = MKLClassifier(KERNELS).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        report(model, X, y[:-1])
    with pytest.raises(ValueError, match="another order"):
        report(model, X, pd.Series(y, X.index)[::-1])
    with pytest.raises(ValueError, match="stack_views"):
        report(model, {"rna": X}, y)


def test_nothing_of_the_model_or_the_samples_is_changed():
    X, y = cohort()
    model = MKLClassifier(KERNELS, Localized(l2=0.01), random_state=0).fit(X, y)
    before, copy = model.decision_function(X), X.copy()
    report(model, X, y, cv=2)
    assert np.array_equal(model.decision_function(X), before)
    pd.testing.assert_frame_equal(X, copy)


def test_the_report_can_be_shown_and_saved(tmp_path):
    X, y = cohort()
    found = kernelweave.report(MKLOneClass([Gaussian("rna"), Gaussian("noise")], ConvexMKL()).fit(X), X)
    found.save(tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "What each view gives" in found._repr_html_()
    assert "# Report on an MKLOneClass" in found.to_markdown()


def test_the_result_does_not_depend_on_the_number_of_jobs():
    X, y = cohort(40)
    model = MKLClassifier(KERNELS).fit(X, y)
    first, second = (report(model, X, y, cv=KFold(2), n_jobs=n).to_plain() for n in (1, 2))
    for made in (first, second):
        del made["provenance"]["date"]
    assert first == second


def test_a_product_of_kernels_has_no_contributions_and_says_why():
    X, y = cohort()
    found = report(MKLClassifier(KERNELS, Product()).fit(X, y), X, y)
    assert "multiplies kernels" in text(found, "contributions")
    assert not blocks(found, "contributions", "bars")
    assert "not a plain weighted sum" in text(found, "weights")
    assert column(blocks(found, "weights", "table")[0], "kernel") == ["rna", "protein", "noise"]
