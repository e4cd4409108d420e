"""
Directions that can be looked at
================================

Where samples are images, a direction in the space of their pixels is an image too. It shows what a
model looks at: principal components show what varies most, learned projections what separates the
classes (Gönen 2010, Figure 5.18).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import ProjectionDisplay, ProjectionImagesDisplay
from kernelweave.kernels import Linear

# %%
# Handwritten digits of 16 x 15 pixels, even against odd. If the folder ``KERNELWEAVE_DATA`` has the
# Olivetti faces, the example is about them, women against men, as in the thesis.

if "olivetti" in datasets.list_datasets().query("available").index:
    bunch, shape = datasets.load_dataset("olivetti", "gender"), (64, 64)
    X, y = bunch.data.filter(like="x64__").to_numpy(), np.array(bunch.target_names)[bunch.target]
else:
    data, shape = datasets.load_multifeat(target="even-vs-odd"), (16, 15)
    X, y = (
        data.data.filter(like="pix__").to_numpy()[::4] / 6.0,
        np.where(data.target[::4], "odd", "even"),
    )
X = X - X.mean(axis=0)

# %%
# Two regions with one direction each, learned together with a support vector machine.

combiner = Projected(1, Softmax(), l2=3.0)
kernels = [("one", Linear()), ("two", Linear())]
model = MKLClassifier(kernels, combiner, C=0.01, normalize=None, tol=1e-4, random_state=0).fit(X, y)
pca = PCA(2).fit(X)

# %%
# Below: the axes as images. Grey is 0; bright and dark pixels count with opposite signs. The images
# of the gates show the pixels that open the gate of each region; with two regions one is the
# negative of the other.

figure = plt.figure(figsize=(7.0, 5.6), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=[2.5, 1.0])
left, right = above.subplots(1, 2)
display = ProjectionDisplay.from_estimator(
    model, X, y, kind="joint", ax=right, legend=False, scatter_kw={"s": 14}, support_kw={"s": 42}
)
for label, ink, marker in zip(np.unique(y), ("#0072B2", "#D55E00"), "os", strict=True):
    left.scatter(
        *pca.transform(X)[y == label].T,
        s=14,
        color=ink,
        marker=marker,
        edgecolor="white",
        linewidth=0.3,
    )
left.set(xlabel="component 1", ylabel="component 2")
left.spines[["top", "right"]].set_visible(False)
left.set_title("principal components", fontsize=10)
right.set_title(
    f"local projections: {np.sum(model.predict(X) != y)} of {len(y)} wrong", fontsize=10
)
above.legend(
    handles=display.handles_, loc="outside lower center", ncols=5, fontsize=9, frameon=False
)

images = below.subplots(1, 6)
for number, (panel, component) in enumerate(zip(images[:2], pca.components_, strict=True), 1):
    largest = np.abs(component).max()
    panel.imshow(component.reshape(shape), cmap="gray", vmin=-largest, vmax=largest)
    panel.set_title(f"component {number}", fontsize=9)
    panel.set(xticks=[], yticks=[])
ProjectionImagesDisplay.from_estimator(model, image_shape=shape, ax=images[2:])
plt.show()
