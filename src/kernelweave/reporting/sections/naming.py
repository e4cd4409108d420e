"""Kernels, transformers, combinations and normalisations in words."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from ... import combiners, kernels
from ...kernels.arithmetic import KernelProduct, KernelSum
from .wording import written

_COMBINERS: dict[type, str] = {
    combiners.Mean: "the mean of the kernels",
    combiners.FixedWeights: "given weights",
    combiners.BestSingle: "the best single kernel",
    combiners.AccuracyWeights: "weights by the accuracy of each kernel",
    combiners.CorrelationWeights: "weights by the correlation of each kernel's predictions with the target",
    combiners.ErrorWeights: "weights by the error of each kernel",
    combiners.AlignmentWeights: "weights by alignment with the target",
    combiners.IdealKernelDistance: "weights by distance to the ideal kernel",
    combiners.FeatureSpaceMeasure: "weights that make classes narrow",
    combiners.KLDivergence: "weights by divergence from the ideal kernel",
    combiners.ConvexMKL: "convex multiple kernel learning (few kernels)",
    combiners.LpMKL: "lp-norm multiple kernel learning (all kernels, the better ones more)",
    combiners.ElasticMKL: "elastic multiple kernel learning",
    combiners.GroupMKL: "group multiple kernel learning (whole views kept or dropped)",
    combiners.SparseMKL: "sparse multiple kernel learning (few kernels)",
    combiners.BinaryMKL: "selection of a fixed number of kernels",
    combiners.LinearMKL: "multiple kernel learning with weights of any sign",
    combiners.EasyMKL: "EasyMKL (weights by how far apart each kernel puts the classes)",
    combiners.PolynomialMKL: "polynomial multiple kernel learning (products of views)",
    combiners.GeneralizedMKL: "generalized multiple kernel learning",
    combiners.KernelDifference: "the difference of two kernels",
    combiners.Product: "the product of the kernels",
    combiners.Localized: "localized multiple kernel learning (weights that differ from sample to sample)",
    combiners.Projected: "learned projections of each view",
}
_NORMALISATIONS = {
    "unit-diagonal": "each sample is scaled to similarity 1 with itself",
    "unit-trace": "each kernel is divided by its mean similarity of a sample with itself",
    "center": "each kernel is centred on the mean of the training samples",
    None: "kernels are taken as they are",
}
_KERNELS: dict[type, str] = {
    kernels.Linear: "linear",
    kernels.Gaussian: "Gaussian",
    kernels.Laplacian: "Laplacian",
    kernels.ChiSquared: "chi-squared",
    kernels.Polynomial: "polynomial",
    kernels.Spectrum: "substrings in common",
    kernels.Clinical: "clinical variables compared one by one",
    kernels.Precomputed: "given similarity matrix",
    kernels.Distance: "from distances",
    kernels.Constant: "constant",
    kernels.Pairwise: "pairs of objects",
}


def combiner_in_words(combiner: Any) -> str:
    """How the kernels are combined."""
    inner = combiner.combiner if isinstance(combiner, combiners.PerOutput) else combiner
    found = next((words for cls, words in _COMBINERS.items() if type(inner) is cls), type(inner).__name__)
    if isinstance(inner, combiners.Projected) and inner.gating is not None:
        found = "learned projections of each view, with weights that differ from sample to sample"
    return f"{found}, separately for each class or target" if inner is not combiner else found


def normalisation_in_words(method: str | None) -> str:
    """What `normalize` does."""
    return _NORMALISATIONS.get(method, str(method))


def kernel_in_words(kernel: Any) -> str:
    """A kernel with the parameters that matter, such as "Gaussian of width 3.2, after StandardScaler"."""
    if isinstance(kernel, KernelSum | KernelProduct):
        sign = " + " if isinstance(kernel, KernelSum) else " × "
        return sign.join(f"({kernel_in_words(part)})" for part in (kernel.first, kernel.second))
    words = next((words for cls, words in _KERNELS.items() if type(kernel) is cls), type(kernel).__name__)
    if isinstance(kernel, kernels.Polynomial):
        words += f" of degree {kernel.degree}"
    width = getattr(kernel, "scale_", None)
    if isinstance(width, float):
        words += f" of width {written(width)}"
    transformer = getattr(kernel, "transformer", None)
    return words if transformer is None else f"{words}, after {transformer_in_words(transformer)}"


def transformer_in_words(transformer: Any) -> str:
    """A transformer of scikit-learn by the names of its steps."""
    if isinstance(transformer, Pipeline):
        return ", ".join(transformer_in_words(step) for _, step in transformer.steps)
    parts = getattr(transformer, "transformers", None)  # of a ColumnTransformer
    if parts is not None:
        return " beside ".join(dict.fromkeys(transformer_in_words(part[1]) for part in parts))
    return transformer if isinstance(transformer, str) else type(transformer).__name__
