"""
Gates on 100 000 samples
========================

Kernel matrices of 100 000 samples do not fit into memory. With ``approximation="nystroem"`` each
kernel becomes a few explicit features, and a step of training is one pass over the samples.
Combiners, gates and pictures stay the same.
"""

import matplotlib.pyplot as plt

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Localized, Mean
from kernelweave.display import GatingDisplay
from kernelweave.kernels import Linear, Polynomial

# %%
# Four Gaussians, two of each class, as in :ref:`sphx_glr_gallery_localized_plot_gating_regions.py`.

n = 100_000
X, y = datasets.make_gauss(4, n, random_state=1)
X_test, y_test = datasets.make_gauss(4, 5000, random_state=2)

# %%
# Equal weights and gates on all samples, and for comparison the exact model of 500 of them.

kernels = [("linear", Linear()), ("quadratic", Polynomial(degree=2))]
options = {"normalize": None, "random_state": 0}
explicit = {"approximation": "nystroem", **options}
models = {
    f"equal weights\n{n} samples": MKLClassifier(kernels, Mean(), **explicit).fit(X, y),
    f"gates\n{n} samples": MKLClassifier(kernels, Localized(l2=1e-4), **explicit).fit(X, y),
    "gates, exact kernels\n500 samples": MKLClassifier(kernels, Localized(l2=1e-4), **options).fit(
        X[:500], y[:500]
    ),
}

# %%
# The plane is tinted in the colour of the strongest kernel. 200 of the samples are drawn.

figure, panels = plt.subplots(
    1, 3, figsize=(7.0, 4.1), layout="constrained", sharex=True, sharey=True
)
handles = {}
for panel, (name, model) in zip(panels, models.items(), strict=True):
    colours = {"linear": "#0072B2", "quadratic": "#E69F00"}
    display = GatingDisplay.from_estimator(
        model,
        X[:200],
        y[:200],
        support=False,
        ax=panel,
        legend=False,
        colors=colours,
        scatter_kw={"s": 11},
    )
    handles |= {handle.get_label(): handle for handle in display.handles_}
    panel.set_title(f"{name}\n{100 * model.score(X_test, y_test):.1f} % right", fontsize=10)
    panel.label_outer()
figure.legend(
    handles=handles.values(), loc="outside lower center", ncols=4, fontsize=9, frameon=False
)
plt.show()
