"""What cannot be had in a form of kernels is one error, with a remedy that helps, before anything is computed."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, combiners
from kernelweave.combiners import (
    BinaryMKL,
    Combiner,
    ConvexMKL,
    EigenvalueCosts,
    FixedWeights,
    KernelDifference,
    KernelMap,
    KLDivergence,
    LinearMKL,
    Localized,
    LpMKL,
    Mean,
    PerOutput,
    Product,
    Projected,
)
from kernelweave.estimators.training import lacking
from kernelweave.features import FourierFeatures, NystroemFeatures
from kernelweave.kernels import Distance, Gaussian, Laplacian, Linear
from kernelweave.machines import BinaryLoss, DualTerms, EpsilonInsensitive, Hinge, SquaredHinge
from kernelweave.stacks import Matrices
from kernelweave.stacks.explicit import Features
from kernelweave.stacks.tiles import Tiles
from three_stacks import WholeHinge

X = np.random.default_rng(0).normal(size=(40, 3))
TWO, THREE = np.arange(40) % 2, np.arange(40) % 3


class Untouched(Linear):
    """A kernel that must not be fitted."""

    def fit(self, *args, **kwargs):
        raise AssertionError("computed before the refusal")


KERNELS = [("a", Untouched([0])), ("b", Untouched([1, 2]))]
FITTED = [("a", Gaussian([0])), ("b", Gaussian([1, 2]))]


class AbsoluteHinge(BinaryLoss):
    """A loss of a user's with a kink."""

    def terms(self, y, bound):
        """Those of the hinge."""
        ends = bound * y
        return DualTerms(y, np.minimum(ends, 0.0), np.maximum(ends, 0.0))


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (MKLClassifier(machine="svm"), TWO, r'machine=.svm. .*the loss Hinge is not smooth.*"squared-hinge"'),
        (MKLClassifier(machine=Hinge()), TWO, "machine=Hinge.. .*not smooth.*approximation=None"),
        (MKLClassifier(machine=AbsoluteHinge()), TWO, "the loss AbsoluteHinge is not smooth"),
        (MKLRegressor(machine="svm"), X[:, 0], r"EpsilonInsensitive is not smooth.*squared-epsilon-insensitive"),
        (MKLRegressor(machine=EpsilonInsensitive()), X[:, 0], "EpsilonInsensitive is not smooth"),
        (MKLClassifier(soft_labels="knn"), TWO, "soft labels need approximation=None"),
        (MKLClassifier(multiclass="joint"), THREE, r"multiclass=.joint. needs approximation=None.*one-vs-all"),
        (MKLClassifier(multiclass="one-vs-one"), THREE, "multiclass=.one-vs-one. needs approximation=None"),
        (MKLClassifier(combiner=Product()), TWO, "Product .*; use another combiner, .* or approximation=None"),
        (MKLClassifier(combiner=LinearMKL()), TWO, "LinearMKL"),
        (MKLClassifier(combiner=KernelDifference()), TWO, "KernelDifference"),
        (MKLClassifier(approximation="nyström"), TWO, "approximation of MKLClassifier must be"),
        (MKLClassifier(approximation=NystroemFeatures(0)), TWO, "n_components of NystroemFeatures must be"),
        (MKLClassifier(approximation=7), TWO, "approximation of MKLClassifier must be"),
        (MKLClassifier(approximation={"a": "nystroem"}), TWO, r"one entry for each kernel.*lacks \['b'\]"),
    ],
)
def test_refused_at_once(model, y, message):
    model.set_params(kernels=KERNELS)
    if model.approximation is None:
        model.set_params(approximation="nystroem")
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert vars(model) == before


