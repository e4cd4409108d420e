"""The benchmark as a `Comparison` for the one engine: rows, methods, fixed splits, and what is measured.

Splits are fixed by seed: stratified draws of at most 300 training samples (and at most half of the set) and at most
1000 test samples, three of them unless more are asked for; further ones leave the first as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...model_selection import RepeatedDraws
from ..engine.comparison import Comparison, Contender
from .data_sets import DataSet
from .entries import Entry
from .measures import measure_cell

NAME = "benchmark"
SPLITS, TRAIN, TEST = 3, 300, 1000
MAX_SECONDS = 20.0  # of a cell, after which no further setting is begun
_QUICK = {"n_train": 80, "n_test": 200}
QUICK_SECONDS = 2.0


@dataclass(frozen=True)
class FixedDraws(RepeatedDraws):
    """`RepeatedDraws` for training and testing only, whose first draws do not depend on how many there are.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.experiments.benchmark.declaration import FixedDraws
    >>> y = np.arange(90) % 3
    >>> few, more = FixedDraws(1).split(y, stratify=True), FixedDraws(5).split(y, stratify=True)
    >>> len(few[0].train), len(few[0].test), bool((few[0].train == more[0].train).all())
    (45, 45, True)
    """

    n_repeats: int = field(default=SPLITS, repr=False)  # fingerprints are of the text, and serve any number
    n_train: int = TRAIN
    n_validation: int = 0
    n_test: int = TEST


def declare_benchmark(
    data_sets: Sequence[DataSet], methods: Sequence[Entry], *, splits: int = SPLITS, quick: bool = False
) -> Comparison:
    """Declare the benchmark.

    Parameters
    ----------
    data_sets : sequence of DataSet
    methods : sequence of Entry
    splits : int
    quick : bool
        80 training samples, and 2 seconds in place of 20 after which no further setting is begun.

    Examples
    --------
    >>> from kernelweave.experiments.benchmark.data_sets import choose_data_sets
    >>> from kernelweave.experiments.benchmark.declaration import declare_benchmark
    >>> from kernelweave.experiments.benchmark.entries import find_method
    >>> declare_benchmark(choose_data_sets(["wdbc"]), [find_method("EasyMKL")]).n_methods
    1
    """
    limit = QUICK_SECONDS if quick else MAX_SECONDS
    timed = [dataclasses.replace(entry, max_seconds=limit) for entry in methods]
    return Comparison(
        name=NAME,
        title="Kernels over several views",
        source="",
        datasets={row.name: row for row in data_sets},
        contenders=tuple(Contender(entry.name, entry) for entry in timed),
        protocol=FixedDraws(splits, **(_QUICK if quick else {})),
        skip_absent=True,
        is_tolerant=True,
        measure=measure_cell,
        in_processes=True,
    )
