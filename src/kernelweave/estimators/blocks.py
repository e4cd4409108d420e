"""New samples of precomputed kernels: blocks of similarities for several kernels become extended kernels and ids.

Kernels that read one id column must give a sample the same id there. A sample that one of their blocks lacks gets its
id in that kernel too, marked as one without the view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..kernels import Precomputed
from ..kernels.base import Kernel
from ..kernels.precomputed import Block, as_text
from ..validation import shown


@dataclass(frozen=True)
class Extension:
    """What blocks of similarities make of the kernels of a model.

    Attributes
    ----------
    matrices : dict from position to Precomputed
        Those of the kernels that get further ids.
    index : Index
        Labels of the new samples.
    ids : dict from column to Series
        What the id columns of X hold for the new samples; missing where a sample lacks the view.
    """

    matrices: dict[int, Precomputed]
    index: pd.Index
    ids: dict[int, pd.Series]


def extension(
    names: Sequence[str],
    kernels: Sequence[Kernel],
    lookups: Sequence[tuple[Any, np.ndarray]],
    blocks: Any,
    diagonal: Any,
) -> Extension:
    """Extend kernels by the samples of blocks, or raise an error that names the kernel at fault.

    Parameters
    ----------
    names, kernels : sequence
        All kernels of a fitted model.
    lookups : sequence of (Precomputed, ndarray)
        The matrices that prediction reads, each with the ids it compares with.
    blocks, diagonal
        As in `FittedKernels.extend_kernels`.
    """
    _check_names(names, kernels, blocks, diagonal)
    read: dict[int, Block] = {}
    for name, rows in blocks.items():
        matrix, m = _matrix_of(kernels[names.index(name)]), names.index(name)
        needed = np.concatenate([ids for other, ids in lookups if other.equals(matrix)] or [np.empty(0, dtype=int)])
        own = diagonal.get(name) if isinstance(diagonal, Mapping) else diagonal
        read[m] = matrix.read_block(rows, own, f"the block of the kernel {name!r}", needed)
    index, labels = _samples(names, read, blocks)
    columns: dict[int, list[int]] = {}
    for m, kernel in enumerate(kernels):
        if kernel.reads_ids:
            columns.setdefault(int(kernel.columns()[0]), []).append(m)
    extended: dict[int, Precomputed] = {}
    ids: dict[int, pd.Series] = {}
    for column, group in columns.items():
        if any(m in read for m in group):
            ids[column] = _extend_group(names, kernels, group, read, index, labels, extended)
    return Extension(extended, index, ids)


def _matrix_of(kernel: Kernel) -> Precomputed:
    """The matrix in which a kernel looks ids up."""
    ((matrix, _),) = kernel.lookups(None)
    return matrix


def _check_names(names: Sequence[str], kernels: Sequence[Kernel], blocks: Any, diagonal: Any) -> None:
    taking = [name for name, kernel in zip(names, kernels, strict=True) if kernel.reads_ids]
    example = f"{{{taking[0]!r}: block}}" if taking else '{"name": block}'
    if not isinstance(blocks, Mapping) or not blocks:
        raise ValueError(f"extend_kernels needs a dict from names of kernels to blocks, {example}, not {shown(blocks)}")
    for what, given in (("extend_kernels got a block", blocks), ("diagonal has an entry", diagonal)):
        for name in given if isinstance(given, Mapping) else ():
            if name not in taking:
                reason = f"does not exist (there are {list(names)})"
                if name in names:
                    looks_up = kernels[names.index(name)].lookups(None)
                    reason = "is made of several kernels" if looks_up else "computes its values from X"
                raise ValueError(
                    f"{what} for the kernel {name!r}, which {reason}; the kernels that are looked up by id are {taking}"
                )


def _samples(names: Sequence[str], read: dict[int, Block], blocks: Any) -> tuple[pd.Index, pd.Index | None]:
    """The labels of all new samples, as they were given and as text (None without labels)."""
    lengths = {names[m]: len(block.values) for m, block in read.items()}
    labelled = {m: block.labels for m, block in read.items() if block.labels is not None}
    first = next(iter(labelled.values()), None)
    if len(labelled) < len(read):
        same = all(labels.equals(first) for labels in labelled.values())
        if len(set(lengths.values())) > 1 or not same:
            raise ValueError(
                "blocks without labels must have the same samples in the same order as the others, but the numbers of "
                f"rows are {lengths}; give all blocks as data frames with labels"
            )
    if first is None:
        return pd.RangeIndex(next(iter(lengths.values()))), None
    texts = pd.Index(np.concatenate([labels.to_numpy() for labels in labelled.values()]), dtype=object)
    given = [label for m in labelled for label in blocks[names[m]].index]
    once = ~texts.duplicated()
    name = blocks[names[next(iter(labelled))]].index.name
    return pd.Index([label for label, kept in zip(given, once, strict=True) if kept], name=name), texts[once]


def _extend_group(
    names: Sequence[str],
    kernels: Sequence[Kernel],
    group: list[int],
    read: dict[int, Block],
    index: pd.Index,
    labels: pd.Index | None,
    extended: dict[int, Precomputed],
) -> pd.Series:
    """Extend the kernels that read one id column (into `extended`); returns that column."""
    places = {m: _places(read[m].labels, labels, len(index)) for m in group if m in read}
    here = np.any([_is_there(read[m], own) for m, own in places.items()], axis=0)
    chosen = None if labels is None else labels[here]
    ids, n_here = pd.Series(None, index=index, dtype=object), int(here.sum())
    taken: tuple[str, np.ndarray] | None = None
    for m in group:
        matrix = _matrix_of(kernels[m])
        if matrix.labels is not None and chosen is None:
            raise ValueError(
                f"the matrix of the kernel {names[m]!r} has labels, so its block must have labels too: a data frame "
                "with a row for each new sample"
            )
        block = read[m].take(places[m][here], chosen) if m in read else _nothing(matrix, chosen, n_here)
        own = len(matrix.self_similarity) + np.arange(n_here)
        found = index[here].to_numpy(dtype=object) if matrix.labels is not None else own.astype(object)
        if taken is not None and not np.array_equal(as_text(found, "ids"), as_text(taken[1], "ids")):
            raise ValueError(
                f"the kernels {taken[0]!r} and {names[m]!r} read the same id column, but would give a new sample the "
                f"ids {taken[1][0]!r} and {found[0]!r}; give both matrices as data frames with labels"
            )
        taken = names[m], found
        extended[m] = matrix.with_block(block)
    if taken is not None:
        ids[here] = taken[1]
    return ids.infer_objects()


def _places(own: pd.Index | None, labels: pd.Index | None, n_new: int) -> np.ndarray:
    """Where the samples are in a block that has these labels of its own, or none; -1 for those it lacks."""
    return np.arange(n_new) if own is None else own.get_indexer(labels)


def _is_there(block: Block, places: np.ndarray) -> np.ndarray:
    """Which samples have a row in a block that is not missing."""
    there = places >= 0
    there[there] = ~block.absent[places[there]]
    return there


def _nothing(matrix: Precomputed, labels: pd.Index | None, n_new: int) -> Block:
    """The block of samples that all lack the view."""
    return Block(labels, np.zeros((n_new, matrix.K.shape[1])), np.zeros(n_new), np.ones(n_new, dtype=bool))
