"""What is reached, what holds, and which simpler methods win."""

import pytest

from experiments.declaration import Claim
from experiments.reports.verdicts import judge, wins


def record(*results, score="accuracy %", baseline="plain"):
    """A record of (data, method, mean, std, further keys)."""
    rows = [{"data": d, "method": m, "test": [mean, std], **more} for d, m, mean, std, more in results]
    return {"score": score, "baseline": baseline, "version": "1", "results": rows}


@pytest.mark.parametrize(
    ("ours", "printed", "score", "reached"),
    [
        ((97.0, 0.1), (97.4, 0.4), "accuracy %", 1),  # just within the paper's standard deviation
        ((97.0, 5.0), (97.5, 0.4), "accuracy %", 0),  # ours does not count where the paper has one
        ((97.0, 0.6), (97.5, None), "accuracy %", 1),
        ((97.0, 0.4), (97.5, None), "accuracy %", 0),
        ((99.0, 0.1), (97.5, 0.1), "accuracy %", 1),
        ((40.0, 0.1), (44.0, 0.1), "MSE", 1),
        ((44.0, 0.1), (40.0, 3.9), "MSE", 0),
        ((12.0, 0.1), (11.0, 1.0), "error %", 1),
        ((0.5149, 0.1), (0.51, 0.0), "MSE", 1),  # 0.51 as the paper prints it
        ((0.5151, 0.1), (0.51, 0.0), "MSE", 0),
    ],
)
def test_a_figure_is_reached_within_the_papers_standard_deviation(ours, printed, score, reached):
    found = judge(Claim("", "new"), record(("", "new", *ours, {"paper": {"test": list(printed)}}), score=score))
    assert (found.reached, found.n_figures, found.all_reached, found.n_all) == (reached, 1, reached, 1)
    assert found.ours == ours and found.paper == printed


def test_orders_of_scores_vectors_and_costs():
    def tables(mean, support, cost, std=0.5):
        own = {"support": [support, 1.0], "total_cost": [cost, 1.0]}
        others = {"support": [20.0, 1.0], "total_cost": [20.0, 1.0]}
        return record(("", "new", mean, std, own), ("", "plain", 97.0, 0.5, others))

    def against(claim, *figures, **std):
        return judge(claim, tables(*figures, **std)).against.get("", [])

    ahead = Claim("", "new", ahead_of=("plain",))
    assert against(ahead, 97.1, 30, 30) == [] and against(ahead, 97.0, 1, 1) == ["plain is ahead"]
    level = Claim("", "new", no_worse_than=("plain",))
    assert against(level, 96.5, 30, 30) == [] and against(level, 96.5, 1, 1, std=0.4) == ["plain is ahead"]
    lean = Claim("", "new", sparser_than=("plain",), cheaper_than=("plain",))
    assert against(lean, 50, 19, 19) == []
    assert against(lean, 99, 20, 21) == ["plain stores no more", "plain costs no more"]


def test_several_data_sets_are_counted_and_averaged():
    rows = [
        ("a", "new", 90.0, 1.0, {"paper": {"test": [92.0, 1.0]}}),
        ("a", "plain", 91.0, 1.0, {}),
        ("b", "new", 80.0, 1.0, {"paper": {"test": [80.5, 1.0]}}),
        ("b", "plain", 70.0, 1.0, {"paper": {"test": [70.0, 1.0]}}),
        ("c", "plain", 70.0, 1.0, {}),
    ]
    found = judge(Claim("", "new", ahead_of=("plain", "never run")), record(*rows))
    assert found.ours == (85.0, None) and found.paper == (86.25, None)
    assert (found.reached, found.n_figures, found.all_reached, found.n_all) == (1, 2, 2, 3)
    assert (found.holds, found.n_data) == (1, 2) and found.against == {"a": ["plain is ahead"]}
    absent = judge(Claim("", "absent", ahead_of=("plain",)), record(*rows))
    assert absent.n_data == 0 and absent.ours is None and absent.paper is None


def test_wins_and_what_is_known_of_them():
    claim = Claim("", "new", simpler=("plain", "mean", "worse"))
    rows = [
        ("", "new", 90.0, 1.0, {"p": {"test": 0.03}}),
        ("", "plain", 92.0, 1.0, {}),
        ("", "mean", 91.0, 1.0, {"p": {"test": 0.9}}),
        ("", "worse", 90.0, 1.0, {"p": {"test": 0.9}}),
    ]
    found = wins(claim, record(*rows))
    assert [(win.method, win.score, win.beaten, win.certainty) for win in found] == [
        ("plain", 92.0, 90.0, "significant"),
        ("mean", 91.0, 90.0, "not tested"),
    ]
    from_baseline = wins(claim, record(*rows, baseline="new"))
    assert [win.certainty for win in from_baseline] == ["not tested", "not significant"]
    marks = [("d", "new", 9.0, 1.0, {"best": False}), ("d", "plain", 8.0, 1.0, {"best": True})]
    assert [win.certainty for win in wins(claim, record(*marks, score="error %"))] == ["significant"]
    assert wins(claim, record(*marks)) == []  # as an accuracy, 8 does not win
