"""
One machine, three kernels
==========================

The kernel decides which boundaries a support vector machine can draw. Before you combine kernels it
helps to see what each of them does alone: here a linear, a quadratic and a Gaussian kernel on the
same samples (Gönen 2010, Figure 1.1).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay

from kernelweave import MKLClassifier
from kernelweave.kernels import Gaussian, Linear, Polynomial

# %%
# The outer class lies around the inner one on three sides.

rng = np.random.default_rng(3)
angle = rng.uniform(-0.15 * np.pi, 1.15 * np.pi, 45)
outer = np.column_stack([2.6 * np.cos(angle), 2.2 * np.sin(angle)]) + 0.35 * rng.normal(
    size=(45, 2)
)
inner = np.array([0.0, -0.3]) + 0.6 * rng.normal(size=(35, 2))
X = np.vstack([outer, inner])
y = np.repeat(["outer", "inner"], [45, 35])

# %%
# A model with one kernel is a plain support vector machine. Only its support vectors are stored.

kernels = {"linear": Linear(), "quadratic": Polynomial(degree=2), "Gaussian": Gaussian(scale=1.0)}
models = {
    name: MKLClassifier([kernel], C=10.0, normalize=None).fit(X, y)
    for name, kernel in kernels.items()
}

# %%
# The linear boundary has to give up some samples. The quadratic one bends around the inner class
# and needs four support vectors; the Gaussian one follows the samples more closely and needs five
# times as many.

figure, panels = plt.subplots(
    1, 3, figsize=(7.0, 4.0), layout="constrained", sharex=True, sharey=True
)
for panel, (name, model) in zip(panels, models.items(), strict=True):
    common = {
        "response_method": "decision_function",
        "ax": panel,
        "eps": 0.8,
        "grid_resolution": 200,
    }
    lines = {
        "levels": [-1, 0, 1],
        "colors": "black",
        "linestyles": ["--", "-", "--"],
        "linewidths": [0.9, 1.6, 0.9],
    }
    DecisionBoundaryDisplay.from_estimator(model, X, plot_method="contour", **lines, **common)
    for label, ink, marker in (("outer", "#0072B2", "o"), ("inner", "#D55E00", "s")):
        panel.scatter(*X[y == label].T, s=14, color=ink, marker=marker, label=f"{label} class")
    panel.scatter(
        *X[model.support_].T, s=55, facecolor="none", edgecolor="black", label="support vector"
    )
    errors = np.count_nonzero(model.predict(X) != y)
    panel.set_title(
        f"{name}\n{len(model.support_)} support vectors\n{errors} training errors", fontsize=10
    )
    panel.set_xlabel("first feature")
panels[0].set_ylabel("second feature")
panels[0].plot([], [], color="black", linewidth=1.6, label="decision boundary")
panels[0].plot([], [], color="black", linestyle="--", linewidth=0.9, label="margins")
figure.legend(
    *panels[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=3,
    fontsize=9,
    frameon=False,
)
plt.show()
