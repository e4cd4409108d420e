import numpy as np
import pytest
from sklearn.base import clone

from kernelweave import MKLClassifier
from kernelweave.combiners import BestSingle, Mean
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.kernels import Gaussian, Linear, Polynomial, Precomputed


def make():
    return MKLClassifier([Linear("fac"), ("wide", Gaussian("kar", scale=3.0)), Linear("fac")], BestSingle(cv=3))


def test_kernels_are_reached_by_name():
    params = make().get_params()
    assert params["kernels__wide__scale"] == 3.0
    assert params["kernels__fac-2__view"] == "fac"
    assert params["combiner__cv"] == 3
    assert isinstance(params["kernels__fac"], Linear)


def test_set_params_reaches_into_kernels():
    model = make().set_params(kernels__wide__scale=5.0, C=7.0, combiner__cv=4)
    assert model.kernels[1][1].scale == 5.0
    assert model.C == 7.0 and model.combiner.cv == 4


def test_whole_kernels_are_replaced_before_their_parameters():
    model = make().set_params(kernels__fac__degree=4, kernels__fac=Polynomial("fac"))
    assert model.get_params()["kernels__fac__degree"] == 4
    assert [name for name in model.get_params() if name.count("__") == 1 and name.startswith("kernels")] == [
        "kernels__fac",
        "kernels__wide",
        "kernels__fac-2",
    ]


def test_replacing_all_kernels_and_reaching_into_them():
    model = make().set_params(kernels=[Gaussian("zer")], kernels__zer__scale=2.0)
    assert model.kernels[0].scale == 2.0


def test_clone_is_independent():
    model = make()
    copy = clone(model).set_params(kernels__wide__scale=9.0)
    assert model.get_params()["kernels__wide__scale"] == 3.0
    assert copy.get_params()["kernels__wide__scale"] == 9.0


def test_fit_writes_to_no_parameter():
    X = np.random.default_rng(0).normal(size=(20, 2))
    kernels, combiner = [Gaussian()], BestSingle(cv=2)
    model = MKLClassifier(kernels, combiner).fit(X, X[:, 0] > 0)
    assert not hasattr(kernels[0], "scale_") and not hasattr(combiner, "risk_")
    assert model.kernels_[0].scale_ > 0 and model.combiner_.risk_.index.tolist() == ["gaussian"]
    assert MKLClassifier().fit(X, X[:, 0] > 0).combiner is None


def test_callables_keep_parameters_that_are_set():
    def dot(A, B):
        return A @ B.T

    model = MKLClassifier([dot]).set_params(kernels__dot__view=[0])
    assert model.get_params()["kernels__dot__view"] == [0]


def test_precomputed_kernels_are_shared_by_clones():
    kernel = Precomputed(np.eye(4))
    copy = clone(MKLClassifier([kernel, ("k", kernel)]))
    assert copy.kernels[0] is kernel and copy.kernels[1][1] is kernel


def test_unknown_kernel_names_the_known_ones():
    with pytest.raises(ValueError, match=r"no kernel named 'zer'; the kernels are \['fac', 'wide', 'fac-2'\]"):
        make().set_params(kernels__zer__scale=1.0)
    with pytest.raises(ValueError, match=r"no kernel named 'zer'; the kernels are \[\]"):
        MKLClassifier().set_params(kernels__zer__scale=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'scale'"):
        make().set_params(kernels__fac__scale=1.0)
    assert isinstance(MKLClassifier(combiner=Mean()).set_params(combiner=None), MKLClassifier)


def test_names_that_end_in_an_underscore():
    model = MKLClassifier([Gaussian("a_"), Gaussian("a")]).set_params(kernels__a___scale=2.0, kernels__a__scale=3.0)
    assert [kernel.scale for kernel in model.kernels] == [2.0, 3.0]


def test_approximations_in_a_dict_are_reached_by_kernel_name():
    kernels = [("a", Gaussian([0, 1])), ("a_", Linear([2]))]
    model = MKLClassifier(kernels, approximation={"a": NystroemFeatures(50), "a_": NystroemFeatures(60)})
    assert model.get_params()["approximation__a_"] is model.approximation["a_"]
    assert model.get_params()["approximation__a__n_components"] == 50
    copy = clone(model).set_params(approximation__a__n_components=7, approximation__a___n_components=1)
    assert model.approximation["a"].n_components == 50 and copy.approximation["a_"].n_components == 1
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert len(copy.fit(X, X[:, 0] > 0.0).feature_coef_["a"]) == 7
    copy.set_params(
        approximation__a__n_components=8, approximation__a=FourierFeatures(), approximation__a_=ExactFeatures()
    )
    assert copy.approximation["a"].n_components == 8 and isinstance(copy.approximation["a_"], ExactFeatures)
    copy.set_params(approximation={"a": NystroemFeatures(), "a_": "nystroem"}, approximation__a__method="uniform")
    assert copy.approximation["a"].method == "uniform"
    with pytest.raises(ValueError, match="no entry named 'b'"):
        copy.set_params(approximation__b__n_components=3)
    with pytest.raises(ValueError, match="which has no parameters; use an approximation such as NystroemFeatures"):
        copy.set_params(approximation__a___n_components=3)
    with pytest.raises(ValueError, match="which has no parameters; use an approximation such as NystroemFeatures"):
        copy.set_params(approximation="nystroem", approximation__n_components=3)
