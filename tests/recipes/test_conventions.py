"""scikit-learn's estimator checks for `CohortModel`."""

from conventions import checks
from kernelweave.recipes import CohortModel

FAILURES = {}


@checks(
    [
        CohortModel("mean", task="classification", effort="quick", random_state=0),
        CohortModel("mean", task="regression", effort="quick", random_state=0),
    ],
    [CohortModel("concatenation", task="classification", effort="quick", calibrate=False, random_state=0)],
    lambda estimator: FAILURES,
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
