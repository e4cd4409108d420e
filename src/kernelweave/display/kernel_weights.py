"""`KernelWeightsDisplay`: how much each kernel counts, with its spread over folds or samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..validation import Choice, check
from ._models import locate
from ._style import DARK, colour, legend_beside, new_axes, options

_KINDS = Choice("auto", "bar", "heatmap")
_NO_SPREAD = 1e-9  # what rounding leaves of equal weights
_MOST_BARS = 4  # groups that are still legible side by side


class KernelWeightsDisplay:
    """Kernel weights by kernel name, as bars with their spread or as a heat map.

    Bars are means over the rows of `weights` with the same label, error bars one standard deviation to either side.
    Rows are folds, samples, or single models; labels are methods or, where the weights differ between classes, classes.
    Made by `from_estimator`, `from_estimators` or `from_cv_results`.

    Parameters
    ----------
    weights : DataFrame of shape (n_rows, n_kernels)
        Columns are kernel names. The index holds the label of each row's group; rows of a group have the same label.

    Attributes
    ----------
    mean, spread : DataFrame of shape (n_groups, n_kernels)
        Mean and standard deviation of each group; the latter is NaN where a group has one row only.
    bars_ : list of matplotlib BarContainer
        One for each group (bars only).
    image_ : matplotlib AxesImage
        The heat map (heat map only).
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import ConvexMKL
    >>> from kernelweave.display import KernelWeightsDisplay
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> X, y = datasets.make_gauss(4, 90, random_state=0)
    >>> model = MKLClassifier([Linear(), Gaussian(scale=2.0)], ConvexMKL())
    >>> results = cross_validate(model, X, y, cv=3, return_estimator=True)
    >>> display = KernelWeightsDisplay.from_cv_results(results)
    >>> display.weights.shape, list(display.mean)
    ((3, 2), ['linear', 'gaussian'])
    """

    def __init__(self, *, weights: pd.DataFrame):
        self.weights = weights
        groups = weights.groupby(level=0, sort=False)
        self.mean = groups.mean()
        self.spread = groups.std()

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, **plot_kw: Any) -> KernelWeightsDisplay:
        """Draw the weights of one fitted model.

        Parameters
        ----------
        estimator : object
            Fitted, with labelled `kernel_weights_`: an estimator or transformer, or a pipeline or search around one.
        X : array or DataFrame of shape (n_samples, n_features), optional
            Draw the weights that the model gives these samples, with their spread, instead of `kernel_weights_`.
        **plot_kw
            Arguments of `plot`.

        Returns
        -------
        KernelWeightsDisplay
        """
        return cls.from_estimators([estimator], X, **plot_kw)

    @classmethod
    def from_estimators(cls, estimators: Any, X: Any = None, **plot_kw: Any) -> KernelWeightsDisplay:
        """Draw the weights of several fitted models.

        Parameters
        ----------
        estimators : sequence or mapping
            Models with the same kernels, such as those of the folds of a cross-validation; or a mapping from labels to
            models or to sequences of models, whose groups of bars then stand side by side.
        X : array or DataFrame of shape (n_samples, n_features), optional
            Draw the weights that the models give these samples instead of `kernel_weights_`.
        **plot_kw
            Arguments of `plot`.

        Returns
        -------
        KernelWeightsDisplay
        """
        groups = estimators if isinstance(estimators, Mapping) else {"": estimators}
        frames = [
            _labelled_weights(model, X, label)
            for label, models in groups.items()
            for model in (models if isinstance(models, list | tuple | np.ndarray) else [models])
        ]
        if not frames:
            raise ValueError("estimators must hold at least one fitted model")
        names = list(frames[0].columns)
        for frame in frames:
            if list(frame.columns) != names:
                raise ValueError(f"estimators must have the same kernels, but have {names} and {list(frame.columns)}")
        return cls(weights=pd.concat(frames)).plot(**plot_kw)

    @classmethod
    def from_cv_results(cls, cv_results: Mapping[str, Any], X: Any = None, **plot_kw: Any) -> KernelWeightsDisplay:
        """Draw the weights over the folds of ``cross_validate(..., return_estimator=True)``.

        Parameters
        ----------
        cv_results : mapping
            What `cross_validate` returned; or a mapping from labels to such results.
        X : array or DataFrame of shape (n_samples, n_features), optional
            Draw the weights that the models give these samples instead of `kernel_weights_`.
        **plot_kw
            Arguments of `plot`.

        Returns
        -------
        KernelWeightsDisplay
        """
        several = all(isinstance(result, Mapping) for result in cv_results.values())
        results = dict(cv_results) if several else {"": cv_results}
        for result in results.values():
            if "estimator" not in result:
                raise ValueError("cv_results has no fitted models: call cross_validate with return_estimator=True")
        return cls.from_estimators(
            {label: list(result["estimator"]) for label, result in results.items()}, X, **plot_kw
        )

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "auto",
        largest: int | None = None,
        bar_kw: Mapping[str, Any] | None = None,
        error_kw: Mapping[str, Any] | None = None,
        image_kw: Mapping[str, Any] | None = None,
    ) -> KernelWeightsDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : {"auto", "bar", "heatmap"}
            Bars, or one shaded row for each group; "auto" takes bars for up to four groups.
        largest : int, optional
            Draw only so many kernels, those of largest weight averaged over the groups, in that order.
        bar_kw, error_kw, image_kw : mapping, optional
            Further arguments of ``bar``, ``errorbar`` and ``imshow``.

        Returns
        -------
        self
        """
        check(None, "kind", kind, _KINDS)
        mean, spread = self.mean, self.spread
        if largest is not None:
            order = mean.mean().sort_values(ascending=False, kind="stable").index[:largest]
            mean, spread = mean[order], spread[order]
        bars = len(mean) <= _MOST_BARS if kind == "auto" else kind == "bar"
        n_groups, n_kernels = mean.shape
        width = np.clip(2.0 + n_kernels * (0.25 + 0.25 * n_groups), 4.5, 10.0) if bars else 2.0 + 0.65 * n_kernels
        height = 3.4 if bars else 1.2 + 0.32 * n_groups
        (ax,) = new_axes(1, ax, figsize=(max(width, 4.5), max(height, 2.6)))
        if bars:
            self._draw_bars(ax, mean, spread, bar_kw, error_kw)
        else:
            self._draw_heatmap(ax, mean, image_kw)
        self._name_kernels(ax, list(mean.columns))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_bars(self, ax: Any, mean: pd.DataFrame, spread: pd.DataFrame, bar_kw: Any, error_kw: Any) -> None:
        width = 0.8 / len(mean)
        error = options({"fmt": "none", "ecolor": DARK, "elinewidth": 1.0, "capsize": 2.5}, error_kw)
        self.bars_ = []
        for group, label in enumerate(mean.index):
            places = np.arange(mean.shape[1]) + (group - (len(mean) - 1) / 2) * width
            bar = options({"width": 0.92 * width, "color": colour(group), "label": str(label)}, bar_kw)
            self.bars_.append(ax.bar(places, mean.iloc[group], **bar))
            if (spread.iloc[group] > _NO_SPREAD).any():
                ax.errorbar(places, mean.iloc[group], yerr=spread.iloc[group], **error)
        ax.axhline(0.0, color=DARK, linewidth=0.8)
        ax.set_ylabel("kernel weight")
        ax.spines[["top", "right"]].set_visible(False)
        if len(mean) > 1:
            legend_beside(ax, len(mean), handles=self.bars_)

    def _draw_heatmap(self, ax: Any, mean: pd.DataFrame, image_kw: Any) -> None:
        values = mean.to_numpy()
        chosen = options({"cmap": "Blues", "aspect": "auto", "vmin": min(0.0, values.min())}, image_kw)
        self.image_ = ax.imshow(values, **chosen)
        ax.figure.colorbar(self.image_, ax=ax, label="kernel weight")
        ax.set_yticks(range(len(mean)), [str(label) for label in mean.index])
        if values.size > 150:  # numbers in more cells could not be read
            return
        for (row, column), value in np.ndenumerate(values):
            red, green, blue, _ = self.image_.cmap(self.image_.norm(value))
            light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
            ink = {"color": DARK if light else "white", "fontsize": 8}
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", **ink)

    def _name_kernels(self, ax: Any, names: list[Any]) -> None:
        texts = [str(name) for name in names]
        crowded = sum(len(text) + 2 for text in texts) > 10 * ax.figure.get_figwidth() * ax.get_position().width
        ax.set_xticks(range(len(texts)), texts)
        if crowded:
            ax.tick_params(axis="x", rotation=40)
            for tick in ax.get_xticklabels():
                tick.set(ha="right", rotation_mode="anchor")


def _labelled_weights(estimator: Any, X: Any, label: Any) -> pd.DataFrame:
    """Weights of one model, a row for each sample and output, under the label of their group."""
    if X is None:
        weights = locate(estimator, "kernel_weights_")[0].kernel_weights_
        if isinstance(weights, pd.Series):
            weights = weights.to_frame().T.set_axis([label], axis=0)
        elif isinstance(weights, pd.DataFrame):
            weights = weights.set_axis([_joined(label, output) for output in weights.index], axis=0)
        else:
            raise ValueError("kernel_weights_ must be a Series or DataFrame, labelled by kernel name")
        return weights
    model, prepare = locate(estimator, "kernel_weights")
    weights = model.kernel_weights(prepare(X))
    if isinstance(weights.columns, pd.MultiIndex):
        outputs = weights.columns.unique(0)
        return pd.concat([weights[name].set_axis([_joined(label, name)] * len(weights), axis=0) for name in outputs])
    return weights.set_axis([label] * len(weights), axis=0)


def _joined(label: Any, output: Any) -> Any:
    return f"{label}, {output}" if label else output
