"""By what labels of two tables differ that would be the same if they were written alike."""

import numpy as np
import pandas as pd
import pytest

from cases import each
from kernelweave import read_views, read_views_in_blocks
from kernelweave.files.read import read_cohort
from kernelweave.views.alike import difference


@each(
    ("some", "others", "words", "count"),
    [
        (["7", "8", "a"], ["007", "008", "a"], "leading zeros", 2),
        (["S_07", "x"], ["S_7", "y"], "leading zeros", 1),
        (["Ann", "bob"], ["ann", "Bob"], "upper and lower case", 2),
        (["P 1", "P 2"], ["P1", "P2"], "blanks", 2),
        (["7.0", "x"], ["7", "y"], "'.0' at the end", 1),
        (["P-1.A"], ["P_1_A"], "punctuation", 1),
        (["P-01", "P-02"], ["p1", "p2"], "upper and lower case, punctuation and leading zeros", 2),
        ([0, 1], ["0", "1"], "their type", 2),
        (["S_7", "S_8", "x"], ["7", "8", "y"], "'S_' in front", 2),
        (["7", "8"], ["S_7", "S_8"], "'S_' in front", 2),
        (["p1.cel", "p2.cel"], ["p1", "p2"], "'.cel' behind", 2),
        (["TCGA-01", "TCGA-02"], ["TCGA-01-A", "TCGA-02-B"], "what stands behind", 2),
        (["TCGA-01", "TCGA-02"], ["tcga-01-A", "tcga-02-B"], "upper and lower case and what stands behind", 2),
    ],
)
def test_what_labels_differ_by(some, others, words, count):
    found = difference(some, others)
    assert (found.words, len(found.pairs)) == (words, count)
    one, other = found.pairs[0]
    assert one in some and other in others


@each(
    ("some", "others"),
    [
        (["a", "b"], ["a", "b"]),
        (["1-1"], ["11"]),
        (["ann", "eve"], ["joann", "steve"]),
        ([str(k) for k in range(100)], [str(k) for k in range(100, 200)]),
        ([1.5, 2.0], [15, 20]),
        (["p1", "p2"], [1, 2]),
        (["a", "A"], ["a ", "b"]),  # which of the two?
        (["x"], []),
    ],
)
def test_labels_that_are_simply_different(some, others):
    assert difference(some, others) is None


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = [str(k) for k in range(1, 21)]
    padded = [f"{k:03d}" if k < 8 else str(k) for k in range(1, 21)]
    pd.DataFrame({"id": ids, "x": range(20)}).to_csv("a.csv", index=False)
    pd.DataFrame({"id": padded, "y": [0, 1] * 10}).to_csv("labels.csv", index=False)
    pd.DataFrame({"id": [f"S_{k}" for k in ids], "z": range(20)}).to_csv("b.csv", index=False)
    kin = pd.DataFrame(np.eye(20), index=pd.Index(padded, name="id"), columns=padded)
    kin.to_csv("kin.csv")
    pd.DataFrame({"id": ids[:5] + padded[5:], "site": "u"}).to_csv("groups.csv", index=False)


def test_ids_that_match_partly(files):
    message = (
        "7 ids of a.csv differ from those of labels.csv only by leading zeros, such as '1' and '001': they count as "
        "different samples; if they are the same, write the ids alike, or name the right column as id="
    )
    with pytest.warns(UserWarning) as caught:
        tables = read_views(["a.csv"], target="labels.csv:y", id="id")
    assert [str(warning.message) for warning in caught] == [message] and len(tables.X) == 13
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(UserWarning, match="7 ids of labels.csv differ from those of a.csv only by leading z") as caught:
        read_views(["a.csv", "labels.csv"], id="id")
    assert len(caught) == 1  # not of each of the two
    with pytest.warns(UserWarning, match="7 ids of labels.csv differ from those of a.csv only by leading zeros"):
        read_views_in_blocks(["a.csv", "labels.csv"], id="id")


def test_whole_numbers_are_ids_where_another_table_has_text_under_their_name(files):
    with pytest.warns(UserWarning, match="7 ids of a.csv differ from those of labels.csv only by leading zeros"):
        tables = read_views(["a.csv"], target="labels.csv:y")
    assert list(tables.X.columns) == ["a__x"] and len(tables.X) == 13


def test_ids_of_which_none_matches(files):
    message = r"'S_1' and '001' .20 of them differ only by leading zeros and what stands in front.; write the ids alike"
    with pytest.raises(ValueError, match=message):
        read_views(["b.csv"], target="labels.csv:y", id="id")
    message = "5 samples of 20 have no group.*5 ids of the views differ from those of groups.csv only by leading zeros"
    with pytest.raises(ValueError, match=message):
        read_cohort(["labels.csv"], "labels.csv:y", matrices=["k=kin.csv"], groups="groups.csv:site", id="id")
