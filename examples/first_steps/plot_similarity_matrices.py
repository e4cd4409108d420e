"""
Only similarities are known
===========================

Sequence alignments, networks and many tools give no features, only a matrix of similarities between
samples. Each matrix is a kernel, and X holds nothing but the ids of the samples, so
cross-validation works as ever.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score

from kernelweave import MKLClassifier
from kernelweave.combiners import ConvexMKL
from kernelweave.kernels import Precomputed

# %%
# Two made-up matrices of 90 proteins of three families. The alignments separate family A from the
# others, the network separates family C: neither knows all three.

rng = np.random.default_rng(0)
ids = [f"P{number:02d}" for number in range(90)]
family = np.repeat(["A", "B", "C"], 30)


def similarities(groups, noise):
    codes = np.column_stack([groups == group for group in np.unique(groups)]) + noise * rng.normal(
        size=(90, 1)
    )
    features = np.hstack([codes, noise * rng.normal(size=(90, 12))])
    return pd.DataFrame(features @ features.T / 2.0, index=ids, columns=ids)


matrices = {
    "alignment": similarities(np.where(family == "A", "A", "other"), 0.35),
    "network": similarities(np.where(family == "C", "C", "other"), 0.35),
}

# %%
# A sample is its id. The kernel finds rows and columns of its matrix by label, in any order.

X = pd.DataFrame({"id": ids})
single = {name: [(name, Precomputed(matrix, view="id"))] for name, matrix in matrices.items()}
both = single["alignment"] + single["network"]
accuracies = {
    name: cross_val_score(MKLClassifier(kernels), X, family, cv=5).mean()
    for name, kernels in single.items()
}
model = MKLClassifier(both, ConvexMKL())
accuracies["both, learned weights"] = cross_val_score(model, X, family, cv=5).mean()
weights = model.fit(X, family).kernel_weights_

# %%
# Samples are sorted by family. The weighted sum shows all three families.

total = sum(weights[name] * matrix for name, matrix in matrices.items())
shown = {**matrices, "both, learned weights": total}
figure, panels = plt.subplots(1, 3, figsize=(7.0, 3.1), layout="constrained", sharey=True)
for panel, (name, matrix) in zip(panels, shown.items(), strict=True):
    drawn = panel.imshow(matrix, cmap="cividis", vmin=-0.2, vmax=1.0)
    panel.set_title(f"{name}\n{100 * accuracies[name]:.0f} % right", fontsize=10)
    panel.set_xticks([15, 45, 75], ["A", "B", "C"])
    panel.set_xlabel("family of the sample")
panels[0].set_yticks([15, 45, 75], ["A", "B", "C"])
panels[0].set_ylabel("family of the sample")
figure.colorbar(drawn, ax=panels, label="similarity", shrink=0.75)
plt.show()
