"""``kernelweave predict``: labels, decision values and probabilities by sample id, in blocks, or one line of reason."""

import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, read_views, save
from kernelweave.cli import main
from kernelweave.kernels import Gaussian, Linear
from kernelweave.recipes import CohortModel

N, N_NEW = 60, 23


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """A folder with training files, files of new samples, and a model."""
    folder = tmp_path_factory.mktemp("cohort")
    random = np.random.default_rng(0)
    ids = [f"p{k}" for k in range(N + N_NEW)]
    ill = np.arange(N + N_NEW) % 2 == 0
    rna = pd.DataFrame(random.normal(size=(len(ids), 6)) + 1.5 * ill[:, None], index=ids, columns=list("abcdef"))
    clinical = pd.DataFrame(
        {"age": random.normal(60, 9, len(ids)), "sex": random.choice(["f", "m"], len(ids)), "site": "here"}, index=ids
    )
    labels = pd.DataFrame({"diagnosis": np.where(ill, "ill", "well"), "grade": np.where(ill, 2, 1)}, index=ids)
    labels["months"] = rna["a"] + random.normal(size=len(ids)) / 5
    for name, table in {"rna": rna, "clinical": clinical, "labels": labels}.items():
        table[:N].to_csv(folder / f"{name}.csv", index_label="sample")
    rna[N:].sample(frac=1.0, random_state=0).to_csv(folder / "rna-new.csv", index_label="sample")
    clinical[N : N + 15].to_csv(folder / "second.csv", index_label="sample")
    truth = labels[N:]
    with np.errstate(all="ignore"):
        for column, name in (("diagnosis", "model"), ("grade", "grade"), ("months", "months")):
            tables = read_views([folder / "rna.csv", folder / "clinical.csv"], f"labels.csv:{column}")
            save(CohortModel("mean", effort="quick", random_state=0).fit(tables.X, tables.y), folder / f"{name}.kw")
    return folder, truth


def predict(*words, out):
    """The predictions of a call that succeeds, labels as text."""
    assert main(["predict", *map(str, words), "--out", str(out)]) == 0
    return pd.read_csv(out, index_col=0, dtype={"label": str})


def both(folder):
    return [folder / "rna-new.csv", f"clinical={folder / 'second.csv'}"]


def read_both(folder):
    return read_views({"rna": folder / "rna-new.csv", "clinical": folder / "second.csv"}, id="sample").X


@pytest.mark.parametrize("block_size", [7, 1000])
def test_predictions_are_those_of_the_model(cohort, tmp_path, capsys, block_size):
    folder, truth = cohort
    found = predict(folder / "model.kw", *both(folder), "--block-size", block_size, out=tmp_path / "p.csv")
    assert list(found) == ["label", "decision_well", "probability_ill", "probability_well"]
    assert found.index.name == "sample"
    model, X = load(folder / "model.kw"), read_both(folder)
    assert found.index.tolist() == X.index.tolist()
    assert found["label"].tolist() == model.predict(X).tolist()
    assert np.allclose(found["decision_well"], model.decision_function(X))
    assert np.allclose(found.filter(like="probability"), model.predict_proba(X))
    assert (found["label"] == truth["diagnosis"].loc[found.index]).mean() > 0.8
    printed = capsys.readouterr()
    assert "rna-new.csv is read as the view 'rna', by its columns: it has 6 of its 6 columns." in printed.out
    assert f"Predicted {N_NEW} samples: " in printed.out and f"Predictions: {tmp_path / 'p.csv'}" in printed.out
    (warned,) = printed.err.splitlines()
    assert warned.startswith("warning: unlike the training data: view 'clinical': 8 of 23 samples lack it (35%)")


def test_labels_are_numbers_where_those_of_the_training_were(cohort, tmp_path):
    folder, truth = cohort
    found = predict(folder / "grade.kw", *both(folder), out=tmp_path / "p.csv")
    assert set(found["label"]) == {"1", "2"}
    assert list(found)[-2:] == ["probability_1", "probability_2"]


