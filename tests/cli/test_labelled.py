"""``kernelweave predict --target`` and ``explain --target``: how good predictions are, every number by scikit-learn."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, read_views, save
from kernelweave.cli import main
from kernelweave.kernels import Linear
from kernelweave.recipes import CohortModel
from kernelweave.reporting.formatting import write_column
from kernelweave.reporting.page import Report

N, N_NEW = 90, 43
TARGETS = {"diagnosis": "classification", "stage": "classification", "months": "regression"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training files, new samples with labels in another order, of which some lack one, and models."""
    folder = tmp_path_factory.mktemp("labelled")
    random = np.random.default_rng(0)
    ids = [f"p{k}" for k in range(N + N_NEW)]
    group = np.arange(len(ids)) % 3
    rna = pd.DataFrame(random.normal(size=(len(ids), 5)), index=ids, columns=list("abcde"))
    rna[["a", "b"]] += 1.2 * np.column_stack([group == 0, group == 1])
    clinical = pd.DataFrame({"age": random.normal(60, 9, len(ids))}, index=ids)
    labels = pd.DataFrame({"diagnosis": np.where(group == 0, "ill", "well"), "stage": group + 1}, index=ids)
    labels["months"] = 40 + 5 * rna["a"] + random.normal(size=len(ids))
    for name, table in {"rna": rna, "clinical": clinical, "labels": labels}.items():
        table[:N].to_csv(folder / f"{name}.csv", index_label="sample")
    rna[N:].to_csv(folder / "rna-new.csv", index_label="sample")
    clinical[N:-9].to_csv(folder / "clinical-new.csv", index_label="sample")
    truth = labels[N:].sample(frac=1.0, random_state=0).iloc[:-4].astype(object)
    truth.iloc[5] = np.nan
    truth.to_csv(folder / "truth.csv", index_label="sample")
    for column in TARGETS:
        tables = read_views([folder / "rna.csv", folder / "clinical.csv"], f"labels.csv:{column}", id="sample")
        model = CohortModel("mean", effort="quick", random_state=0, task=TARGETS[column]).fit(tables.X, tables.y)
        save(model, folder / f"{column}.kw")
    return folder


def new_files(folder):
    return [str(folder / "rna-new.csv"), str(folder / "clinical-new.csv")]


def predict(folder, column, tmp_path, *words):
    out = tmp_path / "p.csv"
    files = new_files(folder)
    assert main(["predict", str(folder / f"{column}.kw"), *files, *words, "--out", str(out)]) == 0
    return pd.read_csv(out, index_col=0)


def expected_scores(column, found, model):
    """All scores by scikit-learn, of the samples that have a target."""
    found = found[found["target"].notna()]
    y, predicted = found["target"], found.iloc[:, 0]
    if TARGETS[column] == "regression":
        rmse = metrics.mean_squared_error(y, predicted) ** 0.5
        return {"R²": metrics.r2_score(y, predicted), "MAE": metrics.mean_absolute_error(y, predicted), "RMSE": rmse}
    shares = found.filter(like="probability_").to_numpy()
    own = (y.to_numpy()[:, None] == model.classes_).astype(float)
    two = len(model.classes_) == 2
    brier = (shares - own)[:, 1] ** 2 if two else ((shares - own) ** 2).sum(axis=1)
    return {
        "accuracy": metrics.accuracy_score(y, predicted),
        "balanced accuracy": metrics.balanced_accuracy_score(y, predicted),
        "ROC AUC": metrics.roc_auc_score(y, shares[:, 1] if two else shares, multi_class="ovr"),
        "log loss": metrics.log_loss(y, shares, labels=model.classes_),
        "Brier score": brier.mean(),
    }


