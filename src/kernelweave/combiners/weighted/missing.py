"""What happens for samples that have none of the views whose kernels have a weight."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..._warnings import warn


def without_views(sample: str, names: Iterable[str], eta: np.ndarray, missing: str) -> None:
    """Refuse, or warn of, a sample that has none of the views whose kernels have a weight.

    Parameters
    ----------
    sample : str
        What messages call it.
    names : iterable of str
        Of the kernels.
    eta : ndarray of shape (n_kernels,)
        Their weights.
    missing : {"refuse", "warn"}
    """
    used = ", ".join(name for name, weight in zip(names, eta, strict=True) if weight > 0)
    problem = f"{sample} has none of the views whose kernels have a weight ({used})"
    if missing == "refuse":
        raise ValueError(f"{problem}; remove such samples or give another kernel a weight")
    warn(f"{problem}; its prediction is the bias alone. LpMKL gives every kernel a weight")
