"""`NystroemFeatures`: kernel values to a few landmarks, whitened (Williams and Seeger 2001).

phi(x) = Lambda^(-1/2) U' k(L, x),      K_LL = U Lambda U'

Eigenvalues count down to what rounding in float64 leaves of them: where columns have different scales, or a mean, what
tells samples apart may be far below the largest. A kernel whose own feature space has no more dimensions than there
would be landmarks uses that (`exact`).

Of a kernel that is not positive semidefinite only the positive eigenvalues of K_LL are kept, which is what
``repair="clip"`` does among the landmarks; with it k(x, x) is that of the features, too, before normalisation.

Landmarks are drawn from the reservoir, of which at most n_samples x n_landmarks kernel values are held; samples count
by their weights:

==============  =======================================================================================
method          how
==============  =======================================================================================
``rpcholesky``  with chances proportional to the residual k(x, x) - ||projection on the landmarks so far||^2
                (randomly pivoted Cholesky: Chen, Epperly, Tropp and Webber 2025)
``kmeans++``    with chances proportional to the squared distance to the nearest landmark so far, in the
                kernel's own feature space (Arthur and Vassilvitskii 2007)
``uniform``     each sample with the same chance
==============  =======================================================================================
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._warnings import warn
from ..kernels import IndefiniteKernelWarning, KernelStack, Normalizer
from ..kernels.stack import single_stack
from ..solvers.base import above_rounding, is_indefinite
from ..validation import Choice, Constraints, Whole, check_parameters
from ..validation.schemas import Schema, Sizes, agree, expect, flag, numbers, object_of
from ..views import Views
from .base import Approximation, FeatureMap, degree_of, moments_of, warn_of_lost_differences
from .exact import narrow_map

METHODS = ("rpcholesky", "kmeans++", "uniform")
PROPOSALS = 64  # pivots that are proposed together
EPS, LEAST = float(np.finfo(float).eps), 256


def negligible(count: int) -> float:
    """What rounding leaves of values among so many points, relative to the largest: n eps.

    Kernel values themselves, sums over columns, are wrong by some eps, however few points there are: n is at least 256.
    """
    return max(count, LEAST) * EPS


def drawn_landmarks(stack: KernelStack, count: int, method: str, rng: np.random.RandomState) -> np.ndarray:
    """Positions of landmarks, ascending: all samples where there are no more than `count`.

    Fewer are drawn where these span the kernel already. The stack is of one kernel, over samples that have its view.
    """
    n = stack.n_samples
    if n <= count:
        return np.arange(n)
    if method == "uniform":
        return np.sort(rng.choice(n, count, replace=False))
    draw = pivoted if method == "rpcholesky" else spread_out
    chosen = draw(stack, count, rng)
    return np.sort(chosen) if len(chosen) else np.arange(1)  # a kernel that is zero has no pivot


def diagonal_of(stack: KernelStack) -> np.ndarray:
    stack.gram_rows(0, np.arange(1))  # learns the constants of normalisation
    return stack.normalizers[0].gram_diagonal(stack.kernels[0].diagonal(stack.reference))


def pivoted(stack: KernelStack, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Randomly pivoted Cholesky with pivots proposed in groups and accepted one by one.

    Pivots have the distribution of those drawn one at a time (Epperly, Tropp and Webber 2024), by products of matrices.
    """
    first = diagonal_of(stack)
    residual, floor = np.maximum(first, 0.0), negligible(count) * np.abs(first)
    residual[residual <= floor] = 0.0
    factor = np.empty((count, stack.n_samples))
    chosen: list[int] = []
    while len(chosen) < count and residual.any():
        chances = stack.weight * residual
        proposed = rng.choice(stack.n_samples, min(PROPOSALS, count), p=chances / chances.sum())
        done = factor[: len(chosen)]
        among = stack.cross(0, stack.support.rows(proposed), np.ones(len(proposed), dtype=bool), proposed)
        block = among - done[:, proposed].T @ done[:, proposed]
        accepted = _accepted(block, residual[proposed], floor[proposed], rng)[: count - len(chosen)]
        if not len(accepted):
            residual[proposed] = 0.0  # they have none but rounding
            continue
        pivots = proposed[accepted]
        L = np.linalg.cholesky(block[np.ix_(accepted, accepted)])
        new = np.linalg.solve(L, stack.gram_rows(0, pivots) - done[:, pivots].T @ done)
        factor[len(chosen) : len(chosen) + len(pivots)] = new
        residual -= (new**2).sum(axis=0)
        residual[pivots] = 0.0
        residual[residual <= floor] = 0.0
        chosen += pivots.tolist()
    return np.array(chosen, dtype=int)


