"""Weights of kernels that depend on the sample, summed up as in thesis Table 5.17."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def summarize(weights: pd.DataFrame, y: Any, samples: dict[str, Any], gated: bool = False) -> pd.DataFrame:
    """Mean weight of each kernel, and the share of samples that it is positive for.

    Parameters
    ----------
    weights : DataFrame of shape (n_samples, n_kernels)
        NaN where a sample has no part in an output.
    y : array of shape (n_samples,) or None
        Classes to sum up by, beside all samples together.
    samples : dict from name to positions
        Which samples to sum up over.
    gated : bool
        Whether weights are squares of gates.

    Returns
    -------
    DataFrame
        One row for each set of samples, class ("all" is first) and kernel, with columns of these names, ``weight``,
        ``gate`` (if `gated`) and ``share``.

    Examples
    --------
    >>> import pandas as pd
    >>> summarize(pd.DataFrame({"fac": [1.0, 0.0], "fou": [0.5, 0.5]}), None, {"given": slice(None)})
      samples class kernel  weight  share
    0   given   all    fac     0.5    0.5
    1   given   all    fou     0.5    1.0
    """
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.shape != (len(weights),):
        raise ValueError(f"y has shape {labels.shape}, but there are {len(weights)} samples to sum up")
    columns = weights.columns
    kernels = columns.to_frame(index=False) if columns.nlevels > 1 else pd.DataFrame({"kernel": columns})
    table = []
    for name, positions in samples.items():
        chosen = weights.iloc[positions]
        groups = {} if labels is None else {label: labels[positions] == label for label in np.unique(labels)}
        for label, members in {"all": slice(None), **groups}.items():
            part = chosen[members]
            if len(part):
                shares = (part > 0).where(part.notna()).mean()
                means = {"weight": part.mean().to_numpy()}
                if gated:
                    means["gate"] = np.sqrt(part).mean().to_numpy()
                means["share"] = shares.to_numpy(dtype=float)
                rows = pd.DataFrame({"samples": name, "class": label, **kernels, **means})
                table.append(rows[part.notna().any().to_numpy()])
    summary = pd.concat(table, ignore_index=True)
    return summary.astype(dict.fromkeys(["samples", "class", *kernels], object))
