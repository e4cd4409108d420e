"""Where `help` of a public name first mentions the thesis, it says whose."""

import importlib
import inspect
import re

import pytest

PACKAGES = (
    "kernelweave",
    *(
        f"kernelweave.{name}"
        for name in (
            *("kernels", "combiners", "machines", "estimators", "solvers", "reduction", "model_selection", "datasets"),
            *("display", "views", "saving", "compare", "files", "reporting"),
        )
    ),
)
AUTHOR = "Gönen"
NEAR = 120  # characters before and after the mention


def documented(package: str) -> dict[str, str]:
    """The docstring of a package, and of each public class and function in it."""
    module = importlib.import_module(package)
    objects = {package: module} | {f"{package}.{name}": getattr(module, name) for name in module.__all__}
    return {
        name: inspect.getdoc(one) or ""
        for name, one in objects.items()
        if inspect.ismodule(one) or inspect.isclass(one) or inspect.isfunction(one)
    }


def names_the_author(text: str) -> bool:
    mention = re.search("thesis", text, re.IGNORECASE)
    return mention is None or AUTHOR in text[max(0, mention.start() - NEAR) : mention.end() + NEAR]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_first_mention_of_the_thesis_names_its_author(package):
    found = documented(package)
    assert found
    assert [name for name, text in found.items() if not names_the_author(text)] == []


def test_a_thesis_without_an_author_is_noticed():
    assert not names_the_author("The mean of the kernels, thesis (2.3).")
    assert names_the_author("The mean of the kernels, thesis (Gönen 2010), (2.3).")
    assert names_the_author("The mean of the kernels.")
