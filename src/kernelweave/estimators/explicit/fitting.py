"""Fitting on explicit features: from samples in blocks to a stack that combiners take.

Three passes come before training: labels and counts, the reservoir (on which kernels, normalisation and feature maps
are fitted), and the features of every block.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import chosen_place
from ...engines.base import Engine
from ...engines.block import Block
from ...engines.device import blocks_on_device
from ...engines.from_files import FromFiles
from ...engines.host.recomputed import feature_block, feature_bytes
from ...engines.losses import losses_of
from ...engines.memory import InMemory
from ...engines.reservoir import fitted_maps
from ...engines.rows import Rows
from ...engines.stack import ExplicitStack
from ...engines.training.machine import ExplicitMachine
from ...features import FeatureMap
from ...kernels import KernelStack
from ...machines import Machine

MEMORY_SHARE = 0.6  # of the free memory that features may take


@dataclass(frozen=True)
class Preparation:
    """What makes a `Block` of `Rows`; small, and sent to wherever the rows are."""

    maps: list[FeatureMap]
    stack: KernelStack  # over the reservoir: its kernels find out which sample has which view
    machine_of: Any  # (y, weight) -> machine of these samples, and targets as combiners take them
    dtype: np.dtype
    held: bool = True  # whether features are held, or computed again in every pass
    with_samples: bool = True  # whether blocks have the samples themselves, which gates and projections read

    def __call__(self, rows: Rows) -> Block:
        """The block of some samples."""
        present = self.stack.presence(rows.views.rows(slice(None)))  # what is read of them is dropped with them
        features = feature_block(self.maps, rows.views, present, self.dtype, held=self.held)
        machine, y = self.machine_of(rows.y, rows.weight)
        there = None if present.all() else present
        return Block(
            rows.first,
            features,
            losses_of(machine),
            y,
            rows.weight,
            there,
            None,
            rows.views if self.with_samples else None,
        )


def explicit_stack(
    estimator: Any,
    engine: Engine,
    n_samples: int,
    machine_of: Any,
    rng: np.random.RandomState,
    *,
    with_samples: bool = True,
) -> tuple[ExplicitStack, ExplicitMachine, str]:
    """The stack and the machine that a combiner is fitted with, and how features are held.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
        Its parameters `kernels`, `normalize`, `approximation`, `storage`, `device` and `dtype` are read.
    engine : Engine
        Over `Rows`.
    n_samples : int
        Of all blocks.
    machine_of : callable
        See `engines.targets`.
    rng : RandomState
    with_samples : bool
        Whether blocks have the samples themselves, for combiners that read them.
    """
    given = estimator.kernels, estimator.normalize, estimator.approximation
    reservoir, stack, maps, dtype = fitted_maps(engine, *given, rng, estimator.dtype)
    sample: Machine = machine_of(reservoir.y, reservoir.weight)[0]
    place = chosen_place(estimator.device)
    if not place.is_host:
        preparation = Preparation(maps, stack, machine_of, dtype)
        placed, held = blocks_on_device(_rows(engine), n_samples, preparation, place, estimator.storage)
        storage = "dense" if held else "lazy"
        return ExplicitStack(stack, maps, placed, n_samples), ExplicitMachine(sample, n_samples), storage
    size = feature_bytes(n_samples, sum(m.n_features for m in maps), dtype)
    storage = _storage(estimator.storage, size, engine)
    held = storage == "dense"
    preparation = Preparation(maps, stack, machine_of, dtype, held, with_samples)
    blocks = engine.replace(preparation, keep=held)
    return ExplicitStack(stack, maps, blocks, n_samples), ExplicitMachine(sample, n_samples), storage


def _rows(engine: Engine) -> Iterable[Rows]:
    """The blocks of samples as given, one after the other."""
    if isinstance(engine, FromFiles):
        return engine.results(_same)
    if isinstance(engine, InMemory):
        return engine.blocks
    raise ValueError(
        "a device computes with samples in memory or in files of this machine, and X is divided among workers; use "
        'device="cpu"'
    )


def _same(rows: Rows) -> Rows:
    return rows


def _storage(storage: str, size: int, engine: Engine) -> str:
    """Whether features of this many bytes are held ("dense") or computed again in each pass ("lazy")."""
    if storage != "auto":
        return storage
    free = engine.free_memory()
    return "dense" if free is None or size <= MEMORY_SHARE * free else "lazy"
