"""
Time to an event: which patients, and which view
================================================

Some patients had the event, others were last seen without it. A survival model orders them by risk;
what it is worth shows on patients that it has not seen, as curves of risk groups. The risk of one
patient is a sum over views, so that it can be said what raises it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from kernelweave import MKLSurvival
from kernelweave.combiners import LpMKL
from kernelweave.kernels import Gaussian, Linear
from kernelweave.survival import kaplan_meier, outcome

# %%
# Made for this example: 400 patients, of whom about half are censored. Five genes act linearly, of
# the two blood values both high and low ones are bad, and ten image features say nothing.

rng = np.random.default_rng(1)
genes, blood, image = (rng.normal(size=(400, width)) for width in (30, 2, 10))
risk = genes[:, :5].sum(axis=1) / 2 + 0.6 * (blood**2).sum(axis=1)
time, last_seen = rng.exponential(np.exp(1.5 - risk)) * 12, rng.uniform(0, 24, size=400)
y = outcome(np.minimum(time, last_seen), time <= last_seen)
tables = {"genes": genes, "blood": blood, "image": image}
X = pd.concat({name: pd.DataFrame(values) for name, values in tables.items()}, axis=1)
X.columns = [f"{view}__{number}" for view, number in X.columns]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y["event"])

# %%
# Cox's partial likelihood with a kernel for each view, and learned weights.

kernels = [Linear("genes"), Gaussian("blood"), Gaussian("image")]
model = MKLSurvival(kernels, LpMKL(p=1.1), C=0.3).fit(X_train, y_train)
concordance = model.score(X_test, y_test)

# %%
# New patients in three groups by their risk, and what the kernels add to the six highest risks.

scores = model.predict(X_test)
groups = np.digitize(scores, np.quantile(scores, [1 / 3, 2 / 3]))
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
for group, name, colour in zip(
    range(3), ["low", "middle", "high"], ["#009E73", "#E69F00", "#D55E00"], strict=True
):
    curve = kaplan_meier(y_test[groups == group])
    months = np.append(0.0, curve.times)
    left.step(months, curve(months), where="post", color=colour, label=f"{name} risk")
left.set(xlabel="months", ylabel="share without event", ylim=(0, 1.02), xlim=(0, 24))
left.set_title(f"100 new patients: C = {concordance:.2f}", fontsize=10)
left.legend(frameon=False, fontsize=9)

parts = model.contributions(X_test).drop(columns="intercept")
parts -= model.contributions(X_train).drop(columns="intercept").mean()
highest = parts.iloc[np.argsort(scores)[-6:]]
raised, lowered = np.zeros(6), np.zeros(6)
for view, colour in zip(parts.columns, ["#0072B2", "#CC79A7", "#999999"], strict=True):
    values = highest[view].to_numpy()
    begin = np.where(values > 0, raised, lowered)
    right.barh(range(6), values, left=begin, color=colour, label=view)
    raised, lowered = raised + np.maximum(values, 0), lowered + np.minimum(values, 0)
right.set(xlabel="risk, above that of the average patient", yticks=range(6))
right.set_yticklabels([f"patient {number}" for number in highest.index], fontsize=8)
right.set_title("what raises the highest risks", fontsize=10)
right.legend(frameon=False, fontsize=9)
plt.show()
