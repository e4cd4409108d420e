"""Prediction of Dask collections: lazy, chunk by chunk.

What a method of a fitted model returns for samples in memory it returns lazily for a Dask collection: a Dask array in
place of an array, a Dask data frame in place of a data frame. Nothing is computed before the caller computes it, and
each chunk of the result depends on one chunk of X.
"""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pandas as pd

from ..._extras import optional
from .collections import dask, delayed_parts, is_array


def lazily(model: Any, method: str, X: Any, like: Any, options: dict[str, Any] | None = None) -> Any:
    """The results of a method for the samples of a Dask collection.

    Parameters
    ----------
    model : fitted estimator
    method : str
        Name of a method from samples to an array or a data frame with a row for each sample.
    X : Dask array or data frame
    like : ndarray or DataFrame
        Results for no sample: their type, columns and number type.
    options : dict, optional
        Further arguments of the method.

    Returns
    -------
    Dask array, or data frame where `like` is one
    """
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (samples, columns), not {X.ndim}")
    if is_array(X) and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    call = Call(method, options or {}, like)
    shared = dask().delayed(model, name=f"model-{uuid.uuid4().hex}", pure=False, traverse=False)
    work = dask().delayed(call, pure=False)
    token = uuid.uuid4().hex
    parts = [
        work(shared, part, dask_key_name=f"{method}-{token}-{number}") for number, part in enumerate(delayed_parts(X))
    ]
    if isinstance(like, pd.DataFrame):
        frames = optional("dask.dataframe", "for Dask data frames", "dask")
        divisions = None if is_array(X) else X.divisions
        return frames.from_delayed(parts, meta=like, divisions=divisions, verify_meta=False)
    arrays = optional("dask.array", "for Dask arrays", "dask")
    rows = X.chunks[0] if is_array(X) else (np.nan,) * len(parts)
    return arrays.concatenate(
        [
            arrays.from_delayed(part, shape=(n, *like.shape[1:]), meta=like, dtype=like.dtype)
            for part, n in zip(parts, rows, strict=True)
        ],
        allow_unknown_chunksizes=True,
    )


class Call:
    """A method of a model on one chunk.

    Parameters
    ----------
    method : str
    options : dict
        Further arguments.
    like : ndarray or DataFrame
        Results for no sample.
    """

    def __init__(self, method: str, options: dict[str, Any], like: Any):
        self.method, self.options, self.like = method, options, like

    def __call__(self, model: Any, X: Any) -> Any:
        """The results of one chunk."""
        if not X.shape[0]:
            return self.like
        found = getattr(model, self.method)(X, **self.options)
        return found if isinstance(found, pd.DataFrame) else np.asarray(found, dtype=self.like.dtype)
