"""Ranks and tests against the worked example of Demšar (2006), and rules for failures and missing cells."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.benchmark.page.ranks import (
    Ranking,
    alike,
    critical_difference,
    friedman,
    holm,
    rank_methods,
    shared_cells,
)
from made_up_cells import METHODS, made_up_cells

# Demšar (2006), Table 6: AUC of four forms of C4.5 on 14 data sets. The paper ranks the third form of "voting" before
# the fourth, although both are printed as 0.975.
DEMSAR = pd.DataFrame(
    [
        *([0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967]),
        *([0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931]),
        *([0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875]),
        *([1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669]),
        *([0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970]),
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
).rename(index="set {}".format)


def test_the_worked_example_of_demsar():
    ranking = Ranking(DEMSAR)
    published = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    assert ranking.mean.round(3).to_dict() == published
    assert list(ranking.mean.index) == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    assert ranking.friedman.chi2 == pytest.approx(9.28, abs=0.005)
    assert ranking.friedman.statistic == pytest.approx(3.69, abs=0.005)
    assert ranking.friedman.pvalue == pytest.approx(stats.f.sf(ranking.friedman.statistic, 3, 39))
    assert ranking.n_independent == 14
    assert ranking.critical_difference == pytest.approx(1.25, abs=0.01)
    assert ranking.groups == [list(ranking.mean.index)]  # 3.143 - 1.964 = 1.18


def test_the_worked_example_of_demsar_at_the_level_of_ten_per_cent():
    # "C4.5 is significantly worse than C4.5+m and C4.5+m+cf"
    difference = critical_difference(4, 14, level=0.10)
    assert difference == pytest.approx(1.12, abs=0.005)
    assert alike(Ranking(DEMSAR).mean, difference) == [["C4.5+m+cf", "C4.5+m", "C4.5+cf"], ["C4.5+cf", "C4.5"]]


@pytest.mark.parametrize(("k", "published"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (7, 2.949), (10, 3.164)])
def test_critical_values_of_nemenyi(k, published):
    # Demšar (2006), Table 5(a), alpha = 0.05
    assert critical_difference(k, 30) / np.sqrt(k * (k + 1) / 180) == pytest.approx(published, abs=0.0015)


def test_friedman_without_ties_is_that_of_scipy():
    values = np.random.RandomState(0).rand(12, 5)
    ranks = Ranking(pd.DataFrame(values, index=[f"s{row}" for row in range(12)]))
    assert ranks.friedman.chi2 == pytest.approx(stats.friedmanchisquare(*values.T).statistic)


def test_friedman_where_all_sets_agree_and_where_all_methods_tie():
    assert friedman([1.0, 2.0, 3.0], 5).pvalue == 0.0
    assert friedman([2.0, 2.0, 2.0], 5).pvalue == 1.0


def test_failed_methods_are_last_together():
    ranking = Ranking(pd.DataFrame({"a": [0.9, 0.5], "b": [np.nan, 0.5], "c": [np.nan, 0.1]}, index=["s", "t"]))
    assert ranking.ranks.to_numpy().tolist() == [[1.0, 2.5, 2.5], [1.5, 1.5, 3.0]]


def test_masked_forms_of_a_set_count_as_copies():
    one = Ranking(pd.DataFrame({"a": [0.9] * 4, "b": [0.8] * 4}, index=["cora", "ngs", "heart", "sonar"]))
    same = Ranking(pd.DataFrame({"a": [0.9] * 4, "b": [0.8] * 4}, index=["cora", "cora-block", "ngs", "ngs-random"]))
    mixed = Ranking(pd.DataFrame({"a": [0.9] * 4, "b": [0.8] * 4}, index=["cora", "cora-block", "cora-random", "ngs"]))
    assert (one.n_independent, same.n_independent, mixed.n_independent) == (4.0, 2.0, 1.6)
    assert same.critical_difference == pytest.approx(critical_difference(2, 2))


def test_against_the_baseline():
    accuracy = pd.DataFrame(
        {"base": [0.8, 0.7, 0.6, 0.9], "up": [0.9, 0.8, 0.6, 0.95], "fails": [0.9, np.nan, 0.6, 0.8]},
        index=["a", "b", "c", "d"],
    )
    found = Ranking(accuracy).against("base")
    assert set(found) == {"up", "fails"}
    assert (found["up"].wins, found["up"].ties, found["up"].losses) == (3, 1, 0)
    assert (found["fails"].wins, found["fails"].ties, found["fails"].losses) == (1, 1, 2)
    assert found["up"].is_better and not found["fails"].is_better
    assert found["up"].adjusted == pytest.approx(2 * found["up"].pvalue)


def test_the_wilcoxon_example_of_demsar():
    # Table 2: C4.5 against C4.5+m, ranks of positive and negative differences 93 and 12; z of T = 12 and N = 14
    found = Ranking(DEMSAR).against("C4.5")["C4.5+m"]
    z = (12 - 14 * 15 / 4) / np.sqrt(14 * 15 * 29 / 24)
    assert found.is_better
    assert found.pvalue == pytest.approx(2 * stats.norm.cdf(z))
    assert (found.wins, found.ties, found.losses) == (10, 2, 2)


def test_holm_keeps_the_order_and_stays_below_one():
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_groups_are_the_largest_ones():
    mean = pd.Series({"a": 1.0, "b": 1.5, "c": 2.2, "d": 4.0, "e": 9.0})
    assert alike(mean, 1.0) == [["a", "b"], ["b", "c"]]
    assert alike(mean, 0.1) == []
    assert alike(mean, 20.0) == [list("abcde")]


def test_a_method_that_was_run_on_few_sets_is_left_out():
    cells = made_up_cells()
    part = cells[(cells["method"] != "Localized") | cells["set"].isin(["cora", "heart"])]
    ranking = rank_methods(shared_cells(part))
    assert ranking.left_out_methods == ("Localized",) and ranking.left_out_sets == ()
    assert len(ranking.mean) == len(METHODS) - 1 and len(ranking.accuracy) == cells["set"].nunique()


def test_a_set_that_most_methods_lack_is_left_out():
    cells = made_up_cells()
    part = cells[(cells["set"] != "sonar") | cells["method"].isin(["LpMKL", "ConvexMKL"])]
    ranking = rank_methods(shared_cells(part))
    assert ranking.left_out_methods == () and ranking.left_out_sets == ("sonar",)
