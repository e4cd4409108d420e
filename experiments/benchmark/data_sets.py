"""The rows of the benchmark: data sets, each a classification problem with several views or several kernels.

======== ==================================================================================================
kind     rows
======== ==================================================================================================
views    every set with several views: the embedded MULTIFEAT, and those of the data home
masked   the same with views that are missing, at random (``-random``) and by block (``-block``)
kernels  single tables of different kinds, on which several kernels compare the same columns
======== ==================================================================================================

Every problem is a data frame as `stack_views` makes it: the columns of a dense view are ``view__0``, ``view__1``, ...;
a sparse view is one column of sparse rows. A view that a sample lacks is NaN in all its columns. `Problem.views` maps
the name of a view to what a kernel takes as its view, which is the name itself.

A mask is a boolean matrix, samples by views, True where the sample has the view. It depends on the numbers of samples
and views and on a seed only, so that everybody masks a data set alike. Every sample has at least one view, and training
and test samples lack views alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from kernelweave.compare import Problem
from kernelweave.datasets import load_dataset
from kernelweave.views import stack_views
from kernelweave.views.frames import SparseRows

SHARE = 0.3  # of views that a sample lacks, in the mean of the masks at random and about so by block
COHORTS = 4


def mask_at_random(n_samples: int, n_views: int, *, share: float = SHARE, seed: int = 0) -> np.ndarray:
    """Each view of a sample is missing with probability `share`, independently of all others, but never all views.

    A sample that would lack all views keeps one of them, drawn at random.

    Parameters
    ----------
    n_samples, n_views : int
    share : float
        From 0 to 1.
    seed : int

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where the sample has the view.

    Examples
    --------
    >>> from experiments.benchmark.data_sets import mask_at_random
    >>> present = mask_at_random(1000, 3)
    >>> bool(present.any(axis=1).all()), float(present.mean().round(1))
    (True, 0.7)
    """
    rng = np.random.RandomState(seed)
    present = rng.uniform(size=(n_samples, n_views)) >= share
    kept = rng.randint(n_views, size=n_samples)
    nothing = ~present.any(axis=1)
    present[nothing, kept[nothing]] = True
    return present


def mask_by_block(
    n_samples: int, n_views: int, *, share: float = SHARE, cohorts: int = COHORTS, seed: int = 0
) -> np.ndarray:
    """Samples belong to cohorts that were measured on different platforms; a cohort lacks the same views throughout.

    Cohorts are of equal size, up to one sample, and drawn at random. The first cohort has all views. Each other one
    lacks ``share`` of the views, rounded up, but not all; the views go round, so that cohorts lack different ones.

    Parameters
    ----------
    n_samples, n_views : int
        At least two views.
    share : float
        From 0 to 1.
    cohorts : int
    seed : int

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where the sample has the view.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.benchmark.data_sets import mask_by_block
    >>> present = mask_by_block(400, 3)
    >>> np.unique(present, axis=0).astype(int)
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 1, 0],
           [1, 1, 1]])
    """
    rng = np.random.RandomState(seed)
    cohort = rng.permutation(np.arange(n_samples) % cohorts)
    order = rng.permutation(n_views)
    n_missing = min(int(np.ceil(share * n_views)), n_views - 1)
    present = np.ones((n_samples, n_views), dtype=bool)
    for number in range(1, cohorts):
        missing = order[((number - 1) * n_missing + np.arange(n_missing)) % n_views]
        present[np.ix_(cohort == number, missing)] = False
    return present


DENSE_VIEWS = ("multifeat", "protein_fold", "landuse21", "cub10", "pie10", "wikipedia", "mnist4", "ccv")
SPARSE_VIEWS = ("cora", "movies", "ngs", "reuters1200")
# Clinical tables, radar, images of digits, artificial problems, mail, gene expression, text.
TABLES = (
    *("heart", "pima", "wdbc", "ionosphere", "sonar", "segment", "optdigits", "banana", "ringnorm", "waveform"),
    *("spambase", "leukemia1", "prostate_tumor", "tr11", "la1"),
)
_MASKS: dict[str, Callable[[int, int], np.ndarray]] = {"random": mask_at_random, "block": mask_by_block}


@dataclass(frozen=True)
class DataSet:
    """One row of the benchmark.

    Attributes
    ----------
    name : str
        What tables call it, such as "cora-block".
    dataset : str
        As `datasets.load_dataset` names it.
    kind : {"views", "masked", "kernels"}
    mask : {None, "random", "block"}
        Which views are missing.

    Examples
    --------
    >>> from experiments.benchmark.data_sets import find_data_set
    >>> problem = find_data_set("multifeat-random")(None)
    >>> list(problem.views), bool(problem.X.isna().any().all())
    (['fac', 'fou', 'kar', 'mor', 'pix', 'zer'], True)
    """

    name: str
    dataset: str
    _: KW_ONLY
    kind: str
    mask: str | None = None

    def __call__(self, data_home: Any = None) -> Problem:
        """The data set as a problem.

        Parameters
        ----------
        data_home : path, optional
            As in `datasets.load_dataset`.
        """
        bunch = load_dataset(self.dataset, data_home=data_home)
        blocks = {name: _columns(bunch.data, view) for name, view in bunch.views.items()}
        if self.mask is not None:
            present = _MASKS[self.mask](len(bunch.target), len(blocks))
            blocks = {name: _masked(block, own) for (name, block), own in zip(blocks.items(), present.T, strict=True)}
        X: Any = stack_views(blocks)
        return Problem(X, np.asarray(bunch.target), views={name: name for name in blocks})


def _columns(X: Any, view: Any) -> Any:
    """The columns of a view, an array or a CSR matrix."""
    if sp.issparse(X):
        return X[:, view].tocsr()
    return X[[column for column in X.columns if str(column).partition("__")[0] == view]].to_numpy(dtype=float)


def _masked(block: Any, present: np.ndarray) -> Any:
    if sp.issparse(block):
        return pd.Series(SparseRows(block, present=present))
    return np.where(present[:, None], block, np.nan)


def _rows() -> dict[str, DataSet]:
    views = (*DENSE_VIEWS, *SPARSE_VIEWS)
    rows = [DataSet(name, name, kind="views") for name in views]
    rows += [DataSet(name, name, kind="kernels") for name in TABLES]
    rows += [DataSet(f"{name}-{mask}", name, kind="masked", mask=mask) for mask in _MASKS for name in views]
    return {row.name: row for row in rows}


DATA_SETS = _rows()


def find_data_set(name: str) -> DataSet:
    """A row of the benchmark by its name, or an error that names the one that was meant.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> from experiments.benchmark.data_sets import find_data_set
    >>> find_data_set("cora-block").kind
    'masked'
    """
    if name in DATA_SETS:
        return DATA_SETS[name]
    close = get_close_matches(name, DATA_SETS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "python -m experiments benchmark --list names them"
    raise ValueError(f"there is no data set {name!r} in the benchmark; {hint}")


def choose_data_sets(names: Sequence[str]) -> list[DataSet]:
    """Rows by name, all of a kind by the name of the kind; all rows where there are no names.

    Parameters
    ----------
    names : sequence of str

    Examples
    --------
    >>> from experiments.benchmark.data_sets import choose_data_sets
    >>> [row.name for row in choose_data_sets(["sonar", "heart"])]
    ['sonar', 'heart']
    """
    found: dict[str, DataSet] = {}
    for name in names or ("views", "kernels", "masked"):
        kind = [row for row in DATA_SETS.values() if row.kind == name]
        found |= {row.name: row for row in kind or [find_data_set(name)]}
    return list(found.values())
