"""Print every public name with its signature, and the help of every command, so that two versions can be compared.

PYTHONPATH=/tmp/before/src python tools/public_names.py > before.txt    # a clone of the code before
python tools/public_names.py > after.txt
diff before.txt after.txt

Public are the names in ``__all__`` of `kernelweave` and of its packages, and of classes among them the methods and
properties without a leading underscore.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import kernelweave


def public_modules() -> Iterator[ModuleType]:
    """The library and those of its packages and modules at the top that say what is public."""
    yield kernelweave
    for found in pkgutil.iter_modules(kernelweave.__path__):
        if not found.name.startswith("_"):
            with contextlib.suppress(ImportError):  # a module that only tells where its names went
                module = importlib.import_module(f"kernelweave.{found.name}")
                if hasattr(module, "__all__"):
                    yield module


def signature(one: object) -> str:
    """The parameters of a callable as text; nothing for anything else."""
    try:
        return str(inspect.signature(one)) if callable(one) else ""
    except ValueError:  # of a type without one, such as an exception
        return ""


def lines_of(name: str, one: object) -> Iterator[str]:
    """The line of a name and, of a class, those of its public methods and properties."""
    yield f"{name}{signature(one)}"
    if inspect.isclass(one):
        for member in sorted(dir(one)):
            if not member.startswith("_"):
                value = inspect.getattr_static(one, member)
                if isinstance(value, classmethod | staticmethod):
                    value = value.__func__
                yield f"    {name.rpartition('.')[2]}.{member}{signature(value)}"


def help_of(*words: str) -> str:
    """What the command line prints for ``--help`` behind some words."""
    from kernelweave.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return printed.getvalue()


if __name__ == "__main__":
    for module in public_modules():
        for name in sorted(module.__all__):
            print(*lines_of(f"{module.__name__}.{name}", getattr(module, name)), sep="\n")
    for command in ("", "demo", "compare", "fit", "predict", "explain", "report"):
        print(f"== kernelweave {command} --help", help_of(*command.split()), sep="\n")
