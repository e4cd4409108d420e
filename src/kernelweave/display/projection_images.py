"""`ProjectionImagesDisplay`: projections and gates of a model of images, drawn as images (Gönen 2010, Figure 5.18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ._models import locate_projected
from ._style import new_axes, options


class ProjectionImagesDisplay:
    """Columns of projections W_m and slopes v_m of gates as images, where features are pixels.

    A bright pixel of W_m moves a sample up in the projection space of region m, a dark one down; a bright pixel of v_m
    increases the gate of region m. Grey means 0, and every image is scaled separately. Where gating inputs are
    projected, T v_m is drawn: thesis Figure 5.18 (Gönen, 2010). Made by `from_estimator`.

    Parameters
    ----------
    images : dict of str to ndarray of shape (height, width)
        By title.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Projected, Softmax
    >>> from kernelweave.display import ProjectionImagesDisplay
    >>> from kernelweave.kernels import Linear
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> model = MKLClassifier([Linear(), Linear()], Projected(1, Softmax()), random_state=0).fit(X[:200], y[:200] > 1)
    >>> display = ProjectionImagesDisplay.from_estimator(model, image_shape=(8, 8))
    >>> list(display.images)
    ['projection of linear', 'projection of linear-2', 'gate of linear', 'gate of linear-2']
    """

    def __init__(self, *, images: Mapping[str, np.ndarray]):
        self.images = dict(images)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, image_shape: tuple[int, int], gates: bool = True, **plot_kw: Any
    ) -> ProjectionImagesDisplay:
        """Draw what a fitted model has learned of images.

        Parameters
        ----------
        estimator : object
            Fitted, with the combiner `Projected`; or a pipeline or search around such a model.
        image_shape : (int, int)
            Height and width of the images, whose pixels are the features row by row.
        gates : bool
            Whether to draw slopes of gates too, where scores are linear in the gating inputs.
        **plot_kw
            Arguments of `plot`.

        Returns
        -------
        ProjectionImagesDisplay
        """
        model, _ = locate_projected(estimator)
        images: dict[str, Any] = {}
        for name in model.active_kernels_:
            hint = f"the kernel {name!r}"
            directions = model.projections_[name]
            single = directions.set_axis([name], axis=1) if directions.shape[1] == 1 else directions
            images |= _images("projection", single, image_shape, hint)
        if gates and hasattr(model, "gating_coef_"):
            images |= _images(
                "gate", model.gating_coef_[model.active_kernels_], image_shape, "the gating model (see gates=False)"
            )
        return cls(images=images).plot(**plot_kw)

    def plot(self, ax: Any = None, *, image_kw: Mapping[str, Any] | None = None) -> ProjectionImagesDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Where to draw, one for each image; a new figure by default.
        image_kw : mapping, optional
            Further arguments of ``imshow``.

        Returns
        -------
        self
        """
        columns = min(4, len(self.images))
        rows = -(-len(self.images) // columns)
        axes = new_axes(len(self.images), ax, nrows=rows, ncols=columns, figsize=(2.2 * columns, 2.4 * rows))
        for panel, (title, image) in zip(axes, self.images.items(), strict=True):
            largest = max(np.abs(image).max(), np.finfo(float).tiny)
            panel.imshow(image, **options({"cmap": "gray", "vmin": -largest, "vmax": largest}, image_kw))
            panel.set_title(title, fontsize=9)
            panel.set(xticks=[], yticks=[])
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self


def _images(what: str, columns: pd.DataFrame, shape: tuple[int, int], owner: str) -> dict[str, np.ndarray]:
    """Each column as an image."""
    if len(columns) != np.prod(shape):
        raise ValueError(f"image_shape {tuple(shape)} has {np.prod(shape)} pixels, but {owner} reads {len(columns)}")
    return {f"{what} of {name}": columns[name].to_numpy().reshape(shape) for name in columns}
