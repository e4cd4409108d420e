"""Documents as counts of terms, `CountTermsOperation`, and these weighed, `WeighTermsOperation` (TF-IDF)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from .analysis import analyser_of
from .base import Operation


@dataclass(frozen=True, eq=False, repr=False)
class CountTermsOperation(Operation):
    """The number of times that each term of a vocabulary is in a document.

    Parameters
    ----------
    terms : list of str
        The vocabulary, in the order of the result's columns.
    analyzer, ngram_range, lowercase, strip_accents, stop_words, token_pattern
        As for scikit-learn's `CountVectorizer`; stop words are a list or None.
    binary : bool
        Whether terms are flagged rather than counted.
    dtype : str
        The type of the counts.
    """

    terms: list[str]
    analyzer: str
    ngram_range: tuple[int, int]
    lowercase: bool
    strip_accents: str | None
    stop_words: list[str] | None
    token_pattern: str | None
    binary: bool
    dtype: str

    takes_documents = True

    @property
    def n_in(self) -> int:
        """One column, of documents."""
        return 1

    @property
    def n_out(self) -> int:
        """Number of terms."""
        return len(self.terms)

    def transform(self, X: Any) -> sp.csr_matrix:
        """The counts of each document of a sequence."""
        analyse = analyser_of(
            self.analyzer,
            self.ngram_range,
            lowercase=self.lowercase,
            strip_accents=self.strip_accents,
            stop_words=self.stop_words,
            token_pattern=self.token_pattern,
        )
        place_of = {term: place for place, term in enumerate(self.terms)}
        places: list[int] = []
        counts: list[int] = []
        ends = [0]
        for number, document in enumerate(_documents(X)):
            if isinstance(document, bytes):
                document = document.decode("utf-8")
            if not isinstance(document, str):
                raise ValueError(f"document {number} is {document!r}, which is no text")
            found = Counter(place_of[term] for term in analyse(document) if term in place_of)
            places += found.keys()
            counts += [1] * len(found) if self.binary else found.values()
            ends.append(len(places))
        content = np.array(counts, dtype=self.dtype), np.array(places, dtype=int), np.array(ends)
        result = sp.csr_matrix(content, shape=(len(ends) - 1, self.n_out))
        result.sort_indices()
        return result

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """The terms."""
        return np.array(self.terms, dtype=object)


def _documents(X: Any) -> Any:
    """A sequence of documents, also where it is given as a table of one column."""
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1:
        return X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0]
    if isinstance(X, str) or getattr(X, "ndim", 1) != 1:
        raise ValueError("documents must come as a sequence of texts")
    return X


@dataclass(frozen=True, eq=False, repr=False)
class WeighTermsOperation(Operation):
    """Counts of terms, their logarithms where asked for, times a weight for each term, then rows of norm 1.

    Parameters
    ----------
    width : int
        Number of terms.
    weights : ndarray of shape (width,) or None
        Inverse document frequencies.
    sublinear : bool
        Whether 1 + log(count) takes the place of the count.
    norm : "l1", "l2" or None
    """

    width: int
    weights: np.ndarray | None
    sublinear: bool
    norm: str | None

    @property
    def n_in(self) -> int:
        """Number of terms."""
        return self.width

    def transform(self, X: Any) -> sp.csr_matrix:
        """The weighed counts, always sparse."""
        values = self._table(X, sparse="csr")
        values = values if sp.issparse(values) else sp.csr_matrix(values)
        if self.sublinear:
            np.log(values.data, values.data)
            values.data += 1.0
        if self.weights is not None:
            values.data *= self.weights[values.indices]
        return values if self.norm is None else normalize(values, norm=self.norm, copy=False)
