"""`RegressionFitDisplay`: a regression over one feature with tube and gates (Gönen's PhD thesis, 2010, Figure 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ._models import as_models, check_samples, check_support, chosen_target, like, local_values_of, locate, offers
from ._style import DARK, colour, new_axes, options

_DASHES = ["-", "--", "-.", ":"]
_OPEN = 0.1  # gates above count as open


class RegressionFitDisplay:
    """Samples, fits and tubes over one feature, and below them the gates of each model with several kernels.

    The upper panel has the samples, each model's fit with its tube of half width epsilon, and rings around the support
    vectors where there is one model. A panel below for each model with several kernels has the weight of each kernel
    along the feature: thesis Figure 3.4 (Gönen, 2010). Where there is one model and its weights are gates, a thinner
    line is the function of each kernel alone, in the colour of its gate and drawn where that is open. Made by
    `from_estimator` or `from_estimators`.

    Parameters
    ----------
    x, y : ndarray of shape (n_samples,)
        The feature and the target.
    grid : ndarray
        Where the fits are known.
    fits : DataFrame of shape (len(grid), n_models)
        Predictions there, by label.
    epsilons : dict from str to float
        Half width of the tube, by label; models without a tube are left out.
    gates : dict from str to DataFrame of shape (len(grid), n_kernels)
        Kernel weights there, by label; models with one kernel, or without kernel weights, are left out.
    local : dict from str to DataFrame of shape (len(grid), n_kernels)
        The part of each kernel alone, by label, of models with a gating model.
    support : ndarray of int or None
        Which samples are support vectors.
    names : (str, str)
        Names of the feature and the target.

    Attributes
    ----------
    lines_ : dict from str to matplotlib Line2D
        The fits, by label.
    axes_ : list of matplotlib Axes
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLRegressor
    >>> from kernelweave.combiners import ConvexMKL
    >>> from kernelweave.display import RegressionFitDisplay
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> x = np.linspace(0.1, 6.0, 60)[:, None]
    >>> model = MKLRegressor([Linear(), Gaussian(scale=1.0)], ConvexMKL(), C=10.0).fit(x, np.sin(x[:, 0]))
    >>> display = RegressionFitDisplay.from_estimator(model, x, np.sin(x[:, 0]))
    >>> list(display.gates["MKLRegressor"]), display.epsilons
    (['linear', 'gaussian'], {'MKLRegressor': 0.1})
    """

    def __init__(
        self,
        *,
        x: np.ndarray,
        y: np.ndarray,
        grid: np.ndarray,
        fits: pd.DataFrame,
        epsilons: Mapping[str, float] | None = None,
        gates: Mapping[str, pd.DataFrame] | None = None,
        local: Mapping[str, pd.DataFrame] | None = None,
        support: np.ndarray | None = None,
        names: tuple[str, str] = ("x", "y"),
    ):
        self.x = x
        self.y = y
        self.grid = grid
        self.fits = fits
        self.epsilons = dict(epsilons or {})
        self.gates = dict(gates or {})
        self.local = dict(local or {})
        self.support = support
        self.names = names

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **kwargs: Any) -> RegressionFitDisplay:
        """Draw one fitted model.

        Parameters
        ----------
        estimator : object
            Fitted regressor, or a pipeline or search around one.
        X : array or DataFrame of shape (n_samples, 1)
            The samples of the fit; any samples with ``support=False``.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        **kwargs
            Further arguments of `from_estimators`.

        Returns
        -------
        RegressionFitDisplay
        """
        best = getattr(estimator, "best_estimator_", estimator)
        model = best[-1] if hasattr(best, "named_steps") else best
        return cls.from_estimators({type(model).__name__: estimator}, X, y, **{"support": True, **kwargs})

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        target: Any = None,
        support: bool = False,
        grid_resolution: int = 400,
        **plot_kw: Any,
    ) -> RegressionFitDisplay:
        """Draw several fitted models.

        Parameters
        ----------
        estimators : mapping from str to object
            Fitted regressors by label.
        X : array or DataFrame of shape (n_samples, 1)
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Where models have several targets, all of them or the one that is drawn.
        target : object, optional
            Which of several targets to draw, by the name of its column of y (by position where columns have no names).
        support : bool
            Whether to ring the support vectors of the first model; X is then the X of its fit.
        grid_resolution : int
            Number of values of the feature at which fits and gates are computed.
        **plot_kw
            Arguments of `plot`.

        Returns
        -------
        RegressionFitDisplay
        """
        models = as_models(estimators)
        if y is None:
            raise ValueError("y must be given: it is what was fitted")
        chosen = {label: chosen_target(model, y, target) for label, model in models.items()}
        first = next(iter(chosen.values()))
        if np.ndim(y) == 2 and first is not None:
            y = pd.DataFrame(y).iloc[:, first[0]].rename(first[1] if hasattr(y, "columns") else None)
        points, values = check_samples(X, y)
        if points.shape[1] != 1:
            raise ValueError(f"X must have one column to be drawn along, not {points.shape[1]}")
        reach = 0.03 * np.ptp(points)
        grid = np.linspace(points.min() - reach, points.max() + reach, grid_resolution)
        rows = like(X, grid[:, None])
        named = isinstance(X, pd.DataFrame), getattr(y, "name", None) is not None
        display = cls(
            x=points[:, 0],
            y=np.asarray(values, dtype=float),
            grid=grid,
            fits=pd.DataFrame({label: _fit(model, rows, chosen[label]) for label, model in models.items()}),
            epsilons=_epsilons(models),
            gates=_gates(models, rows, chosen),
            local=_local_fits(models, rows, chosen),
            support=_support(next(iter(models.values())), len(points), first) if support else None,
            names=(str(X.columns[0]) if named[0] else "x", str(y.name) if named[1] else "y"),
        )
        return display.plot(**plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        tube: bool = True,
        local: bool = True,
        scatter_kw: Mapping[str, Any] | None = None,
        line_kw: Mapping[str, Any] | None = None,
        gate_kw: Mapping[str, Any] | None = None,
    ) -> RegressionFitDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            One for the fits, then one for the gates of each model that has any, or only the first; a new figure by
            default.
        tube : bool
            Whether to shade the tubes.
        local : bool
            Whether to draw the part of each kernel alone, where there is one model.
        scatter_kw, line_kw, gate_kw : mapping, optional
            Further arguments of ``scatter`` for samples and of ``plot`` for fits and for gates.

        Returns
        -------
        self
        """
        n_panels = 1 + len(self.gates) if ax is None or np.size(ax) > 1 else 1
        shape = {"nrows": n_panels, "sharex": True, "figsize": (6.4, 3.2 + 1.4 * (n_panels - 1))}
        axes = new_axes(n_panels, ax, height_ratios=[2.6] + [1.0] * (n_panels - 1), **shape)
        self._draw_fits(axes[0], tube, scatter_kw, line_kw)
        if local and len(self.fits.columns) == 1:
            self._draw_local_fits(axes[0])
        axes[0].legend(fontsize=8, framealpha=0.9)
        for panel, (label, gates) in zip(axes[1:], self.gates.items(), strict=False):
            for m, name in enumerate(gates):
                line = {"color": colour(m + len(self.fits.columns)), "linestyle": _DASHES[m % len(_DASHES)]}
                panel.plot(self.grid, gates[name], **options({**line, "label": str(name)}, gate_kw))
            panel.set(
                ylabel="weight" if len(self.gates) == 1 else f"weight\n{label}",
                ylim=(-0.05, 1.1 * gates.max(axis=None)),
            )
            panel.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        for panel in axes:
            panel.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylabel(self.names[1])
        axes[-1].set_xlabel(self.names[0])
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _draw_fits(self, ax: Any, tube: bool, scatter_kw: Any, line_kw: Any) -> None:
        dots = {"s": 16, "color": "#8c8c8c", "edgecolor": "white", "linewidth": 0.4, "zorder": 2, "label": "samples"}
        ax.scatter(self.x, self.y, **options(dots, scatter_kw))
        if self.support is not None:
            ring = {"s": 60, "facecolor": "none", "edgecolor": DARK, "linewidth": 0.8, "zorder": 2.5}
            ax.scatter(self.x[self.support], self.y[self.support], label="support vectors", **ring)
        self.lines_ = {}
        for place, label in enumerate(self.fits):
            fit, ink = self.fits[label].to_numpy(), colour(place)
            line = {"color": ink, "linestyle": _DASHES[place % len(_DASHES)], "linewidth": 2.0, "zorder": 3}
            (self.lines_[label],) = ax.plot(self.grid, fit, **options({**line, "label": label}, line_kw))
            if tube and label in self.epsilons:
                half = self.epsilons[label]
                name = f"tube, epsilon = {half:g}" if len(self.fits.columns) == 1 else None
                ax.fill_between(self.grid, fit - half, fit + half, color=ink, alpha=0.13, linewidth=0, label=name)

    def _draw_local_fits(self, ax: Any) -> None:
        """Each kernel's own function in the colour of its gate, where that is open; limits stay those of the fit."""
        limits = ax.get_ylim()
        for label, values in self.local.items():
            for m, name in enumerate(values):
                line = np.where(self.gates[label][name] > _OPEN, values[name], np.nan)
                style = {"color": colour(m + 1), "linestyle": _DASHES[m % len(_DASHES)], "linewidth": 1.3}
                ax.plot(self.grid, line, label=f"{name} alone", zorder=3.5, **style)
        ax.set_ylim(limits)