@pytest.mark.parametrize(
    ("combiner", "remedy"),
    [
        (Localized(optimizer="armijo"), r"Localized\(optimizer='lbfgs'\), .*such as Mean or ConvexMKL, or"),
        (Localized(inputs=KernelMap("a")), r"Localized\(inputs=.*\), .*such as Mean or ConvexMKL, or"),
        (ConvexMKL(solver="conic"), r"ConvexMKL\(solver='.*'\), .*such as Mean or Localized, or"),
        (PerOutput(ConvexMKL(solver="conic")), r"ConvexMKL\(solver='.*'\), .*such as Mean or Localized, or"),
        (Product(), "; use another combiner, such as Mean, ConvexMKL or Localized, or"),
    ],
)
def test_the_remedy_is_no_combiner_that_would_be_refused(combiner, remedy):
    with pytest.raises(ValueError, match=remedy):
        MKLClassifier(KERNELS, combiner, approximation="nystroem").fit(X, TWO)


def test_posteriors_are_refused():
    model = MKLClassifier(KERNELS, approximation="nystroem")
    with pytest.raises(ValueError, match="soft labels need approximation=None"):
        model.fit(X, TWO, posterior=np.full(40, 0.9))


@pytest.mark.parametrize("multiclass", ["joint", "one-vs-one", "one-vs-all"])
def test_two_classes_are_one_machine_whatever_multiclass_is(multiclass):
    model = MKLClassifier([Gaussian()], approximation="nystroem", multiclass=multiclass).fit(X, TWO)
    assert model.feature_coef_["gaussian"].shape[1] == 1


def test_a_smooth_loss_of_ones_own_is_taken():
    model = MKLClassifier([Gaussian()], approximation="nystroem", machine=SquaredHinge()).fit(X, TWO)
    assert model.machine_ == "SquaredHinge"


def test_a_kernel_that_the_approximation_does_not_serve():
    model = MKLClassifier([("a", Linear())], approximation=FourierFeatures(20))
    before = dict(vars(model))
    with pytest.raises(ValueError, match="FourierFeatures are for Gaussian and Laplacian kernels, but the kernel 'a'"):
        model.fit(X, TWO)
    assert vars(model) == before


# Which combiners are served

REFUSED = {  # from the combiner to the forms that do not serve it
    "GeneralizedMKL": (Features,),
    "KLDivergence": (Tiles, Features),
    "KernelDifference": (Tiles, Features),
    "LinearMKL": (Tiles, Features),
    "PolynomialMKL": (Features,),
    "Product": (Features,),
    "WidthMKL": (Features,),
}
GIVEN = {FixedWeights: ([1.0, 0.5],), BinaryMKL: (2,), PerOutput: (Mean(),), Projected: (1,)}
REGRESSORS = "CorrelationWeights", "ErrorWeights"


def concrete():
    found = {getattr(combiners, name) for name in combiners.__all__}
    classes = (c for c in found if isinstance(c, type) and issubclass(c, Combiner) and c is not Combiner)
    return sorted((c for c in classes if not inspect.isabstract(c)), key=lambda c: c.__name__)


@pytest.mark.parametrize("cls", concrete(), ids=lambda cls: cls.__name__)
def test_every_combiner_is_served_or_says_why_not(cls):
    combiner = cls(*GIVEN.get(cls, ()))
    for form in (Matrices, Tiles, Features):
        why = lacking(form, combiner, FITTED)
        if form in REFUSED.get(cls.__name__, ()):
            assert why is not None and cls.__name__ in why and len(why) > len(cls.__name__) + 15
            assert why != f"{cls.__name__} reads whole Gram matrices", "a reason of its own"
        else:
            assert why is None


@pytest.mark.parametrize("cls", [c for c in concrete() if Features not in REFUSED.get(c.__name__, ())])
@pytest.mark.filterwarnings("ignore")
def test_those_that_are_served_on_features_are_fitted(cls):
    kind = MKLRegressor if cls.__name__ in REGRESSORS else MKLClassifier
    y = X[:, 0] * X[:, 1] if kind is MKLRegressor else THREE if cls is PerOutput else TWO
    combiner = Mean() if cls is PerOutput else cls(*GIVEN.get(cls, ()))
    weights = {"weights": "per-class"} if cls is PerOutput else {}
    model = kind(FITTED, combiner, approximation="nystroem", random_state=0, **weights).fit(X, y)
    assert np.isfinite(model.kernel_weights_.to_numpy()).all() and np.isfinite(model.objective_)
    assert model.kernel_weights_.shape[-1] == 2 and model.predict(X).shape == (40,)


