"""Graph embedding under one kernel: the sample coefficients A of MKL-DR for given kernel weights, and its graphs.

With ``S = K L K + ridge I`` and ``S' = K L' K`` three problems over A (n x p) are solved:

==================  =======================================================  ==========================================
function            problem                                                  source
==================  =======================================================  ==========================================
`trace_ratio`       min tr(A'SA) / tr(A'S'A) under A'A = I                   (18); Wang, Yan, Xu, Tang, Huang (2007)
`ratio_trace`       min tr[(A'(S + S')A)^-1 A'SA], columns with A'SA = I     (21); KFDA for the graphs of (30)
`principal`         max tr(A'K L' K A) under A'KA = I                        kernel PCA for L' of (30)
==================  =======================================================  ==========================================

S, S' and the Cholesky factor of S are computed once for each K. With them the ratio trace takes Lanczos' method, whose
products cost O(n^2), and the trace ratio some steps in subspaces of dimension 3 p; then one or two symmetric
eigenproblems for p of n eigenvectors make its optimum, and prove it global.

A graph with affinities ``W = S + F diag(c) F'`` (S sparse, F of low rank r) has the Laplacian ``diag(W 1) - W``; a
product with a matrix of k columns takes ``O((nnz(S) + n r) k)``.

W and W' of MKL-DR, (1) to (4), are `affinity`, `factors` and `factor_weights`; L and L' (numerator and denominator) are
made of them by `GraphLaplacian.of_affinities`, and D is a `GraphLaplacian` with a `diagonal` only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from .base import Result

# A product with a sparse matrix that is fuller than this takes longer than one with a dense matrix.
_DENSE_AFFINITY = 0.03
# Lanczos' method is used above this many samples, for up to this share of all eigenvectors.
_DENSE_SAMPLES = 250
_DENSE_SHARE = 0.1
_LANCZOS_RESTARTS = 30
_LANCZOS_TOL = 1e-10
# Steps in subspaces go before eigenproblems of full size while they lower the ratio by at least this share.
_BLOCK_STEPS = 20
_BLOCK_TOL = 1e-3
_ZERO_LENGTH = 1e-13
_MAX_STEPS = 50
# A column whose spread is below this share of the largest separates no samples.
_NO_SPREAD = 1e-12
_NOTHING_APART = "no samples that the graph is to keep apart differ in the kernel"


@dataclass(frozen=True)
class GraphLaplacian:
    """The symmetric matrix ``diag(diagonal) - affinity - factors diag(factor_weights) factors'``.

    The affinity is sparse, dense or None; `factors` has the shape (n_samples, n_factors).

    >>> chain = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> GraphLaplacian.of_affinities(chain).dot(np.eye(3))
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """

    diagonal: np.ndarray
    affinity: Any
    factors: np.ndarray
    factor_weights: np.ndarray

    @classmethod
    def of_affinities(cls, affinity: Any = None, factors: Any = None, factor_weights: Any = None) -> GraphLaplacian:
        """``diag(W 1) - W`` of the affinities ``W = affinity + factors diag(factor_weights) factors'``."""
        n_samples = len(factors) if affinity is None else affinity.shape[0]
        factors = np.zeros((n_samples, 0)) if factors is None else factors
        factor_weights = np.ones(factors.shape[1]) if factor_weights is None else factor_weights
        degree = factors @ (factor_weights * factors.sum(axis=0))
        if affinity is not None:
            degree = degree + np.asarray(affinity.sum(axis=1)).ravel()
        return cls(degree, affinity, factors, factor_weights)

    @classmethod
    def of_diagonal(cls, diagonal: np.ndarray) -> GraphLaplacian:
        return cls(diagonal, None, np.zeros((len(diagonal), 0)), np.zeros(0))

    @property
    def size(self) -> float:
        """The largest entry of its diagonal or eigenvalue of a factor: what rounding errors of a product go by."""
        lengths = (self.factors**2).sum(axis=0) * np.abs(self.factor_weights)
        return float(max(np.abs(self.diagonal).max(), lengths.max(initial=0.0)))

    def dot(self, B: np.ndarray) -> np.ndarray:
        weights = self.factor_weights if B.ndim == 1 else self.factor_weights[:, None]
        product = (self.diagonal if B.ndim == 1 else self.diagonal[:, None]) * B
        if self.affinity is not None:
            product -= self.affinity @ B
        if len(weights):
            product -= self.factors @ (weights * (self.factors.T @ B))
        return product

    def __mul__(self, factor: float) -> GraphLaplacian:
        affinity = None if self.affinity is None else self.affinity * factor
        return GraphLaplacian(self.diagonal * factor, affinity, self.factors, self.factor_weights * factor)

    __rmul__ = __mul__

    def __add__(self, other: GraphLaplacian) -> GraphLaplacian:
        parts = [part for part in (self.affinity, other.affinity) if part is not None]
        affinity = parts[0] + parts[1] if len(parts) == 2 else parts[0] if parts else None
        return GraphLaplacian(
            self.diagonal + other.diagonal,
            affinity,
            np.hstack([self.factors, other.factors]),
            np.concatenate([self.factor_weights, other.factor_weights]),
        )

    def __sub__(self, other: GraphLaplacian) -> GraphLaplacian:
        return self + (-1.0) * other


