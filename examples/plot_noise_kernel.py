"""The weight of a noise kernel against C.

Six linear kernels over the views of handwritten digits, and a seventh, Gaussian kernel over five columns of random
numbers. Multiple kernel learning does not promise that such a kernel gets weight 0. Left: at small C, where margins may
be violated, it does; at large C, where every training sample is to be fitted, a Gaussian kernel under which all samples
differ lowers J most, even if it is made of noise. Right: that costs little test accuracy, but twice the support
vectors. So look at the weights against C before you read them as importance.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from figures import COLOURS, plt, save
from kernelweave import MKLClassifier, datasets, stack_views
from kernelweave.combiners import ConvexMKL
from kernelweave.kernels import Gaussian, Linear

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
views = ["fac", "fou", "kar", "mor", "pix", "zer"]
noise = stack_views({"noise": np.random.default_rng(0).normal(size=(len(X), 5))})
parts = train_test_split(pd.concat([X, noise], axis=1), y, train_size=667, stratify=y, random_state=0)
scaler = StandardScaler().set_output(transform="pandas").fit(parts[0])
X_train, X_test, y_train, y_test = scaler.transform(parts[0]), scaler.transform(parts[1]), *parts[2:]

costs = 10.0 ** np.arange(-1.5, 2.1, 0.5)
digits = [Linear(view) for view in views]
models = {
    name: [MKLClassifier(kernels, ConvexMKL(), C=C).fit(X_train, y_train) for C in costs]
    for name, kernels in {
        "six views": digits,
        "six views and noise": [*digits, Gaussian("noise", scale="nearest")],
    }.items()
}

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
weights = pd.DataFrame([model.kernel_weights_ for model in models["six views and noise"]])
shades = plt.get_cmap("Greys")(np.linspace(0.35, 0.8, len(views)))
for view, shade, marker in zip(views, shades, "sv^Dp*", strict=True):
    left.semilogx(costs, weights[view], color=shade, marker=marker, markersize=4, linewidth=1, label=view)
left.semilogx(costs, weights["noise"], color=COLOURS[1], marker="o", linewidth=2.2, label="noise")
left.set(xlabel="C", ylabel="weight", title="Weights of seven kernels")
left.legend(frameon=False, ncols=2, fontsize=9)

for (name, fitted), colour in zip(models.items(), COLOURS, strict=False):
    accuracy = [100 * model.score(X_test, y_test) for model in fitted]
    support = [100 * len(model.support_) / len(X_train) for model in fitted]
    right.semilogx(costs, accuracy, color=colour, marker="o", markersize=4, label=f"accuracy, {name}")
    right.semilogx(costs, support, color=colour, marker="o", markersize=4, linestyle="--", label=f"support, {name}")
right.set(xlabel="C", ylabel="per cent", title="Test accuracy and support vectors", ylim=(0, 102))
right.legend(frameon=False, fontsize=9, loc=(0.42, 0.56))
save(figure, "noise_kernel.png")
