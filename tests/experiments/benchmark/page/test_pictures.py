"""The pictures of the benchmark: every method is named, and names cover neither each other nor marks."""

import numpy as np
import pandas as pd
import pytest

from drawing import plt
from experiments.benchmark.page import pictures
from experiments.benchmark.page.pictures import draw_accuracy_against, draw_critical_differences, name_marks
from experiments.benchmark.page.ranks import Ranking, rank_methods, shared_cells
from made_up_cells import made_up_cells


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are saved."""
    figures = []
    save = pictures._save
    monkeypatch.setattr(pictures, "_save", lambda figure, path: (figures.append(figure), save(figure, path)))
    return figures


def words(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts if text.get_text()]


def test_critical_difference_diagram(tmp_path, drawn):
    shared = shared_cells(made_up_cells())
    ranking = rank_methods(shared)
    path = tmp_path / "new" / "ranks.png"
    draw_critical_differences(ranking, path, families=shared.families, title="All")
    assert plt.imread(path).shape[1] == 1400
    said = words(drawn[0])
    assert all(f"{name}  {rank:.2f}" in said for name, rank in ranking.mean.items())
    assert "critical difference" in said and "All" in said
    bars = [line for line in drawn[0].axes[0].lines if line.get_linewidth() == 3.0]
    assert len(bars) == len(ranking.groups) > 0
    frame = drawn[0].axes[0].get_window_extent()
    for text in drawn[0].axes[0].texts:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1


def test_the_ruler_has_the_length_of_the_critical_difference(tmp_path, drawn):
    ranking = Ranking(pd.DataFrame(np.random.RandomState(0).rand(60, 3), columns=list("abc")).rename(index=str))
    draw_critical_differences(ranking, tmp_path / "ranks.png", families=dict.fromkeys("abc", "entry"))
    axis, *ticks = drawn[0].axes[0].lines[:4]
    ruler = drawn[0].axes[0].lines[4]
    width = np.ptp(axis.get_xdata()) / 2.0  # of one rank
    assert np.ptp(ruler.get_xdata()) == pytest.approx(ranking.critical_difference * width)
    assert np.ptp([tick.get_xdata()[0] for tick in ticks]) == pytest.approx(2.0 * width)


def test_a_critical_difference_that_is_longer_than_the_axis(tmp_path, drawn):
    ranking = Ranking(pd.DataFrame({"a": [0.9, 0.8], "b": [0.7, 0.9]}, index=["s", "t"]))
    assert ranking.critical_difference > 1.0
    draw_critical_differences(ranking, tmp_path / "ranks.png", families={"a": "rival", "b": "kernelweave"})
    assert "critical difference: longer than the axis" in words(drawn[0])


def test_accuracy_against_a_cost(tmp_path, drawn):
    shared = shared_cells(made_up_cells())
    accuracy = 100 * shared.table("accuracy").mean()
    stored = shared.table("stored").mean()
    path = tmp_path / "stored.png"
    draw_accuracy_against(accuracy, stored, path, families=shared.families, cost_label="stored samples", none="none")
    ax = drawn[0].axes[0]
    assert sorted(words(drawn[0])) == sorted(accuracy.index)
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "stored samples"
    assert ax.get_xticklabels()[0].get_text() == "none"
    assert [entry.get_text() for entry in drawn[0].legends[0].get_texts()][:2] == ["Kernelweave", "rival"]
    marks = [line for line in ax.lines if line.get_marker() in "os"]
    assert len(marks) == len(accuracy)
    aside = min(line.get_xdata()[0] for line in marks)
    assert sum(line.get_xdata()[0] == aside for line in marks) == int(stored.isna().sum()) == 3


def test_all_cost_nothing_or_one_method(tmp_path):
    draw_accuracy_against(
        pd.Series({"a": 90.0, "b": 91.0}),
        pd.Series({"a": np.nan, "b": np.nan}),
        tmp_path / "none.png",
        families={"a": "rival", "b": "entry"},
        cost_label="stored",
        none="none",
    )
    draw_accuracy_against(
        pd.Series({"a": 90.0}), pd.Series({"a": 2.0}), tmp_path / "one.png", families={"a": "rival"}, cost_label="s"
    )
    assert (tmp_path / "none.png").exists() and (tmp_path / "one.png").exists()


def test_names_cover_neither_each_other_nor_marks():
    rng = np.random.RandomState(0)
    figure, ax = plt.subplots(figsize=(7, 5.4), dpi=200)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    points = {f"a method {number}": tuple(0.4 + 0.2 * rng.rand(2)) for number in range(20)}
    ax.plot(*np.array(list(points.values())).T, "o")
    name_marks(ax, points, colours=dict.fromkeys(points, "black"), size=8.5)
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    marks = ax.transData.transform(list(points.values()))
    plt.close(figure)
    assert len(boxes) == 20
    assert not [(i, j) for i, one in enumerate(boxes) for j, two in enumerate(boxes) if i < j and one.overlaps(two)]
    assert not any(box.contains(*mark) for box in boxes for mark in marks)


def test_the_same_cells_give_the_same_file(tmp_path):
    ranking = Ranking(pd.DataFrame({"a": [0.9, 0.8], "b": [0.7, 0.9]}, index=["s", "t"]))
    for name in ("one.png", "two.png"):
        draw_critical_differences(ranking, tmp_path / name, families={"a": "rival", "b": "entry"})
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
