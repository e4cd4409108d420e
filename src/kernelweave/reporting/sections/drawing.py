"""Which samples a chart draws, and what is said of each on hover."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .subject import Subject
from .wording import written

_MOST_WEIGHTS = 3  # of a sample, on hover


def drawn_rows(rows: np.ndarray, strata: np.ndarray, most: int, random_state: Any) -> np.ndarray:
    """At most some of the rows, at random, with the share that each stratum has.

    Parameters
    ----------
    rows : ndarray of int
        The samples to draw from.
    strata : ndarray of int, shape (len(rows),)
    most : int
    random_state : int or None

    Returns
    -------
    ndarray of int
        In ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = drawn_rows(np.arange(100), np.repeat([0, 1], [80, 20]), 10, 0)
    >>> int((drawn < 80).sum()), len(drawn)
    (8, 10)
    """
    if len(rows) <= most:
        return rows
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(rows))
    order = order[np.argsort(strata[order], kind="stable")]  # strata one after the other, each in random order
    return np.sort(rows[order[((np.arange(most) + rng.uniform()) * len(rows) / most).astype(int)]])


def drawn_note(n_drawn: int, n_there: int) -> str:
    """What is said where only some samples are drawn."""
    if n_drawn >= n_there:
        return f"All {n_there} samples are drawn."
    return f"{n_drawn} of {n_there} samples are drawn, chosen at random in proportion to the groups."


def about_samples(subject: Subject, rows: np.ndarray, weights: pd.DataFrame | None = None) -> list[str]:
    """Class or value of samples, true and predicted, and the largest weights where there are any."""
    texts = [true_and_predicted(subject, row) for row in rows.tolist()]
    if weights is None:
        return texts
    names, values = [str(name) for name in weights.columns], weights.to_numpy()[rows]
    largest = np.argsort(-values, axis=1, kind="stable")[:, :_MOST_WEIGHTS]
    found = []
    for text, own, order in zip(texts, values, largest.tolist(), strict=True):
        parts = [f"{names[place]} {own[place]:.2f}" for place in order if own[place] > 0.0]
        found.append("; ".join(part for part in (text, ", ".join(parts)) if part))
    return found


def true_and_predicted(subject: Subject, row: int, target: int | None = None) -> str:
    """The true and the predicted class or value of one sample."""
    predicted = _one(subject, subject.predicted[row], target)
    if subject.task == "novelty":
        return "normal" if subject.predicted[row] > 0 else "novelty"
    if subject.y is None:
        return f"predicted {predicted}"
    return f"true {_one(subject, subject.y[row], target)}, predicted {predicted}"


def _one(subject: Subject, value: Any, target: int | None) -> str:
    if subject.task == "classification":
        return str(value)
    values = np.ravel(value)
    chosen = values if target is None else values[[target]]
    return ", ".join(written(float(number)) for number in chosen[:3])
