"""Wide tables, the shape of omics: what a data frame costs beside its array, and a recipe beside the fit inside it.

    python -m benchmarks.wide [--quick]

300 samples with views of 20 000, 20 000 and 10 columns of numbers; `--quick` has a tenth of the columns. "frame" is
`MKLClassifier` with kernels that scale their views, fitted to a data frame, "array" the same to its array. The unit of
a recipe is one fit to the frame; "mean" fits ten models, in three inner folds and at last. Memory is the most that the
process had until then, less what it had when the table was there.
"""

from __future__ import annotations

import argparse
import resource

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from benchmarks.timing import interleaved
from kernelweave import MKLClassifier
from kernelweave.kernels import Gaussian, Kernel, Linear
from kernelweave.recipes import CohortModel

N_SAMPLES, FEW = 300, 10
METHODS = ("mean", "localized", "stacking", "linear")


def cohort(n_columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three views, of which some columns have to do with the class."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, N_SAMPLES)
    parts = []
    for view, width in (("rna", n_columns), ("meth", n_columns), ("clin", FEW)):
        values = random.normal(size=(N_SAMPLES, width))
        values[:, : width // 5] += 0.2 * y[:, None]
        parts.append(pd.DataFrame(values, columns=[f"{view}__{place}" for place in range(width)]))
    return pd.concat(parts, axis=1), np.where(y == 1, "case", "control")


def machine(views: list) -> MKLClassifier:
    """A linear and a Gaussian kernel of each view."""
    kernels: list[Kernel] = []
    for view in views:
        kernels += [Linear(view, transformer=StandardScaler()), Gaussian(view, transformer=StandardScaler())]
    return MKLClassifier(kernels)


def memory() -> float:
    """The most memory that the process had so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Data frames of many columns.")
    parser.add_argument("--quick", action="store_true", help="2000 columns in the place of 20 000")
    n_columns = 2000 if parser.parse_args().quick else 20_000
    X, y = cohort(n_columns)
    values = X.to_numpy(copy=True)
    before = memory()
    places = [slice(n_columns), slice(n_columns, 2 * n_columns), slice(2 * n_columns, None)]
    frame, array = machine(["rna", "meth", "clin"]), machine(places)
    times = interleaved(lambda: frame.fit(X, y), lambda: array.fit(values, y), repeats=5)
    once, alone = np.median(times, axis=0)
    print(f"{N_SAMPLES} samples, views of {n_columns}, {n_columns} and {FEW} columns")
    print(f"{'fit':<24}{'seconds':>9}{'ratio':>8}  {'of':<8}{'added MB':>9}")
    print(f"{'array':<24}{alone:>9.2f}{1.0:>8.1f}  {'array':<8}{memory() - before:>9.0f}")
    print(f"{'frame':<24}{once:>9.2f}{once / alone:>8.1f}  {'array':<8}{memory() - before:>9.0f}", flush=True)
    for method in METHODS:
        own = interleaved(lambda method=method: CohortModel(method, random_state=0).fit(X, y), repeats=1).min()
        name = f'CohortModel("{method}")'
        print(f"{name:<24}{own:>9.2f}{own / once:>8.1f}  {'frame':<8}{memory() - before:>9.0f}", flush=True)


if __name__ == "__main__":
    main()
