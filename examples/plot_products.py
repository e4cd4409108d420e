"""Products of views, with few support vectors: even against odd digits (MULTIFEAT).

A product of two kernels is large only where both views agree. `PolynomialMKL` has all products of two kernels and is
far more accurate than any weighted sum, but stores many samples. Gates over the six kernels and their fifteen products
are as accurate with little more than half of them, because each sample is compared by the kernels under which its class
is clear.
"""

from itertools import combinations

from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from figures import COLOURS, plt, save
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Localized, Mean, PolynomialMKL
from kernelweave.kernels import Linear

views = ["fac", "fou", "kar", "mor", "pix", "zer"]
kernels = [Linear(view) for view in views]
products = [(f"{a} x {b}", Linear(a) * Linear(b)) for a, b in combinations(views, 2)]
models = {
    "mean of the kernels": (kernels, Mean()),
    "convex MKL": (kernels, ConvexMKL()),
    "PolynomialMKL": (kernels, PolynomialMKL(tau=1.0)),
    "mean of kernels and products": (kernels + products, Mean()),
    "gates over kernels and products": (kernels + products, Localized(inputs=views, l2=0.003)),
}

X, y = datasets.load_multifeat(target="even-vs-odd", return_X_y=True)
parts = [train_test_split(X, y, train_size=667, stratify=y, random_state=seed) for seed in range(2)]
figure, panel = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
for place, (name, (chosen, combiner)) in enumerate(models.items()):
    accuracy, support = 0.0, 0.0
    for X_train, X_test, y_train, y_test in parts:
        scaler = StandardScaler().set_output(transform="pandas")
        model = make_pipeline(scaler, MKLClassifier(chosen, combiner, C=10.0, random_state=0)).fit(X_train, y_train)
        accuracy += 100 * model.score(X_test, y_test) / len(parts)
        support += 100 * len(model[-1].support_) / len(y_train) / len(parts)
    print(f"{name:<34}{accuracy:6.2f} % correct{support:6.1f} % of the samples stored")
    panel.scatter(support, accuracy, s=60, color=COLOURS[place % 3], marker="osD^v"[place], label=name)
panel.set(xlabel="training samples stored (support vectors) %", ylabel="test accuracy %")
panel.legend(frameon=False, fontsize=9)
panel.grid(alpha=0.3)
save(figure, "products.png")
