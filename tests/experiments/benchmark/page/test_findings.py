"""Sentences about cells: who is ahead, where, and how surely."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.benchmark.page.findings import (
    baseline_sentences,
    cost_sentences,
    count_words,
    critical_sentences,
    escaped,
    lead_sentences,
    leads,
    named_against_best,
    named_sentences,
    standing_sentences,
)
from experiments.benchmark.page.ranks import Ranking, rank_methods, shared_cells
from made_up_cells import METHODS, SETS, made_up_cells


def with_accuracy(cells, row, method, values):
    """Cells in which a method has given accuracies on the splits of a set."""
    changed = cells.copy()
    own = (cells["set"] == row) & (cells["method"] == method)
    changed.loc[own, "accuracy"] = values
    return changed


def flat(cells):
    """All methods alike on all sets."""
    return cells.assign(accuracy=0.7)


def test_a_rival_that_is_ahead_is_named_with_its_lead():
    cells = with_accuracy(flat(made_up_cells()), "cora", "random forest", [0.90, 0.901, 0.902])
    found = {lead.row: lead for lead in leads(shared_cells(cells))}
    assert len(found) == len(SETS)
    assert found["cora"].best == "random forest" and found["cora"].is_sure
    assert found["heart"].best is None
    said = " ".join(lead_sentences(list(found.values())))
    counts = count_words(list(found.values()))
    assert counts.endswith("one of Kernelweave's on 0 of 10 data sets, another one on 1, and both tie on 9")
    assert "by a point or more: *random forest* on cora (+20.1)." in said
    assert "Significantly ahead (test of held-out losses, 0.05): *random forest* on cora (+20.1)." in said


def test_a_lead_that_varies_is_not_significant():
    cells = with_accuracy(flat(made_up_cells()), "cora", "random forest", [0.9, 0.69, 0.71])
    found = [lead for lead in leads(shared_cells(cells)) if lead.row == "cora"]
    # 400 test and 200 training samples; 0.3 * 400 labels are wrong, and 0.2333 * 400, at worst none of them in both
    d = np.concatenate([np.full(120, -1.0), np.zeros(400 - 120 - 94), [1 / 3], np.ones(93)])
    u = np.sqrt(np.mean(d[d != 0] ** 2))
    error = np.sqrt((1 / 400 + 1 / 200) * np.append(d, [u, -u]).var(ddof=1))
    assert found[0].pvalue == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, 399))
    assert "On no data set is another method significantly ahead" in " ".join(lead_sentences(found))


def test_one_split_gives_no_test():
    found = leads(shared_cells(made_up_cells(splits=1)))
    assert all(np.isnan(lead.pvalue) and not lead.is_sure for lead in found)
    assert "significant" not in " ".join(lead_sentences(found)).lower()


def test_one_side_alone_has_no_leads():
    ours = {name: given for name, given in METHODS.items() if given[0] == "kernelweave"}
    assert leads(shared_cells(made_up_cells(methods=ours))) == []


def test_failed_methods_lead_nowhere():
    cells = made_up_cells(["heart"], failing=[("heart", name) for name in METHODS if METHODS[name][0] == "rival"])
    assert leads(shared_cells(cells)) == []
    assert count_words([]) == "The best method is one of Kernelweave's on 0 of 0 data sets, another one on 0"


def test_rivals_before_all_of_kernelweave_are_named():
    accuracy = pd.DataFrame({"EasyMKL": [0.5] * 4, "forest": [0.9] * 4, "linear": [0.6] * 4}, index=list("abcd"))
    families = {"EasyMKL": "kernelweave", "forest": "rival", "linear": "rival"}
    said = " ".join(standing_sentences(Ranking(accuracy), families))
    assert said.startswith("The best mean rank is that of *forest* (rival), 1.00 of 3.")
    assert "Ahead of every method of Kernelweave by mean rank: *forest* and *linear*." in said
    first = named_against_best(Ranking(accuracy), families, "EasyMKL")
    assert "more accurate than *forest*, the best of 2 others by mean rank, on 0 of 4 data sets, as" in first
    assert "as accurate on 0 and less accurate on 4: 50.0 against 90.0 per cent in the mean" in first
    assert named_against_best(Ranking(accuracy), families, "absent") is None
    assert named_against_best(Ranking(accuracy[["EasyMKL"]]), families, "EasyMKL") is None
    other = " ".join(standing_sentences(Ranking(-accuracy), families))
    assert "Ahead of every" not in other and "The best of the others is *linear* (2.00)." in other


def test_how_one_method_compares_with_the_best_of_the_others():
    cells = with_accuracy(flat(made_up_cells()), "cora", "random forest", [0.90, 0.901, 0.902])
    cells = with_accuracy(cells, "heart", "logistic regression", [0.704, 0.705, 0.706])  # within half a point
    cells = with_accuracy(cells, "sonar", "logistic regression", [0.709, 0.710, 0.711])
    shared = shared_cells(cells)
    said, rank = named_sentences(shared, rank_methods(shared), "auto")
    assert said.startswith(
        "*auto* is ahead of the best of the others, or within 0.5 points of it, on 8 of 10 data sets."
    )
    assert "more than 1.5 points behind on 1: cora (-20.1 to *random forest*, p < 0.001)." in said
    assert rank == "The mean rank of *auto* is 6.15, place 3 of 11."  # 6 where all are alike, 6.5 on three sets
    assert named_sentences(shared, rank_methods(shared), "absent") == []


def test_a_failure_of_the_one_method_is_said():
    shared = shared_cells(flat(made_up_cells(failing={("heart", "auto")})))
    shared.cells.loc[shared.cells["failed"] != "", "accuracy"] = np.nan
    said = named_sentences(shared, rank_methods(shared), "auto")[0]
    assert "on 9 of 9 data sets (and failed on 1 more). It is nowhere more than 1.5 points behind." in said


def test_critical_sentences_name_what_is_not_told_apart():
    rows = [f"s{row}" for row in range(40)]
    rng = np.random.RandomState(0)
    accuracy = pd.DataFrame({"a": 0.9, "b": 0.9 + 0.001 * rng.randn(40), "c": 0.1}, index=rows)
    said = " ".join(critical_sentences(Ranking(accuracy)))
    assert "rejects that all methods are alike" in said and "N = 40" in said
    best, other = Ranking(accuracy).mean.index[:2]
    assert f"not told apart from the best: *{other}*." in said and f"*{best}*" not in said
    assert "no test" in critical_sentences(Ranking(accuracy.iloc[:1]))[0]


def test_baseline_sentences():
    index = [f"s{row}" for row in range(20)]
    accuracy = pd.DataFrame({"base": 0.7, "up": 0.8, "down": 0.6, "same": 0.7}, index=index)
    accuracy += 0.001 * np.arange(20)[:, None] * np.array([0, 1, -1, 0])
    said = baseline_sentences(Ranking(accuracy), "base")
    assert said[0].endswith("significantly better: *up*; significantly worse: *down*.")
    assert baseline_sentences(Ranking(accuracy), "absent") == []


def test_cost_sentences():
    accuracy = pd.Series({"slow": 99.5, "fast": 99.0, "poor": 90.0})
    seconds, stored = pd.Series({"slow": 9.0, "fast": 1.0, "poor": 0.1}), pd.Series({"slow": 5, "fast": 50, "poor": 1})
    said = cost_sentences(accuracy, seconds, stored)[0]
    assert "Among the 2 methods" in said and "the fastest is *fast* (1 seconds)" in said and "is *slow* (5)" in said
    assert "*fast* store no training samples" in cost_sentences(accuracy, seconds, stored.replace(50, np.nan))[0]
    alone = cost_sentences(accuracy.replace(99.0, 98.0), seconds, stored)
    assert alone == ["No other method is within one per cent of the most accurate one, *slow*, in the mean."]


def test_names_are_shown_as_they_are():
    assert escaped("a|b\n*c* <d> [e]") == r"a\|b \*c\* \<d\> \[e\]"


def test_a_full_table_gives_every_sentence():
    shared = shared_cells(made_up_cells())
    ranking = rank_methods(shared)
    assert len(standing_sentences(ranking, shared.families)) == 2
    assert len(critical_sentences(ranking)) == 2
