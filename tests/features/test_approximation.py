"""What `approximation` of an estimator may be."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler

from kernelweave.features import (
    ExactFeatures,
    FourierFeatures,
    NystroemFeatures,
    TransformerFeatures,
    approximations_of,
    reservoir_size,
)
from kernelweave.kernels import Gaussian, Linear

KERNELS = [("a", Linear()), ("b", Gaussian())]


def test_one_for_all_kernels():
    given = NystroemFeatures(10)
    first, second = approximations_of(given, KERNELS)
    assert first is not given and first is not second and first.n_components == second.n_components == 10
    assert [type(each) for each in approximations_of("nystroem", KERNELS)] == [NystroemFeatures] * 2
    assert approximations_of("nystroem", KERNELS)[0].n_components == 256
    sampler = RBFSampler()
    found = approximations_of(sampler, KERNELS)
    assert all(isinstance(each, TransformerFeatures) and each.transformer is not sampler for each in found)


def test_one_for_each_kernel():
    found = approximations_of({"b": FourierFeatures(20), "a": ExactFeatures()}, KERNELS)
    assert [type(each) for each in found] == [ExactFeatures, FourierFeatures]
    assert isinstance(approximations_of({"a": "nystroem", "b": PCA()}, KERNELS)[1], TransformerFeatures)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            3,
            r'approximation must be "nystroem", an approximation such as NystroemFeatures\(\), a transformer or a dict',
        ),
        ("fourier", "not 'fourier'"),
        (None, "not None"),
        (NystroemFeatures, "approximation must be"),
        (np.array([1.0]), "approximation must be"),
        ({"a": None, "b": "nystroem"}, r"approximation\['a'\] must be .* not None"),
        ({"a": 3, "b": "nystroem"}, r"approximation\['a'\] must be .* not 3"),
        ({"a": "nystroem"}, r"it lacks \['b'\]; the kernels are \['a', 'b'\]"),
        ({"a": "nystroem", "b": "nystroem", "c": "nystroem"}, r"has \['c'\], which no kernel is called"),
        (NystroemFeatures(0), "n_components of NystroemFeatures must be a positive whole number, not 0"),
        (NystroemFeatures(2.5), "n_components of NystroemFeatures must be a positive whole number, not 2.5"),
        (NystroemFeatures(method="best"), 'method of NystroemFeatures must be "rpcholesky", "kmeans'),
        (FourierFeatures(-1), "n_components of FourierFeatures must be a positive whole number, not -1"),
    ],
)
def test_wrong_values(given, message):
    with pytest.raises(ValueError, match=message):
        approximations_of(given, KERNELS)


def test_the_size_of_the_reservoir():
    assert reservoir_size("nystroem") == 5120
    assert reservoir_size(NystroemFeatures(10)) == 4000
    assert reservoir_size({"a": NystroemFeatures(1000), "b": ExactFeatures()}) == 20_000
    assert reservoir_size(PCA(5)) == 4000
    with pytest.raises(ValueError, match="n_components of NystroemFeatures"):
        reservoir_size({"a": NystroemFeatures("many")})