def test_numbers(cohort, tmp_path, capsys):
    folder, truth = cohort
    found = predict(folder / "months.kw", *both(folder), out=tmp_path / "p.csv")
    assert list(found) == ["prediction"]
    assert np.corrcoef(found["prediction"], truth["months"].loc[found.index])[0, 1] > 0.7
    assert f"Predicted {N_NEW} samples: from " in capsys.readouterr().out


def test_a_missing_view_is_warned_of(cohort, tmp_path, capsys):
    folder, _ = cohort
    found = predict(folder / "model.kw", f"rna={folder / 'rna-new.csv'}", out=tmp_path / "p.csv")
    assert found.notna().all(axis=None)
    assert "warning: no file has the view clinical, which the model reads" in capsys.readouterr().err


@pytest.mark.parametrize("block_size", [7, 1000])
def test_a_missing_column_is_warned_of_once(cohort, tmp_path, capsys, block_size):
    folder, _ = cohort
    new = pd.read_csv(folder / "rna-new.csv", index_col=0).drop(columns="f")
    new.to_csv(tmp_path / "rna-new.csv", index_label="sample")
    words = [tmp_path / "rna-new.csv", f"clinical={folder / 'second.csv'}"]
    found = predict(folder / "model.kw", *words, "--block-size", block_size, out=tmp_path / "p.csv")
    expected = load(folder / "model.kw").decision_function(read_both(folder).assign(rna__f=np.nan))
    assert np.allclose(found["decision_well"], expected)
    warned = [line for line in capsys.readouterr().err.splitlines() if "lack 1 of 6 columns" in line]
    start = (
        "warning: the files lack 1 of 6 columns of the view 'rna' ('rna__f'): missing for all samples, and filled in"
    )
    assert len(warned) == 1 and warned[0].startswith(start)
    assert main(["explain", *map(str, [folder / "model.kw", *words]), "--out", str(tmp_path / "why")]) == 0
    parts = pd.read_csv(tmp_path / "why" / "contributions.csv", index_col=0)
    assert np.allclose(parts["decision_well"], expected)
    assert capsys.readouterr().err.count("lack 1 of 6 columns") == 1


def test_samples_without_any_view_have_empty_rows(cohort, tmp_path, capsys):
    folder, _ = cohort
    rna = pd.read_csv(folder / "rna-new.csv", index_col=0)
    rna.loc["nobody"] = np.nan
    rna.to_csv(tmp_path / "rna.csv")
    found = predict(folder / "grade.kw", tmp_path / "rna.csv", out=tmp_path / "p.csv")
    assert found.loc["nobody"].isna().all()
    assert set(found["label"].dropna()) == {"1", "2"}
    assert len(found) == N_NEW + 1
    assert "1 sample has no view that the model needs, and so no prediction (nobody)" in capsys.readouterr().err


