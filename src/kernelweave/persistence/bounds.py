"""`check_whole`: whole numbers of a file, against the sizes of what they point into.

They are compared as Python's integers, and with each other: a sum or a difference in the array's own type wraps, so
that a position far outside seems to be inside.
"""

from __future__ import annotations

import numpy as np


def check_whole(
    values: np.ndarray, path: str, low: int = 0, below: int | None = None, of: str = "", ascending: bool = False
) -> None:
    """Raise a `ValueError` where some of these whole numbers are out of range or, if they must be, out of order.

    Parameters
    ----------
    values : ndarray of int
    path : str
        Where they are in the file, for the message.
    low : int
        The smallest that is allowed.
    below : int, optional
        The smallest that is too large.
    of : str
        What there are `below` of.
    ascending : bool
        Whether each must be larger than the one before it.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.persistence.bounds import check_whole
    >>> check_whole(np.array([3, 2**31 - 1], dtype=np.int32), "rows", below=4, of="samples")
    Traceback (most recent call last):
    ...
    ValueError: its rows holds 2147483647 where numbers below 4 (samples) are expected
    """
    if not values.size:
        return
    least, most = int(values.min()), int(values.max())
    if least < low:
        raise ValueError(f"its {path} holds {least}, which is less than {low}")
    if below is not None and most >= below:
        raise ValueError(f"its {path} holds {most} where numbers below {below}{of and f' ({of})'} are expected")
    if ascending and (values[1:] <= values[:-1]).any():
        raise ValueError(f"its {path} holds numbers that are not in ascending order")
