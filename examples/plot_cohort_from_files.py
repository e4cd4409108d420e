"""From files to a decision that can be explained: tumours described by three tables and a column of diagnoses.

A laboratory keeps one table for each way of looking at a sample: sizes, textures, and what somebody wrote about shapes.
Rows stand in another order in every file and some samples are missing from some files. `read_views` matches them by
sample id, each kernel prepares its own table, and cross-validation shows what each view gives (left: accuracy of a view
alone and of all but that view, one standard deviation to either side). A new cohort arrives without textures: the saved
model predicts it from the other two views, and `contributions` shows which of them decided for each sample (right).
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

import kernelweave
from figures import COLOURS, plt, save
from kernelweave import MKLClassifier, read_views
from kernelweave.kernels import Gaussian, Linear
from kernelweave.model_selection import view_report

folder = Path(tempfile.mkdtemp())


def write_files():
    """Write the tables of a data set as a laboratory would keep them."""
    data = load_breast_cancer(as_frame=True)
    table = data.data.set_axis([f"T-{number:03d}" for number in range(len(data.data))], axis=0).rename_axis("sample")
    words = table.rank(pct=True).map(lambda rank: ["no", "some", "deep"][min(2, int(3 * rank))])
    notes = words["mean concavity"] + " concavities, " + words["worst concave points"] + " notches"
    views = {
        "size": table.filter(regex="radius|area|perimeter"),
        "texture": table.filter(regex="texture|smoothness|symmetry"),
        "notes": notes.to_frame("text"),
    }
    diagnosis = pd.Series(np.array(["malignant", "benign"])[data.target], table.index, name="diagnosis")
    for place, (view, values) in enumerate(views.items()):
        first, new = values.iloc[:400], values.iloc[400:]
        first.sample(frac=1.0 if view == "size" else 0.85, random_state=place).to_csv(folder / f"{view}.csv")
        new.sample(frac=1.0, random_state=place).iloc[:, ::-1].to_csv(folder / f"{view}-new.csv")
    diagnosis.iloc[:400].to_csv(folder / "labels.csv")
    return diagnosis


diagnosis = write_files()
cohort = read_views(
    [folder / "size.csv", folder / "texture.csv", folder / "notes.csv"],
    target=f"{folder / 'labels.csv'}:diagnosis",
    id="sample",
)
print(cohort.overlap)

kernels = [
    Gaussian("size", transformer=StandardScaler()),
    Gaussian("texture", transformer=StandardScaler()),
    Linear("notes", transformer=TfidfVectorizer()),
]
model = MKLClassifier(kernels, C=10.0)
report = view_report(model, cohort.X, cohort.y, cv=5)
print(report.round(3).to_string())

kernelweave.save(model.fit(cohort.X, cohort.y), folder / "model.kw")
loaded = kernelweave.load(folder / "model.kw")
new = read_views({"size": folder / "size-new.csv", "notes": folder / "notes-new.csv"}, id="sample").X
shares = loaded.contributions(new).drop(columns="texture")  # nobody has a texture here
accuracy = np.mean(loaded.predict(new) == diagnosis[new.index])
print(f"new cohort, without textures: accuracy {100 * accuracy:.1f} %")

figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained", width_ratios=[1, 1.5])
views = ["size", "texture", "notes"]
for shift, kind, marker in ((-0.1, "alone", "o"), (0.1, "without", "s")):
    rows = report.xs(kind, level="kernels").loc[views]
    label = "the view alone" if kind == "alone" else "all but the view"
    style = {"color": "#4d4d4d", "marker": marker, "linestyle": "none", "capsize": 3}
    style["markerfacecolor"] = "white" if kind == "without" else style["color"]
    left.errorbar(np.arange(3) + shift, 100 * rows["score"], 100 * rows["std"], label=label, **style)
together = report.loc[("all views", "together"), "score"]
left.axhline(100 * together, color="black", linewidth=1.0, linestyle="--", label="all views together")
left.set_xticks(range(3), views)
left.set_xlim(-0.5, 2.5)
left.set_ylabel("accuracy (%), five folds")
left.set_title("What each view gives", fontsize=10)
left.legend(fontsize=8, loc="lower right")

shares["sum"] = shares.sum(axis=1)
chosen = shares.iloc[np.argsort(np.abs(shares["sum"]))[:24]].sort_values("sum")
places, up, down = np.arange(len(chosen)), np.zeros(len(chosen)), np.zeros(len(chosen))
for name, colour in zip(["size", "notes", "intercept"], [*COLOURS[:2], "#b0b0b0"], strict=True):
    share = chosen[name].to_numpy()
    right.bar(places, share, bottom=np.where(share > 0, up, down), color=colour, width=0.75, label=name)
    up, down = up + np.maximum(share, 0.0), down + np.minimum(share, 0.0)
right.plot(places, chosen["sum"], "D", color="black", markersize=4, label="decision value, their sum")
right.axhline(0.0, color="black", linewidth=0.8)
right.set_xticks(places, chosen.index, rotation=90, fontsize=7)
right.set_ylabel(f"{loaded.classes_[0]}   < 0 <   {loaded.classes_[1]}")
right.set_title(f"A new cohort without textures, {100 * accuracy:.1f} % right: the 24 closest decisions", fontsize=10)
right.legend(fontsize=8)
save(figure, "cohort_from_files.png")
