"""Four folders of small files as people keep them, for tests of the command line.

=========  =====================================================  =====================================================
folder     views                                                  what is odd in its files
=========  =====================================================  =====================================================
digits     rna, protein (CSV), clinical (TSV)                     three classes, rows shuffled, samples that lack views;
                                                                  the new cohort has no clinical file
patients   "Größe, Gewicht" (CSV), "<i>notes & so on" (CSV)       decimal commas, categories, documents; markup, commas
                                                                  and blanks in names and labels; two visits per patient
families   blood (CSV), kin (a similarity matrix)                 samples that only the matrix has
fields     soil (CSV), weather (NPZ)                              the target is a number; empty cells
=========  =====================================================  =====================================================

Each has training files and those of a new cohort, which lacks samples in some views, and in another order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from kernelweave import datasets

SCRIPT = "<script>alert('x')</script>"


@dataclass(frozen=True)
class Folder:
    """Files of one folder, as words of the command line.

    Attributes
    ----------
    files : list of str
        What `compare` and `fit` read, with the options that they need for it; relative to the folder, or whole paths.
    new_files : list of str
        What `predict` and `explain` read of the new cohort, with options.
    truth : Series
        The target of the new cohort, by sample.
    views : list of str
    id_name : str
        What the column of the ids is called.
    """

    files: list[str]
    new_files: list[str]
    truth: pd.Series
    views: list[str]
    id_name: str = "sample"
    classes: list[str] = field(default_factory=list)


def write_digits(folder: Path) -> Folder:
    """Handwritten digits of the embedded data set, under the names of the examples in ``--help``."""
    X, y = datasets.load_multifeat(return_X_y=True)
    y = np.asarray(y).astype(int)
    chosen = np.concatenate([np.flatnonzero(y == digit)[:32] for digit in (0, 3, 8)])
    rng = np.random.default_rng(0)
    ids = pd.Index([f"scan-{number:03d}" for number in rng.permutation(len(chosen))], name="sample")
    words = pd.Series(np.array(["zero", "", "", "three", "", "", "", "", "eight"])[y[chosen]], ids, name="diagnosis")
    new = np.zeros(len(ids), dtype=bool)
    new[rng.choice(len(ids), 18, replace=False)] = True
    folder.mkdir(parents=True)
    for place, (view, name) in enumerate((("rna", "fou"), ("protein", "zer"), ("clinical", "mor"))):
        table = X.iloc[chosen].filter(regex=f"^{name}__").iloc[:, :20].set_axis(ids, axis=0)
        table = table.set_axis([f"{name}{number}" for number in range(table.shape[1])], axis=1)
        old = table[~new].sample(frac=1.0, random_state=place).iloc[7 * place :]
        if view == "clinical":
            old.to_csv(folder / "clinical.tsv", sep="\t")
            continue
        old.to_csv(folder / f"{view}.csv")
        shuffled = table[new].sample(frac=1.0, random_state=9 + place).iloc[4 * place :, ::-1]
        shuffled.to_csv(folder / f"{view}-new.csv")
    words[~new].sample(frac=1.0, random_state=5).to_csv(folder / "labels.csv")
    return Folder(
        ["rna.csv", "protein.csv", "clinical.tsv", "--target", "labels.csv:diagnosis", "--id", "sample"],
        ["rna-new.csv", "protein=protein-new.csv"],
        words[new],
        ["rna", "protein", "clinical"],
        classes=["eight", "three", "zero"],
    )


def write_patients(folder: Path) -> Folder:
    """Visits of patients, with names that are hard on parsers and pages."""
    rng = np.random.default_rng(1)
    n, n_new = 60, 16
    ill = rng.permutation(np.arange(n + n_new) % 2 == 0)
    ids = pd.Index([f"Besuch {number}" for number in range(n + n_new)], name="Fall, Nr.")
    measures = pd.DataFrame(
        {
            "größe (cm)": 170 + 8 * rng.standard_normal(n + n_new),
            "a, b; c": ill + 0.7 * rng.standard_normal(n + n_new),
            SCRIPT: np.where(rng.random(n + n_new) < 0.8, np.where(ill, "ja", "nein"), "weiß nicht"),
            "patient": [f"P{number // 2}" for number in range(n + n_new)],
        },
        index=ids,
    )
    said = {True: ["fever and a cough", "cough at night"], False: ["no complaints today", "feels quite well"]}
    seen = ["seen on the ward", "seen at home", "came to the clinic"]
    notes = pd.DataFrame(
        {
            "what was said": [
                f"{rng.choice(said[bool(is_ill)])}, {rng.choice(seen)} {rng.integers(99)}" for is_ill in ill
            ]
        },
        index=ids,
    )
    labels = pd.Series(np.where(ill, f"krank & müde {SCRIPT}", 'gesund, "wohl"'), ids, name="Diagnose: <b>heute</b>")
    (folder / "neu").mkdir(parents=True)
    kept = {"sep": ";", "decimal": ",", "encoding": "utf-8"}
    first, second, target = folder / "Größe, Gewicht.csv", folder / "notizen.csv", folder / "die Diagnosen.csv"
    measures[:n].sample(frac=1.0, random_state=0).to_csv(first, **kept)
    notes[:n].sample(frac=1.0, random_state=1)[5:].to_csv(second, **kept)
    labels[:n].sample(frac=1.0, random_state=2).to_csv(target, **kept)
    measures[n:].drop(columns="patient").to_csv(folder / "neu" / "Größe, Gewicht.csv", **kept)
    notes[n:].sample(frac=1.0, random_state=3)[3:].to_csv(folder / "neu" / "notizen.csv", **kept)
    name = "<i>notes & so on"
    reading = ["--decimal", ",", "--id", "Fall, Nr."]
    return Folder(
        [str(first), f"{name}={second}", "--target", f"{target}:{labels.name}", "--groups", "patient", *reading],
        [str(folder / "neu" / "Größe, Gewicht.csv"), f"{name}={folder / 'neu' / 'notizen.csv'}", *reading],
        labels[n:],
        ["Größe, Gewicht", name],
        id_name="Fall, Nr.",
        classes=sorted(labels.unique()),
    )


def write_families(folder: Path) -> Folder:
    """Animals with a matrix of their kinship."""
    rng = np.random.default_rng(2)
    n, n_new = 48, 12
    dark = rng.permutation(np.arange(n + n_new) % 2 == 0)
    traits = np.column_stack([np.where(dark, 1.0, -1.0), np.zeros(n + n_new)]) + rng.standard_normal((n + n_new, 2))
    distances = ((traits[:, None] - traits[None]) ** 2).sum(axis=2)
    ids = pd.Index([f"a{number}" for number in range(n + n_new)], name="animal")
    kin = pd.DataFrame(np.exp(-distances / 4), ids, ids)
    blood = pd.DataFrame({"iron": dark + rng.standard_normal(n + n_new), "zinc": rng.standard_normal(n + n_new)}, ids)
    labels = pd.Series(np.where(dark, "dark", "light"), ids, name="coat")
    folder.mkdir(parents=True)
    shuffled = kin.index[:n].to_series().sample(frac=1.0, random_state=0)
    kin.loc[shuffled, shuffled].to_csv(folder / "kin.csv")
    kin.iloc[n:, :n].to_csv(folder / "kin-new.csv")
    blood[:n].sample(frac=1.0, random_state=1)[6:].to_csv(folder / "blood.csv")
    blood[n:].sample(frac=1.0, random_state=2)[2:].to_csv(folder / "blood-new.csv")
    labels[:n].to_csv(folder / "coats.csv")
    return Folder(
        [str(folder / "blood.csv"), "--kernel", f"kin={folder / 'kin.csv'}", "--target", "coats.csv:coat"],
        [str(folder / "blood-new.csv"), "--kernel", f"kin={folder / 'kin-new.csv'}"],
        labels[n:],
        ["blood", "kin"],
        id_name="animal",
        classes=["dark", "light"],
    )


def write_fields(folder: Path) -> Folder:
    """Fields and what they yielded: a regression."""
    rng = np.random.default_rng(3)
    n, n_new = 60, 14
    total = n + n_new
    ids = pd.Index([f"field {number}" for number in range(total)], name="field")
    soil = pd.DataFrame({"pH": 6 + rng.standard_normal(total), "clay %": 30 * rng.random(total)}, ids)
    soil["kind"] = rng.choice(["loam", "sand", "peat"], total)
    weather = rng.standard_normal((total, 3))
    harvest = (
        7 + 2 * (soil["pH"] - 6) + 1.5 * weather[:, 0] + (soil["kind"] == "loam") + 0.3 * rng.standard_normal(total)
    )
    soil.loc[soil.index[::9], "clay %"] = np.nan
    (folder / "new").mkdir(parents=True)
    soil[:n].sample(frac=1.0, random_state=0).to_csv(folder / "soil.csv")
    harvest[:n].rename("tonnes").to_csv(folder / "harvest.csv")
    np.savez(folder / "weather.npz", weather=weather[5:n], ids=ids[5:n].to_numpy(dtype=str))
    soil[n:].to_csv(folder / "new" / "soil.csv")
    np.savez(folder / "new" / "weather.npz", weather=weather[n:-2], ids=ids[n:-2].to_numpy(dtype=str))
    return Folder(
        [str(folder / "soil.csv"), str(folder / "weather.npz"), "--target", "harvest.csv:tonnes"],
        [str(folder / "new" / "soil.csv"), str(folder / "new" / "weather.npz")],
        harvest[n:],
        ["soil", "weather"],
        id_name="field",
    )


FOLDERS = {
    "digits": write_digits,
    "patients": write_patients,
    "families": write_families,
    "fields": write_fields,
}
