"""The joint machine and posterior labels in lazy storage: the models of dense storage, with each kind of combiner."""

import numpy as np
import pytest
from sklearn.base import clone

from kernelweave import MKLClassifier, load, save
from kernelweave.combiners import ConvexMKL, FitControl, Localized, LpMKL, Mean, Product, Projected
from kernelweave.estimators.reuse import fit_path
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import JointMachine
from kernelweave.solvers import in_parts, joint_in_parts

N = 160
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 6))
SCORE = X[:, 0] * X[:, 1] + X[:, 3] + 0.4 * rng.normal(size=N)
THREE = np.array(["a", "b", "c"])[np.digitize(SCORE, [-0.7, 0.7])]
TWO = SCORE > 0.0
POSTERIOR = 0.7 * (THREE[:, None] == np.unique(THREE)) + 0.3 * rng.dirichlet(np.ones(3), N)
MISSING = X.copy()
MISSING[::6, :2] = np.nan
NEW = rng.normal(size=(40, 6))
KERNELS = [("g", Gaussian([0, 1])), ("l", Linear([2, 3])), ("w", Gaussian([3, 4, 5]))]
JOINT = MKLClassifier(KERNELS, multiclass="joint", tol=1e-5)
COMBINERS = {
    "mean": Mean(),
    "convex": ConvexMKL(),
    "lp": LpMKL(),
    "product": Product(),
    "localized": Localized(l2=0.1),
    "penalty chosen": Localized(),
    "projected": Projected(1, l2=0.1, max_iter=15),
}


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    for module in (in_parts, joint_in_parts):
        monkeypatch.setattr(module, "WORKING_SET", 48)


def both(model, *data, **given):
    """The model in both storages; in lazy storage no whole matrix is made."""
    dense = clone(model).set_params(storage="dense").fit(*data, **given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KernelStack, "matrices", None)
        lazy = clone(model).set_params(storage="lazy").fit(*data, **given)
    assert (dense.storage_, lazy.storage_) == ("dense", "lazy")
    return dense, lazy


def assert_same(dense, lazy, new=NEW, objective=1e-4, values=0.05):
    """J within the certified gaps and the rounding of float32; decisions as near as the tolerance leaves them."""
    slack = objective * max(1.0, abs(dense.objective_))
    assert dense.objective_ <= lazy.objective_ + lazy.duality_gap_ + slack
    assert lazy.objective_ <= dense.objective_ + dense.duality_gap_ + slack
    np.testing.assert_allclose(lazy.decision_function(new), dense.decision_function(new), atol=values)
    np.testing.assert_allclose(lazy.kernel_weights(new), dense.kernel_weights(new), atol=values)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", COMBINERS)
def test_combiners_over_the_joint_machine(name):
    model = clone(JOINT).set_params(combiner=COMBINERS[name], random_state=0)
    dense, lazy = both(model, X, THREE)
    assert_same(dense, lazy, objective=2e-3 if name in ("projected", "penalty chosen") else 1e-4, values=0.1)
    assert lazy.duality_gap_ <= 0.02 * lazy.objective_ and lazy.dual_coef_.shape[0] == 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precisions(dtype):
    dense, lazy = both(clone(JOINT).set_params(dtype=dtype), X, THREE)
    assert_same(dense, lazy, objective=1e-4 if dtype == "float32" else 1e-9, values=0.01)


@pytest.mark.parametrize("combiner", [Mean(), ConvexMKL(), Localized(l2=0.1)], ids=repr)
def test_views_that_samples_lack_and_weights(combiner):
    model = clone(JOINT).set_params(combiner=combiner)
    dense, lazy = both(model, MISSING, THREE, sample_weight=rng.uniform(0.5, 2.0, N))
    assert_same(dense, lazy)


@pytest.mark.parametrize("combiner", [Mean(), ConvexMKL(), Localized(l2=0.1)], ids=repr)
def test_posteriors_of_several_classes(combiner):
    assert_same(*both(clone(JOINT).set_params(combiner=combiner), X, THREE, posterior=POSTERIOR))


@pytest.mark.filterwarnings("ignore:.* of 160 samples have a posterior within")
@pytest.mark.parametrize("combiner", [Mean(), ConvexMKL(), Localized(l2=0.1)], ids=repr)
def test_posteriors_of_two_classes(combiner):
    model = MKLClassifier(KERNELS, combiner, tol=1e-5)
    assert_same(*both(model, X, TWO, posterior=1.0 / (1.0 + np.exp(-2.0 * SCORE))))


@pytest.mark.filterwarnings("ignore:.* of 160 samples have a posterior within")
@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
def test_soft_labels_of_neighbours(target, samples):
    model = clone(JOINT).set_params(soft_labels="knn", n_neighbors=7)
    assert_same(*both(model, samples, target))


@pytest.mark.parametrize("normalize", ["center", "unit-trace"])
def test_neighbours_leave_no_constants_behind(normalize):
    """Posteriors are found in float64, and the model is that of its storage's own type."""
    model = clone(JOINT).set_params(soft_labels="knn", normalize=normalize)
    dense, lazy = both(model, X, THREE)
    assert_same(dense, lazy, objective=1e-3, values=0.1)
    assert lazy._kernel.stack.dtype.name == "float32"


def test_a_path_begins_where_the_last_value_ended():
    dense, lazy = (
        list(fit_path(clone(JOINT).set_params(storage=storage), X, THREE, "C", [0.1, 1.0, 10.0]))
        for storage in ("dense", "lazy")
    )
    for first, second in zip(dense, lazy, strict=True):
        assert second.storage_ == "lazy"
        assert_same(first, second)


def test_a_saved_model_predicts_the_same(tmp_path):
    model = clone(JOINT).set_params(storage="lazy", combiner=ConvexMKL()).fit(X, THREE)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))
    assert again.storage_ == "lazy"


def test_progress_is_one_solve():
    seen = []
    fitted = KernelStack(KERNELS, storage="lazy").fit(X)
    machine = JointMachine(np.unique(THREE, return_inverse=True)[1], 10.0)
    Mean().fit(fitted, machine, FitControl(progress=lambda done, total: seen.append(done / total)))
    assert len(seen) > 5 and seen == sorted(seen) and seen[-1] == 1.0 and 0.1 < np.median(seen) < 0.95


def test_an_interrupt_leaves_the_estimator_as_it_was(monkeypatch):
    model = clone(JOINT).set_params(storage="lazy").fit(X, THREE)
    before, rounds = dict(vars(model)), []
    block = joint_in_parts.solve_within

    def interrupted(*given):
        if len(rounds) == 3:
            raise KeyboardInterrupt
        rounds.append(1)
        return block(*given)

    monkeypatch.setattr(joint_in_parts, "solve_within", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], THREE[:100])
    assert vars(model) == before and len(rounds) == 3


def test_features_have_no_joint_machine():
    with pytest.raises(ValueError, match="multiclass='joint' needs approximation=None"):
        clone(JOINT).set_params(approximation="nystroem").fit(X, THREE)
