"""Women and men in two dimensions, and these dimensions drawn as faces (Gönen 2010, Figure 5.18).

Left: principal components of the Olivetti faces and, below, the two eigenfaces that are their axes; they do not depend
on who is a woman or a man. Right: local projection kernels with two regions, each with one direction in the space of
4096 pixels. The gated projections against each other separate women from men by a straight line. Below: both
directions, and the slopes of the gates, which show the pixels that open the gate of each region (with two regions one
is the negative of the other).

The faces are not part of the package; without them the script prints a message and draws nothing.
"""

import numpy as np
from sklearn.decomposition import PCA

from figures import plt, save, scatter_labels
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import ProjectionDisplay, ProjectionImagesDisplay
from kernelweave.kernels import Linear


def draw(bunch):
    """Fit principal components and the model to all faces and draw what they find."""
    X = bunch.data.filter(like="x64__").to_numpy()
    X = X - X.mean(axis=0)
    y = np.array(bunch.target_names)[bunch.target]
    pca = PCA(2).fit(X)
    combiner = Projected(1, Softmax(), init="lda", l2=0.3)
    kernels = [("one", Linear()), ("two", Linear())]
    model = MKLClassifier(kernels, combiner, C=1.0, normalize=None, tol=1e-4, random_state=0).fit(X, y)

    figure = plt.figure(figsize=(12.0, 7.0), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[2.2, 1.0])
    left, right = above.subplots(1, 2)
    scatter_labels(left, pca.transform(X), y, y)
    left.set(xlabel="component 1", ylabel="component 2")
    left.set_title("principal components", fontsize=10)
    ProjectionDisplay.from_estimator(model, X, y, kind="joint", ax=right)
    errors = f"{np.sum(model.predict(X) != y)} of {len(y)} wrong"
    right.set_title(f"local projections: {errors}, {len(model.support_)} support vectors", fontsize=10)
    images = below.subplots(1, 6)
    for number, (panel, component) in enumerate(zip(images[:2], pca.components_, strict=True), 1):
        panel.imshow(component.reshape(64, 64), cmap="gray")
        panel.set_title(f"eigenface {number}", fontsize=9)
        panel.set(xticks=[], yticks=[])
    ProjectionImagesDisplay.from_estimator(model, image_shape=(64, 64), ax=images[2:])
    save(figure, "projected_faces.png")


if "olivetti" in datasets.list_datasets().query("available").index:
    draw(datasets.load_dataset("olivetti", "gender"))
else:
    print("Nothing is drawn: the Olivetti faces are absent. Name the folder with olivetti.npz in KERNELWEAVE_DATA.")