def tables_of(printed):
    """The tables that a call has printed: the cells of each row by its first cell."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines() if re.match(r" \S", line)]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("block_size", ["7", "1000"])
@pytest.mark.parametrize("column", list(TARGETS))
def test_every_number_is_that_of_scikit_learn(folder, tmp_path, capsys, column, block_size):
    found = predict(folder, column, tmp_path, "--target", f"truth.csv:{column}", "--block-size", block_size)
    truth = pd.read_csv(folder / "truth.csv", index_col=0)[column].reindex(found.index)
    assert list(found)[1] == "target" and found["target"].isna().sum() == 5
    pd.testing.assert_series_equal(found["target"], truth, check_names=False)
    model, printed = load(folder / f"{column}.kw"), capsys.readouterr().out
    scores = expected_scores(column, found, model)
    kinds = ["percent" if "accuracy" in name else "number" for name in scores]
    rows = tables_of(printed)
    written = [write_column([float(value)], kind)[0] for value, kind in zip(scores.values(), kinds, strict=True)]
    number = re.compile(r"-?[\d.]+")
    for text, cell in zip(written, rows["the model"], strict=True):
        assert float(number.search(cell)[0]) == pytest.approx(float(number.search(text)[0]), abs=1.01e-3)
    known = found[found["target"].notna()]
    assert f"Scores of {len(known)} labelled samples" in printed
    assert "5 samples without a label are not scored." in printed
    for low, value, high in zip(rows["95 % from"], rows["the model"], rows["95 % to"], strict=True):
        assert float(number.search(low)[0]) <= float(number.search(value)[0]) <= float(number.search(high)[0])
    if TARGETS[column] == "regression":
        mean = known["target"].mean()
        errors = [0.0, (known["target"] - mean).abs().mean(), known["target"].std(ddof=0)]
        (constant,) = (row for name, row in rows.items() if name.startswith("always "))
        assert [float(cell) for cell in constant] == pytest.approx(errors, abs=1e-3)
        return
    counts = known["label"].where(known["label"] == known["target"], known["target"]).value_counts()
    counts.index = [label if isinstance(label, str) else int(label) for label in counts.index]
    assert rows[f"always {counts.index[0]}"][0] == f"{100 * counts.iloc[0] / len(known):.1f} %"
    labels = model.classes_
    confusion = metrics.confusion_matrix(known["target"], known["label"], labels=labels)
    shares = metrics.precision_recall_fscore_support(known["target"], known["label"], labels=labels)
    for place, label in enumerate(labels):
        expected = [str(number) for number in (confusion[place].sum(), *confusion[place])]
        expected += [f"{100 * shares[1][place]:.1f} %", f"{100 * shares[0][place]:.1f} %"]
        assert rows[str(label)] == expected


def test_labels_that_the_model_does_not_know_count_as_wrong(folder, tmp_path, capsys):
    truth = pd.read_csv(folder / "truth.csv", index_col=0)
    truth.iloc[:3, 0] = "unsure"
    truth.to_csv(tmp_path / "truth.csv")
    found = predict(folder, "diagnosis", tmp_path, "--target", f"{tmp_path / 'truth.csv'}:diagnosis")
    known = found[found["target"].notna()]
    assert (known["target"] == "unsure").sum() == 3
    printed = capsys.readouterr()
    assert "3 samples have labels that the model does not know, and count as wrong: 'unsure' (3)" in printed.err
    rows = tables_of(printed.out)
    assert rows["the model"][0] == f"{100 * (known['label'] == known['target']).mean():.1f} %"
    balanced = metrics.recall_score(known["target"], known["label"], average="macro", labels=["ill", "unsure", "well"])
    assert rows["the model"][1] == f"{100 * balanced:.1f} %"
    shares = known.filter(like="probability_").assign(probability_unsure=0.0)
    shares = shares[["probability_ill", "probability_unsure", "probability_well"]]
    assert float(rows["the model"][3]) == pytest.approx(metrics.log_loss(known["target"], shares), abs=1e-3)
    assert rows["unsure"][0] == "3" and rows["unsure"][-2:] == ["0.0 %", "–"]


@pytest.mark.parametrize("column", list(TARGETS))
def test_the_target_may_be_a_column_of_a_view(folder, tmp_path, capsys, column):
    """Also the first one, and then without ids: the views are read as they are without it."""
    expected = predict(folder, column, tmp_path)
    truth = pd.read_csv(folder / "truth.csv", index_col=0)[column]
    table = pd.read_csv(folder / "rna-new.csv", index_col=0)
    table.insert(2, column, truth)
    table.to_csv(tmp_path / "rna-new.csv")
    words = [str(folder / f"{column}.kw"), str(tmp_path / "rna-new.csv"), str(folder / "clinical-new.csv")]
    for target in (column, f"rna-new.csv:{column}"):
        assert main(["predict", *words, "--target", target, "--out", str(tmp_path / "b.csv")]) == 0
        found = pd.read_csv(tmp_path / "b.csv", index_col=0)
        pd.testing.assert_frame_equal(found.drop(columns="target"), expected)
        assert found["target"].equals(truth.reindex(found.index).rename("target"))
    table.insert(0, column, table.pop(column))
    table.to_csv(tmp_path / "rna-new.csv", index=False)
    words = [str(folder / f"{column}.kw"), str(tmp_path / "rna-new.csv"), "--target", column, "--id", "none"]
    assert main(["predict", *words, "--out", str(tmp_path / "c.csv")]) == 0
    found = pd.read_csv(tmp_path / "c.csv", index_col=0)
    assert found["target"].tolist() == pytest.approx(table[column].tolist(), nan_ok=True) or (
        found["target"].fillna("").tolist() == table[column].fillna("").tolist()
    )


def test_parquet_has_the_target(folder, tmp_path):
    pytest.importorskip("pyarrow")
    for column in TARGETS:
        words = ["predict", str(folder / f"{column}.kw"), *new_files(folder), "--target", f"truth.csv:{column}"]
        assert main([*words, "--out", str(tmp_path / "p.parquet"), "--block-size", "5"]) == 0
        found = pd.read_parquet(tmp_path / "p.parquet").set_index("sample")["target"]
        truth = pd.read_csv(folder / "truth.csv", index_col=0)[column].reindex(found.index)
        assert found.dropna().tolist() == truth.dropna().tolist() and found.isna().equals(truth.isna())


def test_rows_in_blocks_have_targets_too(folder, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    rna = pd.read_csv(folder / "rna-new.csv", index_col=0)
    rna["diagnosis"] = pd.read_csv(folder / "truth.csv", index_col=0)["diagnosis"]
    rna.rename_axis("sample").reset_index().to_parquet(tmp_path / "rna.parquet")
    words = ["predict", str(folder / "diagnosis.kw"), str(tmp_path / "rna.parquet"), "--target", "diagnosis"]
    assert main([*words, "--in-blocks", "--block-size", "10", "--out", str(tmp_path / "p.csv")]) == 0
    found = pd.read_csv(tmp_path / "p.csv", index_col=0)
    assert found["target"].equals(rna["diagnosis"].rename("target"))
    right = (found["label"] == found["target"])[found["target"].notna()].mean()
    assert tables_of(capsys.readouterr().out)["the model"][0] == f"{100 * right:.1f} %"


def test_what_cannot_be_scored_is_refused(folder, tmp_path, capsys):
    out = ["--out", str(tmp_path / "p.csv")]
    tables = read_views([folder / "rna.csv"], "labels.csv:diagnosis", id="sample")
    save(MKLOneClass([Linear("rna")]).fit(tables.X), tmp_path / "one.kw")
    save(MKLRegressor([Linear("rna")]).fit(tables.X, np.eye(N, 2)), tmp_path / "two.kw")
    for name, message in (("one", "--target is for models of classes or numbers"), ("two", "--target is one column")):
        call = ["predict", str(tmp_path / f"{name}.kw"), str(folder / "rna-new.csv"), "--target", "truth.csv:months"]
        assert main([*call, *out]) == 2 and message in capsys.readouterr().err
    call = ["predict", str(folder / "months.kw"), *new_files(folder), "--target"]
    for target, message in (
        ("truth.csv:month", "did you mean 'months'?"),
        ("nothing", "none of the 2 files has a column 'nothing'"),
        ("truth.csv:diagnosis", "the model predicts numbers, and the target 'truth.csv:diagnosis' of"),
        ("labels.csv:months", "have no sample in common"),
    ):
        assert main([*call, target, *out]) == 2 and message in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()


def test_models_without_probabilities_have_the_other_scores(folder, tmp_path, capsys):
    tables = read_views([folder / "rna.csv"], "labels.csv:stage", id="sample")
    save(MKLClassifier([Linear("rna")]).fit(tables.X, tables.y), tmp_path / "c.kw")
    call = ["predict", str(tmp_path / "c.kw"), str(folder / "rna-new.csv"), "--target", "truth.csv:stage"]
    assert main([*call, "--out", str(tmp_path / "p.csv")]) == 0
    assert len(tables_of(capsys.readouterr().out)["the model"]) == 2


def test_similarities_have_targets(folder, tmp_path, capsys):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 2))
    ids = [f"s{k}" for k in range(60)]
    K = pd.DataFrame(points @ points.T, index=pd.Index(ids, name="sample"), columns=ids)
    K.iloc[:40, :40].to_csv(tmp_path / "kin.csv")
    K.iloc[40:, :40].to_csv(tmp_path / "new.csv")
    y = pd.Series(np.where(points[:, 0] > 0, "up", "down"), index=K.index, name="way")
    y.to_csv(tmp_path / "y.csv")
    diagonal = K.iloc[40:]
    model = str(tmp_path / "m.kw")
    fit = ["fit", "--kernel", f"kin={tmp_path / 'kin.csv'}", "--target", f"{tmp_path / 'y.csv'}:way", "--quick"]
    assert main([*fit, "--out", model]) == 0 and len(diagonal) == 20
    call = ["predict", model, "--kernel", f"kin={tmp_path / 'new.csv'}", "--diagonal", "kin=2"]
    assert main([*call, "--target", "y.csv:way", "--out", str(tmp_path / "p.csv")]) == 0
    found = pd.read_csv(tmp_path / "p.csv", index_col=0)
    assert found["target"].tolist() == y.iloc[40:].tolist()


@pytest.mark.parametrize("column", list(TARGETS))
def test_explain_says_how_good_the_predictions_are(folder, tmp_path, capsys, column):
    call = ["explain", str(folder / f"{column}.kw"), *new_files(folder), "--target", f"truth.csv:{column}"]
    assert main([*call, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    contents = Report.load(tmp_path / "report.json").contents
    assert contents.sections[0].id == "scores"
    found = predict(folder, column, tmp_path, "--target", f"truth.csv:{column}")
    scores = expected_scores(column, found, load(folder / f"{column}.kw"))
    table = next(block for block in contents.sections[0].blocks if block.type == "table")
    assert [c.name for c in table.columns[1:]] == list(scores)
    assert table.rows[0][1:] == pytest.approx(list(scores.values()), rel=1e-4)
    assert "labelled samples" in contents.headline[0] and contents.headline[0] in printed
    assert "without a label" in (tmp_path / "report.md").read_text(encoding="utf-8")
    parts = pd.read_csv(tmp_path / "contributions.csv", index_col=0)
    assert len(parts) == N_NEW
