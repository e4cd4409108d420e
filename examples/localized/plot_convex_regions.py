"""
Regions that are found first
============================

Localized multiple kernel learning finds regions and kernel weights together, by a descent that
ends at one of many local minima. With regions that are found first, as clusters of the samples,
the weights of all regions are one convex problem with a certified optimum (Lei, Binder, Dogan and
Kloft 2016). That is enough where samples that need other kernels are apart anyway.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelweave import MKLClassifier
from kernelweave.combiners import ConvexLocalized, ConvexMKL, Localized
from kernelweave.display import GatingDisplay
from kernelweave.kernels import Gaussian

# %%
# Two groups of samples. The class of those on the left follows from the second feature, and the
# class of those on the right from the first.


def draw(n, seed):
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.5
    X = rng.normal(np.where(right[:, None], [2.0, 0.0], [-2.0, 0.0]), [0.9, 1.2])
    rule = np.where(right, 1.0 - 1.6 * np.abs(X[:, 0] - 2.0), X[:, 1])
    return X, np.where(rule + 0.3 * rng.normal(size=n) > 0, "yes", "no")


X, y = draw(200, seed=1)
X_test, y_test = draw(8000, seed=2)

# %%
# A kernel of each feature: with one weight each, with weights for each of two clusters (a sample
# belongs to one of them, or to both by degrees), and with a gating model that is learned.

kernels = [
    ("first feature", Gaussian([0], scale=1.0)),
    ("second feature", Gaussian([1], scale=1.0)),
]
combiners = {
    "one weight for each kernel": ConvexMKL(),
    "two clusters": ConvexLocalized(2, p=1, softness=0),
    "two clusters, by degrees": ConvexLocalized(2, p=1, softness=0.5),
    "learned gates": Localized(),
}
models = {
    name: MKLClassifier(kernels, combiner, random_state=0).fit(X, y)
    for name, combiner in combiners.items()
}
print(models["two clusters"].region_weights_.round(2))

# %%
# The plane is tinted in the colour of the strongest kernel, the more so the stronger it is.

figure, panels = plt.subplots(
    2, 2, figsize=(7.0, 7.6), layout="constrained", sharex=True, sharey=True
)
inks = {"first feature": "#0072B2", "second feature": "#E69F00"}
for panel, (name, model) in zip(panels.flat, models.items(), strict=True):
    sizes = {"scatter_kw": {"s": 14}, "support_kw": {"s": 42}}
    display = GatingDisplay.from_estimator(
        model, X, y, colors=inks, ax=panel, legend=False, **sizes
    )
    accuracy = f"{100 * model.score(X_test, y_test):.1f} % right"
    panel.set_title(f"{name}\n{accuracy}, {len(model.support_)} support vectors", fontsize=10)
    panel.label_outer()
figure.legend(handles=display.handles_, loc="outside lower center", ncols=3, fontsize=9)
plt.show()
