"""
Views that cost money
=====================

A view that must be measured for each new sample costs something. ``ConvexMKL(costs=...)`` charges
for it: with rising costs the model gives up expensive views first, and you see what accuracy they
buy.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL
from kernelweave.kernels import Linear

# %%
# Six views of handwritten digits with made-up prices for each new sample.

prices = {"fac": 30.0, "fou": 12.0, "kar": 20.0, "mor": 1.0, "pix": 5.0, "zer": 8.0}
X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=400, stratify=y, random_state=0
)
kernels = [Linear(view, transformer=StandardScaler()) for view in prices]

# %%
# The cost of a kernel is a power of its price: 0 treats all views alike, larger powers charge more
# and more for expensive views. Only views with a weight have to be measured.

powers = [0.0, 0.5, 1.0, 1.5]
points = []
for power in powers:
    costs = {view: price**power for view, price in prices.items()}
    model = MKLClassifier(kernels, ConvexMKL(costs=costs), C=10.0).fit(X_train, y_train)
    used = list(model.active_kernels_)
    points.append((sum(prices[view] for view in used), 100 * model.score(X_test, y_test), used))
    price, accuracy, _ = points[-1]
    print(f"power {power:.1f}: {price:.0f} euros, {accuracy:.1f} % right, uses {', '.join(used)}")

# %%
# Labels name the views that the model needs.

figure, panel = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
euros, accuracies, _ = zip(*points, strict=True)
panel.plot(euros, accuracies, color="#0072B2", marker="o")
for price, accuracy, used in points:
    side = {"ha": "left", "xytext": (8, -13)} if price < 50 else {"ha": "right", "xytext": (8, 9)}
    panel.annotate(
        " + ".join(used), (price, accuracy), textcoords="offset points", fontsize=9, **side
    )
panel.set(xlabel="price of the views for one new sample (euros)", ylabel="test accuracy (%)")
panel.spines[["top", "right"]].set_visible(False)
panel.margins(0.12)
plt.show()
