"""Kernels as nested parameters: ``kernels__<name>`` and ``kernels__<name>__<parameter>``.

Where `approximation` is a dict by kernel name, so are its entries: ``approximation__<name>__<parameter>``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import BaseEstimator

from ...kernels import named_kernels

_PREFIX = "kernels__"
_FEATURES = "approximation__"


class KernelParameters(BaseEstimator):
    """`get_params` and `set_params` that reach into the list of kernels by kernel name."""

    kernels: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator; with `deep`, also those of its combiner and kernels by name."""
        params = super().get_params(deep=deep)
        approximation = params.get("approximation")
        if deep and isinstance(approximation, Mapping):
            for name, value in approximation.items():
                params[f"{_FEATURES}{name}"] = value
                inside = value.get_params() if hasattr(value, "get_params") and not isinstance(value, type) else {}
                params.update({f"{_FEATURES}{name}__{key}": own for key, own in inside.items()})
        if deep and self.kernels is not None:
            try:
                pairs = named_kernels(self.kernels)
            except ValueError:  # by scikit-learn's conventions fit reports bad values, not this method
                return params
            for name, kernel in pairs:
                params[_PREFIX + name] = kernel
                for key, value in kernel.get_params(deep=True).items():
                    params[f"{_PREFIX}{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> KernelParameters:
        """Set parameters, also nested ones such as ``kernels__fac__scale`` or ``combiner__weights``."""
        inside = {key[len(_PREFIX) :]: params.pop(key) for key in list(params) if key.startswith(_PREFIX)}
        approximation: Any = params.get("approximation", getattr(self, "approximation", None))
        features: dict[str, Any] = {}
        if isinstance(approximation, str) and any(key.startswith(_FEATURES) for key in params):
            raise _without_parameters("approximation", approximation)
        if isinstance(approximation, Mapping):
            features = {key[len(_FEATURES) :]: params.pop(key) for key in list(params) if key.startswith(_FEATURES)}
        super().set_params(**params)
        if inside:
            self._set_in_kernels(inside)
        if features:
            self.approximation = _set_in_features(dict(approximation), features)
        return self

    def _set_in_kernels(self, params: dict[str, Any]) -> None:
        pairs = [] if self.kernels is None else named_kernels(self.kernels)
        named = [isinstance(entry, tuple) for entry in self.kernels or []]
        kernels = dict(pairs)
        # Whole kernels first, so that their parameters are set on the new ones.
        for key in sorted(params, key=lambda key: key not in kernels):
            name = _longest(key, kernels)
            if name not in kernels:
                raise ValueError(f"there is no kernel named {name!r}; the kernels are {list(kernels)}")
            parameter = key[len(name) + 2 :]
            if parameter:
                kernels[name].set_params(**{parameter: params[key]})
            else:
                kernels[name] = params[key]
                named[list(kernels).index(name)] = True
        self.kernels = [
            (name, kernel) if has_name else kernel
            for (name, kernel), has_name in zip(kernels.items(), named, strict=True)
        ]


def _longest(key: str, names: Iterable[str]) -> str:
    """The longest name that a key begins with: a kernel's name may end in an underscore."""
    return max((n for n in names if f"{key}__".startswith(f"{n}__")), key=len, default=key.partition("__")[0])


def _set_in_features(approximation: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """The approximations by kernel name with some of them, or some of their parameters, replaced."""
    for key in sorted(params, key=lambda key: key not in approximation):  # whole ones first
        name = _longest(key, approximation)
        if name not in approximation:
            raise ValueError(f"approximation has no entry named {name!r}; it has {list(approximation)}")
        parameter = key[len(name) + 2 :]
        if not parameter:
            approximation[name] = params[key]
        elif hasattr(approximation[name], "set_params"):
            approximation[name].set_params(**{parameter: params[key]})
        else:
            raise _without_parameters(f"approximation[{name!r}]", approximation[name])
    return approximation


def _without_parameters(called: str, value: Any) -> ValueError:
    return ValueError(
        f"{called} is {value!r}, which has no parameters; use an approximation such as NystroemFeatures()"
    )
