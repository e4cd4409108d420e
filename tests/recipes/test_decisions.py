"""Sentences about the kinds of columns: one for all views that hold the same kinds."""

import pandas as pd

from kernelweave.recipes.kinds import about_columns


def kinds(*rows):
    return pd.DataFrame(rows, columns=["column", "view", "kind", "why"]).set_index("column")


def test_a_view_of_its_own_kinds_has_its_counts():
    found = about_columns(kinds(("a", "lab", "number", ""), ("b", "lab", "number", ""), ("c", "lab", "category", "")))
    assert found == ["The view 'lab' has 2 columns of numbers and 1 of categories."]


def test_views_of_the_same_kinds_share_a_sentence():
    rows = [(f"{view}{i}", f"view{view}", "number", "") for view in range(7) for i in range(view + 1)]
    found = about_columns(kinds(*rows, ("K1", "K1", "similarity", ""), ("K2", "K2", "similarity", "")))
    assert found == [
        "The views 'view0', 'view1', 'view2', 'view3', 'view4' and 2 more have columns of numbers, 28 in all.",
        "The views 'K1', 'K2' are similarity matrices.",
    ]


def test_what_is_left_out():
    rows = [(name, name, "left out", "always the same") for name in "ab"]
    assert about_columns(kinds(*rows, ("c", "c", "text", ""))) == [
        "The views 'a', 'b' are left out: none of their columns can be used.",
        "The view 'c' has 1 column of text.",
        "The columns 'a', 'b' are left out: always the same.",
    ]
