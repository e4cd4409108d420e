"""Transformers by the kinds of columns."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize

from kernelweave import MKLClassifier, load, save, stack_views
from kernelweave.recipes import CohortModel
from kernelweave.recipes.kinds import column_kinds
from kernelweave.recipes.layout import TableLayout
from kernelweave.recipes.preparation import joined_transformer, reduced, view_kernels, view_transformer
from kernelweave.views import Views
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


COUNTS = np.random.default_rng(0).poisson(0.3, size=(40, 30)).astype(float)


@pytest.mark.parametrize(
    ("values", "prepared_by", "kernels"),
    [
        (sp.csr_matrix(COUNTS), ["TfidfTransformer"], 1),
        (sp.csr_matrix(0.5 * COUNTS), ["Normalizer"], 1),
        (sp.csr_matrix(-COUNTS), ["MaxAbsScaler"], 2),
        (COUNTS, ["SimpleImputer", "TfidfTransformer"], 1),
        (0.5 * COUNTS, ["StandardScaler"], 2),
        (np.minimum(COUNTS, 1.0), ["StandardScaler"], 2),  # flags are no counts
        (COUNTS[:, :10], ["StandardScaler"], 2),  # of few columns
        (np.where(COUNTS > 0, COUNTS + 5, 0), ["StandardScaler"], 2),  # as grey values of images are
    ],
)
def test_counts_and_sparse_rows_have_unit_length_and_a_linear_kernel(values, prepared_by, kernels):
    layout, table = prepared(stack_views({"w": values}))
    (view,) = layout.views
    transformer = view_transformer(view, table)
    steps = [step for _, step in transformer.steps] if hasattr(transformer, "steps") else [transformer]
    assert [type(step).__name__ for step in steps] == prepared_by
    assert len(view_kernels(view, table, transformer)) == kernels
    if kernels == 1:
        rows = clone(transformer).fit_transform(values)
        np.testing.assert_allclose(np.sqrt(rows.multiply(rows).sum(axis=1)), 1.0)


def test_models_of_all_columns_read_what_kernels_read():
    """Each view of counts or sparse rows is prepared by itself, also where others are dense and it becomes so."""
    dense = np.random.default_rng(1).normal(size=(40, 3))
    for views in (
        {"w": sp.csr_matrix(COUNTS), "v": sp.csr_matrix(0.5 * COUNTS)},
        {"w": sp.csr_matrix(COUNTS), "d": dense},
    ):
        X = stack_views(views)
        layout, _ = prepared(X)
        joined = layout.only(layout.names, joined=True)
        table, _ = joined.table(X)
        given = Views(table).X.to_numpy() if "d" in views else sp.hstack(list(views.values())).tocsr()
        values = joined_transformer(joined, table).fit_transform(given)
        values = values.toarray() if sp.issparse(values) else values
        expected = [TfidfTransformer().fit_transform(COUNTS).toarray()]
        expected += [normalize(COUNTS)] if "v" in views else [StandardScaler().fit_transform(dense)]
        expected = expected if "v" in views else expected[::-1]  # numbers come first
        np.testing.assert_allclose(values, np.hstack(expected), atol=1e-12)


def test_a_gap_in_counts_is_none(tmp_path):
    X = stack_views({"w": COUNTS})
    y = np.arange(40) % 2
    model = CohortModel("mean", effort="quick", random_state=0).fit(X, y)
    assert model.model_.kernel_names_ == ["w-linear"]
    holes = X.mask(np.random.default_rng(2).random(X.shape) < 0.1)
    np.testing.assert_allclose(model.decision_function(holes), model.decision_function(holes.fillna(0.0)))
    save(model, tmp_path / "model.kw")
    np.testing.assert_allclose(load(tmp_path / "model.kw").decision_function(holes), model.decision_function(holes))


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
        kernels += view_kernels(view, table, lean)
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
        kernels = [
            kernel for view in layout.views for kernel in view_kernels(view, table, view_transformer(view, table))
        ]
        assert [name for name, _ in kernels[:2]] == ["rna-linear", "rna-gaussian"]
    model = MKLClassifier(kernels).fit(table, y)
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").decision_function(table), model.decision_function(table))
