"""Reports on models of times to an event."""

import numpy as np
import pytest

import kernelweave
from kernelweave import MKLSurvival
from kernelweave.kernels import Gaussian, Linear
from kernelweave.recipes import CohortModel
from survival_cohort import cohort

X, Y = cohort()


def block(found, title):
    return next(b for s in found.contents.sections for b in s.blocks if getattr(b, "title", "").startswith(title))


@pytest.fixture(scope="module")
def of_cohort():
    model = CohortModel("lp", effort="quick", random_state=0).fit(X, Y)
    return model, kernelweave.report(model, X, Y, cv=2)


def test_the_headline_speaks_of_pairs(of_cohort):
    _, found = of_cohort
    first = found.contents.headline[0]
    assert first.startswith("On samples that it has not seen, the model orders ") and "a C index of 0." in first
    assert "The model predicts the risk of an event from 2 views of the samples (rna and clinical)" in "".join(
        found.contents.headline
    )
    ids = [section.id for section in found.contents.sections]
    assert ids == ["views", "weights", "features", "contributions", "certificates", "data", "cite"]


def test_the_highest_risks_and_what_drives_them(of_cohort):
    model, found = of_cohort
    bars, risks = block(found, "What each view adds"), model.predict(X)
    order = np.argsort(-risks)[:20]
    assert bars.labels == X.index[order].tolist() and bars.parts == ["rna", "clinical"]
    np.testing.assert_allclose(bars.totals, risks[order], atol=1e-9)
    np.testing.assert_allclose(np.sum(bars.values, axis=1), risks[order], atol=1e-9)  # they begin at 0, the average
    np.testing.assert_allclose(bars.starts, 0.0, atol=1e-9)
    state = "the event" if Y["event"][order[0]] else "censored"
    assert state in bars.notes[0] and bars.axis == "risk"


def test_times_are_told(of_cohort):
    table = block(of_cohort[1], "Times")
    events, censored = table.rows
    assert events[1] == Y["event"].sum() and events[1] + censored[1] == 90
    assert events[4] == np.median(Y["time"][Y["event"]])


def test_a_model_of_the_library_has_a_report_too():
    numbers = X.drop(columns="clinical__sex")
    model = MKLSurvival([Linear("rna"), Gaussian("clinical")], C=0.3).fit(numbers, Y)
    found = kernelweave.report(model, numbers, Y, cv=2)
    assert "a C index of 0." in found.contents.headline[0] and block(found, "Times").rows[0][1] == Y["event"].sum()
    views = found.contents.data["views"]
    assert {row["view"] for row in views} == {"all views", "rna", "clinical"}
    assert kernelweave.report(model, numbers).contents.headline  # without outcomes
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 90 and 80"):
        kernelweave.report(model, numbers, Y[:80])
