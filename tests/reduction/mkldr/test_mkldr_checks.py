"""scikit-learn's own estimator checks for `MKLDR`."""

from conventions import checks
from kernelweave.kernels import Gaussian, Linear
from kernelweave.reduction import MKLDR, LPPGraph, PCAGraph

TRANSFORMERS = [
    MKLDR(),
    MKLDR([Linear(), Gaussian(scale=1.0)], n_components=1, step="ratio-trace", tol=1e-2),
    MKLDR([Gaussian(scale=1.0), Gaussian(scale=3.0)], LPPGraph(), n_components=1),
    MKLDR([Gaussian(scale=1.0)], PCAGraph(), n_components=2),
]


def expected_failures(estimator):
    if estimator.kernels is not None:
        return {}
    return {
        "check_fit2d_1feature": "one positive feature is constant under a linear kernel of unit diagonal, so there is "
        "nothing to embed, and the message says that instead of naming the number of features"
    }


@checks(TRANSFORMERS[:1], TRANSFORMERS[1:], expected_failures)
def test_scikit_learn_convention(estimator, check):
    check(estimator)
