"""Two regions with a line of their own each: local projection kernels on four clusters (Gönen 2010, Figures 4.3, 4.4).

Each class has two clusters. No single direction separates the classes; one direction in each of two regions does, and
the gating model finds regions and directions together. Left: the plane, with the line between the regions, the two
learned directions W as arrows and the decision boundary. Middle: each sample along the direction of its region. Right:
both gated projections against each other, a plane in which one straight line separates the classes and all four
clusters can still be seen.
"""

import numpy as np

from figures import on_grid, plt, save
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import EmbeddingDisplay, ProjectionDisplay
from kernelweave.kernels import Linear

X, y, _ = datasets.make_local_projection_toy(n_samples=200, random_state=0)
cluster = np.char.add(np.where(X[:, 1] > 0, "upper ", "lower "), np.where(X[:, 0] > 0, "right", "left"))
one = MKLClassifier([Linear()], Projected(1), C=10.0, normalize=None, random_state=0).fit(X, y)
combiner = Projected(1, Softmax(), constraint="norm", n_init=5)
two = [("one", Linear()), ("two", Linear())]
model = MKLClassifier(two, combiner, C=10.0, normalize=None, random_state=0).fit(X, y)


def draw_plane(panel):
    """Samples, the line between the regions, the direction of each, and the decision boundary."""
    EmbeddingDisplay.from_embedding(X, y, ax=panel, legend=False)
    first, second, values = on_grid(model.decision_function, X)
    panel.contour(first, second, values, levels=[-1, 0, 1], colors="black", linestyles=["--", "-", "--"])
    first, second, gates = on_grid(lambda points: model.kernel_weights(points)["one"].to_numpy(), X)
    panel.contour(first, second, gates, levels=[0.5], colors="black", linestyles="-.", linewidths=2.2)
    for name, W in model.projections_.items():
        start = X[model.region(X) == name].mean(axis=0)
        tip = start + 1.3 * W.to_numpy()[:, 0]
        arrow = {"arrowstyle": "->", "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0, "color": "#7A1F5C"}
        panel.annotate("", tip, start, arrowprops=arrow, zorder=5)
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        style = {"color": "#7A1F5C", "fontsize": 9, "ha": "center", "bbox": box, "zorder": 5}
        panel.annotate(f"W of {name}", (start + tip) / 2, (0, 9), textcoords="offset points", **style)
    panel.set(aspect="equal", xlabel="", ylabel="")
    story = f"{100 * model.score(X, y):.0f} % right; with one projection {100 * one.score(X, y):.0f} %"
    panel.set_title(story, fontsize=10)


layout = [["plane", "one", "joint"], ["plane", "two", "joint"]]
figure, panels = plt.subplot_mosaic(layout, figsize=(13.0, 4.4), width_ratios=[4, 3, 4], layout="constrained")
draw_plane(panels["plane"])
ProjectionDisplay.from_estimator(model, X, y, ax=[panels["one"], panels["two"]], legend=False)
ProjectionDisplay.from_estimator(model, X, y, kind="joint", marks=cluster, ax=panels["joint"])
save(figure, "projected_toy.png")
