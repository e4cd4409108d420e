"""The registry and its declarations."""

import dataclasses

import pytest

from kernelweave.datasets.registry import find_spec
from kernelweave.experiments import Experiment, Method, find_experiment, list_experiments
from kernelweave.kernels import Linear


def test_registry_holds_the_tables_of_the_thesis():
    assert {"5.16", "5.21", "5.22", "5.24"} <= {experiment.name for experiment in list_experiments()}
    for spelling in ("5.16", "table-5.16", "Table 5.16"):
        assert find_experiment(spelling).name == "5.16"
    with pytest.raises(ValueError, match="no experiment '9.9'; the experiments are 5.16, "):
        find_experiment("9.9")


@pytest.mark.parametrize("experiment", list_experiments(), ids=lambda experiment: experiment.name)
def test_declarations_are_sound(experiment):
    _, spec = find_spec(experiment.dataset)
    assert experiment.variant is None or experiment.variant in spec.variants
    assert bool(spec.classes) == experiment.is_classification
    assert any(method.paper for method in experiment.methods)
    quick = experiment.quickened()
    assert quick != experiment and quick.methods == experiment.methods
    for method in experiment.methods:
        estimator = experiment.estimator(method, [(name, experiment.kernels[name]) for name in method.kernels])
        outer, last, values = experiment.paths(method)
        estimator.set_params(**outer[0], **{last: values[0]})
        assert values == sorted(values)


def test_paths_run_along_the_last_parameter():
    experiment = find_experiment("5.22")
    outer, last, values = experiment.paths(experiment.methods[0])
    assert outer == [{"epsilon": e} for e in (1.0, 2.0, 4.0, 8.0, 16.0)]
    assert (last, values) == ("C", [0.01, 0.1, 1.0, 10.0, 100.0])
    own = Method("own", ("L",), grid={"C": [3.0]})
    assert experiment.paths(own) == ([{}], "C", [3.0])


def test_wrong_declarations_are_named():
    base = find_experiment("5.16")
    with pytest.raises(ValueError, match="task of experiment '5.16' must be one of"):
        dataclasses.replace(base, task="ranking")
    with pytest.raises(ValueError, match="one of them the baseline"):
        dataclasses.replace(base, baseline="nobody")
    with pytest.raises(ValueError, match=r"method 'x' names kernels that are not declared: \['tex'\]"):
        Experiment(
            "t", "t", "t", "iris", "classification", {"x": Linear()}, (Method("x", ("tex",)),), "x", {"C": [1.0]}
        )
