"""`MKLClassifier`: support vector and least-squares classification, with ties within rounding and soft labels.

Of classes whose decision values differ by no more than rounding, the heavier one is predicted. A decision value f(x) =
sum_i c_i k(x, z_i) + b of n terms, whose kernel values read d columns, is computed with an error of at most about

    r(x) = (n eps + d^(1/2) eps') (1 + |b| + sum_i |c_i| (1 + |k(x, z_i)|)).

The sum is always in float64, with its unit eps; n eps is the bound of any order of summation, which BLAS changes with
the size of the batch. eps' is the unit of what kernel values are computed in: float64 on the host, float32 on a device
unless the model says float64; their own sums are long and of random signs, hence the root (Higham and Mary, 2019, A new
approach to probabilistic rounding error analysis). b comes from such a sum over training samples, whose targets are +1
and -1 and whose normalised kernel values are about 1: the two ones. Values that are farther apart are never moved, so
the solver's tolerance makes no ties. Those in a tie are moved, by no more than their error, so that their argmax, or
their sign, is the label for everybody who reads them.

Soft labels are posterior probabilities, given by the user or estimated from the nearest neighbours. The thesis (section
1.5, after Gönen, Tanuğur and Alpaydın, 2008) estimates Pr(l|x_i) by the share of class l among the k nearest neighbours
of x_i. Neighbours here are the k nearest *other* training samples in the feature space of the mean of the normalised
kernels, d^2(x, z) = k(x, x) + k(z, z) - 2 k(x, z): every view counts the same, and any kernel can be used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin

from ..arrays import chosen_place
from ..combiners import Combiner, PerOutput, WeightedSum
from ..engines.targets import ClassTargets, LabelCounts, count_labels
from ..machines import BinaryLoss, Hinge, SquaredHinge, SquaredMargin
from ..machines.multiclass import heavier_first
from ..stacks import ExactStack
from ..validation import Choice, Constraints, Instance, Number, Whole
from ..validation.inputs import check_labels, one_class_error
from ..validation.schemas import CLASS_COUNTS, CLASS_LABELS, Schema
from ..views import Views
from ..views.table import Fetch
from .base import KernelMachineEstimator, check_rule
from .calibration import HOW
from .samples import ScoreMixin, by_blocks
from .training import check_multiclass

_MULTICLASS = ("one-vs-all", "one-vs-one", "joint")
_LOSSES = {"svm": Hinge(), "least-squares": SquaredMargin(), "squared-hinge": SquaredHinge()}
#: Values farther apart than this share of the margin, which is 1, are not looked at: in a model whose rounding were
#: larger no value would mean anything.
DOUBT = 1e-2
EPS = float(np.finfo(np.float64).eps)
_BLOCK_ROWS = 512


class ClassDecisions(ScoreMixin, ClassifierMixin):
    """Mixin of classifiers over kernels: labels and decision values, and the classes of a fit."""

    classes_: np.ndarray
    class_count_: np.ndarray
    class_weight: Any
    device: str
    dtype: str | None
    _coefficients: Callable[[], np.ndarray]
    _new_views: Callable[..., Views]
    _values_of: Callable[[Views], np.ndarray]

    _saved = CLASS_LABELS | Schema(rule=check_rule) | CLASS_COUNTS

    @by_blocks(dask=True)
    def decision_function(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """Decision values: (n_samples,) for two classes (positive for ``classes_[1]``), else (n_samples, n_classes).

        X and `fetch` are as in `predict`.
        """
        return self._decide(X, fetch)

    @by_blocks(dask=True)
    def predict(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """Class labels, those with the largest decision value.

        Of classes whose values differ by no more than rounding, it is the one of larger `class_count_`, whatever other
        samples X holds; decision values say so too.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            ``fetch(view, rows)`` returns the columns of a view for the samples at these positions. It is called where a
            gate of `Localized` is open and X lacks the view (NaN, or columns absent from a data frame).
        """
        values = self._decide(X, fetch)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    @property
    def predict_proba(self) -> NoReturn:
        """An AttributeError that says how to have probabilities: by `kernelweave.calibrated`."""
        raise AttributeError(HOW.format(type(self).__name__, "predict_proba"))

    def _decide(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        views = self._new_views(X, fetch)
        single = self.dtype != "float64" and not chosen_place(self.device).is_host
        return classifier_decision(self, views, self._values_of(views), self._coefficients(), single=single)

    def _check_target(self, y: Any, n_samples: int) -> np.ndarray:
        return check_labels(self, y, n_samples)

    _count = staticmethod(count_labels)

    def _weights_of_classes(self, counts: LabelCounts, C: float) -> np.ndarray:
        """Factors of C by class; sets the classes, and checks what every sample costs."""
        self.classes_, self.class_count_ = counts.classes, counts.class_weight
        if len(self.classes_) < 2:
            raise one_class_error(self, self.classes_)
        by_class = counts.class_weights(self.class_weight)
        costs = C * by_class * np.array([[counts.lightest], [counts.heaviest]])
        if not (np.isfinite(costs).all() and (costs > 0).all()):
            raise ValueError("C, class_weight and sample_weight must together give every sample a positive finite cost")
        return by_class


class MKLClassifier(ClassDecisions, KernelMachineEstimator):
    """Support vector classification with a combination of kernels over several views.

    Minimises ``1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i f(x_i))`` over ``f(x) = <w, phi(x)> + b`` in the space of the
    combined kernel (thesis (Gönen 2010), (1.1) and (1.3)), with ``C_i = C * class_weight * sample_weight``. More than
    two classes are solved by one such machine for each pair of classes or for each class, or by the joint machine
    (1.9), whose constraints are ``f^{y_i}(x_i) - f^l(x_i) >= 2`` for every other class l. With posteriors in place of
    labels it is the posterior-probability machine (section 1.5). ``machine="least-squares"`` has the loss
    ``1/2 sum_i C_i (t_i - f(x_i))^2`` on targets t of +1 and -1 instead, ``machine="squared-hinge"`` the loss
    ``1/2 sum_i C_i max(0, 1 - y_i f(x_i))^2``.

    Parameters
    ----------
    kernels : list of kernels, names of views or (name, kernel), or None
        Callables ``f(A, B)`` count as kernels, and the name of a view as its `Linear` kernel. None means one `Linear`
        kernel per view prefix of a data frame's columns (``fac__0``, ``fac__1``, ...; columns without a prefix then
        form the view ``rest``), or one over all columns where there are no prefixes. Unnamed kernels are named after
        their view; parameters are reached as ``kernels__<name>__<parameter>``.
    combiner : combiner, "mean", "lp", "convex", "localized", "projected" or None
        How the kernels become one; None means `Mean()`. A name stands for what the method of that name in the command
        line takes: `Mean()`, `LpMKL(p=4/3)`, `ConvexMKL()`, `Localized()`, or `Projected` with the gates `Softmax()`,
        10 components and 2 gating components.
    C : float or "gcv"
        Cost of a margin violation. "gcv" (least squares on whole Gram matrices) chooses from 0.001 to 10 000 by
        generalised cross-validation, with `Product` and combiners that choose weights first, such as `Mean`; those that
        cross-validate kernels choose C for each. Weights count as inverse variances, and the kernel as given.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of each kernel, with constants from the training samples: to k(x, x) = 1 for each sample, to 1 on
        average over the training samples, or around their mean.
    missing : {"native", "complete"}
        What becomes of a sample that lacks a view. "native": it has no row in the kernels of that view, whose weight
        goes to its other views. "complete": its row is predicted from its other views, by ridge regression on their
        kernels over the training samples, as if no view were missing. That is often more accurate where views share
        what they tell; it takes whole Gram matrices, n^3 operations for each view, or explicit features, and combiners
        without gates or projections ("What becomes of a missing view" in the documentation).
    multiclass : {"one-vs-all", "one-vs-one", "joint"}
        For more than two classes; two classes are always one binary machine. One machine per class is the cheapest and
        serves many and rare classes; the joint machine is often a little more accurate, but its time grows steeply with
        their number; one machine per pair of classes pays where columns are few and linear kernels cannot separate one
        class from all others. The documentation compares them ("The defaults, against their alternatives").
    weights : {"shared", "per-class"}
        Whether all binary machines of a multiclass problem share one combined kernel, or each class (one-vs-all) or
        pair of classes (one-vs-one) has weights of its own: `kernel_weights_` is then a data frame with a row for each,
        and `combiner_.combiners_` holds their combiners.
    machine : {"auto", "svm", "least-squares", "squared-hinge"} or BinaryLoss
        The loss, by name or as an object such as `machines.SquaredHinge()` or your own ("A machine of your own" in the
        documentation); its parameters are reached as ``machine__<parameter>``. "auto" is "svm", the hinge loss, and
        with an `approximation`, which needs a smooth loss, "squared-hinge"; `machine_` is which. Only "svm" has soft
        labels and ``multiclass="joint"``. Least squares stores every training sample, the squared hinge most of them.
    soft_labels : {None, "knn"}
        "knn": posteriors estimated as the share of each class among the `n_neighbors` nearest other training samples,
        by distance in the feature space of the mean of the normalised kernels (weights do not count there). A
        `posterior` given to `fit` goes first. Soft labels take more than two classes with ``multiclass="joint"`` only.
    n_neighbors : int
        Number of neighbours that ``soft_labels="knn"`` takes.
    class_weight : dict, "balanced" or None
        Factors of C by class.
    storage : {"auto", "dense", "lazy"}
        "dense" holds Gram matrices in memory; "lazy" computes kernels in parts and never a whole n x n matrix, so that
        memory sets no limit to n. "auto" is dense while the Gram matrices of all kernels take at most 2 GB
        (`kernelweave.set_config`), and where the combiner, the machine or a kernel needs whole matrices. With
        an `approximation`, "dense" holds the features, "lazy" computes them again in each pass over the samples, and
        "auto" holds them while they take at most 0.6 of the free memory.
    device : {"cpu", "cuda", "auto"}
        Where kernels in parts are computed, in fits and predictions. "cuda" needs torch (``kernelweave[torch]``), and
        "auto" means "cuda" where torch has it. Data stay NumPy's, and so does the fitted model; files hold no device.
    dtype : {"float64", "float32"} or None
        Of the Gram matrices, or of the features from which kernels in parts are computed. None means float64 for
        Gram matrices and float32 for features. In place of float32, wanted or by default, float64 is taken where C
        times k(x, x) is above 1000: rounding might change the objective by more than 1e-3 of its size. Explicit
        features of an `approximation` are float32 where that holds what differs between samples, and float64 where
        their means are above 10 000 times their spread; sums over samples are float64 always.
    approximation : None, "nystroem", Approximation, transformer, or dict from kernel name to one of these
        None is the exact model. Otherwise each kernel becomes a few hundred explicit features, and training is a sum
        over samples, for thousands to many millions of them: `features.NystroemFeatures` ("nystroem" is short for its
        defaults), `features.FourierFeatures`, `features.ExactFeatures`, or a transformer of scikit-learn, fitted to
        what the kernel compares. Parameters are reached as ``approximation__<parameter>``, in a dict as
        ``approximation__<kernel name>__<parameter>``. Everything that is learned before training (widths,
        normalisation, landmarks) comes from at most max(4000, 20 n_components) samples.
    tol : float
        Largest violation of the optimality conditions, as in libsvm; of smooth losses on kernels in parts the relative
        duality gap.
    max_iter : int
        Limit on solver steps per machine; -1 for one that only stops runaway solves (10 million, or 100 per sample).
    n_jobs : int or None
        Threads that solve the machines of a multiclass problem; the result does not depend on it.
    random_state : int, RandomState or None
        For combiners that draw random numbers.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
        The sum of the sample weights of each class, without `class_weight`; it decides where rounding would.
    kernels_ : list of Kernel
        Fitted kernels, named by `kernel_names_`.
    kernel_weights_ : Series or DataFrame
        Weight by kernel name, and by class or pair with ``weights="per-class"``: what multiplies k_m(x, x) in the
        combined kernel, averaged over the training samples where they differ. Combiners that are no sum define theirs.
    combiner_ : Combiner
    C_, gcv_ : float and Series
        With ``C="gcv"``: the C that was chosen, and the criterion by C.
    machine_ : str
        The loss by name ("svm", "squared-hinge", ...), or the class of the loss object.
    support_ : ndarray of shape (n_support,)
        Positions of the support vectors in the training data; not with an `approximation`.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Signed dual coefficients, ``alpha_i y_i``; one row for two classes, one per pair or class otherwise (joint:
        row l holds ``[y_i = l] A_i - alpha_i^l``). Not with an `approximation`.
    feature_coef_ : dict from kernel name to ndarray of shape (n_features, n_outputs)
        With an `approximation`: the weight vectors w_m, so that the decision value is the sum over kernels of
        ``(weight of m)**0.5 * <w_m, phi_m(x)>``, plus the intercept.
    trace_shares_ : Series
        With an `approximation`: by kernel name, which share of the mean of k(x, x) the features captured before they
        were scaled; near 1 they are as good as the kernel.
    approximation_ : dict from kernel name to FeatureMap
        With an `approximation`: the fitted features.
    intercept_ : ndarray of shape (n_outputs,)
    coef_ : ndarray of shape (n_outputs, n_features)
        Only where ``X @ coef_.T + intercept_`` is the decision function: see `feature_weights` for other linear models.
    objective_ : float
        Value of the dual at its optimum (the sum over machines).
    duality_gap_ : float
        Certified distance of `objective_` to the optimum; in float32 with what the rounding of kernel values may
        change. NaN where a kernel in use is not positive semidefinite and is not repaired (`IndefiniteKernelWarning`):
        the dual is not concave then, and the solver stops where no small change improves it (`tol`).
    history_ : DataFrame
        Objective, machine solves and seconds per outer iteration.
    n_iter_ : int
        Outer iterations; 1 where nothing is learned about the kernels.
    storage_ : {"dense", "lazy"}
        How the kernels were held during the fit.
    active_kernels_, removable_kernels_ : list of str
        Kernels that prediction evaluates, and those that it does not and whose views may be left out.
    gating_summary_ : DataFrame
        Mean weights of the training samples, where weights depend on the sample; see `gating_summary`.
    gating_coef_, gating_intercept_ : DataFrame of shape (n_inputs, n_kernels) and Series
        Slopes and biases of the gates' scores, with the gates `Softmax` and `Sigmoid`.
    region_weights_ : DataFrame of shape (n_regions, n_kernels)
        With the combiner `ConvexLocalized`: the weights of each region.
    projections_, feature_importance_ : dict from kernel name to DataFrame and to Series
        With the combiner `Projected`: the matrix W_m, features by components, and the lengths of its rows.
    gating_projection_ : DataFrame of shape (n_inputs, n_gating_components)
        With ``Projected(gating_components=...)``: the matrix T.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Memory: with ``storage="dense"`` the combined kernel and one base kernel (n x n each) while fitting, or all base
    kernels where their weights are learned; with ``storage="lazy"`` the samples, and the memory that
    `kernelweave.set_config` gives to rows of kernels. Support vectors afterwards (all training samples with
    ``normalize="center"``). With an `approximation` no such matrix is made: the samples and, with ``storage="dense"``,
    their features, of 4 bytes each (8 in float64); landmarks afterwards. A sample whose view is wholly NaN, or masked,
    lacks it: see `missing`, and `combiners.WeightedSum` for what is native.

    Probabilities: ``kernelweave.calibrated(MKLClassifier(...))``, which is scikit-learn's `CalibratedClassifierCV`, has
    `predict_proba`, with missing views and precomputed kernels too.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fac"), Gaussian("kar")], C=10.0).fit(X[::10], y[::10])
    >>> model.kernel_weights_
    fac    0.5
    kar    0.5
    dtype: float64

    The same on explicit features, whose memory and time grow with n rather than n^2:

    >>> model = model.set_params(approximation="nystroem", random_state=0).fit(X, y)
    >>> model.machine_, model.feature_coef_["kar"].shape, bool(model.trace_shares_["kar"] > 0.5)
    ('squared-hinge', (256, 1), True)
    """

    _constraints = Constraints(
        C=Number(above=0) | "gcv",
        machine=Choice("auto", *_LOSSES) | Instance(BinaryLoss, "a BinaryLoss object"),
        multiclass=Choice(*_MULTICLASS),
        weights=Choice("shared", "per-class"),
        soft_labels=Choice("knn", None),
        n_neighbors=Whole(1),
    )

    def __init__(
        self,
        kernels: Any = None,
        combiner: Any = None,
        *,
        C: float | str = 1.0,
        normalize: str | None = "unit-diagonal",
        missing: str = "native",
        multiclass: str = "one-vs-all",
        weights: str = "shared",
        machine: str | BinaryLoss = "auto",
        soft_labels: str | None = None,
        n_neighbors: int = 10,
        class_weight: Any = None,
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
        self.C = C
        self.normalize = normalize
        self.missing = missing
        self.multiclass = multiclass
        self.weights = weights
        self.machine = machine
        self.soft_labels = soft_labels
        self.n_neighbors = n_neighbors
        self.class_weight = class_weight
        self.storage = storage
        self.device = device
        self.dtype = dtype
        self.approximation = approximation
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, posterior: Any = None) -> MKLClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or OpenViews
            Files that are opened by `open_views` are read block by block with an `approximation`, and whole without.
        y : array of shape (n_samples,)
            Class labels of any type; None where X is an `OpenViews` with a target. Rows are matched by position; a
            Series whose row labels are those of X in another order is an error, and so are such weights and posteriors.
        sample_weight : array of shape (n_samples,) or str, optional
            Factors of C by sample; a sample of weight 0 is left out. Of an `OpenViews` also the name of a column, which
            is no part of X then.
        posterior : array of shape (n_samples, n_classes) or, for two classes, (n_samples,), optional
            Soft labels: Pr(class|x) with one column for each label, in sorted order or, in a data frame, named by the
            labels in any order; or Pr(second label|x). With two classes a sample whose posterior is within 0.025 of 1/2
            is left out, with a warning: the less certain a sample is, the harder its constraint would be (see
            `machines.PosteriorMachine`).
        """
        self._fit_kernel(X, y, sample_weight, posterior)
        return self

    def _targets(self, counts: LabelCounts) -> ClassTargets:
        by_class = self._weights_of_classes(counts, self._cost())
        check_multiclass(self, len(self.classes_))
        n_jobs = self.n_jobs if self.approximation is None else None  # explicit features are solved for all classes
        return ClassTargets(self._loss(), self.classes_, self._cost(), by_class, self.multiclass, n_jobs)

    def _posteriors(self, posterior: Any, y: Any, fitted: Callable[[], ExactStack]) -> np.ndarray | None:
        if posterior is not None:
            return as_class_posteriors(posterior, self.classes_)
        if self.soft_labels is None:
            return None
        labels = np.searchsorted(self.classes_, y)
        return neighbour_posteriors(fitted(), labels, len(self.classes_), self.n_neighbors)

    _smooth = "squared-hinge", "least-squares"

    def _loss(self) -> BinaryLoss:
        return _LOSSES[self._machine_name] if isinstance(self.machine, str) else self.machine

    def _combiner_for(self, combiner: Combiner) -> Combiner:
        if self.weights == "shared" or len(self.classes_) == 2:
            return combiner
        if self.multiclass == "joint":
            raise ValueError(
                'weights="per-class" needs multiclass="one-vs-one" or "one-vs-all": the joint machine solves all '
                "classes together, under one kernel"
            )
        return PerOutput(combiner)

    def _output_names(self) -> list[Any]:
        k = len(self.classes_)
        if len(self.intercept_) == 1:
            return [self.classes_[1]]
        if self.multiclass != "one-vs-one" or k == 2:
            return list(self.classes_)
        return [f"{self.classes_[a]} vs {self.classes_[b]}" for a in range(k) for b in range(a + 1, k)]


