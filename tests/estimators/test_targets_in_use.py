"""Several targets as users meet them: kinds of y, names, errors, and the rest of the library and of scikit-learn."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, save
from kernelweave.combiners import (
    ConvexMKL,
    FixedWeights,
    Localized,
    Projected,
)
from kernelweave.kernels import Gaussian, Linear, Precomputed
from kernelweave.machines import SquaredEpsilonInsensitive
from kernelweave.model_selection import ResponseSurfaceSearchCV, view_report
from kernelweave.reduction import FromEstimator
from targets_problem import KERNELS, NEW, N, X, Y, model


def test_the_kind_of_kernel_weights_follows_the_dimensions_of_y():
    own = model(ConvexMKL(), weights="per-target")
    assert isinstance(own.fit(X, Y["wave"]).kernel_weights_, pd.Series)
    plain = own.kernel_weights_
    assert own.fit(X, Y[["wave"]]).kernel_weights_.shape == (1, 3)
    np.testing.assert_allclose(own.kernel_weights_.loc["wave"], plain, atol=1e-6)
    assert own.predict(NEW).shape == (9, 1)


def test_a_second_fit_to_one_target_forgets_the_names():
    fitted = model().fit(X, Y)
    assert fitted.fit(X, Y["wave"]).predict(NEW).shape == (9,) and not hasattr(fitted, "target_names_")
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(X, Y.replace(Y.iloc[0, 0], np.nan))
    assert not hasattr(fitted, "target_names_") and fitted.predict(NEW).shape == (9,)


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (Y, ["wave", "saddle", "slope"]),
        (Y.to_numpy(), [0, 1, 2]),
        (Y.to_numpy().tolist(), [0, 1, 2]),
        (np.asfortranarray(Y.to_numpy(), dtype=np.float32), [0, 1, 2]),
        (pl.DataFrame({name: Y[name].to_numpy() for name in Y}), ["wave", "saddle", "slope"]),
        (Y.set_axis([5, 6, 7], axis=1), [5, 6, 7]),
        (Y.convert_dtypes(), ["wave", "saddle", "slope"]),
        (Y.astype(object), ["wave", "saddle", "slope"]),
        (
            Y.set_axis(pd.MultiIndex.from_product([["lab"], list("abc")]), axis=1),
            [("lab", "a"), ("lab", "b"), ("lab", "c")],
        ),
    ],
    ids=["frame", "array", "lists", "float32", "polars", "numbered", "nullable", "objects", "levels"],
)
def test_kinds_of_y(y, names, tmp_path):
    fitted, expected = model(ConvexMKL()).fit(X, y), model(ConvexMKL()).fit(X, Y)
    assert fitted.target_names_ == names
    assert type(fitted.predict(NEW)) is np.ndarray
    np.testing.assert_allclose(fitted.predict(NEW), expected.predict(NEW), atol=1e-3)
    own = model(ConvexMKL(), weights="per-target").fit(X, y)
    assert list(own.kernel_weights_.index) == names and own.kernel_weights(NEW).shape == (9, 9)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.target_names_ == names
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))


def test_mixed_columns_and_whole_numbers():
    y = pd.DataFrame({"flag": Y["wave"] > 0, "count": np.arange(N), "value": Y["slope"]})
    fitted = model().fit(X, y)
    np.testing.assert_allclose(fitted.predict(NEW), model().fit(X, y.astype(float)).predict(NEW))


X_LABELS = [f"p{i}" for i in range(N)]


def hole(value, column="saddle"):
    y = Y.copy()
    y.loc[7, column] = value
    return y


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (hole(np.nan), "Input y contains NaN: target 'saddle' of sample 7"),
        (hole(-np.inf, "slope"), "Input y contains infinity: target 'slope' of sample 7"),
        (hole(np.nan).set_axis(X_LABELS), "target 'saddle' of sample 'p7';"),
        (Y.shift(3).set_axis(X_LABELS), "target 'wave' of sample 'p0' and 2 more;"),
        (hole(np.nan).to_numpy(), "Input y contains NaN: target 1 of sample 7;"),
        (hole(pd.NA).convert_dtypes(), "Input y contains NaN: target 'saddle' of sample 7"),
        (Y.assign(slope="steep"), "y of a regression must be numbers, but target 'slope' is not"),
        (Y.assign(slope=pd.Timestamp("2020-01-01")), "dates or time spans"),
        ([[day] for day in pd.date_range("2020-01-01", periods=N)], "dates or time spans"),
        (np.empty((N, 0)), "no columns"),
        (Y[["wave", "slope", "wave"]], "several columns of the name 'wave'"),
        (Y.iloc[:-1], "inconsistent numbers of samples: 50 and 49"),
        (Y.to_numpy()[:, :, None], "dim"),
        (np.ma.masked_greater(Y.to_numpy(), 1.0), "y is masked|y of a regression is masked"),
        ([[1.0], [2.0, 3.0]] * (N // 2), "inhomogeneous|sequence"),
    ],
)
def test_bad_targets(y, message):
    with pytest.raises(ValueError, match=message):
        model().fit(X, y)


def test_sparse_targets():
    with pytest.raises((TypeError, ValueError), match="[Ss]parse"):
        model().fit(X, sp.csr_matrix(Y.to_numpy()))


def test_rows_in_another_order_are_refused():
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(N)])
    with pytest.raises(ValueError, match="another order"):
        MKLRegressor().fit(frame, Y.set_index(frame.index).iloc[::-1])


def test_classifiers_and_detectors_keep_one_target():
    with pytest.raises(ValueError):
        MKLClassifier().fit(X, (Y > 0).to_numpy())
    assert MKLOneClass().fit(X, Y) is not None  # y is ignored


def test_a_target_that_only_left_out_samples_lack_is_still_an_error():
    with pytest.raises(ValueError, match="target 'saddle' of sample 7"):
        model().fit(X, hole(np.nan), sample_weight=np.arange(N) != 7)


@pytest.mark.parametrize("weights", ["shared", "per-target"])
def test_gates_are_labelled_by_target(weights):
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(N)])
    fitted = MKLRegressor(KERNELS, Localized(l2=0.01), C=3.0, weights=weights, random_state=0).fit(frame, Y.to_numpy())
    summary = fitted.gating_summary_
    if weights == "shared":
        values = fitted.local_values(frame)
        assert values.columns[0] == (0, "left") and values.shape == (N, 9) and values.index[3] == "s3"
        gates = fitted.gates(frame)
        for place in range(3):
            parts = ((values[place] - fitted.intercept_[place]) * gates).sum(axis=1) + fitted.intercept_[place]
            np.testing.assert_allclose(parts, fitted.predict(frame)[:, place], atol=1e-8)
        assert "output" not in summary
    else:
        assert fitted.kernel_weights(frame).columns[4] == (1, "right")
        assert summary["output"].unique().tolist() == [0, 1, 2]
    assert set(fitted.gating_summary(frame)["kernel"]) == {"left", "right", "line"}


def test_fetched_views():
    frame = pd.DataFrame(X, columns=["a__0", "a__1", "b__0", "b__1", "c__0"])
    kernels, gates = [Linear("a"), Gaussian("b")], Localized(inputs=["c"], l2=0.01)
    fitted = MKLRegressor(kernels, gates, C=3.0, random_state=0).fit(frame, Y)
    lacking = frame.assign(b__0=np.nan, b__1=np.nan)
    found = fitted.predict(lacking, fetch=lambda view, rows: frame[["b__0", "b__1"]].iloc[rows])
    np.testing.assert_allclose(found, fitted.predict(frame), atol=1e-10)


def test_missing_views_and_precomputed_kernels():
    holes = X.copy()
    holes[3::7, 2:] = np.nan
    kernels = [Gaussian([0, 1], scale=1.5), Gaussian([2, 3, 4], scale=1.5)]
    fitted = MKLRegressor(kernels, ConvexMKL(), tol=1e-6).fit(holes, Y)
    alone = MKLRegressor(kernels, FixedWeights(fitted.kernel_weights_.to_dict()), tol=1e-6).fit(holes, Y["slope"])
    np.testing.assert_allclose(fitted.predict(holes)[:, 2], alone.predict(holes), atol=1e-3)
    ids = np.arange(N + 9)[:, None]
    both = np.vstack([X, NEW])
    given = MKLRegressor([Precomputed(both @ both.T)], tol=1e-6).fit(ids[:N], Y)
    plain = MKLRegressor([Linear()], tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(given.predict(ids[N:]), plain.predict(NEW), atol=1e-6)


def test_ecosystem():
    fitted = model(ConvexMKL()).fit(X, Y)
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.predict(NEW), fitted.predict(NEW))
    np.testing.assert_array_equal(clone(fitted).fit(X, Y).dual_coef_, fitted.dual_coef_)
    search = GridSearchCV(model(ConvexMKL(), tol=1e-3), {"C": [0.1, 3.0], "weights": ["shared", "per-target"]}, cv=3)
    assert search.fit(X, Y).predict(NEW).shape == (9, 3) and search.best_params_["C"] == 3.0
    assert cross_val_predict(model(tol=1e-3), X, Y, cv=3).shape == (N, 3)
    assert np.isfinite(cross_val_score(model(tol=1e-3), X, Y, cv=3)).all()
    assert make_pipeline(StandardScaler(), MKLRegressor()).fit(X, Y).predict(NEW).shape == (9, 3)
    separate = MultiOutputRegressor(model(ConvexMKL())).fit(X, Y)
    own = model(ConvexMKL(), weights="per-target").fit(X, Y)
    np.testing.assert_allclose(separate.predict(NEW), own.predict(NEW), atol=1e-3)


def test_targets_on_different_scales():
    """As the docstring advises: targets of any scale and place, brought to one and back."""
    wide = Y * [1.0, 1e4, 1e-3] + [0.0, -50.0, 7.0]
    scaled = TransformedTargetRegressor(model(ConvexMKL()), transformer=StandardScaler())
    found, expected = scaled.fit(X, wide).predict(NEW), clone(scaled).fit(X, Y).predict(NEW)
    np.testing.assert_allclose((found - [0.0, -50.0, 7.0]) / [1.0, 1e4, 1e-3], expected, atol=1e-3)
    weights = model(ConvexMKL(), machine="least-squares").fit(X, wide).kernel_weights_
    assert weights["right"] > 0.95  # without it the largest target decides


def test_bad_weights_parameter():
    with pytest.raises(ValueError, match='weights of MKLRegressor must be "shared"'):
        model(weights="per-class").fit(X, Y)


@pytest.mark.parametrize("weights", ["shared", "per-target"])
@pytest.mark.parametrize("combiner", [ConvexMKL(), Localized(l2=0.01)])
def test_contributions_add_up_to_each_target(combiner, weights):
    fitted = model(combiner, weights=weights, tol=1e-3).fit(X, Y)
    parts = fitted.contributions(NEW)
    assert parts.columns[0] == ("wave", "left") and parts.shape == (9, 12)
    for place, name in enumerate(Y):
        np.testing.assert_allclose(parts[name].sum(axis=1), fitted.predict(NEW)[:, place], atol=1e-10)


def test_linear_models_views_and_searches_of_several_targets():
    frame = pd.DataFrame(X, columns=["a__0", "a__1", "b__0", "b__1", "b__2"])
    fitted = MKLRegressor([Linear("a"), Linear("b")], ConvexMKL(), normalize=None).fit(frame, Y)
    np.testing.assert_allclose(X @ fitted.coef_.T + fitted.intercept_, fitted.predict(frame), atol=1e-10)
    assert list(fitted.feature_weights("b").columns) == list(Y)
    report = view_report(fitted, frame, Y, cv=3)
    assert report["score"].iloc[0] == pytest.approx(cross_val_score(fitted, frame, Y, cv=3).mean())
    weighted = MKLRegressor([Linear("a"), Linear("b")], FixedWeights({"a": 1.0, "b": 1.0}))
    search = ResponseSurfaceSearchCV(weighted, ["combiner__weights__a", "C"], cv=3).fit(frame, Y)
    assert search.predict(frame).shape == (N, 3)


def test_projections_learned_from_several_targets():
    reduced = FromEstimator(MKLRegressor(KERNELS[:2], Projected(1), C=3.0, random_state=0)).fit_transform(X, Y)
    assert reduced.shape == (N, 2)


def test_targets_inside_the_tube_are_named():
    small = Y.assign(wave=Y["wave"] * 1e-6)
    with pytest.warns(
        UserWarning, match="^the target 'wave' varies by .* only, which the tube of epsilon=0.1"
    ) as caught:
        fitted = model().fit(X, small)
    assert len(caught) == 1
    assert np.ptp(fitted.predict(NEW)[:, list(Y).index("wave")]) == 0.0
    with pytest.warns(UserWarning, match=f"and so do {Y.shape[1] - 1} more targets"):
        model().fit(X, Y * 1e-6)
    with pytest.warns(UserWarning, match="^y varies by"):
        model(machine=SquaredEpsilonInsensitive(epsilon=0.5)).fit(X, small["wave"])


@pytest.mark.parametrize("options", [{"machine": "least-squares"}, {"epsilon": 1e-8}])
def test_small_targets_give_no_warning_otherwise(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.ptp(model(**options).fit(X, Y * 1e-6).predict(NEW)[:, 0]) > 0.0
        model().fit(X, Y.assign(wave=3.0))
