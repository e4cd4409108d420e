"""Ranks of methods over data sets, and the tests of J. Demšar (2006), "Statistical comparisons of classifiers over
multiple data sets", Journal of Machine Learning Research 7, 1-30.

On each data set methods are ranked by their mean accuracy over the splits, 1 for the best; equal ones share the mean of
their ranks, and those that failed are last together. With R_j the mean rank of method j of k over N data sets:

========================================================  =====================================================
Friedman's statistic, no correction for ties              chi2 = 12 N / (k (k + 1)) (sum R_j^2 - k (k + 1)^2 / 4)
Iman and Davenport's form, F with k - 1 and
(k - 1) (N - 1) degrees of freedom                        F = (N - 1) chi2 / (N (k - 1) - chi2)
Nemenyi's critical difference, q the quantile of the
studentized range divided by the root of 2                CD = q sqrt(k (k + 1) / (6 N))
========================================================  =====================================================

The masked forms of a data set are not independent of it. N is therefore the effective number of data sets,
(sum m_d)^2 / sum m_d^2 for m_d rows of data set d: rows of one set count as if they were copies. It is the number of
rows where every set has one.

A run may be unfinished, and entries of others may have more splits. On each data set only the splits count that all
methods have finished there (`SharedCells`); a method that lacks the split which most others have counts as missing on
that set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
from scipy import stats

from experiments.benchmark.data_sets import DATA_SETS
from kernelweave.model_selection import wilcoxon_signed_rank

KINDS = ("views", "masked", "kernels")


@dataclass(frozen=True)
class SharedCells:
    """The cells that count, and means over their splits.

    Attributes
    ----------
    cells : DataFrame
        As `load_cells` returns it, without the splits that do not count.

    Examples
    --------
    >>> import pandas as pd
    >>> from experiments.benchmark.page.ranks import shared_cells
    >>> cells = pd.DataFrame({"set": ["s"] * 3, "method": ["a", "a", "b"], "split": [0, 1, 0], "failed": ""})
    >>> shared_cells(cells.assign(accuracy=[0.8, 0.9, 0.7])).table("accuracy")
    method    a    b
    set
    s       0.8  0.7
    """

    cells: pd.DataFrame

    @cached_property
    def present(self) -> pd.DataFrame:
        """Whether a method was run on a data set, data sets by methods, in the order of the cells."""
        counts = self.cells.groupby(["set", "method"], sort=False).size().unstack()
        return counts.reindex(index=self.cells["set"].unique(), columns=self.cells["method"].unique()).notna()

    @cached_property
    def failed(self) -> pd.DataFrame:
        """Whether a method failed on some split of a data set, data sets by methods."""
        failed = (self.cells["failed"] != "").groupby([self.cells["set"], self.cells["method"]]).any().unstack()
        return failed.reindex_like(self.present).where(self.present, False).astype(bool)

    @cached_property
    def families(self) -> dict[str, str]:
        """From each method to its family."""
        return dict(zip(self.cells["method"], self.cells["family"], strict=True))

    @cached_property
    def kinds(self) -> dict[str, str]:
        """From each data set to its kind."""
        return dict(zip(self.cells["set"], self.cells["kind"], strict=True))

    def table(self, column: str) -> pd.DataFrame:
        """Means over the splits, data sets by methods; NaN where a method is missing or failed.

        Parameters
        ----------
        column : str
            A column of numbers.
        """
        means = self.cells.groupby(["set", "method"])[column].mean().unstack()
        return means.reindex_like(self.present).mask(self.failed)

    def of_kind(self, kind: str | None) -> SharedCells:
        """The cells of the data sets of one kind, or all where it is None.

        Parameters
        ----------
        kind : {"views", "masked", "kernels"} or None
        """
        return self if kind is None else SharedCells(self.cells[self.cells["kind"] == kind])


def shared_cells(cells: pd.DataFrame) -> SharedCells:
    """The cells on which methods can be compared.

    Parameters
    ----------
    cells : DataFrame
        As `load_cells` returns it.
    """
    kept = []
    for _, part in cells.groupby("set", sort=False):
        splits = part.groupby("method")["split"].agg(frozenset)
        most_common = part["split"].value_counts(sort=False).sort_index().idxmax()
        splits = splits[[most_common in own for own in splits]]
        shared = frozenset.intersection(*splits)
        kept.append(part[part["method"].isin(splits.index) & part["split"].isin(shared)])
    return SharedCells(pd.concat(kept))


def data_set_of(row: str) -> str:
    """The data set behind a row of the benchmark: the masked forms of a set are not independent of it.

    Parameters
    ----------
    row : str

    Examples
    --------
    >>> from experiments.benchmark.page.ranks import data_set_of
    >>> data_set_of("cora-block"), data_set_of("my set")
    ('cora', 'my set')
    """
    return DATA_SETS[row].dataset if row in DATA_SETS else row


LEVEL = 0.05
NAMED = "auto"  # the method that the page is about: what users get by default
_DIGITS = 9  # of accuracies: what differs by less is equal


@dataclass(frozen=True)
class FriedmanResult:
    """Result of `friedman`.

    Attributes
    ----------
    chi2 : float
        Friedman's statistic.
    statistic, pvalue : float
        Iman and Davenport's F, and its p-value.
    """

    chi2: float
    _: KW_ONLY
    statistic: float
    pvalue: float


@dataclass(frozen=True)
class Against:
    """One method against the baseline.

    Attributes
    ----------
    wins, ties, losses : int
        Rows on which the method is better than the baseline, as good, and worse; a method that failed is worse.
    is_better : bool
        Whether the ranks of positive differences, of means by data set, have the larger sum.
    pvalue : float
        Of Wilcoxon's signed rank test of these differences; a failure counts as accuracy 0.
    adjusted : float
        The same after Holm's correction for the number of methods.
    """

    wins: int
    ties: int
    _: KW_ONLY
    losses: int
    is_better: bool
    pvalue: float
    adjusted: float


@dataclass(frozen=True)
class Ranking:
    """Methods ranked on the data sets that all of them were run on.

    Attributes
    ----------
    accuracy : DataFrame
        Mean accuracies, data sets by methods; NaN where a method failed.
    left_out_methods, left_out_sets : tuple of str
        Those that do not count because of missing cells.

    Examples
    --------
    >>> import pandas as pd
    >>> from experiments.benchmark.page.ranks import Ranking
    >>> ranking = Ranking(pd.DataFrame({"a": [0.9, 0.8], "b": [0.9, None], "c": [0.7, 0.9]}, index=["s", "t"]))
    >>> ranking.mean.to_dict()
    {'a': 1.75, 'c': 2.0, 'b': 2.25}
    """

    accuracy: pd.DataFrame
    left_out_methods: tuple[str, ...] = ()
    left_out_sets: tuple[str, ...] = ()

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """The rank of each method on each data set."""
        return self.accuracy.round(_DIGITS).fillna(-1.0).rank(axis=1, ascending=False)

    @cached_property
    def mean(self) -> pd.Series:
        """Mean ranks, the best method first."""
        return self.ranks.mean().sort_values(kind="stable")

    @cached_property
    def n_independent(self) -> float:
        """The effective number of data sets, N above."""
        rows = pd.Series([data_set_of(str(row)) for row in self.accuracy.index]).value_counts().to_numpy(dtype=float)
        return float(rows.sum() ** 2 / (rows**2).sum()) if rows.size else 0.0

    @property
    def is_tested(self) -> bool:
        """Whether there are at least two methods and two data sets, without which there is no test."""
        return len(self.mean) > 1 and self.n_independent > 1.0

    @cached_property
    def friedman(self) -> FriedmanResult:
        """Friedman's test that all methods are alike."""
        return friedman(self.mean.to_numpy(), self.n_independent)

    @cached_property
    def critical_difference(self) -> float:
        """Nemenyi's: methods whose mean ranks differ by less are not told apart."""
        return critical_difference(len(self.mean), self.n_independent)

    @cached_property
    def groups(self) -> list[list[str]]:
        """The largest groups of several methods that are not told apart."""
        return alike(self.mean, self.critical_difference)

    def against(self, baseline: str) -> dict[str, Against]:
        """Every other method against one of them.

        Parameters
        ----------
        baseline : str
        """
        counted = self.accuracy.round(_DIGITS).fillna(-1.0)
        signs = np.sign(counted.sub(counted[baseline], axis=0)).drop(columns=baseline)
        by_set = self.accuracy.fillna(0.0).groupby([data_set_of(str(row)) for row in self.accuracy.index]).mean()
        tests = {name: wilcoxon_signed_rank(by_set[baseline], by_set[name]) for name in signs}
        adjusted = dict(zip(tests, holm([test.pvalue for test in tests.values()]), strict=True))
        return {
            name: Against(
                int((own > 0).sum()),
                int((own == 0).sum()),
                losses=int((own < 0).sum()),
                is_better=tests[name].rank_plus > tests[name].rank_minus,
                pvalue=tests[name].pvalue,
                adjusted=adjusted[name],
            )
            for name, own in signs.items()
        }


