"""README's example runs, and README says nothing of the tree that is not so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_the_example_runs_and_has_fifteen_lines(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 15
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert float(re.search(r"\} (0\.\d+)", printed)[1]) > 0.95
    assert "fac" in printed


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README.read_text()))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()
