"""Where the features of each kernel are in a row, and where a program finds them.

The columns of a kernel begin at a multiple of 8, so that the programs of a CUDA device read 16 bytes at a time; the
columns between are 0.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Place

ALIGNED = 8  # numbers
LEAST_WIDTH = 128  # columns of a kernel, filled up, that a program takes


def aligned(offsets: np.ndarray) -> tuple[np.ndarray, int]:
    """Where the columns of each kernel begin in a row, and the numbers of a row.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.engines.device.layout import aligned
    >>> aligned(np.array([0, 5, 21]))
    (array([0, 8]), 24)
    """
    places = np.cumsum([0, *(ALIGNED * -(-np.diff(offsets) // ALIGNED))])
    return places[:-1], int(max(places[-1], ALIGNED))


class Layout:
    """The columns of a row as a program takes them.

    Parameters
    ----------
    offsets : ndarray of int, shape (n_kernels + 1,)
        Of the weights.
    place : Place

    Attributes
    ----------
    columns : ndarray of int
        The column of each weight.
    padded, width : int
        Powers of 2 from the number of kernels on, and from the columns of the widest kernel on.
    places : array of int
        Where each weight's column is among `padded` x `width`.
    starts, widths : array of int, shape (n_kernels,)
        Of the columns of each kernel, with those that are 0.
    """

    def __init__(self, offsets: np.ndarray, place: Place):
        widths, (starts, _) = np.diff(offsets), aligned(offsets)
        self.columns = np.concatenate([a + np.arange(width) for a, width in zip(starts, widths, strict=True)])
        self.padded = 1 << (len(widths) - 1).bit_length()
        self.width = max(LEAST_WIDTH, 1 << (int(widths.max(initial=1)) - 1).bit_length())
        places = [m * self.width + np.arange(width) for m, width in enumerate(widths)]
        self.places = place.positions(np.concatenate(places))
        self.starts, self.widths = place.positions(starts), place.positions(ALIGNED * -(-widths // ALIGNED))
