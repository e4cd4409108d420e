"""`benchmarks.portfolio` measures a small set, goes on from what it stored, and leaves out sets that are not there."""

import sys

from benchmarks import portfolio


def test_tables_of_one_set(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("KERNELWEAVE_DATA", raising=False)
    monkeypatch.setattr(portfolio, "TRAINING", 60)
    arguments = ["portfolio", "--draws", "1", "--cells", str(tmp_path), "--sets", "wine"]
    monkeypatch.setattr(sys, "argv", [*arguments, "heart"])
    portfolio.main()
    printed = capsys.readouterr().out
    assert printed.startswith("heart is not in the data directory")
    assert all(f"\n{label} " in printed for label in portfolio.SINGLE.values())
    monkeypatch.setattr(portfolio, "measured", None)
    monkeypatch.setattr(sys, "argv", arguments)
    portfolio.main()
    assert printed.endswith(capsys.readouterr().out)
