"""The two steps of MKL-DR and their alternation (Algorithm 1).

Both steps minimise one objective over the sample coefficients A (n x p) and the kernel weights b >= 0,

    f(A, b) = [tr(A' K_b L K_b A) + eps ||A||^2 ||b||^2] / tr(A' K_b L' K_b A),    K_b = sum_m b_m K_m,

which does not change with the scale of b (A'A = I). The paper's ratio-trace step has ``min tr[(A'S'A)^-1 A'SA] / p``
in its place, S and S' the matrices above. Without the term in eps its numerator could be zero for every b (a kernel of
full rank collapses each class to a point), and nothing would be learned about b.

====================  ===================================================
MKL-DR                here
====================  ===================================================
K^(i) beta            column i of `Alternation.combined`
S_W^beta, (19)        formed in `solvers.embedding`, where it is needed
S_W^A, (23)           first of `Alternation.forms`, with the term in eps
S_{W'}^A, (24)        second of `Alternation.forms`
====================  ===================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..solvers import cone_ratio
from ..solvers.embedding import mean_spread, principal, ratio_trace, spreads, trace_ratio
from ..solvers.laplacian import Laplacian

# Up to this many kernels the weights are found exactly.
EXACT_KERNELS = 12


@dataclass(frozen=True)
class Found:
    """Where the alternation ended: coefficients, weights, what happened, and whether it converged."""

    coefficients: np.ndarray
    weights: np.ndarray
    history: list[dict[str, float]]
    converged: bool


class Alternation:
    """The alternation over given Gram matrices and a given graph.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
    numerator : Laplacian or None
        L; None for the norm of the projections (kernel PCA).
    denominator : Laplacian
        L' or D.
    eps : float
        In units of the mean of tr(K_m L' K_m) / n_samples over the kernels.
    n_components : int
    step : {"trace-ratio", "ratio-trace"}
    weights_step : {"exact", "dnn", "paper", "fixed"}
    rng : RandomState

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.reduction.steps import Alternation
    >>> from kernelweave.solvers.laplacian import class_laplacians
    >>> labels = np.array([0, 0, 1, 1])
    >>> signal, noise = np.array([0.0, 0.1, 1.0, 1.1]), np.array([0.3, 1.0, 0.2, 0.9])
    >>> grams = np.exp(-np.array([(x[:, None] - x) ** 2 for x in (signal, noise)]))
    >>> run = Alternation(grams, *class_laplacians(labels), 0.1, 1, "trace-ratio", "exact", np.random.RandomState(0))
    >>> found = run.run(run.identity_weights(), tol=1e-4, max_iter=50)
    >>> bool(found.weights[0] > found.weights[1])
    True
    """

    def __init__(
        self,
        grams: np.ndarray,
        numerator: Laplacian | None,
        denominator: Laplacian,
        eps: float,
        n_components: int,
        step: str,
        weights_step: str,
        rng: np.random.RandomState,
    ):
        self.grams, self.numerator, self.denominator = grams, numerator, denominator
        self.n_components, self.step, self.weights_step, self.rng = n_components, step, weights_step, rng
        scale = np.mean([mean_spread(K, denominator) for K in grams])
        if not scale > 0:
            raise ValueError(
                "the graph finds nothing to keep apart: samples that it tells apart do not differ in any kernel"
            )
        self.eps = eps * scale

    def run(
        self, weights: np.ndarray, tol: float, max_iter: int, progress: Callable[[int, int], None] | None = None
    ) -> Found:
        """Alternate from given weights until the objective changes by at most the share `tol`.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels,)
        tol : float
        max_iter : int
        progress : callable, optional
            Called with the number of finished iterations and the limit.
        """
        start = time.perf_counter()
        coefficients, history = None, []
        alone = len(self.grams) == 1 or self.weights_step == "fixed"
        for iteration in range(max_iter):
            if iteration:
                weights = self.weights_given(self._of_even_spread(coefficients, weights), weights)
            coefficients, objective = self.coefficients_given(weights, coefficients, tol)
            history.append({"objective": objective, "seconds": time.perf_counter() - start})
            if progress is not None:
                progress(iteration + 1, max_iter)
            settled = iteration and abs(history[-2]["objective"] - objective) <= tol * abs(objective)
            if alone or settled:
                return Found(coefficients, weights, history, True)
        return Found(coefficients, weights, history, False)

    def coefficients_given(self, weights: np.ndarray, start: np.ndarray | None, tol: float) -> tuple[np.ndarray, float]:
        """The A step: (18) by the trace-ratio iteration, or (21)."""
        K = self.combined(weights)
        if self.numerator is None:
            found = principal(K, self.denominator, self.n_components)
            return found.solution, found.objective
        ridge = self.eps * float(weights @ weights)
        problem = (K, self.numerator, self.denominator, ridge, self.n_components, self.rng)
        found = ratio_trace(*problem) if self.step == "ratio-trace" else trace_ratio(*problem, start, tol)
        return found.solution, found.objective

    def weights_given(self, coefficients: np.ndarray | None, start: np.ndarray | None) -> np.ndarray:
        """The kernel-weight step (22); `coefficients` None stands for AA' = I."""
        return cone_ratio.METHODS[self.weights_step](*self.forms(coefficients), start).solution

    def identity_weights(self) -> np.ndarray:
        """The weights to begin with that AA' = I gives: the paper's choice."""
        return self.weights_given(None, None)

    def _of_even_spread(self, coefficients: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A as the weight step takes it: for the ratio-trace step with A'S'A = I, the constraint of (18).

        The ratio of traces is then the ratio trace itself (divided by p), so both steps look at one quantity.
        """
        if self.step != "ratio-trace":
            return coefficients
        spread = spreads(self.combined(weights), coefficients, self.denominator)
        return coefficients * np.divide(1.0, np.sqrt(spread), out=np.zeros(len(spread)), where=spread > 0)

    def combined(self, weights: np.ndarray) -> np.ndarray:
        """K_b in float64; kernels without weight are not touched."""
        K = np.zeros(self.grams.shape[1:])
        for m in np.flatnonzero(weights):
            K += weights[m] * self.grams[m]
        return K

    def forms(self, coefficients: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The quadratic forms of b in numerator and denominator, for given A (None for AA' = I)."""
        if coefficients is None:
            embedded = self.grams
            norm = self.grams.shape[1]
        else:
            embedded = [K @ coefficients.astype(K.dtype, copy=False) for K in self.grams]
            norm = np.vdot(coefficients, coefficients)
        above = _form(embedded, self.numerator) + self.eps * norm * np.eye(len(self.grams))  # (23)
        return above, _form(embedded, self.denominator)  # (24)


def _form(embedded: np.ndarray | list[np.ndarray], laplacian: Laplacian) -> np.ndarray:
    """tr(Z_m' L Z_l) for all pairs of kernels."""
    n_kernels = len(embedded)
    form = np.zeros((n_kernels, n_kernels))
    for m in range(n_kernels):
        spread = laplacian.dot(embedded[m])
        for other in range(m + 1):
            form[m, other] = form[other, m] = _inner(embedded[other], spread)
    return form


def _inner(first: np.ndarray, second: np.ndarray) -> float:
    """The sum of products of entries, in float64."""
    return float(np.einsum("ij,ij->", first, second, dtype=np.float64))
