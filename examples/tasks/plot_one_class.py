"""
The region of the samples: novelty detection
============================================

Sometimes only normal samples are known, and new ones are to be flagged where they look different. A
one-class machine encloses most samples with the smoothest boundary that it can find and leaves at
most a share ``nu`` outside (Gönen 2010, Figure 1.3).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay

from kernelweave import MKLOneClass
from kernelweave.kernels import Gaussian

# %%
# Two clouds of normal samples, and six samples that lie anywhere. There are no labels.

rng = np.random.default_rng(4)
left = np.array([-2.5, 0.0]) + rng.normal(size=(60, 2)) * [0.7, 1.1]
right = np.array([2.0, 1.0]) + rng.normal(size=(60, 2)) * [1.1, 0.6]
X = np.vstack([left, right, rng.uniform([-6, -4], [6, 5], size=(6, 2))])

# %%
# With ``nu=0.1`` at most one sample in ten is outside; ``predict`` is -1 there.

model = MKLOneClass([Gaussian(scale=2.0)], nu=0.1, tol=1e-6).fit(X)
inside = model.predict(X) > 0

figure, panel = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
common = {"response_method": "decision_function", "ax": panel, "eps": 0.6, "grid_resolution": 300}
DecisionBoundaryDisplay.from_estimator(
    model, X, plot_method="contourf", levels=[0.0, np.inf], colors=["#0072B2"], alpha=0.12, **common
)
DecisionBoundaryDisplay.from_estimator(
    model, X, plot_method="contour", levels=[0.0], colors="black", **common
)
panel.scatter(*X[inside].T, s=20, color="#0072B2", label="sample inside")
panel.scatter(*X[~inside].T, s=32, color="#D55E00", marker="X", label="sample outside")
panel.scatter(
    *X[model.support_].T, s=95, facecolor="none", edgecolor="black", label="support vector"
)
panel.plot([], [], color="black", label="boundary")
panel.set(xlabel="first feature", ylabel="second feature")
panel.set_title(f"{np.count_nonzero(~inside)} of {len(X)} samples are outside", fontsize=10)
figure.legend(
    *panel.get_legend_handles_labels(),
    loc="outside lower center",
    ncols=4,
    fontsize=9,
    frameon=False,
)
plt.show()
