"""The compiled programs of `fused` and `landmarks`: passes over features that are held, or computed again.

`pass_tiles` reads features once: a tile of samples stays in registers between its scores and what it pulls. Sums over
the columns of a tile are in float32, over samples in float64; their order is fixed. `score_tiles` and `pull_tiles` hold
kernel values to landmarks in registers only: products of float32 on the tensor cores, each as three of TF32, then their
exponentials. `KIND` is a position in `landmarks.KINDS`.
"""

from __future__ import annotations

import inspect

try:
    import triton
    import triton.language as tl
except ImportError:  # `fused.is_fused` is false then
    triton = None

# Whole numbers of which no machine code depends: one program serves all sizes.
SIZES = ("n_rows", "n_tiles", "per_split", "step", "amplitude_step", "loss_step")


def jit(function):
    """The function compiled by Triton; where there is no Triton, the function itself, which is not called then."""
    if triton is None:
        return function
    names = [name for name in SIZES if name in inspect.signature(function).parameters and name != "step"]
    return triton.jit(function, do_not_specialize=names)


@jit
def pass_tiles(
    features, starts, widths, weights, amplitudes, linear, lower, upper, quadratic, constants, slopes, pulled, sums,
    n_rows, step, amplitude_step,
    N_KERNELS: tl.constexpr, PADDED: tl.constexpr, CHUNKS: tl.constexpr, CHUNK: tl.constexpr, ROWS: tl.constexpr,
    STAGES: tl.constexpr, GATED: tl.constexpr,
):  # fmt: skip
    """One pass for one output: each program takes tile after tile of `ROWS` samples.

    The columns of a kernel are `CHUNKS` chunks of `CHUNK`; `PADDED` is a power of 2 from `N_KERNELS` on. `pulled` gets
    the float64 sums of each program, by chunk and column; `sums` the losses and the coefficients; `slopes`, where
    `GATED`, dP/da. `constants` are the bias and the insensitivity.
    """
    chunk = tl.arange(0, PADDED * CHUNKS)
    kernel = chunk // CHUNKS
    start = tl.multiple_of(tl.load(starts + kernel, mask=kernel < N_KERNELS, other=0), [8])
    width = tl.multiple_of(tl.load(widths + kernel, mask=kernel < N_KERNELS, other=0), [8])
    inner = (chunk % CHUNKS)[:, None] * CHUNK + tl.arange(0, CHUNK)[None, :]
    there = inner < width[:, None]
    column = start[:, None] + inner
    w = tl.load(weights + column, mask=there, other=0.0)
    m = tl.arange(0, PADDED)
    bias, insensitivity = tl.load(constants), tl.load(constants + 1)
    total = tl.zeros([PADDED * CHUNKS, CHUNK], dtype=tl.float64)
    cost = tl.zeros([ROWS], dtype=tl.float64)
    count = tl.zeros([ROWS], dtype=tl.float64)
    for tile in tl.range(tl.program_id(0), tl.cdiv(n_rows, ROWS), tl.num_programs(0), num_stages=STAGES):
        i = tile * ROWS + tl.arange(0, ROWS)
        known = i < n_rows
        place = i.to(tl.int64)[:, None, None] * step + column[None, :, :]
        f = tl.load(features + place, mask=known[:, None, None] & there[None, :, :], other=0.0)
        a = tl.load(
            amplitudes + i.to(tl.int64)[:, None] * amplitude_step + m[None, :],
            mask=known[:, None] & (m < N_KERNELS)[None, :], other=0.0,
        )  # fmt: skip
        p = tl.load(linear + i, mask=known, other=0.0)
        h = tl.load(quadratic + i, mask=known, other=1.0)
        low = tl.load(lower + i, mask=known, other=0.0)
        high = tl.load(upper + i, mask=known, other=0.0)
        s = tl.sum(f * w[None, :, :], axis=2)
        s = tl.sum(tl.reshape(s, [ROWS, PADDED, CHUNKS]), axis=2)
        z = p - (tl.sum(a * s, axis=1) + bias)
        free = tl.maximum(tl.abs(z) - insensitivity, 0.0)
        free = tl.where(z < 0.0, -free, free)
        c = tl.minimum(tl.maximum(tl.fdiv(free, h), low), high)
        c = tl.where(known, c, 0.0)
        cost += (z * c - insensitivity * tl.abs(c) - 0.5 * h * c * c).to(tl.float64)
        count += c.to(tl.float64)
        if GATED:
            target = slopes + i.to(tl.int64)[:, None] * N_KERNELS + m[None, :]
            tl.store(target, -c[:, None] * s, mask=known[:, None] & (m < N_KERNELS)[None, :])
        g = tl.broadcast_to((a * c[:, None])[:, :, None], [ROWS, PADDED, CHUNKS])
        g = tl.reshape(g, [ROWS, PADDED * CHUNKS])
        total += tl.sum(f * g[:, :, None], axis=0).to(tl.float64)
    program = tl.program_id(0)
    size: tl.constexpr = PADDED * CHUNKS * CHUNK
    position = chunk[:, None] * CHUNK + tl.arange(0, CHUNK)[None, :]
    tl.store(pulled + program.to(tl.int64) * size + position, total)
    tl.store(sums + 2 * program, tl.sum(cost, axis=0))
    tl.store(sums + 2 * program + 1, tl.sum(count, axis=0))


