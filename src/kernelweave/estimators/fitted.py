"""The kernels of a fitted model: which ones it reads, and how they are extended by new ids.

`extension` makes extended kernels and ids of blocks of similarities for several kernels. Kernels that read one id
column must give a sample the same id there. A sample that one of their blocks lacks gets its id in that kernel too,
marked as one without the view.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..combiners import CombinedKernel
from ..combiners.per_output import OutputKernels
from ..features import FeatureMap
from ..kernels import KernelStack, Precomputed
from ..kernels.base import Kernel
from ..kernels.normalization import check_known
from ..kernels.precomputed import Block, as_text
from ..stacks.explicit import Features
from ..validation import shown
from ..validation.schemas import COLUMNS, Schema, object_of, several, text
from ..views import Views
from ..views.given import new_views


class FittedKernels:
    """Mixin of models that store `kernels_`, `kernel_names_` and a combined kernel, or a stack of kernels."""

    n_features_in_: int
    kernels_: list[Kernel]
    kernel_names_: list[str]
    _kernel: CombinedKernel

    _saved = COLUMNS | Schema(
        {"kernels_": several(object_of(Kernel, "columns"), "kernels"), "kernel_names_": several(text, "kernels")}
    )

    def _new_views(self, X: Any) -> Views:
        check_is_fitted(self)
        return new_views(self, X, self._columns())

    def _columns(self) -> np.ndarray:
        return self._kernel.columns()

    def _lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        return self._kernel.lookups()

    def _replace(self, m: int, kernel: Kernel) -> None:
        self._kernel.replace(m, kernel)

    def replace_kernel(self, name: str, kernel: Precomputed) -> FittedKernels:
        """Install a precomputed kernel with further samples, without refitting.

        Parameters
        ----------
        name : str
            One of `kernel_names_`.
        kernel : Precomputed or Distance of a matrix
            The kernel of the fit, extended by new ids (its method `extend`).
        """
        check_is_fitted(self)
        if name not in self.kernel_names_:
            raise ValueError(f"there is no kernel named {name!r}; the kernels are {self.kernel_names_}")
        self._replace(self.kernel_names_.index(name), kernel)
        return self

    def extend_kernels(self, blocks: Any, diagonal: Any = None) -> pd.DataFrame:
        """Give the precomputed kernels of the model new samples, and return these as an X to predict.

        ``model.predict(model.extend_kernels(blocks))`` predicts samples of which there are only similarities to the
        training samples. Nothing is refitted, and where a block cannot be used nothing is changed.

        Parameters
        ----------
        blocks : dict from kernel name to DataFrame or array
            For each `Precomputed` kernel (or `Distance` of a matrix), by its name in `kernel_names_`, the similarities
            (distances) of the new samples (rows) to the samples of the fit. Columns of a data frame are found by label;
            those of support vectors must be there, others may be. Row labels are the new samples' ids. Where the matrix
            has no labels a block may be an array with a column for each id. A sample that is in some blocks only, or
            whose row is wholly NaN, lacks the other views; so do all where a kernel has no block.
        diagonal : dict from kernel name to Series, array or number, or one of these for all kernels, or None
            The similarity of each new sample to itself, which ``normalize="unit-diagonal"`` (the default of estimators)
            needs; 1.0 where every sample is that similar to itself. None takes it from the blocks, where they have a
            column for each new sample too. Distances need none.

        Returns
        -------
        DataFrame of shape (n_new, n_features)
            The new samples, with the labels of the blocks, in the order in which they first occur. Id columns hold ids
            and the other columns are missing: fill them in where other kernels read them.

        Notes
        -----
        The model keeps the new samples, and with them their rows of similarities, so that they can be predicted again,
        also after `save`. A label that is given again has the similarities that were given last.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from kernelweave import MKLClassifier
        >>> from kernelweave.kernels import Precomputed
        >>> people, A = ["ann", "bob", "cid", "dan", "eve"], np.array([[2.0], [1.0], [-1.0], [-2.0], [3.0]])
        >>> K = pd.DataFrame(A @ A.T, index=people, columns=people)
        >>> known = K.loc[people[:4], people[:4]]
        >>> X = pd.DataFrame({"id": known.index}, index=known.index)
        >>> model = MKLClassifier([("voice", Precomputed(known, "id"))]).fit(X, ["a", "a", "b", "b"])
        >>> X_new = model.extend_kernels({"voice": K.loc[["eve"], people[:4]]}, diagonal=9.0)
        >>> X_new
              id
        eve  eve
        >>> model.predict(X_new)
        array(['a'], dtype='<U1')
        """
        check_is_fitted(self)
        found = extension(self.kernel_names_, self.kernels_, self._lookups(), blocks, diagonal)
        active, normalizers = self._used(), self._stack().normalizers
        for m, matrix in found.matrices.items():
            if active[m] and normalizers[m].method == "unit-diagonal":
                check_known(matrix.self_similarity, self.kernel_names_[m])
        for m, matrix in found.matrices.items():
            self._replace(m, self.kernels_[m].over(matrix))
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        columns = {place: found.ids.get(place, np.nan) for place in range(self.n_features_in_)}
        return pd.DataFrame(columns, index=found.index).set_axis(names, axis=1)

    def _stack(self) -> KernelStack:
        """The kernels with their normalisation; those of the first output where each output has its own."""
        kernel = self._kernel
        return (kernel.kernels[0] if isinstance(kernel, OutputKernels) else kernel).stack

    def _used(self) -> np.ndarray:
        return self._kernel.active

    @property
    def approximation_(self) -> dict[str, FeatureMap]:
        """The fitted features of each kernel that prediction evaluates, by name; only with an `approximation`."""
        kernel: Any = getattr(self, "_kernel", None)
        kernels: list[Any] = kernel.kernels if isinstance(kernel, OutputKernels) else [kernel]
        stacks = [getattr(own, "stack", None) for own in kernels]
        if not all(isinstance(stack, Features) for stack in stacks):
            raise AttributeError(f"this {type(self).__name__} has no approximation_: it is exact, or not fitted")
        return {
            name: own.stack.maps[m] for own in kernels for m, name in enumerate(self.kernel_names_) if own.active[m]
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of the classes behind this one
        tags.input_tags.sparse = True
        return tags


class FittedStack(FittedKernels):
    """Mixin of models that keep a stack of kernels (`_state`) rather than one combined kernel."""

    _state: KernelStack

    _saved = Schema({"_state": object_of(KernelStack, "columns", "kernels", "support")})

    @abstractmethod
    def _active(self) -> np.ndarray:
        """Which kernels prediction evaluates: a boolean array."""

    def _columns(self) -> np.ndarray:
        used = [kernel.columns() for kernel, is_active in zip(self.kernels_, self._active(), strict=True) if is_active]
        return np.concatenate(used)

    def _lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        return self._state.lookups(self._active())

    def _replace(self, m: int, kernel: Kernel) -> None:
        self._state.replace(m, kernel)

    def _stack(self) -> KernelStack:
        return self._state

    def _used(self) -> np.ndarray:
        return self._active()


def check_some_view(views: Views, present: np.ndarray, active: np.ndarray, names: list[str]) -> None:
    """An error for a sample without any view that a kernel with a weight reads: nothing is known of it."""
    without = ~present[:, active].any(axis=1)
    if without.any():
        used = [name for name, is_active in zip(names, active, strict=True) if is_active]
        raise ValueError(
            f"{views.first(without)} has none of the views whose kernels have a weight ({', '.join(used)}); remove "
            "such samples, or keep weights of all kernels"
        )


def lookups_of(model: Any) -> list[tuple[Kernel, np.ndarray]]:
    return model._lookups()


def n_compared(model: Any) -> int:
    """With how many support vectors or landmarks (else raw values) a kernel compares a new sample, at most."""
    if hasattr(model, "support_"):
        return len(model.support_)
    used = [model.approximation_[name].n_raw for name in model.active_kernels_]
    return max(used, default=0)


def presence_of(model: Any, X: Any) -> np.ndarray:
    views = model._new_views(X)
    return np.column_stack([kernel.present(views) for kernel in model.kernels_])


def similarities_of(model: Any, X: Any) -> np.ndarray:
    """The combined kernel between samples and support vectors, those of one output beside those of the next."""
    views, kernel = model._new_views(X), model._kernel
    kernels = kernel.kernels if isinstance(kernel, OutputKernels) else [kernel]
    return np.hstack([own.cross(views) for own in kernels])


@dataclass(frozen=True)
class Extension:
    matrices: dict[int, Precomputed]  # by the positions of the kernels that get further ids
    index: pd.Index  # labels of the new samples
    ids: dict[int, pd.Series]  # what the id columns of X hold for them; missing where a sample lacks the view


def extension(
    names: Sequence[str],
    kernels: Sequence[Kernel],
    lookups: Sequence[tuple[Any, np.ndarray]],
    blocks: Any,
    diagonal: Any,
) -> Extension:
    """Extend kernels by the samples of blocks, or raise an error that names the kernel at fault."""
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
    places = {}  # positions of the samples in each block; -1 for those that it lacks
    for m in group:
        if m in read:
            own = read[m].labels
            places[m] = np.arange(len(index)) if own is None else own.get_indexer(labels)
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


def _is_there(block: Block, places: np.ndarray) -> np.ndarray:
    there = places >= 0
    there[there] = ~block.absent[places[there]]
    return there


def _nothing(matrix: Precomputed, labels: pd.Index | None, n_new: int) -> Block:
    return Block(labels, np.zeros((n_new, matrix.K.shape[1])), np.zeros(n_new), np.ones(n_new, dtype=bool))
