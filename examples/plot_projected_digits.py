"""Six views of handwritten digits, each with a projection of its own, and a plane with a region for each view.

Small digits (0 to 4) against large ones by supervised and localized dimensionality reduction (SLDR Figures 1 and 3).
The gates live in two learned dimensions of all 649 features: left, the regions of the views there. Beside it, each
digit in the projection of the view with its largest gate, with the separating line and the margins. The gates are those
of the paper, of sum 1; those below 0.2 are closed, and views whose gate is closed for every digit are switched off:
only the gates still read them. Above: projections to a plane. Below: to a line.
"""

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from figures import plt, save
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Projected, Softmax
from kernelweave.display import ProjectionDisplay
from kernelweave.kernels import Linear

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, train_size=667, stratify=y, random_state=0)
scaler = StandardScaler().set_output(transform="pandas").fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)
kernels = [Linear(view) for view in ("fac", "fou", "kar", "mor", "pix", "zer")]

figure = plt.figure(figsize=(14.0, 6.6), layout="constrained")
for row, n_components in zip(figure.subfigures(2, 1, height_ratios=[1.15, 1.0]), (2, 1), strict=True):
    combiner = Projected(n_components, Softmax("paper"), gating_components=2, l2=1e-3, gate_tol=0.2**2, n_init=5)
    model = MKLClassifier(kernels, combiner, C=100.0, random_state=0).fit(X, y)
    n_regions = len(set(model.region(X)))
    panels = row.subplots(1, 1 + n_regions)
    ProjectionDisplay.from_estimator(model, X, np.where(y, "large", "small"), ax=panels, legend=n_components == 1)
    story = f"{100 * model.score(X_test, y_test):.1f} % of new digits right, {len(model.support_)} support vectors"
    off = ", ".join(name for name in model.kernel_names_ if name not in model.active_kernels_) or "none"
    row.suptitle(f"n_components={n_components}: {story}; switched off: {off}", fontsize=11)
save(figure, "projected_digits.png")