def test_predictions_on_standard_output(cohort, capsys):
    folder, _ = cohort
    assert main(["predict", str(folder / "model.kw"), *map(str, both(folder)), "--out", "-"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("sample,label,decision_well,") and printed.out.count("\n") == N_NEW + 1
    assert "Predicted" in printed.err


def test_a_cohort_unlike_the_training_data_is_warned_of(cohort, tmp_path, capsys):
    folder, _ = cohort
    rna = pd.read_csv(folder / "rna-new.csv", index_col=0)
    (rna * 10 + 30).to_csv(tmp_path / "rna.csv")
    clinical = pd.read_csv(folder / "second.csv", index_col=0)
    clinical.assign(sex=clinical["sex"].map({"f": "female", "m": "male"})).to_csv(tmp_path / "clinical.csv")
    predict(folder / "model.kw", tmp_path / "rna.csv", tmp_path / "clinical.csv", out=tmp_path / "p.csv")
    warned = [line for line in capsys.readouterr().err.splitlines() if "unlike the training data" in line]
    assert len(warned) == 3
    assert "view 'rna': 6 of 6 columns differ from the training samples" in warned[0]
    assert "view 'clinical', column 'sex': 15 of 15 samples have a category" in warned[1]


def test_columns_that_the_training_left_out_need_not_be_there(cohort, tmp_path):
    folder, _ = cohort
    clinical = pd.read_csv(folder / "second.csv", index_col=0).drop(columns="site").assign(extra="x")
    clinical.to_csv(tmp_path / "clinical.csv")
    found = predict(folder / "model.kw", folder / "rna-new.csv", tmp_path / "clinical.csv", out=tmp_path / "a.csv")
    expected = predict(folder / "model.kw", *both(folder), out=tmp_path / "b.csv")
    pd.testing.assert_frame_equal(found, expected)


def test_a_view_that_the_model_does_not_read(cohort, tmp_path, capsys):
    folder, _ = cohort
    tables = read_views([folder / "rna.csv", folder / "clinical.csv"], "labels.csv:diagnosis")
    save(CohortModel("alone:rna", effort="quick", random_state=0).fit(tables.X, tables.y), tmp_path / "rna.kw")
    found = predict(tmp_path / "rna.kw", *both(folder), out=tmp_path / "p.csv")
    assert len(found) == N_NEW
    printed = capsys.readouterr()
    assert "second.csv is read for its samples only: the model does without the view 'clinical'" in printed.out
    assert printed.err == ""
    assert main(["predict", str(tmp_path / "rna.kw"), f"clinical={folder / 'second.csv'}"]) == 2
    assert "no file has a view that the model reads; it reads rna" in capsys.readouterr().err


@pytest.mark.parametrize("ids", ["p{}", "{}"])
def test_samples_of_views_that_the_model_does_without_have_empty_rows(cohort, tmp_path, capsys, ids):
    folder, _ = cohort
    tables = read_views([folder / "rna.csv", folder / "clinical.csv"], "labels.csv:diagnosis")
    save(CohortModel("alone:rna", effort="quick", random_state=0).fit(tables.X, tables.y), tmp_path / "rna.kw")
    rna = pd.read_csv(folder / "rna-new.csv", index_col=0)
    rna.set_axis([ids.format(k) for k in range(len(rna))]).to_csv(tmp_path / "rna.csv", index_label="who")
    clinical = pd.read_csv(folder / "second.csv", index_col=0)
    names = [ids.format(k) for k in range(18, 18 + len(clinical))]
    clinical.set_axis(names).to_csv(tmp_path / "clinical.csv", index_label="who")
    found = predict(tmp_path / "rna.kw", tmp_path / "rna.csv", tmp_path / "clinical.csv", out=tmp_path / "p.csv")
    assert found.index.astype(str).tolist() == [ids.format(k) for k in range(33)] and found.index.name == "who"
    assert found["label"].isna().tolist() == [k >= 23 for k in range(33)]
    warned = f"10 samples have no view that the model needs, and so no prediction ({', '.join(names[5:8])}, ...)"
    assert warned in capsys.readouterr().err
    files = [str(tmp_path / name) for name in ("rna.kw", "rna.csv", "clinical.csv")]
    assert main(["explain", *files, "--out", str(tmp_path / "why")]) == 0
    table = pd.read_csv(tmp_path / "why" / "contributions.csv", index_col=0)
    assert table.index.tolist() == found.index.tolist() and table.index.name == "who"
    assert table["label"].isna().tolist() == found["label"].isna().tolist()
    assert warned in capsys.readouterr().err


def test_models_of_the_library_itself(cohort, tmp_path):
    folder, truth = cohort
    tables = read_views([folder / "rna.csv"], "labels.csv:diagnosis")
    X = read_views({"rna": folder / "rna-new.csv"}).X
    kernels = [Linear("rna"), Gaussian("rna")]
    classes = np.where(np.arange(len(tables.y)) % 3 == 0, "other", tables.y)
    models = {
        "c": MKLClassifier(kernels).fit(tables.X, classes),
        "r": MKLRegressor(kernels).fit(tables.X, np.arange(len(tables.X)) / 7),
        "o": MKLOneClass(kernels).fit(tables.X),
    }
    for name, model in models.items():
        save(model, tmp_path / f"{name}.kw")
        found = predict(tmp_path / f"{name}.kw", folder / "rna-new.csv", out=tmp_path / "p.csv")
        files = [str(tmp_path / f"{name}.kw"), str(folder / "rna-new.csv")]
        assert main(["explain", *files, "--out", str(tmp_path / name)]) == 0
        explained = pd.read_csv(tmp_path / name / "contributions.csv", index_col=0, dtype={"label": str})
        assert explained.iloc[:, 0].equals(found.iloc[:, 0]) or np.allclose(explained.iloc[:, 0], found.iloc[:, 0])
        assert (tmp_path / name / "report.html").exists()
        expected = model.predict(X)
        if name == "r":
            assert np.allclose(found["prediction"], expected)
            continue
        assert found["label"].tolist() == [str(label) for label in expected]
        wanted = ["decision_ill", "decision_other", "decision_well"] if name == "c" else ["decision"]
        assert list(found) == ["label", *wanted]
        assert np.allclose(found[wanted], model.decision_function(X).reshape(len(X), -1))


class TestMatrices:
    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls, tmp_path_factory):
        folder = tmp_path_factory.mktemp("matrices")
        random = np.random.default_rng(1)
        points = random.normal(size=(70, 3))
        ids = [f"p{k}" for k in range(70)]
        similar = pd.DataFrame(np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 4), index=ids, columns=ids)
        y = pd.DataFrame({"y": np.where(points[:, 0] > 0, "up", "down")}, index=ids)
        rna = pd.DataFrame(points + random.normal(size=points.shape) / 2, index=ids, columns=list("abc"))
        similar.iloc[:50, :50].to_csv(folder / "trees.csv", index_label="sample")
        similar.iloc[55:, :50].to_csv(folder / "trees-new.csv", index_label="sample")
        y[:50].to_csv(folder / "labels.csv", index_label="sample")
        rna[:50].to_csv(folder / "rna.csv", index_label="sample")
        rna[50:65].to_csv(folder / "rna-new.csv", index_label="sample")
        y[50:].to_csv(folder / "truth.csv", index_label="sample")
        files = [str(folder / "rna.csv"), "--kernel", f"trees={folder / 'trees.csv'}", "--target", "labels.csv:y"]
        assert main(["fit", *files, "--quick", "--jobs", "1", "--out", str(folder / "model.kw")]) == 0
        return folder

    @pytest.mark.parametrize("block_size", [4, 100])
    def test_samples_of_files_and_matrices(self, folder, tmp_path, capsys, block_size):
        words = [folder / "rna-new.csv", "--kernel", f"trees={folder / 'trees-new.csv'}", "--block-size", block_size]
        found = predict(folder / "model.kw", *words, out=tmp_path / "p.csv")
        assert found.index.tolist() == [f"p{k}" for k in range(50, 70)]
        truth = pd.read_csv(folder / "truth.csv", index_col=0)["y"]
        assert (found["label"] == truth).mean() > 0.8
        assert capsys.readouterr().err.count("warning") == 1  # a quarter of the samples lack the matrix
        given = predict(folder / "model.kw", *words, "--diagonal", "trees=1", out=tmp_path / "q.csv")
        pd.testing.assert_frame_equal(given, found)

    def test_matrices_alone(self, folder, tmp_path, capsys):
        words = ["--kernel", f"trees={folder / 'trees-new.csv'}"]
        found = predict(folder / "model.kw", *words, out=tmp_path / "p.csv")
        assert found.index.tolist() == [f"p{k}" for k in range(55, 70)]
        assert "no file has the view rna" in capsys.readouterr().err
        assert found.index.name == "sample"
        pd.read_csv(folder / "trees-new.csv", index_col=0).to_csv(tmp_path / "trees.csv", index_label="leaf")
        words = ["--kernel", f"trees={tmp_path / 'trees.csv'}"]
        assert predict(folder / "model.kw", *words, out=tmp_path / "p.csv").index.name == "leaf"
        assert main(["explain", str(folder / "model.kw"), *words, "--out", str(tmp_path / "why")]) == 0
        table = pd.read_csv(tmp_path / "why" / "contributions.csv")
        assert table.columns[0] == "leaf" and table["leaf"].tolist() == found.index.tolist()

    def test_another_scale_of_similarities_is_warned_of(self, folder, tmp_path, capsys):
        (pd.read_csv(folder / "trees-new.csv", index_col=0) * 50).to_csv(tmp_path / "trees.csv")
        predict(folder / "model.kw", "--kernel", f"trees={tmp_path / 'trees.csv'}", out=tmp_path / "p.csv")
        assert "unlike the training data: view 'trees': the values differ" in capsys.readouterr().err

    def test_files_without_ids_do_not_go_with_matrices(self, folder, tmp_path, capsys):
        pd.read_csv(folder / "rna-new.csv", index_col=0).to_csv(tmp_path / "rna.csv", index=False)
        kernel = f"trees={folder / 'trees-new.csv'}"
        assert main(["predict", str(folder / "model.kw"), str(tmp_path / "rna.csv"), "--kernel", kernel]) == 2
        assert "the files have no sample ids" in capsys.readouterr().err