def _accepted(block: np.ndarray, proposed: np.ndarray, floor: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Which of the proposed pivots are accepted; the first is, but for rounding.

    What is left below the floor is rounding. Pivots of Cholesky's factor of the accepted are those left here, and with
    1e-10 of what was proposed at least they are positive there, too.
    """
    left, kept = block.copy(), []
    chances = rng.uniform(size=len(left))
    for j in range(len(left)):
        if left[j, j] > max(1e-10 * proposed[j], floor[j]) and chances[j] * proposed[j] < left[j, j]:
            kept.append(j)
            left[j + 1 :, j + 1 :] -= np.outer(left[j + 1 :, j], left[j, j + 1 :]) / left[j, j]
    return np.array(kept, dtype=int)


def spread_out(stack: KernelStack, count: int, rng: np.random.RandomState) -> np.ndarray:
    diagonal = diagonal_of(stack)
    floor = negligible(count) * np.abs(diagonal).max(initial=0.0)
    nearest = np.full(stack.n_samples, np.inf)
    chances = np.where(diagonal != 0.0, stack.weight, 0.0)
    chosen: list[int] = []
    while len(chosen) < count and chances.any():
        new = int(rng.choice(stack.n_samples, p=chances / chances.sum()))
        chosen.append(new)
        distance = diagonal - 2.0 * stack.gram_rows(0, np.array([new]))[0] + diagonal[new]
        nearest = np.minimum(nearest, np.where(distance > floor, distance, 0.0))
        nearest[new] = 0.0
        chances = stack.weight * nearest
    return np.array(chosen, dtype=int)


# Of an indefinite kernel, relative to the largest: values of samples that are no landmarks do not fall with the
# eigenvalue, so that dividing by its root enlarges them.
INDEFINITE = 1e-6
# Of the trace of the samples that are no landmarks. On four problems (handwritten digits, breast cancer, and two made
# ones; Gaussian widths from the default down to 0.12 of it, 64 landmarks, two folds) models lost up to 23 points of
# accuracy below 0.02, or learned nothing with the exact kernel either, and at most 12 above 0.05.
LOW_SHARE = 0.03


class NystroemMap(FeatureMap):
    """Kernel values to landmarks, and what whitens them, its last row of a constant raw value 1 where `centered`."""

    landmarks: KernelStack
    whitening: np.ndarray

    _saved = Schema(
        {
            "landmarks": object_of(KernelStack, "columns", support="landmarks"),
            "whitening": numbers("raw", "features"),
            "centered": flag,
        }
    )

    def __init__(self, landmarks: KernelStack, whitening: np.ndarray, trace_share: float, *, centered: bool = False):
        self.landmarks, self.whitening, self.trace_share = landmarks, whitening, trace_share
        self.centered = centered

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        values = self.landmarks.cross(0, views, present)
        return np.hstack([values, present[:, None]]) if self.centered else values

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """There is one kernel, and the whitening has a row for each landmark, and one for the constant."""
        expect(1, self.landmarks.n_kernels, f"{path}.landmarks", "kernels")
        agree(sizes, "raw", sizes["landmarks"] + self.centered, f"{path}.whitening")


class NystroemFeatures(Approximation):
    """Features from kernel values to landmarks: phi(x) = Lambda^(-1/2) U' k(L, x) with K_LL = U Lambda U'.

    They serve every kernel. Landmarks L are drawn from a reservoir of max(4000, 20 n_components) training samples that
    have the kernel's view. With all of them as landmarks, <phi(x), phi(z)> = k(x, z) for training samples.

    Parameters
    ----------
    n_components : int
        Number of landmarks for each kernel: all samples where there are fewer. There are at most as many features, and
        fewer where they span the kernel: eigenvalues of K_LL that are rounding in float64, 4 eps of its trace, are cut,
        negative ones, too. A linear or polynomial kernel, or a sum or product of these, has
        `ExactFeatures` where these are no more.
    method : {"rpcholesky", "kmeans++", "uniform"}
        How landmarks are drawn: by randomly pivoted Cholesky, which captures most of the trace; spread out as the first
        centres of k-means are, in the kernel's feature space; or each sample with the same chance.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.features import NystroemFeatures
    >>> from kernelweave.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = MKLClassifier([Gaussian([0, 1]), Gaussian([2, 3])], approximation=NystroemFeatures(64)).fit(X, y)
    >>> model.decision_function(X).shape
    (300,)
    """

    _constraints = Constraints(n_components=Whole(1), method=Choice(*METHODS))

    def __init__(self, n_components: int = 256, *, method: str = "rpcholesky"):
        self.n_components = n_components
        self.method = method

    def fit_map(self, stack: KernelStack, m: int, rng: np.random.RandomState, *, dtype: np.dtype) -> FeatureMap:
        """Exact features where they are no more than the landmarks would be, and else those of landmarks."""
        count = min(check_parameters(self).n_components, int(stack.present[:, m].sum()))
        return narrow_map(stack, m, count) or self.landmark_map(stack, m, rng)

    def landmark_map(self, stack: KernelStack, m: int, rng: np.random.RandomState) -> NystroemMap:
        """Draw landmarks among the samples that have the view, and whiten; parameters are those of `fit_map`."""
        given = check_parameters(self)
        normalize = stack.normalizers[m].method
        scaled = None if normalize == "center" else normalize
        repair = stack.repairs[m].unlearned()
        is_repaired = not repair.trusted and repair.method is not None
        own = single_stack(stack, m, normalize=None if is_repaired else scaled)
        own.gram_rows(0, np.arange(1))  # learns the constants of normalisation
        landmarks = own.restrict(drawn_landmarks(own, given.n_components, given.method, rng))
        landmarks.repairs = [repair]
        if is_repaired:
            _repair(landmarks, scaled)
        whitening = whitening_of(landmarks, whole=landmarks.n_samples == own.n_samples)

        def compute(views: Views) -> tuple[np.ndarray, np.ndarray]:
            K, diagonal = landmarks.compare(0, views, np.ones(views.n_samples, dtype=bool))
            return K @ whitening, diagonal

        found = moments_of(own.support, own.weight, whitening.shape[1], compute)
        kernel = own.kernels[0]
        warn_of_lost_differences(own.names[0], kernel, found.varied, degree_of(kernel))
        share = found.share
        if landmarks.repairs[0].is_clipped:  # k(x, x) is then that of the features: the trace is that before the repair
            share = min(1.0, _clipped_share(own, landmarks))
            found = replace(found, whole=found.captured / (share if normalize in (None, "center") else 1.0))
        if normalize == "unit-trace" and found.whole > 0.0:
            found = replace(found, whole=1.0)  # a repair of the landmarks changed what it was
        if normalize == "center":
            found = found.centered()
            share = share if landmarks.repairs[0].is_clipped else found.share
        _warn_of_low_share(share, own.names[0], landmarks.n_samples, own.n_samples)
        if normalize == "center":
            whitening = np.vstack([whitening, -found.mean])
        return NystroemMap(landmarks, found.gain * whitening, min(1.0, share), centered=normalize == "center")


def whitening_of(landmarks: KernelStack, *, whole: bool) -> np.ndarray:
    """U Lambda^(-1/2) of K_LL = U Lambda U' without eigenvalues that are rounding; `whole`: all are landmarks."""
    among = landmarks.cross(0, landmarks.support, np.ones(landmarks.n_samples, dtype=bool))
    values, vectors = np.linalg.eigh(0.5 * (among + among.T))
    kept = above_rounding(values)
    if is_indefinite(values) and not landmarks.repairs[0].trusted:
        kept &= whole | (values > INDEFINITE * values[-1])
        warn(
            f"the kernel {landmarks.names[0]!r} is not positive semidefinite: its most negative eigenvalue over "
            f"{len(values)} landmarks is {values[0]:.3g}, the largest {values[-1]:.3g}; explicit features leave the "
            'negative part out, as repair="clip" does',
            IndefiniteKernelWarning,
        )
    return root_inverse(values, vectors, kept)


def root_inverse(values: np.ndarray, vectors: np.ndarray, kept: np.ndarray) -> np.ndarray:
    return vectors[:, kept] / np.sqrt(values[kept]) if kept.any() else np.zeros((len(values), 1))


def _repair(landmarks: KernelStack, normalize: str | None) -> None:
    repair = landmarks.repairs[0]
    landmarks.normalizers = [Normalizer(normalize, repair.name)]
    landmarks.gram(0)
    if repair.method == "shift" and repair.smallest_ is not None:
        raise ValueError(
            f'repair="shift" of the kernel {repair.name!r} makes each sample more like itself alone, which explicit '
            'features cannot express; use repair="clip", or approximation=None'
        )


def _clipped_share(own: KernelStack, landmarks: KernelStack) -> float:
    """What the clipped kernel of the landmarks has of the trace of the kernel as it is."""
    kernel, repair = own.kernels[0], landmarks.repairs[0]

    def clipped(views: Views) -> np.ndarray:
        K, diagonal = kernel.cross(views, landmarks.reference), kernel.diagonal(views)
        return np.column_stack([repair.cross(K, diagonal, slice(None))[1], diagonal])

    captured, whole = own.weight @ own.support.in_blocks(landmarks.n_samples, clipped)
    return float(captured / whole) if whole > 0.0 else 1.0


def _warn_of_low_share(share: float, name: str, n_landmarks: int, n_samples: int) -> None:
    """Warn where landmarks are like no other samples: each captures its own part of the trace and hardly more."""
    own = n_landmarks / n_samples
    if own < 1.0 and (share - own) / (1.0 - own) < LOW_SHARE:
        warn(
            f"{n_landmarks} landmarks capture {100.0 * share:.2g} % of the trace of the kernel {name!r}, hardly more "
            f"than their own part of {n_samples} samples: samples are so unlike each other that its explicit features "
            "tell little of them; give the kernel a larger width (scale=) or fewer, scaled columns, or take more "
            "landmarks (n_components of NystroemFeatures)"
        )
