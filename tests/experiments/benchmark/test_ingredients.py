"""`SideBySide`: constants of the training samples, filled and marked missing views, sparse and reduced ones."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from experiments.benchmark.ingredients import SideBySide, is_sparse, view_block
from kernelweave import stack_views
from kernelweave.views.frames import SparseRows

RNG = np.random.default_rng(0)
A, B = RNG.normal(2.0, 3.0, size=(30, 4)), RNG.normal(size=(30, 2))
WORDS = sp.random(30, 40, 0.2, format="csr", random_state=0)
LACKS = np.arange(30) % 3 == 0


def dense(masked=False):
    return stack_views({"a": np.where(LACKS[:, None], np.nan, A) if masked else A, "b": B})


def test_whole_views_are_standardised_with_the_training_samples():
    X = dense()
    found = SideBySide(["a", "b"]).fit(X[:20]).transform(X[20:])
    expected = [StandardScaler().fit(block[:20]).transform(block[20:]) for block in (A, B)]
    assert np.allclose(found, np.hstack(expected))


def test_a_missing_view_is_filled_with_the_mean_and_marked():
    found = SideBySide(["a", "b"]).fit_transform(dense(masked=True))
    assert found.shape == (30, 7)
    assert np.array_equal(found[:, 4], LACKS.astype(float))
    assert (found[LACKS, :4] == 0.0).all()
    assert np.allclose(found[~LACKS, :4], StandardScaler().fit_transform(A[~LACKS]))


def test_without_filling_a_missing_view_stays_missing():
    found = SideBySide(["a", "b"], fill=False).fit_transform(dense(masked=True))
    assert found.shape == (30, 6)
    assert np.isnan(found[LACKS, :4]).all() and not np.isnan(found[~LACKS]).any()


def test_sparse_views_stay_sparse_with_rows_of_unit_length():
    X = stack_views({"words": pd.Series(SparseRows(WORDS, present=~LACKS)), "b": pd.DataFrame(B)})
    assert is_sparse(X, "words") and not is_sparse(X, "b")
    found = SideBySide(["words", "b"]).fit_transform(X)
    assert sp.issparse(found) and found.shape == (30, 43)
    lengths = np.sqrt(found[:, :40].multiply(found[:, :40]).sum(axis=1))
    assert np.allclose(np.asarray(lengths).ravel(), ~LACKS)


def test_components_of_sparse_and_of_wide_views():
    X = stack_views({"words": WORDS, "a": A, "b": B})
    assert SideBySide(["words", "a", "b"], components=3, widest=3).fit_transform(X).shape == (30, 3 + 3 + 2)


def test_a_view_that_no_training_sample_has_is_left_out():
    X = stack_views({"a": np.where(np.arange(30)[:, None] < 20, np.nan, A), "b": B})
    assert SideBySide(["a", "b"]).fit(X[:20]).transform(X).shape == (30, 2)


@pytest.mark.parametrize("masked", [False, True])
def test_blocks_of_views(masked):
    block, present = view_block(dense(masked), "a")
    assert block.shape == (30, 4) and np.array_equal(present, ~LACKS if masked else np.ones(30, dtype=bool))