def class_laplacians(labels: np.ndarray) -> tuple[GraphLaplacian, GraphLaplacian]:
    """Within-class and total scatter, (30): w_ij = 1 / n_{y_i} within a class, w'_ij = 1 / N; no samples with -1."""
    counts = np.bincount(labels[labels >= 0])
    known = labels >= 0
    members = np.zeros((len(labels), len(counts)))
    members[known, labels[known]] = 1.0
    within = GraphLaplacian.of_affinities(
        None, members, np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)
    )
    total = GraphLaplacian.of_affinities(None, known[:, None].astype(float), np.array([1.0 / known.sum()]))
    return within, total


def mean_affinity(affinities: list[Any]) -> sp.csr_array | np.ndarray:
    """The mean of sparse affinity matrices, one for each kernel (MKL-DR, section 4.3); dense if that is faster."""
    mean = sp.csr_array(reduce(add, affinities) * (1.0 / len(affinities)))
    return mean.toarray() if mean.nnz > _DENSE_AFFINITY * mean.shape[0] ** 2 else mean


def trace_ratio(
    K: np.ndarray,
    numerator: GraphLaplacian,
    denominator: GraphLaplacian,
    ridge: float,
    n_components: int,
    rng: np.random.RandomState,
    start: np.ndarray | None = None,
    tol: float = 1e-6,
) -> Result:
    """Minimise ``tr(A'(K L K + ridge I)A) / tr(A' K L' K A)`` over A with orthonormal columns.

    The ratio at A gives the next A as the eigenvectors of ``S - ratio S'`` with the smallest eigenvalues (Wang et al.,
    2007): the ratio never rises, converges to the global minimum, and the eigenvectors of the last step come in order,
    the most useful first. For large problems cheaper steps in subspaces go before. Ends where the ratio falls by at
    most the share `tol` in a step; the gap of the result is its decrease in the last step, which was the smallest.

    >>> x = np.array([[0.0, 1.0], [0.2, 1.0], [3.0, 1.0], [3.1, 1.0]])
    >>> within, total = class_laplacians(np.array([0, 0, 1, 1]))
    >>> found = trace_ratio(x @ x.T, within, total, 1e-6, 1, np.random.RandomState(0))
    >>> round(found.objective, 4)
    0.0029
    """
    S, S_prime = _scatters(K, numerator, denominator, ridge)
    factor = _cholesky(S)
    A = np.linalg.qr(_generalized(factor, S_prime, n_components, rng))[0] if start is None else start
    ratio = _ratio(A, S, S_prime)
    if not np.isfinite(ratio):  # a start in which all samples coincide
        A = _largest(S_prime.copy(), n_components)
        ratio = _ratio(A, S, S_prime)
    if _is_large(len(K), n_components):
        A, ratio = _by_blocks(S, S_prime, factor, A, max(tol, _BLOCK_TOL))
    better, value, gap, steps = _newton(S, S_prime, ratio, n_components, tol)
    A = better if _ratio(better, S, S_prime) <= ratio else A
    left = float(max(gap, 0.0))
    return Result(signed(A), float(value), left, steps, bool(gap <= tol * value), left, 0.0)


