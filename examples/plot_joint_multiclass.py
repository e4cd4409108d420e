"""Three classes in one machine (Gönen 2010, Figure 1.4).

One-vs-one and one-vs-all split a problem with several classes into binary ones. The joint machine learns one
discriminant per class, f^l, all at once: that of the own class should exceed every other by 2. Solid: where the leading
class changes. Dashed: where the lead over the second class reaches 2. Circled: the support vectors.
"""

import numpy as np

from figures import frame, on_grid, plt, save, scatter, shade_classes
from kernelweave import MKLClassifier
from kernelweave.kernels import Linear

rng = np.random.default_rng(5)
centres = np.array([[-2.0, -1.2], [2.0, -1.2], [0.0, 2.0]])
y = np.arange(75) % 3
X = centres[y] + 0.85 * rng.normal(size=(75, 2))

model = MKLClassifier([Linear()], C=1.0, normalize=None, multiclass="joint").fit(X, y)
first, second, values = on_grid(model.decision_function, X)
ranked = np.sort(values, axis=2)

figure, panel = plt.subplots(figsize=(5.6, 4.8), layout="constrained")
shade_classes(panel, first, second, values)
panel.contour(first, second, ranked[:, :, 2] - ranked[:, :, 1], [2], colors="black", linestyles="--", linewidths=0.9)
scatter(panel, X, y, model.support_)
frame(panel, f"joint machine, linear kernel: {len(model.support_)} of {len(X)} samples are support vectors")
save(figure, "joint_multiclass.png")
