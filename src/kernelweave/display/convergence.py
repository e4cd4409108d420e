"""`ConvergenceDisplay`: objective and support vectors of a fit, iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..validation import Choice, check
from ._models import as_models, locate
from ._style import colour, new_axes, options

_AGAINST = {"solves": "machine solves", "seconds": "seconds", "iterations": "outer iterations"}
_EQUAL = 1e-9
_DASHES = ["-", "--", "-.", ":"]


class ConvergenceDisplay:
    """Objective and number of support vectors against the work done, of one or several fitted models.

    The upper panel has the objective that the combiner minimises, the lower one the number of support vectors, where
    the history has it. Work is counted in solves of the machine, in seconds, or in outer iterations, from the start
    of the fit. Made by `from_estimator` or `from_estimators`.

    Parameters
    ----------
    histories : mapping from str to DataFrame
        By label, one row per outer iteration: `objective`, and what was spent up to there, `solves`, `seconds` and
        `iterations`; `n_support` where it is known.

    Attributes
    ----------
    lines_ : dict from str to list of matplotlib Line2D
        By label, the line in each panel.
    axes_ : list of matplotlib Axes
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import ConvexMKL
    >>> from kernelweave.display import ConvergenceDisplay
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> X, y = datasets.make_gauss(4, 100, random_state=0)
    >>> models = {
    ...     solver: MKLClassifier([Linear(), Gaussian(scale=2.0)], ConvexMKL(solver=solver)).fit(X, y)
    ...     for solver in ["newton", "reduced-gradient"]
    ... }
    >>> display = ConvergenceDisplay.from_estimators(models)
    >>> sorted(display.histories)
    ['newton', 'reduced-gradient']
    """

    def __init__(self, *, histories: Mapping[str, pd.DataFrame]):
        self.histories = dict(histories)

    @classmethod
    def from_estimator(cls, estimator: Any, **plot_kw: Any) -> ConvergenceDisplay:
        """Draw one fitted model.

        Parameters
        ----------
        estimator : object
            Fitted, with a `history_`; or a pipeline or search around such a model.
        **plot_kw
            Arguments of `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        return cls.from_estimators({type(locate(estimator, "history_")[0]).__name__: estimator}, **plot_kw)

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], **plot_kw: Any) -> ConvergenceDisplay:
        """Draw several fitted models.

        Parameters
        ----------
        estimators : mapping from str to object
            Fitted models by label.
        **plot_kw
            Arguments of `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        models = as_models(estimators)
        return cls(histories={label: _history(model, label) for label, model in models.items()}).plot(**plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        against: str = "solves",
        scale: str = "linear",
        best_so_far: bool = False,
        line_kw: Mapping[str, Any] | None = None,
    ) -> ConvergenceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, optional
            For the objective, or for the objective and the support vectors; a new figure by default.
        against : {"solves", "seconds", "iterations"}
            What the horizontal axis counts.
        scale : {"linear", "log", "excess"}
            The objective as it is, on a logarithmic axis, or its excess over the least one of all models on a
            logarithmic axis. Points equal to that least one (to nine digits) then have no place and are left out.
        best_so_far : bool
            Whether to draw, at each row, the row with the least objective up to there: histories of some solvers hold
            every solve, the trial points of line searches too.
        line_kw : mapping, optional
            Further arguments of ``plot``.

        Returns
        -------
        self
        """
        check(None, "against", against, Choice(*_AGAINST))
        check(None, "scale", scale, Choice("linear", "log", "excess"))
        has_support = any("n_support" in history for history in self.histories.values())
        n_panels = (1 + has_support) if ax is None else min(np.size(ax), 1 + has_support)
        ratios = {"height_ratios": [1.6, 1.0]} if n_panels == 2 else {}
        size = {"figsize": (6.0, 4.6 if n_panels == 2 else 3.4)}
        axes = new_axes(n_panels, ax, nrows=n_panels, sharex=True, **size, **ratios)
        self.lines_ = {}
        for place, (label, history) in enumerate(self.histories.items()):
            style = {"color": colour(place), "linestyle": _DASHES[place % len(_DASHES)], "marker": "o"}
            chosen = options({**style, "markersize": 3.0, "linewidth": 1.5, "label": label}, line_kw)
            spent, leaders = history[against], _leaders(history) if best_so_far else slice(None)
            shown = [self._objective(history, scale).to_numpy()[leaders]]
            if n_panels == 2 and "n_support" in history:
                shown.append(history["n_support"].to_numpy()[leaders])
            self.lines_[label] = [
                panel.plot(spent, values, **chosen)[0] for panel, values in zip(axes[: len(shown)], shown, strict=True)
            ]
        self._finish(axes, against, scale)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _objective(self, history: pd.DataFrame, scale: str) -> pd.Series:
        if scale != "excess":
            return history["objective"]
        least = min(other["objective"].min() for other in self.histories.values())
        excess = history["objective"] - least
        return excess.where(excess > _EQUAL * max(1.0, abs(least)))

    def _finish(self, axes: list[Any], against: str, scale: str) -> None:
        axes[0].set_ylabel("objective minus the least" if scale == "excess" else "objective")
        if scale != "linear":
            axes[0].set_yscale("log")
        if len(axes) == 2:
            axes[1].set_ylabel("support vectors")
        axes[-1].set_xlabel(_AGAINST[against])
        for ax in axes:
            ax.grid(alpha=0.25)
            ax.spines[["top", "right"]].set_visible(False)
        if len(self.histories) > 1:
            axes[0].legend(fontsize=8, framealpha=0.9)


def _leaders(history: pd.DataFrame) -> np.ndarray:
    """For each row, the latest row up to it with the least objective up to it."""
    objective = history["objective"].to_numpy()
    leads = objective <= np.minimum.accumulate(objective)
    return np.maximum.accumulate(np.where(leads, np.arange(len(objective)), 0))


def _history(estimator: Any, label: str) -> pd.DataFrame:
    """The history of a model, with what was spent up to each row."""
    model, _ = locate(estimator, "history_")
    if isinstance(getattr(model, "kernel_weights_", None), pd.DataFrame):
        raise ValueError(
            f"the history of {label} holds one fit for each class or target, one after the other; draw a model "
            'with weights="shared", or with two classes or one target'
        )
    history = pd.DataFrame(model.history_).copy()
    missing = {"objective", "solves", "seconds"} - set(history)
    if missing:
        raise ValueError(f"the history of {label} lacks {sorted(missing)}")
    history["iterations"] = np.arange(1, len(history) + 1)
    history[["solves", "seconds"]] = history[["solves", "seconds"]].cumsum()
    return history
