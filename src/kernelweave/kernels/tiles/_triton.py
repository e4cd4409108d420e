"""The compiled programs of `device`: nothing of the size rows x columns is stored.

    <a, b> = <x, z> - ||x||^2 / 2 - ||z||^2 / 2        k(x, z) = 2^<a, b>

Within a tile sums are in float32; over tiles they are in float64. The order of additions is fixed. Positions in arrays
of the size samples x features are int64, beyond 2^31. `KIND` is a position in `functions.SERVED`; kinds of 0 and 1 are
functions of a product, the others of a distance.
"""

from __future__ import annotations

import inspect

try:
    import triton
    import triton.language as tl
except ImportError:  # `functions.is_fused` is false then
    triton = None

# Whole numbers of which no machine code depends: one program serves all sizes.
SIZES = (
    "n_rows", "n_left", "n_given", "n_tiles", "per_split", "n_features", "n_kernels", "n_outputs", "first",
    "output", "size",
)  # fmt: skip


def jit(function):
    """The function compiled by Triton; without Triton the function itself, which is never called then."""
    if triton is None:
        return function
    names = [name for name in SIZES if name in inspect.signature(function).parameters]
    return triton.jit(function, do_not_specialize=names)


@jit
def _power(base, DEGREE: tl.constexpr):
    found = base
    for _ in tl.static_range(DEGREE - 1):
        found = found * base
    return found


@jit
def _products(
    left, right, first, second, BM: tl.constexpr, BN: tl.constexpr, BLOCK: tl.constexpr, N_BLOCKS: tl.constexpr
):
    """<a, b> of a tile; `first` and `second` are the positions of each sample's first feature."""
    k = tl.arange(0, BLOCK)
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for step in range(N_BLOCKS):
        a = tl.load(left + first[:, None] + (step * BLOCK + k)[None, :])
        b = tl.load(right + second[:, None] + (step * BLOCK + k)[None, :])
        total = tl.dot(a, tl.trans(b), total, input_precision="tf32")
    return total


