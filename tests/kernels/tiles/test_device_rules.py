"""Memory of a device is foreseen, and kernels that stay on the CPU are named."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from kernelweave.arrays import HOST, Place
from kernelweave.kernels import Distance, Gaussian, Laplacian, Linear, Precomputed
from kernelweave.kernels.resources import KernelMemoryError
from kernelweave.kernels.stack import KernelStack
from places import STRICT, in_every_place

rng = np.random.default_rng(0)
X = np.column_stack([np.arange(50), rng.normal(size=(50, 4))])
VIEW = slice(1, 5)


def stack(kernels, place=STRICT, **options):
    return KernelStack(kernels, storage="lazy", place=place, **options).fit(X)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(VIEW),
        Linear(VIEW),
        Gaussian(VIEW, transformer=StandardScaler()),
        Precomputed(X @ X.T, view=[0]),
        Gaussian(VIEW) + Laplacian(VIEW),
        Distance("cityblock", view=VIEW),
    ],
    ids=["gaussian", "linear", "transformed", "precomputed", "sum", "host"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_does_not_fit_is_refused_before_it_is_made(kernel, dtype, monkeypatch):
    monkeypatch.setattr(Place, "free_memory", lambda place: 1000)
    made = stack([("mine", kernel)], dtype=dtype)
    with pytest.raises(KernelMemoryError, match=r'over 50 samples.*0\.\d+ GiB on the device.*use device="cpu", fewer'):
        made.in_parts()
    assert isinstance(made, KernelStack) and made._made.parts is None
    monkeypatch.setattr(Place, "free_memory", lambda place: 10**12)
    if kernel.__class__ is not Distance:
        made.in_parts()


def test_a_million_samples_of_six_kernels_need_two_gigabytes(monkeypatch):
    from kernelweave.kernels.tiles.device import _device_size

    size, width = _device_size(Gaussian(slice(0, 4)).fit(X[:, 1:]), None, 10**6, np.dtype("float32"))
    assert width == 16 and size == 10**6 * (4 * 20 + 16)
    free = 6 * size
    monkeypatch.setattr(Place, "free_memory", lambda place: free)
    stack([Gaussian(VIEW)], dtype="float32").in_parts()  # much smaller: nothing is raised


@pytest.mark.filterwarnings("ignore:.*positive semidefinite")
def test_one_warning_names_the_kernels_that_stay_on_the_cpu():
    kernels = [("a", Gaussian(VIEW)), ("b", Distance("cityblock", view=VIEW)), ("c", Precomputed(X @ X.T, view=[0]))]
    with pytest.warns(UserWarning, match="the kernel 'b' is computed on the CPU and moved to the device"):
        stack(kernels).in_parts()
    both = [*kernels, ("d", Gaussian(VIEW) + Distance("cityblock", view=VIEW))]
    with pytest.warns(UserWarning, match="the kernels 'b', 'd' are computed on the CPU") as told:
        stack(both).in_parts()
    assert len([each for each in told if "on the CPU" in str(each.message)]) == 1


@pytest.mark.filterwarnings("error:.*on the CPU")
@in_every_place
def test_kernels_of_the_device_get_no_warning(place_of):
    parts = stack([Gaussian(VIEW), Linear(VIEW), Precomputed(X @ X.T, view=[0])], place_of()).in_parts()
    assert parts.n_kernels == 3


@pytest.mark.filterwarnings("error:.*on the CPU", "ignore:.*positive semidefinite")
def test_the_host_gets_no_warning():
    assert stack([Distance("cityblock", view=VIEW)], HOST).in_parts().n_kernels == 1
