"""The score that decides: which, and by which names."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer_names

from kernelweave.recipes.scoring import _KNOWN, Scoring, default_scoring, scoring_named


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((50, 50), "accuracy"),
        ((75, 25), "accuracy"),
        ((76, 24), "balanced_accuracy"),
        ((73, 17, 10), "balanced_accuracy"),
        ((500, 330, 170), "accuracy"),
        ((510, 330, 160), "balanced_accuracy"),
    ],
)
def test_balanced_accuracy_decides_below_half_the_even_share(counts, expected):
    labels = np.repeat([f"c{place}" for place in range(len(counts))], counts)
    assert default_scoring("classification", labels) == expected
    assert scoring_named(None, "classification", labels).name == expected
    assert default_scoring("regression") == "r2"


def test_every_name_is_one_of_scikit_learn():
    assert set(_KNOWN) <= set(get_scorer_names())


def test_every_score_has_a_value():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 40)
    shares = random.dirichlet([1.0, 1.0], 40)
    for name, (task, *_) in _KNOWN.items():
        if task == "classification":
            value = Scoring(name).value(y, shares.argmax(axis=1), shares, 2)
        else:
            value = Scoring(name).value(y * 1.0, y + random.normal(size=40), None, 0)
        assert np.isfinite(value) and (value <= 0.0) == (value < 0.0 or Scoring(name).is_error or value == 0.0), name


@pytest.mark.parametrize(
    ("name", "task", "labels", "message"),
    [
        ("roc_acu", "classification", [0, 1], "there is no score 'roc_acu'; did you mean 'roc_auc'?"),
        ("r2", "classification", [0, 1], "the score 'r2' is for a regression, not a classification"),
        ("accuracy", "regression", None, "the score 'accuracy' is for a classification, not a regression"),
        ("f1", "classification", [0, 1, 2], "'f1' is for two classes, and there are more; take 'f1_macro'"),
        ("average_precision", "classification", [0, 1, 2], "take 'roc_auc'"),
    ],
)
def test_names_that_do_not_fit(name, task, labels, message):
    with pytest.raises(ValueError, match=message):
        scoring_named(name, task, labels)
