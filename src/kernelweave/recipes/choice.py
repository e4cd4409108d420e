"""What `CohortModel` chooses by inner validation beyond the setting of one method.

`Selection` is one method of a portfolio. Methods, and settings of one, are compared by the losses of out-of-fold
predictions, which tell more than the share of right labels: on 38 data sets (76 draws of at most 300 training samples,
``python -m benchmarks.portfolio``) the accuracy on validation samples is 84.5 % for settings and methods chosen by
Brier's score of calibrated probabilities and 83.4 % for those chosen by out-of-fold accuracy. The first method, in the
order of simplicity, counts whose mean loss is within `CLOSE` standard errors of the least one.

`class_offsets` are constants that are added to decision values, one for each class. A machine ranks the samples of a
small class well and cuts badly, because its threshold comes from margins, not from the score: with f_c(x) the decision
value of class c, the label is that of the largest f_c(x) + b_c. The slope s and the offsets b minimise the log loss of
the softmax of s (f_c(x) + b_c), weighted by the inverse size of the classes where balanced accuracy counts. They are
judged across parts of the samples, each by the offsets of the others, and kept only where the score rises by more than
`SURE` standard errors of the difference.

Standard errors of differences of scores are those of 100 bootstrap samples, drawn within each validation fold, so that
they are paired and serve every score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import logsumexp

from .search import TIE, Found

Score = Callable[[np.ndarray, np.ndarray], float]
CLOSE = 0.25  # standard errors of a difference of losses that the simpler method may be behind
SURE = 1.0  # standard errors that a gain of class offsets must exceed
FEWEST = 30  # samples that class offsets are fitted to
N_RESAMPLES = 100
_PARTS = 3  # of a single hold-out
_RIDGE = 1e-2  # penalty of the squared offsets, in units of the spread of decision values, of one sample


@dataclass(frozen=True)
class Selection:
    """A method of a portfolio; `table` is `CohortModel.portfolio_`; ``behind`` < 0 is ahead, but not clearly."""

    method: str
    found: Found
    table: pd.DataFrame

    def sentence(self, labels: Mapping[str, str]) -> str | None:
        """What came second, and how sure the choice is; None where there was nothing to choose."""
        if len(self.table) < 2 or not np.isfinite(self.table["behind"]).all():
            return None
        second = self.table.iloc[1]
        gap, error = float(second["behind"]), float(second["std_error"])
        if gap <= CLOSE * error + TIE:
            sure = "which is as good, and less simple" if gap >= 0.0 else "which is hardly better, and less simple"
        elif gap > 2.0 * error:
            sure = "clearly behind (by more than two standard errors)"
        else:
            sure = f"behind by {gap / error:.1f} standard errors, which may be chance"
        first, then = labels[self.method], labels[str(second.name)]
        return f"The best of {len(self.table)} methods by inner validation is {first!r}; then {then!r}, {sure}."


def chosen(
    found: Mapping[str, Found],
    y: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    score: Score,
) -> Selection:
    """The first method, simplest first, that is as good as the best one."""
    if len(found) == 1:
        ((name, only),) = found.items()
        return Selection(name, only, pd.DataFrame({"score": [only.score], "behind": [0.0], "std_error": [0.0]}, [name]))
    losses = {name: own.losses for name, own in found.items() if own.losses is not None}
    decides = len(losses) == len(found)

    def behind(name: str, other: str) -> tuple[float, float]:
        """By how much a method is behind another one, and the standard error."""
        if name == other:
            return 0.0, 0.0
        if decides:
            differences = losses[name] - losses[other]
            return float(differences.mean()), float(differences.std() / np.sqrt(len(differences)))
        error = standard_error(found[other].values, found[name].values, y, splits, score)
        return found[other].score - found[name].score, error

    worth = {name: -float(losses[name].mean()) if decides else own.score for name, own in found.items()}
    worth = {name: value if np.isfinite(value) else -np.inf for name, value in worth.items()}
    best = max(worth, key=lambda name: worth[name])
    gaps = {name: behind(name, best) for name in found}
    first = next((name for name, (gap, error) in gaps.items() if gap <= CLOSE * error + TIE), best)
    gaps = gaps if first == best else {name: behind(name, first) for name in found}
    columns = {"score": [own.score for own in found.values()]}
    columns |= {"loss": [-worth[name] for name in found]} if decides else {}
    table = pd.DataFrame(columns, index=pd.Index(list(found), name="method"))
    table = table.assign(behind=[gap for gap, _ in gaps.values()], std_error=[error for _, error in gaps.values()])
    order = sorted(found, key=lambda name: (name != first, gaps[name][0]))
    return Selection(first, found[first], table.loc[order])


def standard_error(
    first: np.ndarray, second: np.ndarray, y: np.ndarray, splits: Sequence[tuple[np.ndarray, np.ndarray]], score: Score
) -> float:
    """Of the difference of two mean scores over folds."""
    rng = np.random.RandomState(0)
    differences = np.zeros(N_RESAMPLES)
    for _, test in splits:
        for place in range(N_RESAMPLES):
            rows = test[rng.randint(len(test), size=len(test))]
            differences[place] += score(first[rows], y[rows]) - score(second[rows], y[rows])
    return float(np.nanstd(differences / max(len(splits), 1)))


def class_offsets(
    values: np.ndarray,
    labels: np.ndarray,
    y: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    score: Score,
    *,
    is_balanced: bool,
) -> tuple[np.ndarray, float] | None:
    """Offsets for out-of-fold decision values, and the gain in the score; None where they are not worth having."""
    known = np.isfinite(values) if values.ndim == 1 else np.isfinite(values).all(axis=1)
    n_classes = 2 if values.ndim == 1 else values.shape[1]
    tests = [test[known[test]] for _, test in splits if known[test].any()]
    if sum(map(len, tests)) < FEWEST:
        return None
    parts = tests if len(tests) > 1 else [np.concatenate([t[k::_PARTS] for t in tests]) for k in range(_PARTS)]
    moved = values.copy()
    for place, part in enumerate(parts):
        others = np.concatenate([other for number, other in enumerate(parts) if number != place])
        if len(np.unique(labels[others])) < n_classes:
            return None
        moved[part] = values[part] + _offsets(values[others], labels[others], is_balanced)
    scores = [[score(given[test], y[test]) for test in tests] for given in (values, moved)]
    gain = float(np.mean(scores[1]) - np.mean(scores[0]))
    folds = [(test, test) for test in tests]
    if not gain > TIE or not gain > SURE * standard_error(moved, values, y, folds, score):
        return None
    every = np.concatenate(parts)
    return _offsets(values[every], labels[every], is_balanced), gain


def _offsets(values: np.ndarray, labels: np.ndarray, is_balanced: bool) -> np.ndarray:
    two = values.ndim == 1
    values = np.column_stack([-0.5 * values, 0.5 * values]) if two else values
    spread = float(values.std()) or 1.0
    scaled, rows = values / spread, np.arange(len(labels))
    counts = np.bincount(labels, minlength=values.shape[1])
    weights = 1.0 / counts[labels] if is_balanced else np.ones(len(labels))
    weights = weights / weights.sum()

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        scores = theta[0] * scaled + theta[1:]
        sums = logsumexp(scores, axis=1)
        residual = np.exp(scores - sums[:, None])
        residual[rows, labels] -= 1.0
        residual *= weights[:, None]
        ridge = _RIDGE / len(labels)
        total = weights @ (sums - scores[rows, labels]) + ridge * (theta[1:] @ theta[1:])
        slope = np.concatenate([[(residual * scaled).sum()], residual.sum(axis=0) + 2.0 * ridge * theta[1:]])
        return float(total), slope

    start = np.concatenate([[1.0], np.zeros(values.shape[1])])
    bounds = [(1e-2, 1e3)] + [(None, None)] * values.shape[1]
    theta = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    offsets = theta[1:] / theta[0] * spread
    return offsets[1:] - offsets[:1] if two else offsets - offsets.mean()
