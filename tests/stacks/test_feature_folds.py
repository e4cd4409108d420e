"""Weights from how well each kernel predicts alone, on explicit features."""

import numpy as np
import pytest

from explicit_problem import LABELS, THREE, Twin, X, some_missing
from kernelweave.combiners import AccuracyWeights, BestSingle, CorrelationWeights, ErrorWeights, FitControl
from kernelweave.stacks.held_out import Folds


def folds_as_lists(twin: Twin, folds: Folds) -> list:
    fold = np.concatenate([folds.of(block) for block in twin.explicit.engine.blocks])
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds.count)]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("case", ["squared-hinge", "one-vs-all", "several targets", "several least squares"])
def test_scores_are_those_of_the_exact_path_in_the_same_folds(case, missing):
    twin, folds = Twin(case, X=some_missing(X) if missing else X), Folds(4, 7)
    for m in range(2):
        found = twin.explicit.held_out(m, twin.machine, folds, FitControl(tol=1e-10), "BestSingle")
        lists = folds_as_lists(twin, folds)
        exact = twin.dense.held_out(m, twin.machine, lists, FitControl(tol=1e-7), "BestSingle")
        assert found.converged
        np.testing.assert_allclose(found.risk, exact.risk, rtol=2e-3)
        if case.startswith("several"):
            np.testing.assert_allclose(found.correlation, exact.correlation, atol=1e-3)


def test_the_best_kernel_is_found():
    combiner = BestSingle()
    twin = Twin("squared-epsilon-insensitive")
    kernel = combiner.fit(twin.explicit, twin.machine, FitControl())
    assert kernel.weights().tolist() == [1.0, 0.0, 0.0, 0.0]  # the target is a product
    assert combiner.risk_.idxmin() == "product" and combiner.risk_.notna().all()
    missing = Twin("squared-epsilon-insensitive", X=some_missing(X))
    combiner.fit(missing.explicit, missing.machine, FitControl())
    assert combiner.risk_.isna().tolist() == [True, False, False, True]


def test_weights_follow_the_performance():
    for case, labels in (("squared-hinge", LABELS), ("one-vs-all", THREE)):
        twin, combiner = Twin(case), AccuracyWeights()
        kernel = combiner.fit(twin.explicit, twin.machine, FitControl())
        above = np.maximum(combiner.accuracy_ - np.bincount(labels).max() / len(labels), 0.0)
        np.testing.assert_allclose(kernel.weights(), above / above.sum())
    twin = Twin("several targets")
    kernel = (combiner := CorrelationWeights()).fit(twin.explicit, twin.machine, FitControl())
    positive = np.maximum(combiner.correlation_, 0.0)
    np.testing.assert_allclose(kernel.weights(), positive / positive.sum())
    kernel = (combiner := ErrorWeights()).fit(twin.explicit, twin.machine, FitControl())
    assert kernel.weights().argmax() == combiner.error_.to_numpy().argmin()


def test_folds_do_not_depend_on_blocks():
    twin, folds = Twin("squared-hinge"), Folds(5, 3)
    parts = np.concatenate([folds.of(block) for block in twin.explicit.engine.blocks])
    from types import SimpleNamespace

    whole: object = SimpleNamespace(first=0, n_samples=90)
    np.testing.assert_array_equal(parts, folds.of(whole))
    assert set(parts.tolist()) == set(range(5))


def test_what_cannot_be_had_is_refused():
    twin, novelty = Twin("squared-hinge"), Twin("one class")
    with pytest.raises(ValueError, match="cv of BestSingle must be a number of folds"):
        BestSingle(cv=[(np.arange(45), np.arange(45, 90))]).fit(twin.explicit, twin.machine)
    with pytest.raises(ValueError, match="there are none; use Mean"):
        BestSingle().fit(novelty.explicit, novelty.machine)
    with pytest.raises(ValueError, match="for classification only"):
        AccuracyWeights().fit(novelty.explicit, novelty.machine)
    for combiner in (CorrelationWeights(), ErrorWeights()):
        with pytest.raises(ValueError, match="for regression only"):
            combiner.fit(twin.explicit, twin.machine)
        with pytest.raises(ValueError, match="for regression only"):
            combiner.fit(novelty.explicit, novelty.machine)
