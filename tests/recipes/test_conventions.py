"""scikit-learn's estimator checks for `CohortModel`: each fit has an inner validation, so they take some seconds."""

from conventions import checks
from kernelweave.recipes import CohortModel


@checks(
    [CohortModel("mean", task="classification", effort="quick", random_state=0)],
    [
        CohortModel("mean", task="regression", effort="quick", random_state=0),
        CohortModel("concatenation", task="classification", effort="quick", calibrate=False, random_state=0),
    ],
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
