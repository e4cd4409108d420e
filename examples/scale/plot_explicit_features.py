"""
How many explicit features are enough?
======================================

Explicit features replace a kernel matrix. More of them come closer to the exact kernel and take
longer. A few dozen are often enough: accuracy levels off long before the features hold the whole
kernel.
"""

from time import perf_counter

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from kernelweave import MKLClassifier
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian

# %%
# Two moons of 6000 noisy samples and a narrow Gaussian kernel.

X, y = make_moons(8000, noise=0.25, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=6000, random_state=0)

# %%
# The same model with 4 to 256 features, and the exact one of 2000 of the samples.

numbers = [4, 8, 16, 32, 64, 128, 256]
accuracies, shares, seconds = [], [], []
for number in numbers:
    start = perf_counter()
    model = MKLClassifier(
        [Gaussian(scale=0.3)], approximation=NystroemFeatures(number), C=1.0, random_state=0
    )
    model.fit(X_train, y_train)
    seconds.append(perf_counter() - start)
    accuracies.append(100 * model.score(X_test, y_test))
    shares.append(100 * float(model.trace_shares_.iloc[0]))
exact = MKLClassifier([Gaussian(scale=0.3)], C=1.0).fit(X_train[:2000], y_train[:2000])
reference = 100 * exact.score(X_test, y_test)

# %%
# ``trace_shares_`` is the share of the kernel that the features hold. It needs no labels and is a
# cautious guide: here the accuracy is that of the exact kernel when a third of the trace is held.

figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 5.4), layout="constrained", sharex=True)
above.semilogx(
    numbers,
    accuracies,
    color="#0072B2",
    marker="o",
    base=2,
    label="explicit features, 6000 samples",
)
above.axhline(
    reference, color="black", linestyle="--", linewidth=1.0, label="exact kernel, 2000 samples"
)
above.set_ylabel("test accuracy (%)")
above.legend(fontsize=9)
below.semilogx(numbers, shares, color="#E69F00", marker="s", base=2, label="share of the trace")
below.set(xlabel="explicit features", ylabel="share of the trace (%)")
below.set_xticks(numbers, [str(number) for number in numbers])
for panel in (above, below):
    panel.spines[["top", "right"]].set_visible(False)
print(
    "seconds by number of features:",
    dict(zip(numbers, [round(value, 2) for value in seconds], strict=True)),
)
plt.show()
