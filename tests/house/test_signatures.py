"""Public constructors and functions take at most two arguments by position; further ones go by name.

Functions of a model and its data take these three by position, as scikit-learn's do: ``cross_validate(model, X, y)``.
So do metrics of survival with their data, as scikit-survival's: ``brier_scores(y_train, y, survival, times)``.
"""

import importlib
import inspect

import pytest

PACKAGES = (
    *("combiners", "compare", "datasets", "display", "estimators", "files", "kernels", "model_selection"),
    *("recipes", "reduction", "reporting", "survival"),
)
DATA = (["model", "X", "y"], *(["y_train", "y", predicted, "times"] for predicted in ("risk", "survival")))


def public(package: str) -> list:
    module = importlib.import_module(f"kernelweave.{package}")
    found = [getattr(module, name) for name in module.__all__]
    found = [one for one in found if inspect.isfunction(one) or inspect.isclass(one)]
    return [one for one in found if not (inspect.isclass(one) and issubclass(one, BaseException))]


def by_position(one) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in inspect.signature(one).parameters.items() if parameter.kind in kinds]


@pytest.mark.parametrize("package", PACKAGES)
def test_arguments_after_the_second_are_keyword_only(package):
    found = {one.__name__: by_position(one) for one in public(package)}
    assert found
    data = [names[:n] for names in DATA for n in (3, 4)]
    assert not {
        name: parameters for name, parameters in found.items() if len(parameters) > 2 and parameters not in data
    }
