"""Four folders of files, written from real data sets as people keep them: for tests that tell a whole story.

Each cohort has a folder of training files and one of a new cohort. Rows are shuffled in every file, some samples are
missing from some files, columns of the new cohort stand in another order, and one view of it is not there at all.

=============  =================================================  ======================================================
cohort         views                                              what is odd in its files
=============  =================================================  ======================================================
digits         shapes (CSV), profile (TSV, gzipped), moments      a byte-order mark, blank lines at the end
               (Parquet)
wines          chemistry (CSV), colour (TSV)                      a category, column names with slashes and spaces
tumours        size (CSV), texture (CSV), notes (CSV)             decimal commas, semicolons, a column of text
diabetes       clinical (CSV), blood (NPZ)                        empty cells, a category; the target is a number
=============  =================================================  ======================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kernelweave import datasets
from kernelweave.kernels import Gaussian, Linear

COHORTS = ("digits", "wines", "tumours", "diabetes")


@dataclass(frozen=True)
class Cohort:
    """Files of one data set, and kernels that fit them.

    Attributes
    ----------
    paths, new_paths : list of Path
        A file for each view; those of the new cohort lack a view.
    target : str
        As `read_views` takes it.
    options : dict
        What else `read_views` needs.
    kernels : list of (str, Kernel)
    truth : Series
        The target of the new cohort, by sample.
    views : dict of DataFrame
        What was written, by view and sample, before samples were left out.
    missing : str
        The view that the new cohort lacks.
    """

    paths: list[Path]
    new_paths: list[Path]
    target: str
    options: dict[str, Any]
    kernels: list[Any]
    truth: pd.Series
    views: dict[str, pd.DataFrame]
    missing: str


def write_cohort(name: str, folder: Path) -> Cohort:
    """Write the files of a cohort below a folder."""
    views, target, kernels, files, missing = {
        "digits": _digits,
        "wines": _wines,
        "tumours": _tumours,
        "diabetes": _diabetes,
    }[name]()
    rng = np.random.default_rng(COHORTS.index(name))
    ids = pd.Index([f"{name[0].upper()}-{number:03d}" for number in rng.permutation(len(target))], name="sample")
    views = {view: table.set_axis(ids, axis=0) for view, table in views.items()}
    target = target.set_axis(ids)
    new = np.zeros(len(ids), dtype=bool)
    new[rng.choice(len(ids), len(ids) // 4, replace=False)] = True
    options = {"id": "sample"} | ({"decimal": ","} if name == "tumours" else {})
    decimal = options.get("decimal", ".")
    paths, new_paths = [], []
    for place, (view, table) in enumerate(views.items()):
        shuffled = table.loc[~new].sample(frac=1.0, random_state=place)
        if place:  # every sample keeps its first view
            shuffled = shuffled.iloc[len(shuffled) // 10 :]
        paths.append(_write(folder / "training" / files[view], shuffled, decimal))
        if view != missing:
            turned = table.loc[new].sample(frac=1.0, random_state=9 + place).iloc[:, ::-1]
            new_paths.append(_write(folder / "new" / files[view], turned, decimal))
    labels = target[~new].sample(frac=1.0, random_state=20)
    labels_path = _write(folder / "training" / "labels.csv", labels.to_frame(), decimal)
    return Cohort(paths, new_paths, f"{labels_path}:{target.name}", options, kernels, target[new], views, missing)


def _write(path: Path, table: pd.DataFrame, decimal: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        table.reset_index().to_parquet(path)
    elif path.suffix == ".npz":
        np.savez(path, **{path.stem: table.to_numpy(), "sample": table.index.to_numpy(dtype=str)})
    else:
        separator = "\t" if ".tsv" in path.name else (";" if decimal == "," else ",")
        encoding = "utf-8-sig" if path.stem == "shapes" else "utf-8"
        table.to_csv(path, sep=separator, decimal=decimal, encoding=encoding)
        if path.stem == "shapes":
            with path.open("a", encoding="utf-8") as file:
                file.write("\n\n")
    return path


def _digits():
    X, y = datasets.load_multifeat(return_X_y=True)
    words = np.array(["zero", "one", "two", "three"])
    chosen = np.concatenate([np.flatnonzero(y == digit)[:60] for digit in range(4)])
    tables = {
        view: _view(X, name).iloc[chosen] for view, name in (("shapes", "fou"), ("profile", "kar"), ("moments", "zer"))
    }
    kernels = [
        ("shapes", Gaussian("shapes", transformer=StandardScaler())),
        ("profile", Linear("profile", transformer=StandardScaler())),
        ("moments", Gaussian("moments", transformer=StandardScaler())),
    ]
    files = {"shapes": "shapes.csv", "profile": "profile.tsv.gz", "moments": "moments.parquet"}
    return tables, pd.Series(words[np.asarray(y)[chosen].astype(int)], name="digit"), kernels, files, "moments"


def _wines():
    wine = load_wine(as_frame=True)
    X = wine.data.rename(columns={"flavanoids": "flavanoids (mg / l)", "nonflavanoid_phenols": "other phenols, total"})
    X["proline level"] = pd.cut(X.pop("proline"), 3, labels=["low", "middle", "high"]).astype(str)
    colour = X[["color_intensity", "hue", "od280/od315_of_diluted_wines"]]
    chemistry = X.drop(columns=colour.columns)
    prepared = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), ["proline level"]),
    )
    kernels = [
        ("chemistry", Linear("chemistry", transformer=prepared)),
        ("colour", Gaussian("colour", transformer=StandardScaler())),
    ]
    labels = pd.Series(np.array(["Barolo", "Grignolino", "Barbera"])[wine.target], name="grape variety")
    return (
        {"chemistry": chemistry, "colour": colour},
        labels,
        kernels,
        {
            "chemistry": "chemistry.csv",
            "colour": "colour.tsv",
        },
        "colour",
    )


def _tumours():
    cancer = load_breast_cancer(as_frame=True)
    X = cancer.data.iloc[:240]
    size = X[[name for name in X if "radius" in name or "area" in name or "perimeter" in name]]
    texture = X[[name for name in X if "texture" in name or "smooth" in name or "symmetry" in name]]
    notes = pd.DataFrame({"text": [_note(row) for row in X.rank(pct=True).itertuples(index=False)]})
    kernels = [
        ("size", Linear("size", transformer=StandardScaler())),
        ("texture", Gaussian("texture", transformer=StandardScaler())),
        ("notes", Linear("notes", transformer=TfidfVectorizer())),
    ]
    labels = pd.Series(np.array(["malignant", "benign"])[cancer.target[:240]], name="diagnosis")
    files = {"size": "size.csv", "texture": "texture.csv", "notes": "notes.csv"}
    return {"size": size, "texture": texture, "notes": notes}, labels, kernels, files, "texture"


def _note(ranks) -> str:
    """What somebody may have written about the concavities of a tumour."""
    word = lambda value: "none" if value < 0.33 else ("some" if value < 0.67 else "deep")  # noqa: E731
    return f"{word(ranks[6])} concavities, {word(ranks[27])} points; compactness {word(ranks[5])}"


def _diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X, y = X.iloc[:260], y.iloc[:260]
    clinical = X[["age", "sex", "bmi", "bp"]].copy()
    clinical["sex"] = np.where(clinical["sex"] == 1, "one", "two")
    clinical.loc[clinical.index[::11], "bp"] = np.nan
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    prepared = make_column_transformer((numbers, ["age", "bmi", "bp"]), (OneHotEncoder(), ["sex"]))
    kernels = [
        ("clinical", Gaussian("clinical", transformer=prepared)),
        ("blood", Gaussian("blood", transformer=StandardScaler())),
    ]
    files = {"clinical": "clinical.csv", "blood": "blood.npz"}
    return (
        {"clinical": clinical, "blood": X.drop(columns=clinical.columns)},
        y.rename("progression"),
        kernels,
        files,
        "blood",
    )


def _view(X: pd.DataFrame, view: str) -> pd.DataFrame:
    columns = [name for name in X if name.startswith(f"{view}__")]
    return X[columns].rename(columns=lambda name: name.partition("__")[2])
