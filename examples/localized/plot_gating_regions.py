"""
Which kernel decides where?
===========================

One weight for each kernel gives one kind of boundary for the whole plane. Where the data differ
from region to region, a gating model divides the plane among the kernels and learns the regions
together with the machine (localized multiple kernel learning; Gönen 2010, Figure 3.2).
"""

import matplotlib.pyplot as plt

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Localized, Softmax
from kernelweave.display import GatingDisplay
from kernelweave.kernels import Linear, Polynomial

# %%
# Four Gaussians, two of each class. The best possible boundary is right for 89.7 % of new samples.

X, y = datasets.make_gauss(4, 300, random_state=1)
X_test, y_test = datasets.make_gauss(4, 5000, random_state=2)

# %%
# A linear and a quadratic kernel with one weight each, the same kernels with gates, and three
# copies of the linear kernel with gates.

two = [("linear", Linear()), ("quadratic", Polynomial(degree=2))]
three = [("linear", Linear()), ("linear 2", Linear()), ("linear 3", Linear())]
gates = Localized(Softmax(), l2=1e-4, n_init=5)
common = {"normalize": None, "tol": 1e-4, "random_state": 0}
models = {
    "one weight for each kernel": MKLClassifier(two, ConvexMKL(), **common).fit(X, y),
    "gates": MKLClassifier(two, gates, **common).fit(X, y),
    "gates, three linear kernels": MKLClassifier(three, gates, **common).fit(X, y),
}

# %%
# The plane is tinted in the colour of the strongest kernel, the more so the stronger it is. One
# weight for each kernel leaves all of it to the quadratic kernel: one curve. With gates the linear
# kernel has one part, and the boundary comes close to the best possible one. Three linear kernels
# with regions of their own come as close.

inks = {"linear": "#0072B2", "quadratic": "#E69F00", "linear 2": "#CC79A7", "linear 3": "#009E73"}
figure, panels = plt.subplots(
    2, 2, figsize=(7.0, 7.4), layout="constrained", sharex=True, sharey=True
)
handles = {}
for panel, (name, model) in zip(panels.flat, models.items(), strict=False):
    chosen = {kernel: inks[kernel] for kernel in model.kernel_names_}
    sizes = {"scatter_kw": {"s": 14}, "support_kw": {"s": 42}}
    display = GatingDisplay.from_estimator(
        model, X, y, colors=chosen, ax=panel, legend=False, **sizes
    )
    handles |= {handle.get_label(): handle for handle in display.handles_}
    accuracy = f"{100 * model.score(X_test, y_test):.1f} % right"
    panel.set_title(f"{name}\n{accuracy}, {len(model.support_)} support vectors", fontsize=10)
    panel.label_outer()
panels[0, 1].tick_params(labelbottom=True)
panels[0, 1].set_xlabel("first feature")
panels[1, 1].axis("off")
order = [*inks, *(label for label in handles if label not in inks)]
panels[1, 1].legend(
    handles=[handles[label] for label in order], loc="center", fontsize=10, frameon=False
)
plt.show()
