"""
Two regions, each with a direction of its own
=============================================

No single direction separates these classes. One direction in each of two regions does, and the
model finds the regions and the directions together (local projection kernels; Gönen 2010, Figures
4.3 and 4.4).
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import ProjectionDisplay
from kernelweave.kernels import Linear

X, y, _ = datasets.make_local_projection_toy(n_samples=200, random_state=0)
cluster = np.char.add(
    np.where(X[:, 1] > 0, "upper ", "lower "), np.where(X[:, 0] > 0, "right", "left")
)

# %%
# One projection, and two with a gating model.

one = MKLClassifier([Linear()], Projected(1), C=10.0, normalize=None, random_state=0).fit(X, y)
combiner = Projected(1, Softmax(), constraint="norm", n_init=5)
kernels = [("one", Linear()), ("two", Linear())]
model = MKLClassifier(kernels, combiner, C=10.0, normalize=None, random_state=0).fit(X, y)

# %%
# Top left: the plane with the line between the regions, the direction of each region and the
# decision boundary. Below: each sample along the direction of its region. Top right: both
# projections, each times its gate, against each other: one straight line separates the classes, and
# all four clusters can still be seen.

figure = plt.figure(figsize=(7.0, 6.6), layout="constrained")
panels = figure.subplot_mosaic([["plane", "joint"], ["one", "two"]], height_ratios=[1.7, 1])
plane = panels["plane"]
for label, ink in ((-1, "#0072B2"), (1, "#D55E00")):
    for name, marker in zip(np.unique(cluster), "os^D", strict=True):
        rows = (y == label) & (cluster == name)
        plane.scatter(*X[rows].T, s=16, color=ink, marker=marker, edgecolor="white", linewidth=0.3)
axes = np.linspace(X.min(axis=0) - 0.6, X.max(axis=0) + 0.6, 200).T
grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
values = model.decision_function(grid).reshape(200, 200)
gates = model.kernel_weights(grid)["one"].to_numpy().reshape(200, 200)
plane.contour(
    *axes,
    values,
    levels=[-1, 0, 1],
    colors="black",
    linestyles=["--", "-", "--"],
    linewidths=[0.9, 1.6, 0.9],
)
plane.contour(*axes, gates, levels=[0.5], colors="black", linestyles="-.", linewidths=1.2)
for name, W in model.projections_.items():
    start = X[model.region(X) == name].mean(axis=0)
    arrow = {"arrowstyle": "->", "linewidth": 2.0, "color": "#7A1F5C"}
    plane.annotate("", start + 1.5 * W.to_numpy()[:, 0], start, arrowprops=arrow, zorder=5)
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    style = {"color": "#7A1F5C", "fontsize": 9, "ha": "center", "bbox": box, "zorder": 5}
    plane.annotate(f"direction of {name}", start, (0, -15), textcoords="offset points", **style)
plane.set(xlabel="first feature", ylabel="second feature")
plane.set_title(
    f"{100 * model.score(X, y):.0f} % right; one projection: {100 * one.score(X, y):.0f} %",
    fontsize=10,
)

sizes = {"scatter_kw": {"s": 16}, "support_kw": {"s": 48}, "legend": False}
ProjectionDisplay.from_estimator(
    model, X, y, marks=cluster, ax=[panels["one"], panels["two"]], **sizes
)
display = ProjectionDisplay.from_estimator(
    model, X, y, kind="joint", marks=cluster, ax=panels["joint"], **sizes
)
panels["one"].set_ylabel("class", fontsize=9)
region = plt.Line2D([], [], color="black", linestyle="-.", linewidth=1.2, label="equal gates")
figure.legend(
    handles=[*display.handles_, region],
    loc="outside lower center",
    ncols=4,
    fontsize=9,
    frameon=False,
)
plt.show()
