"""The machine of the page ``docs/extending/machine.md``: a file outside the package that works with everything else."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from extending_pages import COMBINERS, check_page, check_saved, module_of
from kernelweave import MKLClassifier, combiners, load
from kernelweave.combiners import Combiner, CorrelationWeights, ErrorWeights, KLDivergence, LinearMKL, PerOutput
from kernelweave.kernels import Gaussian, Linear
from kernelweave.machines import Hinge
from machine_properties import check_machine

HuberHinge = module_of("huber_machine").HuberHinge

rng = np.random.default_rng(0)
N = 45
LABELS = np.arange(N) % 3
X = rng.normal(size=(N, 4)) + 2.0 * np.eye(3, 4)[LABELS]
SIGNS = np.where(LABELS > 0, 1.0, -1.0)
BOUND = rng.uniform(0.3, 3.0, N)
KERNELS = [("a", Linear()), ("b", Gaussian(scale=2.0))]


def test_the_page_shows_the_file_which_is_short(tmp_path):
    names = {"kernels": KERNELS, "X": X, "y": LABELS, "signs": SIGNS, "bound": BOUND, "path": tmp_path / "model"}
    check_page("machine", "huber_machine", check_machine=check_machine, **names)


@pytest.mark.parametrize("scheme", ["for_targets", "one_vs_all", "one_vs_one"])
def test_it_has_the_properties_of_machines(scheme):
    targets = SIGNS if scheme == "for_targets" else LABELS
    check_machine(getattr(HuberHinge(width=0.7), scheme)(targets, BOUND))


def test_it_is_the_loss_that_its_docstring_states():
    f, width = rng.normal(size=N), 0.7
    lack = np.maximum(0.0, 1.0 - SIGNS * f)
    expected = BOUND @ np.where(lack < width, lack**2 / (2 * width), lack - width / 2)
    assert HuberHinge(width).for_targets(SIGNS, BOUND).loss(f) == pytest.approx(expected)
    with pytest.raises(ValueError, match="width must be positive"):
        MKLClassifier(KERNELS, machine=HuberHinge(width=0.0)).fit(X, LABELS)


def test_every_combiner_is_here():
    public = [getattr(combiners, name) for name in combiners.__all__]
    found = {
        each for each in public if issubclass(each, Combiner) and each is not Combiner and not inspect.isabstract(each)
    }
    assert found - {type(combiner) for combiner in COMBINERS} == {CorrelationWeights, ErrorWeights}  # for regression


@pytest.mark.parametrize("combiner", COMBINERS, ids=lambda combiner: type(combiner).__name__)
@pytest.mark.filterwarnings("ignore")
def test_it_works_under_every_combiner(combiner):
    model = MKLClassifier(KERNELS, combiner, machine=HuberHinge(), random_state=0)
    once = isinstance(combiner, PerOutput | LinearMKL | KLDivergence)  # the last two take seconds
    for y in (LABELS,) if once else (LABELS, SIGNS):
        fitted = clone(model).fit(X, y, sample_weight=BOUND)
        assert fitted.score(X, y) > 0.85 and fitted.duality_gap_ < 0.02 * fitted.objective_
    if not once:
        pairs = clone(model).set_params(multiclass="one-vs-one", machine__width=0.1).fit(X, LABELS)
        assert pairs.score(X, LABELS) > 0.85 and pairs.machine.width == 0.1


def test_a_narrow_width_is_the_hinge():
    narrow = MKLClassifier(KERNELS, machine=HuberHinge(width=1e-6), tol=1e-8).fit(X, SIGNS)
    hinge = MKLClassifier(KERNELS, machine=Hinge(), tol=1e-8).fit(X, SIGNS)
    assert narrow.objective_ == pytest.approx(hinge.objective_, rel=1e-5)
    np.testing.assert_allclose(narrow.decision_function(X), hinge.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"multiclass": "one-vs-one"}, {"weights": "per-class"}], ids=str)
def test_it_is_saved_and_loaded(options, tmp_path):
    for y in (LABELS, SIGNS) if not options else (LABELS,):
        model = MKLClassifier(KERNELS, machine=HuberHinge(width=0.3), **options).fit(X, y)
        again = check_saved(model, X[::4], [HuberHinge], tmp_path / "model")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert type(again.machine) is HuberHinge and again.machine.width == 0.3
        with pytest.raises(ValueError, match="it needs the class 'HuberHinge'"):
            load(tmp_path / "model")