@jit
def _values(a, b, left, right, constant, KIND: tl.constexpr, DEGREE: tl.constexpr):
    """Kernel values of a tile from features and halves of squared norms."""
    values = tl.dot(a, tl.trans(b), input_precision="tf32x3")
    if KIND == 0:
        return tl.exp2(tl.minimum(values - left[:, None] - right[None, :], 0.0))
    values += constant
    found = values
    for _ in tl.static_range(DEGREE - 1):
        found = found * values
    return found


@jit
def score_tiles(
    samples, halves, landmarks, others, weights, scores, constants, n_rows, n_tiles,
    KIND: tl.constexpr, DEGREE: tl.constexpr, WIDTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """scores[g, i] = sum_j k_g(x_i, z_j) weights[g, j], in float64; landmarks are `n_tiles` whole tiles."""
    g = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    known = i < n_rows
    sample = g * n_rows + tl.where(known, i, 0)
    k = tl.arange(0, WIDTH)
    a = tl.load(samples + sample[:, None] * WIDTH + k[None, :])
    left = tl.load(halves + sample)
    constant = tl.load(constants + g)
    total = tl.zeros([BM], dtype=tl.float64)
    for tile in range(n_tiles):
        j = g * n_tiles * BN + tile * BN + tl.arange(0, BN)
        b = tl.load(landmarks + j[:, None] * WIDTH + k[None, :])
        values = _values(a, b, left, tl.load(others + j), constant, KIND, DEGREE)
        total += tl.sum(values * tl.load(weights + j)[None, :], axis=1).to(tl.float64)
    tl.store(scores + sample, total, mask=known)


@jit
def pull_tiles(
    samples, halves, landmarks, others, pulls, pulled, constants, n_rows, n_tiles, per_split,
    KIND: tl.constexpr, DEGREE: tl.constexpr, WIDTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """pulled[s, g, j] = sum_i k_g(x_i, z_j) pulls[g, i] over the s-th share of samples, `per_split` tiles of `BN`.

    Landmarks are `n_tiles` whole tiles of `BM`.
    """
    g, split = tl.program_id(1).to(tl.int64), tl.program_id(2)
    j = g * n_tiles * BM + tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.arange(0, WIDTH)
    a = tl.load(landmarks + j[:, None] * WIDTH + k[None, :])
    left = tl.load(others + j)
    constant = tl.load(constants + g)
    total = tl.zeros([BM], dtype=tl.float64)
    for tile in range(split * per_split, tl.minimum((split + 1) * per_split, tl.cdiv(n_rows, BN))):
        i = tile * BN + tl.arange(0, BN)
        known = i < n_rows
        sample = g * n_rows + tl.where(known, i, 0)
        b = tl.load(samples + sample[:, None] * WIDTH + k[None, :])
        values = _values(a, b, left, tl.load(halves + sample), constant, KIND, DEGREE)
        pull = tl.load(pulls + sample, mask=known, other=0.0)
        total += tl.sum(values * pull[None, :], axis=1).to(tl.float64)
    size = tl.num_programs(1).to(tl.int64) * n_tiles * BM
    tl.store(pulled + split * size + j, total)
