"""
A map of a combined kernel
==========================

Kernel PCA draws samples so that similar ones are close. What is similar depends on the views and
their weights: the map shows whether learned weights separate the classes better than equal ones
(compare Gönen 2010, Figure 5.1).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Mean
from kernelweave.display import EmbeddingDisplay
from kernelweave.kernels import Linear

X, y = datasets.load_multifeat(return_X_y=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)
training, new = slice(0, None, 5), slice(1, None, 10)
views = ["fac", "fou", "kar", "mor", "pix", "zer"]

# %%
# A sum of linear kernels is the linear kernel of all views side by side, each with rows of unit
# length and times the root of its weight. scikit-learn's kernel PCA takes it from there.


def side_by_side(weights):
    parts = []
    for view, weight in weights.items():
        values = X.filter(regex=f"^{view}__").to_numpy()
        parts.append(np.sqrt(weight) * values / np.linalg.norm(values, axis=1, keepdims=True))
    return np.hstack(parts)


# %%
# Filled markers are the digits that the map was made of. Open ones are new digits, placed by the
# same map and recognised by their nearest filled neighbours.

figure, panels = plt.subplots(1, 2, figsize=(7.0, 3.9), layout="constrained")
for panel, (name, combiner) in zip(
    panels, {"equal": Mean(), "learned": ConvexMKL()}.items(), strict=True
):
    model = MKLClassifier([Linear(view) for view in views], combiner, C=10.0).fit(
        X[training], y[training]
    )
    Z = side_by_side(model.kernel_weights_)
    pca = KernelPCA(n_components=2).fit(Z[training])
    sizes = {"scatter_kw": {"s": 16}, "new_kw": {"s": 16}}
    display = EmbeddingDisplay.from_estimator(
        pca,
        Z[training],
        y[training],
        X_new=Z[new],
        y_new=y[new],
        ax=panel,
        legend=name == "learned",
        **sizes,
    )
    neighbours = KNeighborsClassifier(9).fit(display.points, display.y)
    accuracy = neighbours.score(display.new_points, display.new_y)
    panel.set_title(f"{name} weights: {100 * accuracy:.0f} % recognised", fontsize=10)
panels[1].get_legend().set_title("digit")
panels[1].set_ylabel("")
plt.show()
