"""
How multiple kernel learning converges
======================================

Each step of multiple kernel learning solves a machine, so what counts is the number of solves.
Better steps are worth more than cheaper ones: use this picture to see whether a fit that takes long
would have been done earlier.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Localized
from kernelweave.display import ConvergenceDisplay
from kernelweave.kernels import Linear

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)[::5]
y = y[::5]
kernels = [Linear(view) for view in ["fac", "fou", "kar", "mor", "pix", "zer"]]

# %%
# One weight for each kernel: the optimum is unique. SimpleMKL's reduced gradient pays for every
# step of its line search with a solve of the machine. The Newton solver also uses the curvature of
# the optimum and needs a handful.
#
# Gates: gradient descent with Armijo's rule, as in the papers, ends a little higher than L-BFGS.

convex = {
    "reduced gradient (SimpleMKL)": ConvexMKL(solver="reduced-gradient"),
    "Newton": ConvexMKL(solver="newton"),
}
localized = {
    "Armijo descent": Localized(l2=0.01, optimizer="armijo"),
    "L-BFGS": Localized(l2=0.01, optimizer="lbfgs"),
}

# %%
# Above: the best objective so far (left: less the smallest one). Below: the support vectors there.

figure, panels = plt.subplots(
    2, 2, figsize=(7.0, 5.0), layout="constrained", sharex="col", height_ratios=[1.6, 1.0]
)
stories = (("one weight for each kernel", convex, "excess"), ("gates", localized, "log"))
for column, (title, combiners, scale) in zip(panels.T, stories, strict=True):
    models = {
        name: MKLClassifier(kernels, combiner, C=10.0, random_state=0).fit(X, y)
        for name, combiner in combiners.items()
    }
    ConvergenceDisplay.from_estimators(models, ax=column, scale=scale, best_so_far=True)
    column[0].set_title(title, fontsize=10)
plt.show()
