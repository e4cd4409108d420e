"""`EasyMKL` on explicit features, against the exact path."""

import numpy as np
import pytest

from explicit_problem import Twin, X, some_missing
from kernelweave.combiners import EasyMKL


@pytest.mark.parametrize("lam", [0.02, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("case", ["squared-hinge", "one-vs-all"])
def test_weights_are_those_of_the_exact_path(case, lam):
    exact, found = Twin(case).check(lambda: EasyMKL(lam), tol=1e-10)
    np.testing.assert_allclose(found.weights(), exact.weights(), atol=1e-5)


def test_samples_that_lack_views_count_as_in_the_exact_path():
    for lam in (0.1, 1.0):
        Twin("squared-hinge", X=some_missing(X)).check(lambda lam=lam: EasyMKL(lam), tol=1e-10)


def test_it_is_for_classes():
    twin = Twin("several targets")
    with pytest.raises(ValueError, match="EasyMKL compares classes"):
        EasyMKL().fit(twin.explicit, twin.machine)
