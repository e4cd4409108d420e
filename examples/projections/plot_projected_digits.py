"""
Which view decides for which digits?
====================================

Six views of handwritten digits with 649 features are projected to one dimension each, and a learned
plane shows which view decides for which digits. Views that no digit needs are switched off
(supervised and localized dimensionality reduction; Gönen and Alpaydın 2010, Figures 1 and 3).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import ProjectionDisplay
from kernelweave.kernels import Linear

# %%
# Small digits (0 to 4) against large ones.

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
y = np.where(y, "large", "small")
X, X_test, y, y_test = train_test_split(X, y, train_size=500, stratify=y, random_state=0)
scaler = StandardScaler().set_output(transform="pandas").fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)

# %%
# ``Projected(1, ...)`` learns one direction for each view, ``gating_components=2`` the plane in
# which the gates divide the digits among the views. Gates below 0.2 are closed.

kernels = [Linear(view) for view in ("fac", "fou", "kar", "mor", "pix", "zer")]
combiner = Projected(1, Softmax("paper"), gating_components=2, l2=1e-3, gate_tol=0.2**2, n_init=3)
model = MKLClassifier(kernels, combiner, C=100.0, random_state=0).fit(X, y)
off = ", ".join(name for name in model.kernel_names_ if name not in model.active_kernels_) or "none"

# %%
# Above: the plane of the gates, with the region of each view. Below: the digits of each region
# along the direction of its view, with the separating line and the margins.

regions = [name for name in model.kernel_names_ if name in set(model.region(X))]
figure = plt.figure(figsize=(7.0, 6.2), layout="constrained")
panels = figure.subplot_mosaic([["gates"] * len(regions), regions], height_ratios=[1.7, 1])
display = ProjectionDisplay.from_estimator(
    model, X, y, ax=list(panels.values()), scatter_kw={"s": 13}
)
for name in regions[1:]:
    panels[name].tick_params(labelleft=False)
accuracy = f"{100 * model.score(X_test, y_test):.1f} % of new digits right"
title = f"{accuracy}, {len(model.support_)} support vectors, switched off: {off}"
figure.suptitle(title, fontsize=10)
plt.show()
