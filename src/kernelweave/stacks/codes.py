"""Codes of samples: what a gating model reads of them, held or computed whenever it is read.

Where features are held, codes are computed once and held beside them, in the same precision; where features are
computed again in every pass, codes are too, or they would be a copy of X.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..engines.block import Block, StoredFeatures
from ..views import Views

FARTHEST = 1e15  # where codes in float32 are cut, so that their squares stay finite


@dataclass(frozen=True)
class CodesOnDemand:
    """Codes of a block that are computed whenever they are read, for some rows (a slice) at a time."""

    inputs: Any
    gate: Any
    views: Views
    dtype: np.dtype
    last: dict[tuple[int, int], np.ndarray] = field(default_factory=dict, compare=False)  # read twice in a pass

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Codes of some samples; those of the last ones are kept."""
        key = rows.start, rows.stop
        found = self.last.get(key)
        if found is None:
            self.views.is_finite()  # found out for all rows, once
            views = self.views.rows(rows)
            if self.dtype == np.float32 and self.gate.reads_inputs:
                found = self.inputs.narrow(views, FARTHEST)
            else:
                found = encoded(self.gate, self.inputs.transform(views), self.dtype)
            self.last.clear()
            self.last[key] = found
        return found


@dataclass(frozen=True)
class Coding:
    """What gives a block its codes; small, and sent to wherever blocks are."""

    inputs: Any
    gate: Any

    def __call__(self, block: Block) -> Block:
        """The block with codes and without views; they are held where features are."""
        dtype = np.dtype(getattr(block.features, "dtype", np.float64))
        codes: Any = CodesOnDemand(self.inputs, self.gate, block.views, dtype)
        if isinstance(block.features, StoredFeatures):
            codes = codes[slice(0, block.n_samples)]
        return dataclasses.replace(block, codes=codes, views=None)

    def on_device(self, block: Any) -> Any:
        """The same for a block on a device, where codes are always held."""
        return block.with_codes(CodesOnDemand(self.inputs, self.gate, block.views, np.dtype(block.features.dtype)))


def encoded(gate: Any, inputs: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What a gating model reads of samples with these inputs: numbers in a precision, or positions as they are."""
    codes = gate.encode(inputs)
    if codes.dtype.kind != "f" or codes.dtype == dtype:
        return codes
    return np.clip(codes, -FARTHEST, FARTHEST).astype(dtype)
