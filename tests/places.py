"""The places in which arrays can live, for tests: each computes the same.

NumPy and array-api-strict are there in every run. torch (``make test-torch``) is marked `device` and skipped where it
is missing; it is on the CPU, and on a CUDA device too where there is one.
"""

from importlib.util import find_spec

import array_api_strict
import pytest

from kernelweave.arrays import HOST, Place, torch_place

HAS_TORCH = find_spec("torch") is not None
STRICT = Place(array_api_strict)


def has_cuda() -> bool:
    if not HAS_TORCH:
        return False
    import torch

    return torch.cuda.is_available()


def torch_param(device: str, there: bool, reason: str):
    marks = [pytest.mark.device, pytest.mark.skipif(not there, reason=reason)]
    return pytest.param(lambda: torch_place(device), id=f"torch-{device}", marks=marks)


needs_torch = [pytest.mark.device, pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")]
ON_TORCH = [
    torch_param("cpu", HAS_TORCH, "torch is not installed"),
    torch_param("cuda", has_cuda(), "there is no CUDA device"),
]
PLACES = [pytest.param(lambda: HOST, id="numpy"), pytest.param(lambda: STRICT, id="strict"), *ON_TORCH]
in_every_place = pytest.mark.parametrize("place_of", PLACES)
