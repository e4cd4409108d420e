"""
A tube around a curve: support vector regression
================================================

A support vector regression does not charge for errors inside a tube of half width epsilon, so the
fit is the flattest function whose tube still holds most samples. Samples inside the tube could be
removed without changing the fit: few are stored, and epsilon says how many (Gönen 2010, Figure
1.2).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from kernelweave import MKLRegressor
from kernelweave.display import RegressionFitDisplay
from kernelweave.kernels import Gaussian

rng = np.random.default_rng(1)
hours = pd.DataFrame({"time (hours)": np.sort(rng.uniform(0, 10, 60))})
time = hours["time (hours)"]
level = pd.Series(np.sin(time) + 0.15 * time + 0.25 * rng.normal(size=60), name="level (mg/l)")

# %%
# Support vectors, the samples on the edge of the tube or outside it, are circled.

model = MKLRegressor([Gaussian(scale=1.0)], C=10.0, epsilon=0.35).fit(hours, level)
display = RegressionFitDisplay.from_estimators({"fit": model}, hours, level, support=True)
display.ax_.set_title(
    f"{len(model.support_)} of {len(level)} samples are support vectors", fontsize=10
)
plt.show()
