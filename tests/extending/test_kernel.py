"""The kernel of the page ``docs/extending/kernel.md``: a file outside the package that works with everything else."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import projected_problem
from combined_properties import check_combined_kernel, check_family
from extending_pages import COMBINERS, check_page, check_saved, module_of
from kernel_properties import check_kernel
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import ConvexMKL, Localized, PerOutput, Projected, Softmax
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.views import as_views, stack_views
from localized_problem import MACHINES

RationalQuadratic = module_of("rational_kernel").RationalQuadratic

rng = np.random.default_rng(0)
N = 45
LABELS = np.arange(N) % 3
X = rng.normal(size=(N, 4)) + 2.0 * np.eye(3, 4)[LABELS]
NEW = rng.normal(size=(7, 4))
MISSING = X.copy()
MISSING[1::5, :2] = np.nan
KERNELS = [("rational", RationalQuadratic([0, 1])), ("wide", RationalQuadratic(alpha=0.5)), ("linear", Linear([2, 3]))]


@pytest.mark.filterwarnings("ignore")
def test_the_page_shows_the_file_which_is_short(tmp_path):
    frame = stack_views({"fac": X[:, :2], "fou": X[:, 2:], "kar": X})
    names = {"X": frame, "y": LABELS, "path": tmp_path / "model"}
    check_page("kernel", "rational_kernel", check_kernel=check_kernel, **names)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 7.0])
def test_it_has_the_properties_of_kernels(alpha):
    check_kernel(RationalQuadratic(alpha=alpha), X)
    check_kernel(RationalQuadratic([0, 1], alpha, scale=1.5), MISSING)


def test_it_is_the_kernel_that_its_docstring_states():
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    kernel = RationalQuadratic(alpha=2.0, scale=1.5).fit(X)
    np.testing.assert_allclose(kernel.gram(X), (1.0 + squared / 9.0) ** -2.0)
    nearly = RationalQuadratic(alpha=1e7, scale=1.5).fit(X)
    np.testing.assert_allclose(nearly.gram(X), Gaussian(scale=1.5 * np.sqrt(2.0)).fit(X).gram(X), atol=1e-5)
    learned = RationalQuadratic().fit(X).scale_
    assert learned == pytest.approx(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))
    with pytest.raises(ValueError, match="alpha must be positive, not 0"):
        MKLClassifier([RationalQuadratic(alpha=0)]).fit(X, LABELS)


def test_sums_and_products_of_it_are_kernels():
    for kernel in (RationalQuadratic([0, 1]) + 0.5 * Linear([2, 3]), RationalQuadratic() * Gaussian([1])):
        check_kernel(kernel, X)
        assert MKLClassifier([kernel, Linear()]).fit(X, LABELS).score(X, LABELS) > 0.8


@pytest.mark.parametrize("constraint", ["orthonormal", "norm", "penalty"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
def test_its_projections_are_learned(constraint, normalize):
    kernels = [RationalQuadratic(projected_problem.A), RationalQuadratic(projected_problem.B, 0.5, scale=2.0)]
    family, theta = projected_problem.prepared(kernels, constraint=constraint, normalize=normalize)
    assert not any(each.by_kernel for each in family.maps)  # features are projected, not kernel values
    theta = family.domain().enter(theta)
    check_family(family, MACHINES["binary"], theta)
    new = np.random.default_rng(1).normal(size=(5, 7))
    check_combined_kernel(family.finish(theta), as_views(projected_problem.X), as_views(new), 1e-8)


def test_landmarks_of_it_are_learned():
    y = LABELS > 0
    model = SparseLargeMarginClassifier(4, RationalQuadratic(), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


PROJECTED = [Projected(1, Softmax(), constraint=each, max_iter=3) for each in ("orthonormal", "norm", "penalty")]


@pytest.mark.parametrize("combiner", [*COMBINERS, *PROJECTED], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_it_works_under_every_combiner_and_is_saved(combiner, tmp_path):
    model = MKLClassifier(KERNELS[:2], combiner, random_state=0)
    y = LABELS if isinstance(combiner, PerOutput | Localized | Projected) else LABELS > 0
    model.fit(X, y)
    assert model.score(X, y) > 0.8
    check_saved(model, NEW, [RationalQuadratic], tmp_path / "model")


def test_it_works_in_other_estimators(tmp_path):
    for model, y in ((MKLRegressor(KERNELS, C=10.0), X[:, 0] ** 2), (MKLOneClass(KERNELS), None)):
        check_saved(model.fit(X, y), NEW, [RationalQuadratic], tmp_path / "model")
    fitted = MKLClassifier(KERNELS[::2]).fit(MISSING, LABELS)
    check_saved(fitted, NEW, [RationalQuadratic], tmp_path / "model")


def test_its_parameters_are_searched():
    grid = {"kernels__rational__alpha": [0.3, 3.0], "C": [0.1, 1.0]}
    search = GridSearchCV(MKLClassifier(KERNELS), grid, cv=3, error_score="raise").fit(X, LABELS)
    assert search.best_score_ > 0.8
    assert cross_val_score(MKLClassifier(KERNELS, ConvexMKL()), X, LABELS, cv=3, error_score="raise").mean() > 0.8


def test_rows_are_computed_without_the_whole_matrix():
    stack = KernelStack(KERNELS).fit(X)
    np.testing.assert_allclose(stack.gram_rows(0, np.array([3, 1])), stack.gram(0)[[3, 1]])
