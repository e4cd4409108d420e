"""The list of kernels of an estimator: parameters by kernel name, and copies of a model with some of its kernels.

Kernels are nested parameters, ``kernels__<name>`` and ``kernels__<name>__<parameter>``; where `approximation` is a dict
by kernel name, so are its entries, ``approximation__<name>__<parameter>`` (`KernelParameters`).

`KernelSubsets` finds the model inside a pipeline, a search or another estimator and its kernels for a given X, groups
the kernels by the view that they read, and makes copies of the estimator with some of the kernels (`of`). Parameters
that name kernels (costs, weights, groups, the grid of a search) lose the entries of the kernels that are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..combiners import Combiner
from ..combiners.base import as_numbers
from ..kernels import Constant, Kernel, Precomputed, named_kernels
from ..kernels.stack import default_kernels
from ..validation import shown
from ..validation.inputs import check_new_data, check_training_data
from ..views import Views

_PREFIX = "kernels__"
_COMBINER = "combiner__"
_FEATURES = "approximation__"
_CONTAINED = ("estimator", "regressor")  # parameters by which other estimators contain a model
_FITTED = ("best_estimator_", "estimator_", "regressor_")  # the fitted model there
_OPERANDS = ("first", "second", "metric")  # of a sum or a product; of a `Distance`, which may be a matrix
_CANDIDATES = ("param_grid", "param_distributions", "factors")  # of a search


class KernelParameters(BaseEstimator):
    kernels: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator; with `deep`, also those of its combiner and kernels by name."""
        params = super().get_params(deep=deep)
        if not deep:
            return params
        approximation = params.get("approximation")
        entries = list(approximation.items()) if isinstance(approximation, Mapping) else []
        inside = [(_FEATURES + name, value) for name, value in entries]
        # By scikit-learn's conventions fit reports bad values, not this method.
        with suppress(ValueError):
            inside += [(_PREFIX + name, kernel) for name, kernel in named_kernels(self.kernels or [])]
        for called, value in inside:
            params[called] = value
            if hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{called}__{key}": own for key, own in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> KernelParameters:
        """Set parameters, also nested ones such as ``kernels__fac__scale`` or ``combiner__weights``."""
        inside = {key[len(_PREFIX) :]: params.pop(key) for key in list(params) if key.startswith(_PREFIX)}
        approximation: Any = params.get("approximation", getattr(self, "approximation", None))
        combiner: Any = params.get("combiner", getattr(self, "combiner", None))
        features: dict[str, Any] = {}
        for prefix, value, other in (
            (_FEATURES, approximation, "an approximation such as NystroemFeatures()"),
            (_COMBINER, combiner, "a combiner such as LpMKL()"),
        ):
            if isinstance(value, str) and any(key.startswith(prefix) for key in params):
                raise _without_parameters(prefix[:-2], value, other)
        if isinstance(approximation, Mapping):
            features = {key[len(_FEATURES) :]: params.pop(key) for key in list(params) if key.startswith(_FEATURES)}
        super().set_params(**params)
        if inside:
            self._set_in_kernels(inside)
        if features:
            entries = dict(approximation)
            _set_entries(entries, features, "approximation has no entry named {!r}; it has {}")
            self.approximation = entries
        return self

    def _set_in_kernels(self, params: dict[str, Any]) -> None:
        kernels = {} if self.kernels is None else dict(named_kernels(self.kernels))
        _set_entries(kernels, params, "there is no kernel named {!r}; the kernels are {}")
        self.kernels = [
            (name, kernel) if isinstance(entry, tuple) or name in params else kernel
            for entry, (name, kernel) in zip(self.kernels or [], kernels.items(), strict=True)
        ]


def _longest(key: str, names: Iterable[str]) -> str:
    """The longest name that a key begins with: a kernel's name may end in an underscore."""
    return max((n for n in names if f"{key}__".startswith(f"{n}__")), key=len, default=key.partition("__")[0])


def _set_entries(entries: dict[str, Any], params: dict[str, Any], unknown: str) -> None:
    """Replace entries by their names, or parameters of them, ``<name>__<parameter>``."""
    # Whole entries first, so that their parameters are set on the new ones.
    for key in sorted(params, key=lambda key: key not in entries):
        name = _longest(key, entries)
        if name not in entries:
            raise ValueError(unknown.format(name, list(entries)))
        parameter = key[len(name) + 2 :]
        if not parameter:
            entries[name] = params[key]
        elif hasattr(entries[name], "set_params"):
            entries[name].set_params(**{parameter: params[key]})
        else:
            called = f"approximation[{name!r}]"
            raise _without_parameters(called, entries[name], "an approximation such as NystroemFeatures()")


def _without_parameters(called: str, value: Any, other: str) -> ValueError:
    return ValueError(f"{called} is {value!r}, which has no parameters; use {other}")


