"""Cross-validation of one kernel at a time: what `BestSingle` and the weights by performance share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...machines import Machine
from ...stacks import FitControl, TrainingStack
from .sums import ChosenWeights


class SingleKernelScores(ChosenWeights):
    """Weights from how well each kernel predicts alone; a subclass makes weights of the scores.

    Attributes
    ----------
    cv : int, splitter or iterable
        A parameter of every subclass.
    """

    cv: Any

    def scores(
        self, stack: TrainingStack, machine: Machine, control: FitControl, measure: str, candidates: np.ndarray
    ) -> tuple[pd.Series, int]:
        """The score of each candidate by kernel name (NaN for the others), and the number of machine solves.

        Parameters
        ----------
        stack, machine, control
            As in `fit`.
        measure : {"risk", "correlation"}
            An attribute of `HeldOut`.
        candidates : ndarray of int
            Positions of kernels.
        """
        owner = type(self).__name__
        folds = stack.folds(self.cv, machine, control.rng, owner)
        values = np.full(stack.n_kernels, np.nan)
        early = []
        for done, m in enumerate(candidates):
            found = stack.held_out(m, machine, folds, control, owner)
            values[m] = getattr(found, measure)
            early += [] if found.converged else [stack.names[m]]
            control.report(done + 1, len(candidates))
        if early:
            warn(
                f"{owner} compares machines that stopped early, with the kernels {early}; raise max_iter, scale the "
                "data, or lower C",
                ConvergenceWarning,
            )
        return pd.Series(values, index=stack.names), len(candidates) * len(folds)
