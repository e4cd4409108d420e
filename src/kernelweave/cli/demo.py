"""``kernelweave demo``: small digits against large ones, from six views, one by one and combined.

The protocol is that of M. Gönen's PhD thesis (2010, section 5.1): a random third for testing, 5 x 2 cross-validation on
the rest, C by mean validation accuracy (but for the two slowest methods, which have one C), and the mean of the test
results of the ten machines. Features are standardised and linear kernels normalised to a unit diagonal. The figures
beside ours are those of Table 5.16 of the thesis and, for projections, of SLDR Table 2. The report beside the picture
has the table of methods, and what one localized model tells about its views.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, parallel_config
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from .._extras import pyplot
from ..combiners import (
    AlignmentWeights,
    Combiner,
    ConvexMKL,
    EasyMKL,
    Localized,
    LpMKL,
    Mean,
    PolynomialMKL,
    Projected,
    Sigmoid,
    Softmax,
)
from ..datasets import load_multifeat
from ..estimators import MKLClassifier
from ..kernels import Linear
from ..reporting import report
from ..reporting.content import Cell, Column, Dot, Dots, Provenance, Section
from ..reporting.content import Table as ReportTable
from ..reporting.page import Report
from ..reporting.provenance import command_line, data_input, now
from ..saving.atomic import replace_file

VIEWS = ["fac", "fou", "kar", "mor", "pix", "zer"]
COMBINERS = {
    "mean of six kernels": Mean(),
    "convex MKL": ConvexMKL(),
    "lp MKL, p = 2": LpMKL(p=2),
    "EasyMKL": EasyMKL(),
    "alignment weights": AlignmentWeights(),
    "polynomial MKL": PolynomialMKL(degree=2),
    "localized, softmax": Localized(),
    "localized, sigmoid": Localized(Sigmoid(), l2=0.01),
    "projected, R = 2": Projected(2, Softmax(), gating_components=10, n_init=3),
}
PAPER = {
    "localized, softmax": (97.69, 15.06),
    "localized, sigmoid": (98.58, 15.27),
    "projected, R = 2": (97.09, 2.89),
}
COSTS = [1.0, 10.0, 100.0]  # of 0.01 to 100 (thesis 5.3) those that validation took for some method
_SINGLE = "SVM on "
# Of what takes longest. Validation took 10 for the softmax when it was 1 or 10; the C of projections is given.
FEWER_COSTS = {"late: stacked SVMs": [1.0, 10.0], "localized, softmax": [10.0], "projected, R = 2": [100.0]}
SHOWN = "localized, sigmoid"  # the method whose model is reported on
_STEP = 4  # every fourth sample, for a report in seconds


@dataclass(frozen=True)
class DemoMethod:
    name: str
    make: Callable[[float], Any]
    paper: tuple[float, float] | None = None

    @property
    def costs(self) -> list[float]:
        return FEWER_COSTS.get(self.name, COSTS)

    @property
    def is_single(self) -> bool:
        return self.name.startswith(_SINGLE)


@dataclass(frozen=True)
class DemoRow:
    method: DemoMethod
    C: float
    accuracy: np.ndarray
    support: np.ndarray


def methods() -> list[DemoMethod]:
    thesis = dict(
        zip(
            VIEWS,
            [(94.97, 17.93), (90.54, 28.90), (88.13, 33.62), (69.61, 61.90), (89.42, 46.35), (89.12, 26.27)],
            strict=True,
        )
    )
    return [
        *(DemoMethod(f"{_SINGLE}{view}", partial(_single, view), thesis[view]) for view in VIEWS),
        DemoMethod("early: all views", partial(_single, None), (97.69, 23.36)),
        DemoMethod("late: stacked SVMs", _stacked),
        *(DemoMethod(name, partial(_combined, combiner), PAPER.get(name)) for name, combiner in COMBINERS.items()),
    ]


def _single(view: str | None, C: float) -> MKLClassifier:
    return MKLClassifier([Linear(view)], C=C)


def _combined(combiner: Combiner, C: float) -> MKLClassifier:
    return MKLClassifier([Linear(view) for view in VIEWS], combiner, C=C, random_state=0)


def run(chosen: argparse.Namespace) -> int:
    output, random_state = chosen.output, chosen.seed
    output.parent.mkdir(parents=True, exist_ok=True)
    console = Console()
    console.print("MULTIFEAT: 2000 handwritten digits, six views; small (0-4) against large (5-9)")
    folds, test = _folds(chosen.repeats, random_state)
    compared = methods()
    rows = []
    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Threads of the matrix library cost more than they bring on matrices this small.
    with threadpool_limits(1), Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(compared) * len(folds))
        for method in compared:
            progress.update(bar, description=method.name)
            rows.append(_evaluate(method, folds, test, lambda: progress.advance(bar)))
    console.print(_table(rows, len(folds)))
    try:
        plt = pyplot()
    except ImportError as absent:
        console.print(f"No picture is saved: {absent}", markup=False)
    else:
        _draw(rows, output, plt)
        console.print(f"Picture saved as {output}", markup=False, soft_wrap=True)
    page = output.with_suffix(".html")
    with threadpool_limits(1):
        write_demo_report(rows, page, random_state=random_state, words=chosen.words)
    console.print(f"Report saved as {page}", markup=False, soft_wrap=True)
    return 0


def _stacked(C: float) -> StackingClassifier:
    """Late integration, thesis 2.6: one machine per view, and a trained learner on their decision values."""
    machines = [(view, MKLClassifier([Linear(view)], C=C)) for view in VIEWS]
    return StackingClassifier(machines, LogisticRegression(), cv=3, stack_method="decision_function")


def _folds(repeats: int, random_state: int) -> tuple[list, tuple]:
    """(training, validation) data of each fold, standardised by its training part, and the raw test data."""
    X, y = load_multifeat(target="small-vs-large", return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=random_state)
    splitter = RepeatedStratifiedKFold(n_splits=2, n_repeats=repeats, random_state=random_state)
    folds = []
    for train, validation in splitter.split(X, y):
        scaler = StandardScaler().set_output(transform="pandas").fit(X.iloc[train])
        scaled = scaler.transform(X)
        folds.append((scaled.iloc[train], y[train], scaled.iloc[validation], y[validation], scaler))
    return folds, (X_test, y_test)


def _evaluate(method: DemoMethod, folds: list, test: tuple, advance: Callable[[], None]) -> DemoRow:
    X_test, y_test = test

    def fit(X: pd.DataFrame, y: np.ndarray) -> list[Any]:
        fitted = [method.make(C).fit(X, y) for C in method.costs]
        advance()
        return fitted

    # The solvers release the interpreter lock, so threads share the folds.
    models = Parallel(n_jobs=-1, backend="threading")(delayed(fit)(X, y) for X, y, _, _, _ in folds)
    validation = [
        [model.score(X, y) for model in fold_models] for fold_models, (_, _, X, y, _) in zip(models, folds, strict=True)
    ]
    best = int(np.mean(validation, axis=0).argmax())
    accuracy, support = [], []
    for fold_models, (X, _, _, _, scaler) in zip(models, folds, strict=True):
        model = fold_models[best]
        accuracy.append(100 * model.score(scaler.transform(X_test), y_test))
        support.append(100 * _n_support(model) / len(X))
    return DemoRow(method, method.costs[best], np.array(accuracy), np.array(support))


def _n_support(model: Any) -> int:
    parts = getattr(model, "estimators_", [model])
    return len(np.unique(np.concatenate([part.support_ for part in parts])))


def _table(rows: list[DemoRow], n_folds: int) -> Table:
    table = Table(
        title="Test accuracy and share of training samples stored\n"
        f"(mean of {n_folds} machines; paper: thesis Table 5.16, SLDR Table 2)"
    )
    table.add_column("method", no_wrap=True)
    for heading in ("C", "accuracy %", "paper", "stored %", "paper"):
        table.add_column(heading, justify="right")
    for row in rows:
        paper = ["-", "-"] if row.method.paper is None else [f"{value:.2f}" for value in row.method.paper]
        table.add_row(
            row.method.name,
            f"{row.C:g}",
            f"{row.accuracy.mean():.2f} ± {row.accuracy.std(ddof=1):.2f}",
            paper[0],
            f"{row.support.mean():.2f} ± {row.support.std(ddof=1):.2f}",
            paper[1],
        )
    return table


def _draw(rows: list[DemoRow], output: Path, plt: Any) -> None:
    plt.switch_backend("Agg")
    names = [row.method.name for row in rows]
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.3), sharey=True, layout="constrained")
    for panel, title, column in zip(panels, ("test accuracy %", "support vectors %"), (0, 1), strict=True):
        ours = pd.DataFrame([row.accuracy if column == 0 else row.support for row in rows])
        paper = [np.nan if row.method.paper is None else row.method.paper[column] for row in rows]
        panel.errorbar(ours.mean(axis=1), names, xerr=ours.std(axis=1), fmt="o", capsize=3, label="kernelweave")
        panel.plot(paper, names, "d", color="tab:orange", fillstyle="none", label="papers")
        panel.set_xlabel(title)
        panel.grid(axis="x", alpha=0.3)
    panels[0].invert_yaxis()
    panels[0].legend(loc="lower left")
    figure.suptitle("MULTIFEAT, small digits against large ones: six views, one by one and together")
    kind = output.suffix.lstrip(".") or None
    replace_file(output, lambda file: figure.savefig(file, dpi=120, format=kind))
    plt.close(figure)


def write_demo_report(
    rows: Sequence[DemoRow], output: Path, *, random_state: int = 0, words: Sequence[str] = ("demo",)
) -> None:
    """Fit the method `SHOWN` with the C that the demo chose, and save a report on it; `words` are the call."""
    digits = load_multifeat(target="small-vs-large")
    X, y = digits.data.iloc[::_STEP], np.array(digits.target_names)[digits.target[::_STEP]]
    X.index = [
        f"a {digit}, no. {number}" for number, digit in zip(X.index, load_multifeat().target[::_STEP], strict=True)
    ]
    shown = next(row for row in rows if row.method.name == SHOWN)
    combiner = shown.method.make(shown.C).combiner
    kernels = [Linear(view, transformer=StandardScaler()) for view in digits.view_names]
    model = MKLClassifier(kernels, combiner, C=shown.C, random_state=random_state).fit(X, y)
    folds = StratifiedKFold(3, shuffle=True, random_state=random_state)
    with parallel_config(backend="threading"):  # other processes would import everything for a few seconds of work
        page = report(
            model,
            X,
            y,
            cv=folds,
            comparison=(_headline(rows, shown, len(X)), _methods_section(rows)),
            title="Small digits against large ones, from six views",
            n_jobs=-1,
            random_state=random_state,
        )
    inputs = [
        data_input("MULTIFEAT", "views, in kernelweave itself", digits.data),
        data_input("MULTIFEAT", "target", digits.target),
    ]
    made = Provenance(date=now(), command=command_line(words), seed=random_state, inputs=inputs)
    Report(replace(page.contents, provenance=made)).save(output)


def _headline(rows: Sequence[DemoRow], shown: DemoRow, n_samples: int) -> list[str]:
    best = max(rows, key=lambda row: row.accuracy.mean())
    name = best.method.name
    single = max((row for row in rows if row.method.is_single), key=lambda row: row.accuracy.mean())
    return [
        f"{name[:1].upper()}{name[1:]} is right for {best.accuracy.mean():.1f} % of new digits.",
        f"The best view alone ({single.method.name}) reaches {single.accuracy.mean():.1f} %. The sections below the "
        f"table are about {shown.method.name}, fitted to {n_samples} of the digits.",
    ]


def _methods_section(rows: Sequence[DemoRow]) -> Section:
    ranked = sorted(rows, key=lambda row: -row.accuracy.mean())
    columns = [
        Column("method"),
        Column("C", "number", "chosen by cross-validation, but for the two slowest methods, which have one C"),
        Column("accuracy", "percent", "mean over ten machines, on a third of the samples that no machine has seen"),
        Column("spread", "percent", "standard deviation over the ten machines"),
        Column("paper", "percent", "Gönen's thesis (2010), Table 5.16; for projections SLDR (2010), Table 2"),
        Column("stored samples", "percent", "share of the training samples that the machine needs for predictions"),
    ]
    cells: list[list[Cell]] = []
    dots = []
    for row in ranked:
        mean, spread = row.accuracy.mean() / 100.0, row.accuracy.std(ddof=1) / 100.0
        paper = None if row.method.paper is None else row.method.paper[0] / 100.0
        cells.append([row.method.name, row.C, mean, spread, paper, row.support.mean() / 100.0])
        dots.append(Dot(row.method.name, mean, mean - spread, mean + spread, "kernelweave"))
        if paper is not None:
            dots.append(Dot(row.method.name, paper, series="papers"))
    chart = Dots(
        title="Accuracy of each method",
        description="Mean over ten machines and one standard deviation to either side; beside it the papers' figures.",
        axis="accuracy",
        dots=dots,
        kind="percent",
    )
    table = ReportTable(title="Methods", columns=columns, rows=cells, marked=[0])
    return Section(id="methods", title="Seventeen ways to use six views", blocks=[table, chart])
