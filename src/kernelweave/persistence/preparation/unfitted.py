"""The transformer that a kernel was given, as class and parameters: what a loaded model needs to be fitted again.

A file names classes of scikit-learn, of which only those of `TRANSFORMERS` are made, by their constructors, which store
their arguments and do nothing else. Parameters that have their default are not written, so that a file does not depend
on the version of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import Pipeline

from .converting import CONVERTERS, refuse_transformer

TRANSFORMERS: dict[str, Callable[..., Any]] = {
    **{cls.__name__: cls for cls in CONVERTERS},
    make_column_selector.__name__: make_column_selector,
}
_OUTPUTS = ("default", "pandas", "polars")


class Description:
    """A transformer of `TRANSFORMERS`: the name of its class, and the parameters that differ from the default.

    Parameters
    ----------
    name : str
    parameters : dict from name to value
        Transformers among them, also inside of lists, are descriptions.
    output : str or None
        The container that the user chose by `set_output`.
    """

    def __init__(self, name: str, parameters: dict[str, Any], output: str | None = None):
        self.name = name
        self.parameters = parameters
        self.output = output


def described(transformer: Any, where: str, known: dict[int, Description]) -> Description:
    """The description of a transformer, or a refusal that names it.

    Parameters
    ----------
    transformer : transformer of scikit-learn
    where : str
        What messages call it.
    known : dict from int to Description
        By the identity of the transformer, so that one that is used twice is described once.
    """
    if id(transformer) not in known:
        name = type(transformer).__name__
        if TRANSFORMERS.get(name) is not type(transformer):
            refuse_transformer(where, name)
        if "_metadata_request" in vars(transformer):
            refuse_transformer(where, f"{name} with requests of metadata")
        parameters = {
            parameter: _held(getattr(transformer, parameter), parameter, transformer, where, known)
            for parameter, default in _parameters(name).items()
            if not _is_same(getattr(transformer, parameter), default)
        }
        output = vars(transformer).get("_sklearn_output_config", {}).get("transform")
        known[id(transformer)] = Description(name, parameters, output)
    return known[id(transformer)]


def _held(value: Any, parameter: str, owner: Any, where: str, known: dict[int, Description]) -> Any:
    """A value of a parameter, with descriptions in the place of transformers and selectors."""
    if isinstance(value, make_column_selector):
        return described(value, where, known)
    if parameter == "steps":
        return [
            (name, step if _is_word(step) else described(step, f"{where} step {name!r}", known)) for name, step in value
        ]
    if parameter == "transformers":
        return [
            (
                name,
                step if _is_word(step) else described(step, f"{where} part {name!r}", known),
                _held(columns, "columns", owner, where, known),
            )
            for name, step, columns in value
        ]
    if parameter == "remainder" and not _is_word(value):
        return described(value, f"{where} part 'remainder'", known)
    if callable(value) and not isinstance(value, type):
        refuse_transformer(where, f"{type(owner).__name__} with a function as {parameter}")
    return sorted(value) if isinstance(value, set | frozenset) else value


def _is_word(step: Any) -> bool:
    return step is None or isinstance(step, str)


def _is_same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and (bool(value == default) or (value != value and default != default))


@cache
def _parameters(name: str) -> dict[str, Any]:
    """The parameters of a class, each with its default."""
    return {each.name: each.default for each in signature(TRANSFORMERS[name]).parameters.values()}


def built(name: Any, parameters: dict[str, Any], output: Any) -> Any:
    """The transformer of a description that a file holds, not fitted; a `ValueError` where there is none.

    Parameters
    ----------
    name : str
    parameters : dict from name to value
    output : str or None
    """
    if not isinstance(name, str) or name not in TRANSFORMERS:
        raise ValueError(f"it holds a transformer of the unknown class {name!r}; this kernelweave does not make those")
    for parameter in parameters:
        if parameter not in _parameters(name):
            raise ValueError(f"it gives a {name} the parameter {parameter!r}, which this version of it does not have")
    transformer = TRANSFORMERS[name](**parameters)
    if isinstance(transformer, Pipeline):
        _check_parts(transformer.steps, 2, f"a {name} of other things than steps")
    if isinstance(transformer, ColumnTransformer):
        _check_parts(transformer.transformers, 3, f"a {name} of other things than groups of columns")
        if not _is_step(transformer.remainder):
            raise ValueError(f"it holds a {name} whose remainder is no transformer")
    if output is not None:
        if output not in _OUTPUTS or isinstance(transformer, make_column_selector):
            raise ValueError(f"it holds a {name} with the output {output!r}, which there is not")
        transformer._sklearn_output_config = {"transform": output}
    return transformer


def _check_parts(parts: Any, length: int, what: str) -> None:
    """A list of tuples, each of a name, a transformer and what else there is."""
    right = type(parts) is list and all(
        type(part) is tuple and len(part) == length and type(part[0]) is str and _is_step(part[1]) for part in parts
    )
    if not right:
        raise ValueError(f"it holds {what}")


def _is_step(step: Any) -> bool:
    return _is_word(step) or type(step) in CONVERTERS
