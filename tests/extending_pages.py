"""The pages of ``docs/extending``: each shows one file, which lives outside the package."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

import kernelweave
from kernelweave import combiners, kernels, load, save, views
from kernelweave.combiners import (
    AccuracyWeights,
    AlignmentWeights,
    BestSingle,
    BinaryMKL,
    ConvexLocalized,
    ConvexMKL,
    EasyMKL,
    ElasticMKL,
    FeatureSpaceMeasure,
    FixedWeights,
    GeneralizedMKL,
    GroupMKL,
    IdealKernelDistance,
    KernelDifference,
    KLDivergence,
    LinearMKL,
    Localized,
    LpMKL,
    Mean,
    PerOutput,
    PolynomialMKL,
    Product,
    Projected,
    SparseMKL,
    WidthMKL,
)

FOLDER = Path(__file__).parents[1] / "docs" / "extending"

PUBLIC = {
    name: getattr(module, name) for module in (kernelweave, kernels, combiners, views) for name in module.__all__
} | {"np": np, "GridSearchCV": GridSearchCV}

# One of each for classification, over two kernels.
COMBINERS = [
    Mean(),
    FixedWeights([1.0, 2.0]),
    BestSingle(cv=2),
    AccuracyWeights(),
    AlignmentWeights(),
    IdealKernelDistance(),
    FeatureSpaceMeasure(),
    KLDivergence(),
    ConvexMKL(),
    ConvexLocalized(2),
    LpMKL(),
    ElasticMKL(),
    GroupMKL(),
    SparseMKL(),
    WidthMKL(),
    EasyMKL(),
    BinaryMKL(1),
    LinearMKL(criterion="alignment"),
    PolynomialMKL(),
    GeneralizedMKL(),
    Product(),
    KernelDifference("square", tau=0.1),
    PerOutput(ConvexMKL()),
    Localized(max_iter=3, l2=1e-3),
    Projected(max_iter=3),
]


def module_of(file):
    """The file of a page as a module."""
    if file not in sys.modules:
        spec = importlib.util.spec_from_file_location(file, FOLDER / f"{file}.py")
        sys.modules[file] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[file])
    return sys.modules[file]


def check_page(page, file, **names):
    """The page shows exactly its file, which is short, and its other examples run; the index links the page.

    Parameters
    ----------
    page, file : str
        Names in `FOLDER`, without endings.
    names : dict
        What the examples use beside the public names of the package and those of the file.
    """
    code = (FOLDER / f"{file}.py").read_text()
    text = (FOLDER / f"{page}.md").read_text()
    first, *others = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert first == code, f"{page}.md does not show {file}.py as it is"
    assert f"({file}.py)" in text, f"{page}.md does not link {file}.py"
    assert len(code.splitlines()) < 40
    assert f"({page}.md)" in (FOLDER / "README.md").read_text()
    names = {**PUBLIC, **vars(module_of(file)), **names}
    assert len(others) == 2
    for example in others:
        exec(compile(example, f"{page}.md", "exec"), names)


def check_saved(model, X, classes, path):
    """A model is saved, and predicts the same after `load` with the classes given."""
    save(model, path)
    again = load(path, classes=classes)
    values = [getattr(each, "decision_function", each.predict)(X) for each in (model, again)]
    np.testing.assert_array_equal(*values)
    return again