def without_ties(
    decide: Callable[[np.ndarray], np.ndarray],
    values: np.ndarray,
    weight: np.ndarray | None,
    rounding: Callable[[np.ndarray], np.ndarray],
    *,
    by_pairs: bool = False,
) -> np.ndarray:
    """Public decision values from raw ones, of which the heavier class of a tie is the largest.

    `decide` makes public values of raw ones (`Machine.decision`). `weight` is that of `class_count_`; None, as in a
    file of an earlier version, leaves values as they are. `rounding` gives r(x) of the samples at some positions, for
    each output. `by_pairs` says that outputs decide between two of several classes.
    """
    decision = decide(values)
    if weight is None:
        return decision
    pairs = np.array([(a, b) for a in range(len(weight)) for b in range(a + 1, len(weight))])
    signed = by_pairs or len(weight) == 2  # a value is for the second class of a pair where it is positive
    lead = np.abs(values).min(axis=1) if signed else np.full(len(values), np.inf)
    if decision.ndim == 2:
        lead = np.minimum(lead, np.diff(np.partition(decision, -2)[:, -2:])[:, 0])
    doubtful = np.flatnonzero(lead <= DOUBT)
    if not len(doubtful):
        return decision
    error, own = rounding(doubtful), values[doubtful]
    if signed:
        sign = np.where(weight[pairs[:, 1]] > weight[pairs[:, 0]], 1.0, -1.0)
        own = decide(np.where(np.abs(own) <= error, sign * np.maximum(np.abs(own), EPS), own))
        # A class's votes are whole numbers, and a value adds a third of itself at most to what decides among equals.
        error = error.sum(axis=1) / 3.0 + EPS * len(weight)
    else:
        own, error = decide(own), error.max(axis=1)
    decision[doubtful] = own if own.ndim == 1 else heavier_first(own, 2.0 * error, weight)
    return decision


