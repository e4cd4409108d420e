"""The protocol of explicit features: an approximation fits a feature map for each kernel.

    k_m(x, z)  ~  <phi_m(x), phi_m(z)>,      phi_m(x) = raw_m(x) @ whitening_m

An `Approximation` is the user's choice, such as `NystroemFeatures`; `Approximation.fit_map` returns a `FeatureMap`,
which is all that is kept of it. Maps are fitted on the *reservoir*: a uniform sample of the training samples that have
the kernel's view, over which the kernel itself and its normalisation are fitted too. A sample that lacks the view has
the features 0.

Each map is scaled so that the mean of ||phi(x)||^2 over the reservoir is that of k(x, x), or the approximation itself
would bias the weights of the kernels; `FeatureMap.trace_share` is the ratio of the two before.

What precision features need, and where even float64 is not enough:

=========================  ====================================================================================
loss                       remedy
=========================  ====================================================================================
raw values times whitening raw values in float64 where the eigenvalues of K_LL are far apart (`raw_dtype`)
a mean beside its spread   features in float64 where the means are large (`float32_holds`)
differences in k(x, z)     none but other columns: a warning (`warn_of_lost_differences`)
=========================  ====================================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from .._warnings import warn
from ..kernels import Kernel, KernelStack
from ..kernels.base import n_features_of
from ..kernels.stack import feature_weights
from ..validation.schemas import Schema, number, refuse
from ..views import Views


class FeatureMap(ABC):
    """Explicit features phi of one kernel.

    Attributes
    ----------
    n_features : int
        Length of phi(x).
    whitening : ndarray of shape (n_raw, n_features), or None
        float64; what turns raw values into features, so that it can be folded into weight vectors (`fold`, `unfold`).
        None where raw values are the features.
    trace_share : float
        The mean of ||phi(x)||^2 over the reservoir before it was scaled, as a share of the mean of k(x, x).
    landmarks : KernelStack or None
        The kernel alone, over the points to which raw values are kernel values; None for other maps.
    """

    whitening: np.ndarray | None
    trace_share: float
    landmarks: KernelStack | None = None

    _saved = Schema({"trace_share": number(0.0)})

    @property
    def n_features(self) -> int:
        """Length of phi(x)."""
        return self.n_raw if self.whitening is None else self.whitening.shape[1]

    @property
    def n_raw(self) -> int:
        """Number of raw values of a sample."""
        return 0 if self.whitening is None else len(self.whitening)  # maps without whitening override this

    @abstractmethod
    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        """Values before whitening, (n_samples, n_raw); `present` says which samples have the view, others are 0."""

    def transform(self, views: Views, present: np.ndarray) -> np.ndarray:
        """phi of samples, of shape (n_samples, n_features), in float64; parameters are those of `raw`."""
        raw = self.raw(views, present)
        return raw if self.whitening is None else raw @ self.whitening

    def feature_weights(self, weights: np.ndarray) -> np.ndarray | None:
        """Of a linear kernel, vectors v with <v, x> = <weights, phi(x)> for its prepared columns x, normalised.

        None where a map has none: by default where it has no landmarks.
        """
        if self.landmarks is None:
            return None
        return feature_weights(self.landmarks, 0, self.fold(weights)[: self.landmarks.n_samples])

    def fold(self, weights: np.ndarray) -> np.ndarray:
        """Weights of raw values that give the same scores as these weights of features: raw @ fold(w) = phi @ w."""
        return weights if self.whitening is None else self.whitening @ weights

    def unfold(self, pulled: np.ndarray) -> np.ndarray:
        """Sums of features from the same sums of raw values: unfold(raw' G) = phi' G."""
        return pulled if self.whitening is None else self.whitening.T @ pulled


class Approximation(BaseEstimator, ABC):
    """A way to give kernels explicit features."""

    @abstractmethod
    def fit_map(self, stack: KernelStack, m: int, rng: np.random.RandomState, *, dtype: np.dtype) -> FeatureMap:
        """The features of a kernel.

        Parameters
        ----------
        stack : KernelStack
            The fitted kernels over the reservoir.
        m : int
            Which of them.
        rng : RandomState
        dtype : dtype
            What features will be held in: float32 or float64.
        """


BLOCK_VALUES = 2**22  # features that are computed together
# Of the mean of k(x, x), by rounding: what the features may lack of it, and what centring may leave of a constant
# kernel. The first is a difference of two sums in float64; the second is a sum of squares, each of which is rounding.
LACKS, NOTHING_LEFT = 64.0 * float(np.finfo(float).eps), 1e-15


@dataclass(frozen=True)
class Moments:
    """Weighted means over samples that have the view.

    `captured` is that of ||phi(x)||^2, `whole` of k(x, x), `mean` of phi(x), and `spread` of ||phi(x) - mean||^2.
    """

    captured: float
    whole: float
    mean: np.ndarray
    spread: float

    def centered(self) -> Moments:
        """The moments of phi(x) - mean; `mean` is still what is subtracted."""
        lacking = self.whole - self.captured
        whole = self.spread + (lacking if lacking > LACKS * self.whole else 0.0)
        if whole <= NOTHING_LEFT * self.whole:
            return Moments(0.0, 0.0, self.mean, 0.0)
        return Moments(self.spread, whole, self.mean, self.spread)

    @property
    def share(self) -> float:
        """What the features have of the kernel's trace; 1 of a kernel that is zero."""
        return self.captured / self.whole if self.whole > 0.0 else 1.0

    @property
    def varied(self) -> float:
        """What differs between samples, as a share of the kernel's trace; 0 of a kernel that is zero."""
        return self.spread / self.whole if self.whole > 0.0 else 0.0

    @property
    def gain(self) -> float:
        """What features are multiplied by, so that they have the kernel's trace."""
        return float(np.sqrt(max(self.whole, 0.0) / self.captured)) if self.captured > 0.0 else 0.0


def moments_of(
    views: Views, weight: np.ndarray, n_features: int, compute: Callable[[Views], tuple[np.ndarray, np.ndarray]]
) -> Moments:
    """Means over samples that all have the view, block by block; `compute` gives phi and k(x, x) of a block."""
    shares = weight / weight.sum()
    captured, whole, square, mean = 0.0, 0.0, 0.0, np.zeros(n_features)
    origin: np.ndarray | None = None  # spreads are summed around a sample: around 0 a large mean would drown them
    step = max(1, BLOCK_VALUES // max(1, n_features))
    for first in range(0, views.n_samples, step):
        rows = slice(first, min(first + step, views.n_samples))
        features, diagonal = compute(views if step >= views.n_samples else views.rows(rows))
        captured += float(shares[rows] @ np.einsum("ij,ij->i", features, features))
        whole += float(shares[rows] @ diagonal)
        origin = features[0].copy() if origin is None else origin
        apart = features - origin
        square += float(shares[rows] @ np.einsum("ij,ij->i", apart, apart))
        mean += shares[rows] @ apart
    spread = max(0.0, square - float(mean @ mean))
    return Moments(captured, whole, mean if origin is None else origin + mean, spread)


EPS = float(np.finfo(float).eps)
# Raw values k(x, L) that are wrong by a share e change a feature of eigenvalue lambda by e k / lambda^(1/2), beside a
# spread of (lambda / n)^(1/2) over n landmarks: relative to it by e n^(-1/2) lambda_1 / lambda, where the largest
# eigenvalue is about n k. In float32 (e = 6e-8) and for 256 landmarks that is 0.4 % at this ratio.
LARGEST_RATIO = 1e6
# Rounding to float32 changes a feature by 6e-8 of its mean, which is 0.06 % of its spread at this ratio.
LARGEST_MEAN = 1e4
CONSTANT = 64.0 * EPS  # a spread, relative to the mean, that is rounding; a share of k(x, x), too
SAMPLES = 512  # of the reservoir, by which spreads are judged


def raw_dtype(found: FeatureMap, dtype: np.dtype | str) -> np.dtype:
    """The type in which raw values of a map are computed, so that features are exact in a type."""
    dtype = np.dtype(dtype)
    if found.whitening is None or dtype == np.float64:
        return dtype
    n_landmarks = len(found.whitening) if found.landmarks is None else found.landmarks.n_samples
    norms = np.linalg.norm(found.whitening[:n_landmarks], axis=0)  # lambda^(-1/2), but for a factor
    norms = norms[norms > 0.0]
    wide = len(norms) > 0 and norms.max() ** 2 > LARGEST_RATIO * norms.min() ** 2
    return np.dtype(np.float64) if wide else dtype


def float32_holds(found: FeatureMap, stack: KernelStack, m: int) -> bool:
    """Whether features of kernel m in float32 tell samples (of the reservoir) apart as well as those of float64."""
    rows = np.flatnonzero(stack.present[:, m])
    rows = rows[:: -(-len(rows) // SAMPLES)]
    phi = found.transform(stack.support.rows(rows), np.ones(len(rows), dtype=bool))
    mean, spread = np.abs(phi.mean(axis=0)), phi.std(axis=0)
    return not ((mean > LARGEST_MEAN * spread) & (spread > CONSTANT * mean)).any()


def degree_of(kernel: Kernel) -> int:
    """The degree of a polynomial, of products and sums of them; 1 for every other kernel."""
    join = kernel.join_function()
    if join is not None:
        first, second = degree_of(join.first), degree_of(join.second)
        return first + second if join.is_product else max(first, second)
    function = kernel.point_function()
    return function.degree if function is not None and function.kind == "polynomial" else 1


def warn_of_lost_differences(name: str, kernel: Kernel, share: float, degree: int) -> None:
    """Warn where rounding hides what differs between samples, a share of the mean of k(x, x).

    Of columns whose means are R times their spread, a share of about R^-2 of k(x, x) differs between samples, and of
    terms of degree q the share R^(-2q); kernel values have some eps of rounding. `degree` is the power of the share
    that has to be seen.
    """
    if share > 0.0 and share**degree <= CONSTANT:
        terms = f", and of its terms of degree {degree_of(kernel)} nothing" if degree_of(kernel) > 1 else ""
        warn(
            f"only a share of {share:.1g} of k(x, x) differs between samples in the kernel {name!r}{terms}: explicit "
            "features, and the exact kernel, lose that to rounding; its columns have means that are large beside "
            "their spread: centre or standardise them (transformer=StandardScaler() of the kernel)"
        )


def n_compared_by(kernel: Kernel, path: str) -> int:
    """How many numbers a kernel in a saved map compares; a `ValueError` where it compares no vectors."""
    if kernel.reads_ids or kernel.join_function() is not None or not hasattr(kernel, "columns_"):
        refuse(path, f"is a {type(kernel).__name__}, which it never is")
    return n_features_of(kernel)
