"""Without matplotlib everything but drawing works, and drawing says what to install."""

import subprocess
import sys

import pytest
from sklearn.decomposition import PCA
from sklearn.svm import SVC

from kernelweave import MKLClassifier, datasets, display
from kernelweave._extras import pyplot
from kernelweave.combiners import Projected
from kernelweave.kernels import Linear
from kernelweave.model_selection import ResponseSurfaceSearchCV

X, Y = datasets.make_gauss(4, 60, random_state=0)
DRAWINGS = {
    "ConvergenceDisplay": lambda model, gated: display.ConvergenceDisplay.from_estimators({"model": model}),
    "EmbeddingDisplay": lambda model, gated: display.EmbeddingDisplay.from_estimator(PCA(2).fit(X), X, Y),
    "GatingDisplay": lambda model, gated: display.GatingDisplay.from_estimator(gated, X, Y, grid_resolution=5),
    "KernelWeightsDisplay": lambda model, gated: display.KernelWeightsDisplay.from_estimator(model),
    "ProjectionDisplay": lambda model, gated: display.ProjectionDisplay.from_estimator(model, X, Y),
    "ProjectionImagesDisplay": lambda model, gated: display.ProjectionImagesDisplay.from_estimator(
        model, image_shape=(1, 2)
    ),
    "RegressionFitDisplay": lambda model, gated: display.RegressionFitDisplay.from_estimator(gated, X[:, :1], X[:, 1]),
    "ResponseSurfaceDisplay": lambda model, gated: display.ResponseSurfaceDisplay.from_estimator(
        ResponseSurfaceSearchCV(SVC(), ["C", "gamma"], cv=2).fit(X, Y)
    ),
}


@pytest.fixture(scope="module")
def model():
    combiner = Projected(1)
    return MKLClassifier([("one", Linear()), ("two", Linear())], combiner, random_state=0).fit(X, Y)


def test_every_display_is_listed():
    assert set(DRAWINGS) == set(display.__all__)


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawing_names_the_extra(name, model, gated, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # what makes `import matplotlib` fail
    with pytest.raises(ImportError, match=r"^matplotlib is needed to draw; pip install kernelweave\[plot\]$"):
        DRAWINGS[name](model, gated)


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_same_call_draws_with_matplotlib(name, model, gated):
    pytest.importorskip("matplotlib", reason="draws; needs the extra plot").use("Agg")
    assert DRAWINGS[name](model, gated).figure_ is not None


def test_a_broken_matplotlib_is_not_called_absent(tmp_path, monkeypatch):
    (tmp_path / "matplotlib.py").write_text("import a_package_that_is_nowhere")
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_nowhere"):
        pyplot()


def test_every_public_name_is_there_without_matplotlib():
    program = """
import sys
sys.modules["matplotlib"] = None
import kernelweave
for name in kernelweave.__all__:
    getattr(kernelweave, name)
print(*kernelweave.MKLClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[4.0]]))
"""
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert run.stdout == "1\n"