def rank_methods(shared: SharedCells) -> Ranking:
    """Rank methods on the data sets that all of them were run on.

    Where cells are missing, the method or the data set with the largest share of missing cells is left out, again and
    again, until none is missing.

    Parameters
    ----------
    shared : SharedCells
    """
    present = shared.present
    methods, sets = [], []
    while not present.to_numpy().all():
        by_method, by_set = 1.0 - present.mean(axis=0), 1.0 - present.mean(axis=1)
        if by_method.max() > by_set.max():
            methods.append(str(by_method.idxmax()))
            present = present.drop(columns=methods[-1])
        else:
            sets.append(str(by_set.idxmax()))
            present = present.drop(index=sets[-1])
    return Ranking(shared.table("accuracy").loc[present.index, present.columns], tuple(methods), tuple(sets))


def friedman(mean_ranks: Sequence[float] | np.ndarray, n_sets: float) -> FriedmanResult:
    """Friedman's test in Iman and Davenport's form.

    Parameters
    ----------
    mean_ranks : sequence of float
        Of two methods or more.
    n_sets : float
        Number of data sets, more than 1.

    Examples
    --------
    >>> from experiments.benchmark.page.ranks import friedman
    >>> result = friedman([3.143, 2.000, 2.893, 1.964], 14)  # Demšar (2006), section 3.2.2
    >>> round(result.chi2, 2), round(result.statistic, 2), round(result.pvalue, 3)
    (9.28, 3.69, 0.02)
    """
    ranks, N = np.asarray(mean_ranks, dtype=float), n_sets
    k = len(ranks)
    chi2 = 12.0 * N / (k * (k + 1)) * (float((ranks**2).sum()) - k * (k + 1) ** 2 / 4.0)
    rest = N * (k - 1) - chi2
    F = (N - 1) * chi2 / rest if rest > 1e-9 * N * k else np.inf  # all sets rank the methods alike
    return FriedmanResult(chi2, statistic=float(F), pvalue=float(stats.f.sf(F, k - 1, (k - 1) * (N - 1))))


