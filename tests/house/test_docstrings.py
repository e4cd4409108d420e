"""Every public name has a docstring; where it first mentions the thesis, it says whose."""

import importlib
import inspect
import re
import runpy
from pathlib import Path
from types import FunctionType, MethodType, ModuleType

import pytest

ROOT = Path(__file__).parents[2]
MODULES = list(runpy.run_path(str(ROOT / "tools" / "public_names.py"))["public_modules"]())
DESCRIPTORS = (property, classmethod, staticmethod)

PACKAGES = (
    "kernelweave",
    *(
        f"kernelweave.{name}"
        for name in (
            *("kernels", "combiners", "machines", "estimators", "solvers", "reduction", "model_selection", "datasets"),
            *("display", "views", "saving", "compare", "files", "reporting", "survival"),
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


def undocumented(module: ModuleType) -> list[str]:
    """The public names of a module, and public methods and properties of its classes, without a first paragraph."""
    members = {name: getattr(module, name) for name in module.__all__}
    for cls in [one for one in members.values() if inspect.isclass(one)]:
        for name in dir(cls):
            member = inspect.getattr_static(cls, name)
            if not name.startswith("_") and (callable(member) or isinstance(member, DESCRIPTORS)):
                members[f"{cls.__name__}.{name}"] = member if isinstance(member, property) else getattr(cls, name)
    documented = (ModuleType, type, FunctionType, MethodType, property)
    docstrings = {name: inspect.getdoc(one) for name, one in members.items() if isinstance(one, documented)}
    return [name for name, text in docstrings.items() if not is_sentence((text or "").partition("\n\n")[0])]


def is_sentence(paragraph: str) -> bool:
    return paragraph.endswith((".", ":")) and len(paragraph.split()) > 1


@pytest.mark.filterwarnings("ignore:kernelweave.persistence:FutureWarning")
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_has_a_docstring_that_begins_with_a_sentence(module):
    assert undocumented(module) == []


def test_a_missing_docstring_is_noticed():
    class Silent:
        def speak(self):
            pass

        def noise(self):
            """Noise"""

        @property
        def volume(self):
            return 0.0

    module = ModuleType("made_up")
    module.__all__ = ["Silent"]
    module.Silent = Silent
    assert undocumented(module) == ["Silent", "Silent.noise", "Silent.speak", "Silent.volume"]
