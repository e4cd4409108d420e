"""
Three classes in one machine
============================

One-vs-one and one-vs-all split a problem with several classes into binary ones. The joint machine
learns the discriminants of all classes at once and stores few samples: the discriminant of a
sample's own class should exceed every other by 2 (Gönen 2010, Figure 1.4).
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelweave import MKLClassifier
from kernelweave.kernels import Linear

rng = np.random.default_rng(5)
centres = np.array([[-2.0, -1.2], [2.0, -1.2], [0.0, 2.0]])
y = np.arange(75) % 3
X = centres[y] + 0.85 * rng.normal(size=(75, 2))
model = MKLClassifier([Linear()], C=1.0, normalize=None, multiclass="joint").fit(X, y)

# %%
# ``decision_function`` has one column for each class. Where the lead of the largest value is 0 the
# class changes; where it is 2 the margin begins.

low, high = X.min(axis=0) - 0.6, X.max(axis=0) + 0.6
grid = np.stack(np.meshgrid(*np.linspace(low, high, 300).T), axis=-1)
values = model.decision_function(grid.reshape(-1, 2)).reshape(300, 300, 3)
second, first = np.sort(values, axis=2)[:, :, 1:].transpose(2, 0, 1)

colours, markers = ["#0072B2", "#D55E00", "#009E73"], ["o", "s", "^"]
figure, panel = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
panel.contourf(
    *grid.T.swapaxes(1, 2),
    values.argmax(axis=2),
    levels=[-0.5, 0.5, 1.5, 2.5],
    colors=colours,
    alpha=0.12,
)
panel.contour(
    *grid.T.swapaxes(1, 2),
    first - second,
    levels=[2.0],
    colors="black",
    linestyles="--",
    linewidths=0.9,
)
for label in range(3):
    others = np.delete(values, label, axis=2).max(axis=2)
    panel.contour(
        *grid.T.swapaxes(1, 2), values[:, :, label] - others, levels=[0.0], colors="black"
    )
    panel.scatter(
        *X[y == label].T, s=22, color=colours[label], marker=markers[label], label=f"class {label}"
    )
panel.scatter(
    *X[model.support_].T, s=95, facecolor="none", edgecolor="black", label="support vector"
)
panel.plot([], [], color="black", label="decision boundary")
panel.plot([], [], color="black", linestyle="--", label="lead of 2")
panel.set(xlabel="first feature", ylabel="second feature")
panel.set_title(
    f"linear kernel: {len(model.support_)} of {len(X)} samples are support vectors", fontsize=10
)
figure.legend(
    *panel.get_legend_handles_labels(),
    loc="outside lower center",
    ncols=3,
    fontsize=9,
    frameon=False,
)
plt.show()
