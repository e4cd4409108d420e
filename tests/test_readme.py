"""README's example runs, that of the page about files too, and README says nothing of the tree that is not so."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


(FIFTEEN,) = python_blocks(README)
(FILES,) = [block for block in python_blocks(ROOT / "docs" / "files.md") if "view_report" in block]


def test_the_example_runs_and_has_fifteen_lines(capsys):
    assert len([line for line in FIFTEEN.splitlines() if line]) == 15
    exec(compile(FIFTEEN, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert float(re.search(r"\} (0\.\d+)", printed)[1]) > 0.95
    assert "fac" in printed


def test_the_example_with_files_runs_in_a_folder_of_such_files(tmp_path, monkeypatch, capsys):
    wine = load_wine(as_frame=True)
    table = wine.data.rename_axis("sample").rename(lambda number: f"w{number}")
    clinical = table.iloc[:, 9:].assign(proline=pd.cut(table["proline"], 3, labels=["low", "middle", "high"]))
    clinical.iloc[::7, 0] = np.nan
    (tmp_path / "new").mkdir()
    table.iloc[40:, :9].to_csv(tmp_path / "rna.csv")
    table.iloc[:40, :9].to_csv(tmp_path / "new" / "rna.csv")
    clinical.iloc[40:].sample(frac=0.8, random_state=0).to_csv(tmp_path / "clinical.tsv", sep="\t")
    pd.Series(wine.target_names[wine.target], table.index, name="diagnosis").to_csv(tmp_path / "labels.csv")
    monkeypatch.chdir(tmp_path)
    exec(compile(FILES, "files.md", "exec"), {})
    printed = capsys.readouterr().out
    assert all(words in printed for words in ("in all views", "together", "alone", "without", "intercept", "class_0"))
    assert (tmp_path / "model.kw").exists()


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README.read_text()))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()