def classifier_decision(
    model: Any, views: Views, values: np.ndarray, coef: np.ndarray, *, single: bool = False
) -> np.ndarray:
    """Public decision values of a fitted classifier; `single` where kernel values are computed in float32."""
    kernel, intercept = model._kernel, model.intercept_
    unit = len(coef) * EPS + len(kernel.columns()) ** 0.5 * (float(np.finfo(np.float32).eps) if single else EPS)

    def rounding(rows: np.ndarray) -> np.ndarray:
        found = views.rows(rows).in_blocks(kernel.values_per_sample(coef), lambda part: kernel.sizes(part, coef))
        return unit * (1.0 + np.abs(intercept) + np.abs(coef).sum(axis=0) + found)  # r(x)

    weight, by_pairs = vars(model).get("class_count_"), hasattr(model._rule, "pairs")
    return without_ties(model._rule.decision, values, weight, rounding, by_pairs=by_pairs)


def as_class_posteriors(posterior: np.ndarray | pd.Series | pd.DataFrame, classes: np.ndarray) -> np.ndarray:
    """Checked probabilities with one column for each class; one-dimensional ones are of the second of two classes."""
    labels = posterior.index.tolist() if isinstance(posterior, pd.Series | pd.DataFrame) else range(len(posterior))
    posterior = _in_order(posterior, classes)
    if posterior.ndim == 1 and len(classes) == 2:
        posterior = np.column_stack([1 - posterior, posterior])
    if posterior.ndim != 2 or posterior.shape[1] != len(classes):
        wanted = "one column for each class"
        wanted += f" or one dimension for Pr({classes[1]}|x)" if len(classes) == 2 else ""
        raise ValueError(
            f"posterior must have {wanted}, in the order {classes.tolist()}, but its shape is {posterior.shape}"
        )
    off = np.abs(posterior.sum(axis=1) - 1) > 1e-6
    if off.any():
        sample = labels[np.flatnonzero(off)[0]]
        raise ValueError(f"the posteriors of each sample must sum to 1, but those of sample {sample!r} do not")
    return posterior


