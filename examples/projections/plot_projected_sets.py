"""
A line between classes that are made of several
===============================================

Often a class is made of groups that have little in common, and no direction separates it from the
other class. Two local projections, learned together with a support vector machine, bring every
group to the right side of one straight line (as in Gönen 2010, Figures 5.15 to 5.17, on other data
sets).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import ProjectionDisplay
from kernelweave.kernels import Linear

# %%
# Wines of three cultivars, and images of three digits. One cultivar, and one digit, is the second
# class.

wine, digits = load_wine(), load_digits()
kept = np.isin(digits.target, [1, 4, 8])
groups = {
    "wine": (
        wine.data,
        np.array(["cultivar A", "cultivar B", "cultivar C"])[wine.target],
        "cultivar B",
    ),
    "digits": (
        digits.data[kept],
        np.char.add("digit ", digits.target[kept].astype(str)),
        "digit 1",
    ),
}

# %%
# Above: principal components, which do not depend on the classes. Below: the two projections
# against each other, each times its gate.

figure, panels = plt.subplots(2, 2, figsize=(7.0, 7.2), layout="constrained")
for (above, below), (name, (values, group, second)) in zip(panels.T, groups.items(), strict=True):
    X, y = StandardScaler().fit_transform(values), np.where(group == second, "second", "first")
    combiner = Projected(1, Softmax(), constraint="norm", n_init=5)
    kernels = [("one", Linear()), ("two", Linear())]
    model = MKLClassifier(kernels, combiner, C=10.0, normalize=None, random_state=0).fit(X, y)
    sizes = {"scatter_kw": {"s": 16}, "support_kw": {"s": 48}}
    ProjectionDisplay.from_estimator(model, X, y, kind="joint", marks=group, ax=below, **sizes)
    wrong = np.sum(model.predict(X) != y)
    below.set_title(f"local projections: {wrong} of {len(y)} wrong", fontsize=10)
    components = PCA(2).fit_transform(X)
    for label, marker in zip(np.unique(group), "os^", strict=True):
        ink = "#D55E00" if label == second else "#0072B2"
        style = {"s": 16, "color": ink, "marker": marker, "edgecolor": "white", "linewidth": 0.3}
        above.scatter(*components[group == label].T, label=label, **style)
    above.set(xlabel="component 1", ylabel="component 2")
    above.set_title(f"{name}: principal components", fontsize=10)
    above.spines[["top", "right"]].set_visible(False)
    above.legend(fontsize=8)
plt.show()
