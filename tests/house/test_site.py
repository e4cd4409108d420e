"""The site's sources: every public name is in the API reference, toctrees are whole, and the check of links notices."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import kernelweave
from kernelweave import __version__

ROOT = Path(__file__).parents[2]
API = ROOT / "docs" / "api"
PACKAGES = (
    *("estimators", "kernels", "combiners", "machines", "features", "reduction", "cluster", "recipes"),
    *("model_selection", "files", "views", "saving", "reporting", "datasets", "display", "compare", "solvers"),
    "survival",
)
BESIDE = ("experiments", "experiments.benchmark")  # in the repository, not in the library


def listed() -> list[str]:
    """The full names in the tables of the API reference."""
    names = []
    for page in sorted(API.glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        module = re.search(r"currentmodule:: ([\w.]+)", text)
        for table in re.findall(r"\.\. autosummary::\n(?: +:.*\n)+\n((?: +[\w.]+\n)+)", text):
            names += [f"{module[1]}.{name}" for name in table.split()]
    return names


def the_object(name):
    package, _, last = name.rpartition(".")
    return getattr(importlib.import_module(package), last)


LISTED = listed()


def test_no_name_is_listed_twice():
    assert len(LISTED) > 200
    objects = [id(the_object(name)) for name in LISTED]
    assert len(set(objects)) == len(objects)


@pytest.mark.parametrize("package", ["kernelweave", *(f"kernelweave.{name}" for name in PACKAGES), *BESIDE])
def test_every_public_name_is_in_the_reference(package):
    module = importlib.import_module(package)
    objects = {id(the_object(name)) for name in LISTED}
    public = {name: getattr(module, name) for name in module.__all__ if name != "__version__"}
    absent = [name for name, one in public.items() if not inspect.ismodule(one) and id(one) not in objects]
    assert absent == []


def test_every_package_that_users_import_from_is_in_the_reference():
    modules = {name for name in kernelweave.__all__ if inspect.ismodule(getattr(kernelweave, name))}
    assert modules <= set(PACKAGES)


def test_every_page_of_the_reference_is_in_its_contents():
    contents = (API / "index.rst").read_text(encoding="utf-8")
    assert sorted(path.stem for path in API.glob("*.rst")) == sorted(
        [*re.findall(r"^   (\w+)$", contents, re.M), "index"]
    )


def test_the_citation_is_of_this_version():
    assert f"version = {{{__version__}}}" in (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")


def built(folder, **pages):
    """A small site, and what the check says about it."""
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<html><body>{body}</body></html>")
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("check_site").complaints(folder)
    finally:
        sys.path.remove(str(ROOT / "tools"))


def test_links_that_lead_somewhere_are_right(tmp_path):
    (tmp_path / "a.css").write_text("p { background: url(a.png) }")
    here = '<a href="other.html#part">a</a> <a href="#top" id="top">b</a> <a href="https://example.org/none">c</a>'
    assert built(tmp_path, index=here, other='<h1 id="part">A</h1><a href="./">index</a>') == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('<a href="none.html">a</a>', "none.html: no such page"),
        ('<a href="other.html#none">a</a>', "other.html#none: no such anchor"),
        ('<a href="#none">a</a>', "#none: no such anchor"),
        ('<img src="none.png">', "none.png: no such page"),
        ('<script src="https://example.org/a.js"></script>', "fetches https://example.org/a.js"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "fetches //example.org/a.css"),
    ],
)
def test_a_dead_link_and_a_foreign_part_are_noticed(tmp_path, body, reason):
    (complaint,) = built(tmp_path, index=body, other="")
    assert complaint.startswith("index.html: ") and complaint.endswith(reason)


def test_a_foreign_font_is_noticed(tmp_path):
    (tmp_path / "a.css").write_text("@font-face { src: url('https://example.org/a.woff') }")
    assert built(tmp_path, index="") == ["a.css: fetches 'https://example.org/a.woff'"]


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        (r"\frac12 x", ["<mn>1</mn>", "<mn>2</mn>"]),
        (r"J\Big(\sum_m K_m\Big)", ["(", ")"]),
        (r"k_1, \dots, k_P", ["…"]),
        (r"\| w \|^2", [">‖<"]),
        (r"\bar K_m", ["<msub><mover><mi>K</mi>", "</mover><mi>m</mi></msub>"]),
    ],
)
def test_formulas_become_mathml(latex, parts, monkeypatch):
    pytest.importorskip("sphinx", reason="formulas are translated where the site is built; needs the extra docs")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    written = importlib.import_module("mathml").translated(latex, None, as_block=True)
    assert "<math" in written and all(part in written for part in parts)


def test_pages_that_moved_lead_to_the_new_ones(tmp_path, monkeypatch):
    pytest.importorskip("sphinx", reason="pages move where the site is built; needs the extra docs")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    module = importlib.import_module("moved_pages")
    generated = tmp_path / "api" / "generated"
    generated.mkdir(parents=True)
    for name in ("experiments.Claim", "experiments.benchmark.Entry", "kernelweave.compare.Problem"):
        (generated / f"{name}.html").touch()
    (tmp_path / "dask.html").touch()
    found = {page.name: new for page, new in module.moved(tmp_path).items()}
    assert found == {
        "cluster.html": "dask.html",
        "kernelweave.experiments.Claim.html": "experiments.Claim.html",
        "kernelweave.experiments.benchmark.Entry.html": "experiments.benchmark.Entry.html",
        "kernelweave.experiments.Problem.html": "kernelweave.compare.Problem.html",
    }
