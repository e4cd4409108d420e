"""What cannot be had on explicit features is one error, before anything is computed."""

import numpy as np
import pytest

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import ConvexMKL, KernelDifference, KernelMap, LinearMKL, Localized, PerOutput, Product
from kernelweave.features import FourierFeatures, NystroemFeatures
from kernelweave.kernels import Gaussian, Linear
from kernelweave.machines import BinaryLoss, DualTerms, EpsilonInsensitive, Hinge, SquaredHinge

X = np.random.default_rng(0).normal(size=(40, 3))
TWO, THREE = np.arange(40) % 2, np.arange(40) % 3


class Untouched(Linear):
    """A kernel that must not be fitted."""

    def fit(self, *args, **kwargs):
        raise AssertionError("computed before the refusal")


KERNELS = [("a", Untouched([0])), ("b", Untouched([1, 2]))]


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
