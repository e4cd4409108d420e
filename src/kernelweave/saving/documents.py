"""Documents as counts of terms, `CountTermsOperation`, and these weighed, `WeighTermsOperation` (TF-IDF).

The pattern of words comes from a file, and matching some regular expressions takes a time that grows exponentially with
the document. `check_pattern` takes those whose time cannot: alternatives, each a sequence of characters and of classes
of them, of which at most one is repeated without limit. There may be groups, but none that is repeated or in another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..validation.schemas import (
    Schema,
    Sizes,
    count,
    flag,
    maybe,
    numbers,
    one_of,
    refuse,
    several,
    size,
    text,
    together,
)
from .operations import TYPES, Operation

_ANALYZERS = ("word", "char", "char_wb")
_ACCENTS = (None, "ascii", "unicode")
LONGEST_NGRAM = 100  # words or characters; the number of n-grams of a document grows with it
_MOST_WAYS = 100  # in which the bounded repetitions of an alternative can match, taken together
_MOST_ALTERNATIVES = 50
_LONGEST_PATTERN = 1000
_SPACES = re.compile(r"\s\s+")

# A piece of an alternative: an assertion, or a character or class of them with a repetition.
_PIECE = re.compile(
    r"""
    (?P<assertion> \\[bB] | \^ | \$ )
    | (?: \\[wWdDsS] | \\[nrtfv] | \\[^\w\s] | \. | \[ \^? \]? (?: \\. | [^\]\\] )* \] | [^\\\[\](){}|*+?.^$] )
      (?P<repeat> [*+?] \?? | \{ \d{1,3} (?: ,\d{0,3} )? \} \?? )?
    """,
    re.VERBOSE,
)
_FLAGS = re.compile(r"\(\?[aiu]+\)")


def check_pattern(pattern: str) -> None:
    """Raise a `ValueError` where a pattern of words is not one that matches in little time for all documents."""
    rest = pattern[found.end() :] if (found := _FLAGS.match(pattern)) else pattern
    alternatives, unlimited, ways, place, is_open = 1, 0, 1, 0, False
    while place < len(rest):
        if rest[place] == "|":
            alternatives, place = alternatives + 1, place + 1
            unlimited, ways = (unlimited, 2 * ways) if is_open else (0, 1)
        elif rest[place] == "(" and not is_open:
            is_open, place = True, place + (3 if rest.startswith("(?:", place) else 1)
        elif rest[place] == ")" and is_open:
            is_open, place = False, place + 1
        elif found := _PIECE.match(rest, place):
            least, most = _bounds(found["repeat"])
            unlimited += most is None
            ways *= 1 if most is None else most - least + 1
            place = found.end()
        else:
            raise ValueError(f"the pattern {pattern!r} is not a simple one")
        if unlimited > 1 or not 1 <= ways <= _MOST_WAYS or alternatives > _MOST_ALTERNATIVES:
            raise ValueError(f"the pattern {pattern!r} repeats too much")
    if is_open or len(pattern) > _LONGEST_PATTERN:
        raise ValueError(f"the pattern {pattern!r} is not a simple one")
    try:
        n_groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} is no regular expression: {error}") from None
    if n_groups > 1:
        raise ValueError(f"the pattern {pattern!r} has more than one group")


def _bounds(repeat: str | None) -> tuple[int, int | None]:
    """The least and the largest number of repetitions; None without a limit."""
    if repeat is None:
        return 1, 1
    simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}
    if repeat[0] in simple:
        return simple[repeat[0]]
    least, comma, most = repeat.rstrip("?").strip("{}").partition(",")
    return int(least), int(most) if most else None if comma else int(least)


def _ngrams(parts: Sequence[str], least: int, most: int, between: str = "") -> list[str]:
    """The sequences of `least` to `most` words, or characters, that stand side by side."""
    if (least, most) == (1, 1):
        return list(parts)
    sizes = range(least, min(most, len(parts)) + 1)
    return [between.join(parts[start : start + n]) for n in sizes for start in range(len(parts) - n + 1)]


def _within_words(document: str, least: int, most: int) -> list[str]:
    """n-grams of the characters of each word with a space at both ends; a word shorter than n counts once."""
    terms = []
    for word in document.split():
        padded = f" {word} "
        for n in range(least, most + 1):
            terms += [padded[start : start + n] for start in range(max(1, len(padded) - n + 1))]
            if len(padded) <= n:
                break
    return terms


@dataclass(frozen=True, eq=False, repr=False)
class CountTermsOperation(Operation):
    """The number of times that each term of a vocabulary is in a document; `binary` flags terms instead.

    Columns of the result are in the order of `terms`. `analyzer`, `ngram_range`, `lowercase`, `strip_accents`,
    `stop_words` (a list or None) and `token_pattern` are as for scikit-learn's `CountVectorizer`.
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

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if self.ngram_range[0] > self.ngram_range[1] or not self.terms:
            refuse(path, "counts nothing")
        if self.analyzer == "word":
            text(self.token_pattern, sizes, f"{path}.token_pattern")
            try:
                check_pattern(str(self.token_pattern))
            except ValueError as error:
                refuse(f"{path}.token_pattern", f"is not trusted: {error}")

    _saved = Schema(
        {
            "terms": several(text, "out"),
            "analyzer": one_of(*_ANALYZERS),
            "ngram_range": together(count(1, LONGEST_NGRAM), count(1, LONGEST_NGRAM)),
            "lowercase": flag,
            "strip_accents": one_of(*_ACCENTS),
            "stop_words": maybe(several(text)),
            "token_pattern": maybe(text),
            "binary": flag,
            "dtype": one_of(*TYPES),
        },
    )

    takes_documents = True
    n_in = property(lambda self: 1)  # a column of documents
    n_out = property(lambda self: len(self.terms))

    def transform(self, X: Any) -> sp.csr_matrix:
        analyse = self._analyser()
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

    def _analyser(self) -> Callable[[str], list[str]]:
        """The function that turns a document into its terms, with the meaning that scikit-learn's parameters have."""
        from sklearn.feature_extraction.text import strip_accents_ascii, strip_accents_unicode  # slow to import

        strip = {None: str, "ascii": strip_accents_ascii, "unicode": strip_accents_unicode}[self.strip_accents]

        def prepared(document: str) -> str:
            return strip(document.lower() if self.lowercase else document)

        if self.analyzer != "word":
            ngrams = _within_words if self.analyzer == "char_wb" else _ngrams
            return lambda document: ngrams(_SPACES.sub(" ", prepared(document)), *self.ngram_range)
        words_of, stop_words = re.compile(self.token_pattern or "").findall, frozenset(self.stop_words or ())

        def terms_of(document: str) -> list[str]:
            words = [word for word in words_of(prepared(document)) if word not in stop_words]
            return _ngrams(words, *self.ngram_range, between=" ")

        return terms_of

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
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
    """Counts of terms, their logarithms (1 + log, if `sublinear`), times a weight for each term, then rows of norm 1.

    `weights` are inverse document frequencies; `norm` is "l1", "l2" or None.
    """

    width: int
    weights: np.ndarray | None
    sublinear: bool
    norm: str | None

    _saved = Schema(
        {
            "width": size("in"),
            "weights": maybe(numbers("in", inf=True)),
            "sublinear": flag,
            "norm": one_of(None, "l1", "l2"),
        }
    )

    def transform(self, X: Any) -> sp.csr_matrix:
        from sklearn.preprocessing import normalize  # slow to import

        values = self._table(X, sparse="csr")
        values = values if sp.issparse(values) else sp.csr_matrix(values)
        if self.sublinear:
            np.log(values.data, values.data)
            values.data += 1.0
        if self.weights is not None:
            values.data *= self.weights[values.indices]
        return values if self.norm is None else normalize(values, norm=self.norm, copy=False)
