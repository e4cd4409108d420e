"""Methods that see features: projections beside the machine, reductions before it, and how their tables read."""

import dataclasses

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.declaration import Method, Paper
from experiments.fold import Fold
from experiments.reports.sections import TextTable, heading, results_cells, sections
from experiments.reports.writing import markdown
from experiments.runner import fingerprint, run_experiment
from experiments.tables.sldr import sldr
from experiments.tables.thesis_figures import DrawsOfImages, projection_experiment
from kernelweave import MKLClassifier
from kernelweave.combiners import Projected, Softmax
from kernelweave.datasets import load_dataset
from kernelweave.kernels import Linear
from kernelweave.model_selection import SubjectProtocol, ThesisProtocol
from kernelweave.reduction import reduced_svm
from small_experiment import SMALL

VIEWS = ("petal", "sepal")
PROJECTED = dataclasses.replace(
    SMALL,
    kernels={"petal": Linear(["x__2", "x__3"]), "sepal": Linear(["x__0", "x__1"]), "all": Linear("x")},
    methods=(
        Method("SVM", ("all",)),
        Method(
            "PCA",
            ("all",),
            paper=Paper(80.0),
            grid={"svm__C": [0.1, 10.0]},
            estimator=reduced_svm("pca", 2),
            from_features=True,
        ),
        sldr(VIEWS, 1, gating_components=2, max_iter=3),
    ),
    baseline="SVM",
    features=("x",),
    protocol=ThesisProtocol(n_repeats=1),
    layout={"none": {"SVM": "SVM"}, "R = 2": {"SVM": "PCA"}},
)


@pytest.fixture(scope="module")
def data():
    X, y = load_dataset("iris", "merged", return_X_y=True)
    split = PROJECTED.protocol.split(y, True)[0]
    return X, y, split, StandardScaler().fit(X.iloc[split.train])


@pytest.mark.filterwarnings("ignore:Projected stopped after")  # before rounding can lead to another minimum
@pytest.mark.parametrize("features", ["auto", "kpca"])
def test_projections_are_those_of_a_fit_by_hand(features, data):
    """Of the features themselves, or of kernel PCA on kernel values that all methods share."""
    X, y, split, scaler = data
    method = sldr(VIEWS, 1, gating_components=2, features=features, max_iter=3)
    assert method.from_features == (features == "auto")
    parts = [X.iloc[part] * 0 + scaler.transform(X.iloc[part]) for part in (split.train, split.test)]
    for record in Fold(PROJECTED, X, y, split).measure(method):
        options = {"l2": 1e-3, "gate_tol": 1e-6}
        combiner = Projected(1, Softmax("paper"), gating_components=2, features=features, max_iter=3, **options)
        kernels = [(name, PROJECTED.kernels[name]) for name in VIEWS]
        model = MKLClassifier(kernels, combiner, C=record["parameters"]["C"], random_state=0)
        model.fit(parts[0], y[split.train])
        assert record["test"] == pytest.approx(100 * model.score(parts[1], y[split.test]), abs=2.1)
        assert record["support"] == pytest.approx(100 * len(model.support_) / 50, abs=4.1)
        gates = model.gates(parts[1]).mean()
        assert [record["weights"][name] for name in VIEWS] == pytest.approx(gates.tolist(), abs=0.05)


def test_a_reduction_counts_the_support_vectors_of_its_machine(data):
    X, y, split, scaler = data
    fold = Fold(PROJECTED, X, y, split)
    assert fold._seen_by(PROJECTED.methods[1])[2].columns.tolist() == X.columns.tolist()  # no ids of samples
    record = fold.measure(PROJECTED.methods[1])[1]
    reduced = PCA(2).fit(scaler.transform(X.iloc[split.train]))
    train, test = (reduced.transform(scaler.transform(X.iloc[part])) for part in (split.train, split.test))
    svc = SVC(C=10.0, kernel="linear", tol=1e-6).fit(train, y[split.train])
    assert record["parameters"] == {"svm__C": 10.0} and record["weights"] == {"all": 1.0}
    assert record["test"] == pytest.approx(100 * svc.score(test, y[split.test]), abs=2.1)
    assert record["support"] == pytest.approx(100 * len(svc.support_) / 50, abs=4.1) and record["support"] < 100


def test_cells_tell_features_from_kernel_values():
    method = sldr(VIEWS, 1, gating_components=2)
    values = dataclasses.replace(method, from_features=False)
    assert fingerprint(PROJECTED, method, "data") != fingerprint(PROJECTED, values, "data")


