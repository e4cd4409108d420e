"""Labels that may be wrong: soft labels from the neighbours (Gönen 2010, Figure 1.5).

A few samples lie deep inside another class, as mislabelled ones do. With hard labels the joint machine pays for each of
them and bends its boundary. With soft labels, posterior probabilities estimated as the share of each class among the
nearest neighbours, such a sample's neighbours outvote its label: the lead that is asked of its class is negative and
it hardly pulls. Solid: where the leading class changes. Circled: the support vectors. Large: the outliers.
"""

import numpy as np

from figures import frame, on_grid, plt, save, scatter, shade_classes
from kernelweave import MKLClassifier
from kernelweave.kernels import Polynomial

rng = np.random.default_rng(2)
centres = np.array([[-2.0, -1.0], [2.0, -1.0], [0.0, 2.0]])
y = np.arange(60) % 3
X = centres[y] + 0.6 * rng.normal(size=(60, 2))
outliers = np.array([0, 1, 2])
X[outliers] = [[1.0, -0.6], [0.1, 1.1], [-1.2, -0.4]]  # of class 0, 1 and 2, each in the next class

figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
for panel, soft_labels in zip(panels, (None, "knn"), strict=True):
    model = MKLClassifier(
        [Polynomial(degree=2)], C=10.0, normalize=None, multiclass="joint", soft_labels=soft_labels, n_neighbors=7
    ).fit(X, y)
    first, second, values = on_grid(model.decision_function, X)
    shade_classes(panel, first, second, values)
    scatter(panel, X, y, model.support_)
    scatter(panel, X[outliers], y[outliers], size=60, edge="black")
    name = "hard labels" if soft_labels is None else "soft labels of 7 neighbours"
    frame(panel, f"{name}: {len(model.support_)} support vectors")
save(figure, "posterior.png")
