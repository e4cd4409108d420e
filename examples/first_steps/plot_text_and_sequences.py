"""
Numbers, words and sequences in one model
=========================================

Views need not be numbers. A spectrum kernel compares sequences by the short words that they share,
a linear kernel compares texts by their TF-IDF weights, and a Gaussian kernel compares measurements.
The model weighs all three.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, stack_views
from kernelweave.combiners import LpMKL
from kernelweave.kernels import Gaussian, Linear, Spectrum
from kernelweave.model_selection import view_report

# %%
# Made-up proteins of two families. Members of family A often contain the motif WGKC, those of
# family B the motif HPLE; notes and measurements hint at the family too.

rng = np.random.default_rng(0)
families = rng.choice(["A", "B"], 160)
letters = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
common, own = (
    ["purified", "stored", "measured", "twice", "cold"],
    {"A": ["membrane", "pump"], "B": ["nucleus", "repair"]},
)
sequences, notes, numbers = [], [], []
for family in families:
    sequence = "".join(rng.choice(letters, 40))
    place = rng.integers(36)
    motif = "WGKC" if family == "A" else "HPLE"
    sequences.append(
        sequence[:place] + motif + sequence[place + 4 :] if rng.random() < 0.85 else sequence
    )
    words = [*rng.choice(common, 4), *(rng.choice(own[family], 1) if rng.random() < 0.5 else [])]
    notes.append(" ".join(rng.permutation(words)))
    numbers.append(rng.normal(0.6 if family == "A" else -0.6, 1.0, 3))
X = stack_views({"sequence": sequences, "notes": notes, "assay": np.array(numbers)})
print(X.head(3).to_string())

# %%
# One kernel for each view. Each prepares its own view, also inside cross-validation.

kernels = [
    Spectrum("sequence", k=3),
    Linear("notes", transformer=TfidfVectorizer()),
    Gaussian("assay", transformer=StandardScaler()),
]
model = MKLClassifier(kernels, LpMKL(p=2), C=1.0)
report = view_report(model, X, families, cv=5)
model.fit(X, families)

# %%
# No view is good alone; together they are. Error bars are one standard deviation over five folds.

names = ["sequence", "notes", "assay"]
rows = report.xs("alone", level="kernels").loc[names]
together = report.loc[("all views", "together")]
inks = ["#0072B2", "#E69F00", "#009E73", "#4d4d4d"]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(6.8, 3.6), layout="constrained", width_ratios=[1.3, 1]
)
scores, spreads = [*rows["score"], together["score"]], [*rows["std"], together["std"]]
left.bar(range(4), 100 * np.array(scores), yerr=100 * np.array(spreads), color=inks, capsize=3)
left.set_xticks(range(4), [*names, "all three"])
left.set(ylim=(50, 100), ylabel="accuracy (%)", xlabel="views used")
right.bar(range(3), model.kernel_weights_, color=inks[:3])
right.set_xticks(range(3), names)
right.set(ylabel="kernel weight", xlabel="view")
for panel in (left, right):
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
