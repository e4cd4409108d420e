"""The files that the pages showed in version 0.2.0 run unchanged on whole matrices, with the answers of today's."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import kernelweave.combiners
from extending_pages import module_of
from kernelweave import MKLClassifier
from kernelweave.combiners import ChosenWeights, ConvexMKL, Localized
from kernelweave.kernels import Gaussian, Linear
from localized_problem import LABELS, NEW, X

FOLDER = Path(__file__).parent / "release_0_2_0"
KERNELS = [("near", Gaussian([0, 1])), ("far", Gaussian([2, 3])), ("line", Linear([1, 2]))]


def old(file):
    spec = importlib.util.spec_from_file_location(f"{file}_0_2_0", FOLDER / f"{file}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fitted(kernels=KERNELS, combiner=None, machine="svm"):
    return MKLClassifier(kernels, combiner, machine=machine, random_state=0).fit(X, LABELS)


def check_same(make, file):
    found, expected = make(old(file)), make(module_of(file))
    np.testing.assert_allclose(found.decision_function(NEW), expected.decision_function(NEW), atol=1e-10)


def test_every_file_is_here():
    files = ["agreement_combiner.py", "huber_machine.py", "rational_kernel.py", "student_gate.py"]
    assert sorted(path.name for path in FOLDER.glob("*.py")) == files


def test_the_kernel():
    kernels = [("near", [0, 1]), ("far", [2, 3])]
    check_same(lambda file: fitted([(name, file.RationalQuadratic(view)) for name, view in kernels]), "rational_kernel")


def test_the_gate():
    check_same(lambda file: fitted(combiner=Localized(file.StudentGate(), l2=0.1)), "student_gate")


def test_the_machine():
    check_same(lambda file: fitted(combiner=ConvexMKL(), machine=file.HuberHinge()), "huber_machine")


@pytest.mark.filterwarnings("ignore:the parameter `y`:FutureWarning")
def test_the_combiner():
    check_same(lambda file: fitted(combiner=file.Agreement()), "agreement_combiner")


@pytest.mark.filterwarnings("ignore:the parameter `y`:FutureWarning")
def test_the_combiner_is_told_what_changed():
    with pytest.warns(FutureWarning, match="the parameter `y` of Agreement.family is deprecated since 0.3"):
        fitted(combiner=old("agreement_combiner").Agreement())
    with pytest.raises(ValueError, match="Agreement reads whole Gram matrices"):
        MKLClassifier(KERNELS, old("agreement_combiner").Agreement(), storage="lazy").fit(X, LABELS)


def test_targets_are_given_as_before():
    seen = []

    class Chosen(ChosenWeights):
        def choose(self, stack, machine, y, control):
            seen.append(y)
            return np.ones(stack.n_kernels), 0

    class Whole(kernelweave.combiners.Combiner):
        def fit(self, stack, machine, y=None, control=None):
            seen.append(y)
            return kernelweave.combiners.Mean().fit(stack, machine, y, control)

    for combiner in (Chosen(), Whole()):
        with pytest.warns(FutureWarning, match="`y` of") as told:
            fitted(combiner=combiner)
        assert "the parameter `y` of" in str(told[0].message)
        assert any("the argument `y` of Mean.fit is" in str(one.message) for one in told) == isinstance(combiner, Whole)
        np.testing.assert_array_equal(seen.pop(), np.searchsorted(np.unique(LABELS), LABELS))
