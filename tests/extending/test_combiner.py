"""The combiners of the page ``docs/extending/combiner.md``: files outside the package, with everything else."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from combined_properties import check_combined_kernel, check_family
from extending_pages import check_page, check_saved, module_of
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import FitControl, Mean, Product
from kernelweave.kernels import Gaussian, KernelStack, Linear, Precomputed
from kernelweave.views import as_views
from localized_problem import BOUND, LABELS, MACHINES, MISSING, NEW, TARGET, X

file = module_of("agreement_combiner")
Agreement, AgreementKernel, AgreementFamily = file.Agreement, file.AgreementKernel, file.AgreementFamily
OneStep = module_of("one_step_combiner").OneStep
CLASSES = [Agreement, AgreementKernel]
KERNELS = [Gaussian([0, 1]), Gaussian([2, 3]), Linear([1, 2])]


def test_the_page_shows_the_file_which_is_short(tmp_path):
    names = {"kernels": KERNELS, "X": X, "y": LABELS, "new": NEW, "path": tmp_path / "model"}
    names |= {"machine": MACHINES["binary"], "check_combined_kernel": check_combined_kernel}
    check_page("combiner", "one_step_combiner", **names)


@pytest.mark.parametrize("machine", MACHINES)
def test_one_step_has_the_weights_that_its_docstring_states(machine):
    stack, machine = KernelStack(KERNELS).fit(X), MACHINES[machine]
    solution = machine.solve(sum(stack.gram(m) for m in range(3)) / 3, gap_tol=1e-9)
    norms = np.sqrt([np.sum(solution.coef * (stack.gram(m) @ solution.coef)) for m in range(3)])
    for p in (0.5, 1.0, 3.0):
        eta = OneStep(p).fit(stack, machine, FitControl(tol=1e-6)).weights()
        assert np.sum(eta**p) == pytest.approx(1.0)
        np.testing.assert_allclose(eta / eta.max(), (norms / norms.max()) ** (2.0 / (p + 1.0)), rtol=1e-3)
    with pytest.raises(ValueError, match="p must be positive, not 0"):
        OneStep(0).fit(stack, machine)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_it_has_the_properties_of_combined_kernels(normalize):
    stack = KernelStack(KERNELS, normalize).fit(X)
    check_combined_kernel(AgreementKernel(stack, np.array([0.3])), as_views(X), as_views(NEW))


def test_views_may_be_missing():
    gaps = NEW.copy()
    gaps[2, 2:] = np.nan
    stack = KernelStack(KERNELS[:2]).fit(MISSING)
    check_combined_kernel(AgreementKernel(stack, np.array([0.3])), as_views(MISSING), as_views(gaps))


@pytest.mark.parametrize("machine", MACHINES)
def test_it_has_the_properties_of_families(machine):
    family = AgreementFamily(KernelStack(KERNELS).fit(X))
    check_family(family, MACHINES[machine], np.array([0.3]))


@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_takes_it(machine):
    stack, machine = KernelStack(KERNELS).fit(X), MACHINES[machine]
    kernel = Agreement().fit(stack, machine, FitControl(tol=1e-5))
    ends = [combiner.fit(stack, machine, FitControl(tol=1e-5)) for combiner in (Mean(), Product())]
    assert 0.0 <= kernel.theta[0] <= 1.0 and kernel.solution.converged
    least = min(end.solution.objective for end in ends)
    assert kernel.solution.objective <= least + 1e-4 * abs(least)


def test_its_ends_are_the_mean_and_the_product():
    stack = KernelStack(KERNELS).fit(X)
    for t, combiner in ((0.0, Mean()), (1.0, Product())):
        expected = combiner.fit(stack, MACHINES["binary"]).gram()
        np.testing.assert_allclose(AgreementKernel(stack, np.array([t])).gram(), expected)


MODELS = {
    "binary": (MKLClassifier(), LABELS > 0),
    "one-vs-all": (MKLClassifier(multiclass="one-vs-all"), LABELS),
    "one-vs-one": (MKLClassifier(multiclass="one-vs-one"), LABELS),
    "joint": (MKLClassifier(multiclass="joint"), LABELS),
    "one-vs-all, per class": (MKLClassifier(multiclass="one-vs-all", weights="per-class"), LABELS),
    "one-vs-one, per class": (MKLClassifier(multiclass="one-vs-one", weights="per-class"), LABELS),
    "squared hinge": (MKLClassifier(machine="squared-hinge"), LABELS),
    "least squares": (MKLClassifier(machine="least-squares"), LABELS),
    "regression": (MKLRegressor(), TARGET),
    "one class": (MKLOneClass(), None),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_are_fitted_and_saved(name, tmp_path):
    model, y = MODELS[name]
    model = clone(model).set_params(kernels=KERNELS, combiner=Agreement(), random_state=0)
    model.fit(X, y, sample_weight=BOUND)
    assert model.duality_gap_ < 0.05 * max(1.0, abs(model.objective_))
    again = check_saved(model, NEW, CLASSES, tmp_path / "model")
    np.testing.assert_array_equal(again.kernel_weights(NEW), model.kernel_weights(NEW))
    assert (model.kernel_weights(NEW) == 1.0).all(axis=None)


def test_precomputed_kernels_and_searches(tmp_path):
    everybody = np.vstack([X, NEW])
    ids = np.arange(len(everybody))[:, None]
    kernels = [Precomputed(everybody @ everybody.T), Precomputed(np.exp(everybody @ everybody.T))]
    model = MKLClassifier(kernels, Agreement()).fit(ids[: len(X)], LABELS)
    check_saved(model, ids[len(X) :], CLASSES, tmp_path / "model")
    grid = {"combiner": [Agreement(), Mean()], "kernels__gaussian__scale": [1.0, 3.0]}
    search = GridSearchCV(MKLClassifier([KERNELS[0], KERNELS[2]]), grid, cv=2, error_score="raise").fit(X, LABELS)
    assert set(search.best_params_) == set(grid)
