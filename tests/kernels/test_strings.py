"""The spectrum kernel of strings."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave import MKLClassifier, stack_views
from kernelweave.kernels import Linear, Spectrum

rng = np.random.default_rng(0)
STRINGS = ["".join(rng.choice(list("ACGT"), size=size)) for size in rng.integers(0, 40, size=15)]
FRAME = stack_views({"seq": STRINGS, "x": rng.normal(size=(15, 2))})


def counts(text, k):
    return Counter(text[i : i + k] for i in range(len(text) - k + 1))


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_counts_common_words(k):
    expected = [
        [sum(counts(a, k)[w] * counts(b, k)[w] for w in counts(a, k)) for b in STRINGS[9:]] for a in STRINGS[:9]
    ]
    kernel = Spectrum("seq", k=k).fit(FRAME)
    np.testing.assert_array_equal(kernel.cross(FRAME[:9], FRAME[9:]), expected)
    np.testing.assert_array_equal(kernel.diagonal(FRAME), np.diagonal(kernel.gram(FRAME)))


def test_new_words_are_no_trouble():
    kernel = Spectrum(k=2).fit([["abc"], ["bcd"]])
    np.testing.assert_array_equal(kernel.cross([["xyz"], ["zabz"]], [["abc"], ["bcd"]]), [[0, 0], [1, 0]])
    np.testing.assert_array_equal(kernel.diagonal([["xyz"]]), [2])


def test_short_strings_have_zero_rows():
    X = [["ab"], ["abcd"], [""]]
    np.testing.assert_array_equal(Spectrum(k=3).fit(X).gram(X), [[0, 0, 0], [0, 2, 0], [0, 0, 0]])
    np.testing.assert_array_equal(Spectrum(k=9).fit(X).gram(X), np.zeros((3, 3)))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_strings_are_missing_views(missing):
    frame = pd.DataFrame({"seq": ["abc", missing, "bcd"]}, dtype=object)
    kernel = Spectrum("seq", k=2).fit(frame)
    np.testing.assert_array_equal(kernel.present(frame), [True, False, True])
    np.testing.assert_array_equal(kernel.gram(frame), [[2, 0, 1], [0, 0, 0], [1, 0, 2]])
    np.testing.assert_array_equal(kernel.present(frame.iloc[[1]]), [False])  # no string left to tell what it is
    np.testing.assert_array_equal(kernel.cross(frame.iloc[[1]], frame), np.zeros((1, 3)))


def test_arrays_of_strings_work():
    np.testing.assert_array_equal(
        Spectrum(k=1).fit(np.array([["ab"], ["b"]])).gram(np.array([["ab"], ["b"]])), [[2, 1], [1, 1]]
    )


def test_in_a_model_beside_numbers():
    frame = FRAME.assign(seq=[None if i == 2 else text + "ACG" for i, text in enumerate(STRINGS)])
    model = MKLClassifier([Spectrum("seq", k=2), Linear("x")]).fit(frame, np.arange(15) % 2)
    assert model.kernel_weights(frame).loc[2].tolist() == pytest.approx([0.0, 1.0])
    assert model.predict(frame.assign(seq="TTTTTTNNN")).shape == (15,)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["ab", "cd"], ["ef", "gh"]], "kernel 'dna' .Spectrum. needs one column of strings, but its view has 2"),
        (np.ones((2, 1)), "view 'dna' of sample 0 is 1.0, but the kernel 'dna' .Spectrum. compares strings"),
        (np.array([["ab"], [3]], dtype=object), "view 'dna' of sample 1 is 3, but"),
        (np.array([[b"ab"], [b"c"]], dtype=object), "sample 0 is b'ab'"),
        (sp.csr_matrix([[1.0], [2.0]]), "does not take sparse"),
    ],
)
def test_bad_columns(X, message):
    with pytest.raises(ValueError, match=message):
        Spectrum().fit(X, label="dna")


@pytest.mark.parametrize("k", [0, -1, 2.0, "3", None, True])
def test_k_must_be_a_whole_number(k):
    with pytest.raises(ValueError, match="k of the kernel 'spectrum' must be a positive whole number"):
        Spectrum(k=k).fit([["ab"], ["cd"]])
