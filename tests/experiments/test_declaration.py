"""The registry and its declarations."""

import dataclasses

import numpy as np
import pytest

from experiments.declaration import Collection, Experiment, Method, over_datasets
from experiments.discovery import find_experiment, list_experiments
from kernelweave.datasets.catalogue import find_spec
from kernelweave.kernels import Linear
from small_experiment import LEARNED, SEVERAL

MEMBERS = [
    member for experiment in list_experiments() for member in experiment.members if isinstance(member, Experiment)
]


def test_registry_holds_the_tables_of_the_thesis():
    names = [experiment.name for experiment in list_experiments()]
    assert [name for name in names if name.startswith("5.")][:6] == ["5.6", "5.10", "5.11", "5.12", "5.16", "5.16-eo"]
    assert {"5.16-eo", "5.22", "5.24", "multifeat-ten", "sldr-2", "sldr-5", "sldr-figure-2"} <= set(names)
    assert len(find_experiment("5.10").members) == 15 and find_experiment("5.10-heart").dataset == "heart"
    assert [name for name in names if name.startswith("figure")] == [
        f"figure-5.{number}" for number in (19, 20, 21, 22, "22-draws")
    ]
    for spelling in ("5.16", "table-5.16", "Table 5.16"):
        assert find_experiment(spelling).name == "5.16"
    with pytest.raises(ValueError, match=r"no experiment '9.9'; the experiments are .*5.6, 5.10, "):
        find_experiment("9.9")


@pytest.mark.parametrize("experiment", MEMBERS, ids=lambda experiment: experiment.name)
def test_declarations_are_sound(experiment):
    if experiment.make is None:
        _, spec = find_spec(experiment.dataset)
        assert experiment.variant is None or experiment.variant in spec.variants
        assert bool(spec.classes) == experiment.is_classification
    # A table has the paper's figures, or its layout where they are of data that nobody may pass on.
    assert (
        any(method.paper for method in experiment.methods)
        or experiment.layout
        or experiment.source.endswith("without a table")
    )
    named = {name for row in experiment.layout.values() for name in row.values()}
    assert named <= {method.name for method in experiment.methods}
    quick = experiment.quickened()
    assert quick != experiment and quick.methods == experiment.methods
    for method in experiment.methods:
        estimator = experiment.estimator(method, [(name, experiment.kernels[name]) for name in method.kernels])
        outer, last, values = experiment.paths(method)
        estimator.set_params(**outer[0], **{last: values[0]})
        assert values == sorted(values)
        if method.search is not None:
            at = experiment.at(method, dict.fromkeys(method.search.factors, 0.5))
            estimator.set_params(**experiment.paths(at)[0][0])
        figures = method.paper and (method.paper.weights, method.paper.costs)
        assert all(len(numbers) in (0, len(method.kernels)) for numbers in figures or ())


def test_every_table_has_a_claim_with_something_to_check():
    for experiment in list_experiments():
        claim = experiment.claim
        assert claim is not None, experiment.name
        assert claim.ahead_of or claim.no_worse_than, experiment.name
        assert claim.words and not claim.words.endswith(".") and claim.row not in claim.simpler


def test_generated_data_take_part():
    assert find_experiment("gauss4").dataset_names == [] and find_experiment("5.16").dataset_names == ["multifeat"]


def test_figures_of_the_paper_agree_with_each_other():
    """Total cost is support vectors times the share of the active kernels' costs, as far as averages show it."""
    experiment = find_experiment("5.10-optdigits-1vs8")
    costs = np.array([experiment.costs[name] for name in ("L", "P", "G")])
    for method in experiment.methods:
        share = costs[np.array(method.paper.weights) > 0].sum() / costs.sum()
        assert method.paper.cost == pytest.approx(method.paper.support * share, abs=0.02)


def test_a_point_of_a_search_is_a_plain_method_with_the_point_in_its_grid():
    method = LEARNED.methods[2]
    at = LEARNED.at(method, {"combiner__costs__all": 0.5})
    assert at.search is None and at.name == "found at 0.5"
    assert LEARNED.paths(at) == ([{"combiner__costs__all": 0.5}], "C", [0.1, 10.0])
    kernels = [(name, LEARNED.kernels[name]) for name in at.kernels]
    LEARNED.estimator(at, kernels).set_params(combiner__costs__all=0.5)
    assert method.combiner.costs is None  # the declaration is never written to


def test_members_of_a_collection_share_their_settings():
    first, second = SEVERAL.members
    with pytest.raises(ValueError, match="'learned-iris-merged' and .* of collection 'x' must not differ in grid$"):
        Collection("x", "x", source="x", members=(first, dataclasses.replace(second, grid={"C": [1.0]})))
    with pytest.raises(ValueError, match="must not differ in baseline, methods"):
        Collection(
            "x",
            "x",
            source="x",
            members=(first, dataclasses.replace(second, methods=second.methods[1:], baseline="dear")),
        )
    with pytest.raises(ValueError, match="collection 'x' needs at least one experiment"):
        Collection("x", "x", source="x", members=())
    with pytest.raises(ValueError, match="collection 'x' must have unique names"):
        Collection("x", "x", source="x", members=(first, first))
    with pytest.raises(ValueError, match="zip"):
        over_datasets(LEARNED, [("iris", None, "IRIS", (None,))])


def test_paths_run_along_the_last_parameter():
    experiment = find_experiment("5.22")
    outer, last, values = experiment.paths(experiment.methods[0])
    assert outer == [{"epsilon": e} for e in (1.0, 2.0, 4.0, 8.0, 16.0)]
    assert (last, values) == ("C", [0.01, 0.1, 1.0, 10.0, 100.0])
    own = Method("own", ("L",), grid={"C": [3.0]})
    assert experiment.paths(own) == ([{}], "C", [3.0])


def test_wrong_declarations_are_named():
    base = find_experiment("5.16")
    with pytest.raises(ValueError, match="task of experiment '5.16' must be "):
        dataclasses.replace(base, task="ranking")
    with pytest.raises(ValueError, match="one of them the baseline"):
        dataclasses.replace(base, baseline="nobody")
    unseen = dataclasses.replace(base.methods[0], from_features=True)
    with pytest.raises(ValueError, match=r"method 'SVM \(FAC\)' reads features, but experiment '5.16' names none"):
        dataclasses.replace(base, methods=(unseen,), baseline=unseen.name, features=())
    with pytest.raises(ValueError, match=r"method 'x' names kernels that are not declared: \['tex'\]"):
        Experiment(
            "t",
            "t",
            source="t",
            dataset="iris",
            task="classification",
            kernels={"x": Linear()},
            methods=(Method("x", ("tex",)),),
            baseline="x",
            grid={"C": [1.0]},
        )
