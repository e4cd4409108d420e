"""`KernelStack`: the kernels of a model, fitted, repaired and normalised, over one set of training samples.

A stack computes Gram matrices, whole or in rows, holds which sample has which view, and compares new samples with the
training samples by the same constants. Combiners reach kernels only through it.

Products of features with a large mean drown the differences between samples. A linear kernel that is centred does not
change where its features are shifted, so they are lowered by their mean before they are multiplied (`centre_of`). For
other functions of products there is a warning where features have too large a mean (`warn_of_large_means`), by the rule
of `tiles.functions` for double precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..arrays import HOST, Place
from ..solvers.sums import KernelBlock, sum_kernels
from ..validation import Choice, check, shown
from ..validation.schemas import Schema, Sizes, flags, indices, numbers, object_of, one_of, refuse, several, text
from ..views import Views, as_views
from ..views.table import prefixes
from .base import Kernel, Tile, check_sparse, n_features_of, symmetric
from .distances import Distance
from .normalization import Normalizer, Repair, finite, warn_if_lost
from .precomputed import Precomputed
from .resources import explained_memory_errors, lazy_storage_error, warn_if_too_large
from .tiles.device import check_device_memory, warn_of_host_kernels
from .tiles.sources import declared
from .tiles.stack import TileStack, cross_values, source_of, tiles_at
from .vectors import Function, Linear, column_parts, squared_norms

#: A kernel, positions of new samples, these samples, and which of them have the view.
NewPart = tuple[int, Any, Views, np.ndarray]
CACHE_BYTES = 2.56e8  # rows that kernels in parts keep
SMALL_BYTES = 2**26  # Gram matrices that take less are made without a check of the free memory
_LOOKED_AT = 1000  # samples that tell how far features spread; the comparison is one of orders of magnitude


def named_kernels(kernels: Any) -> list[tuple[str, Kernel]]:
    """Unique names and kernel objects for a user's list of kernels, names of views, or ``(name, kernel)``.

    Unnamed kernels take their view's name; a second one on the same view is called ``view-2``. The name of
    a view is its `Linear` kernel, and plain callables ``f(A, B)`` become `Function` kernels.

    Examples
    --------
    >>> from kernelweave.kernels import Linear, Gaussian, named_kernels
    >>> [name for name, _ in named_kernels([Linear("fac"), Gaussian("fac"), ("shape", Linear("mor"))])]
    ['fac', 'fac-2', 'shape']
    """
    if isinstance(kernels, Kernel | str) or callable(kernels):
        raise ValueError("kernels must be a list; wrap a single kernel, or the name of a view, as [kernel]")
    entries: list[Any] | None = None
    if not isinstance(kernels, Mapping | Set):
        with suppress(TypeError):
            entries = list(kernels)
    if entries is None:
        raise ValueError(
            f"kernels must be a list of kernels, names of views or (name, kernel) pairs, not {shown(kernels)}"
        )
    if not entries:
        raise ValueError("kernels is empty; give at least one kernel, or None for one Linear kernel per view")
    given = [_split(entry) for entry in entries]
    taken = [name for name, _ in given if name is not None]
    repeated = {name for name in taken if taken.count(name) > 1}
    if repeated:
        raise ValueError(f"kernel names must be unique, but these are given twice: {sorted(repeated)}")
    names: list[str] = []
    for name, kernel in given:
        names.append(_unique(kernel.name, set(names) | set(taken)) if name is None else name)
    return list(zip(names, (kernel for _, kernel in given), strict=True))


def default_kernels(views: Views) -> list[tuple[str, Kernel]]:
    """One `Linear` kernel per view prefix (columns without one are the view ``rest``), or one over all columns."""
    groups = {} if views.names is None else prefixes(views.names)
    if set(groups) <= {""}:
        return named_kernels([Linear()])
    rest = groups.pop("", np.array([], dtype=int))
    kernels: list[Any] = [Linear(prefix) for prefix in groups]
    if len(rest):
        kernels.append((_unique("rest", set(groups)), Linear(rest.tolist())))
    return named_kernels(kernels)


def _split(entry: Any) -> tuple[str | None, Kernel]:
    name = None
    if isinstance(entry, tuple):
        if len(entry) != 2 or not isinstance(entry[0], str) or not entry[0]:
            raise ValueError(f"an entry of kernels must be a kernel or a (name, kernel) pair, not {shown(entry)}")
        name, entry = entry
        if "__" in name:
            raise ValueError(f"the kernel name {name!r} must not contain '__'")
    if isinstance(entry, str) and entry:
        entry = Linear(str(entry))
    if isinstance(entry, Kernel):
        return name, entry
    if callable(entry) and not isinstance(entry, type):
        return name, Function(entry)
    raise ValueError(f"kernels has an entry that is no kernel, name of a view or callable f(A, B): {entry!r}")


def _unique(name: str, taken: set[str]) -> str:
    name = name.replace("__", "_")  # '__' separates parameters
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}-{count}"
    return candidate


@dataclass
class Made:
    """What was computed of a stack, which copies of it share."""

    matrices: np.ndarray | None = None
    parts: TileStack | None = None


class KernelStack:
    """Gram matrices of several kernels over the same samples.

    Parameters
    ----------
    kernels : list of kernels or (name, kernel)
    normalize : {"unit-diagonal", "unit-trace", "center", None}
    dtype : {"float64", "float32"}
        Of the Gram matrices, whose values are computed in float64 and stored in this type; of the parts in lazy
        storage, which are computed in this type where it is exact enough, see `kernels.tiles.functions`.
    storage : {"dense", "lazy"}
        Whether Gram matrices are computed whole, or in parts only (`in_parts`).
    place : Place
        Where the parts are computed.
    cache_bytes : float
        How much memory the parts may take for rows that are kept.

    Attributes
    ----------
    names : list of str
    kernels : list of Kernel
        Fitted copies.
    normalizers : list of Normalizer
    repairs : list of Repair
    reference : Views
        The samples that kernels compare with: the training samples or, after `restrict`, what prediction keeps.
    support : Views
        The samples that have coefficients; `rows` are their positions in `reference`.
    weight : ndarray of shape (n_samples,)
        How often each sample counts in learned constants.
    present : ndarray of bool, shape (n_samples, n_kernels)
        Which sample has a row in which kernel.
    active : ndarray of bool, shape (n_kernels,)
        The kernels that prediction evaluates.
    y : ndarray or None
        The targets as the user gave them; None after `restrict`.

    Notes
    -----
    Memory: `gram` makes one n x n matrix, `gram_rows` only some of its rows where kernel and normalisation allow it,
    `matrices` keeps all P of them and warns beforehand (`MemoryWarning`) where that exceeds the machine's free memory.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Gaussian, KernelStack, Linear
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> stack = KernelStack([Linear(), Gaussian(scale=2.0)]).fit(X)
    >>> stack.matrices().shape
    (2, 5, 5)
    """

    y: np.ndarray | None = None
    keeps_all = False  # whether prediction needs all training samples, see `completion`
    instead: Sequence[str] = ()  # parameters with which the user's model does without Gram matrices, for messages

    _saved = Schema(
        {
            "reference": object_of(Views, "columns", samples="reference"),
            "support": object_of(Views, "columns", samples="support"),
            "rows": indices("support", below="reference"),
            "weight": numbers("support"),
            "names": several(text, "kernels"),
            "kernels": several(object_of(Kernel, "columns"), "kernels"),
            "normalizers": several(object_of(Normalizer, "reference"), "kernels"),
            "repairs": several(object_of(Repair, "reference"), "kernels"),
            "active": flags("kernels"),
            "present": flags("support", "kernels"),
            "dtype": one_of(np.dtype("float64"), np.dtype("float32")),
        },
        transient={
            "_made": Made,
            "storage": lambda: "dense",
            "place": lambda: HOST,
            "cache_bytes": lambda: CACHE_BYTES,
        },
    )

    def __init__(
        self,
        kernels: Any,
        normalize: str | None = "unit-diagonal",
        *,
        dtype: str = "float64",
        storage: str = "dense",
        place: Place = HOST,
        cache_bytes: float = CACHE_BYTES,
    ):
        check(None, "dtype", dtype, Choice("float64", "float32"))
        check(None, "storage", storage, Choice("dense", "lazy"))
        self.storage, self.place, self.cache_bytes = storage, place, cache_bytes
        pairs = named_kernels(kernels)
        self.names = [name for name, _ in pairs]
        self.kernels = [kernel for _, kernel in pairs]
        self.normalizers = [Normalizer(normalize, name) for name in self.names]
        self.dtype = np.dtype(dtype)
        self._made = Made()

    @property
    def n_kernels(self) -> int:
        """Number of kernels, P."""
        return len(self.kernels)

    @property
    def n_samples(self) -> int:
        """Number of training samples (or of those kept by `restrict`)."""
        return len(self.rows)

    def fit(
        self, X: Any, sample_weight: np.ndarray | None = None, y: Any = None, *, checks_means: bool = True
    ) -> KernelStack:
        """Fit a copy of every kernel to the training samples and find out which sample has which view.

        Parameters
        ----------
        X : array, DataFrame, sparse matrix or Views
        sample_weight : ndarray of shape (n_samples,), optional
            How often each sample counts in learned constants; all positive.
        y : array, optional
            The targets as the user gives them, for transformers inside kernels.
        checks_means : bool
            Whether to warn of features whose mean is so large that kernel values lose what differs between samples.
        """
        views = as_views(X)
        self.y = None if y is None else np.asarray(y)
        weight = np.ones(views.n_samples) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.kernels = [
            clone(kernel).fit(views, weight, label, y) for label, kernel in zip(self.names, self.kernels, strict=True)
        ]
        repairs = [Repair.of(kernel, label) for label, kernel in zip(self.names, self.kernels, strict=True)]
        active, present = np.ones(self.n_kernels, dtype=bool), self.presence(views)
        for name, somebody in zip(self.names, np.any(present, axis=0).tolist(), strict=True):
            if not somebody:
                raise ValueError(f"no training sample has the view of the kernel {name!r}; remove that kernel")
        self._hold(views, views, np.arange(views.n_samples), weight, repairs, present, active)
        if checks_means:
            warn_of_large_means(self.names, self.kernels, self.normalizers, views)
        return self

    def _hold(
        self,
        reference: Views,
        support: Views,
        rows: np.ndarray,
        weight: np.ndarray,
        repairs: list[Repair],
        present: np.ndarray,
        active: np.ndarray,
    ) -> None:
        self.reference, self.support, self.rows = reference, support, rows
        self.weight, self.repairs = weight, repairs
        self.active, self.present, self._made = active, present, Made()

    def _over(
        self,
        reference: Views,
        support: Views,
        rows: np.ndarray,
        weight: np.ndarray,
        present: np.ndarray,
        *,
        active: np.ndarray | None = None,
        normalizers: list[Normalizer] | None = None,
        repairs: list[Repair] | None = None,
    ) -> KernelStack:
        """The same fitted kernels over other samples; normalisation and repair are learned anew by default."""
        named = list(zip(self.names, self.kernels, strict=True))
        settings = {name: getattr(self, name) for name in ("storage", "place", "cache_bytes")}
        other = KernelStack(named, self.normalizers[0].method, dtype=self.dtype.name, **settings)
        other.names, other.kernels = self.names, self.kernels  # the same lists, see `replace`
        if normalizers is not None:
            other.normalizers = normalizers
        repairs = [repair.unlearned() for repair in self.repairs] if repairs is None else repairs
        other._hold(reference, support, rows, weight, repairs, present, self.active if active is None else active)
        return other

    def presence(self, views: Views, active: np.ndarray | None = None) -> np.ndarray:
        """Which samples have a row in which kernel, of shape (n_samples, n_kernels).

        Views of kernels that are not `active` (a boolean array) are not read; no sample has a row there.
        A sample without a row in any kernel is an error unless `active` leaves kernels out.
        """
        present = np.zeros((views.n_samples, self.n_kernels), dtype=bool)
        for m in range(self.n_kernels) if active is None else np.flatnonzero(active):
            present[:, m] = self.kernels[m].present(views)
        alone = ~present.any(axis=1)
        if alone.any() and (active is None or np.all(active)):
            raise ValueError(
                f"{views.first(alone)} has no view at all: X is NaN for it in every kernel "
                f"({', '.join(self.names)}); remove such samples"
            )
        return present

    def gram(self, m: int) -> np.ndarray:
        """Gram matrix m of the training samples, repaired and normalised, a new array; a `LazyStorageError` if lazy."""
        if self._made.matrices is not None:
            return self._made.matrices[m].copy()
        self._refuse_whole(1, f"the Gram matrix of the kernel {self.names[m]!r}")
        needed = 2, self.n_samples, np.float64, f"the kernel {self.names[m]!r}"  # computed in full precision
        with explained_memory_errors(*needed, has_dtype=False, instead=self.instead):
            return self._gram(m)

    def _gram(self, m: int, out: np.ndarray | None = None) -> np.ndarray:
        tile = self.tile(m)
        if tile is not None:
            return symmetric(self.n_samples, tile, out=out, dtype=self.dtype)
        K = finite(lambda: self.measured(m).gram(self.reference), self.names[m])
        if not self.repairs[m].trusted:
            K = self.repairs[m].gram(K, self.present[:, m], self.weight)
        K = self.normalizers[m].gram(K, self.present[:, m], self.weight)
        if out is None:
            return K.astype(self.dtype, copy=False)
        out[...] = K
        return out

    def tile(self, m: int) -> Tile | None:
        """A function that gives values of ``gram(m)`` between two ranges (slices) of training samples.

        They are normalised while they are in the cache. None where normalisation or repair needs the whole matrix, a
        sample lacks the view, or the kernel is none that is computed in tiles.
        """
        kernel, normalizer, name, present = self.kernels[m], self.normalizers[m], self.names[m], self.present[:, m]
        if not self.repairs[m].trusted or normalizer.needs_all_samples or not present.all():
            return None
        raw = kernel.tile(self.reference)
        if raw is None:
            return None
        diagonal = finite(lambda: kernel.diagonal(self.reference), name)
        normalizer.learn(diagonal, present, self.weight)
        diagonal = normalizer.gram_diagonal(diagonal)

        def tile(rows: slice, columns: slice) -> np.ndarray:
            values = finite(lambda: raw(rows, columns), name)
            normalizer.scale(values, rows, columns)
            if rows == columns:
                np.fill_diagonal(values, diagonal[rows])
            return values

        return tile

    def gram_rows(self, m: int, chosen: np.ndarray) -> np.ndarray:
        """The rows of `gram` for some training samples: ``gram(m)[chosen]``, a new array each time.

        The whole Gram matrix is computed only where constants depend on all of it and are not learned yet: those of
        ``normalize="center"``, and those of kernels that are not known to be positive semidefinite.
        """
        if self._made.matrices is not None:
            return self._made.matrices[m][chosen]
        kernel, normalizer, repair, present = self.kernels[m], self.normalizers[m], self.repairs[m], self.present[:, m]
        if not (repair.trusted or repair.is_learned) or normalizer.needs_gram:
            if self.storage == "dense":
                return self.gram(m)[chosen]
            self.in_parts()  # learns the constants, in parts
        if not normalizer.is_learned:
            diagonal = kernel.diagonal(self.reference)
            diagonal = diagonal if repair.trusted else repair.gram_diagonal(diagonal)
            normalizer.learn(diagonal, present, self.weight)
        K = finite(lambda: self.measured(m).gram_rows(self.reference, chosen), self.names[m])
        if not repair.trusted:
            K = repair.gram_rows(K, chosen)
        return normalizer.gram_rows(K, chosen).astype(self.dtype, copy=False)

    def matrices(self) -> np.ndarray:
        """All Gram matrices, (n_kernels, n_samples, n_samples), made once and kept; a `LazyStorageError` if lazy."""
        if self._made.matrices is None:
            what = f"a stack of {self.n_kernels} kernels"
            self._refuse_whole(self.n_kernels, what)
            self.check_memory(self.n_kernels + 1, what, per_kernel=True)
            needed = self.n_kernels + 1, self.n_samples, self.dtype, what
            with explained_memory_errors(*needed, per_kernel=True, instead=self.instead):
                matrices = np.empty((self.n_kernels, self.n_samples, self.n_samples), dtype=self.dtype)
                for m in range(self.n_kernels):
                    self._gram(m, out=matrices[m])
            self._made.matrices = matrices
        return self._made.matrices

    def in_parts(self) -> TileStack:
        """All kernels over the training samples in parts, for ``storage="lazy"``; made once and kept."""
        if self._made.parts is None:
            if not self.place.is_host:
                check_device_memory(self)
            sources = [source_of(self, m) for m in range(self.n_kernels)]
            if not self.place.is_host:
                warn_of_host_kernels(self.names, sources)
            self._made.parts = TileStack(sources, self.place, cache_bytes=self.cache_bytes)
        return self._made.parts

    def at(self, place: Place) -> KernelStack:
        """The same stack in lazy storage, in a place."""
        other = copy(self)
        other.storage, other.place, other._made = "lazy", place, Made()
        return other

    def _refuse_whole(self, n_matrices: int, what: str) -> None:
        if self.storage == "lazy":
            raise lazy_storage_error(n_matrices, self.n_samples, self.dtype, what, "in_parts() of the stack")

    def check_memory(self, n_matrices: int, what: str, *, per_kernel: bool = False) -> None:
        """Warn where so many Gram matrices do not fit into memory; parameters are those of `warn_if_too_large`."""
        if self.storage == "dense" and n_matrices * self.n_samples**2 * self.dtype.itemsize > SMALL_BYTES:
            warn_if_too_large(n_matrices, self.n_samples, self.dtype, what, per_kernel=per_kernel, instead=self.instead)

    @property
    def has_matrices(self) -> bool:
        """Whether all Gram matrices are computed already, so that reading them costs nothing."""
        return self._made.matrices is not None

    def subset(self, rows: np.ndarray) -> KernelStack:
        """The same fitted kernels over some of the training samples.

        Where Gram matrices are there already, they are copied, with the constants of all samples in them, which lazy
        storage keeps too; otherwise the constants of normalisation are learned from these samples alone.
        """
        support, weight, present = self.support.rows(rows), self.weight[rows], self.present[rows]
        if self._made.matrices is None and self.storage == "dense":
            part = self._over(support, support, np.arange(len(rows)), weight, present)
        else:
            parts = None if self.storage == "dense" else self.in_parts().subset(rows)
            learned: dict[str, Any] = {"normalizers": self.normalizers, "repairs": self.repairs}
            part = self._over(self.reference, support, self.rows[rows], weight, present, **learned)
            part._made.matrices = None if self._made.matrices is None else self._made.matrices[:, rows[:, None], rows]
            part._made.parts = parts
        part.y = None if self.y is None else self.y[rows]
        return part

    def only(self, m: int) -> KernelStack:
        """The stack of one of the kernels, with its learned constants."""
        other = KernelStack([(self.names[m], self.kernels[m])], self.normalizers[m].method, dtype=self.dtype.name)
        if not self.normalizers[m].is_learned and self.normalizers[m].method != "center":
            self.gram_rows(m, np.arange(1))
        other.normalizers = [self.normalizers[m]]
        settings = self.reference, self.support, self.rows, self.weight
        other._hold(*settings, [self.repairs[m]], self.present[:, [m]], np.ones(1, dtype=bool))
        return other

    def with_kernels(self, kernels: Sequence[tuple[str, int, Kernel]], *, keeps_matrices: bool = True) -> KernelStack:
        """Other fitted kernels over the same samples, once constants of normalisation are learned.

        Parameters
        ----------
        kernels : sequence of (name, m, Kernel)
            Kernel m itself, or one of the same view and the same k(x, x) that needs no repair.
        keeps_matrices : bool
            Whether Gram matrices that are there are taken over, and those of the new kernels made.
        """
        other, owners = copy(self), [m for _, m, _ in kernels]
        other.names, other.kernels = [name for name, _, _ in kernels], [kernel for _, _, kernel in kernels]
        other.repairs, other.present = [self.repairs[m] for m in owners], self.present[:, owners]
        other.active, other._made = self.active[owners], Made()
        is_new = [kernel is not self.kernels[m] for _, m, kernel in kernels]
        other.normalizers = [
            self.normalizers[m].over(kernel, self.reference) if new else self.normalizers[m]
            for new, (_, m, kernel) in zip(is_new, kernels, strict=True)
        ]
        of_all = np.array_equal(self.rows, np.arange(self.reference.n_samples))
        if self._made.matrices is not None and (keeps_matrices or not of_all):
            matrices = np.empty((len(kernels), self.n_samples, self.n_samples), dtype=self.dtype)
            for place, (m, new) in enumerate(zip(owners, is_new, strict=True)):
                if not new:
                    matrices[place] = self._made.matrices[m]
                elif of_all:
                    other._gram(place, out=matrices[place])
                else:
                    raw = other.kernels[place].gram_rows(self.reference, self.rows)
                    matrices[place] = other.normalizers[place].gram_rows(raw, self.rows)[:, self.rows]
            other._made.matrices = matrices
        return other

    def restrict(self, rows: np.ndarray, active: np.ndarray | None = None) -> KernelStack:
        """What prediction needs where only these training samples count (support vectors).

        All training samples are kept where centring or clipping compares new samples with each of them. Columns that
        only kernels which are not `active` (a boolean array) use are dropped, and so are those kernels' constants.
        """
        if active is None:
            active = np.ones(self.n_kernels, dtype=bool)
        everything = self.keeps_all or any(
            normalizer.needs_all_samples or (is_active and repair.is_clipped)
            for normalizer, repair, is_active in zip(self.normalizers, self.repairs, active, strict=True)
        )
        kept = np.arange(self.reference.n_samples) if everything else self.rows[rows]
        used = [kernel.compared() for kernel, is_active in zip(self.kernels, active, strict=True) if is_active]
        reference = self.reference.keep(kept, np.concatenate([np.empty(0, dtype=int), *used]))
        support = self.rows[rows] if everything else np.arange(len(rows))
        restricted = self._over(
            reference,
            reference.rows(support) if everything else reference,
            support,
            self.weight[rows],
            self.present[rows],
            active=active,
            normalizers=[
                normalizer.restrict(kept) if is_active else Normalizer(normalizer.method, normalizer.name)
                for normalizer, is_active in zip(self.normalizers, active, strict=True)
            ],
            repairs=[
                repair if is_active else repair.unlearned()
                for repair, is_active in zip(self.repairs, active, strict=True)
            ],
        )
        # Prediction does not depend on how the fit computed.
        restricted.storage, restricted.place, restricted.cache_bytes = "dense", HOST, CACHE_BYTES
        return restricted

    def compared_with(self, points: Views) -> KernelStack:
        """The same fitted kernels between samples and other points than the training samples (landmarks).

        `gram` is then that of the points and `cross` compares new samples with them. Normalisation that takes its
        constants from all training samples is not possible then.
        """
        for normalizer in self.normalizers:
            if normalizer.method not in (None, "unit-diagonal"):
                raise ValueError(f'landmarks take normalize=None or "unit-diagonal", not {normalizer.method!r}')
        n_points = points.n_samples
        other = self._over(points, points, np.arange(n_points), np.ones(n_points), self.presence(points))
        other.storage = "dense"  # landmarks are few
        for m in range(self.n_kernels):
            other.gram(m)  # learns the constants of the points
        return other

    # New samples

    def measured(self, m: int) -> Kernel:
        """Kernel m as its values are computed: about the mean of its features where centring makes that the same.

        By the kernel's own code, where values were computed beforehand.
        """
        kernel, normalizer = self.kernels[m], self.normalizers[m]
        if normalizer.needs_gram:  # so that the stack is over all its samples
            normalizer.shift_ = centre_of(kernel, self.reference, self.weight)
        if normalizer.shift_ is None:
            return kernel
        own: Any = copy(kernel.parts()[0])
        own.lowered_by = normalizer.shift_
        return own

    def cross(self, m: int, views: Views, present: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Normalised values of kernel m between new samples (rows) and the training samples (columns).

        Parameters
        ----------
        m : int
        views : Views
            The new samples.
        present : ndarray of bool, shape (n_new,)
            Which of them have the view.
        columns : ndarray of int, optional
            The training samples to compare with, as positions among those kept; all of them by default.
        """
        return self.compare(m, views, present, columns)[0]

    def compare(
        self, m: int, views: Views, present: np.ndarray, columns: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What `cross` gives, and the normalised k_m(x, x) of each new sample; parameters are those of `cross`."""
        kernel, normalizer, repair = self.measured(m), self.normalizers[m], self.repairs[m]
        rows, support = self.rows, self.support
        everything = normalizer.needs_all_samples
        clipped = repair.is_clipped
        if columns is not None:
            rows = rows[columns]
            support = support if everything or clipped else support.rows(columns)
        reference = self.reference if everything or clipped else support
        if reference.n_samples == 0:  # a model without support vectors
            return np.zeros((views.n_samples, 0)), np.zeros(views.n_samples)
        chosen = slice(None) if everything else rows
        K = finite(lambda: kernel.cross(views, reference), self.names[m])
        raw = kernel.diagonal(views)
        if not repair.trusted:
            K, raw = repair.cross(K, raw, chosen)
        diagonal = normalizer.diagonal(K, raw, present)
        K = normalizer.cross(K, raw, present, chosen)
        return (K[:, rows] if everything else K), diagonal

    def lookups(self, active: np.ndarray) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices in kernels that are `active` (a mask), with ids of the samples to compare with."""
        return [
            found
            for kernel, is_active in zip(self.kernels, active, strict=True)
            for found in kernel.lookups(self.reference if is_active else None)
        ]

    def replace(self, m: int, kernel: Precomputed | Distance) -> None:
        """Put a kernel that is extended by new ids in the place of kernel m; the training samples must agree."""
        old, name = self.kernels[m], self.names[m]
        if type(kernel) is not type(old) or not (kernel.reads_ids and old.reads_ids):
            raise ValueError(
                "only a Precomputed kernel, or a Distance of a matrix, can replace another of its kind, but "
                f"{name!r} is {old!r}"
            )
        new = kernel.bound_like(old)
        if self.active[m] and not np.array_equal(
            new.cross(self.reference, self.reference), old.cross(self.reference, self.reference)
        ):
            raise ValueError(
                f"the new kernel {name!r} has other values among the training samples than the one the model was "
                "fitted with; extend that kernel, or fit again"
            )
        self.kernels[m] = new

    def scores(
        self, m: int, views: Views, present: np.ndarray, coef: np.ndarray, right: np.ndarray | None = None
    ) -> np.ndarray:
        """k_m of new samples times coefficients of the training samples, of shape (n_new, n_outputs).

        `present` says which new samples have the view, and `right`, of shape (n_samples,), what coefficients are
        multiplied by; samples with 0 are not compared with.
        """
        if right is None:
            return self.cross(m, views, present) @ coef
        columns = np.flatnonzero(right)
        some = None if len(columns) == len(right) else columns
        return self.cross(m, views, present, some) @ (right[columns, None] * coef[columns])

    def crossed(self, parts: Iterable[NewPart], left: np.ndarray, right: Any) -> np.ndarray:
        """sum_m left[i, m] k_m(x_i, x_j) right[j, m] between new samples and the training samples.

        `parts` are tuples of a kernel's number, the positions of the new samples that it is computed for, these
        samples, and which of them have the view.
        """
        out = np.empty((len(left), len(right)))
        return sum_kernels((self._block(part, right) for part in parts), left, right, out=out)

    def _block(self, part: NewPart, right: np.ndarray) -> KernelBlock:
        m, rows, views, present = part
        columns = np.flatnonzero(right[:, m])
        some = None if len(columns) == len(right) else columns
        some_rows = None if isinstance(rows, slice) else rows
        return KernelBlock(m, self.cross(m, views, present, some), some_rows, some)

    def values_in(
        self, place: Place, views: Views, present: np.ndarray, left: np.ndarray, right: Any, coef: np.ndarray
    ) -> np.ndarray | None:
        """What `crossed` gives for all new samples times coefficients, in parts in a place; None where it cannot be."""
        return cross_values(tiles_at(self, place), views, left, right, np.ones(self.n_kernels), coef)

    def values_per_sample(self, active: np.ndarray, coef: np.ndarray) -> int:
        """How many values of one kernel prediction holds for each new sample."""
        return len(coef)

    def n_compared(self, coef: np.ndarray) -> np.ndarray:
        """With how many points each kernel compares a new sample, of shape (n_kernels,)."""
        return np.full(self.n_kernels, float(len(coef)))

    def feature_weights(self, m: int, coef: np.ndarray, right: Any) -> np.ndarray | None:
        """The vectors of a linear kernel m, of shape (n_features, n_outputs), for coefficients times `right`."""
        return feature_weights(self, m, right[:, None] * coef)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        kept = self.reference.X
        there = None if sp.issparse(kept) else [columns for columns, *_ in [*kept.blocks, *(kept.sparse or [])]]
        for m in np.flatnonzero(self.active):
            if self.reference.n_samples and "present_" not in vars(self.normalizers[m]):
                refuse(f"{path}.normalizers[{m}]", "lacks the attribute present_")
            if self.normalizers[m].shift_ is not None:
                if not (self.normalizers[m].method == "center" and self.kernels[m].is_linear):
                    refuse(f"{path}.normalizers[{m}].shift_", "is there, but the kernel is not linear and centred")
                n_features = n_features_of(self.kernels[m])
                numbers(n_features)(self.normalizers[m].shift_, sizes, f"{path}.normalizers[{m}].shift_")
            check_sparse(self.kernels[m], kept, f"{path}.kernels[{m}]")
            held = [preparation for preparation, _ in vars(self.reference).get("points", [])]
            parts = [part for part in self.kernels[m].parts() if getattr(part, "preparation_", None) not in held]
            columns = np.concatenate([np.empty(0, dtype=int), *(part.columns() for part in parts)])
            if there is not None and not np.isin(columns, np.concatenate([np.empty(0, dtype=int), *there])).all():
                refuse(f"{path}.reference", f"lacks columns of the kernel {self.names[m]!r}")


def single_stack(stack: KernelStack, m: int, *, normalize: str | None) -> KernelStack:
    """A kernel alone, not repaired or centred, over the training samples with its view, which its constants are of."""
    name, kernel = stack.names[m], stack.kernels[m]
    other = KernelStack([(name, kernel)], normalize)
    present = stack.present[:, m]
    rows = np.flatnonzero(present)
    views = stack.support if present.all() else stack.support.rows(rows)
    there = np.ones((len(rows), 1), dtype=bool)
    as_it_is = Repair(None, name, trusted=True).unlearned()
    other._hold(views, views, np.arange(len(rows)), stack.weight[rows], [as_it_is], there, np.ones(1, dtype=bool))
    return other


def joint_stack(stacks: Sequence[KernelStack], views: Views, weight: np.ndarray, y: Any = None) -> KernelStack:
    """Several fitted kernels over common samples, which give constants of normalisation, from stacks of one kernel."""
    pairs = [(each.names[0], each.kernels[0]) for each in stacks]
    joint = KernelStack(pairs, stacks[0].normalizers[0].method)
    repairs = [Repair.of(kernel, name) for name, kernel in pairs]
    rows, active = np.arange(views.n_samples), np.ones(len(pairs), dtype=bool)
    joint._hold(views, views, rows, weight, repairs, joint.presence(views), active)
    joint.y = None if y is None else np.asarray(y)
    return joint


def centre_of(kernel: Any, samples: Views, weight: np.ndarray) -> np.ndarray | None:
    """The mean of the features of a fitted kernel that may be lowered by it before it is centred; None for others."""
    own = kernel.parts()
    if len(own) != 1 or not (own[0].is_linear and hasattr(own[0], "lowered_by")):
        return None
    values, present = own[0].read(samples)
    if sp.issparse(values) or not present.any():  # a sparse view is never made dense
        return None
    weight = np.where(present, weight, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = (weight / weight.sum()) @ values
    return centre if np.isfinite(centre).all() else None


def warn_of_large_means(names: list[str], kernels: list[Kernel], normalizers: list[Normalizer], samples: Views) -> None:
    """Warn of kernels (or parts of them) that are functions of products of features, where these have a large mean."""
    for name, kernel, normalizer in zip(names, kernels, normalizers, strict=True):
        known = getattr(kernel, "is_of_rows", False)  # of a search, whose last fit warns
        for sizes in [] if known or normalizer.method == "center" else product_sizes(kernel, samples):
            warn_if_lost(*sizes, name)


def product_sizes(kernel: Kernel, samples: Views) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """<x, x> (plus the constant of a polynomial) of some samples, and <x, x> about the mean, for each part of a kernel.

    Parts that are no functions of products are left out. There are no samples where features are sparse, or constant.
    """
    for part in kernel.parts():
        function = declared(part, "point_function")
        if function is not None and function.kind in ("linear", "polynomial"):
            yield _sizes(function.coef0, *part.read(samples))


def _sizes(coef0: float, values: Any, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.flatnonzero(present)
    rows = rows[:: max(1, -(-len(rows) // _LOOKED_AT))]
    if sp.issparse(values) or not len(rows):
        return np.empty(0), np.empty(0)
    values = values if len(rows) == len(values) else values[rows]
    left = np.zeros(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for part in column_parts(values):
            deviations = part - part[0]  # so that those of constant features are exactly 0
            deviations -= deviations.mean(axis=0)
            left += squared_norms(deviations)
        return (squared_norms(values) + coef0, left) if left.any() else (np.empty(0), np.empty(0))


def feature_weights(stack: KernelStack, m: int, coef: np.ndarray) -> np.ndarray:
    """The vector w of the linear kernel m for each column of coefficients, of shape (n_features, n_outputs).

    For a linear kernel, ``sum_i c_i k(x, x_i) = <w, x>``. Normalisation, whose constants are learned, changes x and
    x_i; samples that lack the view take no part:

    =================  =========================  =====================================
    normalize          x                          w
    =================  =========================  =====================================
    ``unit-diagonal``  x / ||x||                  sum_i c_i x_i / ||x_i||
    ``unit-trace``     x                          sum_i c_i x_i / mean_i ||x_i||^2
    ``center``         x - mean                   sum_i c_i (x_i - mean)
    ``None``           x                          sum_i c_i x_i
    =================  =========================  =====================================
    """
    kernel, normalizer, rows = stack.kernels[m], stack.normalizers[m], stack.rows
    values, present = kernel.read(stack.support)  # rows of samples that lack the view are 0
    if normalizer.method == "unit-diagonal":
        return np.asarray(values.T @ (normalizer.factor_[rows, None] * coef))
    weights = np.asarray(values.T @ coef)
    if normalizer.method == "unit-trace":
        return normalizer.factor_ * weights
    if normalizer.method == "center":
        mean = np.asarray(kernel.read(stack.reference)[0].T @ normalizer.weight_)
        return weights - mean[:, None] * coef[present].sum(axis=0)
    return weights
