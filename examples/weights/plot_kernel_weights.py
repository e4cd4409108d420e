"""
How much does each view count?
==============================

Kernel weights are the first thing to look at in a fitted model: they show which descriptions of the
samples it relies on. A single fit says little, so look at several folds. With several classes the
views that matter differ from class to class.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Mean
from kernelweave.display import KernelWeightsDisplay
from kernelweave.kernels import Linear

# %%
# Six descriptions of handwritten digits (MULTIFEAT), one linear kernel each, on standardised
# features.

views = ["fac", "fou", "kar", "mor", "pix", "zer"]
scaler = StandardScaler().set_output(transform="pandas")


def model(combiner, **options):
    return make_pipeline(
        scaler, MKLClassifier([Linear(view) for view in views], combiner, C=10.0, **options)
    )


# %%
# Small against large digits in five folds. The mean kernel weights all views equally. Multiple
# kernel learning is about as accurate and weighs some views far more than others, much the same
# ones in every fold: error bars are one standard deviation.

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
results = {
    name: cross_validate(model(combiner), X[::4], y[::4], cv=folds, return_estimator=True)
    for name, combiner in {"mean kernel": Mean(), "learned weights": ConvexMKL()}.items()
}
accuracies = [
    f"{name} {100 * result['test_score'].mean():.1f} %" for name, result in results.items()
]

# %%
# Ten machines, one for each digit against all others, each with kernel weights of its own.

X, y = datasets.load_multifeat(return_X_y=True)
one_each = model(ConvexMKL(), multiclass="one-vs-all", weights="per-class").fit(X[::4], y[::4])

figure, (above, below) = plt.subplots(
    2, 1, figsize=(6.4, 6.8), layout="constrained", height_ratios=[1, 1.15]
)
KernelWeightsDisplay.from_cv_results(results, ax=above)
above.set_title("small against large digits; accuracy: " + ", ".join(accuracies), fontsize=10)
KernelWeightsDisplay.from_estimator(one_each, ax=below)
below.set_title("each digit against all others", fontsize=10)
below.set(xlabel="view", ylabel="digit")
plt.show()
