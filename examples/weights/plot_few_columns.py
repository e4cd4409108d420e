"""
Few kernel evaluations
======================

A support vector machine compares a new sample with each support vector, by every kernel.
``ColumnBoostingClassifier`` pays for single columns, one kernel at one training sample, so that a
prediction takes a few dozen comparisons instead of thousands. C says how many.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import ColumnBoostingClassifier, MKLClassifier, datasets
from kernelweave.combiners import Mean
from kernelweave.kernels import Gaussian

# %%
# Six views of handwritten digits, small ones against large ones, with a Gaussian kernel for each.

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=400, stratify=y, random_state=0
)
views = ["fac", "fou", "kar", "mor", "pix", "zer"]
kernels = [Gaussian(view, transformer=StandardScaler()) for view in views]

# %%
# The path over C, and a machine to compare with. ``prediction_cost`` counts comparisons, divided by
# the number of kernels where all of them cost the same.

costs = [0.1, 0.2, 0.4, 0.8, 1.6, 6.4]
path = [ColumnBoostingClassifier(kernels, C=C).fit(X_train, y_train) for C in costs]
machine = MKLClassifier(kernels, Mean(), C=10.0).fit(X_train, y_train)
for C, model in zip(costs, path, strict=True):
    print(f"C = {C:3}: {len(model.columns_):3} columns, {100 * model.score(X_test, y_test):.1f} %")

# %%
# Below, the columns by kernel. Accuracy levels off at about 70 columns, of all six views.

figure, (above, below) = plt.subplots(
    2, 1, figsize=(6.4, 6.0), layout="constrained", height_ratios=[3, 2]
)
above.semilogx(
    [len(views) * model.prediction_cost() for model in path],
    [100 * model.score(X_test, y_test) for model in path],
    color="black",
    marker="o",
    label="columns, C from 0.1 to 6.4",
)
above.plot(
    len(views) * machine.prediction_cost(),
    100 * machine.score(X_test, y_test),
    color="#777777",
    marker="s",
    linestyle="",
    label="support vector machine on the mean of kernels",
)
above.set(xlabel="comparisons for one prediction", ylabel="test accuracy (%)")
above.legend(fontsize=9, loc="lower right")
bottom = np.zeros(len(path))
colours = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"]
for m, (view, colour) in enumerate(zip(views, colours, strict=True)):
    counts = np.array([(model.columns_[:, 1] == m).sum() for model in path])
    below.bar(range(len(costs)), counts, bottom=bottom, color=colour, label=view)
    bottom += counts
below.set_xticks(range(len(costs)), [f"{C:g}" for C in costs])
below.set(xlabel="C", ylabel="columns")
below.legend(fontsize=9, ncols=2)
for panel in (above, below):
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
