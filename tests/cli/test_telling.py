"""What the commands print."""

import pandas as pd

from kernelweave.cli.telling import listed, say, write_table


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
