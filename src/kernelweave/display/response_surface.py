"""`ResponseSurfaceDisplay`: a response-surface search over two of its factors (Gönen 2010, Figures 2.2 and 2.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ._style import new_axes

_DARK, _ACCENT = "#1f1f1f", "#d1603d"
_LEVELS = 12


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
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

        Returns
        -------
        ResponseSurfaceDisplay
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
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        contour_kw : mapping, optional
            Further arguments of ``contourf``.

        Returns
        -------
        self
        """
        (ax,) = new_axes(1, ax)
        shown = (self.first, self.second, self.response) if self.measured is None else self.measured
        options = {"levels": _LEVELS, "cmap": "Blues_r", **(contour_kw or {})}
        shades = ax.contourf(*shown, **options)
        if self.measured is not None:
            lines = {"levels": shades.levels, "colors": _DARK, "linewidths": 0.7, "alpha": 0.7}
            ax.contour(self.first, self.second, self.response, **lines)
            ax.plot([], [], color=_DARK, linewidth=0.7, alpha=0.7, label="fitted surface")
        ax.figure.colorbar(shades, ax=ax, label="fitted response" if self.measured is None else "measured response")
        self._draw_points(ax)
        ax.set(xlabel=rf"$\log_{{10}}$ {self.factors[0]}", ylabel=rf"$\log_{{10}}$ {self.factors[1]}")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_points(self, ax: Any) -> None:
        design, path = (frame[list(self.factors)].to_numpy() for frame in (self.design, self.path))
        circle = {"s": 46, "edgecolor": _DARK, "linewidth": 1.1, "zorder": 3, "clip_on": False}
        ax.scatter(*design[1:].T, facecolor="white", label="design", **circle)
        ax.scatter(*design[:1].T, facecolor=_DARK, label="centre", **circle)
        if len(path):
            line = {"color": _ACCENT, "linewidth": 1.2, "marker": "o", "markersize": 5, "zorder": 4, "clip_on": False}
            ax.plot(*path.T, label="path", **line)
        star = {"marker": "*", "s": 230, "facecolor": _ACCENT, "edgecolor": "white", "linewidth": 0.9, "zorder": 5}
        ax.scatter(*self.best, label="best", clip_on=False, **star)
        ax.legend(loc="best", fontsize=8, framealpha=0.9)
