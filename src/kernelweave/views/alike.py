"""Labels of two tables that would be the same if they were written alike: how many, and what they differ by.

They are told to the user and never matched: "7" and "007" may be two samples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

_MOST = 50_000  # labels of each table that are looked at
_FEWEST, _LONG = 2, 3  # pairs that differ by what stands in front or behind, or letters of the only one
Pairs = list[tuple[Any, Any]]


def _without_punctuation(text: str) -> str:
    """Without punctuation, but for what separates digits: "1-1" is not "11"."""
    return re.sub(r"[\W_]+", "", re.sub(r"(?<=\d)[\W_]+(?=\d)", "x", text))


# What labels may differ by, and a text without it; in the order in which it is taken away.
_RULES: dict[str, Callable[[str], str]] = {
    "blanks": lambda text: "".join(text.split()),
    "upper and lower case": str.casefold,
    "'.0' at the end": lambda text: re.sub(r"(?<=\d)\.0+$", "", text),
    "punctuation": _without_punctuation,
    "leading zeros": lambda text: re.sub(r"(?<!\d)0+(?=\d)", "", text),
}
# Those that leave what separates a label from what stands in front or behind.
_INSIDE = tuple(rule for rule in _RULES if rule != "punctuation")


@dataclass(frozen=True)
class Difference:
    """What labels of two tables differ by: how they are spelled, or what one has in front or behind."""

    words: str
    pairs: Pairs
    is_spelling: bool
    is_sure: bool  # whether it is so likely the same samples that a user should know

    def sentence(self, first: str, second: str) -> str:
        """One about two tables, such as "2 ids of a.csv differ from those of b.csv only by ..."."""
        count, (one, other) = len(self.pairs), self.pairs[0]
        start = f"1 id of {first} differs from one" if count == 1 else f"{count:,} ids of {first} differ from those"
        return f"{start} of {second} only by {self.words}, such as {one!r} and {other!r}"


def difference(some: Iterable[Any], others: Iterable[Any]) -> Difference | None:
    """By what most labels differ that stand in one of two tables only; None where they are simply different."""
    first, second = list(dict.fromkeys(some)), list(dict.fromkeys(others))
    known, also = set(second), set(first)
    first = [label for label in first if label not in known][:_MOST]
    second = [label for label in second if label not in also][:_MOST]
    found = [_alike(first, second), _longer(first, second, ()), _longer(first, second, _INSIDE)]
    return max((one for one in found if one is not None), key=lambda one: len(one.pairs), default=None)


def written_alike(label: Any, rules: Iterable[str]) -> str:
    text = str(label)
    for rule in rules:
        text = _RULES[rule](text)
    return text


def _alike(first: Sequence[Any], second: Sequence[Any]) -> Difference | None:
    rules, pairs = tuple(_RULES), _equal(first, second, tuple(_RULES))
    if not pairs:
        return None
    for rule in reversed(_RULES):  # blanks are punctuation, too
        fewer = tuple(other for other in rules if other != rule)
        own = _equal(first, second, fewer)
        if len(own) == len(pairs):
            rules, pairs = fewer, own
    return Difference(_listed(rules) or "their type", pairs, is_spelling=True, is_sure=True)


def _equal(first: Sequence[Any], second: Sequence[Any], rules: tuple[str, ...]) -> Pairs:
    """Labels that become the same text, each of them alone; two numbers are simply different."""
    left, right = (_by_text(labels, rules) for labels in (first, second))
    pairs = [(left[text], right[text]) for text in left if text in right]
    return [pair for pair in pairs if not all(isinstance(label, Real) for label in pair)]


def _by_text(labels: Sequence[Any], rules: tuple[str, ...]) -> dict[str, Any]:
    texts = [written_alike(label, rules) for label in labels]
    counts = Counter(texts)
    return {text: label for text, label in zip(texts, labels, strict=True) if counts[text] == 1 and text}


def _longer(first: Sequence[Any], second: Sequence[Any], rules: tuple[str, ...]) -> Difference | None:
    """Labels of one table that are those of the other with something in front or behind."""
    left, right = (
        _by_text([label for label in labels if not isinstance(label, Real)], rules) for labels in (first, second)
    )
    found = [_with_more(*pair, place) for pair in ((left, right), (right, left)) for place in ("in front", "behind")]
    best = max(range(len(found)), key=lambda place: len(found[place][0]))
    pairs, added = found[best]
    pairs = pairs if best < len(found) // 2 else [(one, other) for other, one in pairs]
    if len(pairs) < _FEWEST and not any(min(map(len, map(str, pair))) >= _LONG for pair in pairs):
        return None
    place = ("in front", "behind")[best % 2]
    is_one = len(added) == 1
    what = f"{next(iter(added))!r} {place}" if is_one and not rules else f"what stands {place}"
    words = _listed([*_needed(pairs, rules), what])
    return Difference(words, pairs, is_spelling=False, is_sure=is_one and len(pairs) >= _FEWEST)


def _with_more(short: dict[str, Any], long: dict[str, Any], place: str) -> tuple[Pairs, set[str]]:
    """Pairs of a label and of a longer one, and what the longer ones have more."""
    pairs, added = {}, set()
    for text, label in long.items():
        for base, rest in _cuts(text, place):
            if base in short and base not in pairs:
                pairs[base] = short[base], label
                added.add(rest)
    return list(pairs.values()), added


def _needed(pairs: Pairs, rules: Sequence[str]) -> list[str]:
    """The rules without which one label of a pair is no part of the other."""
    others = {rule: [other for other in rules if other != rule] for rule in rules}
    return [rule for rule in rules if not all(_contains(one, other, others[rule]) for one, other in pairs)]


def _contains(one: Any, other: Any, rules: Sequence[str]) -> bool:
    a, b = written_alike(one, rules), written_alike(other, rules)
    return a in b or b in a


def _cuts(text: str, place: str) -> Iterable[tuple[str, str]]:
    """A text without its start or its end, and what was cut off, where letters, digits and others meet."""
    for at in range(1, len(text)):
        if _kind(text[at - 1]) != _kind(text[at]):
            yield (text[at:], text[:at]) if place == "in front" else (text[:at], text[at:])


def _kind(letter: str) -> str:
    return "digit" if letter.isdigit() else "letter" if letter.isalpha() else "other"


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
