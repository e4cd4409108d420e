"""The clinical kernel: values by hand, kinds of columns, missing cells, errors."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from kernelweave import MKLClassifier, load, save, stack_views
from kernelweave.kernels import Clinical, KernelStack, Linear, Pairwise, clinical

STAGES = ["I", "II", "III", "IV"]


def table(n, rng, missing=0.2):
    """A table of all kinds of columns, with missing cells, and with samples that lack them all."""
    frame = pd.DataFrame(
        {
            "age": rng.normal(60, 10, n),
            "count": rng.integers(0, 5, n).astype(float),
            "sex": rng.choice(["f", "m"], n).astype(object),
            "site": pd.Series(rng.choice(["a", "b", "c"], n)).astype("category"),
            "stage": rng.choice(STAGES, n).astype(object),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
            "smoker": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "code": pd.array(rng.integers(1, 4, n), dtype="Int64"),
            "same": 7.0,
        }
    )
    frame = frame.mask(rng.random(frame.shape) < missing)
    frame.iloc[2] = None
    return frame


KINDS = dict(ordinal={"stage": STAGES}, nominal=["code"])


def by_hand(X, Z, train):
    """The kernel of two samples at a time, for tables as above."""
    order = {"stage": STAGES, "grade": ["low", "mid", "high"]}

    def number(name, value):
        return order[name].index(value) if name in order else float(value)

    ranges = {}
    for name in ("age", "count", "stage", "grade"):
        values = [number(name, value) for value in train[name] if not pd.isna(value)]
        ranges[name] = min(values), max(values)
    K = np.zeros((len(X), len(Z)))
    for i, (_, x) in enumerate(X.iterrows()):
        for j, (_, z) in enumerate(Z.iterrows()):
            total = 0.0
            for name in X.columns:
                if pd.isna(x[name]) or pd.isna(z[name]):
                    continue
                if name in ranges:
                    low, high = ranges[name]
                    one, other = (min(max(number(name, each[name]), low), high) for each in (x, z))
                    total += (high - low - abs(one - other)) / (high - low)
                else:
                    total += x[name] == z[name]
            n_cells = x.notna().sum() * z.notna().sum()
            K[i, j] = total / np.sqrt(n_cells) if n_cells else 0.0
    return K


@pytest.mark.parametrize("seed", range(3))
def test_values_by_hand(seed):
    rng = np.random.default_rng(seed)
    train, new = table(20, rng), table(12, rng)
    new.loc[0, "age"], new.loc[1, "age"] = 500.0, -500.0  # beyond the range
    kernel = Clinical(**KINDS).fit(train)
    assert_allclose(kernel.gram(train), by_hand(train, train, train), atol=1e-12)
    assert_allclose(kernel.cross(new, train), by_hand(new, train, train), atol=1e-12)
    assert kernel.cross(new, train).min() >= 0.0 and kernel.cross(new, train).max() <= 1.0
    assert kernel.present(train).tolist() == [row != 2 for row in range(20)]
    assert_array_equal(kernel.diagonal(train), [row != 2 for row in range(20)])
    assert kernel.kinds_.to_dict() == {
        "age": "continuous",
        "count": "continuous",
        "sex": "nominal",
        "site": "nominal",
        "stage": "ordinal",
        "grade": "ordinal",
        "smoker": "nominal",
        "code": "nominal",
        "same": "continuous",
    }


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.7, 0.95])
@pytest.mark.parametrize("seed", range(5))
def test_is_positive_semidefinite(missing, seed):
    """Among training samples, and among new ones that go beyond their ranges."""
    rng = np.random.default_rng(seed)
    train, new = table(60, rng, missing), table(60, rng, missing)
    new["age"] *= 3.0
    kernel = Clinical(**KINDS).fit(train)
    for X in (train, new, pd.concat([train, new], ignore_index=True)):
        K = kernel.gram(X)
        assert np.linalg.eigvalsh(K).min() > -1e-10
        assert_array_equal(K, K.T)
        assert_array_equal(np.diagonal(K), kernel.present(X))


def test_the_mean_over_common_variables_would_not_be():
    """Why cells are counted by roots: with the mean over variables that both have, three samples are enough."""
    X = pd.DataFrame({"a": [1.0, 1.0, np.nan], "b": [0.0, np.nan, 0.0], "c": [np.nan, 1.0, 0.0]})
    kernel = Clinical(nominal=["a", "b", "c"]).fit(X)
    assert_allclose(kernel.gram(X), [[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
    assert np.linalg.eigvalsh(kernel.gram(X)).min() > 0.0
    assert np.linalg.eigvalsh([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]).min() < -0.4


def test_samples_are_computed_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    some, others = table(31, rng), table(17, rng)
    kernel = Clinical(**KINDS).fit(some)
    whole = kernel.cross(some, others)
    monkeypatch.setattr(clinical, "_BLOCK_VALUES", 100)
    assert_array_equal(kernel.cross(some, others), whole)
    assert_array_equal(kernel.cross(others, some), whole.T)


class TestColumns:
    frame = pd.DataFrame(
        {
            "clin__age": [30.0, 40.0, 50.0],
            "clin__stage": ["I", "III", "II"],
            "clin__code": [1, 2, 9],
            "x": [1.0, 2.0, 3.0],
        }
    )

    @pytest.mark.parametrize("names", [("stage", "code"), ("clin__stage", "clin__code"), (1, 2)])
    def test_names_in_the_view_full_names_and_positions(self, names):
        kernel = Clinical("clin", ordinal={names[0]: ["I", "II", "III"]}, nominal=[names[1]]).fit(self.frame)
        assert_allclose(kernel.gram(self.frame)[0], [1.0, 0.5 / 3, 0.5 / 3])
        assert kernel.kinds_.tolist() == ["continuous", "ordinal", "nominal"]

    def test_one_name_is_enough(self):
        assert Clinical("clin", nominal="code").fit(self.frame).kinds_["clin__code"] == "nominal"

    def test_numbers_may_be_called_ordinal(self):
        named, plain = (Clinical(["clin__age", "x"], ordinal=o).fit(self.frame) for o in (["x"], None))
        assert named.kinds_["x"] == "ordinal"
        assert_array_equal(named.gram(self.frame), plain.gram(self.frame))

    @pytest.mark.parametrize(
        ("kernel", "message"),
        [
            (
                Clinical("clin", nominal=["sex"]),
                "nominal of the kernel 'clin' .Clinical. has 'sex', which is not",
            ),
            (Clinical("clin", ordinal={"x": [1]}), "ordinal of the kernel 'clin' .Clinical. has 'x'"),
            (Clinical("clin", ordinal=["stage"]), "'clin__stage' .* is text, so ordinal must give its levels"),
            (Clinical("clin", ordinal={"stage": ["I", "II"]}), "has the level 'III', which is not in its order"),
            (Clinical("clin", ordinal={"stage": "I"}), "levels of 'stage' in ordinal must be a list"),
            (Clinical("clin", ordinal={"stage": ["I", "I"]}), "hold 'I' twice"),
            (Clinical("clin", ordinal={"code": [1, 2, 9]}, nominal=["code"]), "is in both ordinal and nominal"),
            (Clinical("clin", nominal={"code": 1}), "nominal of a Clinical kernel must be a list of columns or None"),
            (Clinical("clin", ordinal=3.5), "ordinal of a Clinical kernel must be a list of columns, a dict"),
        ],
    )
    def test_bad_parameters(self, kernel, message):
        with pytest.raises(ValueError, match=message):
            kernel.fit(self.frame)

    @pytest.mark.parametrize(
        ("column", "message"),
        [
            ([1.0, "unknown", 3.0], "column 'x' .* mixes text and numbers .'unknown' and 1.0.; make it numbers"),
            (pd.to_datetime(["2020-01-01"] * 3), "'x' .* holds dates"),
            ([1.0, np.inf, 3.0], "infini"),
            ([-1.7e308, 0.0, 1.7e308], "'x' .* has numbers that are too large"),
        ],
    )
    def test_bad_columns(self, column, message):
        frame = self.frame.drop(columns="x").assign(
            x=pd.Series(column, dtype=object if "unknown" in list(column) else None)
        )
        with pytest.raises(ValueError, match=message), np.errstate(over="ignore"):
            Clinical().fit(frame)

    def test_text_in_a_continuous_column_of_new_samples(self):
        kernel = Clinical().fit(self.frame)
        new = self.frame.astype({"x": object})
        new.loc[1, "x"] = "high"
        with pytest.raises(ValueError, match="the column 'x' .* is continuous, but has 'high'"):
            kernel.gram(new)

    def test_sparse_samples(self):
        with pytest.raises(ValueError, match="'clin' .Clinical. does not take sparse views"):
            Clinical().fit(sp.eye(3, format="csr"), label="clin")

    def test_arrays(self):
        X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 6.0]])
        frame = pd.DataFrame(X, columns=["a", "b"])
        assert_array_equal(Clinical(nominal=[1]).fit(X).gram(X), Clinical(nominal=["b"]).fit(frame).gram(frame))
        mixed = np.array([[1.0, "f"], [2.0, None], [3.0, "m"]], dtype=object)
        assert Clinical().fit(mixed).kinds_.tolist() == ["continuous", "nominal"]


class TestNewSamples:
    def test_a_category_that_is_new(self):
        train = pd.DataFrame({"site": ["a", "b", "a"]})
        new = pd.DataFrame({"site": ["z", "b", "z", "y"]})
        kernel = Clinical().fit(train)
        assert_array_equal(kernel.cross(new, train), [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]])
        assert_array_equal(kernel.gram(new), [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])

    @pytest.mark.parametrize("as_type", [float, object, str, "Int64", "category"])
    def test_codes_are_the_same_in_any_type(self, as_type):
        train = pd.DataFrame({"code": [1, 2, 1], "x": [0.0, 1.0, 2.0]})
        kernel = Clinical(nominal=["code"]).fit(train)
        assert_array_equal(kernel.cross(train.astype({"code": as_type}), train), kernel.gram(train))

    def test_a_column_of_one_value(self):
        train = pd.DataFrame({"a": [7.0, 7.0], "b": [0.0, 1.0]})
        new = pd.DataFrame({"a": [7.0, 8.0], "b": [0.0, 0.0]})
        assert_array_equal(Clinical().fit(train).cross(new, train), [[1.0, 0.5], [0.5, 0.0]])

    def test_a_column_without_values_is_not_used(self):
        train = pd.DataFrame({"a": [0.0, 1.0], "b": [np.nan, np.nan]})
        kernel = Clinical().fit(train)
        assert kernel.kinds_.tolist() == ["continuous", "unused"]
        assert_array_equal(kernel.cross(pd.DataFrame({"a": [0.5], "b": [3.0]}), train), [[0.5, 0.5]])
        assert_array_equal(kernel.present(pd.DataFrame({"a": [np.nan], "b": [3.0]})), [False])

    def test_the_order_of_categories_is_that_of_the_fit(self):
        levels = ["low", "mid", "high"]
        train = pd.DataFrame({"g": pd.Categorical(["low", "high", "mid"], levels, ordered=True)})
        kernel = Clinical().fit(train)
        for new in (pd.Series(["mid"]), pd.Series(pd.Categorical(["mid"], ["mid", "low", "high"], ordered=True))):
            assert_array_equal(kernel.cross(new.to_frame("g"), train), [[0.5, 0.5, 1.0]])
        with pytest.raises(ValueError, match="the column 'g' .* has the level 'top', which is not in its order"):
            kernel.gram(pd.DataFrame({"g": ["top"]}))


class TestInModels:
    rng = np.random.default_rng(0)
    X = stack_views({"clin": table(80, rng, 0.1), "rna": rng.normal(size=(80, 4))})
    y = np.where(np.nan_to_num(X["clin__age"].to_numpy(), nan=60.0) + 8 * X["rna__0"] > 60, "ill", "well")
    model = MKLClassifier([Clinical("clin", **KINDS), Linear("rna")])

    def test_cross_validation_and_searches(self):
        assert cross_val_score(self.model, self.X, self.y, cv=4).mean() > 0.65
        grid = {"kernels__clin__nominal": [None, ["code"], ["code", "count"]], "C": [0.1, 1.0]}
        search = GridSearchCV(self.model, grid, cv=3).fit(self.X, self.y)
        for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
            alone = cross_val_score(clone(self.model).set_params(**params), self.X, self.y, cv=3).mean()
            assert score == pytest.approx(alone)

    def test_saved_and_loaded(self, tmp_path):
        model = clone(self.model).fit(self.X[:60], self.y[:60])
        save(model, tmp_path / "model")
        assert_array_equal(load(tmp_path / "model").decision_function(self.X), model.decision_function(self.X))

    def test_a_sample_without_any_cell_lacks_the_view(self):
        stack = KernelStack([Clinical("clin", **KINDS), Linear("rna")]).fit(self.X)
        assert_array_equal(stack.present[:, 0], [row != 2 for row in range(80)])

    def test_pairs(self):
        frame = table(10, np.random.default_rng(3))
        pairs = stack_views({"one": frame, "other": frame.iloc[::-1].reset_index(drop=True)})
        kernel = Pairwise(Clinical(**KINDS), first="one", second="other").fit(pairs)
        alone = Clinical(**KINDS).fit(frame).gram(frame)
        assert_allclose(kernel.gram(pairs), alone * alone[::-1, ::-1] + alone[:, ::-1] * alone[::-1])