def ratio_trace(
    K: np.ndarray,
    numerator: GraphLaplacian,
    denominator: GraphLaplacian,
    ridge: float,
    n_components: int,
    rng: np.random.RandomState,
) -> Result:
    """Solve ``(K L K + ridge I) a = lambda K L' K a`` for the smallest lambda: (21), columns with ``A'SA = I``.

    These columns minimise ``tr[(A'S'A)^-1 A'SA]``, the paper's ratio trace, where it is finite, and always
    ``tr[(A'(S + S')A)^-1 A'SA]``, in which a column counts lambda / (1 + lambda), between 0 and 1; `objective` is the
    mean of these. A column beyond the rank of S', for which lambda is infinite, counts 1.
    """
    S, S_prime = _scatters(K, numerator, denominator, ridge)
    A = signed(_generalized(_cholesky(S), S_prime, n_components, rng))
    # A'SA = I, so the spread of a column is 1 / lambda.
    objective = np.mean(1.0 / (1.0 + spreads(K, A, denominator)))
    return Result(A, float(objective), 0.0, 1, True, 0.0, 0.0)


def principal(K: np.ndarray, denominator: GraphLaplacian, n_components: int) -> Result:
    """Maximise ``tr(A'K L'K A)`` under ``A'KA = I``: kernel PCA where L', a projection, centres.

    With ``L' = R R`` for a projection R, the columns are ``a = R u / sqrt(lambda)`` of the eigenpairs of ``R K R``;
    beyond the rank of ``R K R`` they are zero. `objective` is tr(A'KA) / tr(A'K L'K A), which is the least there is.

    >>> x = np.array([[0.0], [1.0], [5.0]])
    >>> A = principal(x @ x.T, class_laplacians(np.zeros(3, dtype=int))[1], 1).solution
    >>> np.round(np.abs(np.diff((x @ x.T @ A).ravel())), 6)
    array([1., 4.])
    """
    n = len(K)
    centred = denominator.dot(denominator.dot(K).T)
    values, vectors = scipy.linalg.eigh(centred, subset_by_index=[n - n_components, n - 1], overwrite_a=True)
    values, vectors = values[::-1], vectors[:, ::-1]
    useful = values > n * np.finfo(float).eps * max(values[0], 0.0)
    A = np.zeros((n, n_components))
    A[:, useful] = denominator.dot(vectors[:, useful]) / np.sqrt(values[useful])
    if not useful.any():
        raise ValueError("all samples are equal under the kernel, so there is no variance to keep")
    return Result(signed(A), float(useful.sum() / values[useful].sum()), 0.0, 1, True, 0.0, 0.0)


def spreads(K: np.ndarray, A: np.ndarray, denominator: GraphLaplacian) -> np.ndarray:
    """The diagonal of A'K L'K A: how far each column spreads samples; 0 where that is rounding error."""
    embedded = K @ A
    spread = (embedded * denominator.dot(embedded)).sum(axis=0)
    return np.where(spread > _NO_SPREAD * spread.max(initial=0.0), spread, 0.0)


def mean_spread(K: np.ndarray, laplacian: GraphLaplacian, product: np.ndarray | None = None) -> float:
    """tr(K L K) / n, the mean eigenvalue of K L K; 0 where that is rounding error. The product is L K, if at hand."""
    product = laplacian.dot(K) if product is None else product
    spread = float(np.einsum("ij,ij->", K, product, dtype=np.float64))
    squares = float(np.einsum("ij,ij->", K, K, dtype=np.float64)) * laplacian.size
    return spread / len(K) if spread > _NO_SPREAD * squares else 0.0


def signed(A: np.ndarray) -> np.ndarray:
    """Columns with their entry of largest absolute value positive, so that results do not depend on chance."""
    signs = np.sign(A[np.abs(A).argmax(axis=0), np.arange(A.shape[1])])
    return A * np.where(signs == 0, 1.0, signs)


