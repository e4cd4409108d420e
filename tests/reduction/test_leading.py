"""`LeadingComponents`: the first columns, however many there are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from conventions import checks
from kernelweave.reduction import LeadingComponents

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4)) * [4.0, 3.0, 2.0, 1.0]
y = np.arange(30) % 3


@checks([LeadingComponents(PCA(), 1)], [LeadingComponents(LinearDiscriminantAnalysis(), 1)])
def test_scikit_learn_convention(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (3, 3), (4, 4), (100, 4), (None, 4)])
def test_first_columns(limit, count):
    model = LeadingComponents(PCA(), limit).fit(X)
    theirs = PCA(count).fit(X)
    np.testing.assert_allclose(model.transform(X[:5]), theirs.transform(X[:5]), atol=1e-12)
    assert model.n_components_ == count and model.n_features_in_ == 4


def test_the_labels_set_the_limit_of_discriminants():
    for labels, count in [(y, 2), (y == 0, 1)]:
        model = LeadingComponents(LinearDiscriminantAnalysis(), 3).fit(X, labels)
        theirs = LinearDiscriminantAnalysis(n_components=count).fit(X, labels)
        np.testing.assert_allclose(model.transform(X), theirs.transform(X))
        assert list(model.get_feature_names_out()) == [f"leadingcomponents{i}" for i in range(count)]


def test_the_given_transformer_is_left_alone():
    pca = PCA()
    model = LeadingComponents(pca, 2).fit(pd.DataFrame(X, columns=list("abcd")))
    assert not hasattr(pca, "components_") and list(model.feature_names_in_) == list("abcd")
    searched = clone(model).set_params(transformer__whiten=True, n_components=3).fit(X)
    np.testing.assert_allclose(searched.transform(X).std(axis=0, ddof=1), 1.0)


def test_wrong_numbers_are_named():
    with pytest.raises(ValueError, match="n_components of .* must be a positive whole number or None, not 0"):
        LeadingComponents(PCA(), 0).fit(X)
