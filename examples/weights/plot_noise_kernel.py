"""
A kernel made of noise, and its weight
======================================

Does multiple kernel learning give a useless kernel weight 0? Not always: it depends on C. Look at
the weights against C before you read them as importance.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets, stack_views
from kernelweave.combiners import ConvexMKL
from kernelweave.kernels import Gaussian, Linear

# %%
# Six linear kernels over the views of handwritten digits, and a Gaussian kernel over five columns
# of random numbers.

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
views = ["fac", "fou", "kar", "mor", "pix", "zer"]
noise = stack_views({"noise": np.random.default_rng(0).normal(size=(len(X), 5))})
parts = train_test_split(
    pd.concat([X, noise], axis=1), y, train_size=500, stratify=y, random_state=0
)
scaler = StandardScaler().set_output(transform="pandas").fit(parts[0])
X_train, X_test, y_train, y_test = (
    scaler.transform(parts[0]),
    scaler.transform(parts[1]),
    *parts[2:],
)

costs = 10.0 ** np.arange(-1.5, 2.1, 0.5)
digits = [Linear(view) for view in views]
lists = {"six views": digits, "six views and noise": [*digits, Gaussian("noise", scale="nearest")]}
models = {
    name: [MKLClassifier(kernels, ConvexMKL(), C=C).fit(X_train, y_train) for C in costs]
    for name, kernels in lists.items()
}

# %%
# At small C, where margins may be violated, the noise kernel has weight 0. At large C every
# training sample is to be fitted, and a Gaussian kernel under which all samples differ helps most
# with that, even if it is made of noise. It costs hardly any test accuracy, but twice the support
# vectors.

figure = plt.figure(figsize=(7.0, 5.6), layout="constrained")
panels = figure.subplot_mosaic(
    [["weights", "weights"], ["accuracy", "support"]], height_ratios=[1.25, 1]
)
weights = pd.DataFrame([model.kernel_weights_ for model in models["six views and noise"]])
inks = dict(
    zip(views, ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"], strict=True)
)
for (view, ink), marker in zip(inks.items(), "sv^Dp*", strict=True):
    panels["weights"].semilogx(
        costs, weights[view], color=ink, marker=marker, markersize=5, linewidth=1.2, label=view
    )
style = {"color": "black", "marker": "o", "markersize": 6, "linewidth": 2.6}
panels["weights"].semilogx(costs, weights["noise"], label="noise", **style)
panels["weights"].set(ylabel="kernel weight", xlabel="C")
panels["weights"].set_title("weights of seven kernels", fontsize=10)
panels["weights"].legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)

for name, ink, dashes in (("six views", "#8c8c8c", "--"), ("six views and noise", "black", "-")):
    style = {"color": ink, "linestyle": dashes, "marker": "o", "markersize": 4, "label": name}
    panels["accuracy"].semilogx(
        costs, [100 * model.score(X_test, y_test) for model in models[name]], **style
    )
    panels["support"].semilogx(
        costs, [100 * len(model.support_) / len(X_train) for model in models[name]], **style
    )
panels["accuracy"].set(xlabel="C", ylabel="test accuracy (%)")
panels["support"].set(xlabel="C", ylabel="support vectors (%)")
panels["accuracy"].legend(fontsize=9, frameon=False)
for panel in panels.values():
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
