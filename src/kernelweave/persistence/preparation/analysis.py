"""Documents into terms: the built-in analysers, and which patterns of words a saved model may hold.

A pattern comes from a file, and matching some regular expressions takes a time that grows exponentially with the
document. `check_pattern` takes those whose time cannot: alternatives, each a sequence of characters and of classes of
them, of which at most one is repeated without limit. There may be groups, but none that is repeated or in another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

from sklearn.feature_extraction.text import strip_accents_ascii, strip_accents_unicode

ANALYZERS = ("word", "char", "char_wb")
ACCENTS: dict[str | None, Callable[[str], str]] = {
    None: lambda text: text,
    "ascii": strip_accents_ascii,
    "unicode": strip_accents_unicode,
}
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


def analyser_of(
    analyzer: str,
    ngram_range: tuple[int, int],
    *,
    lowercase: bool,
    strip_accents: str | None,
    stop_words: Iterable[str] | None,
    token_pattern: str | None,
) -> Callable[[str], list[str]]:
    """The function that turns a document into its terms, with the meaning that scikit-learn's parameters have."""
    strip = ACCENTS[strip_accents]

    def prepared(text: str) -> str:
        return strip(text.lower() if lowercase else text)

    if analyzer != "word":
        count = _within_words if analyzer == "char_wb" else _characters
        return lambda text: count(_SPACES.sub(" ", prepared(text)), *ngram_range)
    words_of = re.compile(token_pattern or "").findall
    count_words = partial(_words, stop_words=frozenset(stop_words or ()), least=ngram_range[0], most=ngram_range[1])
    return lambda text: count_words(words_of(prepared(text)))


def _words(words: list[str], stop_words: frozenset[str], least: int, most: int) -> list[str]:
    if stop_words:
        words = [word for word in words if word not in stop_words]
    if (least, most) == (1, 1):
        return words
    return [
        " ".join(words[start : start + n])
        for n in range(least, min(most, len(words)) + 1)
        for start in range(len(words) - n + 1)
    ]


def _characters(text: str, least: int, most: int) -> list[str]:
    return [
        text[start : start + n] for n in range(least, min(most, len(text)) + 1) for start in range(len(text) - n + 1)
    ]


def _within_words(text: str, least: int, most: int) -> list[str]:
    """n-grams of the characters of each word with a space at both ends; a word shorter than n counts once."""
    terms = []
    for word in text.split():
        padded = f" {word} "
        for n in range(least, most + 1):
            terms += [padded[start : start + n] for start in range(max(1, len(padded) - n + 1))]
            if len(padded) <= n:
                break
    return terms
