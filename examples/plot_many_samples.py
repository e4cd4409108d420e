"""Localized multiple kernel learning on 100 000 samples, with explicit features.

Four Gaussians, two of each class, as in `plot_gating_regions.py`, with more samples than Gram matrices can be held of.
``approximation="nystroem"`` gives each kernel a few explicit features, and a step of training is one pass over the
samples. The gates are learned with the weights of the features (middle); equal weights are on the left, and the exact
model of 500 of the samples is on the right. Tint: the strongest kernel, and how strong it is. ``--samples`` sets the
number of samples.
"""

from figures import number_of_samples, plt, save
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Localized, Mean
from kernelweave.display import GatingDisplay
from kernelweave.kernels import Linear, Polynomial

SHOWN = 300
n = number_of_samples(100_000)
X, y = datasets.make_gauss(4, n, random_state=1)
X_test, y_test = datasets.make_gauss(4, 5000, random_state=2)
kernels = [("linear", Linear()), ("quadratic", Polynomial(degree=2))]
gates = Localized(l2=1e-4)
options = {"normalize": None, "random_state": 0}
models = {
    "equal weights": (MKLClassifier(kernels, Mean(), approximation="nystroem", **options), n),
    "gates": (MKLClassifier(kernels, gates, approximation="nystroem", **options), n),
    "gates, exact kernels": (MKLClassifier(kernels, gates, **options), 500),
}

figure, panels = plt.subplots(1, 3, figsize=(11.0, 5.0), layout="constrained", sharex=True, sharey=True)
for panel, (name, (model, size)) in zip(panels, models.items(), strict=True):
    model.fit(X[:size], y[:size])
    GatingDisplay.from_estimator(model, X[:SHOWN], y[:SHOWN], support=False, ax=panel)
    panel.set_title(
        f"{name}, {size} samples\n{100 * model.score(X_test, y_test):.1f} % of new samples right", fontsize=10
    )
    panel.set(xlabel="", ylabel="", xticks=[], yticks=[])
    panel.get_legend().set_bbox_to_anchor((0.5, -0.01))  # where the ticks were
save(figure, "many_samples.png")
