"""``kernelweave fit`` and ``predict`` on files that stay where they are."""

import re

import numpy as np
import pandas as pd
import pytest

from kernelweave import load
from kernelweave.cli import fit, main

pytest.importorskip("pyarrow")
N, N_NEW = 200, 30


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """Training files, a folder of parts among them, files of new samples, and a model that was fitted to the former."""
    folder = tmp_path_factory.mktemp("cohort")
    random = np.random.default_rng(0)
    ids = pd.Index([f"p{k}" for k in range(N + N_NEW)], name="who")
    rna = random.normal(size=(N + N_NEW, 3))
    clinical = pd.DataFrame(
        {"age": random.normal(size=len(ids)), "sex": random.choice(["f", "m"], len(ids))}, index=ids
    )
    clinical["state"] = np.where(rna[:, 0] + clinical["age"] > 0, "ill", "well")
    np.save(folder / "rna.npy", rna[:N])
    (folder / "clinical").mkdir()
    clinical[:90].to_parquet(folder / "clinical" / "part-0.parquet")
    clinical[90:N].to_parquet(folder / "clinical" / "part-1.parquet")
    (folder / "new").mkdir()
    np.save(folder / "new" / "rna.npy", rna[N:])
    clinical[N:].drop(columns="state").to_parquet(folder / "new" / "clinical.parquet")
    words = [str(folder / "rna.npy"), str(folder / "clinical"), "--target", "state", "--quick"]
    assert main(["fit", *words, "--out", str(folder / "model.kw")]) == 0
    return folder, clinical[N:]["state"]


def new(folder):
    return [str(folder / "model.kw"), str(folder / "new" / "rna.npy"), str(folder / "new" / "clinical.parquet")]


def test_a_folder_of_parts_is_fitted_block_by_block(cohort):
    folder, _ = cohort
    model = load(folder / "model.kw")
    assert model.approximation == "nystroem" and model.n_samples_ == N and model.verbose == 0
    assert "drawn from 200; the model is fitted to the other 160" in model.decisions_[-1]


def test_predictions_in_blocks_and_as_ever_are_the_same(cohort, tmp_path, capsys):
    folder, truth = cohort
    outs = [tmp_path / name for name in ("a.csv", "b.csv", "c.parquet")]
    assert main(["predict", *new(folder), "--in-blocks", "--block-size", "7", "--out", str(outs[0])]) == 0
    assert main(["predict", *new(folder), "--out", str(outs[1])]) == 0
    assert main(["predict", *new(folder), "--in-blocks", "--block-size", "7", "--out", str(outs[2])]) == 0
    first, second = (pd.read_csv(out, index_col=0) for out in outs[:2])
    pd.testing.assert_frame_equal(first, second)
    third = pd.read_parquet(outs[2])
    assert list(third.columns) == ["who", "label", "decision_well", "probability_ill", "probability_well"]
    pd.testing.assert_frame_equal(third.set_index("who"), first, check_dtype=False)
    assert (first["label"] == truth).mean() > 0.75
    assert "Predicted 30 samples" in capsys.readouterr().out


def test_large_files_are_read_in_blocks_and_small_ones_as_ever(cohort, monkeypatch, tmp_path):
    folder, _ = cohort
    seen = []
    real = fit.open_views
    monkeypatch.setattr(fit, "open_views", lambda *args, **options: seen.append(real(*args, **options)) or seen[-1])
    main(["predict", *new(folder), "--out", str(tmp_path / "p.csv")])
    assert not seen
    monkeypatch.setattr(fit, "available_memory", lambda: 1000)
    assert main(["predict", *new(folder), "--out", str(tmp_path / "p.csv")]) == 0
    assert len(seen) == 1
    monkeypatch.setattr(fit, "available_memory", lambda: 20_000)  # the files are large, what they hold is not
    main(["predict", *new(folder), "--out", str(tmp_path / "p.csv")])
    assert len(seen) == 2 and seen[-1].nbytes < 0.25 * 20_000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{0}/rna.npy", "{0}/clinical", "--target", "none"], "none of the 2 views has a column 'none'"),
        (
            ["{0}/rna.npy", "{0}/clinical", "--target", "state", "--method", "forest"],
            "'forest' is fitted to samples in mem",
        ),
        (["{0}/rna.npy", "{0}/clinical", "--target", "state", "--method", "alone:z"], "there is no method 'alone:z'"),
        (
            ["{0}/rna.npy", "{0}/clinical", "--target", "state", "--groups", "sex"],
            "--groups is for files that are read into",
        ),
        (["{0}/new/rna.npy", "{0}/clinical", "--target", "state"], "has 30 rows and .*clinical has 200"),
        (["{0}/words.csv", "--target", "state", "--in-blocks"], "words.csv is a text file"),
        (["{0}/empty", "--target", "state"], "empty has no NPY or Parquet files"),
        (["--kernel", "k={0}/clinical", "--target", "state"], "is a folder, not a file"),
    ],
)
def test_one_line_says_what_is_wrong(cohort, tmp_path, capsys, words, message):
    folder, _ = cohort
    (folder / "words.csv").write_text("a,b\n1,2\n")
    (folder / "empty").mkdir(exist_ok=True)
    words = [word.format(folder) for word in words]
    assert main(["fit", *words, "--out", str(tmp_path / "model.kw")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("kernelweave fit: error:") and error.count("\n") == 1
    assert re.search(message, error), error
    assert not (tmp_path / "model.kw").exists()


def test_compare_takes_no_folders(cohort, capsys):
    folder, _ = cohort
    assert main(["compare", str(folder / "clinical"), "--target", "state"]) == 2
    assert "is a folder, not a file" in capsys.readouterr().err
