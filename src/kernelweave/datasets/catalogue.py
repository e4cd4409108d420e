"""Every data set that `load_dataset` can load, as one declaration each.

The sets are those of M. Gönen's PhD thesis (2010, chapter 5 and appendix B), of the projection paper (PROTEIN) and of
the subspace kernel paper (gene expression and text), and further ones with several views, on which defaults are
compared. A *variant* is one of the papers' binary or merged-class problems, written as ``{new class: labels of the
file}``; samples whose label is in no new class are left out.

================================  ===========================================================
thesis                            variants
================================  ===========================================================
5.2.2.1 MULTIFEAT-EO, -SL         ``even-vs-odd``, ``small-vs-large``; USPS (5.4.3) alike
5.2.3.1 OPTDIGITS, PENDIGITS      ``1vs8``, ``3vs9``; ``0vs8``, ``1vs7``, ``5vs9``
5.3.1.2 OLIVETTI                  ``gender``
5.4.1 IRIS, THYROID, LETTER,      ``merged``: two classes, one of them with two modes
SEGMENTATION; 5.4.3 WAVEFORM
SLDR, appendix B: PROTEIN         ``superclass`` (four structural classes), ``merged`` (two)
================================  ===========================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .images import face_views, pen_views

Merge = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class DatasetSpec:
    """One data set: what its file holds, where it comes from, and the problems made of it.

    `views` has the number of columns of each array of the file, none for text, which is stored as the parts of one CSR
    matrix; with `sparse` each view is stored so, as ``VIEW_data``, ``VIEW_indices``, ... `classes` are the names of the
    labels ``first_label``, ``first_label + 1``, ..., none for regression. `derive` makes views of the arrays of the
    file, and `extras` are further arrays of it.
    """

    title: str
    archive: str
    licence: str
    n_samples: int
    views: Mapping[str, int]
    classes: tuple[str, ...] = ()
    first_label: int = 0
    variants: Mapping[str, Merge] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    derive: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]] | None = None
    extras: tuple[str, ...] = ()
    origin: str = "home"
    note: str = ""
    sparse: bool = False

    @property
    def is_text(self) -> bool:
        return not self.views

    @property
    def is_sparse(self) -> bool:
        return self.is_text or self.sparse


_UCI = "UCI Machine Learning Repository"
_CC_BY = "CC BY 4.0"
_UNSTATED = "no licence stated; published for research"
_DIGITS = tuple("0123456789")
_EVEN_ODD = {"even": (0, 2, 4, 6, 8), "odd": (1, 3, 5, 7, 9)}
_SMALL_LARGE = {"small (0-4)": (0, 1, 2, 3, 4), "large (5-9)": (5, 6, 7, 8, 9)}
_WOMEN = (7, 9, 31, 34)
_MEN = tuple(subject for subject in range(40) if subject not in _WOMEN)
_FOLDS = {
    "all-alpha": tuple(range(1, 7)),
    "all-beta": tuple(range(7, 16)),
    "alpha/beta": tuple(range(16, 25)),
    "alpha+beta": (25, 26, 27),
}
_PROTEIN_VIEWS = {
    "composition": 20,
    "secondary": 21,
    "hydrophobicity": 21,
    "volume": 21,
    "polarity": 21,
    "polarizability": 21,
    "l1": 22,
    "l4": 28,
    "l14": 48,
    "l30": 80,
    "swblosum62": 311,
    "swpam50": 311,
}


def _pairs(*pairs: tuple[int, int]) -> dict[str, Merge]:
    return {f"{a}vs{b}": {str(a): (a,), str(b): (b,)} for a, b in pairs}


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(str(label) for label in range(count))


def _uci(title: str, n_samples: int, n_columns: int, classes: tuple[str, ...] = (), **more: Any) -> DatasetSpec:
    return DatasetSpec(title, more.pop("archive", _UCI), _CC_BY, n_samples, {"X": n_columns}, classes, **more)


def _delve(title: str) -> DatasetSpec:
    archive = "DELVE archive of the University of Toronto, after L. Breiman (1996)"
    return DatasetSpec(title, archive, _UNSTATED, 7400, {"X": 20}, _numbered(2))


def _genes(title: str, n_samples: int, n_columns: int, classes: tuple[str, ...]) -> DatasetSpec:
    archive = "GEMS system, A. Statnikov, C. Aliferis et al. (2005)"
    return DatasetSpec(title, archive, _UNSTATED, n_samples, {"X": n_columns}, classes)


def _text(n_samples: int, n_classes: int, note: str = "") -> DatasetSpec:
    archive = "TREC collections of NIST, as term counts distributed with CLUTO by G. Karypis"
    licence = "the terms of the TREC collections; term counts published for research"
    return DatasetSpec("TREC documents", archive, licence, n_samples, {}, _numbered(n_classes), note=note)


def _views(
    title: str, archive: str, n_samples: int, n_classes: int, views: Mapping[str, int], **more: Any
) -> DatasetSpec:
    classes = tuple(str(label) for label in range(1, n_classes + 1))
    return DatasetSpec(title, archive, _UNSTATED, n_samples, views, classes, first_label=1, **more)


CATALOGUE: dict[str, DatasetSpec] = {
    "multifeat": _uci(
        "Multiple Features",
        2000,
        649,
        _DIGITS,
        archive=f"{_UCI}, R. Duin",
        variants={"small-vs-large": _SMALL_LARGE, "even-vs-odd": _EVEN_ODD},
        origin="embedded",
    ),
    "olivetti": DatasetSpec(
        "Olivetti faces",
        "AT&T Laboratories Cambridge, formerly ORL (Samaria and Harter, 1994)",
        "free for research with credit to AT&T Laboratories Cambridge",
        400,
        {"X": 4096},
        _numbered(40),
        variants={"gender": {"man": _MEN, "woman": _WOMEN}},
        derive=face_views,
        note="Views: the image at five resolutions (x4, x8, x16, x32 by block means, x64 itself) and its sixteen "
        "16 x 16 patches (patch0 ... patch15, row by row). `original_target` is the subject.",
    ),
    "concrete": _uci("Concrete Compressive Strength", 1030, 8, archive=f"{_UCI}, I-C. Yeh (1998)"),
    "winewhite": _uci(
        "Wine Quality, white", 4898, 11, archive=f"{_UCI}, P. Cortez et al. (2009)", aliases=("whitewine",)
    ),
    "banana": DatasetSpec(
        "Banana", "IDA benchmark repository, G. Raetsch et al. (2001)", _UNSTATED, 5300, {"X": 2}, _numbered(2)
    ),
    "bupa": _uci("Liver Disorders", 345, 6, _numbered(2), aliases=("liverdisorder",)),
    "heart": _uci("Statlog (Heart)", 270, 13, ("absent", "present")),
    "letter": _uci(
        "Letter Recognition",
        20000,
        16,
        tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        variants={"merged": {"A or C": (0, 2), "B": (1,)}},
    ),
    "optdigits": _uci("Optical Recognition of Handwritten Digits", 5620, 64, _DIGITS, variants=_pairs((1, 8), (3, 9))),
    "pendigits": _uci(
        "Pen-Based Recognition of Handwritten Digits",
        10992,
        16,
        _DIGITS,
        variants=_pairs((0, 8), (1, 7), (5, 9)),
        derive=pen_views,
        note="Views: dyn, the eight pen points; sta16, the 16 x 16 bitmap of the line through them; sta8 and sta4, its "
        "block means.",
    ),
    "ringnorm": _delve("Ringnorm"),
    "twonorm": _delve("Twonorm"),
    "segment": _uci(
        "Image Segmentation",
        2310,
        19,
        ("brickface", "sky", "foliage", "cement", "window", "path", "grass"),
        variants={"merged": {"brickface or sky": (0, 1), "foliage": (2,)}},
        aliases=("segmentation",),
    ),
    "ionosphere": _uci("Ionosphere", 351, 34, ("bad", "good")),
    "sonar": _uci("Connectionist Bench (Sonar, Mines vs. Rocks)", 208, 60, ("mine", "rock")),
    "pima": DatasetSpec(
        "Pima Indians Diabetes",
        f"National Institute of Diabetes and Digestive and Kidney Diseases, formerly in the {_UCI}",
        "public domain (CC0)",
        768,
        {"X": 8},
        ("negative", "positive"),
    ),
    "newthyroid": _uci(
        "Thyroid Disease (new-thyroid)",
        215,
        5,
        ("normal", "hyper", "hypo"),
        variants={"merged": {"normal": (0,), "hyper or hypo": (1, 2)}},
        aliases=("thyroid",),
    ),
    "waveform": _uci(
        "Waveform Database Generator, version 1",
        5000,
        21,
        _numbered(3),
        variants={"merged": {"0 or 1": (0, 1), "2": (2,)}},
    ),
    "iris": _uci(
        "Iris",
        150,
        4,
        ("setosa", "versicolor", "virginica"),
        variants={"merged": {"setosa or virginica": (0, 2), "versicolor": (1,)}},
        origin="scikit-learn",
    ),
    "wdbc": _uci("Breast Cancer Wisconsin (Diagnostic)", 569, 30, ("malignant", "benign"), origin="scikit-learn"),
    "usps": DatasetSpec(
        "USPS handwritten digits",
        "United States Postal Service and CEDAR (Hull, 1994)",
        _UNSTATED,
        9298,
        {"X": 256},
        _DIGITS,
        variants={"small-vs-large": _SMALL_LARGE, "even-vs-odd": _EVEN_ODD},
        note="The thesis used a version with 11000 digits.",
    ),
    "mcycle": DatasetSpec(
        "Motorcycle accident",
        "data set mcycle of the R package MASS, after B. Silverman (1985)",
        "GPL-2 or GPL-3",
        133,
        {"X": 1},
        aliases=("motorcycle",),
    ),
    "spambase": _uci("Spambase", 4601, 57, ("ham", "spam")),
    "brain_tumor1": _genes("Brain tumours, five types", 90, 5920, _numbered(5)),
    "brain_tumor2": _genes("Brain tumours, four types", 50, 10367, _numbered(4)),
    "leukemia1": _genes("Leukaemia, three types (Golub)", 72, 5327, _numbered(3)),
    "leukemia2": _genes("Leukaemia, three types (Armstrong)", 72, 11225, _numbered(3)),
    "prostate_tumor": _genes("Prostate tumours", 102, 10509, _numbered(2)),
    "dlbcl": _genes("Diffuse large B-cell lymphomas", 77, 5469, ("DLBCL", "follicular lymphoma")),
    "tr11": _text(414, 9, note="6429 columns; the paper has 6424."),
    "tr23": _text(204, 6),
    "tr41": _text(878, 10),
    "tr45": _text(690, 10),
    "la1": _text(3204, 6),
    "la2": _text(3075, 6),
    "hitech": _text(2301, 6, note="126321 columns, 22498 of them not empty; the paper has 10080."),
    "protein_fold": DatasetSpec(
        "Protein fold recognition",
        "UCSD Multiple Kernel Learning repository, after C. Ding and I. Dubchak (2001)",
        _UNSTATED,
        694,
        _PROTEIN_VIEWS,
        tuple(f"fold {label}" for label in range(1, 28)),
        first_label=1,
        variants={
            "superclass": _FOLDS,
            "merged": {
                "all-alpha or all-beta": _FOLDS["all-alpha"] + _FOLDS["all-beta"],
                "alpha/beta or alpha+beta": _FOLDS["alpha/beta"] + _FOLDS["alpha+beta"],
            },
        },
        aliases=("protein",),
        extras=("is_train",),
        note="`is_train` marks the published training part; swblosum62 and swpam50 are Smith-Waterman scores against "
        "its 311 proteins, so they are features, not square kernels.",
    ),
    "landuse21": _views(
        "Land use from aerial images",
        "UC Merced Land Use, Y. Yang and S. Newsam (2010), as views in LandUse_21.mat",
        2100,
        21,
        {"gist": 20, "phog": 59, "lbp": 40},
    ),
    "cub10": _views(
        "Caltech-UCSD birds, ten species",
        "CUB-200-2011, C. Wah et al. (2011), as views in cub_googlenet_doc2vec_c10.mat",
        600,
        10,
        {"image": 1024, "text": 300},
    ),
    "pie10": _views(
        "CMU PIE faces, ten images a subject",
        "CMU PIE, T. Sim et al. (2002), as views in PIE_face_10.mat",
        680,
        68,
        {"v1": 484, "v2": 256, "v3": 279},
    ),
    "wikipedia": _views(
        "Wikipedia articles, images and topics",
        "N. Rasiwasia et al. (2010), as views in Wikipedia-test.mat",
        693,
        10,
        {"image": 128, "text": 10},
    ),
    "mnist4": _views(
        "MNIST, four digits",
        "Y. LeCun et al. (1998), as views in MNIST-4.mat",
        4000,
        4,
        {"iso": 30, "lda": 9, "npe": 30},
    ),
    "ccv": _views(
        "Columbia consumer video",
        "Y-G. Jiang et al. (2011), as views in CCV.mat",
        6773,
        20,
        {"stip": 20, "sift": 20, "mfcc": 20},
    ),
    "cora": _views(
        "Cora citations",
        "A. McCallum et al. (2000), as views in Cora.mat",
        2708,
        7,
        {"cites": 2708, "content": 1433, "inbound": 2706, "outbound": 2706},
        sparse=True,
    ),
    "movies": _views(
        "Movies by keywords and actors",
        "IMDb, G. Bisson and C. Grimal (2012), as views in Movies.mat",
        617,
        17,
        {"keywords": 1878, "actors": 1398},
        sparse=True,
    ),
    "ngs": _views(
        "Newsgroups, three ways to count words",
        "20 Newsgroups, K. Lang (1995), as views in NGs.mat",
        500,
        5,
        {"v1": 2000, "v2": 2000, "v3": 2000},
        sparse=True,
    ),
    "reuters1200": _views(
        "Reuters, documents in five languages",
        "M. Amini et al. (2009), as views in Reuters-1200.mat",
        1200,
        6,
        {language: 2000 for language in ("english", "french", "german", "spanish", "italian")},
        sparse=True,
    ),
}


def find_spec(name: str) -> tuple[str, DatasetSpec]:
    wanted = name.lower() if isinstance(name, str) else name
    for known, spec in CATALOGUE.items():
        if wanted == known or wanted in spec.aliases:
            return known, spec
    raise ValueError(f"there is no data set named {name!r}; the data sets are {', '.join(CATALOGUE)}")