def _scatters(
    K: np.ndarray, numerator: GraphLaplacian, denominator: GraphLaplacian, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    product = denominator.dot(K)
    if not mean_spread(K, denominator, product):
        raise ValueError(_NOTHING_APART)
    S, S_prime = K @ numerator.dot(K), K @ product
    S[np.diag_indices_from(S)] += ridge
    return S, S_prime


def _cholesky(S: np.ndarray) -> np.ndarray:
    try:
        return scipy.linalg.cholesky(S, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise ValueError("ridge is too small: beside these kernels it is lost in rounding; raise it") from None


def _ratio(A: np.ndarray, S: np.ndarray, S_prime: np.ndarray) -> float:
    below = np.vdot(A, S_prime @ A)
    return np.vdot(A, S @ A) / below if below > 0 else np.inf


def _largest(matrix: np.ndarray, count: int) -> np.ndarray:
    n = len(matrix)
    vectors = scipy.linalg.eigh(
        matrix, subset_by_index=[n - count, n - 1], overwrite_a=True, check_finite=False, driver="evr"
    )[1]
    return vectors[:, ::-1]


def _by_blocks(
    S: np.ndarray, S_prime: np.ndarray, factor: np.ndarray, A: np.ndarray, tol: float
) -> tuple[np.ndarray, float]:
    """Lower the trace ratio in small subspaces until a step lowers it by at most the share `tol`.

    Each step solves the problem in the span of A, of its gradient preconditioned by S and of the last step (locally
    optimal, as LOBPCG for eigenvalues): O(n^2 p).
    """
    last, ratio = np.zeros((len(S), 0)), _ratio(A, S, S_prime)
    for _ in range(_BLOCK_STEPS):
        gradient = S @ A - ratio * (S_prime @ A)
        gradient -= A @ (A.T @ gradient)
        direction = scipy.linalg.cho_solve((factor, True), gradient, check_finite=False)
        basis = np.linalg.qr(np.hstack([A, direction, last]))[0]
        inside = _newton(basis.T @ S @ basis, basis.T @ S_prime @ basis, ratio, A.shape[1], 1e-12)
        better = basis @ inside[0]
        last = better - A @ (A.T @ better)
        length = np.linalg.norm(last, axis=0)
        last = last[:, length > _ZERO_LENGTH] / length[length > _ZERO_LENGTH]
        decrease, A, ratio = ratio - inside[1], better, inside[1]
        if decrease <= tol * ratio:
            break
    return A, ratio


def _newton(
    S: np.ndarray, S_prime: np.ndarray, ratio: float, count: int, tol: float
) -> tuple[np.ndarray, float, float, int]:
    """Eigenvectors of S - ratio S' and their ratio, in turns: columns, their ratio, the last decrease, steps."""
    for steps in range(1, _MAX_STEPS + 1):  # noqa: B007
        A = _largest(ratio * S_prime - S, count)
        value = _ratio(A, S, S_prime)
        decrease = ratio - value
        ratio = min(ratio, value)
        if decrease <= tol * ratio:
            break
    return A, ratio, decrease, steps


def _generalized(factor: np.ndarray, S_prime: np.ndarray, count: int, rng: np.random.RandomState) -> np.ndarray:
    """The eigenvectors of S' a = mu S a with the largest mu, in order, with A'SA = I; `factor` is Cholesky's of S."""

    def solve(B: np.ndarray, transposed: bool) -> np.ndarray:
        return scipy.linalg.solve_triangular(factor, B, lower=True, trans=int(transposed), check_finite=False)

    if _is_large(len(factor), count):
        begin = rng.standard_normal(len(factor))
        found = _lanczos(lambda B: solve(S_prime @ solve(B, True), False), begin, count)
        if found is not None:
            return solve(found, True)
    return solve(_largest(solve(solve(S_prime, False).T, False), count), True)


def _is_large(n_samples: int, count: int) -> bool:
    return n_samples > _DENSE_SAMPLES and count <= _DENSE_SHARE * n_samples


def _lanczos(multiply: Callable[[np.ndarray], np.ndarray], begin: np.ndarray, count: int) -> np.ndarray | None:
    """The eigenvectors with the largest eigenvalues, in order; None where these lie too close together."""
    operator = LinearOperator((len(begin),) * 2, matvec=multiply, matmat=multiply, dtype=float)
    width = max(2 * count + 1, 20)
    try:
        values, vectors = eigsh(
            operator, count, which="LA", v0=begin, ncv=width, tol=_LANCZOS_TOL, maxiter=_LANCZOS_RESTARTS
        )
    except ArpackError:
        return None
    return vectors[:, values.argsort()[::-1]]
