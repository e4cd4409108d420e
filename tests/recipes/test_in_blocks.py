"""`CohortModel` on files: decided by some samples, fitted to all others, block by block.

The time goes to nine fits, each a search and a fit in blocks.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernelweave import open_views
from kernelweave.features import NystroemFeatures
from kernelweave.recipes import CohortModel, in_blocks

pytest.importorskip("pyarrow")
N = 300


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A view of numbers, and one of numbers with gaps and of words that some samples lack."""
    folder = tmp_path_factory.mktemp("files")
    random = np.random.default_rng(0)
    a = random.normal(size=(N, 3))
    b = pd.DataFrame({"x": random.normal(size=N), "word": random.choice(["red", "green"], N)})
    b.loc[random.random(N) < 0.1, "x"] = np.nan
    b.loc[random.random(N) < 0.1] = None
    y = np.where(a[:, 0] + np.nan_to_num(b["x"].astype(float)) > 0, "up", "down")
    np.save(folder / "a.npy", a)
    b.assign(label=y, number=100 + 20 * a[:, 1]).to_parquet(folder / "b.parquet")
    return folder


def opened(folder, target, **options):
    other = {"label": "number", "number": "label"}[target]
    return open_views([folder / "a.npy", folder / "b.parquet"], target, **options).without(other)


def model(method="mean", **options):
    given = {"approximation": NystroemFeatures(30), "effort": "quick", "random_state": 0, **options}
    return CohortModel(method, **given)


@pytest.fixture(scope="module")
def watched(files):
    """The method "mean", fitted to labels in blocks; the table that it was fitted to, and the samples that decided."""
    seen = []

    class Watched(in_blocks.PreparedTable):
        def __init__(self, table, y, model, drawn):
            super().__init__(table, y, model, drawn)
            seen.append((self, drawn))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_blocks, "PreparedTable", Watched)
        found = model().fit(opened(files, "label", block_size=80))
    return found, *seen[-1]


@pytest.mark.parametrize("method", ["mean", "auto", "alone:a"])
def test_labels(files, method, watched):
    found = watched[0] if method == "mean" else model(method).fit(opened(files, "label", block_size=80))
    X, y = opened(files, "label").rows(0, N), opened(files, "label").targets(0, N)
    assert found.score(X, y) > (0.65 if method == "alone:a" else 0.85)
    assert list(found.classes_) == ["down", "up"] and found.n_samples_ == N
    probabilities = found.predict_proba(X)
    table = opened(files, "label", block_size=80)
    assert found.score(table) == found.score(X, y) == found.score(table, y)
    assert (found.predict(table) == found.predict(X)).all()
    assert found.predict_proba(table) == pytest.approx(probabilities)
    assert (found.classes_[probabilities.argmax(axis=1)] == found.predict(X)).all()
    assert (
        "decided by 60 samples that were drawn from 300; the model is fitted to the other 240" in found.decisions_[-1]
    )
    assert found._prior == pytest.approx([np.mean(y == "down"), np.mean(y == "up")])


def test_the_answer_does_not_depend_on_blocks(files, monkeypatch):
    real = in_blocks.clone  # of the model that is fitted to files; answers differ by about sqrt(2 tol J)
    monkeypatch.setattr(in_blocks, "clone", lambda found: real(found).set_params(tol=1e-12, dtype="float64"))
    X = opened(files, "label").head(50)
    small, large = (model().fit(opened(files, "label", block_size=size)) for size in (70, 1000))
    assert small.decision_function(X) == pytest.approx(large.decision_function(X), abs=1e-5)


def test_numbers_in_their_own_units(files):
    found = model().fit(opened(files, "number", block_size=80))
    X, y = opened(files, "number").rows(0, N), opened(files, "number").targets(0, N)
    assert found.score(X, y) > 0.9 and found.predict(X).mean() == pytest.approx(100, abs=3)


def test_the_samples_that_were_drawn_are_not_fitted_to(watched):
    _, table, drawn = watched
    weights = np.concatenate([table.fitted(*table.limits(k)) for k in range(table.n_blocks)])
    assert len(drawn) == 60 and len(set(drawn)) == 60
    assert not weights[drawn].any() and weights.sum() == N - 60


def test_a_class_that_none_of_the_drawn_samples_has(files, watched):
    table = opened(files, "label").without("label")
    y = opened(files, "label").targets(0, N).copy()
    rare = [k for k in range(N) if k not in set(watched[2])][:30]  # the same seed draws the same samples
    y[rare] = "other"
    plain = open_views([files / "a.npy", files / "b.parquet"]).without("label").without("number")
    found = model().fit(plain, y)
    assert list(found.classes_) == ["down", "other", "up"]
    assert found.predict_proba(plain.head(9)).shape == (9, 3)
    assert table.target == "label"


def test_exact_kernels_read_the_table_whole(files):
    table = opened(files, "label", block_size=80)
    found = CohortModel("mean", effort="quick", random_state=0).fit(table)
    expected = CohortModel("mean", effort="quick", random_state=0).fit(table.rows(0, N), table.targets(0, N))
    assert (found.predict(table.head(99)) == expected.predict(table.head(99))).all()


def test_what_cannot_be_had(files, watched):
    table = opened(files, "label")
    plain = open_views([files / "a.npy"])
    for data, y, method, message in (
        (table, None, "forest", "'forest' is fitted to samples in memory"),
        (table, np.zeros(N), "mean", "the table has the target 'label', and y is given as well"),
        (plain, None, "mean", "requires y to be passed"),
        (plain, np.zeros(N - 1), "mean", "inconsistent numbers of samples: 300 and 299"),
        (table, None, "alone:z", "there is no method 'alone:z'"),
        (open_views([files / "a.npy", files / "b.parquet"], ["a__0", "number"]), None, "mean", "predicts one target"),
        (plain, np.zeros((N, 2)), "mean", "CohortModel predicts one target; name one column"),
    ):
        with pytest.raises(ValueError, match=message):
            model(method).fit(data, y)
    with pytest.raises(ValueError, match="CohortModel requires y to be passed"):
        watched[0].score(table.head(9))
    words = opened(files, "label")
    with pytest.raises(ValueError, match="numbers"):
        model(task="regression").fit(words)


def test_the_example_of_the_page_runs(tmp_path, monkeypatch, capsys):
    page = Path(__file__).parents[2] / "docs" / "larger_than_memory.md"
    code, converted = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code.replace("20_000", "2_000"), str(page), "exec"), {})
    assert float(capsys.readouterr().out.split()[-1]) > 0.8
    assert np.load("predictions.npy").shape == (2000,)
    pd.DataFrame({"sample": ["p", "q"], "x": [1.0, 2.0]}).to_csv("rna.csv", index=False)
    Path("rna").mkdir()
    exec(compile(converted, str(page), "exec"), {})
    assert open_views(["rna"]).head().index.tolist() == ["p", "q"]
