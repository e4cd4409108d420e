"""Cohort models, for tests of saving; see `saved_models`."""

import numpy as np
import pandas as pd

from kernelweave.recipes import CohortModel
from kernelweave.survival import outcome
from mixed_cohort import cohort


def recipe(method, *, task="classification", several=False, **options):
    """A model of a small cohort of views of every kind, fitted with little effort."""

    def fitted():
        X, labels, numbers, K = cohort(30)
        y = outcome(np.exp(numbers), labels == labels[0]) if task == "survival" else numbers
        y = labels if task == "classification" else y
        if several:
            y = np.where(np.arange(30) % 3 == 0, "other", labels)
        model = CohortModel(method, matrices={"sim": K}, effort="quick", random_state=0, **options)
        return model.fit(X, y), _new(X[::3])

    return fitted


def _new(X):
    """New samples whose sparse view has come as dense columns."""
    rows = X["counts"].array
    dense = np.where(rows.present[:, None], rows.matrix.toarray(), np.nan)
    counts = pd.DataFrame(dense, X.index, [f"counts__{name}" for name in rows.dtype.features])
    texts = X.drop(columns="counts").astype({"clinical__stage": object, "notes__text": object})
    return pd.concat([texts, counts], axis=1)


RECIPES = {
    "recipe, mean": recipe("mean"),
    "recipe, one view": recipe("alone:rna", several=True),
    "recipe, concatenation": recipe("concatenation", task="regression"),
    "recipe, survival": recipe("mean", task="survival"),
    "recipe, stacking": recipe("stacking", several=True, calibrate=False),
}
