"""Fits and searches: what a regression predicts along a feature, how a fit went, and where a search measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..validation import Choice, check
from .base import (
    DARK,
    check_samples,
    check_support,
    chosen_target,
    colour,
    like,
    locate,
    new_axes,
    offers,
    options,
    ring,
    without_frame,
)

_DASHES = ["-", "--", "-.", ":"]
_OPEN = 0.1  # gates above count as open
_AGAINST = {"solves": "machine solves", "seconds": "seconds", "iterations": "outer iterations"}
_EQUAL = 1e-9
_ACCENT = "#d1603d"
_LEVELS = 12


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
    axes_, ax_, figure_ : list of matplotlib Axes, the first of them, and their Figure

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
        """
        models = _models(estimators)
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
            epsilons={
                label: float(locate(model, "epsilon")[0].epsilon)
                for label, model in models.items()
                if offers(model, "epsilon")
            },
            gates=_by_kernel("kernel_weights", models, rows, chosen),
            local=_by_kernel("local_values", models, rows, chosen),
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
        """Draw on the given axes, or in a new figure.

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
        without_frame(*axes)
        axes[0].set_ylabel(self.names[1])
        axes[-1].set_xlabel(self.names[0])
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _draw_fits(self, ax: Any, tube: bool, scatter_kw: Any, line_kw: Any) -> None:
        dots = {"s": 16, "color": "#8c8c8c", "edgecolor": "white", "linewidth": 0.4, "zorder": 2, "label": "samples"}
        ax.scatter(self.x, self.y, **options(dots, scatter_kw))
        if self.support is not None:
            points = np.column_stack([self.x, self.y])[self.support]
            ring(ax, points, {"s": 60, "label": "support vectors"}, zorder=2.5)
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
    rows = check_support(model, n_samples)
    if rows is None or chosen is None or not offers(model, "dual_coef_"):
        return rows
    return rows[locate(model, "dual_coef_")[0].dual_coef_[chosen[0]] != 0.0]


def _by_kernel(
    method: str, models: Mapping[str, Any], rows: Any, chosen: Mapping[str, tuple[int, Any] | None]
) -> dict[str, pd.DataFrame]:
    found = {}
    for label, target in chosen.items():
        if offers(models[label], method):
            model, prepare = locate(models[label], method)
            frame = getattr(model, method)(prepare(rows))
            if target is not None and isinstance(frame.columns, pd.MultiIndex):
                frame = frame[target[1]]  # each target has columns of its own
            if frame.shape[1] > 1:
                found[label] = frame
    return found


def _models(estimators: Any) -> dict[str, Any]:
    if not isinstance(estimators, Mapping) or not estimators:
        raise ValueError("estimators must be a mapping from labels to fitted models, with at least one model")
    return dict(estimators)


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
    axes_, ax_, figure_ : list of matplotlib Axes, the first of them, and their Figure

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
        """
        models = _models(estimators)
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
        """Draw on the given axes, or in a new figure.

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
        without_frame(*axes)
        if len(self.histories) > 1:
            axes[0].legend(fontsize=8, framealpha=0.9)


def _leaders(history: pd.DataFrame) -> np.ndarray:
    """For each row, the latest row up to it with the least objective up to it."""
    objective = history["objective"].to_numpy()
    leads = objective <= np.minimum.accumulate(objective)
    return np.maximum.accumulate(np.where(leads, np.arange(len(objective)), 0))


def _history(estimator: Any, label: str) -> pd.DataFrame:
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


class ResponseSurfaceDisplay:
    """Response over two factors, with the points that a search measured.

    Shades the fitted surface, or measured responses where they are given (the surface is then drawn as lines at the
    levels of the shades). Open circles are the points of the design, the filled one its centre; dots are the points
    after it, in order along the line; the star is the best point. The thesis (Gönen 2010) has such pictures in Figures
    2.2 and 2.5. Usually made by `from_estimator`.

    Parameters
    ----------
    factors : (str, str)
        Names of the factors on the two axes.
    first, second : ndarray
        Decimal logarithms of the two factors at which the surface is known.
    response : ndarray of shape (len(second), len(first))
        The fitted surface there.
    design : DataFrame
        log10 of the two factors and the response of the design's points; the first is the centre.
    path : DataFrame
        The same of the points after it.
    best : (float, float)
        log10 of the two factors at the best point.
    measured : (array, array, array of shape (n_second, n_first)) or None
        log10 of the first and of the second factor, and responses measured on their grid.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from kernelweave import datasets
    >>> from kernelweave.display import ResponseSurfaceDisplay
    >>> from kernelweave.model_selection import ResponseSurfaceSearchCV
    >>> X, y = datasets.make_gauss(4, 100, random_state=0)
    >>> search = ResponseSurfaceSearchCV(SVC(gamma=1.0), ["C", "gamma"], cv=2).fit(X, y)
    >>> display = ResponseSurfaceDisplay.from_estimator(search)
    >>> display.design.shape, display.response.shape
    ((6, 3), (101, 101))
    """

    def __init__(
        self,
        *,
        factors: tuple[str, str],
        first: np.ndarray,
        second: np.ndarray,
        response: np.ndarray,
        design: pd.DataFrame,
        path: pd.DataFrame,
        best: tuple[float, float],
        measured: tuple[Any, Any, Any] | None = None,
    ):
        self.factors = factors
        self.first = first
        self.second = second
        self.response = response
        self.design = design
        self.path = path
        self.best = best
        self.measured = measured

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        factors: Sequence[str] | None = None,
        *,
        measured: tuple[Any, Any, Any] | None = None,
        grid_resolution: int = 101,
        ax: Any = None,
        contour_kw: Mapping[str, Any] | None = None,
    ) -> ResponseSurfaceDisplay:
        """Draw a fitted search; factors that are not on the axes are at the best point.

        Parameters
        ----------
        search : ResponseSurfaceSearchCV
            Fitted.
        factors : (str, str), optional
            The two factors to draw, by default the first two.
        measured : (array, array, array of shape (n_second, n_first)), optional
            log10 of the first and of the second factor, and responses measured on their grid.
        grid_resolution : int
            Number of values of each factor at which the surface is evaluated.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        contour_kw : mapping, optional
            Further arguments of ``contourf``.
        """
        check_is_fitted(search, "surface_")
        names = [name for name in search.design_ if name != "response"]
        factors = tuple(names[:2] if factors is None else factors)
        if len(factors) != 2 or len(set(factors)) != 2 or not set(factors) <= set(names):
            raise ValueError(f"factors must be two of the factors of the search, {names}, not {list(factors)}")
        surface, places = search.surface_, [names.index(name) for name in factors]
        first, second = (np.linspace(surface.low[i], surface.high[i], grid_resolution) for i in places)
        best = search.design_.loc[search.design_["response"].idxmin(), names].to_numpy(dtype=float)
        points = np.tile(best, (grid_resolution**2, 1))
        points[:, places] = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
        columns = [*factors, "response"]
        n_design = len(search.design_) - len(search.path_)
        display = cls(
            factors=factors,
            first=first,
            second=second,
            response=surface.predict(points).reshape(grid_resolution, grid_resolution),
            design=search.design_[columns].iloc[:n_design],
            path=search.path_[columns],
            best=tuple(best[places].tolist()),
            measured=measured,
        )
        return display.plot(ax=ax, contour_kw=contour_kw)

    def plot(self, ax: Any = None, *, contour_kw: Mapping[str, Any] | None = None) -> ResponseSurfaceDisplay:
        """Draw on the given axes, or in a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        contour_kw : mapping, optional
            Further arguments of ``contourf``.
        """
        (ax,) = new_axes(1, ax)
        shown = (self.first, self.second, self.response) if self.measured is None else self.measured
        options = {"levels": _LEVELS, "cmap": "Blues_r", **(contour_kw or {})}
        shades = ax.contourf(*shown, **options)
        if self.measured is not None:
            lines = {"levels": shades.levels, "colors": DARK, "linewidths": 0.7, "alpha": 0.7}
            ax.contour(self.first, self.second, self.response, **lines)
            ax.plot([], [], color=DARK, linewidth=0.7, alpha=0.7, label="fitted surface")
        ax.figure.colorbar(shades, ax=ax, label="fitted response" if self.measured is None else "measured response")
        self._draw_points(ax)
        ax.set(xlabel=rf"$\log_{{10}}$ {self.factors[0]}", ylabel=rf"$\log_{{10}}$ {self.factors[1]}")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_points(self, ax: Any) -> None:
        design, path = (frame[list(self.factors)].to_numpy() for frame in (self.design, self.path))
        circle = {"s": 46, "edgecolor": DARK, "linewidth": 1.1, "zorder": 3, "clip_on": False}
        ax.scatter(*design[1:].T, facecolor="white", label="design", **circle)
        ax.scatter(*design[:1].T, facecolor=DARK, label="centre", **circle)
        if len(path):
            line = {"color": _ACCENT, "linewidth": 1.2, "marker": "o", "markersize": 5, "zorder": 4, "clip_on": False}
            ax.plot(*path.T, label="path", **line)
        star = {"marker": "*", "s": 230, "facecolor": _ACCENT, "edgecolor": "white", "linewidth": 0.9, "zorder": 5}
        ax.scatter(*self.best, label="best", clip_on=False, **star)
        ax.legend(loc="best", fontsize=8, framealpha=0.9)
