"""How often `paired_loss_test` rejects where two methods are equally good, and where they are not.

    python -m benchmarks.paired_test [--quick]

Each replication draws n samples of two classes and two sets of columns, all of them equally informative. A ridge
classifier is fitted to either set and predicts the samples of K folds; both have the same expected accuracy over
training sets, which is the null hypothesis. Ridge regression has a closed form: the Gram matrix of the training samples
is that of all less that of the fold, so that thousands of replications are solved at once.

The first table has the largest share of p-values up to 0.05, 0.01 and 0.001 over sets of 5, 20 and 60 columns, beside
that of the exact test of McNemar and of the corrected t test over folds. The second one has the share of differences
that are found at the level 0.05 where the accuracies of the two methods differ by about 10 and 20 points.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from scipy import stats

from kernelweave.model_selection.statistics import loss_statistics

SIZES = (40, 60, 100, 200, 400)
FOLDS = (2, 3, 5, 10)
COLUMNS = (5, 20, 60)
LEVELS = (0.05, 0.01, 0.001)
ACCURACY = 0.8  # of the best rule for a set of columns
RIDGE = 1.0
_BATCH = 500


def wrong_labels(X: np.ndarray, y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Which held-out labels of each replication a ridge classifier has wrong.

    Parameters
    ----------
    X : ndarray of shape (n_replications, n_samples, n_columns)
    y : ndarray of shape (n_samples,)
        1 or -1.
    fold : ndarray of int, shape (n_samples,)
    """
    X = np.concatenate([X, np.ones((*X.shape[:2], 1))], axis=2)
    parts = [X[:, fold == k] for k in range(fold.max() + 1)]
    grams = [part.transpose(0, 2, 1) @ part for part in parts]
    products = [part.transpose(0, 2, 1) @ y[fold == k][:, None] for k, part in enumerate(parts)]
    penalty = RIDGE * np.eye(X.shape[2])
    penalty[-1, -1] = 1e-6  # of the intercept
    found = np.empty(X.shape[:2])
    for k, part in enumerate(parts):
        weights = np.linalg.solve(sum(grams) - grams[k] + penalty, sum(products) - products[k])
        found[:, fold == k] = (part @ weights)[:, :, 0] * y[fold == k] <= 0.0
    return found


def differences(
    n_samples: int, n_columns: int, accuracies: tuple[float, float], n_times: int, seed: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Folds, differences of losses and the fold of each sample, for each number of folds and some replications."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n_samples) % 2, 1.0, -1.0)
    for start in range(0, n_times, _BATCH):
        size = min(_BATCH, n_times - start)
        sets = []
        for accuracy in accuracies:
            shift = stats.norm.ppf(accuracy) / np.sqrt(n_columns)
            sets.append(random.standard_normal((size, n_samples, n_columns)) + shift * y[:, None])
        for n_folds in FOLDS:
            fold = np.arange(n_samples) // 2 % n_folds
            first, second = (wrong_labels(X, y, fold) for X in sets)
            yield n_folds, second - first, fold


def ours(d: np.ndarray, n_folds: int) -> np.ndarray:
    """P-values of the library's test."""
    return loss_statistics(d, 1.0 + n_folds / (n_folds - 1))[1]


def mcnemar(d: np.ndarray) -> np.ndarray:
    """P-values of the exact test of McNemar."""
    plus, minus = (d > 0).sum(axis=1), (d < 0).sum(axis=1)
    return np.minimum(1.0, 2.0 * stats.binom.cdf(np.minimum(plus, minus), plus + minus, 0.5))


def over_folds(d: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """P-values of the corrected t test over folds (Nadeau and Bengio 2003), which the library had before."""
    n_folds = fold.max() + 1
    means = np.stack([d[:, fold == k].mean(axis=1) for k in range(n_folds)], axis=1).round(12)
    mean, error = means.mean(axis=1), means.std(axis=1, ddof=1) * np.sqrt(1.0 / n_folds + 1.0 / (n_folds - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0.0, 0.0, np.abs(mean) / error)
    return 2.0 * stats.t.sf(t, n_folds - 1)


def shares(n_samples: int, n_columns: int, accuracies: tuple[float, float], n_times: int) -> dict[int, np.ndarray]:
    """For each number of folds the shares of p-values up to each level, of three tests (rows)."""
    counts = {n_folds: np.zeros((3, len(LEVELS))) for n_folds in FOLDS}
    for n_folds, d, fold in differences(n_samples, n_columns, accuracies, n_times, seed=n_samples + n_columns):
        for row, pvalues in enumerate((ours(d, n_folds), mcnemar(d), over_folds(d, fold))):
            counts[n_folds][row] += [(pvalues <= level).sum() for level in LEVELS]
    return {n_folds: found / n_times for n_folds, found in counts.items()}


def print_levels(n_times: int, sizes: tuple[int, ...], columns: tuple[int, ...]) -> None:
    """The table of false alarms."""
    print("| samples | folds | ours | McNemar | over folds |")
    print("|---:|---:|---:|---:|---:|")
    for n_samples in sizes:
        found = [shares(n_samples, n_columns, (ACCURACY, ACCURACY), n_times) for n_columns in columns]
        for n_folds in FOLDS:
            largest = np.max([one[n_folds] for one in found], axis=0)
            cells = ["{:.3f} / {:.3f} / {:.4f}".format(*row) for row in largest]
            print(f"| {n_samples} | {n_folds} | {' | '.join(cells)} |", flush=True)


def print_power(n_times: int, sizes: tuple[int, ...]) -> None:
    """The table of differences that are found at the level 0.05."""
    print("| samples | folds | 10 points: ours | McNemar | 20 points: ours | McNemar |")
    print("|---:|---:|---:|---:|---:|---:|")
    for n_samples in sizes:
        found = [shares(n_samples, 5, (0.7, 0.7 + gap), n_times) for gap in (0.1, 0.2)]
        for n_folds in FOLDS:
            cells = [f"{one[n_folds][row, 0]:.2f}" for one in found for row in (0, 1)]
            print(f"| {n_samples} | {n_folds} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Level and power of the test of held-out losses.")
    parser.add_argument("--quick", action="store_true", help="2000 replications, two sizes and two sets of columns")
    quick = parser.parse_args().quick
    sizes = (40, 100) if quick else SIZES
    n_times = 2000 if quick else 20_000
    print_levels(n_times, sizes, COLUMNS[:2] if quick else COLUMNS)
    print()
    print_power(n_times, sizes)


if __name__ == "__main__":
    main()
