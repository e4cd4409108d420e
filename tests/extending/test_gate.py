"""The gate of the page ``docs/extending/gate.md``: a file outside the package that works with everything else."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import projected_problem
from combined_properties import check_combined_kernel, check_family
from extending_pages import check_page, check_saved, module_of
from gate_properties import check_gate
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import FitControl, KernelMap, Localized, Projected
from kernelweave.kernels import Gaussian, Linear
from kernelweave.stacks import training
from kernelweave.views import as_views
from localized_problem import LABELS, MACHINES, NEW, SIDE, STACKS, TARGET, TOY, X

StudentGate = module_of("student_gate").StudentGate
KERNELS = [Linear([0, 1]), Gaussian([2, 3])]


@pytest.mark.filterwarnings("ignore")
def test_the_page_shows_the_file_which_is_short(tmp_path):
    names = {"kernels": KERNELS, "X": X, "y": LABELS, "path": tmp_path / "model"}
    check_page("gate", "student_gate", check_gate=check_gate, **names)


def test_it_has_the_properties_of_gates():
    check_gate(StudentGate())


def test_it_is_the_gate_that_its_docstring_states():
    rng = np.random.default_rng(0)
    codes, means = rng.normal(size=(5, 2)), rng.normal(size=(3, 2))
    nearness = 1.0 / (1.0 + ((codes[:, None] - means) ** 2).sum(axis=2))
    nearness /= nearness.sum(axis=1, keepdims=True)
    present = np.ones((5, 3), dtype=bool)
    np.testing.assert_allclose(StudentGate().values(means.ravel(), codes, present) ** 2, nearness)
    np.testing.assert_allclose(StudentGate("paper").values(means.ravel(), codes, present), nearness)
    far = StudentGate("paper").values(means.ravel(), 1e6 * codes, present)
    np.testing.assert_allclose(far, 1 / 3, atol=1e-4)  # all kernels alike


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("norm", ["unit", "paper"])
def test_gated_sums(stack, norm):
    combiner = Localized(StudentGate(norm), l2=0.3)
    family = combiner.family(training(STACKS[stack]), None, FitControl())
    family.strength = 0.3
    theta = 20.0 * family.start(None, np.random.RandomState(1))
    check_family(family, MACHINES["binary"], theta)
    check_combined_kernel(family.finish(theta), as_views(STACKS[stack].support.X), as_views(NEW))


@pytest.mark.parametrize("components", [None, 2])
@pytest.mark.parametrize("constraint", ["orthonormal", "norm", "penalty"])
def test_gated_projections(components, constraint, monkeypatch):
    monkeypatch.setitem(projected_problem.GATINGS, "student", (StudentGate(), components))
    family, theta = projected_problem.prepared(gating="student", constraint=constraint)
    theta = family.domain().enter(theta)
    check_family(family, MACHINES["binary"], theta)
    new = np.random.default_rng(1).normal(size=(5, 7))
    check_combined_kernel(family.finish(theta), as_views(projected_problem.X), as_views(new), 1e-8)


COMBINERS = [
    Localized(StudentGate(), l2=0.01),
    Localized(StudentGate("paper"), l2=0.01, validation_fraction=0.2),
    Localized(StudentGate(), l2="auto", max_iter=5),
    Localized(StudentGate(), l2=0.01, inputs=KernelMap(Gaussian(), n_landmarks=5)),
    Localized(StudentGate(), l2=0.01, quadratic=True, optimizer="armijo", max_iter=5),
    Projected(1, StudentGate()),
    Projected(1, StudentGate(), gating_components=1, quadratic=True),
    Projected(1, StudentGate("paper"), features="kpca", gating_components=2, max_iter=10),
]


@pytest.mark.parametrize("combiner", COMBINERS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_models_are_fitted_and_saved(combiner, tmp_path):
    model = MKLClassifier(KERNELS, combiner, random_state=0)
    for y in (LABELS, LABELS > 0):
        fitted = clone(model).fit(X, y)
        again = check_saved(fitted, NEW, [StudentGate], tmp_path / "model")
        np.testing.assert_array_equal(again.gates(NEW), fitted.gates(NEW))
        assert fitted.gates(NEW).shape == (len(NEW), 2)


@pytest.mark.filterwarnings("ignore")
def test_other_machines(tmp_path):
    combiner = Localized(StudentGate(), l2=0.01)
    for model, y in ((MKLRegressor(KERNELS, combiner), TARGET), (MKLOneClass(KERNELS, combiner), None)):
        check_saved(model.set_params(random_state=0).fit(X, y), NEW, [StudentGate], tmp_path / "model")
    each = MKLClassifier(KERNELS, combiner, weights="per-class", random_state=0).fit(X, LABELS)
    check_saved(each, NEW, [StudentGate], tmp_path / "model")


def test_it_finds_regions():
    model = MKLClassifier([Linear(), Linear()], Localized(StudentGate(), l2=1e-3), C=10.0, random_state=0)
    model.fit(TOY[:160], SIDE[:160])
    assert model.score(TOY[160:], SIDE[160:]) > 0.9  # a linear machine alone is at chance
    grid = {"combiner__gating__norm": ["unit", "paper"]}
    assert GridSearchCV(model, grid, cv=2, error_score="raise").fit(TOY[:80], SIDE[:80]).best_score_ > 0.7
