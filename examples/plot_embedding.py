"""Kernel PCA of a combined kernel, with equal and with learned weights (compare Gönen 2010, Figure 5.1).

Each of six views of the handwritten digits gives a similarity between them, and kernel PCA draws the digits so that
similar ones are close. Left: all views count alike. Right: multiple kernel learning has weighted them so as to separate
the digits, which are then better separated in the plane. Filled: digits that the picture was made of. Open: new digits,
placed by the same map and recognised by their nearest filled neighbours.
"""

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from figures import plt, save
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Mean
from kernelweave.display import EmbeddingDisplay
from kernelweave.kernels import Linear

X, y = datasets.load_multifeat(return_X_y=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)
training, new = slice(0, None, 5), slice(1, None, 10)
views = ["fac", "fou", "kar", "mor", "pix", "zer"]


def combined_features(weights):
    """Views side by side: rows of unit length, times the root of the kernel weight, so products are the sum kernel."""
    parts = []
    for view, weight in weights.items():
        values = X.filter(regex=f"^{view}__").to_numpy()
        parts.append(np.sqrt(weight) * values / np.linalg.norm(values, axis=1, keepdims=True))
    return np.hstack(parts)


figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
for panel, (name, combiner) in zip(panels, {"mean": Mean(), "learned": ConvexMKL()}.items(), strict=True):
    model = MKLClassifier([Linear(view) for view in views], combiner, C=10.0).fit(X[training], y[training])
    Z = combined_features(model.kernel_weights_)
    pca = KernelPCA(n_components=2).fit(Z[training])
    display = EmbeddingDisplay.from_estimator(
        pca, Z[training], y[training], X_new=Z[new], y_new=y[new], ax=panel, legend=name == "learned"
    )
    neighbours = KNeighborsClassifier(9).fit(display.points, display.y)
    accuracy = neighbours.score(display.new_points, display.new_y)
    panel.set_title(f"{name} kernel weights: {100 * accuracy:.0f} % of new digits recognised", fontsize=10)
save(figure, "embedding.png")
