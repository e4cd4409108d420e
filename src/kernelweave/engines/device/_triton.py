"""Programs of Triton for `features`: passes over features that are held, or computed again, and linear gates.

`pass_tiles` reads features once: rows stay in registers between their scores and what they pull. Sums over the samples
of a program are in float32, over programs in float64; their order is fixed. `score_tiles` and `pull_tiles` hold
kernel values to landmarks in registers only: products of float32 on the tensor cores, each as three of TF32, then their
exponentials. Kinds of kernels are positions in `features.KINDS`.
"""

from __future__ import annotations

import inspect

try:
    import triton
    import triton.language as tl
except ImportError:  # nothing here is called then
    triton = None

# Whole numbers that the machine code does not depend on: one program serves all sizes.
SIZES = ("n_rows", "n_share", "n_tiles", "per_split", "amplitude_step", "n_codes", "n_kernels")


def jit(function):
    """The function compiled by Triton; where there is no Triton, the function itself, which is not called then."""
    if triton is None:
        return function
    names = [name for name in SIZES if name in inspect.signature(function).parameters]
    return triton.jit(function, do_not_specialize=names)


@jit
def pass_tiles(
    features, starts, widths, weights, amplitudes, linear, lower, upper, quadratic, constants, slopes, pulled, sums,
    n_rows, n_share, step, amplitude_step,
    N_KERNELS: tl.constexpr, PADDED: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, STAGES: tl.constexpr,
    LEARNS: tl.constexpr,
):  # fmt: skip
    """One pass for one output: each program takes `n_share` samples, in tiles of `ROWS`.

    The columns of a kernel are at most `WIDTH`, and `PADDED` is a power of 2 from `N_KERNELS` on. A program leaves its
    sums: `pulled` by kernel and column in float32, `sums` of losses and coefficients in float64. dP/da goes to
    `slopes` where `LEARNS`. `constants` are the bias and the insensitivity.
    """
    program = tl.program_id(0)
    m = tl.arange(0, PADDED)
    inside = m < N_KERNELS
    start = tl.multiple_of(tl.load(starts + m, mask=inside, other=0), [8])
    width = tl.multiple_of(tl.load(widths + m, mask=inside, other=0), [8])
    j = tl.arange(0, WIDTH)
    there = j[None, :] < width[:, None]
    column = start[:, None] + j[None, :]
    w = tl.load(weights + column, mask=there, other=0.0)
    bias, insensitivity = tl.load(constants), tl.load(constants + 1)
    total = tl.zeros([ROWS, PADDED, WIDTH], dtype=tl.float32)
    cost = tl.zeros([ROWS], dtype=tl.float64)
    count = tl.zeros([ROWS], dtype=tl.float64)
    features += program.to(tl.int64) * n_share * step
    for tile in tl.range(0, n_share // ROWS, num_stages=STAGES):
        row = tile * ROWS + tl.arange(0, ROWS)
        i = program * n_share + row
        known = i < n_rows
        f = tl.load(
            features + row[:, None, None] * step + column[None, :, :],
            mask=known[:, None, None] & there[None, :, :], other=0.0,
        )  # fmt: skip
        target = i.to(tl.int64)[:, None] * amplitude_step + m[None, :]
        a = tl.load(amplitudes + target, mask=known[:, None] & inside[None, :], other=0.0)
        p = tl.load(linear + i, mask=known, other=0.0)
        h = tl.load(quadratic + i, mask=known, other=1.0)
        low = tl.load(lower + i, mask=known, other=0.0)
        high = tl.load(upper + i, mask=known, other=0.0)
        s = tl.sum(f * w[None, :, :], axis=2)
        z = p - (tl.sum(a * s, axis=1) + bias)
        free = tl.maximum(tl.abs(z) - insensitivity, 0.0)
        free = tl.where(z < 0.0, -free, free)
        c = tl.minimum(tl.maximum(tl.fdiv(free, h), low), high)
        c = tl.where(known, c, 0.0)
        cost += (z * c - insensitivity * tl.abs(c) - 0.5 * h * c * c).to(tl.float64)
        count += c.to(tl.float64)
        if LEARNS:
            target = slopes + i.to(tl.int64)[:, None] * N_KERNELS + m[None, :]
            tl.store(target, -c[:, None] * s, mask=known[:, None] & inside[None, :])
        total += f * (a * c[:, None])[:, :, None]
    out = pulled + program.to(tl.int64) * PADDED * WIDTH + m[:, None] * WIDTH + j[None, :]
    tl.store(out, tl.sum(total, axis=0))
    tl.store(sums + 2 * program, tl.sum(cost, axis=0))
    tl.store(sums + 2 * program + 1, tl.sum(count, axis=0))


@jit
def _opened(scores):
    small = tl.exp(-tl.abs(scores))
    return tl.fdiv(tl.where(scores < 0.0, small, 1.0), 1.0 + small)


@jit
def _scores(codes, V, bias, i, known, n_codes, CODES: tl.constexpr):
    """Codes of a tile, and scores of linear gates."""
    k = tl.arange(0, CODES)
    place = codes + i.to(tl.int64)[:, None] * n_codes + k[None, :]
    x = tl.load(place, mask=known[:, None] & (k < n_codes)[None, :], other=0.0)
    scores = tl.dot(x, tl.trans(V), input_precision="tf32x3") + bias[None, :]
    return x, tl.minimum(tl.maximum(scores, -1e37), 1e37)


@jit
def gate_tiles(
    codes, theta, gates, n_rows, n_share, n_codes, n_kernels,
    KIND: tl.constexpr, PADDED: tl.constexpr, CODES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Linear gates of samples that have all views; kinds are positions in `features.GATE_KINDS`."""
    m = tl.arange(0, PADDED)
    k = tl.arange(0, CODES)
    there = (m < n_kernels)[:, None] & (k < n_codes)[None, :]
    V = tl.load(theta + m[:, None] * n_codes + k[None, :], mask=there, other=0.0)
    bias = tl.load(theta + n_kernels * n_codes + m, mask=m < n_kernels, other=0.0)
    for tile in range(n_share // ROWS):
        i = tl.program_id(0) * n_share + tile * ROWS + tl.arange(0, ROWS)
        known = i < n_rows
        _, scores = _scores(codes, V, bias, i, known, n_codes, CODES)
        if KIND == 3:
            found = _opened(scores)
        else:
            if KIND == 0:
                logs = 0.5 * scores
            elif KIND == 1:
                logs = scores
            else:  # of a sigmoid
                logs = tl.minimum(scores, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(scores)))
            logs = tl.where((m < n_kernels)[None, :], logs, -float("inf"))
            opened = tl.exp(logs - tl.max(logs, axis=1)[:, None])
            if KIND == 1:
                size = tl.sum(opened, axis=1)
            else:
                size = tl.sqrt(tl.sum(opened * opened, axis=1))
            found = opened * tl.fdiv(1.0, size)[:, None]
        target = gates + i.to(tl.int64)[:, None] * n_kernels + m[None, :]
        tl.store(target, found, mask=known[:, None] & (m < n_kernels)[None, :])


@jit
def gate_pull_tiles(
    codes, theta, gates, slopes, out, n_rows, n_share, n_codes, n_kernels,
    KIND: tl.constexpr, PADDED: tl.constexpr, CODES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Sums of dP/dtheta over the `n_share` samples of a program, from dP/dgates: by kernel and code, then biases."""
    program = tl.program_id(0)
    m = tl.arange(0, PADDED)
    k = tl.arange(0, CODES)
    there = (m < n_kernels)[:, None] & (k < n_codes)[None, :]
    V = tl.load(theta + m[:, None] * n_codes + k[None, :], mask=there, other=0.0)
    bias = tl.load(theta + n_kernels * n_codes + m, mask=m < n_kernels, other=0.0)
    total = tl.zeros([PADDED, CODES], dtype=tl.float32)
    count = tl.zeros([ROWS, PADDED], dtype=tl.float32)
    for tile in range(n_share // ROWS):
        i = program * n_share + tile * ROWS + tl.arange(0, ROWS)
        known = i < n_rows
        x, scores = _scores(codes, V, bias, i, known, n_codes, CODES)
        place = i.to(tl.int64)[:, None] * n_kernels + m[None, :]
        inside = known[:, None] & (m < n_kernels)[None, :]
        a = tl.load(gates + place, mask=inside, other=0.0)
        t = tl.load(slopes + place, mask=inside, other=0.0)
        along = tl.sum(a * t, axis=1)[:, None]
        if KIND == 0:
            by_score = 0.5 * a * (t - a * along)
        elif KIND == 1:
            by_score = a * (t - along)
        elif KIND == 2:
            by_score = _opened(-scores) * a * (t - a * along)
        else:
            by_score = a * (1.0 - a) * t
        count += by_score
        total = tl.dot(tl.trans(by_score), x, total, input_precision="tf32x3")
    out += program.to(tl.int64) * PADDED * (CODES + 1)
    tl.store(out + m[:, None] * CODES + k[None, :], total)
    tl.store(out + PADDED * CODES + m, tl.sum(count, axis=0))


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
