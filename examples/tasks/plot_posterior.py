"""
Labels that may be wrong
========================

A few samples lie deep inside another class, as mislabelled ones do. With hard labels the machine
pays for each of them and bends its boundary. Soft labels are the shares of the classes among a
sample's neighbours: the neighbours outvote a wrong label, and it hardly pulls (Gönen 2010, Figure
1.5).
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelweave import MKLClassifier
from kernelweave.kernels import Polynomial

rng = np.random.default_rng(2)
centres = np.array([[-2.0, -1.0], [2.0, -1.0], [0.0, 2.0]])
y = np.arange(60) % 3
X = centres[y] + 0.6 * rng.normal(size=(60, 2))
X[:3] = [[1.0, -0.6], [0.1, 1.1], [-1.2, -0.4]]  # of class 0, 1 and 2, each in the next class

# %%
# Both models are the joint machine with a quadratic kernel; the second one estimates soft labels
# from seven neighbours.

common = {"C": 10.0, "normalize": None, "multiclass": "joint"}
models = {
    "hard labels": MKLClassifier([Polynomial(degree=2)], **common).fit(X, y),
    "soft labels": MKLClassifier(
        [Polynomial(degree=2)], soft_labels="knn", n_neighbors=7, **common
    ).fit(X, y),
}

# %%
# Large markers are the three wrong labels. With soft labels the islands around them are gone.

low, high = X.min(axis=0) - 0.6, X.max(axis=0) + 0.6
grid = np.stack(np.meshgrid(*np.linspace(low, high, 300).T), axis=-1)
axes = grid.T.swapaxes(1, 2)
colours, markers = ["#0072B2", "#D55E00", "#009E73"], ["o", "s", "^"]
figure, panels = plt.subplots(1, 2, figsize=(7.0, 4.2), layout="constrained", sharey=True)
for panel, (name, model) in zip(panels, models.items(), strict=True):
    values = model.decision_function(grid.reshape(-1, 2)).reshape(300, 300, 3)
    panel.contourf(
        *axes, values.argmax(axis=2), levels=[-0.5, 0.5, 1.5, 2.5], colors=colours, alpha=0.12
    )
    for label in range(3):
        others = np.delete(values, label, axis=2).max(axis=2)
        panel.contour(
            *axes, values[:, :, label] - others, levels=[0.0], colors="black", linewidths=1.2
        )
        ink = {"color": colours[label], "marker": markers[label]}
        panel.scatter(*X[3:][y[3:] == label].T, s=20, label=f"class {label}", **ink)
        panel.scatter(*X[label], s=75, edgecolor="black", zorder=3, **ink)
    panel.scatter(
        *X[model.support_].T, s=110, facecolor="none", edgecolor="black", label="support vector"
    )
    panel.set_title(f"{name}: {len(model.support_)} support vectors", fontsize=10)
    panel.set_xlabel("first feature")
panels[0].set_ylabel("second feature")
panels[0].scatter([], [], s=75, color="white", edgecolor="black", label="wrong label (large)")
panels[0].plot([], [], color="black", linewidth=1.2, label="decision boundary")
figure.legend(
    *panels[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=3,
    fontsize=9,
    frameon=False,
)
plt.show()
