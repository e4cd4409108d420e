"""
Digits in the plane from six views at once
==========================================

A map of samples in two dimensions should use all views, and it should use most those that keep the
classes apart. MKL-DR learns the projection and the kernel weights together, and places new samples
by the same map.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from kernelweave import datasets
from kernelweave.display import EmbeddingDisplay, KernelWeightsDisplay
from kernelweave.kernels import Gaussian
from kernelweave.reduction import MKLDR, LDAGraph

# %%
# Five of the ten handwritten digits: two dimensions hold a few classes, and ten classes need more
# of them.

X, y = datasets.load_multifeat(return_X_y=True)
chosen = np.isin(y, [1, 2, 4, 7, 9])
X, y = StandardScaler().set_output(transform="pandas").fit_transform(X[chosen]), y[chosen]
training, new = slice(0, None, 5), slice(1, None, 10)

views = ["fac", "fou", "kar", "mor", "pix", "zer"]
model = MKLDR([Gaussian(view) for view in views], LDAGraph(), n_components=2, ridge=0.1)
model.fit(X[training], y[training])

# %%
# Filled markers are the digits that the map was learned from. Open ones are new digits, recognised
# by their nearest filled neighbours.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(7.0, 4.0), width_ratios=[1.7, 1], layout="constrained"
)
display = EmbeddingDisplay.from_estimator(
    model, X[training], y[training], X_new=X[new], y_new=y[new], ax=left
)
neighbours = KNeighborsClassifier(9).fit(display.points, display.y)
accuracy = neighbours.score(display.new_points, display.new_y)
left.set_title(f"{100 * accuracy:.0f} % of new digits recognised", fontsize=10)
left.get_legend().set_title("digit")
KernelWeightsDisplay.from_estimator(model, ax=right)
right.set_title("how much each view counts", fontsize=10)
right.set_xlabel("view")
plt.show()
