"""Which kernel decides where? Localized multiple kernel learning on GAUSS4 (Gönen 2010, Figure 3.2).

Four Gaussians, two of each class. One weight for each kernel (left) gives one quadratic boundary for the whole plane. A
gating model (middle) divides the plane: the linear kernel has one part, the quadratic kernel the other, and together
they come close to the best possible boundary. Three copies of the linear kernel (right) make a piecewise linear one.
Tint: the strongest kernel, and how strong it is. Circled: the support vectors.
"""

from figures import plt, save
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Localized, Softmax
from kernelweave.display import GatingDisplay
from kernelweave.kernels import Linear, Polynomial

X, y = datasets.make_gauss(4, 300, random_state=1)
X_test, y_test = datasets.make_gauss(4, 5000, random_state=2)
two = [("linear", Linear()), ("quadratic", Polynomial(degree=2))]
three = [(f"linear {number}", Linear()) for number in (1, 2, 3)]
localized = Localized(Softmax(), l2=1e-4, n_init=5)
models = {
    "one weight for each kernel": MKLClassifier(two, ConvexMKL(), normalize=None),
    "gates": MKLClassifier(two, localized, normalize=None, tol=1e-4, random_state=0),
    "gates, three linear kernels": MKLClassifier(three, localized, normalize=None, tol=1e-4, random_state=0),
}

figure, panels = plt.subplots(1, 3, figsize=(11.0, 5.0), layout="constrained", sharex=True, sharey=True)
for panel, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    GatingDisplay.from_estimator(model, X, y, ax=panel)
    accuracy = f"{100 * model.score(X_test, y_test):.1f} % of new samples right"
    panel.set_title(f"{name}\n{accuracy}, {len(model.support_)} support vectors", fontsize=10)
    panel.set(xlabel="", ylabel="", xticks=[], yticks=[])
    panel.get_legend().set_bbox_to_anchor((0.5, -0.01))  # where the ticks were
save(figure, "gating_regions.png")
