"""
Iris in the plane, with and without labels
==========================================

Principal components do not depend on the labels. Two local projections, learned together with a
support vector machine, make a plane in which a straight line separates the classes (Gönen 2010,
Figure 5.14).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelweave import MKLClassifier
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import ProjectionDisplay
from kernelweave.kernels import Linear

# %%
# Versicolor lies between setosa and virginica, which together are the other class.

iris = load_iris()
X, species = StandardScaler().fit_transform(iris.data), iris.target_names[iris.target]
y = np.where(species == "versicolor", "versicolor", "other")

# %%
# Each of the two kernels has one direction, and a gate that opens it in its region.

combiner = Projected(1, Softmax(), constraint="norm", n_init=5)
kernels = [("one", Linear()), ("two", Linear())]
model = MKLClassifier(kernels, combiner, C=10.0, normalize=None, random_state=0).fit(X, y)
components = PCA(2).fit_transform(X)
linear = SVC(kernel="linear", C=10.0).fit(components, y)

# %%
# Three species stay apart in both planes, but only the plane on the right has room for a line
# between the classes.

figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 4.0), layout="constrained")
sizes = {"scatter_kw": {"s": 18}, "support_kw": {"s": 48}}
display = ProjectionDisplay.from_estimator(
    model, X, y, kind="joint", marks=species, ax=right, legend=False, **sizes
)
for name, marker in zip(iris.target_names, "os^", strict=True):
    ink = "#D55E00" if name == "versicolor" else "#0072B2"
    left.scatter(
        *components[species == name].T,
        s=18,
        color=ink,
        marker=marker,
        edgecolor="white",
        linewidth=0.3,
    )
left.set(xlabel="component 1", ylabel="component 2")
left.spines[["top", "right"]].set_visible(False)
wrong = np.sum(linear.predict(components) != y)
left.set_title(f"principal components:\n{wrong} of {len(y)} flowers on the wrong side", fontsize=10)
wrong = np.sum(model.predict(X) != y)
right.set_title(f"local projections:\n{wrong} of {len(y)} flowers on the wrong side", fontsize=10)
figure.legend(
    handles=display.handles_, loc="outside lower center", ncols=3, fontsize=9, frameon=False
)
plt.show()
