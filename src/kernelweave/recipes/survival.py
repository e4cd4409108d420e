"""`SurvivalCalibration`: from risks to the chance of no event until a time, whatever model the risks are of.

With v the risk of a sample, ``S(t) = exp(-H(t) exp(slope v))``: a Cox model of one variable, fitted to risks of samples
that the model was not fitted to, as Platt's sigmoid is of classes. A penalised model is too timid and an unpenalised
one too bold; the slope, which maximises the partial likelihood (risks of different folds are not compared), corrects
either. It is penalised by 1/2 (slope spread)^2, as one more sample would, so that it has a limit where risks order all
events. H is Breslow's estimate (`survival.breslow`) for ``slope v``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..survival import breslow
from ..validation.schemas import Schema, Sizes, numbers, refuse

_FLATTEST, _STEEPEST = 1e-3, 20.0  # slope times the spread of the risks
_SAME = 1e-9  # spread relative to the size of the risks that counts as none
_LARGEST = 700.0  # of a logarithm of a hazard: that of what is nearly the largest number


@dataclass(frozen=True, eq=False)
class SurvivalCalibration:
    """The slope, and the hazard H, cumulated over the times of events, of a sample of risk 0."""

    slope: np.ndarray  # (1,): positive
    times: np.ndarray  # (n_times,): increasing
    hazard: np.ndarray  # (n_times,): not decreasing

    _saved = Schema(
        {
            "slope": numbers(1, low=np.finfo(float).tiny),
            "times": numbers("times", low=0.0),
            "hazard": numbers("times", low=0.0),
        }
    )

    @classmethod
    def fit(cls, risks: np.ndarray, outcomes: np.ndarray, folds: np.ndarray) -> SurvivalCalibration:
        """Of risks by different models, one for each fold, which have no common level."""
        centred = risks.astype(np.float64)
        for fold in np.unique(folds):
            centred[folds == fold] -= centred[folds == fold].mean()
        spread = float(centred.std())
        if spread <= _SAME * max(float(np.abs(risks).max()), np.finfo(float).tiny):  # one risk for all, up to rounding
            centred, spread = np.zeros(len(centred)), 1.0
        time, event = outcomes["time"], outcomes["event"]
        parts = [(time[part], event[part], centred[part] / spread) for part in (folds == f for f in np.unique(folds))]

        def loss(slope: float) -> float:
            return sum(_partial_loss(t, delta, slope * v) for t, delta, v in parts) + 0.5 * slope**2

        slope = float(minimize_scalar(loss, bounds=(_FLATTEST, _STEEPEST), method="bounded").x) / spread
        hazard: Any = breslow(outcomes, slope * centred)
        return cls(np.array([slope]), hazard.times, hazard.values)

    def survival(self, risks: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The chance of no event until each time, of shape (n_samples, n_times)."""
        known = np.concatenate([[0.0], self.hazard])[np.searchsorted(self.times, times, side="right")]
        return np.exp(-known * np.exp(np.minimum(self.slope[0] * risks, _LARGEST))[:, None])

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        for name, step in (("times", np.diff(self.times) > 0), ("hazard", np.diff(self.hazard) >= 0)):
            if not step.all():
                refuse(f"{path}.{name}", "does not increase")


def _partial_loss(time: np.ndarray, event: np.ndarray, risks: np.ndarray) -> float:
    """The negative logarithm of Cox's partial likelihood of risks v, ties as Breslow's.

    ``sum_i delta_i (log sum_{t_j >= t_i} exp(v_j) - v_i)``.
    """
    order = np.argsort(-time, kind="stable")
    later = -time[order]
    at_risk = np.logaddexp.accumulate(risks[order])[np.searchsorted(later, later, side="right") - 1]
    return float((at_risk - risks[order])[event[order]].sum())
