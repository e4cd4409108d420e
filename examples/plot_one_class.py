"""The region of the samples: a one-class support vector machine (Gönen 2010, Figure 1.3).

Nothing but samples is given, no labels. The machine encloses most of them with the smoothest boundary it can find and
leaves at most a share nu outside. Solid: the boundary with a Gaussian kernel of s = 2. Circled: the support
vectors, on the boundary or outside it.
"""

import numpy as np

from figures import COLOURS, circle, frame, on_grid, plt, save
from kernelweave import MKLOneClass
from kernelweave.kernels import Gaussian

rng = np.random.default_rng(4)
left = np.array([-2.5, 0.0]) + rng.normal(size=(60, 2)) * [0.7, 1.1]
right = np.array([2.0, 1.0]) + rng.normal(size=(60, 2)) * [1.1, 0.6]
X = np.vstack([left, right, rng.uniform([-6, -4], [6, 5], size=(6, 2))])

model = MKLOneClass([Gaussian(scale=2.0)], nu=0.1, tol=1e-6).fit(X)
inside = model.predict(X) > 0
first, second, values = on_grid(model.decision_function, X)

figure, panel = plt.subplots(figsize=(6, 4.6), layout="constrained")
panel.contourf(first, second, values > 0, levels=[0.5, 1.5], colors=[COLOURS[0]], alpha=0.12)
panel.contour(first, second, values, levels=[0], colors="black", linewidths=1.5)
panel.scatter(*X[inside].T, s=22, color=COLOURS[0], edgecolor="white", linewidth=0.4, zorder=3)
panel.scatter(*X[~inside].T, s=30, color=COLOURS[1], marker="x", zorder=3)
circle(panel, X[model.support_])
frame(panel, f"{np.count_nonzero(~inside)} of {len(X)} samples outside, {len(model.support_)} support vectors")
save(figure, "one_class.png")
