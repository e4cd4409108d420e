"""
Probabilities that can be trusted
=================================

A support vector machine gives decision values. Squeezed into 0 to 1 they are no probabilities;
scikit-learn's ``CalibratedClassifierCV`` learns on held-out samples how decision values become
probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets
from kernelweave.kernels import Gaussian

# %%
# Even against odd digits by two weak views, of which every third sample lacks one.

X, y = datasets.load_multifeat(target="even-vs-odd", return_X_y=True)
X.loc[::3, X.columns.str.startswith("zer__")] = np.nan
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=400, stratify=y, random_state=0
)
model = MKLClassifier(
    [Gaussian(view, transformer=StandardScaler()) for view in ("mor", "zer")], C=10.0
)

# %%
# ``ensemble=False`` keeps one model and calibrates it by the decision values of the folds.

calibrated = CalibratedClassifierCV(model, ensemble=False).fit(X_train, y_train)
values = model.fit(X_train, y_train).decision_function(X_test)
probabilities = {
    "decision values, squeezed": expit(values),
    "calibrated": calibrated.predict_proba(X_test)[:, 1],
}

# %%
# On the diagonal, 70 % of the samples with probability 0.7 are odd digits.

figure, (panel, counts) = plt.subplots(
    2, 1, figsize=(6.4, 5.6), layout="constrained", height_ratios=[2.2, 1], sharex=True
)
styles = (("#D55E00", "s", "--"), ("#0072B2", "o", "-"))
for (name, values), (ink, marker, dashes) in zip(probabilities.items(), styles, strict=True):
    label = f"{name}: log loss {log_loss(y_test, values):.2f}"
    line = {"color": ink, "marker": marker, "linestyle": dashes}
    CalibrationDisplay.from_predictions(y_test, values, n_bins=8, name=label, ax=panel, **line)
    style = {"color": ink, "histtype": "step", "linewidth": 1.6, "linestyle": dashes, "label": name}
    counts.hist(values, bins=np.linspace(0, 1, 17), **style)
panel.set(xlabel="", ylabel="share of odd digits")
panel.legend(fontsize=9, loc="upper left")
counts.set(xlabel="predicted probability of an odd digit", ylabel="samples", ylim=(0, 330))
counts.legend(fontsize=9, loc="upper center", ncols=2, frameon=False)
plt.show()
