"""Row labels of the user's data frame: results carry them, and messages name samples by them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from kernelweave import MKLClassifier, load, save, stack_views
from kernelweave.combiners import Localized, Product, Projected
from kernelweave.kernels import Linear, Spectrum
from kernelweave.reduction import MKLDR
from kernelweave.views import FetchedViews, Views

N = 24
RNG = np.random.default_rng(0)
IDS = pd.Index([f"P-{i:03d}" for i in range(N)], name="patient")
Y = pd.Series(np.tile(["ill", "well"], N // 2), IDS, name="diagnosis")
A = pd.DataFrame(RNG.normal(size=(N, 2)) + (Y == "ill").to_numpy()[:, None], IDS)
B = pd.DataFrame(RNG.normal(size=(N, 2)), IDS)
X = stack_views({"a": A, "b": B})
KERNELS = [Linear("a"), Linear("b")]


def changed(column, place, value=np.nan):
    frame = X.copy()
    frame.loc[IDS[place], column] = value
    return frame


@pytest.mark.parametrize("combiner", [None, Localized(l2=0.1), Projected(1)])
def test_results_have_the_index_of_the_frame_and_its_name(combiner):
    model = MKLClassifier(KERNELS, combiner, random_state=0).fit(X, Y)
    some = X.iloc[5:9]
    results = [model.kernel_weights(some)]
    if combiner is not None:
        results += [model.gates(some), model.local_values(some)]
    if isinstance(combiner, Projected):
        results += [model.project(some), *model.project(some, by_kernel=True).values()]
    for result in results:
        pd.testing.assert_index_equal(result.index, some.index)
    reduced = MKLDR(KERNELS).set_output(transform="pandas").fit(X, Y).transform(some)
    pd.testing.assert_index_equal(reduced.index, some.index)


def test_messages_name_samples_by_label():
    partly = changed("a__1", 17)
    with pytest.raises(ValueError, match="view 'a' of sample 'P-017' is NaN in some"):
        MKLClassifier(KERNELS).fit(partly, Y)
    with pytest.raises(ValueError, match=r"infinity \(sample 'P-003'\)"):
        MKLClassifier(KERNELS).fit(changed("b__0", 3, np.inf), Y)
    model = MKLClassifier(KERNELS).fit(X, Y)
    for part in (partly, partly.iloc[10:], partly.iloc[::-1]):
        with pytest.raises(ValueError, match="sample 'P-017'"):
            model.predict(part)
    lacking = changed(["b__0", "b__1"], 2)
    with pytest.raises(ValueError, match="sample 'P-002' lacks the view of the kernel 'b'"):
        MKLClassifier(KERNELS, Product()).fit(lacking, Y)
    with pytest.raises(ValueError, match="view 'word' of sample 'P-001' is 5,"):
        MKLClassifier([Spectrum(k=1, view="word")]).fit(X.assign(word=["ab", 5, *["a"] * (N - 2)]), Y)
    weight = np.r_[0.0, np.ones(N - 1)]  # a sample is left out before
    with pytest.raises(ValueError, match="sample 'P-017'"):
        MKLClassifier(KERNELS).fit(partly, Y, sample_weight=weight)


def test_messages_name_the_label_of_a_posterior():
    posterior = pd.DataFrame({"ill": (Y == "ill") * 0.9, "well": (Y == "well") * 0.9 + 0.1})
    posterior["ill"] += 0.1
    posterior.loc["P-004":, "ill"] -= 0.1
    with pytest.raises(ValueError, match="those of sample 'P-000' do not"):
        MKLClassifier(KERNELS).fit(X, Y, posterior=posterior)


def test_folds_name_the_labels_of_the_whole_frame():
    for frame, name in ((changed("a__1", 17), "'P-017'"), (changed("a__1", 17).reset_index(drop=True), "17")):
        with pytest.raises(ValueError, match=f"sample {name} is NaN"):
            cross_val_score(MKLClassifier(KERNELS), frame, Y.to_numpy(), error_score="raise")
        search = GridSearchCV(MKLClassifier(KERNELS), {"C": [1.0]}, error_score="raise")
        with pytest.raises(ValueError, match=f"sample {name} is NaN"):
            search.fit(frame, Y.to_numpy())


@pytest.mark.parametrize(
    ("index", "name"),
    [
        (None, "2"),
        (pd.RangeIndex(3), "2"),
        (pd.RangeIndex(7, 10), "9"),
        (pd.Index([1015, 1016, 1017]), "1017"),
        (pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)]), r"\('y', 1\)"),
    ],
)
def test_names_of_samples(index, name):
    views = Views(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, np.nan]}, index=index))
    for part in (
        views,
        views.rows(np.array([2, 0])),
        views.rows(slice(1, None)),
        views.rows(np.array([0, 2])).rows([1]),
    ):
        for each in (
            part,
            part.keep(np.arange(part.n_samples), np.arange(2)),
            part.objects(np.arange(2)),
            part.followed_by(part),
            FetchedViews(part, lambda view, rows: None),
            FetchedViews(part, lambda view, rows: None).rows(np.arange(part.n_samples)),
        ):
            with pytest.raises(ValueError, match=f"view 'v' of sample {name} is NaN"):
                each.read(np.arange(2), "v")


def test_fetch_is_given_positions():
    asked = []

    def fetch(view, rows):
        asked.append(rows)
        return 10.0 * rows[:, None]

    views = FetchedViews(Views(pd.DataFrame({"a": [1.0, np.nan]}, index=["p", "q"])), fetch).rows(np.array([1]))
    np.testing.assert_array_equal(views.complete(np.array([0]), "a").read(np.array([0]), "a")[0], [[10.0]])
    np.testing.assert_array_equal(asked, [[1]])


def test_saved_models_hold_no_labels(tmp_path):
    model = MKLClassifier(KERNELS).fit(X, Y)
    save(model, tmp_path / "model")
    assert b"P-0" not in (tmp_path / "model").read_bytes()
    again = load(tmp_path / "model")
    with pytest.raises(ValueError, match="sample 'P-017'"):
        again.predict(changed("a__1", 17))


def test_the_index_keeps_its_name_in_stack_views():
    shuffled = B.iloc[::-1]
    for views in ({"a": A, "b": shuffled}, {"a": A, "b": B.to_numpy()}, {"a": A.rename_axis(None), "b": shuffled}):
        frame, target = stack_views(views, y=Y.iloc[::-1] if views["b"] is shuffled else Y.to_numpy())
        pd.testing.assert_index_equal(frame.index, IDS)
        pd.testing.assert_index_equal(target.index, IDS)
    frame, target = stack_views({"a": A.iloc[:9], "b": shuffled.iloc[:9]}, y=Y.iloc[np.r_[:9, 15:N]])
    assert frame.index.name == target.index.name == "patient" and target.name == "diagnosis"
    assert (target == Y.loc[frame.index]).all()
    assert stack_views({"a": A, "b": shuffled.rename_axis("id")}).index.name is None
    assert stack_views({"a": A.to_numpy()}, y=Y)[0].index.name == "patient"
