"""Probabilities are scikit-learn's: `CalibratedClassifierCV` around a classifier, with everything that X may be."""

import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave.estimators
from kernelweave import MKLClassifier, MKLRegressor, calibrated, datasets, report, stack_views
from kernelweave.combiners import ConvexMKL, Localized
from kernelweave.kernels import Gaussian, Linear, Precomputed, Spectrum

PAGE = Path(__file__).parents[2] / "docs" / "probabilities.md"
METHODS = ["sigmoid", "isotonic"]
if "temperature" in str(CalibratedClassifierCV._parameter_constraints["method"][0]):
    METHODS.append("temperature")  # of newer versions of scikit-learn


def digits():
    """Ten classes with names, 40 samples that lack one view or the other, and a matrix of similarities of all."""
    X, y = datasets.load_multifeat(return_X_y=True)
    X = X.iloc[::8, [name.startswith(("fou", "mor", "kar")) for name in X.columns]].copy()
    lacking = np.random.default_rng(0).permutation(len(X))[:40]
    features = StandardScaler().fit_transform(X.filter(like="kar"))
    X.loc[X.index[lacking[:20]], [name for name in X if name.startswith("fou")]] = np.nan
    X.loc[X.index[lacking[20:]], [name for name in X if name.startswith("kar")]] = np.nan
    return X, np.array([f"digit {label}" for label in np.asarray(y)[::8]]), features @ features.T


X, Y, K = digits()
TRAIN, TEST = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
MODEL = MKLClassifier([Linear("fou", transformer=StandardScaler()), Gaussian("kar"), Gaussian("mor")])
IDS = [f"P-{number:03d}" for number in range(len(X))]


