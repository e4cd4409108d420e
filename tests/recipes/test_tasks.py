"""Whether targets are classes or numbers."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.recipes import guess_task


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False, True], "classification"),
        (pd.Categorical([1.5, 2.5, 1.5]), "classification"),
        (np.arange(2000) % 10, "classification"),
        (np.tile([1.0, 2.0, 3.0], 5), "classification"),
        ([0.5, 1.5, 0.5, 1.5], "classification"),
        (np.arange(100), "regression"),
        ([20, 35, 61, 47, 52, 33], "regression"),
        (np.linspace(0, 1, 9), "regression"),
        (np.array([1, 2.5, 3, 4], dtype=object), "regression"),
        (pd.Series([1.0, 2.0, np.nan, 3.5]), "regression"),
    ],
)
def test_guess(y, task):
    found, why = guess_task(y)
    assert found == task
    assert why.startswith("the target ")
