"""Support vector regression and its tube (Gönen 2010, Figure 1.2).

Errors inside a tube of half width epsilon cost nothing, so the fit is the flattest function whose tube still holds most
samples. Solid: the fit with a Gaussian kernel of s = 1. Dashed: the tube. Circled: the support vectors, the samples
on the edge of the tube or outside it; every other sample could be removed without changing the fit.
"""

import numpy as np

from figures import COLOURS, circle, plt, save
from kernelweave import MKLRegressor
from kernelweave.kernels import Gaussian

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 10, 60))
y = np.sin(x) + 0.15 * x + 0.25 * rng.normal(size=60)

epsilon = 0.35
model = MKLRegressor([Gaussian(scale=1.0)], C=10.0, epsilon=epsilon).fit(x[:, None], y)
line = np.linspace(-0.2, 10.2, 500)
fit = model.predict(line[:, None])

figure, panel = plt.subplots(figsize=(7.5, 4), layout="constrained")
panel.fill_between(line, fit - epsilon, fit + epsilon, color=COLOURS[0], alpha=0.1)
panel.plot(line, fit, color="black", linewidth=1.6, label="fit")
panel.plot(line, fit + epsilon, "--", color="black", linewidth=0.9, label=f"tube, epsilon = {epsilon}")
panel.plot(line, fit - epsilon, "--", color="black", linewidth=0.9)
panel.scatter(x, y, s=22, color=COLOURS[0], edgecolor="white", linewidth=0.4, zorder=3)
circle(panel, np.column_stack([x, y])[model.support_])
panel.set(xlabel="x", ylabel="y", title=f"{len(model.support_)} of {len(x)} samples are support vectors")
panel.legend(frameon=False)
save(figure, "svr.png")