@jit
def _distances(
    left, right, first, second, n_features, left_step, right_step,
    KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Distances of a tile, feature by feature; features of a sample are `left_step` or `right_step` numbers apart."""
    left_step, right_step = left_step.to(tl.int64), right_step.to(tl.int64)
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for j in range(n_features):
        a = tl.load(left + first + j * left_step)[:, None]
        b = tl.load(right + second + j * right_step)[None, :]
        if KIND == 2:
            total += tl.abs(a - b)
        else:
            difference = a - b
            total += tl.fdiv(difference * difference, tl.maximum(a + b, 1e-37))
    return total


@jit
def _many_products(values, v, KIND: tl.constexpr):
    """values v' on the tensor cores, as exact as in float32: numbers up to 1 as two of float16, others as TF32."""
    if KIND == 1:
        return tl.dot(values, tl.trans(v), input_precision="tf32x3")
    high, v_high = values.to(tl.float16), v.to(tl.float16)
    low = ((values - high.to(tl.float32)) * 2048.0).to(tl.float16)
    v_low = ((v - v_high.to(tl.float32)) * 2048.0).to(tl.float16)
    rest = tl.dot(high, tl.trans(v_low))
    rest = tl.dot(low, tl.trans(v_high), rest)
    return tl.dot(high, tl.trans(v_high)) + rest * (1.0 / 2048.0)


@jit
def image_tiles(
    left, right, index, V, factor, out, coef0, members, n_rows, n_left, n_tiles, per_split, n_features,
    KIND: tl.constexpr, DEGREE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, OUTPUTS: tl.constexpr,
    INDEXED: tl.constexpr, SCALED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """out[s, p, r, i] = factor[g, i] sum_j k_g(x_i, z_j) V[g, r, j] over the s-th share of columns, g = members[p].

    There are `n_left` samples, of which rows may be some, and `n_tiles` whole tiles of columns, `per_split` in a share.
    V is at most 1 in size where there are more than four columns.
    """
    tile, position, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    g = tl.load(members + position)
    i = tile * BM + tl.arange(0, BM)
    there = i < n_rows
    if INDEXED:
        sample = tl.load(index + i, mask=there, other=0)
    else:
        sample = tl.where(there, i, 0).to(tl.int64)
    n_columns = n_tiles * BN
    V += g * OUTPUTS * n_columns
    if KIND < 2:
        left += g * n_left * WIDTH
        right += g * n_columns * WIDTH
        first = sample * WIDTH
        k = tl.arange(0, BLOCK)
        if WIDTH == BLOCK:
            a = tl.load(left + first[:, None] + k[None, :])
    else:
        left += g * n_left * n_features
        right += g * n_columns * n_features
        first = sample
    constant = tl.load(coef0 + g)
    if OUTPUTS > 4:
        r = tl.arange(0, OUTPUTS)
        acc = tl.zeros([BM, OUTPUTS], dtype=tl.float64)
    acc0 = tl.zeros([BM], dtype=tl.float64)
    acc1 = tl.zeros([BM], dtype=tl.float64)
    acc2 = tl.zeros([BM], dtype=tl.float64)
    acc3 = tl.zeros([BM], dtype=tl.float64)
    for step in range(split * per_split, tl.minimum((split + 1) * per_split, n_tiles)):
        j = step * BN + tl.arange(0, BN)
        if KIND < 2:
            if WIDTH == BLOCK:
                b = tl.load(right + j[:, None] * WIDTH + k[None, :])
                values = tl.dot(a, tl.trans(b), input_precision="tf32")
            else:
                values = _products(left, right, first, j.to(tl.int64) * WIDTH, BM, BN, BLOCK, WIDTH // BLOCK)
            if KIND == 0:
                values = tl.exp2(values)
            else:
                values = _power(values + constant, DEGREE)
        else:
            values = tl.exp2(-_distances(left, right, first, j, n_features, n_left, n_columns, KIND, BM, BN))
        if OUTPUTS > 4:
            v = tl.load(V + r[:, None] * n_columns + j[None, :])
            acc += _many_products(values, v, KIND).to(tl.float64)
        else:
            v = tl.load(V + j)
            acc0 += tl.sum(values * v[None, :], axis=1).to(tl.float64)
            if OUTPUTS > 1:
                v = tl.load(V + n_columns + j)
                acc1 += tl.sum(values * v[None, :], axis=1).to(tl.float64)
            if OUTPUTS > 2:
                v = tl.load(V + 2 * n_columns + j)
                acc2 += tl.sum(values * v[None, :], axis=1).to(tl.float64)
            if OUTPUTS > 3:
                v = tl.load(V + 3 * n_columns + j)
                acc3 += tl.sum(values * v[None, :], axis=1).to(tl.float64)
    if SCALED:
        own = tl.load(factor + g * n_left + sample)
    else:
        own = tl.full([BM], 1.0, tl.float64)
    out += (split * tl.num_programs(1) + position).to(tl.int64) * OUTPUTS * n_rows + i
    if OUTPUTS > 4:
        tl.store(out[:, None] + r[None, :].to(tl.int64) * n_rows, acc * own[:, None], mask=there[:, None])
    else:
        tl.store(out, acc0 * own, mask=there)
        if OUTPUTS > 1:
            tl.store(out + n_rows, acc1 * own, mask=there)
        if OUTPUTS > 2:
            tl.store(out + 2 * n_rows, acc2 * own, mask=there)
        if OUTPUTS > 3:
            tl.store(out + 3 * n_rows, acc3 * own, mask=there)


@jit
def gathered_tiles(
    features, factor, gain, kernels, index, V, out, out_v, n_left, n_given, first, output, n_tiles, n_features,
    n_kernels, n_outputs,
    KIND: tl.constexpr, DEGREE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, OUTPUTS: tl.constexpr,
    INDEXED: tl.constexpr, SWAPPED: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Copies of some samples side by side, and what they are multiplied by, 0 where there are fewer than whole tiles.

    out_v[g, r, j] = gain[g] factor[g, j] V[first + j, kernels[g], output + r]; `SWAPPED`: as columns of a Gaussian.
    """
    tile, g = tl.program_id(0), tl.program_id(1).to(tl.int64)
    j = tile * B + tl.arange(0, B)
    there = first + j < n_given
    if INDEXED:
        sample = tl.load(index + first + j, mask=there, other=0)
    else:
        sample = tl.where(there, first + j, 0).to(tl.int64)
    size = n_tiles * B
    m = tl.load(kernels + g)
    own = tl.load(factor + g * n_left + sample) * tl.load(gain + g)
    place = V + ((first + j).to(tl.int64) * n_kernels + m) * n_outputs + output
    for r in tl.static_range(OUTPUTS):
        v = tl.load(place + r, mask=there & (0 * j + output + r < n_outputs), other=0.0) * own
        tl.store(out_v + (g * OUTPUTS + r) * size + j, v.to(tl.float32))
    if KIND < 2:
        k = tl.arange(0, BLOCK)
        source = features + (g * n_left + sample)[:, None] * WIDTH
        target = out + (g * size + j)[:, None] * WIDTH
        for step in range(WIDTH // BLOCK):
            column = step * BLOCK + k
            if SWAPPED:
                swapped = tl.where(column >= WIDTH - 3, column - 3, tl.where(column >= WIDTH - 6, column + 3, column))
            else:
                swapped = column
            values = tl.load(source + swapped[None, :], mask=there[:, None], other=0.0)
            tl.store(target + column[None, :], values)
    else:
        for feature in range(n_features):
            values = tl.load(features + (g * n_features + feature) * n_left + sample, mask=there, other=0.0)
            tl.store(out + (g * n_features + feature) * size + j, values)


@jit
def block_tiles(
    left, right, left_factor, right_factor, out, coef0, n_kernels, size, n_features,
    KIND: tl.constexpr, DEGREE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, ADDED: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """out[i, j] = sum_g left_factor[g, i] k_g(x_i, x_j) right_factor[g, j], in float64, in whole tiles."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    target = out + i.to(tl.int64)[:, None] * size + j[None, :]
    wide = size.to(tl.int64)
    if ADDED:
        total = tl.load(target)
    else:
        total = tl.zeros([BM, BN], dtype=tl.float64)
    for g in range(n_kernels):
        if KIND < 2:
            jump = g * wide * WIDTH
            values = _products(left + jump, right + jump, i * WIDTH, j * WIDTH, BM, BN, BLOCK, WIDTH // BLOCK)
            if KIND == 0:
                values = tl.exp2(values)
            else:
                values = _power(values + tl.load(coef0 + g), DEGREE)
        else:
            jump = g * wide * n_features
            values = tl.exp2(-_distances(left + jump, right + jump, i, j, n_features, size, size, KIND, BM, BN))
        values = values * tl.load(left_factor + g * size + i)[:, None] * tl.load(right_factor + g * size + j)[None, :]
        total += values.to(tl.float64)
    tl.store(target, total)