def _in_order(posterior: np.ndarray | pd.Series | pd.DataFrame, classes: np.ndarray) -> np.ndarray:
    """The values, with the columns of a data frame in the order of the classes that they name."""
    if isinstance(posterior, pd.DataFrame) and not posterior.columns.equals(pd.RangeIndex(len(classes))):
        columns = list(posterior.columns)
        if len(set(columns)) < len(columns) or set(columns) != set(classes.tolist()):
            raise ValueError(
                f"the columns of posterior must be named by the classes {classes.tolist()}, not {columns}; rename "
                "them, or pass posterior.to_numpy() with its columns in that order"
            )
        posterior = posterior[classes.tolist()]
    elif isinstance(posterior, pd.Series) and len(classes) == 2 and posterior.name == classes[0]:
        raise ValueError(
            f"posterior is a series of the class {classes[0]!r}, by its name; one dimension means Pr({classes[1]}|x): "
            "pass 1 - posterior, or a data frame with a column for each class"
        )
    return np.asarray(posterior)


def neighbour_posteriors(stack: ExactStack, labels: np.ndarray, n_classes: int, n_neighbors: int) -> np.ndarray:
    """Share of each class among the nearest other samples, of shape (n_samples, n_classes)."""
    n = len(labels)
    if n_neighbors >= n:
        raise ValueError(
            f"n_neighbors is {n_neighbors}, but there are only {n} samples: every one needs so many others"
        )
    K: Any = WeightedSum(stack, np.full(stack.n_kernels, 1 / stack.n_kernels), owner="soft_labels").operand()
    diagonal = K.diagonal().copy() if isinstance(K, np.ndarray) else K.diagonal
    posterior = np.zeros((n, n_classes))
    for first in range(0, n, _BLOCK_ROWS):
        rows = np.arange(first, min(n, first + _BLOCK_ROWS))
        distance = diagonal - 2.0 * stack.rows_of(K, rows)  # up to k(x, x), which all candidates share
        distance[np.arange(len(rows)), rows] = np.inf
        nearest = np.argpartition(distance, n_neighbors - 1, axis=1)[:, :n_neighbors]
        np.add.at(posterior, (np.repeat(rows, n_neighbors), labels[nearest].ravel()), 1.0 / n_neighbors)
    return np.clip(posterior, 0.0, 1.0)
