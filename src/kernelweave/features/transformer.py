"""`TransformerFeatures`: features that a transformer of the user's makes of what a kernel compares."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels import Kernel, KernelStack
from ..kernels.preparation import Preparation, prepare
from ..views import Views
from .base import Approximation
from .exact import DirectMap


class TransformerMap(DirectMap):
    """What a fitted transformer makes of the features that a kernel compares.

    Parameters
    ----------
    kernel, label
        As in `DirectMap`.
    preparation : Preparation
        The fitted transformer.
    """

    def __init__(self, kernel: Kernel, label: str, preparation: Preparation):
        super().__init__(kernel, label, preparation.n_features)
        self.preparation = preparation

    def expand(self, views: Views) -> np.ndarray:
        """What the transformer returns for the samples that have the view, and 0 for the others."""
        values, present = self.kernel.read(views)
        features = np.zeros((views.n_samples, self.width))
        if present.any():
            table = Views(values[present])
            found = self.preparation.read(table, np.arange(values.shape[1]), _who(self.label), self.label)[0]
            features[present] = found.toarray() if sp.issparse(found) else found
        return features


class TransformerFeatures(Approximation):
    """Features that a transformer of scikit-learn makes of the features that a kernel compares.

    The kernel of these features takes the place of the kernel, and is normalised as that one.

    Parameters
    ----------
    transformer : transformer
        A copy of it is fitted to the prepared features of the kernel's view, over the reservoir.
    """

    def __init__(self, transformer: Any):
        self.transformer = transformer

    def fit_map(self, stack: KernelStack, m: int, rng: np.random.RandomState, *, dtype: np.dtype) -> TransformerMap:
        """Fit a copy of the transformer."""
        name, kernel = stack.names[m], stack.kernels[m]
        if kernel.reads_ids or kernel.join_function() is not None:
            raise _no_features(name, kernel)
        try:
            values, present = kernel.read(stack.support)
        except TypeError:
            raise _no_features(name, kernel) from None
        y = None if stack.y is None else stack.y[present]
        table, columns = Views(values[present]), np.arange(values.shape[1])
        settings: dict[str, Any] = {"view": None, "who": _who(name), "label": name}
        weight = stack.weight[present]
        found = TransformerMap(
            kernel, name, prepare(self.transformer, table, columns, **settings, sample_weight=weight, y=y)
        )
        found.normalized(stack, m)
        return found


def _who(name: str) -> str:
    return f"the approximation of the kernel {name!r}"


def _no_features(name: str, kernel: Kernel) -> ValueError:
    return ValueError(
        f"a transformer as approximation takes the features of one view, but the kernel {name!r} "
        f"({type(kernel).__name__}) has none; use NystroemFeatures, which serve every kernel, for it: "
        f"approximation={{{name!r}: NystroemFeatures(), ...}}"
    )
