"""Models whose kernels prepare their views by a transformer, for tests of saving; see `saved_models`."""

import numpy as np
import scipy.sparse as sp
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from kernelweave import MKLRegressor
from kernelweave.combiners import (
    KernelMap,
    Localized,
    Mean,
    Projected,
    Softmax,
)
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.kernels import (
    Distance,
    Gaussian,
    Linear,
    Polynomial,
)
from kernelweave.reduction import (
    AKDAQR,
    MKLDR,
    SubspaceKernel,
)
from saved_builders import GAPS, NEW, VALUE, A, N, classifier, labelled, on_frame

PREPARED = {
    "prepared": classifier(
        [
            Linear([0, 1], transformer=StandardScaler()),
            Gaussian(slice(1, 4), transformer=make_pipeline(MinMaxScaler(clip=True), PCA(2, whiten=True))),
            Polynomial(transformer=make_pipeline(RobustScaler(), "passthrough", Normalizer())),
        ]
    ),
    "prepared, frame": on_frame(
        [
            Linear("u", transformer=StandardScaler()),
            Gaussian(
                ["word", "count", "flag", "w"],
                transformer=make_column_transformer(
                    (OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist"), ["word"]),
                    (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["w"]),
                    (MinMaxScaler(), make_column_selector(dtype_include=np.integer)),
                    remainder="passthrough",
                ),
            ),
        ],
        missing=[(3, ["u__0", "u__1"]), (4, "word"), (5, "w"), (N + 1, "word"), (N + 2, "w")],
    ),
    "prepared, text": on_frame(
        [
            Linear("u"),
            Linear("word", transformer=TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True)),
            (
                "topics",
                Gaussian(
                    "word",
                    transformer=make_pipeline(
                        CountVectorizer(token_pattern=r"(?u)\w", stop_words=["b"]),
                        TfidfTransformer(norm=None),
                        TruncatedSVD(2, random_state=0),
                    ),
                ),
            ),
        ],
        missing=[(4, "word"), (N + 2, "word")],
    ),
    "prepared, sparse": classifier(
        [
            Linear([0, 3], transformer=MaxAbsScaler()),
            Gaussian([1, 2], transformer=StandardScaler(with_mean=False)),
            ("all", Gaussian(transformer=TruncatedSVD(2, random_state=0))),
        ],
        X=sp.csr_matrix(A),
        new=sp.csr_matrix(NEW),
    ),
    "prepared, missing cells": classifier(
        [
            Linear(transformer=make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())),
            Gaussian([0, 1], transformer=make_pipeline(StandardScaler(), SimpleImputer())),
        ],
        X=GAPS,
        new=np.where(NEW > 1.0, np.nan, NEW),
        normalize="center",
    ),
    "prepared, nearest samples": classifier(
        [Gaussian(transformer=make_pipeline(KNNImputer(n_neighbors=3, add_indicator=True), StandardScaler()))],
        X=GAPS,
        new=np.where(NEW > 1.0, np.nan, NEW),
    ),
    "prepared, ordinal": on_frame(
        [
            Linear(
                ["word", "flag"],
                transformer=OrdinalEncoder(
                    handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2, dtype=np.float32
                ),
            )
        ],
        missing=[(4, "word"), (N + 2, "word")],
    ),
    "prepared, projected": classifier(
        [
            Linear(transformer=PCA(3)),
            Gaussian([2, 3], transformer=StandardScaler()),
            ("flags", Linear([0], transformer=OneHotEncoder(handle_unknown="ignore", sparse_output=False))),
        ],
        X=np.round(A),
        new=np.round(NEW),
        combiner=Projected(2, Softmax(), gating_components=1),
        random_state=0,
    ),
    "prepared, localized": classifier(
        [Linear([0, 1], transformer=StandardScaler()), Gaussian([2, 3], transformer=RobustScaler())],
        combiner=Localized(inputs=KernelMap(Gaussian(transformer=StandardScaler()), n_landmarks=6), l2=0.01),
        random_state=0,
    ),
    "prepared, parts": classifier(
        [
            Linear([0], transformer=StandardScaler()) + Gaussian([1, 2]) * Linear([3], transformer=MinMaxScaler()),
            Distance("seuclidean", transformer=PCA(2)),
            ("own", Distance("mahalanobis", view=[0, 1, 2], transformer=PCA(2))),
        ]
    ),
    "prepared, regressor": lambda: (
        MKLRegressor([Linear([0, 1], transformer=StandardScaler()), Gaussian(transformer=PCA(3))]).fit(A, VALUE),
        NEW,
    ),
    "prepared, landmarks": labelled(
        SubspaceKernel(
            Gaussian([0, 1, 2], transformer=StandardScaler()), 2, landmarks="centroids", tol=0.05, random_state=0
        )
    ),
    "prepared, class means": labelled(AKDAQR(Gaussian(transformer=StandardScaler()) + Linear([0]))),
    "prepared, sparse large margin": labelled(
        SparseLargeMarginClassifier(3, kernel=Gaussian(transformer=StandardScaler()), tol=0.05, random_state=0)
    ),
    "prepared, mkldr": labelled(MKLDR([Linear(transformer=StandardScaler()), Gaussian()], n_components=1)),
    "mean combiner": classifier(combiner=Mean(), tol=np.float64(1e-4), max_iter=10**6, verbose=0),
}
