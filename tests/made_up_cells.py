"""Made-up cells of the benchmark, with the columns of `load_cells`, for the tests of its page."""

import numpy as np
import pandas as pd

from experiments.benchmark import DATA_SETS
from experiments.benchmark.results import COLUMNS

# A method: family, accuracy above the common level, seconds, share of stored samples.
METHODS = {
    "auto": ("kernelweave", 0.015, 5.0, 0.7),
    "mean of kernels": ("kernelweave", 0.00, 0.8, 0.7),
    "ConvexMKL": ("kernelweave", 0.01, 3.0, 0.6),
    "LpMKL": ("kernelweave", 0.012, 2.5, 0.65),
    "GroupMKL": ("kernelweave", 0.008, 2.8, 0.62),
    "Localized": ("kernelweave", 0.02, 11.0, 0.5),
    "best single kernel": ("kernelweave", -0.06, 0.9, 0.55),
    "random forest": ("rival", -0.02, 1.5, np.nan),
    "gradient boosting": ("rival", -0.01, 4.0, np.nan),
    "logistic regression": ("rival", -0.03, 0.2, np.nan),
    "SVM on all columns": ("rival", -0.005, 0.5, 0.8),
}
SETS = (
    "multifeat",
    "cora",
    "movies",
    "wikipedia",
    "multifeat-random",
    "cora-random",
    "cora-block",
    "heart",
    "sonar",
    "wdbc",
)


def made_up_cells(sets=SETS, methods=METHODS, *, splits=3, failing=(), seed=0):
    """Cells of all methods on all sets; `failing` holds pairs of set and method."""
    rng = np.random.RandomState(seed)
    rows = []
    for name in sets:
        level = rng.uniform(0.6, 0.9)
        for split in range(splits):
            for method, (family, above, seconds, stored) in methods.items():
                is_failed = (name, method) in failing
                accuracy = float(np.clip(level + above + 0.02 * rng.randn(), 0.0, 1.0))
                row = {"set": name, "kind": DATA_SETS[name].kind, "method": method, "family": family, "split": split}
                row |= {"n_train": 200, "n_test": 400, "setting": "C=1", "digest": f"{name}{split}"}
                row |= {"failed": "ValueError: no luck | here" if is_failed else ""}
                if not is_failed:
                    row |= {"accuracy": accuracy, "log_loss": 1.2 * (1.0 - accuracy), "stored": 200 * stored}
                    row |= {"seconds": seconds * rng.uniform(0.5, 2.0), "predict_seconds": 0.1, "memory_mb": 30.0}
                rows.append(row)
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS))