def softmax(values):
    e = np.exp(values - values.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def check_probabilities(model, X, n_classes):
    P = model.predict_proba(X)
    assert P.shape == (X.shape[0], n_classes)
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    return P


@pytest.mark.parametrize("name", kernelweave.estimators.__all__)
def test_no_estimator_has_probabilities_of_its_own(name):
    """But for the Bayesian one, whose posterior has them."""
    estimator = getattr(kernelweave.estimators, name)
    assert "probability" not in inspect.signature(estimator).parameters
    own = inspect.isclass(estimator) and hasattr(estimator(), "predict_proba")
    assert own == (name == "BayesianMKLClassifier")


def test_who_asks_for_probabilities_is_told_the_lines_that_give_them():
    """The lines of the message run as they are."""
    fitted = MKLClassifier([Gaussian("mor")]).fit(X, Y)
    for model in (MKLClassifier(), fitted):
        with pytest.raises(AttributeError, match="MKLClassifier has no predict_proba") as caught:
            model.predict_proba  # noqa: B018
    lines = [line.strip() for line in str(caught.value).splitlines() if line.startswith("    ")]
    assert len(lines) == 2
    names = {"model": fitted, "X": X, "y": Y}
    exec("\n".join(lines), names)
    check_probabilities(names["model"], X, 10)
    ours = calibrated(fitted)
    assert not hasattr(ours, "classes_")
    np.testing.assert_array_equal(ours.fit(X, Y).predict_proba(X), names["model"].predict_proba(X))


def test_calibrated_takes_pipelines_and_refuses_what_is_no_classifier():
    pipeline = make_pipeline(StandardScaler(), MKLClassifier())
    data = X.filter(like="mor")
    check_probabilities(calibrated(pipeline, cv=2).fit(data, Y), data, 10)
    for model in (MKLRegressor(), MKLClassifier, "mean", make_pipeline(MKLRegressor())):
        with pytest.raises(ValueError, match="calibrated needs a classifier, such as MKLClassifier"):
            calibrated(model)


def test_a_report_takes_a_calibrated_model():
    assert report(calibrated(MODEL, cv=2).fit(X[TRAIN], Y[TRAIN]), X[TEST], Y[TEST])


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_ten_classes_and_missing_views(method, ensemble):
    model = CalibratedClassifierCV(MODEL, method=method, ensemble=ensemble, cv=3).fit(X[TRAIN], Y[TRAIN])
    P = check_probabilities(model, X[TEST], 10)
    assert list(model.classes_) == sorted(set(Y))
    assert (model.predict(X[TEST]) == Y[TEST]).mean() > 0.85
    naive = softmax(MODEL.fit(X[TRAIN], Y[TRAIN]).decision_function(X[TEST]))
    if method != "isotonic":  # which gives 0 to true classes where samples are few
        assert log_loss(Y[TEST], P) < 0.7 * log_loss(Y[TEST], naive)


def test_probabilities_are_calibrated():
    """Of samples with a probability of about p, a share of about p is of the class."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4400, 3))
    labels = rng.random(4400) < 1 / (1 + np.exp(-2.0 * values[:, 0]))
    frame = stack_views({"a": values[:, :1], "b": values[:, 1:]})
    frame.loc[::7, ["b__0", "b__1"]] = np.nan
    model = CalibratedClassifierCV(MKLClassifier(normalize="unit-trace"), cv=3).fit(frame[:400], labels[:400])
    P = check_probabilities(model, frame[400:], 2)[:, 1]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (low <= P) & (low + 0.2 > P)
        assert abs(labels[400:][inside].mean() - P[inside].mean()) < 0.1


def test_the_area_under_the_curve_of_ten_classes():
    model = CalibratedClassifierCV(MODEL, ensemble=False, cv=2)
    assert cross_val_score(model, X, Y, scoring="roc_auc_ovr", cv=2).min() > 0.95
    P = cross_val_predict(model, X, Y, method="predict_proba", cv=2)
    assert P.shape == (len(X), 10)
    assert roc_auc_score(Y, P, multi_class="ovr") > 0.95


@pytest.mark.parametrize("kind", ["ids in an array", "ids in a frame", "labels"])
def test_precomputed_kernels(kind):
    if kind == "labels":
        kernel, data = Precomputed(pd.DataFrame(K, IDS, IDS), "id"), pd.DataFrame({"id": IDS})
    else:
        kernel, data = Precomputed(K), pd.DataFrame({"id": np.arange(len(X))})
    data = data.to_numpy() if kind == "ids in an array" else data
    model = CalibratedClassifierCV(MKLClassifier([kernel]), ensemble=False, cv=2)
    assert cross_val_score(model, data, Y, scoring="roc_auc_ovr", cv=2).min() > 0.9


def test_ids_beside_views_and_missing_ids():
    data = X.assign(id=np.arange(len(X), dtype=float))
    data.loc[data.index[:5], "id"] = np.nan
    model = MKLClassifier([Precomputed(K, "id"), Gaussian("kar"), Linear("fou")])
    check_probabilities(CalibratedClassifierCV(model, cv=3).fit(data[TRAIN], Y[TRAIN]), data[TEST], 10)


def test_text():
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(120) < 0.5, "yes", "no")
    words = [("aab" if label == "yes" else "abb") * 2 + "".join(rng.choice(list("ab"), 4)) for label in labels]
    frame = stack_views({"word": words, "z": rng.normal(size=(120, 2))})
    frame.loc[[3, 7], "word"] = None
    model = CalibratedClassifierCV(MKLClassifier([Spectrum("word", k=2), Linear("z")]), cv=3)
    P = check_probabilities(model.fit(frame[:80], labels[:80]), frame[80:], 2)
    assert log_loss(labels[80:], P) < 0.5
    rows = CalibratedClassifierCV(MKLClassifier([Spectrum([0], k=2), Linear([1, 2])]), cv=3)
    array = frame.to_numpy(dtype=object)
    np.testing.assert_allclose(rows.fit(array[:80], labels[:80]).predict_proba(array[80:]), P, atol=1e-6)


@pytest.mark.parametrize("kind", ["NaN", "masked", "sparse"])
def test_arrays(kind):
    values = X.to_numpy()
    places = {"fou": X.columns.str.startswith("fou"), "others": X.columns.str.startswith("mor")}
    data = {
        "NaN": values,
        "masked": np.ma.masked_invalid(values),
        "sparse": sp.csr_matrix(np.nan_to_num(values, nan=1.0)),
    }[kind]
    model = MKLClassifier([(name, Linear(np.flatnonzero(place))) for name, place in places.items()])
    check_probabilities(CalibratedClassifierCV(model, cv=2).fit(data, Y), data, 10)


def test_a_fitted_model_is_calibrated_with_other_samples():
    fitted = MODEL.fit(X[TRAIN], Y[TRAIN])
    first, second = np.flatnonzero(TEST)[::2], np.flatnonzero(TEST)[1::2]
    model = calibrated(FrozenEstimator(fitted)).fit(X.iloc[first], Y[first])
    P = check_probabilities(model, X.iloc[second], 10)
    assert log_loss(Y[second], P) < log_loss(Y[second], softmax(fitted.decision_function(X.iloc[second])))


@pytest.mark.parametrize(
    "options",
    [
        {"multiclass": "one-vs-one"},
        {"multiclass": "joint"},
        {"weights": "per-class", "combiner": ConvexMKL()},
        {"machine": "least-squares"},
        {"combiner": Localized(max_iter=50, l2=0.1)},
    ],
    ids=str,
)
def test_every_kind_of_classifier(options):
    data = X.filter(like="mor")
    model = MKLClassifier([Gaussian("mor"), Linear("mor")], **options)
    few = np.isin(Y, ["digit 0", "digit 1", "digit 2"])
    check_probabilities(CalibratedClassifierCV(model, cv=2).fit(data[few], Y[few]), data[few], 3)


def test_sample_weights_and_searches():
    weight = np.where(TRAIN, 1.0, 0.5)
    model = CalibratedClassifierCV(MODEL, ensemble=False, cv=2)
    plain, weighted = (clone(model).fit(X, Y, sample_weight=w) for w in (None, weight))
    assert not np.allclose(plain.predict_proba(X), weighted.predict_proba(X))
    grid = {"estimator__kernels__kar__scale": [1e-3, "scale"]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=2).fit(X, Y)
    assert search.best_params_["estimator__kernels__kar__scale"] == "scale"


def test_columns_in_another_order_and_a_view_that_is_not_there():
    model = CalibratedClassifierCV(MODEL, ensemble=False, cv=2).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X[X.columns[::-1]]), model.predict_proba(X))
    rest = X[[name for name in X if not name.startswith("mor")]]
    check_probabilities(model, rest, 10)


def test_the_page_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    exec(compile(code, PAGE.name, "exec"), {})
    printed = capsys.readouterr().out.split()
    assert float(printed[-1]) > 0.98
    assert float(printed[-2]) < 0.4
