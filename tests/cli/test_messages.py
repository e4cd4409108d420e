"""What the commands print."""

import pandas as pd

from kernelweave.cli.explanation import write_table
from kernelweave.cli.fit import described_cohort
from kernelweave.cli.messages import listed, say
from kernelweave.files.read import read_cohort


def test_sentences_are_wrapped_and_paths_are_not(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    path = "/home/somebody/a folder with-hyphens/and another one/report.html"
    say(["- " + "word-word " * 8 + "end.", f"Report: {path}", "two\nlines\x1b[31m"])
    lines = capsys.readouterr().out.splitlines()
    assert f"Report: {path}" in lines and "two lines?[31m" in lines
    sentence = lines[: lines.index(f"Report: {path}")]
    assert len(sentence) > 2 and all(len(line) <= 40 for line in sentence)
    assert all(line.startswith("  ") for line in sentence[1:]) and not any(line.endswith("word-") for line in sentence)


def test_lists_are_cut():
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(number) for number in range(15)]).endswith("10, 11 and 3 more")


def test_tables_are_written_as_utf8_and_replaced(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    write_table(path, pd.DataFrame({"Größe, cm": ["a\nb", 'c "d"']}))
    assert path.read_bytes().startswith('"Größe, cm"\n'.encode())
    assert pd.read_csv(path)["Größe, cm"].tolist() == ["a\nb", 'c "d"']
    assert [entry.name for entry in tmp_path.iterdir()] == ["table.csv"]


def test_what_was_read(tmp_path):
    (tmp_path / "a.csv").write_text("s,x\np,1\nq,2\nr,3\nt,4\n")
    (tmp_path / "b.csv").write_text("s,y\nq,2\nt,5\n")
    (tmp_path / "labels.csv").write_text("s,ill\np,no\nq,yes\nr,no\nz,yes\n")
    cohort = read_cohort([tmp_path / "a.csv", tmp_path / "b.csv"], "labels.csv:ill")
    assert described_cohort(cohort, "classification", "words") == [
        "Read 3 samples with a target: 3 have a, 1 has b.",
        "1 sample without a target is left out.",
        "1 sample with a target is in none of the files.",
        "Target ill: no (2), yes (1).",
        "Task: classification (words).",
    ]
