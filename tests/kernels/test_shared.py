import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernelweave.kernels import Constant, Gaussian, KernelStack, Linear, Polynomial, Spectrum
from kernelweave.kernels.arithmetic import KernelSheet, SharedKernel
from kernelweave.views import Views

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 4))
NEW = rng.normal(size=(5, 4))
STRANGE = rng.normal(size=(3, 4))
WORDS = pd.DataFrame({"word": ["ab", "abba", "ba", "bb", "aa", "abab"], "number": np.arange(6.0)})


class Counting(Gaussian):
    calls = 0

    def gram_of(self, A):
        Counting.calls += 1
        return super().gram_of(A)

    def cross_of(self, A, B):
        Counting.calls += 1
        return super().cross_of(A, B)


@pytest.fixture(autouse=True)
def no_calls_yet():
    Counting.calls = 0


def test_known_samples_are_looked_up_and_others_computed():
    sheet = KernelSheet.compute(Counting(), X, NEW)
    plain = Gaussian().fit(X)
    Counting.calls = 0
    np.testing.assert_array_equal(sheet.gram(X), plain.gram(X))
    np.testing.assert_allclose(sheet.gram(X[[3, 1, 3]]), plain.gram(X[[3, 1, 3]]), rtol=1e-12)
    np.testing.assert_allclose(sheet.cross(NEW, X[4:9]), plain.cross(NEW, X[4:9]), rtol=1e-12)
    np.testing.assert_allclose(sheet.cross(X[::2], X), plain.cross(X[::2], X), rtol=1e-12)
    np.testing.assert_allclose(sheet.diagonal(NEW), plain.diagonal(NEW))
    assert Counting.calls == 0
    mixed = np.vstack([NEW, STRANGE])
    np.testing.assert_allclose(sheet.cross(mixed, X), plain.cross(mixed, X))
    np.testing.assert_allclose(sheet.cross(X, NEW), plain.cross(X, NEW))
    np.testing.assert_allclose(sheet.gram(NEW), plain.gram(NEW))
    np.testing.assert_allclose(sheet.diagonal(STRANGE), plain.diagonal(STRANGE))
    assert Counting.calls == 3


def test_rows_of_one_x_are_known_by_their_positions(monkeypatch):
    def digests_of(X):
        raise AssertionError("entries of X are gone through")

    monkeypatch.setattr("kernelweave.views.table.digests_of", digests_of)
    whole = Views(np.vstack([X, NEW]))
    train, test, weight = whole.rows(np.arange(12)), whole.rows(np.arange(12, 17)), np.arange(1.0, 13.0)
    kernel = SharedKernel(Counting(), [KernelSheet.compute(Counting(), train, test, weight)])
    plain = Gaussian().fit(X, weight)
    Counting.calls = 0
    sheet = kernel.fit(whole.rows(np.arange(12)), weight)
    assert isinstance(sheet, KernelSheet)
    np.testing.assert_array_equal(sheet.gram(train), plain.gram(X))
    np.testing.assert_allclose(sheet.cross(whole.rows([14, 3]), train), plain.cross(whole.X[[14, 3]], X), rtol=1e-12)
    stack = KernelStack([kernel]).fit(train, weight)
    stack.matrices()
    kept = stack.restrict(np.array([1, 5]))
    assert kept.reference.X.blocks == []  # positions tell them
    np.testing.assert_allclose(kept.cross(0, test, np.ones(5, dtype=bool)), plain.cross(NEW, X[[1, 5]]), rtol=1e-12)
    assert Counting.calls == 0
    for views, own in ((train, None), (whole.rows(np.arange(1, 13)), weight), (Views(X), weight)):
        assert isinstance(kernel.fit(views, own), Counting)


def test_a_gram_matrix_is_a_new_array_each_time():
    sheet = KernelSheet.compute(Gaussian(), X, NEW)
    sheet.gram(X)[:] = 0.0
    np.testing.assert_array_equal(sheet.gram(X), Gaussian().fit(X).gram(X))


