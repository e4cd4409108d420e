"""Fitting on explicit features: from samples in blocks to a stack that combiners take.

Three passes come before training: labels and counts, the reservoir (on which kernels, normalisation and feature maps
are fitted), and the features of every block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engines.base import Engine
from ...engines.block import Block, StoredFeatures
from ...engines.losses import losses_of
from ...engines.machine import ExplicitMachine
from ...engines.reservoir import fitted_maps
from ...engines.rows import Rows
from ...engines.stack import ExplicitStack
from ...features import FeatureMap
from ...kernels import KernelStack
from ...machines import Machine


@dataclass(frozen=True)
class Preparation:
    """What makes a `Block` of `Rows`; small, and sent to wherever the rows are."""

    maps: list[FeatureMap]
    stack: KernelStack  # over the reservoir: its kernels find out which sample has which view
    machine_of: Any  # (y, weight) -> machine of these samples, and targets as combiners take them
    dtype: np.dtype

    def __call__(self, rows: Rows) -> Block:
        """The block of some samples."""
        present = self.stack.presence(rows.views)
        offsets = np.cumsum([0, *(m.n_features for m in self.maps)])
        matrix = np.empty((rows.n_samples, offsets[-1]), dtype=self.dtype)
        for m, found in enumerate(self.maps):
            matrix[:, offsets[m] : offsets[m + 1]] = found.transform(rows.views, present[:, m])
        machine, y = self.machine_of(rows.y, rows.weight)
        there = None if present.all() else present
        return Block(rows.first, StoredFeatures(matrix, offsets), losses_of(machine), y, rows.weight, there, None, rows.views)


def explicit_stack(
    engine: Engine,
    n_samples: int,
    kernels: Any,
    normalize: str | None,
    approximation: Any,
    machine_of: Any,
    rng: np.random.RandomState,
    dtype: np.dtype,
) -> tuple[ExplicitStack, ExplicitMachine]:
    """The stack and the machine that a combiner is fitted with."""
    reservoir, stack, maps = fitted_maps(engine, kernels, normalize, approximation, rng, dtype)
    sample: Machine = machine_of(reservoir.y, reservoir.weight)[0]
    blocks = engine.replace(Preparation(maps, stack, machine_of, dtype))
    return ExplicitStack(stack, maps, blocks, n_samples), ExplicitMachine(sample, n_samples)
