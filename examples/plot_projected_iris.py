"""Iris in the plane, by principal components and by local projection kernels (Gönen 2010, Figure 5.14).

Setosa and virginica are one class, versicolor, which lies between them, is the other. Principal components keep the
three species and leave no room for a line between the classes. Two local projections, learned together with a support
vector machine, make it: each axis is the direction of one region, times its gate, and the straight line separates the
classes but for a few flowers.
"""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from figures import plt, save, scatter_labels
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import ProjectionDisplay
from kernelweave.kernels import Linear

iris = datasets.load_dataset("iris", "merged")
X, y = StandardScaler().fit_transform(iris.data), np.array(iris.target_names)[iris.target]
species = np.array(["setosa", "versicolor", "virginica"])[iris.original_target]
combiner = Projected(1, Softmax(), constraint="norm", n_init=10)
model = MKLClassifier([("one", Linear()), ("two", Linear())], combiner, C=10.0, normalize=None, random_state=0)
model.fit(X, y)
components = PCA(2).fit_transform(X)
separable = SVC(kernel="linear", C=10.0).fit(components, y).score(components, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.8), layout="constrained")
scatter_labels(left, components, y, species)
left.set(xlabel="component 1", ylabel="component 2")
left.set_title(f"principal components: {100 * separable:.0f} % on the right side of a linear machine", fontsize=10)
ProjectionDisplay.from_estimator(model, X, y, kind="joint", marks=species, ax=right)
right.set_title(f"local projections: {np.sum(model.predict(X) != y)} of {len(y)} on the wrong side", fontsize=10)
save(figure, "projected_iris.png")
