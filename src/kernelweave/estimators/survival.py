"""`MKLSurvival`: risks from times to an event that are partly censored, with several kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from ..combiners import CombinedKernel
from ..engines.targets import OutcomeCounts, OutcomeTargets, count_outcomes
from ..stacks import TrainingStack
from ..survival import breslow, check_for_fit, concordance, outcome, times_and_events
from ..survival.curves import labels_of
from ..validation import Choice, Constraints, Number, shown
from ..validation.inputs import check_row_labels
from ..validation.schemas import Schema, Sizes, expect, label_index, numbers, optional, refuse
from ..views.table import Fetch
from .base import KernelMachineEstimator, check_rule
from .samples import Samples, by_blocks

LABELS = str, bool, int, float  # what a stratum is called


def _check_hazards(value: Any, sizes: Sizes, path: str) -> None:
    check_rule(value, sizes, path)
    fields = vars(value)
    times, hazard = fields.get("event_times_"), fields.get("baseline_hazard_")
    if (times is None) != (hazard is None):
        refuse(path, "has one of event_times_ and baseline_hazard_ without the other")
    if times is None or hazard is None:
        return
    if "strata_" not in fields:
        expect(1, len(hazard), f"{path}.baseline_hazard_", "strata")
    if (np.diff(times) <= 0.0).any():
        refuse(f"{path}.event_times_", "are not in ascending order")
    if (np.diff(hazard, axis=1) < 0.0).any():
        refuse(f"{path}.baseline_hazard_", "decreases with time")


class MKLSurvival(KernelMachineEstimator, BaseEstimator):
    """Survival analysis with a combination of kernels over several views.

    Minimises ``1/2 ||w||^2 + C L(f)`` over ``f(x) = <w, phi(x)>`` in the space of the combined kernel. With
    ``loss="cox"`` L is the negative log partial likelihood of Cox's proportional hazards model, so that the hazard of a
    sample is ``h0(t) exp(f(x))``; with ``loss="ranking"`` it is the sum over comparable pairs (i has its event before
    the time of j) of ``1/2 max(0, 1 - f(x_i) + f(x_j))^2``, divided by the number of samples. f(x) is a risk: the
    larger, the earlier the event. A constant in f would change nothing, so that there is no intercept.

    Parameters
    ----------
    kernels, combiner, normalize, missing, storage, device, dtype, approximation, tol, max_iter, n_jobs
        As in `MKLClassifier`, and so are `random_state` and `verbose`. Combiners that compare kernels with targets,
        such as `AlignmentWeights`, are refused.
    loss : {"cox", "ranking"}
        Cox's partial likelihood, or the squared hinge of comparable pairs, which gives risks only.
    C : float
        Cost of L. The parameter ``alpha`` of scikit-survival's ``FastKernelSurvivalSVM(rank_ratio=1)`` is ``C / n``.
    ties : {"efron", "breslow"}
        How events of equal times are treated by ``loss="cox"``.

    Attributes
    ----------
    kernels_, kernel_names_, kernel_weights_, combiner_, support_, intercept_, objective_, duality_gap_, history_
        As in `MKLClassifier`; `intercept_` is 0.
    n_iter_, storage_, active_kernels_, removable_kernels_, gating_summary_, gating_coef_, gating_intercept_
        As in `MKLClassifier`, and so are `projections_`, `feature_importance_`, `gating_projection_` and `coef_`, and
        `feature_coef_`, `trace_shares_` and `approximation_`.
    dual_coef_ : ndarray of shape (1, n_support)
    event_times_ : ndarray of shape (n_times,)
        The times at which training samples had events; only with ``loss="cox"``.
    baseline_hazard_ : ndarray of shape (n_strata, n_times)
        The cumulative hazard of a sample with f(x) = 0 at these times, by Breslow's estimator; a row for each stratum.
    strata_ : Index
        The labels of the strata, numbers or text, where there are any.

    Notes
    -----
    `sample_weight` are the weights of R's ``coxph``. Samples of different strata are never compared, and have baseline
    hazards of their own. Late entry (left truncation) is not supported. Memory as in `MKLClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLSurvival
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> from kernelweave.survival import outcome
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> time, last_seen = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, size=100)
    >>> y = outcome(np.minimum(time, last_seen), time <= last_seen)
    >>> model = MKLSurvival([Linear([0, 1]), Gaussian([2])], C=0.1).fit(X, y)
    >>> bool(model.score(X, y) > 0.7)
    True
    >>> model.predict_survival_function(X[:2], times=[0.5, 1.0]).shape
    (2, 2)
    """

    has_outcomes = True  # y has times and events
    _constraints = Constraints(loss=Choice("cox", "ranking"), C=Number(above=0), ties=Choice("efron", "breslow"))

    _saved = Schema(
        {
            "event_times_": optional(numbers("times", low=0.0, filled=True)),
            "baseline_hazard_": optional(numbers("strata", "times", low=0.0)),
            "strata_": optional(label_index("strata", *LABELS)),
        },
        _check_hazards,
    )

    def __init__(
        self,
        kernels: Any = None,
        combiner: Any = None,
        *,
        loss: str = "cox",
        C: float = 1.0,
        ties: str = "efron",
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
        self.loss = loss
        self.C = C
        self.ties = ties
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, strata: Any = None) -> MKLSurvival:
        """Fit the model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or OpenViews
            Files that are opened by `open_views` are read block by block with an `approximation`, and whole without.
        y : structured array or DataFrame of shape (n_samples,)
            Times and events, as `kernelweave.survival.outcome` makes them.
        sample_weight : array of shape (n_samples,) or str, optional
            Weights of samples; a sample of weight 0 is left out. Of an `OpenViews` also the name of a column.
        strata : array of shape (n_samples,), optional
            Labels of strata, within which samples are compared.
        """
        self._fit_outcomes(X, y, sample_weight, strata)
        return self

    def fit_kernel(self, X: Any, y: Any, strata: Any = None) -> CombinedKernel:
        """Fit, and return the combined kernel over all training samples; a fitted model keeps support vectors only."""
        return self._fit_outcomes(X, y, None, strata)

    def _fit_outcomes(self, X: Any, y: Any, sample_weight: Any, strata: Any) -> CombinedKernel:
        if y is None:
            raise ValueError("MKLSurvival requires y to be passed, but the target y is None; use outcome(time, event)")
        check_row_labels(X, y=y, strata=strata)
        return self._fit_kernel(X, (y, strata), sample_weight)

    @by_blocks(dask=False)
    def predict(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """The risk f(x) of each sample, of shape (n_samples,): the larger, the earlier the event.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            As in `MKLClassifier.predict`.
        """
        return self._decide(X, fetch)

    @by_blocks(dask=False)
    def decision_function(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """The same as `predict`."""
        return self._decide(X, fetch)

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance index: the share of comparable pairs whose risks are in the right order.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or OpenViews
        y : structured array or DataFrame of shape (n_samples,)
        """
        return concordance(y, self.predict(X))

    def predict_cumulative_hazard(self, X: Any, times: Any = None, strata: Any = None) -> np.ndarray:
        """The cumulative hazard ``H0(t) exp(f(x))`` of each sample at some times, of shape (n_samples, n_times).

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        times : array of shape (n_times,), optional
            `event_times_` by default; before the first of these the hazard is 0, after the last it stays what it was.
        strata : array of shape (n_samples,) or label, optional
            The strata of the samples, of a model with strata.
        """
        check_row_labels(X, strata=strata)
        risk = self.predict(X)
        if "event_times_" not in vars(self):  # whatever `loss` has been set to since
            raise ValueError('loss="ranking" orders samples by risk and has no hazards; use loss="cox" for these')
        times = self.event_times_ if times is None else np.atleast_1d(np.asarray(times, dtype=np.float64))
        if times.ndim != 1 or not np.isfinite(times).all():
            raise ValueError("times must be finite numbers, in one dimension")
        places = np.searchsorted(self.event_times_, times, side="right")
        baseline = np.column_stack([np.zeros(len(self.baseline_hazard_)), self.baseline_hazard_])[:, places]
        with np.errstate(over="ignore", invalid="ignore"):
            found = baseline[self._stratum_of(strata, len(risk))] * np.exp(risk)[:, None]
        return np.where(np.isnan(found), 0.0, found)  # no hazard yet, of a risk without limit

    def predict_survival_function(self, X: Any, times: Any = None, strata: Any = None) -> np.ndarray:
        """The probability ``exp(-H0(t) exp(f(x)))`` that the event comes later, of shape (n_samples, n_times).

        Parameters
        ----------
        X, times, strata
            As in `predict_cumulative_hazard`.
        """
        return np.exp(-self.predict_cumulative_hazard(X, times, strata))

    def _stratum_of(self, strata: Any, n_samples: int) -> np.ndarray:
        known = getattr(self, "strata_", None)
        if known is None:
            if strata is not None:
                raise ValueError("strata are given, but the model was fitted without; leave them out")
            return np.zeros(n_samples, dtype=int)
        if strata is None:
            raise ValueError(f"the model was fitted with the strata {shown(known.tolist())}; give those of X as strata")
        given = np.asarray(strata, dtype=object)
        if given.shape not in ((), (n_samples,)):
            raise ValueError(f"strata must be one label, or one for each of {n_samples} samples, not {shown(strata)}")
        given = np.broadcast_to(given, (n_samples,))
        places = known.get_indexer(given)
        if (places < 0).any():
            raise ValueError(
                f"stratum {shown(given[places < 0].tolist()[0])} was not there in training; those were "
                f"{shown(known.tolist())}"
            )
        return places

    # A fit

    @property
    def _machine_name(self) -> str:
        return self.loss

    @property
    def _machine_loss(self) -> str:
        return "cox-breslow" if self.loss == "cox" and self.ties == "breslow" else self.loss

    def _check_target(self, y: Any, n_samples: int) -> np.ndarray:
        """Columns of times, events and numbers of strata."""
        if isinstance(y, np.ndarray):  # of a table in files, checked before
            return y
        y, strata = y
        time, event = times_and_events(y)
        if len(time) != n_samples:
            raise ValueError(f"X has {n_samples} samples and y {len(time)}")
        self.__dict__.pop("strata_", None)
        codes = np.zeros(n_samples)
        if strata is not None:
            found, codes = labels_of(strata, "strata", n_samples, sort=True)
            labels = [each.item() if isinstance(each, np.generic) else each for each in pd.Index(found).tolist()]
            wrong = [label for label in labels if not isinstance(label, LABELS)]
            if wrong:
                raise ValueError(f"strata must be numbers or text, and one is {shown(wrong[0])}; name them by text")
            self.strata_ = pd.Index(labels)
        return np.column_stack([time, event, codes]).astype(np.float64)

    def _kernel_targets(self, y: Any, weight: np.ndarray) -> np.ndarray:
        outcomes = self._check_target((y, None), len(weight))
        return OutcomeTargets(self._machine_loss, float(self.C), outcomes, weight).whole()[1]

    _count = staticmethod(count_outcomes)

    def _targets(self, counts: OutcomeCounts) -> OutcomeTargets:
        y, weight = counts.joined()
        check_for_fit(y[:, 1] > 0.0)
        targets = OutcomeTargets(self._machine_loss, float(self.C), y, weight)
        at_risk = self.loss == "cox" and pd.DataFrame(y).groupby([0, 2])[1].nunique().max() > 1
        if not at_risk and not targets.whole()[0].importance.any():
            raise ValueError(
                "no two samples can be compared: none has an event before the time of another one"
                + (", or at that of a censored one" if self.loss == "cox" else "")
                + (" of its stratum" if hasattr(self, "strata_") else "")
                + ", so that there is nothing to learn from"
            )
        return targets

    def _store(self, kernel: CombinedKernel, machine: Any, stack: TrainingStack, samples: Samples) -> None:
        super()._store(kernel, machine, stack, samples)
        for name in ("event_times_", "baseline_hazard_"):
            self.__dict__.pop(name, None)
        if "strata_" in vars(self):  # without those of which all samples have weight 0
            self.strata_ = self.strata_[np.unique(machine.stratum).astype(int)]
        if self.loss == "cox":
            self._store_baseline(machine, machine.scores(kernel.operand(), kernel.solution))

    def _store_baseline(self, machine: Any, risk: np.ndarray) -> None:
        self.event_times_ = np.unique(machine.time[machine.event])
        y, given = outcome(machine.time, machine.event), {"sample_weight": machine.weight, "strata": machine.stratum}
        curves: Any = breslow(y, risk, ties=self.ties, **given)
        in_order = (curves[stratum] for stratum in sorted(curves))
        self.baseline_hazard_ = np.array([curve(np.minimum(self.event_times_, curve.end)) for curve in in_order])
