"""Localized kernels as the papers have them: gates of their norm, with a weak penalty that validation may change."""

from __future__ import annotations

from typing import Any

from ...combiners import Localized
from ...combiners.gates.base import Gate

CLOSED = 1e-6  # gates below 0.001 are closed, and `gate_tol` compares squares


def papers_localized(gate: type[Gate], **options: Any) -> Localized:
    """`Localized` with gates of sum 1 (softmax) or each from 0 to 1 (sigmoid), thesis (3.2) and (3.3).

    Parameters
    ----------
    gate : type of Gate
        `Softmax` or `Sigmoid`.
    options : further parameters of `Localized`

    Examples
    --------
    >>> from kernelweave.combiners import Softmax
    >>> papers_localized(Softmax, inputs="x").gating
    Softmax(norm='paper')
    """
    return Localized(gate(norm="paper"), **{"l2": 1e-3, "gate_tol": CLOSED, **options})
