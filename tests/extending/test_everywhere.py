"""The files of the pages ``docs/extending`` on whole matrices, in tiles, on features of all samples and with Dask."""

import numpy as np
import pytest

from extending_pages import module_of
from kernelweave import MKLClassifier
from kernelweave.combiners import ChosenWeights, ConvexMKL, Localized, Mean
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear

N = 90
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
Y = np.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=N) > 0, "yes", "no")
NEW = rng.normal(size=(20, 4))
KERNELS = [("a", Gaussian([0, 1])), ("b", Gaussian([2, 3])), ("line", Linear())]

OneStep = module_of("one_step_combiner").OneStep
StudentGate = module_of("student_gate").StudentGate
RationalQuadratic = module_of("rational_kernel").RationalQuadratic
HuberHinge = module_of("huber_machine").HuberHinge


class Coverage(ChosenWeights):
    def choose(self, stack, machine, control):
        return stack.present_counts(), 0


RATIONAL = [("a", RationalQuadratic([0, 1])), ("b", RationalQuadratic([2, 3], alpha=0.5))]
OWN = {  # under the machine from outside the package, which is solved in every form
    "the machine": (KERNELS, ConvexMKL()),
    "the machine, alone": (KERNELS, Mean()),
    "the combiner": (KERNELS, OneStep(p=2.0)),
    "a combiner of four lines": (KERNELS, Coverage()),
    "the gate": (KERNELS, Localized(StudentGate(), l2=0.01, max_iter=1000)),
    "the kernel": (RATIONAL, ConvexMKL()),
}
ALL = NystroemFeatures(N)  # every sample is a landmark, so that features have the kernel's own values
FORMS = {
    "tiles": {"storage": "lazy", "dtype": "float64"},
    "features": {"approximation": ALL, "dtype": "float64"},
    "features, recomputed": {"approximation": ALL, "dtype": "float64", "storage": "lazy"},
}


def model(own, **parameters):
    kernels, combiner = OWN[own]
    return MKLClassifier(kernels, combiner, machine=HuberHinge(width=0.5), tol=1e-6, random_state=0, **parameters)


def agree(found, whole):
    """The certified objective to the solver's tolerance, decision values to about its square root."""
    assert found.objective_ == pytest.approx(whole.objective_, rel=1e-4)
    assert found.duality_gap_ <= 1e-3 * found.objective_
    np.testing.assert_allclose(found.decision_function(NEW), whole.decision_function(NEW), atol=0.02)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("own", OWN)
def test_answers_are_those_of_whole_matrices(own, form):
    agree(model(own, **FORMS[form]).fit(X, Y), model(own, storage="dense").fit(X, Y))


@pytest.mark.dask
@pytest.mark.parametrize("own", OWN)
def test_answers_over_chunks_are_those_of_whole_matrices(own):
    da = pytest.importorskip("dask.array")
    found = model(own, approximation=ALL, dtype="float64")
    found.fit(da.from_array(X, chunks=((40, 1, 49), 2)), da.from_array(Y, chunks=30))
    agree(found, model(own, storage="dense").fit(X, Y))


def test_a_combiner_that_reads_gram_matrices_is_told_to_say_so():
    class Trace(ChosenWeights):
        def choose(self, stack, machine, control):
            return [1.0 / stack.gram(m).trace() for m in range(stack.n_kernels)], 0

    np.testing.assert_allclose(MKLClassifier(KERNELS, Trace()).fit(X, Y).kernel_weights_, 1.0 / N)
    with pytest.raises(ValueError, match="no Gram matrix of the kernel 'a'.*`needs`"):
        MKLClassifier(KERNELS, Trace(), machine=HuberHinge(), approximation=ALL).fit(X, Y)

    class Said(Trace):
        def needs(self, kernels=()):
            return {"gram": "Said reads traces"}

    for form in FORMS.values():
        with pytest.raises(ValueError, match="Said reads traces"):
            MKLClassifier(KERNELS, Said(), machine=HuberHinge(), **form).fit(X, Y)
