"""scikit-learn's estimator checks for `CohortModel`.

Takes more than 20 seconds: all checks for classification and for regression, each fit with an inner validation.
"""

from conventions import checks
from kernelweave.recipes import CohortModel


@checks(
    [
        CohortModel("mean", task="classification", effort="quick", random_state=0),
        CohortModel("mean", task="regression", effort="quick", random_state=0),
    ],
    [CohortModel("concatenation", task="classification", effort="quick", calibrate=False, random_state=0)],
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
