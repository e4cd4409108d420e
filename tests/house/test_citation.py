"""CITATION.cff and the page about citing name this version, and the same papers."""

import re
from pathlib import Path

import pytest

import kernelweave
from kernelweave.reporting.citations import REFERENCES

ROOT = Path(__file__).parents[2]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"```bibtex\n@\w+\{(\w+),\n(.*?)\n\}\n```", PAGE, flags=re.DOTALL))
PAPERS = CITATION.partition("references:")[2]


def test_the_version_is_this_one():
    assert re.search(r"^version: (.+)$", CITATION, re.MULTILINE)[1] == kernelweave.__version__
    assert f"version = {{{kernelweave.__version__}}}" in ENTRIES["kernelweave"]


def test_the_date_is_that_of_the_changelog_where_it_has_one():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.search(rf"^## {re.escape(kernelweave.__version__)} \((.+)\)$", changelog, re.MULTILINE)[1]
    released = re.search(r"^date-released: (\d{4}-\d\d-\d\d)$", CITATION, re.MULTILINE)[1]
    assert dated in ("unreleased", released)


def test_the_papers_of_the_file_are_those_of_the_page():
    titles = set(re.findall(r'^    title: "(.+)"$', PAPERS, re.MULTILINE))
    assert len(titles) == 5
    assert titles == {
        re.search(r"  title = \{(.+)\}", entry)[1] for key, entry in ENTRIES.items() if key != "kernelweave"
    }


@pytest.mark.parametrize("name", ["thesis", "localized", "sldr"])
def test_papers_are_cited_as_reports_cite_them(name):
    reference = REFERENCES[name]
    assert f"title = {{{reference.title}}}" in ENTRIES[reference.key]
    assert f"year = {{{reference.year}}}" in ENTRIES[reference.key]
    assert f'title: "{reference.title}"' in PAPERS


def test_the_file_is_valid_yaml_with_the_keys_of_the_format():
    content = pytest.importorskip("yaml").safe_load(CITATION)
    assert {"cff-version", "message", "title", "authors"} <= set(content)
    assert content["cff-version"] == "1.2.0" and content["license"] == "BSD-3-Clause"
    assert all({"type", "title", "authors"} <= set(paper) for paper in content["references"])
