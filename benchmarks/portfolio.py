"""What "auto" chooses from, and by what: ``python -m benchmarks.portfolio [--draws N] [--sets ...] [--cells FOLDER]``.

A cell is one draw of a set: at most 300 training and 500 validation samples, and the decision values of each method
with each C, out of three folds for the former, and by a model of all of these for the latter. Cells are stored in a
folder, so that a run goes on where another one ended. Rules that choose C, a method or class offsets by out-of-fold
values are then compared by the accuracy on validation samples, in per cent, averages over draws: *behind* and *worst*
are the mean and the worst difference to the best single method of each set, *within* the share of sets within 0.5 of
it. Seeds of draws begin at 1000. All takes about a quarter of an hour of one core.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from benchmarks.recipe_sets import raw
from kernelweave import stack_views
from kernelweave.kernels import Gaussian
from kernelweave.recipes import CohortModel
from kernelweave.recipes.choice import FEWEST, _offsets, standard_error
from kernelweave.recipes.kinds import column_kinds
from kernelweave.recipes.layout import TableLayout
from kernelweave.recipes.methods import FOLLOWS, TRIAL_TREES, ModelMaker, grid_of, method_layout, portfolio
from kernelweave.recipes.preparation import has_scales, has_unit_rows, view_transformer
from kernelweave.recipes.search import TIE, Calibration, Candidate, inner_splits, remembering, search
from kernelweave.recipes.tasks import PORTFOLIO
from kernelweave.recipes.values import CohortValues
from kernelweave.views import Views

TABLES = (
    *("heart", "pima", "wdbc", "ionosphere", "sonar", "segment", "optdigits", "banana", "ringnorm", "waveform"),
    *("spambase", "leukemia1", "prostate_tumor", "newthyroid", "dlbcl", "bupa"),
)
VIEWS = (
    *("multifeat", "protein_fold", "landuse21", "cub10", "pie10", "wikipedia", "mnist4", "ccv", "cora", "movies"),
    *("ngs", "reuters1200", "nutrimouse", "nutrimouse:genotype", "multidrug", "stemcells"),
)
TEXTS = ("tr11", "tr23", "tr41", "tr45", "la1", "hitech")
TIMED = ("wdbc", "segment", "spambase", "prostate_tumor", "multifeat", "landuse21", "wikipedia", "reuters1200", "tr41")
NUMBERS = ("concrete", "winewhite", "diabetes", "friedman", *(f"livertox:{target}" for target in range(10)))
TRAINING, VALIDATION, FOLDS = 300, 500, 3
WIDTHS = ("nearest", "median")  # of Gaussian kernels beside those of the default width

SINGLE = {
    "mean": "mean SVM",
    "least-squares": "mean LS",
    "lp": "lp SVM",
    "lp-least-squares": "lp LS",
    "lp-scales": "lp LS, two scales",
    "lp-scales-C": "the same, a C of its own",
    "lp-widths": "lp LS, three widths",
    "lp-joint": "lp LS, all columns beside",
    "lp-all": "lp LS, all of these",
    "linear": "logistic regression",
    "forest": "forest",
}
PLAIN = "lp-least-squares"  # what the next ones, too, are where a set has nothing to add
FOUR = ("mean", "least-squares", "lp", PLAIN)
PORTFOLIOS: Mapping[str, Callable[[Collection[str]], Collection[str]]] = {
    "four: mean and lp, SVM and LS": lambda shipped: FOUR,
    "four, two scales": lambda shipped: (*FOUR, "lp-scales"),
    "four, two scales, forest": lambda shipped: (*FOUR, "lp-scales", "forest"),
    "the same without lp SVM": lambda shipped: PORTFOLIO,
    "shipped: no forest of texts": lambda shipped: shipped,
    "shipped, a C of two scales": lambda shipped: [name.replace("scales", "scales-C") for name in shipped],
    "shipped, three widths": lambda shipped: (*shipped, "lp-widths"),
    "shipped, all columns beside": lambda shipped: (*shipped, "lp-joint"),
    "shipped, logistic regression": lambda shipped: (*shipped, "linear"),
    "all": lambda shipped: SINGLE,
}
CRITERIA = ("accuracy", "Brier", "log loss")
TIES = (0.0, 0.25, 0.5, 1.0)  # standard errors
OFFSETS: Mapping[str, Callable[[float, float], bool]] = {
    "always": lambda gain, error: True,
    "gain > 0": lambda gain, error: gain > TIE,
    "gain > 0.5 points": lambda gain, error: gain > 0.005,
    "gain > 1 standard error": lambda gain, error: gain > max(error, TIE),
    "gain > 2 standard errors": lambda gain, error: gain > max(2.0 * error, TIE),
}
NUMBER_METHODS = ("mean", "least-squares", PLAIN, "lp-scales", "auto", "forest")


class Labels(CohortValues):
    """Decision values and losses, as `CohortModel` takes them, of classes from 0 on."""

    task_, scoring_, positive, offsets_ = "classification", "accuracy", None, None

    def __init__(self, n_classes: int):
        self.classes_, self._prior = np.arange(n_classes), np.full(n_classes, 1.0 / n_classes)


@dataclass(frozen=True)
class Cell:
    name: str
    y: np.ndarray
    fold: np.ndarray  # of each sample: FOLDS of the validation ones, -1 of those in no fold
    shipped: list[str]
    values: Mapping[str, np.ndarray]  # by method: (n_C, n_samples) or (n_C, n_samples, n_classes)

    @property
    def labels(self) -> Labels:
        return Labels(int(self.y.max()) + 1)

    def right(self, values: np.ndarray) -> np.ndarray:
        return self.labels._labels(values) == self.y


def drawn(name: str, draw: int) -> tuple[Any, np.ndarray, int]:
    """The table of training and then validation samples, their targets, and the number of the former."""
    views, y, is_classes = raw(name)
    kept = np.arange(len(y))
    if is_classes:
        counts = np.unique(y, return_inverse=True, return_counts=True)
        kept = np.flatnonzero(counts[2][counts[1]] >= 5)
        y = np.unique(y[kept], return_inverse=True)[1]
    size = min(TRAINING, int(0.6 * len(y)))
    split = StratifiedShuffleSplit if is_classes else ShuffleSplit
    splitter = split(1, train_size=size, test_size=min(VALIDATION, len(y) - size), random_state=1000 + draw)
    rows = np.concatenate(next(splitter.split(y, y)))
    return stack_views({view: values[kept[rows]] for view, values in views.items()}), y[rows], size


def measured(name: str, draw: int) -> Cell:
    """All methods with all C in one search, of which the validation samples are one more fold."""
    X, y, size = drawn(name, draw)
    first = X.iloc[:size]
    layout = TableLayout.of(first, column_kinds(first))
    own = layout.table(first)[0]
    table, present = layout.with_means(own).table(X)
    splits = inner_splits(y[:size], None, FOLDS, np.random.RandomState(draw))
    splits.append((np.arange(size), np.arange(size, len(y))))
    labels = Labels(int(y.max()) + 1)

    def candidate(method: str, grid: Mapping[str, Any]) -> Candidate:
        make = _maker(method, layout)

        def of_rows(rows: np.ndarray, part: Views) -> Any:
            model = make(table.iloc[rows], present[rows])
            return model.set_params(n_trees=TRIAL_TREES) if method == "forest" and len(rows) < size else model

        return Candidate(of_rows, grid)

    candidates = {}
    for method in _different(layout, own):
        for C in grid_of(method, "full", "classification").get("C", [None]):
            candidates[f"{method} {C}"] = candidate(method, {} if C is None else {"C": [C]})
    found = search(
        candidates,
        Views(table),
        y,
        splits,
        decide=lambda model, rest, train, test: labels._decided(model, rest),
        score=lambda values, y: 0.0,
        shape=(len(y),) if labels.classes_.size == 2 else (len(y), labels.classes_.size),
    )
    values: dict[str, list[np.ndarray]] = {}
    for name_and_C, one in found.items():
        values.setdefault(name_and_C.partition(" ")[0], []).append(one.values.astype(np.float32))
    fold = np.full(len(y), -1)
    for place, (_, test) in enumerate(splits):
        fold[test] = FOLDS if place == len(splits) - 1 else place
    shipped = portfolio(layout, own, np.ones((1, 1), dtype=bool), None)  # no view is missing in these sets
    return Cell(name, y, fold, shipped, {method: np.array(tried) for method, tried in values.items()})


def _different(layout: TableLayout, table: Any) -> list[str]:
    """The single methods that are more than another one for these views."""
    is_there = {
        "lp-scales": any(has_scales(view, table) for view in layout.views),
        "lp-widths": not all(has_unit_rows(view, table) for view in layout.views),
        "lp-joint": len(layout.views) > 1,
    }
    is_there |= {"lp-all": any(is_there.values()), "lp-scales-C": False}
    return [method for method in SINGLE if is_there.get(method, True)]


def _maker(method: str, layout: TableLayout) -> Callable[[Any, np.ndarray], Any]:
    """A function of a table, and of which views its samples have, that returns the unfitted model."""

    def of(method: str, layout: TableLayout) -> ModelMaker:
        return ModelMaker(method, "classification", "full", layout, {}, layout.names, {"random_state": 0})

    if method not in ("lp-widths", "lp-joint", "lp-all"):
        return of(method, layout).model
    base = of("lp-scales" if method == "lp-all" else PLAIN, layout)

    def make(table: Any, present: np.ndarray) -> Any:
        model = base.model(table, present)
        more = []
        for view in layout.views if method != "lp-joint" else ():
            if not has_unit_rows(view, table):
                own = {"transformer": view_transformer(view, table)}
                more += [(f"{view.name}-{width}", Gaussian(view.name, scale=width, **own)) for width in WIDTHS]
        if method != "lp-widths" and len(layout.views) > 1:
            joined = of("concatenation", method_layout("concatenation", layout))
            more += joined.model(table, present).kernels
        return model.set_params(kernels=[*model.kernels, *more])

    return make


def stored(name: str, draw: int, path: Path) -> Cell:
    """The cell in a file, or measured and written to it."""
    path = path.with_suffix(".npz")
    if not path.exists():
        cell = measured(name, draw)
        partial = path.with_suffix(".partial.npz")
        np.savez(partial, **cell.values, y=cell.y, fold=cell.fold, shipped=np.array(cell.shipped))
        partial.replace(path)
    with np.load(path, allow_pickle=False) as file:
        values = {method: file[method] for method in SINGLE if method in file.files}
        return Cell(name, file["y"], file["fold"], file["shipped"].tolist(), values)


def numbers(measure: Callable[[str, int], dict[str, float]]) -> Callable[[str, int, Path], dict[str, float]]:
    """The same, of numbers by name."""

    def make(name: str, draw: int, path: Path) -> dict[str, float]:
        path = path.with_suffix(f".{measure.__name__}.json")
        if not path.exists():
            path.write_text(json.dumps(measure(name, draw)))
        return json.loads(path.read_text())

    return make


def of_sets(sets: Sequence[str], n_draws: int, folder: Path, make: Callable[[str, int, Path], Any]) -> dict[str, list]:
    """What `make` returns for the draws of each set that is there."""
    found = {}
    for name in sets:
        try:
            paths = [folder / f"{name.replace(':', '_')}-{draw}" for draw in range(n_draws)]
            found[name] = [make(name, draw, path) for draw, path in enumerate(paths)]
        except FileNotFoundError:
            print(f"{name} is not in the data directory; set KERNELWEAVE_DATA")
    return found


@dataclass(frozen=True, eq=False)
class Tried:
    """A method with one C in a cell."""

    values: np.ndarray
    accuracy: float  # of validation samples
    losses: Mapping[str, np.ndarray]  # of the samples of folds, by criterion
    shares: tuple[np.ndarray, np.ndarray]  # probabilities of samples of folds, and of validation samples


Outcome = Mapping[str, Sequence[Tried]]


def outcome(cell: Cell) -> Outcome:
    tested, new = (cell.fold >= 0) & (cell.fold < FOLDS), cell.fold == FOLDS
    y, found = cell.y[tested], dict[str, list[Tried]]()
    for method, every in cell.values.items():
        found[method] = []
        for values in every.astype(float):
            right = cell.right(values)
            shares = Calibration.fit(values[tested], y).probabilities(values)
            own = np.maximum(shares[tested][np.arange(len(y)), y], 1e-6)
            losses = {"accuracy": 1.0 - right[tested], "Brier": brier(shares[tested], y), "log loss": -np.log(own)}
            found[method].append(Tried(values, right[new].mean(), losses, (shares[tested], shares[new])))
    return found | {f"{name}-C": found[name] for name in FOLLOWS if name in found}


def brier(shares: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((shares - np.eye(shares.shape[1])[y]) ** 2).sum(axis=1)


def simplest(tried: Sequence[Tried], criterion: str, tie: float) -> Tried:
    """The first whose mean loss is within so many standard errors of the least one."""
    losses = [one.losses[criterion] for one in tried]
    best = min(losses, key=np.mean)
    close = [(own - best).mean() <= tie * (own - best).std() / np.sqrt(len(best)) + TIE for own in losses]
    return tried[close.index(True)]


def with_best(found: Outcome, name: str, criterion: str) -> Tried:
    leader = found[FOLLOWS.get(name, name)]
    return found[name][leader.index(simplest(leader, criterion, 0.0))]


def members(found: Outcome, names: Collection[str], criterion: str = "Brier") -> list[Tried]:
    """Methods, simple ones first."""
    return [with_best(found, name, criterion) for name in SINGLE if name in names and name in found]


def by_set(cells: Sequence[Cell], scores: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    frame = pd.DataFrame(scores, index=[cell.name for cell in cells])
    return 100.0 * frame.groupby(level=0, sort=False).mean()


def summary(scores: pd.DataFrame, best: pd.Series) -> pd.DataFrame:
    behind = scores.sub(best, axis=0)
    within = (behind >= -0.5).mean()
    return pd.DataFrame({"mean": scores.mean(), "behind": behind.mean(), "worst": behind.min(), "within": within})


def show(title: str, frame: pd.DataFrame) -> None:
    print(f"\n{title}\n{frame.round(2).to_string()}", flush=True)


def singles(cells: Sequence[Cell], found: Sequence[Outcome]) -> pd.Series:
    """Print what each method reaches, and return the best one of each set."""
    scores = {
        label: [with_best(own, name if name in own else PLAIN, "Brier").accuracy for own in found]
        for name, label in SINGLE.items()
    }
    frame = by_set(cells, scores)
    best = frame.max(axis=1)
    show(f"Single methods, C by Brier's score: {len(frame)} sets, {len(cells)} draws", summary(frame, best))
    return best


def choices(cells: Sequence[Cell], found: Sequence[Outcome], best: pd.Series) -> None:
    for criterion in CRITERIA:
        tables = {}
        for tie in TIES:
            scores = {
                label: [
                    simplest(members(own, names(cell.shipped), criterion), criterion, tie).accuracy
                    for cell, own in zip(cells, found, strict=True)
                ]
                for label, names in PORTFOLIOS.items()
            }
            tables[f"{tie:g}"] = summary(by_set(cells, scores), best).drop(columns="behind")
        title = f"C and method chosen by {criterion}: the first method within so many standard errors"
        show(title, pd.concat(tables, axis=1))


def combinations(cells: Sequence[Cell], found: Sequence[Outcome], best: pd.Series) -> None:
    for label in ("shipped: no forest of texts", "all"):
        rows = []
        for cell, own in zip(cells, found, strict=True):
            tried = members(own, PORTFOLIOS[label](cell.shipped))
            order = sorted(tried, key=lambda one: one.losses["Brier"].mean())
            greedy = _greedy(tried, cell.y[(cell.fold >= 0) & (cell.fold < FOLDS)])
            ways = {"the best": order[:1], "the best two": order[:2], "all": order, "greedy": greedy}
            shares = {way: np.sum([one.shares[1] for one in taken], axis=0) for way, taken in ways.items()}
            new = cell.y[cell.fold == FOLDS]
            rows.append({way: (total.argmax(axis=1) == new).mean() for way, total in shares.items()})
        scores = pd.DataFrame(rows).to_dict("list")
        show(f"Means of probabilities of methods, of portfolio {label!r}", summary(by_set(cells, scores), best))


def _greedy(tried: Sequence[Tried], y: np.ndarray, most: int = 12) -> list[Tried]:
    """Methods, some of them repeatedly, each the one that lowers Brier's score of their mean most."""
    taken: list[Tried] = []
    total, least = np.zeros_like(tried[0].shares[0]), np.inf
    while len(taken) < most:
        losses = [brier((total + one.shares[0]) / (len(taken) + 1), y).mean() for one in tried]
        if min(losses) >= least - TIE:
            break
        least = min(losses)
        taken.append(tried[losses.index(least)])
        total = total + taken[-1].shares[0]
    return taken