def _fit(model: Any, rows: Any, chosen: tuple[int, Any] | None) -> np.ndarray:
    values = np.asarray(model.predict(rows))
    return np.ravel(values if chosen is None else values.reshape(len(values), -1)[:, chosen[0]])


def _support(model: Any, n_samples: int, chosen: tuple[int, Any] | None) -> np.ndarray | None:
    """The support vectors, of one target where there are several; None for a model that has none."""
    rows = check_support(model, n_samples)
    if rows is None or chosen is None or not offers(model, "dual_coef_"):
        return rows
    return rows[locate(model, "dual_coef_")[0].dual_coef_[chosen[0]] != 0.0]


def _of_target(frame: pd.DataFrame, chosen: tuple[int, Any] | None) -> pd.DataFrame:
    """The columns of one target where each target has columns of its own."""
    return frame[chosen[1]] if chosen is not None and isinstance(frame.columns, pd.MultiIndex) else frame


def _local_fits(models: Mapping[str, Any], rows: Any, chosen: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    gated = {label: model for label, model in models.items() if offers(model, "local_values")}
    found = {label: _of_target(local_values_of(model, rows), chosen[label]) for label, model in gated.items()}
    return {label: frame for label, frame in found.items() if frame.shape[1] > 1}


def _epsilons(models: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for label, model in models.items():
        if offers(model, "epsilon"):
            found[label] = float(locate(model, "epsilon")[0].epsilon)
    return found


def _gates(models: Mapping[str, Any], rows: Any, chosen: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    weighted = {
        label: locate(model, "kernel_weights") for label, model in models.items() if offers(model, "kernel_weights")
    }
    found = {
        label: _of_target(model.kernel_weights(prepare(rows)), chosen[label])
        for label, (model, prepare) in weighted.items()
    }
    return {label: frame for label, frame in found.items() if frame.shape[1] > 1}
