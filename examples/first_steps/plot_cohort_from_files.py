"""
From files to a decision that can be explained
==============================================

A laboratory keeps one table for each way of looking at a sample, and the rows of these tables do
not match. This is the whole way from such files to a model that is saved, used on a new cohort that
lacks a view, and explained sample by sample.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

import kernelweave
from kernelweave import MKLClassifier, read_views
from kernelweave.kernels import Gaussian, Linear
from kernelweave.model_selection import view_report

# %%
# First the files: tumours described by sizes, by textures, and by what somebody wrote about shapes.
# Rows are in another order in every file, and some samples are missing from some files. The last
# 169 tumours are the new cohort.

folder = Path(tempfile.mkdtemp())
data = load_breast_cancer(as_frame=True)
table = data.data.set_axis(
    [f"T-{number:03d}" for number in range(len(data.data))], axis=0
).rename_axis("sample")
words = table.rank(pct=True).map(lambda rank: ["no", "some", "deep"][min(2, int(3 * rank))])
notes = words["mean concavity"] + " concavities, " + words["worst concave points"] + " notches"
views = {
    "size": table.filter(regex="radius|area|perimeter"),
    "texture": table.filter(regex="texture|smoothness|symmetry"),
    "notes": notes.to_frame("text"),
}
for place, (view, values) in enumerate(views.items()):
    share = 1.0 if view == "size" else 0.85
    values[:400].sample(frac=share, random_state=place).to_csv(folder / f"{view}.csv")
    values[400:].sample(frac=1.0, random_state=place).to_csv(folder / f"{view}-new.csv")
diagnosis = pd.Series(np.array(["malignant", "benign"])[data.target], table.index, name="diagnosis")
diagnosis[:400].to_csv(folder / "labels.csv")

# %%
# ``read_views`` matches rows by sample id and counts which samples have which views.

cohort = read_views(
    [folder / "size.csv", folder / "texture.csv", folder / "notes.csv"],
    target=f"{folder / 'labels.csv'}:diagnosis",
    id="sample",
)
print(cohort.overlap)

# %%
# Each kernel prepares its own table. Cross-validation shows what each view gives.

kernels = [
    Gaussian("size", transformer=StandardScaler()),
    Gaussian("texture", transformer=StandardScaler()),
    Linear("notes", transformer=TfidfVectorizer()),
]
model = MKLClassifier(kernels, C=10.0)
report = view_report(model, cohort.X, cohort.y, cv=5)
print(report.round(3).to_string())

# %%
# The new cohort has no textures. The saved model predicts it from the other two views, and
# ``contributions`` shows what each of them adds to the decision of each sample.

kernelweave.save(model.fit(cohort.X, cohort.y), folder / "model.kw")
loaded = kernelweave.load(folder / "model.kw")
new = read_views(
    {"size": folder / "size-new.csv", "notes": folder / "notes-new.csv"}, id="sample"
).X
accuracy = np.mean(loaded.predict(new) == diagnosis[new.index])
shares = loaded.contributions(new)[["size", "notes", "intercept"]]

# %%
# Above: accuracy of each view alone and of all but that view, with one standard deviation over the
# folds. Below: the closest decisions of the new cohort, as sums of what the views add.

figure, (above, below) = plt.subplots(
    2, 1, figsize=(7.0, 6.8), layout="constrained", height_ratios=[1, 1.25]
)
names = list(views)
for shift, kind, label, marker, fill in (
    (-0.1, "alone", "the view alone", "o", "#4d4d4d"),
    (0.1, "without", "all but the view", "s", "white"),
):
    rows = report.xs(kind, level="kernels").loc[names]
    style = {
        "color": "#4d4d4d",
        "marker": marker,
        "markerfacecolor": fill,
        "linestyle": "none",
        "capsize": 3,
    }
    above.errorbar(
        np.arange(3) + shift, 100 * rows["score"], 100 * rows["std"], label=label, **style
    )
together = report.loc[("all views", "together"), "score"]
above.axhline(
    100 * together, color="black", linewidth=1.0, linestyle="--", label="all views together"
)
above.set_xticks(range(3), names)
above.set(xlim=(-0.5, 2.5), xlabel="view", ylabel="accuracy (%)")
above.set_title("what each view gives, five folds", fontsize=10)
above.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)

sums = shares.sum(axis=1)
chosen = sums.loc[sums.abs().nsmallest(20).index].sort_values()
places, up, down = np.arange(20), np.zeros(20), np.zeros(20)
for name, ink, hatch in (
    ("size", "#0072B2", ""),
    ("notes", "#E69F00", "//"),
    ("intercept", "#b0b0b0", ""),
):
    share = shares.loc[chosen.index, name].to_numpy()
    bottom = np.where(share > 0, up, down)
    below.bar(
        places,
        share,
        bottom=bottom,
        color=ink,
        hatch=hatch,
        edgecolor="white",
        width=0.8,
        label=name,
    )
    up, down = up + np.maximum(share, 0.0), down + np.minimum(share, 0.0)
below.plot(places, chosen, "D", color="black", markersize=5, label="decision value,\ntheir sum")
below.axhline(0.0, color="black", linewidth=0.8)
below.set_xticks(places, chosen.index, rotation=90, fontsize=8)
below.set(xlabel="sample", ylabel=f"{loaded.classes_[0]}   < 0 <   {loaded.classes_[1]}")
below.set_title(
    f"a new cohort without textures, {100 * accuracy:.1f} % right: the 20 closest decisions",
    fontsize=10,
)
below.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
plt.show()
