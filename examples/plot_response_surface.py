"""Regularised multiple kernel learning by response surfaces (Gönen 2010, Figures 2.2 and 2.4).

Left: the cross-validated error on GAUSS3 over the costs of a quadratic and a Gaussian kernel, the linear kernel's being
1, measured on a grid (shades), and the quadratic surface that the search fits (lines). The search measures the design
around equal costs (circles), then at the minimum of the surface, which it fits again, until that minimum stays. Right:
plain MKL relies on the Gaussian kernel and overfits; at the costs of the star it is smoother, with fewer support
vectors (circled).
"""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold

from figures import COLOURS, frame, on_grid, plt, save, scatter
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL
from kernelweave.display import ResponseSurfaceDisplay
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.model_selection import ResponseSurfaceSearchCV

X, y = datasets.make_gauss(3, 200, random_state=1)
factors = ["combiner__costs__polynomial", "combiner__costs__gaussian"]
mkl = MKLClassifier([Linear(), Polynomial(degree=2), Gaussian(scale="nearest")], ConvexMKL(), C=10.0)
folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
search = ResponseSurfaceSearchCV(mkl, factors, delta=0.5, cv=folds).fit(X, y)

logarithms = np.linspace(-1.0, 1.0, 7)
grid = GridSearchCV(mkl, {name: 10.0**logarithms for name in factors}, cv=folds, refit=False).fit(X, y)
# The grid runs over the names in alphabetical order: the Gaussian kernel's cost is the slow one.
errors = 1.0 - grid.cv_results_["mean_test_score"].reshape(7, 7)

figure, panels = plt.subplots(1, 3, figsize=(13.0, 4.1), layout="constrained", width_ratios=[1.35, 1, 1])
display = ResponseSurfaceDisplay.from_estimator(search, measured=(logarithms, logarithms, errors), ax=panels[0])
panels[0].set_title(f"cross-validated error: {len(search.design_)} points instead of {errors.size}", fontsize=10)
panels[0].set(xlabel=r"$\log_{10}\, d_P$", ylabel=r"$\log_{10}\, d_G$")
labels = (y > 0).astype(int)
for panel, model, name in zip(panels[1:], [clone(mkl).fit(X, y), search.best_estimator_], ["MKL", "RMKL"], strict=True):
    first, second, values = on_grid(model.decision_function, X)
    panel.contourf(first, second, values, [-np.inf, 0, np.inf], colors=COLOURS[:2], alpha=0.12)
    panel.contour(first, second, values, [0], colors="black", linewidths=1.3)
    scatter(panel, X, labels, model.support_, size=14)
    weights = ", ".join(f"{weight:.2f}" for weight in model.kernel_weights_)
    frame(panel, f"{name}: {len(model.support_)} support vectors\nweights {weights}")
save(figure, "response_surface.png")
