"""Three data sets in the plane, by principal components and by local projection kernels (Gönen 2010, Figures 5.15-17).

Each problem has two classes (colours), one of which is made of two that differ (markers). Principal components (above)
do not depend on the classes. Two local projections (below), learned together with a support vector machine, are drawn
against each other, each times its gate: one straight line separates the classes.

The data sets are not part of the package; without them the script prints a message and draws nothing.
"""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from figures import plt, save, scatter_labels
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import ProjectionDisplay
from kernelweave.kernels import Linear

LABELS = {
    "newthyroid": ["normal", "hyper", "hypo"],
    "letter": ["A", "B", "C"],
    "segment": ["brickface", "sky", "foliage"],
}
MOST = 600  # samples of each data set


def draw(above, below, name):
    """Draw one data set in both ways."""
    bunch = datasets.load_dataset(name, "merged")
    chosen = np.sort(np.random.default_rng(0).permutation(len(bunch.target))[:MOST])
    X = StandardScaler().fit_transform(bunch.data.iloc[chosen])
    y = np.array(bunch.target_names)[bunch.target[chosen]]
    labels = np.array(LABELS[name])[bunch.original_target[chosen]]
    scatter_labels(above, PCA(2).fit_transform(X), y, labels)
    above.set_title(f"{name}: principal components", fontsize=10)
    combiner = Projected(1, Softmax(), constraint="norm", n_init=5)
    kernels = [("one", Linear()), ("two", Linear())]
    model = MKLClassifier(kernels, combiner, C=10.0, normalize=None, random_state=0).fit(X, y)
    ProjectionDisplay.from_estimator(model, X, y, kind="joint", marks=labels, ax=below)
    errors = np.sum(model.predict(X) != y)
    below.set_title(
        f"local projections: {errors} of {len(y)} wrong, {len(model.support_)} support vectors", fontsize=10
    )


available = datasets.list_datasets().query("available").index
absent = [name for name in LABELS if name not in available]
if absent:
    print(
        f"Nothing is drawn: {', '.join(absent)} are absent. Name the folder with their .npz files in KERNELWEAVE_DATA."
    )
else:
    figure, panels = plt.subplots(2, 3, figsize=(13.0, 8.0), layout="constrained")
    for name, column in zip(LABELS, panels.T, strict=True):
        draw(*column, name)
    save(figure, "projected_benchmarks.png")