def offsets(cells: Sequence[Cell], found: Sequence[Outcome]) -> None:
    tables = {}
    for title, is_balanced in {"accuracy": False, "balanced accuracy": True}.items():
        tried = []
        for cell, own in zip(cells, found, strict=True):
            taken = members(own, ("mean", "least-squares", PLAIN, "lp-scales"))
            tried += [_with_offsets(cell, one.values, is_balanced) for one in taken]
        rows = {}
        for label, rule in OFFSETS.items():
            kept = np.array([rule(gain, error) for gain, error, _ in tried])
            change = 100.0 * kept * np.array([change for *_, change in tried])
            rows[label] = {"mean change": change.mean(), "kept": kept.mean(), "worst": change.min()}
        tables[title] = pd.DataFrame(rows).T
    show(f"Class offsets, kept where: four methods in all draws, {len(tried)} cases", pd.concat(tables, axis=1))


def _with_offsets(cell: Cell, values: np.ndarray, is_balanced: bool) -> tuple[float, float, float]:
    """Gain in folds, its standard error, and the gain on validation samples; zeros where there is too little to fit."""
    labels = cell.labels

    def score(values: np.ndarray, y: np.ndarray) -> float:
        right, counts = labels._labels(values) == y, np.bincount(y)
        return float((right / counts[y]).sum() / (counts > 0).sum()) if is_balanced else float(right.mean())

    y, new = cell.y, cell.fold == FOLDS
    tests = [np.flatnonzero(cell.fold == fold) for fold in np.unique(cell.fold) if 0 <= fold < FOLDS]
    every = np.concatenate(tests)
    others = [np.setdiff1d(every, test) for test in tests]
    if len(every) < FEWEST or any(len(np.unique(y[rows])) < len(labels.classes_) for rows in others):
        return 0.0, 0.0, 0.0
    moved = values.copy()
    for test, rows in zip(tests, others, strict=True):
        moved[test] += _offsets(values[rows], y[rows], is_balanced)
    gain = float(np.mean([score(moved[test], y[test]) - score(values[test], y[test]) for test in tests]))
    error = standard_error(moved, values, y, [(test, test) for test in tests], score)
    after = values[new] + _offsets(values[every], y[every], is_balanced)
    return gain, error, score(after, y[new]) - score(values[new], y[new])


