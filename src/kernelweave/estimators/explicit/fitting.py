"""Fitting on explicit features: from samples in blocks to a stack that combiners take.

Three passes come before training: labels and counts, the reservoir (on which kernels, normalisation and feature maps are
fitted), and the features of every block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engines.base import Engine
from ...engines.block import Block, StoredFeatures
from ...engines.losses import losses_of
from ...engines.machine import ExplicitMachine
from ...engines.memory import InMemory
from ...engines.rows import Reservoir, Rows, reservoir_of
from ...engines.stack import ExplicitStack
from ...features import Approximation, FeatureMap
from ...kernels import KernelStack
from ...machines import Machine
from ...views import Views

LEAST_RESERVOIR, RESERVOIR_SHARE = 4000, 20
BLOCK_ROWS = 8192


def rows_in_memory(views: Views, y: Any, weight: np.ndarray) -> InMemory:
    """Samples in memory as blocks."""
    n = views.n_samples
    starts = range(0, n, BLOCK_ROWS)
    parts = [slice(first, min(first + BLOCK_ROWS, n)) for first in starts]
    return InMemory([Rows(p.start, views.rows(p), None if y is None else y[p], weight[p]) for p in parts])


@dataclass(frozen=True)
class Preparation:
    """What makes a `Block` of `Rows`; small, and sent to wherever the rows are."""

    maps: list[FeatureMap]
    stack: KernelStack  # over the reservoir: its kernels find out which sample has which view
    machine_of: Any  # (y, weight) -> machine of these samples, and targets as combiners take them
    dtype: np.dtype

    def __call__(self, rows: Rows) -> Block:
        present = self.stack.presence(rows.views)
        offsets = np.cumsum([0, *(m.n_features for m in self.maps)])
        matrix = np.empty((rows.n_samples, offsets[-1]), dtype=self.dtype)
        for m, found in enumerate(self.maps):
            matrix[:, offsets[m] : offsets[m + 1]] = found.transform(rows.views, present[:, m])
        machine, y = self.machine_of(rows.y, rows.weight)
        there = None if present.all() else present
        return Block(
            rows.first, StoredFeatures(matrix, offsets), losses_of(machine), y, rows.weight, there, None, rows.views
        )


def explicit_stack(
    engine: Engine,
    n_samples: int,
    kernels: Any,
    normalize: str | None,
    approximation: Approximation,
    machine_of: Any,
    rng: np.random.RandomState,
    dtype: np.dtype,
) -> tuple[ExplicitStack, ExplicitMachine]:
    """The stack and the machine that a combiner is fitted with."""
    size = max(LEAST_RESERVOIR, RESERVOIR_SHARE * getattr(approximation, "n_components", 0))
    reservoir: Reservoir = engine.sum(reservoir_of, size, int(rng.randint(2**31)))
    stack = KernelStack(kernels, normalize).fit(reservoir.views, reservoir.weight, reservoir.y)
    maps = [approximation.fit_map(stack, m, rng, dtype=dtype) for m in range(stack.n_kernels)]
    sample: Machine = machine_of(reservoir.y, reservoir.weight)[0]
    blocks = engine.replace(Preparation(maps, stack, machine_of, dtype))
    return ExplicitStack(stack, maps, blocks, n_samples), ExplicitMachine(sample, n_samples)
