"""Transformers by the kinds of columns."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, load, save, stack_views
from kernelweave.recipes.kinds import column_kinds
from kernelweave.recipes.layout import TableLayout
from kernelweave.recipes.preparation import joined_transformer, reduced, view_kernels, view_transformer
from mixed_cohort import cohort


def prepared(X):
    layout = TableLayout.of(X, column_kinds(X))
    table, _ = layout.table(X)
    return layout.with_means(table), table


def test_numbers_without_gaps_are_scaled():
    layout, table = prepared(pd.DataFrame({"a__x": [1.0, 2.0, 4.0, np.nan], "a__y": [1.0, 0.0, 1.0, np.nan]}))
    assert isinstance(view_transformer(layout.views[0], table), StandardScaler)


def test_many_categories_of_few_samples_each_are_kept_apart():
    X = pd.DataFrame({"a__site": [f"s{number % 200}" for number in range(800)]})
    layout, table = prepared(X)
    assert view_transformer(layout.views[0], table).fit_transform(table).shape == (800, 200)


def test_gaps_become_the_median_and_rare_categories_are_pooled():
    X = pd.DataFrame({"a__x": [1.0, 2.0, np.nan, 9.0] * 60, "a__s": ["u", "v", "u", "v"] * 60})
    X.loc[0, "a__s"] = "rare"
    X.loc[1, "a__s"] = "seldom"
    layout, table = prepared(X)
    transformer = view_transformer(layout.views[0], table).fit(table)
    values = transformer.transform(table)
    values = values.toarray() if sp.issparse(values) else values
    assert values.shape[1] == 4  # the number, u, v, and the rare ones together
    np.testing.assert_allclose(values[2, 0], values[1, 0])  # the median, 2
    unknown = pd.DataFrame({"a__x": [2.0], "a__s": ["never seen"]})
    row = transformer.transform(unknown)
    row = row.toarray() if sp.issparse(row) else row
    np.testing.assert_array_equal(row[0, 1:], values[0, 1:])


def test_sparse_counts_are_weighted_and_others_scaled_without_centring():
    counts = sp.csr_matrix(np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    for matrix, name in ((counts, "TfidfTransformer"), (counts * 0.5, "MaxAbsScaler")):
        layout, table = prepared(stack_views({"w": matrix}))
        transformer = view_transformer(layout.views[0], table)
        assert type(transformer).__name__ == name
        assert transformer.fit_transform(matrix)[0, 1] == 0


def test_wide_views_are_reduced():
    rng = np.random.default_rng(0)
    layout, table = prepared(
        stack_views({"a": rng.normal(size=(20, 30)), "w": sp.csr_matrix(rng.poisson(1, (20, 30)))})
    )
    for view in layout.views:
        transformer = view_transformer(view, table)
        assert reduced(transformer, view, table, widest=40, components=40) is transformer
        lean = reduced(transformer, view, table, widest=25, components=5)
        values = table[view.name].array.matrix if view.is_sparse else table[view.names]
        assert clone(lean).fit_transform(values).shape == (20, 5)


def test_a_fold_has_fewer_components_than_all_samples(tmp_path):
    rng = np.random.default_rng(0)
    layout, table = prepared(
        stack_views({"a": rng.normal(size=(20, 30)), "w": sp.csr_matrix(rng.poisson(1, (20, 30)))})
    )
    kernels = []
    for view in layout.views:
        lean = reduced(view_transformer(view, table), view, table, widest=25, components=25)
        kernels += view_kernels(view, lean)
    fold, y = table.iloc[::2], np.arange(10) % 2
    model = MKLClassifier(kernels).fit(fold, y)  # ten samples: nine components, of nineteen for all
    save(model, tmp_path / "model.kw")
    expected = model.decision_function(table)
    np.testing.assert_allclose(load(tmp_path / "model.kw").decision_function(table), expected)


@pytest.mark.parametrize("method", ["each view", "joined"])
def test_a_saved_model_can_hold_every_transformer(method, tmp_path):
    X, y, _, _ = cohort()
    X = X.drop(columns="sim")
    layout, table = prepared(X)
    if method == "joined":
        layout = layout.only(layout.names, joined=True)
        table, _ = layout.table(X)
        from kernelweave.kernels import Linear

        kernels = [Linear(transformer=joined_transformer(layout, table))]
    else:
        kernels = [kernel for view in layout.views for kernel in view_kernels(view, view_transformer(view, table))]
        assert [name for name, _ in kernels[:2]] == ["rna-linear", "rna-gaussian"]
    model = MKLClassifier(kernels).fit(table, y)
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").decision_function(table), model.decision_function(table))