def test_costs_give_their_own_reason():
    class Own:
        def costs(self, stack):
            return np.ones(stack.n_kernels)

    assert lacking(Features, ConvexMKL(EigenvalueCosts(1.0)), ()) is None
    for form in (Tiles, Features):
        assert "Own, the costs of LpMKL, reads whole Gram matrices" in lacking(form, LpMKL(costs=Own()), ())


# Kernels in parts

OTHERS = "or another combiner, such as Mean, ConvexMKL or Localized$"
MACHINE = 'use storage="dense", or the support vector machine, machine="svm".*'


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"combiner": ConvexMKL(solver="conic")},
            r"use storage=.dense., or ConvexMKL\(solver='auto'\), which is the default, or another combiner, such as "
            "Mean or Localized$",
        ),
        ({"combiner": LpMKL(costs=EigenvalueCosts())}, rf"or LpMKL\(costs=None\), which is the default, {OTHERS}"),
        ({"combiner": Localized(inputs=KernelMap("a"))}, r"or Localized\(inputs=None\), .*such as Mean or ConvexMKL$"),
        ({"combiner": KLDivergence()}, f'use storage="dense", {OTHERS}'),
        ({"machine": WholeHinge()}, f'{MACHINE}, or approximation="nystroem"$'),
        ({"machine": WholeHinge(), "combiner": Product()}, f"{MACHINE}$"),
        (
            {"machine": WholeHinge(), "combiner": KLDivergence()},
            'WholeHinge is solved on the whole Gram matrix, and KLDivergence .*; use storage="dense"$',
        ),
        (
            {"machine": WholeHinge(), "combiner": LpMKL(costs=EigenvalueCosts())},
            'WholeHinge is solved .*, and EigenvalueCosts .*; use storage="dense", or approximation="nystroem"$',
        ),
        ({"combiner": Projected(1), "kernels": [Laplacian()]}, "Projected takes kernel PCA .*Laplacian"),
        (
            {"kernels": [("far", Distance("cityblock", repair="clip"))], "combiner": KernelDifference("square")},
            "KernelDifference squares .*, and the kernel 'far' has repair='clip', .*; use storage=\"dense\"$",
        ),
    ],
)
def test_the_remedy_of_kernels_in_parts_helps(parameters, message):
    """No combiner that was refused, and no machine where the combiner would be refused next."""
    model = MKLClassifier(**{"kernels": KERNELS, "storage": "lazy"} | parameters)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, THREE)
    assert vars(model) == before


def test_two_obstacles_to_features_have_one_remedy():
    model = MKLClassifier(KERNELS, Product(), machine="svm", approximation="nystroem")
    message = "Product multiplies .*, and the loss Hinge is not smooth; use approximation=None for the exact model$"
    with pytest.raises(ValueError, match=message):
        model.fit(X, TWO)


@pytest.mark.parametrize("estimator", [MKLClassifier, MKLRegressor, MKLOneClass])
@pytest.mark.parametrize("way", [{"storage": "dense"}, {"storage": "lazy"}, {"approximation": "nystroem"}])
def test_parameters_of_the_combiner_are_checked_before_kernels_are_fitted(estimator, way):
    model = estimator(KERNELS, LpMKL(p=-1.0), **way)
    with pytest.raises(ValueError, match="p of LpMKL must be"):
        clone(model).fit(X, TWO)


def test_a_kernel_that_cannot_be_fitted_says_so_itself():
    model = MKLClassifier([("sum", Linear() + Distance("cityblock", repair="clip"))], storage="lazy")
    with pytest.raises(ValueError, match="the second part of a KernelSum must be a kernel, not 3"):
        model.set_params(kernels__sum__second=3).fit(X, TWO)
