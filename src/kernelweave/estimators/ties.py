"""Ties within rounding: of classes whose decision values differ by no more than that, the heavier one is predicted.

A decision value f(x) = sum_i c_i k(x, z_i) + b of n terms, whose kernel values read d columns, is computed with an
error of at most about

    r(x) = (n eps + d^(1/2) eps') (1 + |b| + sum_i |c_i| (1 + |k(x, z_i)|)).

The sum is always in float64, with its unit eps; n eps is the bound of any order of summation, which BLAS changes with
the size of the batch. eps' is the unit of what kernel values are computed in: float64 on the host, float32 on a device
unless the model says float64; their own sums are long and of random signs, hence the root (Higham and Mary, 2019, A new
approach to probabilistic rounding error analysis). b comes from such a sum over training samples, whose targets are +1
and -1 and whose normalised kernel values are about 1: the two ones.

Values that are farther apart are never moved, so the solver's tolerance makes no ties: what it leaves undecided is the
same function for every batch, and its argmax is the label.

Decision values in a tie are moved, by no more than their error, so that their argmax, or their sign, is the label for
everybody who reads them: `predict`, a calibration, a report.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..combiners import CombinedKernel
from ..machines.multiclass import heavier_first
from ..views import Views

#: Values farther apart than this share of the margin, which is 1, are not looked at: in a model whose rounding were
#: larger no value would mean anything.
DOUBT = 1e-2
EPS = float(np.finfo(np.float64).eps)


def without_ties(
    decide: Callable[[np.ndarray], np.ndarray],
    values: np.ndarray,
    weight: np.ndarray | None,
    rounding: Callable[[np.ndarray], np.ndarray],
    *,
    by_pairs: bool = False,
) -> np.ndarray:
    """Public decision values from raw ones, of which the heavier class of a tie is the largest.

    Parameters
    ----------
    decide : callable
        From raw values to public ones, `Machine.decision`.
    values : ndarray of shape (n_samples, n_outputs)
    weight : ndarray of shape (n_classes,) or None
        The sum of the sample weights of each class; of equal ones the first counts as heavier. None, as in a file of an
        earlier version, leaves values as they are.
    rounding : callable
        From positions of samples to r(x) of each output, of shape (n_positions, n_outputs); only called where it may
        matter.
    by_pairs : bool
        Whether outputs decide between two of several classes.
    """
    decision = decide(values)
    if weight is None:
        return decision
    pairs = np.array([(a, b) for a in range(len(weight)) for b in range(a + 1, len(weight))])
    signed = by_pairs or len(weight) == 2  # a value is for the second class of a pair where it is positive
    lead = np.abs(values).min(axis=1) if signed else np.full(len(values), np.inf)
    if decision.ndim == 2:
        lead = np.minimum(lead, np.diff(np.partition(decision, -2)[:, -2:])[:, 0])
    doubtful = np.flatnonzero(lead <= DOUBT)
    if not len(doubtful):
        return decision
    error, own = rounding(doubtful), values[doubtful]
    if signed:
        sign = np.where(weight[pairs[:, 1]] > weight[pairs[:, 0]], 1.0, -1.0)
        own = decide(np.where(np.abs(own) <= error, sign * np.maximum(np.abs(own), EPS), own))
        # A class's votes are whole numbers, and a value adds a third of itself at most to what decides among equals.
        error = error.sum(axis=1) / 3.0 + EPS * len(weight)
    else:
        own, error = decide(own), error.max(axis=1)
    decision[doubtful] = own if own.ndim == 1 else heavier_first(own, 2.0 * error, weight)
    return decision


def rounding_of(
    kernel: CombinedKernel, views: Views, coef: np.ndarray, intercept: np.ndarray, *, single: bool = False
) -> np.ndarray:
    """r(x) of the decision values of new samples, of shape (n_samples, n_outputs).

    Parameters
    ----------
    kernel : CombinedKernel
    views : Views
    coef : ndarray of shape (n_terms, n_outputs)
    intercept : ndarray of shape (n_outputs,)
    single : bool
        Whether kernel values are computed in float32.
    """

    def sizes(part: Views) -> np.ndarray:
        return kernel.sizes(part, coef)

    read = float(np.finfo(np.float32).eps) if single else EPS
    unit = len(coef) * EPS + len(kernel.columns()) ** 0.5 * read
    found = views.in_blocks(kernel.values_per_sample(coef), sizes)
    return unit * (1.0 + np.abs(intercept) + np.abs(coef).sum(axis=0) + found)
