"""The sections of the benchmark's page about tasks beside classification, from the cells of each (`tasks.task`)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.benchmark.page.findings import counted, escaped, italic, p_words
from experiments.benchmark.page.tables import number
from experiments.benchmark.tasks.task import OURS, Score, Task
from kernelweave.model_selection import wilcoxon_signed_rank
from kernelweave.reporting.markdown import markdown_table

_WORDS = {
    "survival": """Ten random splits of scikit-survival's data sets, the same for all methods, 70 % for training with as
many events in both parts. Every method chooses its penalty (the forest the size of its leaves) by the concordance of
three inner folds, and *auto* by folds of its own. The kernels of a view are a linear and a Gaussian one; *one linear
kernel* has all columns in one; *kernel SVM* is `loss="ranking"` with the mean of the kernels, and has no survival
function. *Kaplan-Meier* is one curve for all samples. Brier scores are integrated from the tenth to the ninetieth
percentile of training times of events. More: [time to an event](methods/survival.md).""",
    "clusters": """`KernelKMeans` with four forms of weights against spectral clustering of the mean kernel and k-means
on all standardised columns, both of scikit-learn, and similarity network fusion (SNF; Wang et al., 2014; 20 neighbours,
20 steps). At most 2000 samples of each set, one Gaussian kernel of default width for each dense view and the cosine of
TF-IDF for sparse ones, as many clusters as classes, which no method sees. Means over three seeds of the starts, of one
draw of the samples: small differences mean little. More: [clusters](clustering.md).""",
}


def task_sections(task: Task, cells: pd.DataFrame) -> list[str]:
    """What the cells of a task show, a table for each of its scores, and what was run.

    Parameters
    ----------
    task : Task
    cells : DataFrame
        As `run_task` returns it.
    """
    folds = cells.groupby("set", sort=False)["fold"].nunique()
    findings = _findings(task, cells) or ["No method could be fitted."]
    parts = [f"## {task.title}", "\n".join(f"- {said}" for said in findings), _WORDS[task.name]]
    for score in task.scores:
        parts += [f"### {score.title}", _table(task, cells, score)]
    ran = f"python -m experiments benchmark {task.name} --data DATA --output results/"
    failed = cells[cells["failed"] != ""]
    said = f"{counted(len(folds), 'data set')}, {counted(int(folds.max()), task.fold_name)} each"
    said += f" (Kernelweave {cells.attrs['version']}); " if "version" in cells.attrs else "; "
    said += "seconds: processor time of selection and fit, the median of all cells."
    parts += [f"```sh\n{ran}\n```", said]
    if len(failed):
        reasons = failed.drop_duplicates(["method", "set"])
        parts.append(
            "Failed: "
            + "; ".join(
                f"{italic(m)} on {escaped(s)} ({escaped(f)})"
                for m, s, f in reasons[["method", "set", "failed"]].itertuples(index=False)
            )
            + "."
        )
    return parts


def means(task: Task, cells: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Means over folds of a score, methods by data sets; NaN where a method has none, or failed on a fold.

    Parameters
    ----------
    task : Task
    cells : DataFrame
    score : Score
    """
    whole = cells.groupby(["method", "set"], sort=False)[score.column].agg(lambda own: own.mean(skipna=False)).unstack()
    return whole.reindex(index=[name for name in task.methods if name in whole.index], columns=cells["set"].unique())


def ranks(table: pd.DataFrame, score: Score) -> pd.Series:
    """Mean ranks over data sets, the best first; methods without the score are left out, failed ones are last.

    Parameters
    ----------
    table : DataFrame
        As `means` returns it.
    score : Score

    Examples
    --------
    >>> import pandas as pd
    >>> from experiments.benchmark.page.tasks import ranks
    >>> from experiments.benchmark.tasks.task import Score
    >>> table = pd.DataFrame({"s": [1.0, 3.0], "t": [2.0, 1.0], "u": [0.0, 5.0]}, index=["a", "b"])
    >>> ranks(table, Score("x", "x")).round(1)
    b    1.3
    a    1.7
    dtype: float64
    """
    present = table.dropna(how="all")
    return present.rank(ascending=score.is_loss, na_option="bottom").mean(axis=1).sort_values(kind="stable")


def _findings(task: Task, cells: pd.DataFrame) -> list[str]:
    """For each score the best mean rank, and the named method against the best of the others."""
    said = []
    for score in task.scores:
        table, sign = means(task, cells, score), -1.0 if score.is_loss else 1.0
        order = ranks(table, score)
        if order.empty:
            continue
        others = [str(name) for name in order.index if task.methods[str(name)] != OURS]
        words = f"{score.title.partition(' x ')[0]}: the best mean rank of {len(order)} is that of "
        words += f"{italic(str(order.index[0]))} ({order.iloc[0]:.1f})."
        if task.named in order.index and others:
            ours, other = table.loc[task.named], table.loc[others[0]]
            ahead = (sign * (ours - other)).round(9)
            p = wilcoxon_signed_rank(sign * ours, sign * other).pvalue
            words += f" {italic(task.named)}, {task.named_as}, has {order[task.named]:.1f}; the best of the others, "
            words += f"{italic(others[0])}, {order[others[0]]:.1f}. Between these two {italic(task.named)} is ahead on "
            words += f"{int((ahead > 0).sum())} of {counted(len(ahead), 'data set')} and behind on "
            words += f"{int((ahead < 0).sum())}, with {ours.mean():.{score.decimals}f} against "
            words += f"{other.mean():.{score.decimals}f} in the mean (Wilcoxon's signed rank test: {p_words(p)})."
        said.append(words)
    return said


def _table(task: Task, cells: pd.DataFrame, score: Score) -> str:
    """Methods by data sets, the best mean rank first; the best of a data set is bold."""
    table = means(task, cells, score).round(score.decimals)
    order = ranks(means(task, cells, score), score)
    seconds = cells.groupby("method")["seconds"].median()
    best = table.min() if score.is_loss else table.max()
    lines = []
    for name in order.index:
        shown = [number(value, score.decimals) for value in table.loc[name]]
        bold = [
            f"**{text}**" if value == top else text
            for text, value, top in zip(shown, table.loc[name], best, strict=True)
        ]
        mark = "" if task.methods[str(name)] == OURS else " (rival)"
        mean = number(float(np.mean(table.loc[name])), score.decimals)
        lines.append([f"{escaped(str(name))}{mark}", f"{order[name]:.1f}", mean, *bold, f"{seconds[name]:.2f}"])
    return markdown_table(["method", "rank", "mean", *(escaped(str(row)) for row in table.columns), "seconds"], lines)