WRONG = {
    "unknown view": (["{f}/model.kw", "protein={f}/rna-new.csv"], "the model has no view 'protein'"),
    "unclear file": (["{f}/model.kw", "{f}/labels.csv"], "it is not clear which view"),
    "lacking columns": (
        ["{f}/model.kw", "rna={f}/few.csv"],
        "the files lack 4 of 6 columns of the view 'rna': 'rna__c', 'rna__d', 'rna__e', 'rna__f'",
    ),
    "no number": (["{f}/model.kw", "rna={f}/odd.csv"], "odd.csv, line 3, column 'c': 'high' is no number"),
    "no matrix": (["{f}/model.kw", "{f}/rna-new.csv", "--kernel", "trees={f}/rna-new.csv"], "no similarity matrix"),
    "repeated ids": (["{f}/model.kw", "rna={f}/twice.csv"], "the id"),
    "all empty": (["{f}/model.kw", "rna={f}/empty.csv"], "no usable column"),
    "no model": (["{f}/rna.csv", "{f}/rna-new.csv"], "rna.csv"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_are_answered_in_one_line(cohort, tmp_path, capsys, case):
    folder, _ = cohort
    rna = pd.read_csv(folder / "rna-new.csv", index_col=0)
    rna[["a", "b"]].to_csv(folder / "few.csv")
    rna.astype(object).replace(rna.iloc[1, 2], "high").to_csv(folder / "odd.csv")
    pd.concat([rna, rna[:1]]).to_csv(folder / "twice.csv", index_label="sample")
    (rna * np.nan).to_csv(folder / "empty.csv")
    words, message = WRONG[case]
    out = tmp_path / "deep" / "p.csv"
    assert main(["predict", *(word.format(f=folder) for word in words), "--out", str(out)]) == 2
    printed = capsys.readouterr()
    last = printed.err.splitlines()[-1]
    assert last.startswith("kernelweave predict: error: ") and message in last
    assert not out.parent.exists()


def test_ids_that_a_spreadsheet_would_run(cohort, tmp_path):
    """They are text in the file, and match those of the input when it is read again."""
    folder, _ = cohort
    new = pd.read_csv(folder / "rna-new.csv")
    new["sample"] = [f"{start}{name}" for start, name in zip("=@+-" * 6, new["sample"], strict=False)]
    new.loc[0, "sample"] = "-5"
    path, out, why = (tmp_path / name for name in ("rna-new.csv", "p.csv", "why"))
    new.to_csv(path, index=False)
    found = predict(folder / "model.kw", path, out=out)
    assert found.index[0] == "-5" and found.index[1:].str.match(r"'[=@+-]").all()
    again = read_views({"rna": path, "found": out}, id="sample")
    assert list(again.X.index) == list(new["sample"]) and again.X["found__decision_well"].notna().all()
    assert main(["explain", str(folder / "model.kw"), str(path), "--out", str(why)]) == 0
    assert list(pd.read_csv(why / "contributions.csv")["sample"]) == list(found.index)