def seconds(name: str, draw: int) -> dict[str, float]:
    """CPU seconds of fits to the training samples of one draw, search included."""
    X, y, size = drawn(name, draw)
    X, y, found = X.iloc[:size], y[:size], {}
    CohortModel("auto", effort="quick", random_state=0).fit(X[:60], y[:60])  # compiles
    for method in ("mean", "auto"):
        began = time.process_time()
        CohortModel(method, random_state=0).fit(X, y)
        found[method] = time.process_time() - began
    return found


def explained(name: str, draw: int) -> dict[str, float]:
    """R2 of a regression on validation samples by method; "auto" uses the fits that are there."""
    X, y, size = drawn(name, draw)
    first, last = X.iloc[:size], X.iloc[size:]
    with remembering([]):
        models = {method: CohortModel(method, task="regression", random_state=0) for method in NUMBER_METHODS}
        return {method: model.fit(first, y[:size]).score(last, y[size:]) for method, model in models.items()}


def timings(found: Mapping[str, list[dict[str, float]]]) -> None:
    frame = pd.DataFrame({name: row for name, (row,) in found.items()}).T
    frame["ratio"] = frame["auto"] / frame["mean"]
    show(f"CPU seconds; geometric mean of the ratio: {np.exp(np.log(frame['ratio']).mean()):.1f}", frame)


