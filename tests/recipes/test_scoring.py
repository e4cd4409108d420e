"""The score that decides: which, and by which names."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer_names

from kernelweave.recipes.scoring import _KNOWN, Scoring, default_scoring, positive_place, scoring_named
from kernelweave.survival import outcome


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
    assert set(_KNOWN) - {"concordance"} <= set(get_scorer_names())  # scikit-learn has no score of survival


def test_every_score_has_a_value():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 40)
    shares = random.dirichlet([1.0, 1.0], 40)
    for name, (task, *_) in _KNOWN.items():
        if task == "classification":
            value = Scoring(name).value(y, shares.argmax(axis=1), shares, 2)
        elif task == "survival":
            value = Scoring(name).value(outcome(random.random(40), y), random.normal(size=40), None, 0)
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


@pytest.mark.parametrize("name", ["f1", "precision", "recall", "jaccard", "average_precision", "roc_auc", "accuracy"])
def test_scores_of_the_other_class(name):
    """They are those of the labels turned around."""
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 60)
    shares = random.dirichlet([2.0, 1.0], 60)
    predicted = shares.argmax(axis=1)
    turned = Scoring(name).value(1 - y, 1 - predicted, shares[:, ::-1], 2)
    assert Scoring(name, 0).value(y, predicted, shares, 2) == pytest.approx(turned, abs=1e-12)
    if Scoring(name).is_of_one_class:
        assert Scoring(name, 0).value(y, predicted, shares, 2) != Scoring(name).value(y, predicted, shares, 2)


def test_the_positive_class():
    assert (
        positive_place(None, ["a", "b", "c"]) == positive_place("b", ["a", "b"]) == positive_place(True, [False, True])
    )
    assert positive_place("False", np.array([False, True])) == positive_place("3", np.array([3, 7])) == 0
    with pytest.raises(ValueError, match="positive='c' is no class of the target, which has 'a' and 'b'"):
        positive_place("c", ["a", "b"])
    with pytest.raises(ValueError, match="positive='a' is for a target of two classes, and this one has 3"):
        positive_place("a", ["a", "b", "c"])
    with pytest.raises(ValueError, match="positive='a' is for a target of two classes, and this one has numbers"):
        positive_place("a", [])