class KernelSubsets:
    """The kernels of a model over given samples, the views that they read, and copies of it with some kernels.

    The estimator is a model over kernels, a pipeline that ends in one, a search over one, or another estimator whose
    parameter `estimator` (or `regressor`) is one of these; y is for the steps of a pipeline before the model.

    Kernels over the same columns belong to one view, called by the name that they select it by or else as the first of
    the kernels. A kernel that combines several views is one by itself, and so is each matrix that is looked up by ids.
    """

    def __init__(self, estimator: Any, X: Any, y: Any = None):
        self.estimator = estimator
        self._before, self.model = _opened(estimator)
        views = self._fitted_views(X, y)[1]
        self.kernels = default_kernels(views) if self.model.kernels is None else named_kernels(self.model.kernels)
        self.names = [name for name, _ in self.kernels]
        columns = [_columns(kernel, views) for _, kernel in self.kernels]
        self.views = _by_view(self.kernels, columns, [_matrices(kernel) for _, kernel in self.kernels])

    def of(self, kept: Sequence[str], kernels: Iterable[tuple[str, Kernel]] | None = None) -> Any:
        """A copy of the estimator with the kernels of these names; `kernels` are taken in place of its own."""
        kept = [name for name in self.names if name in kept]
        objects = dict(self.kernels if kernels is None else kernels)
        return _changed(self.estimator, lambda model: self._of_model(model, kept, objects), self.names, kept)

    def _of_model(self, model: Any, kept: list[str], objects: dict[str, Kernel]) -> Any:
        other = clone(model).set_params(kernels=[(name, clone(objects[name])) for name in kept])
        combiner = getattr(model, "combiner", None)
        if isinstance(combiner, Combiner) and len(kept) < len(self.names):
            other.set_params(combiner=combiner.for_kernels(self.names, kept))
        return other

    def presence(
        self, X: Any, new: Any, *, y: Any = None, kernels: Iterable[tuple[str, Kernel]] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which samples of X and of new samples have a row in which kernel: arrays of shape (n_samples, n_kernels).

        X (with targets y) are the training samples, to which kernels, and the steps before the model, are fitted.
        """
        model, views, steps = self._fitted_views(X, y)
        for step in steps:
            new = step.transform(new)
        others = Views(*check_new_data(model, new, np.arange(model.n_features_in_)))
        targets = None if y is None else np.asarray(y)
        objects = self.kernels if kernels is None else kernels
        fitted = [clone(kernel).fit(views, None, name, targets) for name, kernel in objects]
        found = [np.column_stack([kernel.present(part) for kernel in fitted]) for part in (views, others)]
        return found[0], found[1]

    def _fitted_views(self, X: Any, y: Any) -> tuple[Any, Views, list[Any]]:
        steps = [clone(step) for step in self._before]
        for step in steps:
            X = step.fit_transform(X, y)
        model = clone(self.model)
        return model, Views(*check_training_data(model, X)), steps


def _nested(estimator: Any) -> Iterator[Any]:
    while estimator is not None:
        yield estimator
        estimator = None if isinstance(estimator, KernelParameters) else _inside(estimator)


def fitted_model(estimator: Any) -> Any:
    """The fitted model over kernels inside a fitted estimator, or None where it holds none, or several."""
    *_, innermost = _nested(estimator)
    return innermost if isinstance(innermost, KernelParameters) else None


def _is_pipeline(estimator: Any) -> bool:
    from sklearn.pipeline import Pipeline  # most fits need none, and it takes time

    return isinstance(estimator, Pipeline)


def _is_pipeline_of_several(estimator: Any) -> bool:
    return _is_pipeline(estimator) and len(estimator.steps) > 1


def has_steps_before(estimator: Any) -> bool:
    return any(map(_is_pipeline_of_several, _nested(estimator)))


def model_input(estimator: Any, X: Any) -> Any:
    """X as the fitted model inside a fitted estimator gets it: after the steps of pipelines before it."""
    for one in filter(_is_pipeline_of_several, _nested(estimator)):
        X = one[:-1].transform(X)
    return X


def _inside(estimator: Any) -> Any:
    """The last step of a fitted pipeline, or the fitted model of a search or the like; None in other estimators."""
    if _is_pipeline(estimator):
        return estimator.steps[-1][1]
    calibrated = getattr(estimator, "calibrated_classifiers_", [])
    if len(calibrated) == 1:  # CalibratedClassifierCV(ensemble=False)
        return calibrated[0].estimator
    return next((getattr(estimator, name) for name in _FITTED if hasattr(estimator, name)), None)


def fitted_views(model: Any) -> dict[str, np.ndarray]:
    """The columns of each view that a fitted model has kernels for, as positions in the X of its fit."""
    kernels = list(zip(model.kernel_names_, model.kernels_, strict=True))
    columns = {name: kernel.columns() for name, kernel in kernels}
    views = _by_view(kernels, [set(read.tolist()) for read in columns.values()])
    return {view: columns[names[0]] for view, names in views.items()}


def kernels_by_view(model: Any) -> dict[str, list[str]]:
    """The names of the kernels of each view of a fitted model, as `KernelSubsets.views` has them."""
    kernels = list(zip(model.kernel_names_, model.kernels_, strict=True))
    given = {} if model.kernels is None else dict(named_kernels(model.kernels))
    matrices = [_matrices(given.get(name, kernel)) for name, kernel in kernels]  # fitted kernels hold copies of them
    return _by_view(kernels, [set(kernel.columns().tolist()) for _, kernel in kernels], matrices)


def numbers_by_kernel(values: Any, names: list[str]) -> dict[str, float]:
    return dict(zip(names, as_numbers(values, names, "costs", default=1.0).tolist(), strict=True))


def _opened(estimator: Any) -> tuple[list[Any], Any]:
    if isinstance(estimator, KernelParameters):
        return [], estimator
    if _is_pipeline(estimator) and estimator.steps:
        before, model = _opened(estimator.steps[-1][1])
        return ([estimator[:-1]] if len(estimator.steps) > 1 else []) + before, model
    name = _contained(estimator)
    if name is None:
        raise ValueError(
            "a model over kernels is needed, such as MKLClassifier, alone or as the last step of a pipeline, or inside "
            f"a search or another estimator, not {shown(estimator)}"
        )
    return _opened(getattr(estimator, name))


def _contained(estimator: Any) -> str | None:
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return None
    return next((name for name in _CONTAINED if hasattr(getattr(estimator, name, None), "get_params")), None)


def _changed(estimator: Any, change: Callable[[Any], Any], names: list[str], kept: list[str]) -> Any:
    if isinstance(estimator, KernelParameters):
        return change(estimator)
    if _is_pipeline(estimator):
        last, model = estimator.steps[-1]
        return clone(estimator).set_params(**{last: _changed(model, change, names, kept)})
    name: Any = _contained(estimator)
    params = {name: _changed(getattr(estimator, name), change, names, kept)}
    for candidates in _CANDIDATES:
        if len(kept) < len(names) and hasattr(estimator, candidates):
            params[candidates] = _without(getattr(estimator, candidates), names, kept)
            if candidates == "factors" and not params[candidates]:
                return params[name]  # nothing is left to search
    return clone(estimator).set_params(**params)


def _without(candidates: Any, names: list[str], kept: list[str]) -> Any:
    if isinstance(candidates, Mapping):
        return {
            key: _for_kernels(values, names, kept) for key, values in candidates.items() if _stays(key, names, kept)
        }
    entries = [_without(entry, names, kept) if isinstance(entry, Mapping) else entry for entry in candidates]
    return [entry for entry in entries if isinstance(entry, Mapping) or _stays(entry, names, kept)]


def _stays(parameter: str, names: list[str], kept: list[str]) -> bool:
    """Whether a parameter, such as ``kernels__a__scale`` or ``combiner__costs__a``, belongs to no kernel left out."""
    parts = parameter.split("__")
    if parts[-1] == "kernels":
        raise ValueError(
            f"the search changes all kernels at once ({parameter}), so no view can be left out; search over parameters "
            "of single kernels or of the combiner"
        )
    inside = parts[parts.index("kernels") + 1] if "kernels" in parts[:-1] else None
    by_name = parts[-1] if "combiner" in parts[:-2] else None
    return not any(name in names and name not in kept for name in (inside, by_name))


def _for_kernels(values: Any, names: list[str], kept: list[str]) -> Any:
    if not isinstance(values, list | tuple | np.ndarray):
        return values
    return [value.for_kernels(names, kept) if isinstance(value, Combiner) else value for value in values]


def _by_view(
    kernels: list[tuple[str, Kernel]], columns: list[set[int] | None], matrices: list[frozenset[int]] | None = None
) -> dict[str, list[str]]:
    """The names of the kernels over each set of columns (and matrices, where given), by view."""
    found: dict[Any, list[str]] = {}
    labels: dict[Any, str] = {}
    matrices = [frozenset()] * len(kernels) if matrices is None else matrices
    for (name, kernel), read, looked_up in zip(kernels, columns, matrices, strict=True):
        key = name if read is None else (tuple(sorted(read)), looked_up)
        found.setdefault(key, []).append(name)
        view = getattr(kernel, "view", None)
        if isinstance(view, str) and not looked_up:  # the view of a matrix holds ids only
            labels.setdefault(key, view)
    named = [labels.get(key, members[0]) for key, members in found.items()]
    if len(set(named)) < len(named):  # a kernel bears the name of another's view
        named = [members[0] for members in found.values()]
    return dict(zip(named, found.values(), strict=True))


def _matrices(kernel: Any) -> frozenset[int]:
    """Which matrices a kernel looks its values up in, by identity."""
    if isinstance(kernel, Precomputed):
        return frozenset([id(kernel.K)])
    return frozenset().union(*(_matrices(getattr(kernel, part, None)) for part in _OPERANDS if hasattr(kernel, part)))


def _columns(kernel: Any, views: Views) -> set[int] | None:
    if "view" in kernel.get_params(deep=False):
        return set(views.columns(kernel.view).tolist())
    parts = [getattr(kernel, part, None) for part in ("first", "second")]  # of a sum or a product
    if not all(isinstance(part, Kernel) for part in parts):
        return set() if isinstance(kernel, Constant) else None
    first, second = (_columns(part, views) for part in parts)
    return None if first is None or second is None else first | second
