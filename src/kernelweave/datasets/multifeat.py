"""MULTIFEAT: 2000 handwritten digits in six feature representations, embedded in the package.

The file ``data/multifeat.npz`` is the Multiple Features data set of the UCI Machine Learning Repository (R. Duin,
doi:10.24432/C5HC70), licensed CC BY 4.0; see ``data/LICENSE.md``.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ..validation import Choice, check
from ..views import stack_views

_VIEWS = {
    "fac": "216 profile correlations",
    "fou": "76 Fourier coefficients of the character shapes",
    "kar": "64 Karhunen-Loeve coefficients",
    "mor": "6 morphological features",
    "pix": "240 pixel averages in 2 x 3 windows",
    "zer": "47 Zernike moments",
}
_TARGETS = {
    None: (lambda digit: digit, [str(digit) for digit in range(10)]),
    "small-vs-large": (lambda digit: (digit >= 5).astype(int), ["small (0-4)", "large (5-9)"]),
    "even-vs-odd": (lambda digit: digit % 2, ["even", "odd"]),
}


def load_multifeat(target: str | None = None, return_X_y: bool = False) -> Any:
    """Load MULTIFEAT: 2000 handwritten digits, 200 of each, described by six views.

    ========  ================================================
    view      columns
    ========  ================================================
    ``fac``   216 profile correlations
    ``fou``   76 Fourier coefficients of the character shapes
    ``kar``   64 Karhunen-Loeve coefficients
    ``mor``   6 morphological features
    ``pix``   240 pixel averages in 2 x 3 windows
    ``zer``   47 Zernike moments
    ========  ================================================

    Parameters
    ----------
    target : {None, "small-vs-large", "even-vs-odd"}
        None for the ten digits; "small-vs-large" (MULTIFEAT-SL of the thesis (Gönen 2010)) for 0 to 4 (class 0) against
        5 to 9 (class 1); "even-vs-odd" for even (class 0) against odd digits (class 1).
    return_X_y : bool
        Whether to return only ``(X, y)``.

    Returns
    -------
    Bunch
        With ``data`` (DataFrame of shape (2000, 649), columns ``fac__0`` ... ``zer__46``), ``target``,
        ``target_names``, ``view_names`` and ``DESCR``; or ``(data, target)``.

    References
    ----------
    R. Duin, Multiple Features, UCI Machine Learning Repository, doi:10.24432/C5HC70 (CC BY 4.0).

    Examples
    --------
    >>> from kernelweave import datasets
    >>> X, y = datasets.load_multifeat(return_X_y=True)
    >>> X.shape, X.columns[0]
    ((2000, 649), 'fac__0')
    """
    check(None, "target", target, Choice(*_TARGETS))
    with files(__package__).joinpath("data/multifeat.npz").open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        data = stack_views({view: arrays[view].astype(float) for view in _VIEWS})
        digits = arrays["y"].astype(int)
    encode, names = _TARGETS[target]
    y = encode(digits)
    if return_X_y:
        return data, y
    return Bunch(data=data, target=y, target_names=names, view_names=list(_VIEWS), DESCR=_description())


def _description() -> str:
    views = "\n".join(f"- {name}: {text}" for name, text in _VIEWS.items())
    return (
        "Multiple Features (MULTIFEAT): 2000 handwritten digits, 200 of each, from Dutch utility maps.\n"
        f"{views}\n"
        "Source: R. Duin, Multiple Features, UCI Machine Learning Repository, doi:10.24432/C5HC70, CC BY 4.0."
    )
