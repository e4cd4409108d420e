"""
Clusters that no view shows alone
=================================

Two measurements of the same samples, each of which has two groups; together they have four. Kernel
k-means finds them, agreement of subsamples says how many there are, and a certificate how far the
partition is from the best one.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelweave import stack_views
from kernelweave.cluster import KernelKMeans, choose_n_clusters
from kernelweave.kernels import Gaussian

# %%
# View a tells groups 0 and 1 from 2 and 3, view b tells 0 and 2 from 1 and 3.

rng = np.random.default_rng(0)
groups = np.repeat(np.arange(4), 60)
a = np.column_stack([4.0 * (groups >= 2), np.zeros(240)]) + rng.normal(size=(240, 2))
b = np.column_stack([4.0 * (groups % 2), np.zeros(240)]) + rng.normal(size=(240, 2))
X = stack_views({"a": a, "b": b})

# %%
# The number of clusters is the one under which clusterings of random subsamples agree. Two
# clusters, which are the groups of one view, do so as well; of numbers that agree about equally the
# largest is taken.

model = KernelKMeans([Gaussian("a"), Gaussian("b")], random_state=0)
found = choose_n_clusters(model, X, range(2, 9), random_state=0)
print(found.table.round(2))

model.set_params(n_clusters=found.n_clusters).fit(X)
print(f"inertia {model.inertia_:.1f}, no partition is below {model.inertia_bound_:.1f}")

# %%
# Samples in both views, coloured by the clusters that were found.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(7.0, 2.7), layout="constrained")
for cluster, (ink, marker) in enumerate(
    zip(["#0072B2", "#D55E00", "#009E73", "#CC79A7"], "osv^", strict=True)
):
    own = model.labels_ == cluster
    style = {"c": ink, "marker": marker, "s": 14, "alpha": 0.8, "linewidths": 0}
    left.scatter(*a[own].T, label=f"cluster {cluster}", **style)
    middle.scatter(*b[own].T, **style)
left.set(title="view a", xlabel="first column", ylabel="second column")
middle.set(title="view b", xlabel="first column", ylabel="second column")
figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9, handletextpad=0.1)

table = found.table
right.errorbar(
    table.index, table["agreement"], table["spread"], color="black", marker="o", capsize=3
)
right.axvline(found.n_clusters, color="0.6", linestyle="--", zorder=0)
right.set(title="which number", xlabel="clusters", ylabel="agreement (adjusted Rand)")
for panel in (left, middle, right):
    panel.title.set_fontsize(10)
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
