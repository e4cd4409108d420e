"""Compiled pieces of a pair update (sequential minimal optimisation) of the box QP.

The problem is  maximise  p'c - e |c|_1 - 1/2 c'Kc  with  sum(c) fixed and  lower <= c <= upper.
A step moves one pair,  c_i += t,  c_j -= t,  which keeps the sum. With the gradient g = p - K c of the smooth
part, the one-sided slopes of the objective are

    raising c_i:   up_i   = g_i - e  if c_i >= 0  else  g_i + e      (not allowed at the upper bound)
    lowering c_j:  down_j = g_j - e  if c_j > 0   else  g_j + e      (not allowed at the lower bound)

and c is optimal when  max up <= min down  (libsvm's m <= M). The pair is i = argmax up and, with second-order
information (Fan, Chen and Lin, 2005),  j = argmax (up_i - down_j)^2 / (K_ii + K_jj - 2 K_ij)  over the j with
down_j < up_i.

======================  ==========================================================
symbol                  name
======================  ==========================================================
g                       gradient
up_i - g_i              up_shift (-inf where c_i may not rise)
down_j - g_j            down_shift (+inf where c_j may not fall)
K_ii + K_jj - 2 K_ij    curvature
e                       insensitivity
======================  ==========================================================

Both selections are one vectorised pass each: a float is compared through its bit pattern (the order of
non-negative floats is the order of their bits) whose lowest bits are replaced by the sample's position, so one
integer maximum finds value and place. The values compared are distances from a reference close to the
current multiplier, so the bits given up are far below the violation itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..compiled import compiled

# No "ninf": the masks are infinities. "nnan": the caller finds NaN in K by checking the final gradient.
FLAGS = {"nnan", "nsz", "reassoc", "contract", "arcp"}
PLACE = np.int64(0xFFFF)  # room for the position within a block
MAX_BLOCK = 0xFFFF
FLAT = 1e-14  # curvature along a cycle below this fraction of the largest diagonal entry counts as zero
PAIR_FLAT = 3e-16  # and along a pair below this fraction of K_ii + K_jj: less is only rounding
ROUNDING = 4.5e-16  # a coefficient this close to its bound, relative to what was added up, is on it
LOWEST = -1.7e308  # any finite number is larger
TINY = 1e-300  # keeps zero curvature from dividing by zero


def _selecting(comparison: str, doc: str) -> Any:
    """Minimum or maximum as one compare and select that LLVM may vectorise (Python's own keeps NaN order)."""

    @intrinsic
    def choose(typing, a, b):
        def build(context, builder, signature, args):
            flags = ("nnan", "nsz")
            chosen = builder.fcmp_ordered(comparison, args[0], args[1], flags=flags)
            return builder.select(chosen, args[0], args[1], flags=flags)

        return a(a, b), build

    choose.__doc__ = doc
    return choose


larger = _selecting(">", "Larger of two floats.")
smaller = _selecting("<", "Smaller of two floats.")


def _bits(typing, value):
    """Bit pattern of a double."""

    def build(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(value), build


bits: Any = intrinsic(_bits)


@compiled(inner=True, error_model="numpy")
def up_shift(c, upper, insensitivity):
    """up_i - g_i."""
    if c >= upper:
        return -np.inf
    return -insensitivity if c >= 0.0 else insensitivity


@compiled(inner=True, error_model="numpy")
def down_shift(c, lower, insensitivity):
    """down_i - g_i."""
    if c <= lower:
        return np.inf
    return -insensitivity if c > 0.0 else insensitivity


@compiled(inner=True, fastmath=FLAGS, error_model="numpy")
def update_and_pick(gradient, row_i, row_j, t, shift, reference):
    """Gradient step g -= t (K_i - K_j), fused with argmax of up - reference; -1 when none is positive."""
    best = np.int64(0)
    for k in range(gradient.shape[0]):
        value = gradient[k] - t * row_i[k] + t * row_j[k]  # t is double, so single-precision rows lose nothing
        gradient[k] = value
        best = max(best, (bits(larger(value + shift[k] - reference, 0.0)) & ~PLACE) | k)
    return best & PLACE if best > PLACE else -1


@compiled(inner=True, error_model="numpy")
def pick_up(gradient, shift):
    """Argmax of up, also where it violates nothing."""
    best = -np.inf
    place = -1
    for k in range(gradient.shape[0]):
        value = gradient[k] + shift[k]
        if value > best:
            best = value
            place = k
    return place


@compiled(inner=True, error_model="numpy")
def pick_low(gradient, shift):
    """Argmin of down, also where it violates nothing."""
    best = np.inf
    place = -1
    for k in range(gradient.shape[0]):
        value = gradient[k] + shift[k]
        if value < best:
            best = value
            place = k
    return place


@compiled(inner=True, fastmath=FLAGS, error_model="numpy")
def pick_down(gradient, row_i, shift, diagonal, diagonal_i, top):
    """Second-order partner of i (-1 when no down is below top), and min down."""
    best = np.int64(0)
    low = np.inf
    for k in range(gradient.shape[0]):
        value = gradient[k] + shift[k]
        low = smaller(low, value)
        fall = larger(top - value, 0.0)
        both = diagonal_i + diagonal[k]
        curvature = larger(both - 2.0 * row_i[k], PAIR_FLAT * larger(both, -both) + TINY)
        best = max(best, (bits(fall * fall / curvature) & ~PLACE) | k)
    return best & PLACE if best > PLACE else -1, low


@compiled(inner=True, error_model="numpy")
def pair_length(slope, curvature, flat, c_i, c_j, room, insensitivity):
    """Maximiser t of the piecewise quadratic along the pair; its slope drops by 2e where a coefficient crosses 0."""
    t = 0.0
    for _ in range(3):
        cross = room
        if insensitivity > 0.0:
            if c_i + t < 0.0 and -c_i < cross:
                cross = -c_i
            if c_j - t > 0.0 and c_j < cross:
                cross = c_j
        if curvature > flat and t + slope / curvature <= cross:
            return t + slope / curvature
        slope -= curvature * (cross - t)
        if c_i == -cross:
            slope -= 2.0 * insensitivity
        if c_j == cross:  # both at once, as from opposite bounds
            slope -= 2.0 * insensitivity
        t = cross
        if t >= room or slope <= 0.0:
            break
    return t


@compiled(inner=True, error_model="numpy")
def move(c, t, upper):
    """c + t, landing exactly on the bound (also where only rounding keeps it away) or on zero when it is meant to."""
    if t >= upper - c - ROUNDING * (abs(c) + t):
        return upper
    if c < 0.0 and t == -c:
        return 0.0
    return c + t


@compiled(inner=True, error_model="numpy")
def fetch(K, block, rows, slot, a):
    """Where row a of the block's kernel lies in `rows`, copied there at its first use; slot[-1] counts them."""
    n = block.shape[0]
    if slot[a] < 0:
        used = slot[n]
        source = K[block[a]]
        target = rows[used]
        for b in range(n):
            target[b] = source[block[b]]
        slot[a] = used
        slot[n] = used + 1
    return slot[a]
