"""A line for each stretch: localized regression with three linear kernels (compare Gönen 2010, Figure 3.4).

The target is flat, falls, and rises again, which no single line can follow. With a gating model, three kernels that
know nothing but lines share the axis among them: each has its own line where its gate (below) is open, and the gates
blend the lines where they meet. Shaded: the tube within which errors cost nothing. Circled: the support vectors.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from figures import save
from kernelweave import MKLRegressor
from kernelweave.combiners import Localized, Softmax
from kernelweave.display import RegressionFitDisplay
from kernelweave.kernels import Polynomial

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 60.0, 120))
y = np.interp(x, [0.0, 18.0, 30.0, 60.0], [0.0, 0.0, -80.0, 20.0]) + 7.0 * rng.normal(size=120)

kernels = [(f"line {number}", Polynomial(degree=1)) for number in (1, 2, 3)]
regressor = MKLRegressor(
    kernels, Localized(Softmax(), l2=1e-4, n_init=5), C=1000.0, epsilon=8.0, normalize=None, tol=1e-4, random_state=0
)
model = make_pipeline(StandardScaler(), regressor).fit(x[:, None], y)
display = RegressionFitDisplay.from_estimators({"localized fit": model}, x[:, None], y, support=True)
share = len(model[-1].support_) / len(x)
display.ax_.set_title(f"{100 * share:.0f} % of the samples are support vectors", fontsize=10)
save(display.figure_, "local_regression.png")
