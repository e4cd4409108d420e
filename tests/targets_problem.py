"""Three targets of the same samples, for the tests of regressions with several targets."""

import numpy as np
import pandas as pd

from kernelweave import MKLRegressor
from kernelweave.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
N = 50
X = rng.normal(size=(N, 5))
NEW = rng.normal(size=(9, 5))
Y = pd.DataFrame(
    {
        "wave": np.sin(X[:, 0]) + 0.1 * rng.normal(size=N),
        "saddle": X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=N),
        "slope": X[:, 1] + 0.2 * rng.normal(size=N),
    }
)
KERNELS = [("left", Gaussian([0, 1], scale=1.5)), ("right", Gaussian([2, 3], scale=1.5)), ("line", Linear())]


def model(combiner=None, **options):
    return MKLRegressor(KERNELS, combiner, **{"C": 3.0, "tol": 1e-6, "random_state": 0, **options})
