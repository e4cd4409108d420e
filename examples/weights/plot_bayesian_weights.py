"""
Kernel weights with their standard deviations
=============================================

A posterior over kernel weights says how sure a weight is, and gives probabilities that need no
calibration. With few samples the weight of a useful view is uncertain, too.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import BayesianMKLClassifier, datasets, stack_views
from kernelweave.kernels import Gaussian

# %%
# Six views of handwritten digits, digits 0 to 4 against 5 to 9, and a view of random numbers.

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
noise = stack_views({"noise": np.random.default_rng(0).normal(size=(len(X), 5))})
views = ["fac", "fou", "kar", "mor", "pix", "zer", "noise"]
kernels = [Gaussian(view, transformer=StandardScaler()) for view in views]
X_train, X_test, y_train, y_test = train_test_split(
    pd.concat([X, noise], axis=1), y, train_size=400, stratify=y, random_state=0
)
models = {n: BayesianMKLClassifier(kernels).fit(X_train.iloc[:n], y_train[:n]) for n in (50, 400)}

# %%
# Above, the weights with two standard deviations to both sides. Weights may be negative, and only
# their sizes beside each other mean something. The intervals are those of a product of independent
# factors, narrower than the posterior itself. Below, on the diagonal, 70 % of the samples with
# probability 0.7 are digits from 5 to 9. These digits are easy, and the model is too cautious.

figure, (panel, below) = plt.subplots(
    2, 1, figsize=(6.6, 6.4), layout="constrained", height_ratios=[1, 1.3]
)
styles = ((50, "#D55E00", "s", -0.12), (400, "#0072B2", "o", 0.12))
for n, ink, marker, aside in styles:
    model, places = models[n], np.arange(len(views)) + aside
    style = {"color": ink, "marker": marker, "linestyle": "none", "capsize": 3}
    spread = 2.0 * model.kernel_weights_std_
    panel.errorbar(places, model.kernel_weights_, spread, label=f"{n} training samples", **style)
    p = model.predict_proba(X_test)[:, 1]  # classes are sorted: of the digits from 5 to 9
    name = f"{n} training samples: log loss {log_loss(y_test, p):.2f}"
    line = {"color": ink, "marker": marker}
    CalibrationDisplay.from_predictions(
        y_test, p, pos_label=model.classes_[1], n_bins=8, name=name, ax=below, **line
    )
panel.axhline(0.0, color="#8c8c8c", linewidth=0.8)
panel.set_xticks(np.arange(len(views)), views)
panel.set(ylabel="kernel weight")
panel.legend(fontsize=9, frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0))
below.set(xlabel="predicted probability of a digit from 5 to 9", ylabel="share of such digits")
below.legend(fontsize=9, loc="upper left")
for axes in (panel, below):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
