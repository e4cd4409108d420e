"""`MKLOneClass`: novelty detection with several kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from ..combiners import CombinedKernel
from ..engines.primal import at_quantile
from ..engines.targets import Counts, NoveltyTargets, count_samples
from ..machines import Solution
from ..machines.one_class import default_cost
from ..validation import Constraints, Number
from ..validation.schemas import Schema
from ..views.table import Fetch
from .base import KernelMachineEstimator, check_rule
from .samples import by_blocks


class MKLOneClass(OutlierMixin, KernelMachineEstimator):
    """One-class support vector machine with a combination of kernels over several views.

    Minimises ``1/2 ||w||^2 + sum_i C_i max(0, -f(x_i)) + b`` over ``f(x) = <w, phi(x)> + b`` in the space of the
    combined kernel (thesis (Gönen 2010), (1.7) and (1.8)): most training samples get ``f(x) >= 0``, at most about a
    share `nu` does not. With an `approximation` the loss is squared, ``1/2 sum_i C_i max(0, -f(x_i))^2``, which rejects
    every sample that has a coefficient, so that its boundary rejects no given share: `C` is then a parameter of its
    own, and the offset is set afterwards, at the `nu`-quantile of the scores of the training samples.

    Parameters
    ----------
    kernels, combiner, normalize, missing, storage, device, dtype, approximation, tol, max_iter, n_jobs
        As in `MKLClassifier`, and so are `random_state` and `verbose`.
    nu : float
        Upper bound on the share of training samples outside, and lower bound on that of support vectors; in (0, 1].
        With an `approximation`, the share of training samples (by weight) that is outside, up to one sample.
    C : float or None
        Cost of a sample outside, at least ``1/n``; None means ``1 / (nu n)``, and then `nu` decides. With an
        `approximation` any positive number, which does not depend on `nu`: small values estimate the density of the
        samples, large ones the smallest region that holds them; None means ``100 / n``.

    Attributes
    ----------
    kernels_, kernel_names_, kernel_weights_, combiner_, support_, intercept_, objective_, duality_gap_, history_
        As in `MKLClassifier`, where it says why `duality_gap_` is NaN with a kernel that is not positive semidefinite;
        the objective is not positive here.
    n_iter_, storage_, active_kernels_, removable_kernels_, gating_summary_, gating_coef_, gating_intercept_
        As in `MKLClassifier`, and so are `projections_`, `feature_importance_`, `gating_projection_`, `coef_`,
        `region_weights_`, `machine_`, `feature_coef_`, `trace_shares_` and `approximation_`.
    dual_coef_ : ndarray of shape (1, n_support)
        ``alpha_i``, which add up to 1.
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``.

    Notes
    -----
    `sample_weight` multiplies the cost, relative to its sum. Memory as in `MKLClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLOneClass
    >>> from kernelweave.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> MKLOneClass([Gaussian(scale=2.0)], nu=0.1).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    _constraints = Constraints(nu=Number(above=0, high=1), C=Number(above=0) | None)

    _saved = Schema(rule=check_rule)

    def __init__(
        self,
        kernels: Any = None,
        combiner: Any = None,
        *,
        nu: float = 0.1,
        C: float | None = None,
        normalize: str | None = "unit-diagonal",
        missing: str = "native",
        storage: str = "auto",
        device: str = "cpu",
        dtype: str | None = None,
        approximation: Any = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.combiner = combiner
        self.nu = nu
        self.C = C
        self.normalize = normalize
        self.missing = missing
        self.storage = storage
        self.device = device
        self.dtype = dtype
        self.approximation = approximation
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MKLOneClass:
        """Fit the detector.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or OpenViews
            Files that are opened by `open_views` are read block by block with an `approximation`, and whole without.
        y : ignored
        sample_weight : array of shape (n_samples,) or str, optional
            Factors of the cost by sample; a sample of weight 0 is left out. Of an `OpenViews` also the name of a
            column, which is no part of X then.
        """
        self._fit_kernel(X, None, sample_weight)
        return self

    @property
    def offset_(self) -> float:
        """What `score_samples` must exceed for a sample to count as normal."""
        return float(-self.intercept_[0])

    @by_blocks(dask=True)
    def decision_function(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """Signed distance to the boundary (up to a factor): negative for novelties; X and `fetch` as in `predict`."""
        return self._decide(X, fetch)

    @by_blocks(dask=True)
    def score_samples(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """Decision values without the offset; X and `fetch` are as in `predict`."""
        return self._decide(X, fetch) + self.offset_

    @by_blocks(dask=True)
    def predict(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """1 for normal samples, -1 for novelties.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            As in `MKLClassifier.predict`.
        """
        return np.where(self._decide(X, fetch) >= 0, 1, -1)

    def _check_target(self, y: Any, n_samples: int) -> None:
        return None

    _count = staticmethod(count_samples)

    def _targets(self, counts: Counts) -> NoveltyTargets:
        total, nu = counts.weight, float(self.nu)
        if self.approximation is not None:
            return NoveltyTargets(default_cost(total) if self.C is None else float(self.C), nu)
        C = 1.0 / (nu * total) if self.C is None else float(self.C)
        if C * total < 1 - 1e-12:
            raise ValueError(
                f"C must be at least 1/n = {1 / total:.4g} for these {counts.n_samples} samples, not {C!r}"
            )
        return NoveltyTargets(C, nu, squared=False)

    def _finished(self, kernel: CombinedKernel, solution: Solution) -> Solution:
        return solution if kernel.of_samples else at_quantile(kernel.operand(), solution, float(self.nu))
