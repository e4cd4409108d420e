"""`Spectrum`: strings compared by the words of length k that they share (Leslie, Eskin and Noble, 2002).

Phi_k(x) of the paper, how often each word of length k (k-mer) occurs in the string x, is a row of `_counts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..validation import Constraints, Whole, check_parameters
from ..validation.schemas import Schema, count
from .base import ViewKernel
from .vectors import products, squared_norms


class Spectrum(ViewKernel):
    """The spectrum kernel k(x, z) = sum_w count_w(x) count_w(z) over all words w of k letters.

    For sequence views: proteins, DNA, words. There is no fixed alphabet or vocabulary: new strings may have words that
    no training string has. A string of fewer than k letters has a zero row. Upper and lower case letters are different
    letters.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The one column with the strings; None means that X has only that column. None or NaN in it is a sample without
        this view.
    k : int
        The length of the words, at least 1.

    Examples
    --------
    >>> from kernelweave.kernels import Spectrum
    >>> X = [["GATTACA"], ["ATTIC"], ["TAT"]]
    >>> Spectrum(k=2).fit(X).gram(X)
    array([[6., 2., 2.],
           [2., 4., 1.],
           [2., 1., 2.]])
    """

    takes_text = True
    positive_semidefinite = True

    _constraints = Constraints(k=Whole(1))

    _saved = Schema({"k": count(1)})

    def __init__(self, view: Any = None, k: int = 3):
        self.view = view
        self.k = k

    def learn(self, values, sample_weight):
        check_parameters(self, f"the kernel {self.label_!r}")

    def read(self, views):
        if self.columns_.size != 1:
            raise ValueError(
                f"the kernel {self.label_!r} (Spectrum) needs one column of strings, but its view has "
                f"{self.columns_.size} columns; name the column with view=, and give each column its own kernel"
            )
        values, present = super().read(views)
        strings = np.full((len(values), 1), "", dtype=object)  # an absent sample is like an empty string
        strings[present] = values[present]
        for i in np.flatnonzero(present):
            if not isinstance(strings[i, 0], str):
                raise ValueError(
                    f"view {self._view_label!r} of {views.first(np.arange(len(values)) == i)} is {strings[i, 0]!r}, "
                    f"but the kernel {self.label_!r} (Spectrum) compares strings"
                )
        return strings, present

    def gram_of(self, A):
        (counts,) = _counts(self.k, A)
        return products(counts, counts)

    def cross_of(self, A, B):
        return products(*_counts(self.k, A, B))

    def diagonal_of(self, A):
        (counts,) = _counts(self.k, A)
        return squared_norms(counts)


def _counts(k: int, *columns: np.ndarray) -> list[sp.csr_matrix]:
    """How often each k-mer occurs in each string, one matrix for each column of strings, over common k-mers."""
    position: dict[str, int] = {}
    parts = []
    for column in columns:
        found, ends = [], [0]
        for (text,) in column:
            found += [position.setdefault(text[i : i + k], len(position)) for i in range(len(text) - k + 1)]
            ends.append(len(found))
        parts.append((found, ends))
    width = max(len(position), 1)
    counts = [sp.csr_matrix((np.ones(len(found)), found, ends), shape=(len(ends) - 1, width)) for found, ends in parts]
    for each in counts:
        each.sum_duplicates()
    return counts
