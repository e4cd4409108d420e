"""Kernels as nested parameters: ``kernels__<name>`` and ``kernels__<name>__<parameter>``."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ...kernels import named_kernels

_PREFIX = "kernels__"


class KernelParameters(BaseEstimator):
    """`get_params` and `set_params` that reach into the list of kernels by kernel name."""

    kernels: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator; with `deep`, also those of its combiner and kernels by name."""
        params = super().get_params(deep=deep)
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
        super().set_params(**params)
        if inside:
            self._set_in_kernels(inside)
        return self

    def _set_in_kernels(self, params: dict[str, Any]) -> None:
        pairs = [] if self.kernels is None else named_kernels(self.kernels)
        named = [isinstance(entry, tuple) for entry in self.kernels or []]
        kernels = dict(pairs)
        # Whole kernels first, so that their parameters are set on the new ones.
        for key in sorted(params, key=lambda key: key not in kernels):
            # The longest name that fits: a kernel's name may end in an underscore.
            name = max((n for n in kernels if f"{key}__".startswith(f"{n}__")), key=len, default=key.partition("__")[0])
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
