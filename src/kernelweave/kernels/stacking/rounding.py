"""What rounding leaves of kernels of features with a large mean: products of such features drown the differences.

A linear kernel that is centred does not change where its features are shifted, so they are lowered by their mean before
they are multiplied (`centre_of`, `lowered`). Of other functions of products a warning says where their features have
too large a mean (`warn_of_large_means`), by the rule of `parts.precision` for double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..tiles.sources import declared
from .normalization import Normalizer, warn_if_lost

if TYPE_CHECKING:
    from ...views import Views
    from ..base import Kernel

_LOOKED_AT = 1000  # samples that tell how far features spread; the comparison is one of orders of magnitude


def centre_of(kernel: Any, samples: Views, weight: np.ndarray) -> np.ndarray | None:
    """The mean of the features of a kernel that may be lowered by it before it is centred; None for other kernels.

    Parameters
    ----------
    kernel : Kernel
        Fitted.
    samples : Views
    weight : ndarray of shape (n_samples,)
        How often each sample counts.
    """
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


def lowered(kernel: Any, centre: np.ndarray) -> Any:
    """The same fitted kernel of features less a vector; by its own code where values were computed beforehand."""
    (own,) = kernel.parts()
    other = copy(own)
    other.lowered_by = centre
    return other


def warn_of_large_means(names: list[str], kernels: list[Kernel], normalizers: list[Normalizer], samples: Views) -> None:
    """Warn of kernels (or parts of them) that are functions of products of features, where these have a large mean.

    Those that are centred are looked at when they are, see `Normalizer`.
    """
    for name, kernel, normalizer in zip(names, kernels, normalizers, strict=True):
        for sizes in [] if normalizer.method == "center" else product_sizes(kernel, samples):
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
    values = values[rows]
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = values - values[0]  # so that those of constant features are exactly 0
        deviations -= deviations.mean(axis=0)
        left = (deviations**2).sum(axis=1)
        return ((values**2).sum(axis=1) + coef0, left) if left.any() else (np.empty(0), np.empty(0))
