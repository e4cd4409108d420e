"""Numbers, lists and names as sentences have them; kernels, transformers, combinations and normalisations in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from .. import combiners, kernels
from ..kernels.arithmetic import KernelProduct, KernelSum
from ..validation import counted as counted
from .formatting import without_minus_zero

MOST = 25  # labels that a chart shows


def listed(names: Iterable[Any], most: int = 6, *, conjunction: str = "and") -> str:
    """Names as a list in a sentence, of which at most some are given.

    >>> listed(["a"]), listed("abc"), listed("abcd", most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    given = [str(name) for name in names]
    shown = given if len(given) <= most else [*given[:most], f"{len(given) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {conjunction} {shown[-1]}" if shown else "none"


def written(value: float, kind: str = "number") -> str:
    """A number in a sentence: "percent" for shares, otherwise three digits.

    >>> written(0.9533, "percent"), written(0.12345), written(1234.5), written(float("nan"))
    ('95.3 %', '0.123', '1234', 'unknown')
    """
    if not math.isfinite(value):
        return "unknown"
    text = f"{value:.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"
    return without_minus_zero(f"{100.0 * value:.1f} %" if kind == "percent" else text)


def reach(mean: float, spread: float, kind: str) -> tuple[float, float]:
    """How far a line about a score reaches: its spread to both sides, shares not beyond 0 and 1.

    >>> reach(0.5, 0.25, "percent"), reach(1.0, 0.25, "percent"), reach(1.0, 0.25, "number")
    ((0.25, 0.75), (0.75, 1.0), (0.75, 1.25))
    """
    low, high = mean - spread, mean + spread
    return (max(low, 0.0), min(high, 1.0)) if kind == "percent" else (low, high)


def p_text(pvalue: float) -> str:
    """A p-value in a sentence.

    >>> p_text(0.01234), p_text(1e-5)
    ('p = 0.012', 'p < 0.001')
    """
    return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.3f}"


def sample_labels(index: Any, n_samples: int) -> list[str]:
    """The names of samples: the labels of a data frame, or positions from 0.

    >>> import pandas as pd
    >>> sample_labels(pd.MultiIndex.from_tuples([("ann", 1)]), 1), sample_labels(None, 2)
    (['ann, 1'], ['0', '1'])
    """
    labels: Sequence[Any] = range(n_samples) if index is None else index
    return [", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels]


def only_some(shown: int, there: int, what: str) -> str:
    """The note that a chart leaves something out; empty where it does not.

    >>> only_some(25, 200, "views with the largest weights"), only_some(3, 3, "views")
    ('Drawn are the 25 views with the largest weights, of 200; the table has all.', '')
    """
    return "" if shown >= there else f"Drawn are the {shown} {what}, of {there}; the table has all."


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
    combiners.WidthMKL: "multiple kernel learning over all widths of Gaussian kernels",
    combiners.BinaryMKL: "selection of a fixed number of kernels",
    combiners.LinearMKL: "multiple kernel learning with weights of any sign",
    combiners.EasyMKL: "EasyMKL (weights by how far apart each kernel puts the classes)",
    combiners.PolynomialMKL: "polynomial multiple kernel learning (products of views)",
    combiners.GeneralizedMKL: "generalized multiple kernel learning",
    combiners.KernelDifference: "the difference of two kernels",
    combiners.Product: "the product of the kernels",
    combiners.ConvexLocalized: "convex localized multiple kernel learning (weights for each region of the samples)",
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


def inner_combiner(combiner: Any) -> Any:
    """The combiner itself; that of each output where outputs have weights of their own."""
    return combiner.combiner if isinstance(combiner, combiners.PerOutput) else combiner


def combiner_in_words(combiner: Any) -> str:
    inner = inner_combiner(combiner)
    found = next((words for cls, words in _COMBINERS.items() if type(inner) is cls), type(inner).__name__)
    if isinstance(inner, combiners.Projected) and inner.gating is not None:
        found = "learned projections of each view, with weights that differ from sample to sample"
    return f"{found}, separately for each class or target" if inner is not combiner else found


def normalisation_in_words(method: str | None) -> str:
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
    if isinstance(transformer, Pipeline):
        return ", ".join(transformer_in_words(step) for _, step in transformer.steps)
    parts = getattr(transformer, "transformers", None)  # of a ColumnTransformer
    if parts is not None:
        return " beside ".join(dict.fromkeys(transformer_in_words(part[1]) for part in parts))
    return transformer if isinstance(transformer, str) else type(transformer).__name__
