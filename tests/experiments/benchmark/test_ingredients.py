"""The preparation of views: that of the recipe, for kernels and for `SideBySide`, with missing and sparse views."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import Normalizer, StandardScaler

from experiments.benchmark.ingredients import SideBySide, is_sparse, kernels_of, view_block, view_preparations
from kernelweave import MKLClassifier, stack_views
from kernelweave.compare import Problem
from kernelweave.compare.cells import in_full
from kernelweave.recipes import CohortModel
from kernelweave.views.frames import SparseRows

RNG = np.random.default_rng(0)
A, B = RNG.normal(2.0, 3.0, size=(30, 4)), RNG.normal(size=(30, 2))
WORDS = sp.csr_matrix(RNG.poisson(0.3, size=(30, 40)).astype(float))
PARTS = sp.random(30, 40, 0.2, format="csr", random_state=0)
LACKS = np.arange(30) % 3 == 0
Y = np.arange(30) % 2


def problem_of(**views):
    return Problem(stack_views(views), Y, views={name: name for name in views})


def dense(masked=False):
    return problem_of(a=np.where(LACKS[:, None], np.nan, A) if masked else A, b=B)


def side_by_side(problem, **options):
    return SideBySide(view_preparations(problem), **options)


PROBLEMS = {
    "dense": dense(),
    "masked": dense(masked=True),
    "counts": problem_of(words=WORDS, b=B),
    "masked counts": problem_of(words=pd.Series(SparseRows(WORDS, present=~LACKS)), b=B),
    "dense counts": problem_of(words=WORDS.toarray(), b=B),
    "parts": problem_of(parts=PARTS, words=WORDS),
}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_kernels_are_those_of_the_recipe(kind):
    problem = PROBLEMS[kind]
    kernels = kernels_of(problem)
    model = CohortModel("mean", effort="quick", random_state=0).fit(problem.X, problem.y)
    assert in_full(kernels) == in_full(model.model_.kernels)
    own = MKLClassifier(kernels, model.model_.combiner, C=model.setting_["C"], random_state=0).fit(problem.X, problem.y)
    known = pd.concat([problem.X.iloc[::2], problem.X.iloc[1::2]])
    expected = model.model_.decision_function(model.table(known))
    assert np.allclose(own.decision_function(known), expected, atol=1e-6)


def test_the_kernels_of_a_single_table():
    names = [name for name, _ in kernels_of(problem_of(a=A))]
    assert names == ["linear", "polynomial", "gaussian-narrow", "gaussian-usual", "gaussian-wide"]
    single = kernels_of(problem_of(words=WORDS))
    assert [name for name, _ in single] == ["linear", "gaussian-narrow", "gaussian-usual", "gaussian-wide"]
    assert all(isinstance(kernel.transformer, TfidfTransformer) for _, kernel in single)


def test_whole_views_are_standardised_with_the_training_samples():
    X = dense().X
    found = side_by_side(dense()).fit(X[:20]).transform(X[20:])
    expected = [StandardScaler().fit(block[:20]).transform(block[20:]) for block in (A, B)]
    assert np.allclose(found, np.hstack(expected))


def test_a_missing_view_is_filled_with_the_mean_and_marked():
    found = side_by_side(dense(masked=True)).fit_transform(dense(masked=True).X)
    assert found.shape == (30, 7)
    assert np.array_equal(found[:, 4], LACKS.astype(float))
    assert (found[LACKS, :4] == 0.0).all()
    assert np.allclose(found[~LACKS, :4], StandardScaler().fit_transform(A[~LACKS]))


def test_without_filling_a_missing_view_stays_missing():
    found = side_by_side(dense(masked=True), fill=False).fit_transform(dense(masked=True).X)
    assert found.shape == (30, 6)
    assert np.isnan(found[LACKS, :4]).all() and not np.isnan(found[~LACKS]).any()


@pytest.mark.parametrize("kind", ["counts", "dense counts"])
def test_counts_are_weighted_by_tfidf(kind):
    problem = PROBLEMS[kind]
    found = side_by_side(problem).fit(problem.X[:20]).transform(problem.X)
    assert sp.issparse(found) and found.shape == (30, 42)
    expected = TfidfTransformer().fit(WORDS[:20]).transform(WORDS)
    assert np.allclose(found[:, :40].toarray(), expected.toarray())


def test_sparse_rows_of_other_numbers_have_unit_length():
    problem = PROBLEMS["parts"]
    found = side_by_side(problem).fit_transform(problem.X)
    assert np.allclose(found[:, :40].toarray(), Normalizer().fit_transform(PARTS).toarray())


def test_a_missing_sparse_view_is_0_and_marked():
    problem = PROBLEMS["masked counts"]
    assert is_sparse(problem.X, "words") and not is_sparse(problem.X, "b")
    found = side_by_side(problem).fit_transform(problem.X)
    assert sp.issparse(found) and found.shape == (30, 43)
    lengths = np.sqrt(found[:, :40].multiply(found[:, :40]).sum(axis=1))
    assert np.allclose(np.asarray(lengths).ravel(), ~LACKS)
    assert np.array_equal(found[:, [40]].toarray().ravel(), LACKS.astype(float))


@pytest.mark.parametrize("words", [WORDS, WORDS.toarray()], ids=["sparse", "dense"])
def test_components_of_sparse_and_of_wide_views(words):
    problem = problem_of(words=words, a=A, b=B)
    found = side_by_side(problem, components=3, widest=3, fill=False).fit_transform(problem.X)
    assert isinstance(found, np.ndarray) and found.shape == (30, 3 + 3 + 2)


def test_a_view_that_no_training_sample_has_is_left_out():
    problem = problem_of(a=np.where(np.arange(30)[:, None] < 20, np.nan, A), b=B)
    assert side_by_side(problem).fit(problem.X[:20]).transform(problem.X).shape == (30, 2)


@pytest.mark.parametrize("masked", [False, True])
def test_blocks_of_views(masked):
    block, present = view_block(dense(masked).X, "a")
    assert block.shape == (30, 4) and np.array_equal(present, ~LACKS if masked else np.ones(30, dtype=bool))
