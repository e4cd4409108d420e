"""
A view is missing
=================

In real cohorts not every sample has every view: an instrument was broken, a patient refused a test.
Leaving such samples out wastes them, and filling gaps with means makes up data. A kernel simply has
no row for a sample without its view, in training and in prediction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelweave import MKLClassifier, datasets
from kernelweave.kernels import Gaussian

# %%
# Handwritten digits with three views. Each sample loses each view with a given probability, but
# never all three. A missing view is NaN in all of its columns.

views = ["fou", "kar", "mor"]
X, y = datasets.load_multifeat(return_X_y=True)
X = X.loc[:, [name for name in X if name.split("__")[0] in views]]
owner = np.array([views.index(name.split("__")[0]) for name in X])


def lose_views(X, share, seed):
    rng = np.random.default_rng(seed)
    lost = rng.random((len(X), len(views))) < share
    whole = lost.all(axis=1)
    lost[whole, rng.integers(len(views), size=whole.sum())] = False
    return X.mask(lost[:, owner]), ~lost.any(axis=1)


# %%
# Three ways to deal with it, all with Gaussian kernels: all samples with the views that they have;
# all samples with means in the gaps; and training on complete samples only, with means in the gaps
# of new samples.

shares = [0.0, 0.15, 0.3, 0.45, 0.6]
accuracies = {"views that are there": [], "gaps filled with means": [], "complete samples only": []}
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=300, test_size=700, stratify=y, random_state=0
)
for seed, share in enumerate(shares):
    gaps, complete = lose_views(X_train, share, seed)
    new, _ = lose_views(X_test, share, seed + 100)
    kernels = [Gaussian(view, transformer=StandardScaler()) for view in views]
    imputed = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), SVC(C=10.0))
    results = [
        MKLClassifier(kernels, C=10.0).fit(gaps, y_train).score(new, y_test),
        imputed.fit(gaps, y_train).score(new, y_test),
        imputed.fit(gaps[complete], y_train[complete]).score(new, y_test),
    ]
    for values, result in zip(accuracies.values(), results, strict=True):
        values.append(100 * result)
    print(f"{100 * share:3.0f} % of the views lost: {complete.mean():4.0%} of the samples complete")

# %%
# Both training and new samples have gaps. Training on complete samples only is by far the worst:
# there are ever fewer. Filled gaps come closer, and still fall behind where many views are lost.

figure, panel = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
inks = ["#0072B2", "#D55E00", "#009E73"]
for (name, values), ink, marker, dashes in zip(
    accuracies.items(), inks, "os^", ["-", "--", "-."], strict=True
):
    panel.plot(
        100 * np.array(shares), values, color=ink, marker=marker, linestyle=dashes, label=name
    )
panel.set(xlabel="views lost (%)", ylabel="accuracy on new digits (%)")
panel.spines[["top", "right"]].set_visible(False)
panel.legend(fontsize=9, frameon=False)
plt.show()
