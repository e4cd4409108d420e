"""What is compared, how it is checked, and what is noted."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.compare import run as comparison_run
from kernelweave.compare.declaration import QUICK_SAMPLES, ROW, declare
from kernelweave.compare.outcome import gather
from kernelweave.compare.run import measure_row

RNG = np.random.default_rng(0)
IDS = pd.Index([f"p{i}" for i in range(60)], name="sample")
SIGNAL = np.repeat([0.0, 2.0], 30)
X = pd.DataFrame(
    {
        "rna__g1": RNG.normal(size=60) + SIGNAL,
        "rna__g2": RNG.normal(size=60),
        "clinic__sex": RNG.choice(["f", "m"], 60),
        "clinic__age": RNG.normal(60, 9, size=60),
    },
    index=IDS,
)
Y = pd.Series(np.where(SIGNAL > 0, "ill", "well"), index=IDS, name="diagnosis")
FAST = ["alone:rna", "linear"]


def kin(ids=IDS):
    return pd.DataFrame(np.eye(len(ids)) + 0.2, index=ids, columns=ids)


def test_every_method_in_the_order_of_cost():
    declared = declare(X, Y)
    names = [contender.name for contender in declared.comparison.contenders]
    assert names[:2] == ["alone:rna", "alone:clinic"] and names[-1] == "projected"
    assert set(names) == set(declared.labels) and list(declared.labels)[-1] == "auto"
    assert declared.task == "classification" and "not numbers" in declared.why
    assert declared.protocol.n_folds == 5 and declared.protocol.max_train is None and declared.notes == []
    assert declared.labels["alone:rna"] == "rna alone"
    (model,) = declared.comparison.contenders[0].candidates(declared.problem).values()
    assert model.method == "alone:rna" and model.effort == "full" and model.n_jobs == 1 and model.calibrate
    assert declared.model("mean").calibrate and declared.model("mean").random_state == 0


def test_quick():
    declared = declare(X, Y, quick=True, seed=3, repeats=2)
    assert declared.protocol.n_folds == 3 and declared.protocol.max_train == QUICK_SAMPLES
    assert declared.options["effort"] == "quick" and declared.options["random_state"] == 3
    assert declared.comparison.name == "3-folds-2-times-seed-3-quick"
    assert declared.max_train is None  # there are fewer
    assert declare(X, Y, quick=True, folds=4).protocol.n_folds == 4


def test_chosen_methods():
    assert list(declare(X, Y, methods=["boosting", "alone"]).labels) == ["alone:rna", "alone:clinic", "boosting"]
    with pytest.raises(ValueError, match="there is no method 'forrest'; did you mean 'forest'"):
        declare(X, Y, methods=["forrest"])


def test_matrices_without_columns():
    ids = pd.DataFrame({"kin": IDS}, index=IDS)
    declared = declare(ids, Y, matrices={"kin": kin()})
    assert "alone:kin" in declared.labels and "boosting" not in declared.labels
    assert any(note.startswith("gradient boosting is left out: ") for note in declared.notes)
    with pytest.raises(ValueError, match="the method 'projected' cannot be had for these data"):
        declare(ids, Y, matrices={"kin": kin()}, methods=["projected"])
    with pytest.raises(ValueError, match="symmetric"):
        declare(ids, Y, matrices={"kin": kin() + np.triu(np.ones((60, 60)))})


def test_missing_targets_are_left_out_and_said_so():
    y = Y.copy()
    y.iloc[[3, 40]] = None
    declared = declare(X, y, groups=pd.Series(np.arange(60) % 12, index=IDS).astype(str))
    assert len(declared.problem.X) == len(declared.problem.y) == len(declared.problem.groups) == 58
    assert declared.notes[0] == "2 samples without a target are left out."
    assert "p3" not in declared.problem.X.index


def test_rare_classes_are_noted():
    y = Y.copy()
    y.iloc[:3] = "rare"
    rare, decides = declare(X, y, scoring="accuracy").notes[-1], declare(X, y).notes[0]
    assert "rare (3)" in rare
    assert decides.startswith("Balanced accuracy, the mean recall of the classes, decides: the smallest class has 5 %")
    assert declare(X, y).scoring == "balanced_accuracy" and declare(X, Y).scoring == "accuracy"


def test_targets_that_are_numbers():
    y = pd.Series(SIGNAL + RNG.normal(size=60), index=IDS, name="age")
    declared = declare(X, y)
    assert declared.task == "regression" and not declared.problem.is_classification
    assert declared.labels["linear"] == "ridge regression"
    whole = pd.Series(np.arange(60) % 3, index=IDS, name="stage")
    assert declare(X, whole).task == "classification"
    given = declare(X, whole, task="regression")
    assert given.task == "regression" and given.why == "as given" and given.problem.y.dtype == np.float64


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (Y.where(Y != "ill", "well"), {}, "has one class only, 'well'"),
        (pd.Series(IDS, index=IDS, name="id"), {}, "nothing can be learned"),
        (Y, {"folds": 70}, "70 folds need at least 70 samples with a target, but there are 60"),
        (Y, {"task": "regression"}, "must hold numbers for a regression, but has 'well'"),
        (pd.Series(2.5, index=IDS, name="t"), {"task": "regression"}, "is 2.5 for all 60 samples"),
        (pd.Series(np.arange(60.0), index=IDS), {"task": "regression", "folds": 31}, "at least 62 samples"),
        (Y, {"groups": pd.Series("a", index=IDS)}, "5 folds need at least as many groups, but there are 1"),
        (Y, {"groups": Y, "folds": 2}, "have one class of 'diagnosis' only"),
        (Y.where(Y == "none"), {}, "no sample has a target"),
        (pd.Series([1.5, np.inf] * 30, index=IDS, name="t"), {"task": "regression"}, "finite numbers"),
    ],
)
def test_one_error_where_there_is_nothing_to_compare(y, options, message):
    with pytest.raises(ValueError, match=message):
        declare(X, y, **options)


def test_changed_inputs_are_measured_again_and_others_are_not(tmp_path, monkeypatch):
    measured, results = [], {}
    measure = comparison_run.measure_candidate

    def counted(label, model, *arguments, **options):
        """The first run is measured; later ones are only counted."""
        measured.append(model.method)
        known = results.setdefault(model.method, [])
        if len(known) < 2:
            known.append(measure(label, model, *arguments, **options))
        return known[-1]

    monkeypatch.setattr(comparison_run, "measure_candidate", counted)
    ids = X.assign(kin=IDS)

    def run(X=ids, y=Y, **options):
        measured.clear()
        options = {"methods": ["alone:rna", "mean"], "folds": 2, "quick": True, "matrices": {"kin": kin()}} | options
        declared = declare(X, y, **options)
        row = measure_row(declared.comparison, ROW, tmp_path)
        return declared, row, len(measured)

    declared, first, number = run()
    assert number == 4
    declared, second, number = run()
    assert number == 0 and second.cells == first.cells
    outcome = gather(second, declared.labels)
    assert outcome.winner.method in ("alone:rna", "mean") and outcome.winner.score > 0.6
    assert run(methods=["alone:rna", "mean", "linear"])[2] == 2  # the new one only
    changed = kin()
    changed.iloc[50, 50] = 3.0
    assert run(matrices={"kin": changed})[2] == 4
    assert run(y=Y.where(Y.index != "p7", "ill"), matrices={"kin": changed})[2] == 4
    assert run(seed=1)[2] == 4
    assert run(groups=pd.Series(np.arange(60) % 20, index=IDS).astype(str))[2] == 4
    assert run(X=ids.assign(clinic__sex="f"))[2] == 4


def test_equal_samples_are_one_group_and_copies_of_the_target_are_named():
    double = pd.concat([X[:30], X[:30].rename(lambda name: f"{name}-again")])
    y = pd.Series(np.tile(["ill", "well"], 30), index=double.index, name="diagnosis")
    declared = declare(double, y)
    groups = declared.problem.groups
    assert (groups[:30] == groups[30:]).all() and len(set(groups)) == 30
    assert declared.notes[0].startswith("60 samples are equal to another one in all views (30 different ones)")
    for split in declared.protocol.split(declared.problem.y, True, groups=groups):
        assert not set(groups[split.train]) & set(groups[split.test])
    # Two families of the user; the doubles have groups of their own, and join them.
    families = pd.Series(np.where(np.arange(60) < 30, np.arange(60) // 15, np.arange(60)), index=double.index)
    merged = declare(double, y, groups=families, folds=2).problem.groups
    assert len(set(merged)) == 2 and (merged[:30] == merged[30:]).all()
    with pytest.warns(UserWarning, match="the column 'clinic__code' equals the target one to one"):
        declared = declare(X.assign(clinic__code=(Y == "ill") * 1.0), Y)
    assert declared.notes[0].startswith("Warning: the column 'clinic__code' equals")
    assert "clinic__code" in declared.problem.X  # a perfect marker looks the same


def test_what_columns_are_said_to_hold():
    given = {"kinds": {"clinic__age": "left out"}, "na_values": ["999"]}
    declared = declare(X.assign(rna__g1=X["rna__g1"].abs(), rna__g2=1.0), Y, log=["rna"], methods=FAST, **given)
    assert declared.kinds["kind"].to_dict()["clinic__age"] == "left out"
    assert declared.kinds.loc["rna__g1", "why"] == "numbers, taken as log(1 + x)"
    model = declared.model("linear")
    assert (model.log, model.na_values, model.kinds["clinic__age"]) == (["rna"], ["999"], "left out")
    with pytest.raises(ValueError, match="'rna' is taken as log.1 . x., but its column 'rna__g2' has the negative"):
        declare(X.assign(rna__g1=1.0), Y, log=["rna"], methods=FAST)
    with pytest.raises(ValueError, match="the column 'clinic__sex' holds numbers, but sample 'p0' has"):
        declare(X, Y, kinds={"clinic__sex": "number"}, methods=FAST)


def test_the_positive_class_decides_what_recall_is_of(tmp_path):
    scores = {}
    for positive in ("ill", "well"):
        declared = declare(X, Y, methods=FAST, positive=positive, scoring="recall", quick=True)
        assert declared.positive == positive and f"The positive class is '{positive}', as given." in declared.notes
        measured = measure_row(declared.comparison, ROW, tmp_path)
        outcome = gather(measured, declared.labels, scoring="recall", positive=declared.positive)
        for result in outcome.results:
            found, place = result.predictions, ["ill", "well"].index(positive)
            y = outcome.judge.targets[found.rows]
            scores[result.method, positive] = ((found.predicted == place) & (y == place)).sum() / (y == place).sum()
            assert result.score == pytest.approx(scores[result.method, positive])
    assert len({round(score, 9) for score in scores.values()}) > 1
    assert "the second in sorted order (--positive takes the other one)" in declare(X, Y, scoring="f1").notes[-1]
    assert declare(X, Y).notes == [] and declare(X, Y).positive == "well"
    with pytest.raises(ValueError, match="positive='sick' is no class of the target"):
        declare(X, Y, positive="sick")
