"""``kernelweave fit`` where files hold the target twice: what is fitted, said, and asked for by ``predict``."""

import numpy as np
import pandas as pd
import pytest

from kernelweave import load
from kernelweave.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ids = pd.Index([f"p{i}" for i in range(40)], name="sample")
    dx = np.tile(["u", "v"], 20)
    rna = pd.DataFrame(rng.normal(size=(40, 3)), index=ids).add_prefix("g")
    rna.to_csv("rna.csv")
    pd.DataFrame({"dx": dx, "age": rng.normal(size=40)}, index=ids).to_csv("clinic.csv")
    pd.DataFrame({"dx": dx}, index=ids).to_csv("labels.csv")
    rna.to_parquet("rna.parquet")
    pd.read_csv("clinic.csv", index_col=0).to_parquet("clinic.parquet")
    pd.DataFrame({"dx": dx}, index=ids).to_parquet("labels.parquet")
    return tmp_path


@pytest.mark.parametrize(("suffix", "options"), [("csv", []), ("parquet", ["--in-blocks"])])
def test_a_column_of_the_name_of_the_target_is_not_asked_for_later(folder, capsys, suffix, options):
    files = [f"rna.{suffix}", f"clinic.{suffix}"]
    words = ["fit", *files, "--target", f"labels.{suffix}:dx", "--quick", "--jobs", "1", *options]
    assert main([*words, "--out", "m.kw"]) == 0
    err = capsys.readouterr().err
    assert f"clinic.{suffix}: the column 'dx' has the name of the target and is left out" in err
    assert f"pass --keep-column clinic.{suffix}:dx" in err
    assert "clinic__dx" not in load("m.kw").feature_names_in_
    new = pd.read_csv("clinic.csv", index_col=0)
    new.drop(columns="dx").to_csv("without.csv")
    for clinic in ("without.csv", "clinic.csv"):
        assert main(["predict", "m.kw", "rna.csv", f"clinic={clinic}", "--out", "p.csv"]) == 0
        assert "dx" not in capsys.readouterr().err and len(pd.read_csv("p.csv")) == 40
    assert main([*words, "--keep-column", f"clinic.{suffix}:dx", "--out", "kept.kw"]) == 0
    assert "clinic__dx" in load("kept.kw").feature_names_in_
    if not options:  # in blocks eight samples decide, of which too many columns may be a copy by chance
        assert "warning: the column 'clinic__dx' equals the target one to one" in capsys.readouterr().err
