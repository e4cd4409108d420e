"""How often equal samples are taken for the same one, where they are equal by chance and where they are not.

    python -m benchmarks.twins [--quick]

Chance: independent yes/no columns; symptoms that depend on how ill a sample is, so that many have none; mutations,
whose number differs much from sample to sample. The same: each of half as many samples twice, in columns of yes/no or
of numbers. `recipes.leaks` has the rule.
"""

from __future__ import annotations

import argparse

import numpy as np

from kernelweave import stack_views
from kernelweave.recipes.kinds import column_kinds
from kernelweave.recipes.leaks import find_twins

N_SAMPLES = 100
COLUMNS = (1, 2, 3, 5, 10, 15, 20, 30, 50, 100)


def yes_no(random: np.random.Generator, n: int, n_columns: int) -> np.ndarray:
    """Independent columns."""
    return random.integers(0, 2, (n, n_columns))


def symptoms(random: np.random.Generator, n: int, n_columns: int) -> np.ndarray:
    """Columns that depend on a common cause."""
    return random.normal(size=(n, n_columns)) + 2.0 * random.normal(size=(n, 1)) > 1.5


def mutations(random: np.random.Generator, n: int, n_columns: int) -> np.ndarray:
    """Rare values, many in some samples."""
    return random.random((n, n_columns)) < 0.1 * random.gamma(0.4, size=(n, 1))


def numbers(random: np.random.Generator, n: int, n_columns: int) -> np.ndarray:
    """Numbers that hardly ever agree."""
    return random.normal(size=(n, n_columns))


def share(make, n_columns: int, n_times: int, *, twice: bool) -> tuple[float, float]:
    """How often there are equal samples, and how often they are taken for the same."""
    random = np.random.default_rng(n_columns)
    equal, found = 0, 0
    for _ in range(n_times):
        X = make(random, N_SAMPLES // 2 if twice else N_SAMPLES, n_columns).astype(float)
        X = np.vstack([X, X]) if twice else X
        equal += len(np.unique(X, axis=0)) < len(X)
        frame = stack_views({"v": X})
        found += find_twins(frame, column_kinds(frame)) is not None
    return equal / n_times, found / n_times


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Equal samples by chance, and the same sample twice.")
    parser.add_argument("--quick", action="store_true", help="20 replications in the place of 500")
    n_times = 20 if parser.parse_args().quick else 500
    kinds = {"yes/no": (yes_no, False), "symptoms": (symptoms, False), "mutations": (mutations, False)}
    kinds |= {"yes/no twice": (yes_no, True), "numbers twice": (numbers, True)}
    print(f"| columns | {' | '.join(kinds)} |")
    print("|---:" * (len(kinds) + 1) + "|")
    for n_columns in COLUMNS:
        cells = [share(make, n_columns, n_times, twice=twice) for make, twice in kinds.values()]
        print(f"| {n_columns} | {' | '.join(f'{found:.2f} of {equal:.2f}' for equal, found in cells)} |", flush=True)


if __name__ == "__main__":
    main()