def critical_difference(n_methods: int, n_sets: float, level: float = LEVEL) -> float:
    """Nemenyi's critical difference of mean ranks.

    Parameters
    ----------
    n_methods : int
    n_sets : float
    level : float

    Examples
    --------
    >>> from experiments.benchmark.page.ranks import critical_difference
    >>> round(critical_difference(4, 14), 2)  # Demšar (2006), section 3.2.2
    1.25
    """
    return float(_quantile(n_methods, level) * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


@cache
def _quantile(n_methods: int, level: float) -> float:
    """q of Nemenyi's test; SciPy takes up to a second to compute it."""
    return float(stats.studentized_range.ppf(1.0 - level, n_methods, np.inf) / np.sqrt(2.0))


def alike(mean_ranks: pd.Series, difference: float) -> list[list[str]]:
    """The largest groups of several methods whose mean ranks differ by less than a critical difference.

    Parameters
    ----------
    mean_ranks : Series
        The best method first.
    difference : float

    Examples
    --------
    >>> import pandas as pd
    >>> from experiments.benchmark.page.ranks import alike
    >>> alike(pd.Series({"a": 1.0, "b": 1.8, "c": 2.5, "d": 4.7}), 1.0)
    [['a', 'b'], ['b', 'c']]
    """
    values, names = mean_ranks.to_numpy(), [str(name) for name in mean_ranks.index]
    found: list[list[str]] = []
    end = 0
    for start in range(len(values)):
        stop = int(np.searchsorted(values, values[start] + difference))
        if stop > max(end, start + 1):
            found.append(names[start:stop])
            end = stop
    return found


def holm(pvalues: Sequence[float]) -> list[float]:
    """P-values after Holm's correction for their number.

    Parameters
    ----------
    pvalues : sequence of float

    Examples
    --------
    >>> from experiments.benchmark.page.ranks import holm
    >>> [round(value, 3) for value in holm([0.03, 0.01, 0.04])]
    [0.06, 0.03, 0.06]
    """
    given = np.asarray(pvalues, dtype=float)
    order = np.argsort(given, kind="stable")
    steps = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    found = np.empty_like(given)
    found[order] = np.minimum(steps, 1.0)
    return found.tolist()
