"""Ten digits in the plane from six views at once: MKL-DR learns the projection and the kernel weights together.

Filled: digits that the map was learned from. Open: new digits, placed by the same map and recognised by their nearest
filled neighbours. Right: how much each view counts.
"""

from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from figures import plt, save
from kernelweave import datasets
from kernelweave.display import EmbeddingDisplay, KernelWeightsDisplay
from kernelweave.kernels import Gaussian
from kernelweave.reduction import MKLDR, LDAGraph

X, y = datasets.load_multifeat(return_X_y=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)
training, new = slice(0, None, 5), slice(1, None, 10)
views = {"fac": 216, "fou": 76, "kar": 64, "mor": 6, "pix": 240, "zer": 47}
kernels = [Gaussian(view, scale=(2.0 * width) ** 0.5) for view, width in views.items()]

model = MKLDR(kernels, LDAGraph(), n_components=2, ridge=0.1).fit(X[training], y[training])
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), width_ratios=[3, 2], layout="constrained")
display = EmbeddingDisplay.from_estimator(model, X[training], y[training], X_new=X[new], y_new=y[new], ax=left)
neighbours = KNeighborsClassifier(9).fit(display.points, display.y)
accuracy = neighbours.score(display.new_points, display.new_y)
left.set_title(f"{100 * accuracy:.0f} % of new digits recognised in two dimensions", fontsize=10)
KernelWeightsDisplay.from_estimator(model, ax=right)
right.set_title("learned kernel weights", fontsize=10)
save(figure, "mkldr.png")
