"""The rows of the benchmark: data sets, each a classification problem with several views or several kernels.

======== ==================================================================================================
kind     rows
======== ==================================================================================================
views    every set with several views: the embedded MULTIFEAT, and those of the data home
masked   the same with views that are missing, at random (``-random``) and by block (``-block``), see `masks`
kernels  single tables of different kinds, on which several kernels compare the same columns
======== ==================================================================================================

Every problem is a data frame as `stack_views` makes it: the columns of a dense view are ``view__0``, ``view__1``, ...;
a sparse view is one column of sparse rows. A view that a sample lacks is NaN in all its columns. `Problem.views` maps
the name of a view to what a kernel takes as its view, which is the name itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...datasets import load_dataset
from ...views import stack_views
from ...views.sparse_rows import SparseRows
from ..engine.comparison import Problem
from .masks import mask_at_random, mask_by_block

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
    >>> from kernelweave.experiments.benchmark.data_sets import find_data_set
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
    >>> from kernelweave.experiments.benchmark.data_sets import find_data_set
    >>> find_data_set("cora-block").kind
    'masked'
    """
    if name in DATA_SETS:
        return DATA_SETS[name]
    close = get_close_matches(name, DATA_SETS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "kernelweave benchmark --list names them"
    raise ValueError(f"there is no data set {name!r} in the benchmark; {hint}")


def choose_data_sets(names: Sequence[str]) -> list[DataSet]:
    """Rows by name, all of a kind by the name of the kind; all rows where there are no names.

    Parameters
    ----------
    names : sequence of str

    Examples
    --------
    >>> from kernelweave.experiments.benchmark.data_sets import choose_data_sets
    >>> [row.name for row in choose_data_sets(["sonar", "heart"])]
    ['sonar', 'heart']
    """
    found: dict[str, DataSet] = {}
    for name in names or ("views", "kernels", "masked"):
        kind = [row for row in DATA_SETS.values() if row.kind == name]
        found |= {row.name: row for row in kind or [find_data_set(name)]}
    return list(found.values())
