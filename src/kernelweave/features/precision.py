"""What precision explicit features need, and where float64 has lost what they should tell.

=========================  ====================================================================================
loss                       remedy
=========================  ====================================================================================
raw values times whitening raw values in float64 where the eigenvalues of K_LL are far apart (`raw_dtype`)
a mean beside its spread   features in float64 where the means are large (`float32_holds`)
differences in k(x, z)     none but other columns: a warning (`warn_of_lost_differences`)
=========================  ====================================================================================
"""

from __future__ import annotations

import numpy as np

from .._warnings import warn
from ..kernels import Kernel, KernelStack
from .base import FeatureMap

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
    """The type in which raw values of a map are computed, so that features are exact in a type.

    Parameters
    ----------
    found : FeatureMap
    dtype : dtype
        Of the features.
    """
    dtype = np.dtype(dtype)
    if found.whitening is None or dtype == np.float64:
        return dtype
    n_landmarks = len(found.whitening) if found.landmarks is None else found.landmarks.n_samples
    norms = np.linalg.norm(found.whitening[:n_landmarks], axis=0)  # lambda^(-1/2), but for a factor
    norms = norms[norms > 0.0]
    wide = len(norms) > 0 and norms.max() ** 2 > LARGEST_RATIO * norms.min() ** 2
    return np.dtype(np.float64) if wide else dtype


def float32_holds(found: FeatureMap, stack: KernelStack, m: int) -> bool:
    """Whether features in float32 tell samples apart as well as those of float64.

    Parameters
    ----------
    found : FeatureMap
    stack : KernelStack
        Over the reservoir.
    m : int
        The map's kernel in it.
    """
    rows = np.flatnonzero(stack.present[:, m])
    rows = rows[:: -(-len(rows) // SAMPLES)]
    phi = found.transform(stack.support.rows(rows), np.ones(len(rows), dtype=bool))
    mean, spread = np.abs(phi.mean(axis=0)), phi.std(axis=0)
    return not ((mean > LARGEST_MEAN * spread) & (spread > CONSTANT * mean)).any()


def degree_of(kernel: Kernel) -> int:
    """The degree of a polynomial, of products and sums of them; 1 for every other kernel.

    Examples
    --------
    >>> from kernelweave.features.precision import degree_of
    >>> from kernelweave.kernels import Gaussian, Linear, Polynomial
    >>> X = [[0.0], [1.0]]
    >>> [degree_of(kernel.fit(X)) for kernel in (Gaussian(), Polynomial(degree=3), Linear() * Polynomial(degree=3))]
    [1, 3, 4]
    """
    join = kernel.join_function()
    if join is not None:
        first, second = degree_of(join.first), degree_of(join.second)
        return first + second if join.is_product else max(first, second)
    function = kernel.point_function()
    return function.degree if function is not None and function.kind == "polynomial" else 1


def warn_of_lost_differences(name: str, kernel: Kernel, share: float, degree: int) -> None:
    """Warn where rounding hides what differs between samples.

    Of columns whose means are R times their spread, a share of about R^-2 of k(x, x) differs between samples, and of
    terms of degree q the share R^(-2q); kernel values have some eps of rounding.

    Parameters
    ----------
    name : str
    kernel : Kernel
    share : float
        Of the mean of k(x, x), that is left around the mean of the features.
    degree : int
        Which power of the share has to be seen.
    """
    if share > 0.0 and share**degree <= CONSTANT:
        terms = f", and of its terms of degree {degree_of(kernel)} nothing" if degree_of(kernel) > 1 else ""
        warn(
            f"only a share of {share:.1g} of k(x, x) differs between samples in the kernel {name!r}{terms}: explicit "
            "features, and the exact kernel, lose that to rounding; its columns have means that are large beside "
            "their spread: centre or standardise them (transformer=StandardScaler() of the kernel)"
        )
