"""`source_of`: the source of a kernel of a fitted stack, by what it declares; its constants are learned in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Place
from ...views import Views
from ..normalization import Normalizer, finite, warn_if_lost
from ..precomputed import check_symmetric
from .kernel_sources import JoinedSource, MatrixSource, NoSource, SamplesSource, ValuesSource
from .precision import drowns
from .sources import PointSource, Source
from .stack import StackInParts

if TYPE_CHECKING:
    from ..base import Kernel
    from ..stack import KernelStack

#: A kernel that is not known to be positive semidefinite is checked on so many samples: a principal submatrix of a
#: positive semidefinite matrix is one, too.
CHECKED_SAMPLES = 1000
# What a subclass must not have changed for the function that its base class declares to be its own.
_VALUES = ("cross_of", "gram_of", "diagonal_of", "cross", "gram", "gram_rows", "diagonal")


def source_of(stack: KernelStack, m: int) -> Source:
    """The source of kernel m of a fitted stack, over its training samples (those that `restrict` or `subset` kept).

    The constants of normalisation and the check of definiteness, where they are not there yet, are learned from all
    training samples, and are the stack's own from then on.
    """
    normalizer, present = stack.normalizers[m], stack.present[:, m]
    if not stack.active[m]:
        return NoSource(stack.n_samples, stack.place)
    raw = _raw(stack, m, stack.dtype.name)
    finite(raw.diagonal, stack.names[m])  # all other values are smaller
    learn_repair(stack, m)
    is_new = not normalizer.is_learned  # so that the stack is over all its samples
    if is_new:
        _learn(normalizer, raw, present, stack.weight)
    source = raw.normalized(normalizer)
    if normalizer.needs_all_samples and stack.dtype.name == "float32" and drowns(raw.diagonal(), source.diagonal()):
        raw = _raw(stack, m, "float64")
        if stack.n_samples == stack.reference.n_samples:
            _learn(normalizer, raw, present, stack.weight)
        source = raw.normalized(normalizer)
    if is_new and normalizer.needs_all_samples:
        warn_if_lost(raw.diagonal()[present], source.diagonal()[present], stack.names[m])
    if np.array_equal(stack.rows, np.arange(stack.reference.n_samples)):
        return source
    return source.subset(stack.rows)


def _raw(stack: KernelStack, m: int, dtype: str) -> Source:
    with np.errstate(over="ignore", invalid="ignore"):
        return raw_source(stack.measured(m), stack.reference, stack.place, dtype)


def _learn(normalizer: Normalizer, raw: Source, present: np.ndarray, weight: np.ndarray) -> None:
    """Learn the constants of normalisation; those of "center" in one pass over all values."""
    if normalizer.needs_all_samples:
        normalizer.learn_means(lambda shares: _product(raw, shares), present, weight)
    else:
        normalizer.learn(raw.diagonal(), present, weight)


def raw_source(kernel: Kernel, views: Views, place: Place, dtype: str) -> Source:
    """The source of a fitted kernel over some samples, before repair and normalisation."""
    join = declared(kernel, "join_function")
    if join is not None:
        first, second = (raw_source(each, views, place, dtype) for each in (join.first, join.second))
        return JoinedSource(join, first, second)
    matrix = declared(kernel, "matrix_function")
    if matrix is not None:
        return MatrixSource(matrix, views, place, dtype)
    function = declared(kernel, "point_function")
    if function is not None and not sp.issparse(kernel.read(views)[0]):
        return PointSource.of(kernel, function, views, place, dtype)
    return (ValuesSource if hasattr(kernel, "cross_of") else SamplesSource)(kernel, views, place, dtype)


def declared(kernel: Any, name: str) -> Any:
    """What a kernel declares by a method, or None: also where a subclass changed the values, but not the method."""
    classes = type(kernel).__mro__
    owner = next(place for place, each in enumerate(classes) if name in vars(each))
    changed = any(method in vars(each) for each in classes[:owner] for method in _VALUES)
    return None if changed else getattr(kernel, name)()


def learn_repair(stack: KernelStack, m: int) -> None:
    """Check that a kernel is symmetric and positive semidefinite, where that is not known, on some of its samples.

    In double precision: parts of a sum in float32 would be symmetric but for their rounding.
    """
    repair, present = stack.repairs[m], np.flatnonzero(stack.kernels[m].present(stack.reference))
    if repair.trusted or (repair.is_learned and repair.smallest_ is None):
        return
    repair.check_parts(stack.reference.n_samples)
    if repair.is_learned or not len(present):
        return
    chosen = present
    if len(present) > CHECKED_SAMPLES:
        chosen = np.sort(np.random.RandomState(0).choice(present, CHECKED_SAMPLES, replace=False))
    raw = raw_source(stack.kernels[m], stack.reference.rows(chosen), stack.place, "float64")
    K = np.asarray(raw.place.numpy(raw.block(None, None)))
    check_symmetric(K, f"the values of the kernel {stack.names[m]!r}")
    repair.gram(K.astype(np.float64), np.ones(len(chosen), dtype=bool), np.ones(len(chosen)))


def _product(raw: Source, shares: np.ndarray) -> np.ndarray:
    """K times one vector, a NumPy array; 0 for absent samples."""
    V = raw.place.asarray(shares)[:, None, None]
    return np.asarray(raw.place.numpy(StackInParts([raw], raw.place).images(None, None, V))[:, 0, 0])
