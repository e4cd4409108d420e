"""
Products of views, with few stored samples
==========================================

A product of two kernels is large only where both views agree. ``PolynomialMKL`` has all products of
two kernels and can be far more accurate than any weighted sum, but it stores many samples. Gates
over the kernels and their products reach much the same accuracy with fewer.
"""

from itertools import combinations

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Localized, Mean, PolynomialMKL
from kernelweave.kernels import Linear

# %%
# Even against odd digits: six linear kernels, one for each view, and their fifteen products.

X, y = datasets.load_multifeat(target="even-vs-odd", return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=500, stratify=y, random_state=0
)
scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

views = ["fac", "fou", "kar", "mor", "pix", "zer"]
kernels = [Linear(view) for view in views]
products = [(f"{a} x {b}", Linear(a) * Linear(b)) for a, b in combinations(views, 2)]
models = {
    "mean of the kernels": (kernels, Mean()),
    "learned weights (ConvexMKL)": (kernels, ConvexMKL()),
    "all products (PolynomialMKL)": (kernels, PolynomialMKL(tau=1.0)),
    "mean of kernels and products": (kernels + products, Mean()),
    "gates over kernels and products": (kernels + products, Localized(inputs=views, l2=0.003)),
}

# %%
# Upwards is better, and to the left is cheaper: what is stored is compared with each new sample.

figure, panel = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
inks = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"]
for (name, (chosen, combiner)), ink, marker in zip(models.items(), inks, "osD^v", strict=True):
    model = MKLClassifier(chosen, combiner, C=10.0, random_state=0).fit(X_train, y_train)
    accuracy, stored = 100 * model.score(X_test, y_test), 100 * len(model.support_) / len(y_train)
    print(f"{name:<34}{accuracy:6.2f} % right{stored:6.1f} % of the samples stored")
    panel.scatter(
        stored,
        accuracy,
        s=90,
        color=ink,
        marker=marker,
        edgecolor="black",
        linewidth=0.6,
        label=name,
    )
panel.set(xlabel="training samples stored (%)", ylabel="test accuracy (%)")
panel.grid(alpha=0.3)
panel.legend(fontsize=9)
plt.show()