@pytest.mark.filterwarnings("ignore:Projected stopped after")
def test_report_of_features_and_of_figures_without_a_deviation(tmp_path):
    outcome = run_experiment(PROJECTED, tmp_path)
    row = outcome.row("PCA")
    cells = results_cells(outcome, row)
    assert cells[0] in ("0.1", "10") and cells[2:4] == ["80", f"{row.mean('test') - 80:+.2f}"] and cells[5] == "-"
    accuracy, support, *_ = (part for part in sections(outcome) if isinstance(part, TextTable))
    assert (accuracy.headings, support.headings) == (["accuracy %", "SVM"], ["support vectors %", "SVM"])
    assert accuracy.rows[1] == ["R = 2", f"{row.mean('test'):.2f} ± {row.std('test'):.2f}"]
    assert support.rows[1] == ["R = 2", f"{row.mean('support'):.2f} ± {row.std('support'):.2f}"]
    text = markdown(outcome)
    assert "Methods that see features compute their own." in text
    assert f"{outcome.row('SLDR (R_m = 1, R_G = 2)').weights.mean(axis=0)[0]:.2f}-" in text
    figure = dataclasses.replace(outcome, experiment=dataclasses.replace(PROJECTED, name="figure-5.19"))
    assert heading(outcome) == "Table small: IRIS" and heading(figure) == "Figure 5.19: IRIS"


def test_methods_of_a_figure():
    fields = {"name": "f", "title": "t", "source": "s", "dataset": "iris", "variant": "merged"}
    experiment = projection_experiment("x", (1, 2), more_dimensions=(3,), papers={"GPK (R = 2)": Paper(90.0)}, **fields)
    assert list(experiment.layout) == ["all", "R = 1", "R = 2", "R = 3"]
    assert experiment.layout["R = 2"] == {
        "PCA": "PCA (R = 2)",
        "LFDA": "LFDA (R = 2)",
        "GPK": "GPK (R = 2)",
        "LPK (P = 2)": "LPK (P = 2, R = 2)",
        "LPK (P = 3)": "LPK (P = 3, R = 2)",
    }
    assert experiment.layout["R = 3"] == {"PCA": "PCA (R = 3)"}
    named = {method.name: method for method in experiment.methods}
    assert len(named) == 12 and set(named) == {name for row in experiment.layout.values() for name in row.values()}
    assert [name for name, method in named.items() if method.paper] == ["GPK (R = 2)"]
    assert named["GPK (R = 2)"].combiner.gating is None and named["LPK (P = 3, R = 1)"].combiner.n_components == 1
    assert [len(named[f"{name}R = 1)"].kernels) for name in ("GPK (", "LPK (P = 2, ", "LPK (P = 3, ")] == [1, 2, 3]
    assert isinstance(named["LFDA (R = 1)"].estimator, Pipeline)
    with pytest.raises(ValueError, match=r"papers names methods that are not there: \['GPK \(R = 3\)'\]"):
        projection_experiment("x", (1, 2), more_dimensions=(3,), papers={"GPK (R = 3)": Paper(90.0)}, **fields)


def test_regions_reach_above_one_projection(data):
    """Setosa and virginica lie on both sides of versicolor: two regions part them, one projection cannot."""
    X, y, split, _ = data
    fields = {"name": "f", "title": "t", "source": "s", "dataset": "iris", "variant": "merged"}
    experiment = projection_experiment("x", (1,), more_dimensions=(), papers={}, **fields)
    fold = Fold(experiment, X, y, split)
    named = {method.name: method for method in experiment.methods}
    local = named["LPK (P = 2, R = 1)"]
    named[local.name] = dataclasses.replace(local, grid={"combiner__l2": [0.01], "C": [1.0, 10.0, 100.0]})
    one, two = (
        np.max([record["test"] for record in fold.measure(named[name])])
        for name in ("GPK (R = 1)", "LPK (P = 2, R = 1)")
    )
    assert two > 90 > one


def test_draws_of_images_are_those_of_one_draw_after_the_other():
    subject = np.repeat(np.arange(6), 4)
    y = subject < 2
    protocol = DrawsOfImages(n_draws=3, random_state=5)
    folds = protocol.split(y, True, groups=subject)
    alone = [
        fold for draw in range(3) for fold in SubjectProtocol(random_state=5 + draw).split(y, True, groups=subject)
    ]
    assert protocol.one_result_per_run and [fold.run for fold in folds] == [0, 0, 1, 1, 2, 2]
    for fold, other in zip(folds, alone, strict=True):
        for part in ("train", "validation", "test"):
            assert (getattr(fold, part) == getattr(other, part)).all()
    assert len(DrawsOfImages(n_folds=1, n_draws=2).split(y, True, groups=subject)) == 2
