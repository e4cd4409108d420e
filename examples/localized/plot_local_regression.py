"""
A line for each stretch: regression by regions
==============================================

A response that rises slowly, jumps, rises fast and falls again cannot be followed by one line. With
a gating model, three kernels that can only draw lines share the axis: each has a line of its own
where its gate is open, and the gates blend neighbouring lines where they meet (compare Gönen 2010,
Figure 3.4).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLRegressor
from kernelweave.combiners import Localized, Softmax
from kernelweave.display import RegressionFitDisplay
from kernelweave.kernels import Polynomial

rng = np.random.default_rng(0)
dose = pd.DataFrame({"dose (mg)": np.sort(rng.uniform(0.0, 60.0, 120))})
course = np.interp(dose["dose (mg)"], [0, 18, 18, 36, 36, 60], [0, 8, -60, -20, -5, -50])
response = pd.Series(course + 5.0 * rng.normal(size=120), name="response (%)")

# %%
# ``Softmax("paper")`` gates add up to 1, so the fit is a weighted mean of the lines.

kernels = [(f"line {number}", Polynomial(degree=1)) for number in (1, 2, 3)]
combiner = Localized(Softmax("paper"), l2=1e-5, n_init=5)
regressor = MKLRegressor(
    kernels, combiner, C=1000.0, epsilon=8.0, normalize=None, tol=1e-4, random_state=0
)
model = make_pipeline(StandardScaler(), regressor).fit(dose, response)

# %%
# Above: the fit, its tube, within which errors cost nothing, and each line where it counts. Below:
# how much it counts.

display = RegressionFitDisplay.from_estimators(
    {"localized fit": model}, dose, response, support=True
)
share = len(model[-1].support_) / len(response)
display.ax_.set_title(
    f"three lines: {100 * share:.0f} % of the samples are support vectors", fontsize=10
)
plt.show()
