"""Products and exponentials of a CUDA device a second, measured: what kernel values cannot be formed faster than."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import triton
import triton.language as tl

ROUNDS, LANES, PROGRAMS = 256, 1024, 8192


@triton.jit
def _exponentials(out, ROUNDS: tl.constexpr, LANES: tl.constexpr):
    place = tl.program_id(0) * LANES + tl.arange(0, LANES)
    values = place.to(tl.float32) * 1e-9
    for _ in range(ROUNDS):
        values = tl.exp2(-values)
    tl.store(out + place, values)


def device_rates() -> tuple[float, float]:
    """Operations of TF32 matrix products, and exponentials of float32, a second."""
    torch.backends.cuda.matmul.allow_tf32 = True
    A = torch.randn(8192, 8192, device="cuda")
    out = torch.empty(PROGRAMS * LANES, device="cuda")
    products = _seconds(lambda: A @ A)
    exponentials = _seconds(lambda: _exponentials[(PROGRAMS,)](out, ROUNDS, LANES))
    return 2.0 * 8192.0**3 / products, float(PROGRAMS) * LANES * ROUNDS / exponentials


def _seconds(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times)
