"""Functions of users as kernels in parts: what they give is checked block by block."""

import numpy as np
import pytest

from kernelweave import MKLClassifier, stack_views
from kernelweave.kernels import Function

X = stack_views({"a": np.random.default_rng(0).normal(size=(1101, 3))})
Y = X["a__0"].to_numpy() > 0.0


def lopsided(A, B):
    return A @ np.triu(np.ones((A.shape[1], A.shape[1]))) @ B.T


def broken(A, B):
    """Not a number for one pair of samples that the subset that is checked first does not hold."""
    K = np.exp(-((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))
    first, second = X["a__0"].iloc[[7, 1100]]
    K[np.ix_(A[:, 0] == first, B[:, 0] == second)] = np.nan
    K[np.ix_(A[:, 0] == second, B[:, 0] == first)] = np.nan
    return K


def test_functions_are_checked_in_parts():
    with pytest.raises(ValueError, match="the values of the kernel 'mine' must be symmetric, but differ"):
        MKLClassifier([("mine", Function(lopsided, "a"))], storage="lazy").fit(X[:50], Y[:50])
    with pytest.raises(ValueError, match="the kernel 'mine' gives NaN"):
        MKLClassifier([("mine", Function(broken, "a"))], C=0.01, storage="lazy").fit(X[:1101], Y[:1101])
