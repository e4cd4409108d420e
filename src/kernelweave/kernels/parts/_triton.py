"""The compiled programs of `triton_images`: nothing of the size rows x columns is stored.

Feature vectors are rows of `WIDTH` numbers that TF32 holds exactly, so that products are exact and sums are in float32.
For a Gaussian the last six columns make the product the exponent itself, in powers of 2 (see `packing`):

    <a, b> = <x, z> - ||x||^2 / 2 - ||z||^2 / 2        k(x, z) = 2^<a, b>

Within a tile sums are in float32; over tiles they are in float64. The order of additions is fixed.
"""

from __future__ import annotations

try:
    import triton
    import triton.language as tl

    jit = triton.jit
except ImportError:  # `triton_images.serves` is false then

    def jit(function):
        """The function itself, which nobody calls."""
        return function


GAUSSIAN, POLYNOMIAL, LAPLACIAN, CHI_SQUARED = 0, 1, 2, 3


@jit
def _falling(exponent, EMULATED: tl.constexpr):
    """2^exponent; emulated by a polynomial where the unit for exponentials is busy enough."""
    if EMULATED:
        exponent = tl.maximum(exponent, -126.0)
        shifted = exponent + 12582912.0  # 1.5 * 2^23: the sum is rounded to a whole number
        f = exponent - (shifted - 12582912.0)
        p = 0.0013333558 * f + 0.0096181291
        p = p * f + 0.0555041087
        p = p * f + 0.2402265070
        p = p * f + 0.6931471806
        p = p * f + 1.0
        bits = p.to(tl.int32, bitcast=True) + (shifted.to(tl.int32, bitcast=True) << 23)
        return bits.to(tl.float32, bitcast=True)
    return tl.exp2(exponent)


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
    """<a, b> of a tile; `left` and `right` point to the first feature of each sample."""
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
def image_tiles(
    left, right, index, V, out, coef0, members, n_rows, n_columns, per_split, left_jump, right_jump, n_features,
    left_step, right_step,
    KIND: tl.constexpr, DEGREE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, OUTPUTS: tl.constexpr,
    INDEXED: tl.constexpr, EMULATE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """out[s, p, r, i] = sum_j k_g(x_i, z_j) V[g, r, j] over the s-th share of the columns, g being members[p].

    j runs over whole tiles.
    """
    tile, position, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    g = tl.load(members + position)
    i = tile * BM + tl.arange(0, BM)
    there = i < n_rows
    if INDEXED:
        sample = tl.load(index + i, mask=there, other=0)
    else:
        sample = tl.where(there, i, 0).to(tl.int64)
    left += g * left_jump
    right += g * right_jump
    V += g * OUTPUTS * n_columns
    begin = split * per_split
    end = tl.minimum(begin + per_split, n_columns)
    if KIND < 2:
        first = sample * WIDTH
        k = tl.arange(0, BLOCK)
        if WIDTH == BLOCK:
            a = tl.load(left + first[:, None] + k[None, :])
    else:
        first = sample
    constant = tl.load(coef0 + g)
    acc0 = tl.zeros([BM], dtype=tl.float64)
    acc1 = tl.zeros([BM], dtype=tl.float64)
    acc2 = tl.zeros([BM], dtype=tl.float64)
    acc3 = tl.zeros([BM], dtype=tl.float64)
    for start in tl.range(begin, end, BN, num_stages=STAGES):
        j = start + tl.arange(0, BN)
        if KIND < 2:
            if WIDTH == BLOCK:
                b = tl.load(right + j[:, None] * WIDTH + k[None, :])
                values = tl.dot(a, tl.trans(b), input_precision="tf32")
            else:
                values = _products(left, right, first, j * WIDTH, BM, BN, BLOCK, WIDTH // BLOCK)
            if KIND == 0:
                if EMULATE > 0:
                    if (start // BN) % EMULATE == 0:
                        values = _falling(values, True)
                    else:
                        values = _falling(values, False)
                else:
                    values = _falling(values, False)
            else:
                values = _power(values + constant, DEGREE)
        else:
            values = _falling(
                -_distances(left, right, first, j, n_features, left_step, right_step, KIND, BM, BN), False
            )
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
    out += (split * tl.num_programs(1) + position).to(tl.int64) * OUTPUTS * n_rows + i
    tl.store(out, acc0, mask=there)
    if OUTPUTS > 1:
        tl.store(out + n_rows, acc1, mask=there)
    if OUTPUTS > 2:
        tl.store(out + 2 * n_rows, acc2, mask=there)
    if OUTPUTS > 3:
        tl.store(out + 3 * n_rows, acc3, mask=there)


@jit
def block_tiles(
    left, right, left_factor, right_factor, out, coef0, n_kernels, size, n_features,
    KIND: tl.constexpr, DEGREE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr,
):  # fmt: skip
    """out[i, j] += sum_g left_factor[g, i] k_g(x_i, x_j) right_factor[g, j], in float64; sizes are whole tiles."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    target = out + i.to(tl.int64)[:, None] * size + j[None, :]
    total = tl.load(target)
    for g in range(n_kernels):
        jump = g * size * WIDTH
        if KIND < 2:
            values = _products(left + jump, right + jump, i * WIDTH, j * WIDTH, BM, BN, BLOCK, WIDTH // BLOCK)
            if KIND == 0:
                values = _falling(values, False)
            else:
                values = _power(values + tl.load(coef0 + g), DEGREE)
        else:
            values = _falling(-_distances(left + jump, right + jump, i, j, n_features, size, size, KIND, BM, BN), False)
        values = values * tl.load(left_factor + g * size + i)[:, None] * tl.load(right_factor + g * size + j)[None, :]
        total += values.to(tl.float64)
    tl.store(target, total)