def regressions(found: Mapping[str, list[dict[str, float]]]) -> None:
    frame = 100.0 * pd.DataFrame({name: pd.DataFrame(rows).mean() for name, rows in found.items()}).T
    frame = frame.groupby(lambda name: name.partition(":")[0], sort=False).mean()
    show("Regressions, 100 R2", frame)
    show("Against the best single method", summary(frame, frame.drop(columns="auto").max(axis=1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2, help="draws of each classification")
    parser.add_argument("--sets", nargs="+", default=(*TABLES, *VIEWS, *TEXTS, *NUMBERS), help="these sets only")
    parser.add_argument(
        "--cells", type=Path, default=Path("kernelweave-results/portfolio"), help="where cells are kept"
    )
    given = parser.parse_args()
    given.cells.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # settings at the ends of grids stop early
        classes = of_sets([name for name in given.sets if name not in NUMBERS], given.draws, given.cells, stored)
        if classes:
            cells = [cell for own in classes.values() for cell in own]
            found = [outcome(cell) for cell in cells]
            best = singles(cells, found)
            choices(cells, found, best)
            combinations(cells, found, best)
            offsets(cells, found)
        if timed := of_sets([name for name in given.sets if name in TIMED], 1, given.cells, numbers(seconds)):
            timings(timed)
        if explains := of_sets([name for name in given.sets if name in NUMBERS], 3, given.cells, numbers(explained)):
            regressions(explains)


if __name__ == "__main__":
    main()
