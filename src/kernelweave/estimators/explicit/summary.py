"""The summary of gates of training samples in blocks: what `estimators.summary.summarize` gives, by sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...combiners import CombinedKernel
from ...engines.block import Block

NOTHING = np.empty(0)


def summary_of_blocks(kernel: CombinedKernel, classes: np.ndarray | None) -> pd.DataFrame:
    """Mean weight and gate of each kernel over the training samples, and the share of samples that it is open for.

    Parameters
    ----------
    kernel : CombinedKernel
        With gates, on explicit features, over training samples in blocks.
    classes : ndarray or None
        The labels, to sum up by; None where there are none.

    Returns
    -------
    DataFrame
        As `summarize` gives it for ``samples="training"``.
    """
    operand: Any = kernel.operand()
    n_classes = 0 if classes is None else len(classes)
    counts, weights, gates, positive = operand.engine.sum(_sums, operand.amplitudes, n_classes)
    labels: list[Any] = ["all", *([] if classes is None else classes.tolist())]
    table = [
        pd.DataFrame(
            {
                "samples": "training",
                "class": label,
                "kernel": kernel.names,
                "weight": weights[place] / counts[place],
                "gate": gates[place] / counts[place],
                "share": positive[place] / counts[place],
            }
        )
        for place, label in enumerate(labels)
    ]
    summary = pd.concat(table, ignore_index=True)
    return summary.astype(dict.fromkeys(["samples", "class", "kernel"], object))


def _sums(block: Block, amplitudes: Any, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Samples, and sums of weights, gates and open gates over them: of all samples, then of each class."""
    gates = np.asarray(amplitudes.values(NOTHING, block, slice(0, block.n_samples)), dtype=np.float64)
    members = np.ones((n_classes + 1, block.n_samples))
    if n_classes:
        members[1:] = np.asarray(block.y)[None, :] == np.arange(n_classes)[:, None]
    return members.sum(axis=1), members @ gates**2, members @ gates, members @ (gates > 0.0)
