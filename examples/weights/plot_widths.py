"""
Which scales of a view matter: widths of Gaussians, learned
===========================================================

Two samples may be alike from afar and different up close. The width of a Gaussian kernel says how
close one looks, and `WidthMKL` finds it: among all widths of a range at once, a few get a weight,
and no other width would lower the objective. Is one width enough for your view?
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelweave import MKLRegressor, stack_views
from kernelweave.combiners import WidthMKL
from kernelweave.kernels import Gaussian

# %%
# Two sensors, each with one column. The target is a slow wave of the first one with a fast ripple
# on it, plus a slow wave of the second.

rng = np.random.default_rng(0)
first, second = rng.uniform(-3, 3, size=(2, 300))
X = stack_views({"first": first[:, None], "second": second[:, None]})
y = np.sin(first) + 0.5 * np.sin(8 * first) + np.cos(second) + 0.1 * rng.normal(size=300)

# %%
# One kernel for each sensor. The range is 0.05 to 10 times the spread of its samples.

kernels = [Gaussian("first"), Gaussian("second")]
models = {
    C: MKLRegressor(kernels, WidthMKL(0.05, 10.0), C=C, epsilon=0.1).fit(X, y) for C in (0.3, 10.0)
}
for C, model in models.items():
    print(f"C = {C:g}\n{model.combiner_.widths_.round(3)}")

# %%
# A curve shows how much each width would help, relative to those that are in use: it touches 1
# where a width has a weight (a disk, the larger the heavier) and stays below elsewhere. That is the
# certificate of the fit, and it holds between the points of the curve too. With C = 0.3 the widths
# are those of the target: the ripple has a narrow kernel of the first sensor, the slow waves have
# wide ones. With C = 10 the errors are to be fitted as well, and the narrowest widths get a weight
# for that: choose C by validation before you read widths.

figure, panels = plt.subplots(
    1, 2, figsize=(7.0, 3.4), sharex=True, sharey=True, layout="constrained"
)
for panel, (C, model) in zip(panels, models.items(), strict=True):
    widths, profile = model.combiner_.widths_, model.combiner_.profile_
    panel.axhline(1.0, color="#8c8c8c", linewidth=0.8)
    for sensor, ink, dashes in (("first", "#0072B2", "-"), ("second", "#D55E00", "--")):
        curve, chosen = profile.loc[[sensor]], widths.loc[[sensor]]
        style = {"color": ink, "linestyle": dashes, "label": sensor}
        panel.semilogx(curve["scale"], curve["ratio"], **style)
        sizes = 30 + 400 * chosen["weight"]
        panel.scatter(
            chosen["scale"], np.ones(len(chosen)), s=sizes, color=ink, alpha=0.7, zorder=3
        )
    panel.set(xlabel="width of the Gaussian", ylim=(0.0, 1.2))
    panel.set_title(f"C = {C:g}", fontsize=10)
    panel.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("gain relative to widths in use")
panels[0].legend(title="sensor", frameon=False)
plt.show()
