"""Fitted models on explicit features, for the tests of saving."""

from sklearn.decomposition import PCA

from kernelweave.combiners import (
    ConvexLocalized,
    ConvexMKL,
    FixedWeights,
    Localized,
    LpMKL,
    Mean,
    Projected,
    Sigmoid,
    Softmax,
)
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed, Spectrum
from saved_builders import GRAM, KERNELS, TARGETS, THREE, N, classifier, ids, on_frame, one_class, regressor

NYSTROEM = {"approximation": NystroemFeatures(8), "random_state": 0}

EXPLICIT = {
    "explicit": classifier(**NYSTROEM),
    "explicit, float64": classifier(**NYSTROEM, dtype="float64", storage="lazy", combiner=Mean()),
    "explicit, centred": classifier(**NYSTROEM, normalize="center"),
    "explicit, unit-trace": regressor(**NYSTROEM, normalize="unit-trace"),
    "explicit, one-vs-all": classifier(y=THREE, combiner=ConvexMKL(), **NYSTROEM),
    "explicit, inactive": classifier(combiner=FixedWeights([0.0, 1.0, 0.0]), approximation="nystroem", random_state=0),
    "explicit, least squares": regressor(TARGETS, combiner=LpMKL(2), machine="least-squares", **NYSTROEM),
    "explicit, one-class": one_class(Gaussian(), **NYSTROEM),
    "explicit, fourier": classifier([Gaussian([0, 1]), Laplacian([2, 3])], approximation=FourierFeatures(6)),
    "explicit, exact": classifier(
        [Linear([0, 1]), Polynomial([1, 2], degree=2), Linear([0]) + Linear([3])], approximation=ExactFeatures()
    ),
    "explicit, by kernel": on_frame(
        [Gaussian("u"), Spectrum("word", k=2), Linear("v")],
        missing=[(3, ["u__0", "u__1"]), (N + 5, ["u__0", "u__1"]), (4, "word")],
        approximation={"u": PCA(2), "word": "nystroem", "v": ExactFeatures()},
        random_state=0,
    ),
    "explicit, precomputed": ids(Precomputed(GRAM), n=N + 11, **NYSTROEM),
    "explicit, localized": on_frame(
        [Linear("u"), Gaussian("v")],
        combiner=Localized(inputs=["u", "v"], l2=0.01),
        missing=[(3, ["u__0", "u__1"]), (N + 5, ["v__0", "v__1"])],
        **NYSTROEM,
    ),
    "explicit, sigmoid": regressor(combiner=Localized(Sigmoid(), inputs=[1, 2], l2=0.01), **NYSTROEM),
    "explicit, regions": classifier(y=THREE, combiner=ConvexLocalized(2, p=1, inputs=[1]), **NYSTROEM),
    "explicit, regions per class": classifier(
        y=THREE, combiner=ConvexLocalized(2), weights="per-class", multiclass="one-vs-all", **NYSTROEM
    ),
    "explicit, projected": classifier(
        [("flat", Linear()), ("curved", Gaussian([0, 1, 2])), ("waves", Gaussian([1, 2]))],
        combiner=Projected(2, Softmax(), gating_components=1),
        approximation={"flat": ExactFeatures(), "curved": NystroemFeatures(8), "waves": FourierFeatures(6)},
        random_state=0,
    ),
    "explicit, weights per class": classifier(KERNELS, THREE, combiner=ConvexMKL(), weights="per-class", **NYSTROEM),
}