def test_a_fit_finds_the_sheet_of_its_samples_and_weights():
    weight = np.linspace(1.0, 2.0, 12)
    kernel = SharedKernel(
        Counting(), [KernelSheet.compute(Counting(), X, NEW), KernelSheet.compute(Counting(), X, NEW, weight)]
    )
    assert kernel.fit(X).values is kernel.sheets[0].values
    assert kernel.fit(X, np.ones(12)).values is kernel.sheets[0].values
    assert kernel.fit(X, weight).values is kernel.sheets[1].values
    assert kernel.sheets[0].kernel.scale_ != kernel.sheets[1].kernel.scale_
    other = kernel.fit(X[::-1], None, "name")
    assert type(other) is Counting and other.label_ == "name" and not hasattr(kernel.kernel, "scale_")
    assert clone(kernel) is kernel


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_a_stack_of_shared_kernels_is_the_stack(normalize):
    kernels = [Linear([0, 1]), Gaussian([1, 2, 3]), 0.5 * Linear([0]) + Polynomial([2, 3]), Constant(2.0)]
    shared = [SharedKernel(kernel, [KernelSheet.compute(kernel, X, NEW)]) for kernel in kernels]
    plain, lookup = (KernelStack(entries, normalize).fit(X) for entries in (kernels, shared))
    assert plain.names == lookup.names
    np.testing.assert_array_equal(plain.matrices(), lookup.matrices())
    new = Views(NEW)
    lean, lookup = (stack.restrict(np.array([1, 4, 7])) for stack in (plain, lookup))
    for m in range(len(kernels)):
        np.testing.assert_allclose(
            lookup.cross(m, new, np.ones(5, bool)), lean.cross(m, new, np.ones(5, bool)), rtol=1e-12, atol=1e-15
        )


def test_missing_views():
    gaps = X.copy()
    gaps[3, :2] = np.nan
    kernel = Gaussian([0, 1], scale=1.0)
    sheet = KernelSheet.compute(kernel, gaps, NEW)
    np.testing.assert_array_equal(sheet.gram(gaps), clone(kernel).fit(gaps).gram(gaps))
    np.testing.assert_array_equal(sheet.present(gaps), np.arange(12) != 3)


def test_text_and_sparse_views():
    kernel = SharedKernel(
        Spectrum(view="word"), [KernelSheet.compute(Spectrum(view="word"), WORDS.iloc[:4], WORDS[4:])]
    )
    views = Views(WORDS.iloc[:4])
    sheet, plain = kernel.fit(views), Spectrum(view="word").fit(views)
    kept = views.keep(np.array([0, 2]), np.array([0]))
    assert (sheet._found(WORDS) == np.arange(6)).all() and (sheet._found(kept) == [0, 2]).all()
    np.testing.assert_array_equal(sheet.cross(WORDS, kept), plain.cross(WORDS, kept))
    sparse = sp.csr_matrix(np.where(np.abs(X) > 0.3, X, 0.0))
    sheet = KernelSheet.compute(Linear(), sparse[:8], sparse[8:])
    assert (sheet._found(sparse) == np.arange(12)).all()
    np.testing.assert_allclose(sheet.cross(sparse[8:], sparse[:8]), (sparse[8:] @ sparse[:8].T).toarray())


def test_parts_of_the_training_samples_are_known_at_sight(monkeypatch):
    kernel = SharedKernel(Counting(), [KernelSheet.compute(Counting(), X[2:10], NEW)])
    whole = Views(X)
    fitted = kernel.fit(whole.rows(np.arange(2, 10)))
    plain = Gaussian().fit(X[2:10])
    expected = plain.cross(X[[9, 4]], X[[5]])
    Counting.calls = 0
    monkeypatch.setattr(Views, "digests", None)
    part = whole.rows(np.array([9, 4]))
    np.testing.assert_allclose(fitted.cross(part, whole.keep(np.array([5]), np.arange(4))), expected, rtol=1e-12)
    assert Counting.calls == 0
    fitted.gram(whole)  # has samples that the kernel was not fitted to
    assert Counting.calls == 1


def test_sheets_can_be_pickled():
    kernel = SharedKernel(Gaussian(), [KernelSheet.compute(Gaussian(), X, NEW)])
    found = pickle.loads(pickle.dumps(kernel)).fit(X)
    assert isinstance(found, KernelSheet)
    np.testing.assert_array_equal(found.gram(X), kernel.fit(X).gram(X))
