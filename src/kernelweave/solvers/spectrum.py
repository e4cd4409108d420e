"""Which eigenvalues of a Gram matrix count."""

from __future__ import annotations

import numpy as np

# Entries that are wrong by a few eps of k(x, x) change eigenvalues by at most as many eps of the trace, n k(x, x),
# since ||E||_2 <= ||E||_F. That is at most n eps of the largest eigenvalue, and less where this is nearly the whole
# trace, as with a large mean.
FEW = 4.0
INDEFINITE = 1e-6  # a negative eigenvalue that is no rounding, relative to the largest
CLIPPED = 1e-10  # of an indefinite matrix: a positive eigenvalue that can be divided by, relative to the largest


def above_rounding(values: np.ndarray, dtype: np.dtype | type = np.float64) -> np.ndarray:
    """Which eigenvalues, in ascending order, are more than rounding leaves of them: a boolean array.

    A matrix that should be positive semidefinite has negative eigenvalues by rounding, and positive ones of their size.

    Parameters
    ----------
    values : ndarray
    dtype : dtype
        In which the entries of the matrix were computed.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.solvers.spectrum import above_rounding
    >>> above_rounding(np.array([-1e-12, 1e-12, 1e-9, 1.0]))
    array([False, False,  True,  True])
    >>> above_rounding(np.array([-0.5, 1e-12, 1e-9, 1.0]))
    array([False, False,  True,  True])
    """
    largest = max(float(values[-1]), 0.0)
    if is_indefinite(values):
        return values > CLIPPED * largest
    return values > max(FEW * float(np.finfo(dtype).eps) * float(np.abs(values).sum()), -2.0 * float(values[0]))


def is_indefinite(values: np.ndarray) -> bool:
    """Whether eigenvalues, in ascending order, have a negative one that is no rounding."""
    smallest, largest = float(values[0]), max(float(values[-1]), 0.0)
    return smallest < -INDEFINITE * max(largest, -smallest * INDEFINITE)
