"""
How much should each kernel cost?
=================================

Multiple kernel learning can overfit with a flexible kernel. A cost for each kernel prevents that,
and the costs can be found by cross-validation with few fits: fit a quadratic surface to the error,
go to its minimum, measure, fit again (regularised multiple kernel learning by response surfaces;
Gönen 2010, Figures 2.2 and 2.4).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL
from kernelweave.display import ResponseSurfaceDisplay
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.model_selection import ResponseSurfaceSearchCV

# %%
# A linear kernel, whose cost stays 1, a quadratic and a Gaussian one. The search starts from equal
# costs.

X, y = datasets.make_gauss(3, 150, random_state=1)
kernels = [Linear(), ("quadratic", Polynomial(degree=2)), Gaussian(scale="nearest")]
factors = ["combiner__costs__quadratic", "combiner__costs__gaussian"]
mkl = MKLClassifier(kernels, ConvexMKL(), C=10.0)
folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
search = ResponseSurfaceSearchCV(mkl, factors, delta=0.5, cv=folds).fit(X, y)

# %%
# For comparison only: the error at 49 points of a grid, which runs over names in alphabetical
# order.

side = 7
logarithms = np.linspace(-1.0, 1.0, side)
grid = GridSearchCV(mkl, {name: 10.0**logarithms for name in factors}, cv=folds, refit=False).fit(
    X, y
)
errors = 1.0 - grid.cv_results_["mean_test_score"].reshape(side, side)

# %%
# Above: the measured error (shades) and the fitted surface (lines). Below: with equal costs the
# model relies on the Gaussian kernel and winds around single samples; at the costs of the star it
# is smooth and has far fewer support vectors.

figure = plt.figure(figsize=(6.6, 7.2), layout="constrained")
panels = figure.subplot_mosaic(
    [["surface", "surface"], ["equal", "found"]], height_ratios=[1.15, 1]
)
ResponseSurfaceDisplay.from_estimator(
    search, measured=(logarithms, logarithms, errors), ax=panels["surface"]
)
panels["surface"].set_title(
    f"cross-validated error: {len(search.design_)} points instead of {errors.size}", fontsize=10
)
panels["surface"].set(
    xlabel=r"$\log_{10}$ cost of the quadratic kernel",
    ylabel=r"$\log_{10}$ cost of the Gaussian kernel",
)
panels["surface"].figure.axes[-1].set_ylabel("cross-validated error")

for name, model in (("equal", clone(mkl).fit(X, y)), ("found", search.best_estimator_)):
    common = {
        "response_method": "decision_function",
        "ax": panels[name],
        "grid_resolution": 200,
        "eps": 0.6,
    }
    DecisionBoundaryDisplay.from_estimator(
        model, X, plot_method="contour", levels=[0.0], colors="black", linewidths=1.6, **common
    )
    for label, ink, marker in ((-1, "#0072B2", "o"), (1, "#D55E00", "s")):
        panels[name].scatter(
            *X[y == label].T, s=11, color=ink, marker=marker, label=f"class {label}"
        )
    panels[name].scatter(
        *X[model.support_].T,
        s=42,
        facecolor="none",
        edgecolor="black",
        linewidth=0.7,
        label="support vector",
    )
    print(f"{name} costs: weights {model.kernel_weights_.round(2).to_dict()}")
    panels[name].set_title(f"{name} costs: {len(model.support_)} support vectors", fontsize=10)
    panels[name].set(xlabel="first feature", ylabel="second feature")
panels["equal"].plot([], [], color="black", linewidth=1.6, label="decision boundary")
handles, labels = panels["equal"].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9, frameon=False)
plt.show()
