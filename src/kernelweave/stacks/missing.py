"""Samples that lack views: by what their rows are multiplied, and which of them cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._warnings import warn
from ..views import Views


def missing_factor(
    names: list[str], eta: np.ndarray, present: np.ndarray, views: Views | None, missing: str, owner: str
) -> np.ndarray:
    """(sum_m eta_m / sum_{m present} eta_m)^(1/2) of each sample, given which views it has; 1 where it has none.

    Parameters
    ----------
    names : list of str
        Of the kernels.
    eta : ndarray of shape (n_kernels,)
    present : ndarray of bool, shape (n_samples, n_kernels)
    views : Views or None
        The samples, by which messages name them; None where samples that cannot be used are known.
    missing : {"refuse", "warn", "never"}
        What happens for a sample that has none of the views whose kernels have a weight: an error, or a warning; for
        "never" every sample needs every view.
    owner : str
        What errors call the combiner.
    """
    if missing == "never":
        if views is not None:
            check_every_view(owner, names, present | (eta == 0), views)
        return np.ones(len(present))
    used = eta > 0
    if used.any() and present[:, used].all():
        return np.ones(len(present))
    weight = present @ eta
    without = weight <= 0
    if without.any() and views is not None:
        without_views(views.first(without), names, eta, missing)
    return np.sqrt(np.divide(eta.sum(), weight, out=np.ones(len(weight)), where=~without))


def without_views(sample: str, names: list[str], eta: np.ndarray, missing: str) -> None:
    """Refuse, or warn of, a sample that has none of the views whose kernels have a weight."""
    used = ", ".join(name for name, weight in zip(names, eta, strict=True) if weight > 0)
    problem = f"{sample} has none of the views whose kernels have a weight ({used})"
    if missing == "refuse":
        raise ValueError(f"{problem}; remove such samples or give another kernel a weight")
    warn(f"{problem}; its prediction is the bias alone. LpMKL gives every kernel a weight")


def check_every_view(owner: str, names: list[str], present: np.ndarray, views: Any) -> None:
    """Raise an error that names the first sample without a row in some kernel.

    Parameters
    ----------
    owner : str
        What needs every view.
    names : list of str
        Of the kernels.
    present : ndarray of bool, shape (n_samples, n_kernels)
    views : Views
    """
    incomplete = ~present.all(axis=1)
    if incomplete.any():
        m = np.flatnonzero(~present[incomplete][0])[0]
        raise ValueError(
            f"{owner} needs every view of every sample, but {views.first(incomplete)} lacks the view of the kernel "
            f"{names[m]!r}; Mean and FixedWeights work with missing views"
        )
