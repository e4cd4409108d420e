"""The six tasks: what is asked for, and the training and test samples of each split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, adjusted_rand_score, r2_score
from sklearn.metrics.pairwise import cosine_similarity, laplacian_kernel, rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import datasets

Tables = dict[str, pd.DataFrame]
VIEWS = ("fac", "fou", "kar", "mor", "pix", "zer")


@dataclass(frozen=True)
class Samples:
    """What a script is given, tables by view, and what it does not see; without `test` it looks for clusters."""

    train: Tables
    y: pd.DataFrame
    test: Tables | None
    truth: np.ndarray
    n_clusters: int = 0


@dataclass(frozen=True)
class Task:
    """A task: `make` returns the samples of a split, `score` compares truth and answer, and more is better."""

    title: str
    statement: str
    score_name: str
    score: Callable[[np.ndarray, np.ndarray], float]
    make: Callable[[int], Samples]


def _parts(views: Tables, y: np.ndarray, sizes: tuple[int, int], split: int, stratify: bool = True) -> Samples:
    rows = np.arange(len(y))
    own = {"train_size": sizes[0], "test_size": sizes[1], "random_state": split}
    train, test = train_test_split(rows, stratify=y if stratify else None, **own)
    tables = [{name: A.iloc[part] for name, A in views.items()} for part in (train, test)]
    return Samples(tables[0], pd.DataFrame(y[train], tables[0][next(iter(views))].index), tables[1], y[test])


def _multifeat(target: str | None = None) -> tuple[Tables, np.ndarray]:
    X, y = datasets.load_multifeat(target=target, return_X_y=True)
    X.index = [f"s{row:04d}" for row in range(len(X))]
    return {view: X.filter(like=f"{view}__") for view in VIEWS}, np.unique(y, return_inverse=True)[1]


def mixed(split: int) -> Samples:
    """A cohort: numbers, categories and gaps; the marker tells the classes apart in another way at each site."""
    rng, n = np.random.default_rng(split), 1000
    ids = [f"s{row:04d}" for row in range(n)]
    rna_state, image_state = rng.normal(size=(2, n, 3))
    rna = rna_state @ rng.normal(size=(3, 60)) + 2.0 * rng.normal(size=(n, 60))
    image = image_state @ rng.normal(size=(3, 20)) + 2.0 * rng.normal(size=(n, 20))
    age, marker, bmi = rng.uniform(20, 80, n), rng.normal(size=n), rng.normal(25, 4, n)
    stage, site = rng.integers(3, size=n), rng.integers(3, size=n)
    value = 1.5 * rna_state[:, 0] + image_state[:, 0] + (stage - 1) + 1.5 * marker * (site - 1)
    value += ((age - 50) / 15) ** 2 - 4 / 3 + rng.logistic(size=n)
    bmi[rng.random(n) < 0.1] = np.nan
    clinical = {"age": age, "marker": marker, "bmi": bmi, "stage": np.array(["I", "II", "III"])[stage]}
    clinical |= {"site": np.array(["north", "south", "west"])[site], "sex": rng.choice(["f", "m"], n)}
    views = {
        "clinical": pd.DataFrame(clinical, ids),
        "image": pd.DataFrame(image, ids).add_prefix("image"),
        "rna": pd.DataFrame(rna, ids).add_prefix("rna"),
    }
    return _parts(views, (value > 0).astype(int), (300, 700), split)


def digits(split: int) -> Samples:
    """MULTIFEAT, all six views."""
    return _parts(*_multifeat(), (300, 1000), split)


def targets(split: int) -> Samples:
    """Numbers that are linear in four tables, each in a mixture of its own."""
    rng, n, n_targets = np.random.default_rng(split), 600, 50
    ids = [f"s{row:04d}" for row in range(n)]
    shares = rng.dirichlet(np.full(4, 0.5), n_targets)
    Y, views = rng.normal(size=(n, n_targets)), {}
    for view, width, share in zip(("faces", "motion", "sound", "words"), (30, 20, 40, 80), shares.T, strict=True):
        A = rng.normal(size=(n, width))
        Y += 1.5 * np.sqrt(share / width) * (A @ rng.normal(size=(width, n_targets)))
        views[view] = pd.DataFrame(A, ids).add_prefix(view)
    return _parts(views, Y, (300, 300), split, stratify=False)


def similarities(split: int) -> Samples:
    """MULTIFEAT, known by a matrix of similarities for each of four views, each 1 between a sample and itself."""
    views, y = _multifeat("small-vs-large")
    kinds = {"fou": laplacian_kernel, "kar": cosine_similarity, "pix": _correlation, "zer": rbf_kernel}
    samples = _parts({view: views[view] for view in kinds}, y, (300, 700), split)
    train, test, given = {}, {}, samples.test or {}
    for view, kind in kinds.items():
        A, B = samples.train[view], given[view]
        scaler = StandardScaler().fit(A)
        train[view] = pd.DataFrame(kind(scaler.transform(A), scaler.transform(A)), A.index, A.index)
        test[view] = pd.DataFrame(kind(scaler.transform(B), scaler.transform(A)), B.index, A.index)
    return Samples(train, samples.y, test, samples.truth)


def _correlation(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.corrcoef(A, B)[: len(A), len(A) :]


def missing(split: int) -> Samples:
    """MULTIFEAT, where each sample lacks each view with probability 0.4."""
    views, y = _multifeat()
    rng = np.random.default_rng(split)
    lacks = rng.random((len(y), len(VIEWS))) < 0.4
    lacks[np.arange(len(y)), rng.integers(len(VIEWS), size=len(y))] = False
    views = {view: A.mask(np.repeat(lacks[:, [v]], A.shape[1], axis=1)) for v, (view, A) in enumerate(views.items())}
    return _parts(views, y, (300, 1000), split)


def clusters(split: int) -> Samples:
    """MULTIFEAT without labels."""
    samples = _parts(*_multifeat(), (600, 100), split)
    return Samples(samples.train, samples.y.iloc[:, :0], None, samples.y[0].to_numpy(), n_clusters=10)


TASKS = {
    "mixed": Task(
        "Two classes from mixed tables",
        "A cohort of generated samples, 300 to train and 700 to test: 60 numbers of one assay, 20 of another, and a"
        " clinical table of three numbers, one with gaps, and three categories.",
        "accuracy",
        accuracy_score,
        mixed,
    ),
    "digits": Task(
        "Ten classes from six tables",
        "The handwritten digits of MULTIFEAT, six tables of numbers, 300 samples to train and 1000 to test.",
        "accuracy",
        accuracy_score,
        digits,
    ),
    "targets": Task(
        "Fifty numbers from four tables",
        "Generated as encoding models of brain responses are: 50 targets, each linear in four tables of 20 to 80"
        " columns, of which each target needs others; 300 samples to train and 300 to test. The score is the mean R2.",
        "R2",
        r2_score,
        targets,
    ),
    "similarities": Task(
        "Two classes from matrices of similarities",
        "Small and large digits of MULTIFEAT, 300 to train and 700 to test, known by four matrices: similarities among"
        " training samples, and of test samples to these. C, or what stands for it, is to be searched.",
        "accuracy",
        accuracy_score,
        similarities,
    ),
    "missing": Task(
        "Ten classes, where samples lack tables",
        "The digits again, 300 to train and 1000 to test. Each sample lacks each of the six tables with probability"
        " 0.4, in training and later.",
        "accuracy",
        accuracy_score,
        missing,
    ),
    "clusters": Task(
        "Ten clusters of samples in six tables",
        "600 of the digits without labels. The score is the adjusted Rand index of the clusters and the digits.",
        "Rand index",
        adjusted_rand_score,
        clusters,
    ),
}
