"""What the example scripts share: colours, circles, decision values on a grid, the number of samples, and saving."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt

COLOURS = ["#3b6fb6", "#d1603d", "#4c9a63"]
MARKERS = ["o", "s", "^"]


def scatter(panel, X, y, support=(), size=22, edge="white"):
    """Draw samples by class; support vectors are circled."""
    for label, colour, marker in zip(range(3), COLOURS, MARKERS, strict=True):
        panel.scatter(*X[y == label].T, s=size, c=colour, marker=marker, edgecolor=edge, linewidth=0.4, zorder=3)
    circle(panel, X[list(support)])


def circle(panel, points):
    """Circle these points."""
    panel.scatter(*points.T, s=85, facecolor="none", edgecolor="black", linewidth=0.9, zorder=2)


def scatter_labels(panel, points, classes, labels):
    """Draw samples in the colours of their classes and the markers of their labels, as `ProjectionDisplay` does."""
    for place, label in enumerate(np.unique(labels)):
        rows = labels == label
        colour = ["#0072B2", "#D55E00"][np.searchsorted(np.unique(classes), classes[rows][0])]
        style = {"c": colour, "marker": MARKERS[place], "edgecolor": "white", "linewidth": 0.3}
        panel.scatter(*points[rows].T, s=20, **style)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)


def on_grid(function, X, margin=0.6, steps=300):
    """Two coordinate arrays that cover X, and `function` of every point of their grid."""
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    first, second = (np.linspace(a, b, steps) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(first, second), axis=-1)
    values = function(grid.reshape(-1, 2))
    return first, second, values.reshape(steps, steps, *values.shape[1:])


def shade_classes(panel, first, second, values):
    """Tint the plane by the class with the largest value and draw the lines between classes."""
    for label, colour in enumerate(COLOURS):
        lead = values[:, :, label] - np.delete(values, label, axis=2).max(axis=2)
        panel.contourf(first, second, lead, levels=[0, np.inf], colors=[colour], alpha=0.12)
        panel.contour(first, second, lead, levels=[0], colors="black", linewidths=1.3)


def frame(panel, title):
    """Title, and no ticks: the scale of a toy problem says nothing."""
    panel.set_title(title, fontsize=10)
    panel.set_xticks([])
    panel.set_yticks([])


def number_of_samples(default):
    """The number after ``--samples``, or `default`."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--samples", type=int, default=default)
    return parser.parse_known_args()[0].samples


def save(figure, name):
    """Save to ``--output``, or to `name` in the current folder, and say so."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, default=Path(name))
    output = parser.parse_known_args()[0].output
    figure.savefig(output, dpi=130)
    plt.close(figure)
    print(f"saved {output}")
