"""One support vector machine, three kernels (Gönen 2010, Figure 1.1).

Two classes, one of which lies around the other on three sides. A linear discriminant has to give up some samples, a
quadratic one bends around the inner class, a Gaussian one follows every sample. Solid: the discriminant, f = 0.
Dashed: the margins, f = -1 and f = +1. Circled: the support vectors, which are all that prediction needs.
"""

import numpy as np

from figures import COLOURS, frame, on_grid, plt, save, scatter
from kernelweave import MKLClassifier
from kernelweave.kernels import Gaussian, Linear, Polynomial

rng = np.random.default_rng(3)
angle = rng.uniform(-0.15 * np.pi, 1.15 * np.pi, 45)
outer = np.column_stack([2.6 * np.cos(angle), 2.2 * np.sin(angle)]) + 0.35 * rng.normal(size=(45, 2))
inner = np.array([0.0, -0.3]) + 0.6 * rng.normal(size=(35, 2))
X = np.vstack([outer, inner])
y = np.repeat([0, 1], [45, 35])

kernels = {"linear": Linear(), "polynomial, q = 2": Polynomial(degree=2), "Gaussian, s = 1": Gaussian(scale=1.0)}
figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for panel, (name, kernel) in zip(panels, kernels.items(), strict=True):
    model = MKLClassifier([kernel], C=10.0, normalize=None).fit(X, y)
    first, second, values = on_grid(model.decision_function, X, margin=1.0)
    panel.contourf(first, second, values > 0, levels=[-0.5, 0.5, 1.5], colors=COLOURS[:2], alpha=0.12)
    panel.contour(
        first, second, values, [-1, 0, 1], colors="black", linestyles=["--", "-", "--"], linewidths=[0.9, 1.5, 0.9]
    )
    scatter(panel, X, y, model.support_)
    errors = int(np.count_nonzero(model.predict(X) != y))
    frame(panel, f"{name}\n{len(model.support_)} support vectors, training errors: {errors}")
save(figure, "svm_kernels.png")
