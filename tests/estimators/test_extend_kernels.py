"""Blocks of similarities: new samples of all precomputed kernels in one call."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, save, stack_views
from kernelweave.combiners import ConvexMKL, FixedWeights, GeneralizedMKL, KernelMap, Localized, Projected
from kernelweave.estimators import KernelVoting
from kernelweave.kernels import Distance, Linear, Precomputed
from kernelweave.reduction import MKLDR, KernelFisher

rng = np.random.default_rng(0)
N, M = 40, 15
A, B = rng.normal(size=(N + M, 3)), rng.normal(size=(N + M, 2))
IDS = pd.Index([f"p{row:02d}" for row in range(N + M)], name="patient")
OLD, NEW = IDS[:N], IDS[N:]
Y = np.where(A[:, 0] + B[:, 0] > 0, "up", "down")[:N]
THREE = np.array(["a", "b", "c"])[np.digitize(A[:N, 0], [-0.4, 0.4])]
SEQ, NET = (pd.DataFrame(F @ F.T + 0.1, IDS, IDS) for F in (A, B))
FAR = pd.DataFrame(np.linalg.norm(A[:, None] - A, axis=2), IDS, IDS)
X, X_NEW = OLD.to_frame(name="id"), NEW.to_frame(name="id")
BLOCKS = {"seq": SEQ.loc[NEW], "net": NET.loc[NEW], "far": FAR.loc[NEW]}


def kernels(known=OLD, view="id"):
    return [
        ("seq", Precomputed(SEQ.loc[known, known], view)),
        ("net", Precomputed(NET.loc[known, known[::-1]], view)),
        ("far", Distance(FAR.loc[known, known], view)),
    ]


MODELS = {
    "mean": lambda each: MKLClassifier(each).fit(X, Y),
    "centred": lambda each: MKLClassifier(each, normalize="center").fit(X, Y),
    "three classes": lambda each: MKLClassifier(each, ConvexMKL(), weights="per-class").fit(X, THREE),
    "products": lambda each: MKLClassifier(each, GeneralizedMKL(), normalize=None).fit(X, Y),
    "gates": lambda each: MKLClassifier(
        each, Localized(inputs=KernelMap(each[1][1], n_landmarks=9), l2=0.1), random_state=0
    ).fit(X, Y),
    "projections": lambda each: MKLClassifier(each, Projected(1), random_state=0).fit(X, Y),
    "regressor": lambda each: MKLRegressor(each).fit(X, A[:N, 0]),
    "one-class": lambda each: MKLOneClass(each, nu=0.3).fit(X),
    "votes": lambda each: KernelVoting(each).fit(X, Y),
    "reduction": lambda each: MKLDR(each, n_components=1).fit(X, Y),
}


def values(model, Z):
    method = next(name for name in ("decision_function", "predict", "transform") if hasattr(model, name))
    found = getattr(model, method)(Z)
    return found == "up" if found.dtype.kind == "U" else found


@cache
def whole_model(name):
    """Fitted with matrices that hold the new samples from the beginning."""
    return MODELS[name](kernels(IDS))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("loaded", [False, True])
def test_one_call_for_all_kernels(name, loaded, tmp_path):
    """As if the matrices had held the new samples from the beginning."""
    model, whole = MODELS[name](kernels()), whole_model(name)
    if loaded:
        save(model, tmp_path / "model")
        model = load(tmp_path / "model")
    found = model.extend_kernels(BLOCKS)
    pd.testing.assert_frame_equal(found, X_NEW.astype(found.dtypes.to_dict()))
    np.testing.assert_allclose(values(model, found), values(whole, X_NEW), rtol=1e-9, atol=1e-12)
    save(model, tmp_path / "again")
    np.testing.assert_array_equal(values(load(tmp_path / "again"), found), values(model, found))


def test_gates_over_a_kernel_of_their_own_with_the_same_matrix(tmp_path):
    def fitted(known):
        own = KernelMap(Distance(FAR.loc[known, known], "id"), n_landmarks=9)
        return MKLClassifier(kernels(known), Localized(inputs=own, l2=0.1), random_state=0).fit(X, Y)

    model = fitted(OLD)
    save(model, tmp_path / "model")
    expected = fitted(IDS).decision_function(X_NEW)
    for each in (model, load(tmp_path / "model")):
        np.testing.assert_allclose(each.decision_function(each.extend_kernels(BLOCKS)), expected, rtol=1e-9)


def test_gates_keep_their_kernel_where_another_is_extended():
    """Two distances: that of the gates is not the one that gets new samples."""
    other = Distance(FAR.loc[OLD, OLD] ** 2, "id")
    model = MKLClassifier(kernels()[2:] + kernels()[:1], Localized(inputs=KernelMap(other), l2=0.1), random_state=0)
    model.fit(X, Y).replace_kernel("far", kernels()[2][1].extend(FAR.loc[NEW]))
    np.testing.assert_array_equal(model._kernel.inputs.source.kernel_.metric.K, FAR.loc[OLD, OLD] ** 2)


def test_a_kernel_of_one_matrix():
    model = KernelFisher(kernels()[0][1]).fit(X, Y)
    whole = KernelFisher(kernels(IDS)[0][1]).fit(X, Y)
    found = model.extend_kernels({model.kernel_names_[0]: SEQ.loc[NEW]})
    np.testing.assert_allclose(model.transform(found), whole.transform(X_NEW))


def test_support_vectors_are_enough():
    model = MKLClassifier(kernels()).fit(X, Y)
    expected = MKLClassifier(kernels(IDS)).fit(X, Y).predict(X_NEW)
    support = rng.permutation(OLD[model.support_])
    assert len(support) < N
    lean = {name: block[support] for name, block in BLOCKS.items()}
    diagonal = {"seq": pd.Series(np.diagonal(SEQ), IDS), "net": np.diagonal(NET)[N:]}
    np.testing.assert_array_equal(model.predict(model.extend_kernels(lean, diagonal)), expected)
    with pytest.raises(ValueError, match=f"block of the kernel 'net' must have a column .* but lacks '{support[0]}'"):
        model.extend_kernels({**lean, "net": lean["net"].drop(columns=support[0])}, diagonal)


def test_blocks_again():
    """The same call again changes nothing, and the values that were given last count."""
    model = MKLClassifier(kernels()).fit(X, Y)
    first = model.decision_function(model.extend_kernels(BLOCKS))
    before = [len(each.lookups(None)[0][0].rows) for each in model.kernels_]
    np.testing.assert_array_equal(model.decision_function(model.extend_kernels(BLOCKS)), first)
    assert [len(each.lookups(None)[0][0].rows) for each in model.kernels_] == before == [M] * 3
    changed = model.extend_kernels({**BLOCKS, "seq": -SEQ.loc[NEW]}, diagonal=1.0)
    assert np.abs(model.decision_function(changed) - first).max() > 0.01
    np.testing.assert_array_equal(model.decision_function(model.extend_kernels(BLOCKS)), first)


def test_training_samples_in_a_block():
    model = MKLClassifier(kernels()).fit(X, Y)
    everybody = model.extend_kernels({"seq": SEQ, "net": NET, "far": FAR})
    np.testing.assert_array_equal(model.decision_function(everybody)[:N], model.decision_function(X))
    with pytest.raises(ValueError, match="'seq' holds 'p03' already, with other similarities"):
        model.extend_kernels({"seq": SEQ.loc[["p03"]] + 1.0})


class TestMissing:
    def test_kernels_with_an_id_column_each(self):
        views = stack_views({"a": pd.Series(OLD, OLD), "b": pd.Series(OLD[5:], OLD[5:])})
        pair = [("seq", Precomputed(SEQ, "a")), ("net", Precomputed(NET, "b"))]
        known = [("seq", Precomputed(SEQ.loc[OLD, OLD], "a")), ("net", Precomputed(NET.loc[OLD[5:], OLD[5:]], "b"))]
        expected = X_NEW.assign(a=X_NEW["id"], b=X_NEW["id"].where(np.arange(M) < 4)).drop(columns="id")
        model = MKLClassifier(known).fit(views, Y)
        found = model.extend_kernels({"seq": SEQ.loc[NEW], "net": NET.loc[NEW[:4]]})
        assert found["b"].isna().tolist() == [row >= 4 for row in range(M)]
        whole = MKLClassifier(pair).fit(views, Y)
        np.testing.assert_allclose(model.decision_function(found), whole.decision_function(expected))

    def test_kernels_that_share_an_id_column(self, tmp_path):
        """The sample has an id there all the same, and lacks the view in the kernels whose block lacks it."""
        model = MKLClassifier(kernels()).fit(X, Y)
        some = NET.loc[NEW[:4]]
        holes = pd.concat([some, NET.loc[NEW[4:]] * np.nan])
        for blocks in ({"seq": SEQ.loc[NEW], "net": some}, {"seq": SEQ.loc[NEW], "net": holes}):
            found = model.extend_kernels(blocks)
            assert found["id"].tolist() == NEW.tolist()
            present = model._kernel.stack.presence(model._new_views(found))
            np.testing.assert_array_equal(present, [[True, row < 4, False] for row in range(M)])
        save(model, tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict(found), model.predict(found))
        model.extend_kernels(BLOCKS)  # what was missing comes later
        assert model._kernel.stack.presence(model._new_views(found)).all()

    def test_other_views_are_filled_in(self):
        frame = X.assign(x__0=A[:N, 0], word="w")
        model = MKLClassifier([*kernels()[:1], Linear("x")]).fit(frame, Y)
        found = model.extend_kernels({"seq": SEQ.loc[NEW]})
        assert found.columns.tolist() == ["id", "x__0", "word"] and found[["x__0", "word"]].isna().all(axis=None)
        missing = model.decision_function(found)
        found["x__0"] = A[N:, 0]
        assert np.abs(model.decision_function(found) - missing).max() > 0.01
        whole = MKLClassifier([*kernels(IDS)[:1], Linear("x")]).fit(frame, Y)
        np.testing.assert_allclose(
            model.decision_function(found), whole.decision_function(X_NEW.assign(x__0=A[N:, 0], word=1))
        )

    def test_kernels_without_weight_need_no_block(self):
        model = MKLClassifier(kernels(), FixedWeights({"seq": 1.0})).fit(X, Y)
        whole = MKLClassifier(kernels(IDS), FixedWeights({"seq": 1.0})).fit(X, Y)
        found = model.extend_kernels({"seq": SEQ.loc[NEW]})
        np.testing.assert_allclose(model.decision_function(found), whole.decision_function(X_NEW))


class TestDiagonal:
    def test_is_needed_for_a_unit_diagonal(self):
        model = MKLClassifier(kernels()).fit(X, Y)
        lean = {"seq": SEQ.loc[NEW, OLD]}
        with pytest.raises(ValueError, match="'seq' lacks the similarity of 15 new sample.s. to themselves; give it"):
            model.extend_kernels(lean)
        with pytest.raises(ValueError, match="has no id 'p40'"):  # nothing was changed
            model.predict(X_NEW)
        assert model.predict(model.extend_kernels(lean, diagonal=1.0)).shape == (M,)

    @pytest.mark.parametrize("normalize", [None, "center", "unit-trace"])
    def test_is_not_needed_otherwise(self, normalize, tmp_path):
        model, whole = (MKLClassifier(kernels(known)[:2], normalize=normalize).fit(X, Y) for known in (OLD, IDS))
        found = model.extend_kernels({name: BLOCKS[name][OLD] for name in ("seq", "net")})
        np.testing.assert_allclose(model.decision_function(found), whole.decision_function(X_NEW))
        save(model, tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict(found), model.predict(found))

    def test_is_missed_where_a_combiner_reads_it(self):
        model = MKLClassifier(kernels()[:2], GeneralizedMKL(), normalize=None).fit(X, Y)
        found = model.extend_kernels({name: BLOCKS[name][OLD] for name in ("seq", "net")})
        with pytest.raises(ValueError, match="lacks the similarity of 15 new sample"):
            model.predict(found)

    def test_distances_need_none(self):
        model = MKLClassifier(kernels()[2:]).fit(X, Y)
        assert model.predict(model.extend_kernels({"far": FAR.loc[NEW, OLD]})).shape == (M,)


class TestWithoutLabels:
    ids = np.arange(N)[:, None]
    plain = ((SEQ.to_numpy(), "seq"), (NET.to_numpy(), "net"))

    def test_arrays(self):
        model = MKLClassifier([(name, Precomputed(K[:N, :N])) for K, name in self.plain]).fit(self.ids, Y)
        whole = MKLClassifier([(name, Precomputed(K)) for K, name in self.plain]).fit(self.ids, Y)
        for start in (N, N + M):  # new ids each time
            found = model.extend_kernels(
                {name: K[N:, :N] for K, name in self.plain}, {name: np.diagonal(K)[N:] for K, name in self.plain}
            )
            assert found.to_numpy().tolist() == [[start + row] for row in range(M)]
            np.testing.assert_allclose(
                model.decision_function(found), whole.decision_function(np.arange(N, N + M)[:, None])
            )

    def test_frames_keep_their_labels(self):
        model = MKLClassifier([("seq", Precomputed(SEQ.to_numpy()[:N, :N]))]).fit(self.ids, Y)
        found = model.extend_kernels({"seq": SEQ.loc[NEW, OLD].set_axis(range(N), axis=1)}, diagonal=1.0)
        assert found.index.equals(NEW) and found.iloc[:, 0].tolist() == list(range(N, N + M))

    def test_ids_that_cannot_agree(self):
        uneven = [("seq", Precomputed(SEQ.to_numpy()[:N, :N])), ("net", Precomputed(NET.to_numpy()))]
        model = MKLClassifier(uneven).fit(self.ids, Y)
        blocks = {"seq": np.ones((2, N)), "net": np.ones((2, N + M))}
        with pytest.raises(ValueError, match="'seq' and 'net' read the same id column, but .* ids 40 and 55"):
            model.extend_kernels(blocks, diagonal=1.0)

    @pytest.mark.parametrize("rows", [3, 4])
    def test_arrays_beside_frames(self, rows):
        model = MKLClassifier(kernels()[:2]).fit(X, Y)
        blocks = {"seq": SEQ.loc[NEW[:3]], "net": NET.loc[NEW[:rows], OLD].to_numpy()}
        if rows == 4:
            with pytest.raises(ValueError, match="numbers of rows are {'seq': 3, 'net': 4}; give all"):
                model.extend_kernels(blocks, diagonal=1.0)
        else:
            whole = MKLClassifier(kernels(IDS)[:2]).fit(X, Y)
            found = model.extend_kernels(blocks, {"net": np.diagonal(NET)[N : N + 3]})
            np.testing.assert_allclose(model.decision_function(found), whole.decision_function(X_NEW[:3]))


@pytest.mark.parametrize(
    ("blocks", "diagonal", "message"),
    [
        (SEQ.loc[NEW], 1.0, "needs a dict from names of kernels to blocks, {'seq': block}"),
        ({}, 1.0, "needs a dict"),
        (
            {"sec": SEQ.loc[NEW]},
            1.0,
            "'sec', which does not exist .there are .*'both'..; the kernels .* are .'seq', 'net'",
        ),
        ({"x": SEQ.loc[NEW]}, 1.0, "a block for the kernel 'x', which computes its values from X"),
        ({"both": SEQ.loc[NEW]}, 1.0, "a block for the kernel 'both', which is made of several kernels"),
        ({"seq": SEQ.loc[NEW]}, {"sec": 1.0}, "diagonal has an entry for the kernel 'sec'"),
        (
            {"seq": SEQ.loc[NEW], "net": NET.loc[NEW] * np.inf},
            1.0,
            "the block of the kernel 'net': the row 'p40' holds NaN",
        ),
        ({"seq": SEQ.loc[NEW], "far": -FAR.loc[NEW]}, 1.0, "the block of the kernel 'far' holds a negative distance"),
        ({"seq": SEQ.loc[NEW, OLD].to_numpy()}, 1.0, "'seq' has labels, so its block must have labels too"),
        ({"seq": SEQ.loc[NEW], "net": NET.loc[[*NEW, "p44"]]}, 1.0, "'p44' is there twice in the index of the block"),
    ],
)
def test_bad_blocks_change_nothing(blocks, diagonal, message):
    both = Precomputed(SEQ, "id") * Linear("x")
    model = MKLClassifier([*kernels(), Linear("x"), ("both", both)]).fit(X.assign(x=A[:N, 0]), Y)
    before = list(model.kernels_)
    with pytest.raises(ValueError, match=message):
        model.extend_kernels(blocks, diagonal)
    assert all(now is then for now, then in zip(model.kernels_, before, strict=True))


def test_the_page_runs(tmp_path, monkeypatch):
    """The code of docs/similarities.md, on files as it reads them."""
    page = (Path(__file__).parents[2] / "docs" / "similarities.md").read_text(encoding="utf-8")
    numbers = IDS.map(lambda label: int(label[1:]) + 101)
    monkeypatch.chdir(tmp_path)
    for name, K in (("seq", SEQ), ("net", NET)):
        unit = (K / np.sqrt(np.outer(np.diagonal(K), np.diagonal(K)))).set_axis(numbers).set_axis(numbers, axis=1)
        unit.iloc[:N, rng.permutation(N)].to_csv(f"{name}.csv")
        unit.iloc[N:, :N].to_csv(f"{name}_new.csv")
    pd.Series(Y, numbers[:N], name="diagnosis").iloc[rng.permutation(N)].to_csv("labels.csv")
    names = {}
    for code in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(code, "similarities.md", "exec"), names)
    assert len(names["scores"]) == 5 and names["predictions"].index.tolist() == numbers[N:].tolist()
    truth = np.where(A[:, 0] + B[:, 0] > 0, "up", "down")[N:]
    assert (names["predictions"] == truth).mean() > 0.6
    assert names["X_apart"].isna().sum().tolist() == [5, 0]
