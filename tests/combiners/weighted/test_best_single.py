import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import BestSingle
from kernelweave.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
LABELS = np.digitize(X[:, 1], [-0.5, 0.5])
KERNELS = [("first", Linear([0])), ("second", Linear([1])), ("third", Linear([2]))]


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-all"])
def test_finds_the_informative_view(multiclass):
    model = MKLClassifier(KERNELS, BestSingle(), multiclass=multiclass, normalize="center", random_state=0).fit(
        X, LABELS
    )
    assert model.kernel_weights_.idxmax() == "second"
    assert model.kernel_weights_.sum() == 1
    assert model.history_["solves"].iloc[0] == 16  # 3 kernels, 5 folds, and the final one


def test_risk_is_the_cross_validated_error():
    cv = StratifiedKFold(4, shuffle=True, random_state=3)
    model = MKLClassifier(KERNELS, BestSingle(cv=cv), normalize=None).fit(X, LABELS)
    for name, kernel in KERNELS:
        accuracy = cross_val_score(MKLClassifier([kernel], normalize=None), X, LABELS, cv=cv)
        sizes = [len(test) for _, test in cv.split(X, LABELS)]
        assert model.combiner_.risk_[name] == pytest.approx(1 - np.average(accuracy, weights=sizes))


def test_regression_risk_is_the_squared_error():
    y = 2 * X[:, 2] + 0.1 * rng.normal(size=90)
    cv = KFold(3)
    model = MKLRegressor(KERNELS, BestSingle(cv=cv), normalize=None, C=10.0).fit(X, y)
    error = -cross_val_score(
        MKLRegressor([Linear([2])], normalize=None, C=10.0), X, y, cv=cv, scoring="neg_mean_squared_error"
    )
    assert model.combiner_.risk_["third"] == pytest.approx(error.mean())
    assert model.kernel_weights_["third"] == 1


def test_novelty_detection_prefers_a_kernel_that_generalises():
    model = MKLOneClass([("narrow", Gaussian(scale=0.01)), ("wide", Gaussian(scale=2.0))], BestSingle(), random_state=0)
    assert model.fit(X).kernel_weights_["wide"] == 1
    assert model.combiner_.risk_["narrow"] > 0.5


def test_seed_decides_the_folds():
    risks = [
        MKLClassifier(KERNELS, BestSingle(), normalize=None, random_state=seed).fit(X, LABELS).combiner_.risk_
        for seed in (0, 0, 1, 2, 3)
    ]
    assert risks[0].equals(risks[1])
    assert not all(risks[0].equals(other) for other in risks[2:])


def test_folds_are_limited_by_the_smallest_class():
    y = np.r_[np.zeros(87), np.ones(3)]
    MKLClassifier(KERNELS, BestSingle(cv=10)).fit(X, y)
    with pytest.raises(ValueError, match="smallest class has 1"):
        MKLClassifier(KERNELS, BestSingle()).fit(X, np.r_[np.zeros(89), 1])
    with pytest.raises(ValueError, match="cv is 1"):
        MKLClassifier(KERNELS, BestSingle(cv=1)).fit(X, LABELS)


def test_early_stops_inside_are_told():
    with pytest.warns(ConvergenceWarning) as record:
        MKLClassifier(KERNELS, BestSingle(), C=1e4, max_iter=1, normalize=None).fit(X, LABELS)
    assert "stopped early, with the kernels ['first', 'second', 'third']" in str(record[0].message)


@pytest.mark.parametrize("cv", [[], [(np.arange(5), np.array([], dtype=int))]])
def test_splits_without_samples_are_an_error(cv):
    with pytest.raises(ValueError, match="cv of BestSingle gives no folds"):
        MKLClassifier(KERNELS, BestSingle(cv=cv)).fit(X, LABELS)
