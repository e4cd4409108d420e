"""Weights from how well each kernel predicts alone, on explicit features."""

import numpy as np
import pytest

from explicit_problem import LABELS, NUMBERS, THREE, Twin, X, some_missing
from kernelweave.combiners import AccuracyWeights, BestSingle, CorrelationWeights, ErrorWeights, FitControl
from kernelweave.combiners.weighted.single_explicit import Folds
from kernelweave.combiners.weighted.single_kernel import _held_out, risk


def folds_as_lists(twin: Twin, folds: Folds) -> list:
    fold = np.concatenate([folds.of(block) for block in twin.explicit.engine.blocks])
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds.count)]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("case", ["squared-hinge", "one-vs-all", "several targets", "several least squares"])
def test_scores_are_those_of_the_exact_path_in_the_same_folds(case, missing):
    from kernelweave.combiners.weighted.single_explicit import held_out

    twin, folds = Twin(case, X=some_missing(X) if missing else X), Folds(4, 7)
    control = FitControl(tol=1e-10)
    for m in range(2):
        found, converged = held_out(twin.explicit, m, twin.machine, folds, control)
        exact, _ = _held_out(BestSingle(), twin.dense, m, twin.exact, folds_as_lists(twin, folds), FitControl(tol=1e-7))
        assert converged
        np.testing.assert_allclose(found.risk, risk(twin.exact, exact), rtol=2e-3)
        if case == "several targets":
            true = NUMBERS[np.concatenate([test for test, _ in exact])]
            values = np.concatenate([values for _, values in exact])
            wanted = np.mean([np.corrcoef(true[:, t], values[:, t])[0, 1] for t in range(2)])
            np.testing.assert_allclose(found.correlation, wanted, atol=1e-3)


def test_the_best_kernel_is_found():
    combiner = BestSingle()
    twin = Twin("squared-epsilon-insensitive")
    kernel = combiner.fit(twin.explicit, twin.machine, None, FitControl())
    assert kernel.weights().tolist() == [1.0, 0.0, 0.0, 0.0]  # the target is a product
    assert combiner.risk_.idxmin() == "product" and combiner.risk_.notna().all()
    missing = Twin("squared-epsilon-insensitive", X=some_missing(X))
    combiner.fit(missing.explicit, missing.machine, None, FitControl())
    assert combiner.risk_.isna().tolist() == [True, False, False, True]


def test_weights_follow_the_performance():
    for case, labels in (("squared-hinge", LABELS), ("one-vs-all", THREE)):
        twin, combiner = Twin(case), AccuracyWeights()
        kernel = combiner.fit(twin.explicit, twin.machine, None, FitControl())
        above = np.maximum(combiner.accuracy_ - np.bincount(labels).max() / len(labels), 0.0)
        np.testing.assert_allclose(kernel.weights(), above / above.sum())
    twin = Twin("several targets")
    kernel = (combiner := CorrelationWeights()).fit(twin.explicit, twin.machine, None, FitControl())
    positive = np.maximum(combiner.correlation_, 0.0)
    np.testing.assert_allclose(kernel.weights(), positive / positive.sum())
    kernel = (combiner := ErrorWeights()).fit(twin.explicit, twin.machine, None, FitControl())
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
        BestSingle(cv=[(np.arange(45), np.arange(45, 90))]).fit(twin.explicit, twin.machine, None)
    with pytest.raises(ValueError, match="there are none; use Mean"):
        BestSingle().fit(novelty.explicit, novelty.machine, None)
    with pytest.raises(ValueError, match="for classification only"):
        AccuracyWeights().fit(novelty.explicit, novelty.machine, None)
    for combiner in (CorrelationWeights(), ErrorWeights()):
        with pytest.raises(ValueError, match="for regression only"):
            combiner.fit(twin.explicit, twin.machine, None)
        with pytest.raises(ValueError, match="for regression only"):
            combiner.fit(novelty.explicit, novelty.machine, None)
