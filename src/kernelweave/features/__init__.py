"""Explicit features of kernels: k(x, z) = <phi(x), phi(z)>, exactly or nearly.

They are what estimators take as `approximation`, for each kernel or for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from ..kernels import named_kernels
from ..validation import Choice, Constraint, Instance, Offers, check, check_parameters
from .base import Approximation, FeatureMap
from .exact import ExactFeatures, TransformerFeatures
from .fourier import FourierFeatures
from .nystroem import NystroemFeatures

__all__ = [
    "APPROXIMATION",
    "Approximation",
    "ExactFeatures",
    "FeatureMap",
    "FourierFeatures",
    "NystroemFeatures",
    "TransformerFeatures",
    "approximations_of",
    "reservoir_size",
]

LEAST_RESERVOIR, RESERVOIR_SHARE = 4000, 20

_ONE: Constraint = (
    Choice("nystroem")
    | Instance(Approximation, "an approximation such as NystroemFeatures()")
    | Offers("fit", "transform", words="a transformer")
)
# What the parameter may be where it is not None.
APPROXIMATION: Constraint = _ONE | Instance(Mapping, "a dict from each kernel's name to one of these")


def approximations_of(approximation: Any, kernels: Any) -> list[Approximation]:
    """The approximation of each kernel, a copy with checked parameters.

    Parameters
    ----------
    approximation : "nystroem", Approximation, transformer, or dict from kernel name to one of these
    kernels : list of kernels or (name, kernel)

    Examples
    --------
    >>> from kernelweave.features import ExactFeatures, approximations_of
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> approximations_of({"a": ExactFeatures(), "b": "nystroem"}, [("a", Linear()), ("b", Gaussian())])
    [ExactFeatures(), NystroemFeatures()]
    """
    names = [name for name, _ in named_kernels(kernels)]
    check(None, "approximation", approximation, APPROXIMATION)
    if not isinstance(approximation, Mapping):
        return [_one(approximation, "approximation") for _ in names]
    lacking = [name for name in names if name not in approximation]
    unknown = [name for name in approximation if name not in names]
    if lacking or unknown:
        wrong = f"lacks {lacking}" if lacking else f"has {unknown}, which no kernel is called"
        raise ValueError(
            f"approximation must have one entry for each kernel, by name; it {wrong}; the kernels are {names}"
        )
    return [_one(approximation[name], f"approximation[{name!r}]") for name in names]


def reservoir_size(approximation: Any) -> int:
    """How many samples kernels, normalisation and features are fitted on, at most: max(4000, 20 n_components).

    Parameters
    ----------
    approximation
        As in `approximations_of`.

    Examples
    --------
    >>> from kernelweave.features import NystroemFeatures, reservoir_size
    >>> reservoir_size("nystroem"), reservoir_size({"a": NystroemFeatures(500), "b": "nystroem"})
    (5120, 10000)
    """
    several = isinstance(approximation, Mapping)
    given = dict(approximation) if several else {"": approximation}
    found = [_one(value, f"approximation[{name!r}]" if several else "approximation") for name, value in given.items()]
    return max([LEAST_RESERVOIR, *(RESERVOIR_SHARE * int(getattr(each, "n_components", 0)) for each in found)])


def _one(value: Any, called: str) -> Approximation:
    check(None, called, value, _ONE)
    if isinstance(value, str):
        return NystroemFeatures()
    if not isinstance(value, Approximation):
        return TransformerFeatures(clone(value))
    check_parameters(value)
    return clone(value)
