"""`MKLClassifier`: support vector and least-squares classification with several kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from ..combiners import Combiner, PerOutput
from ..engines.targets import ClassTargets, LabelCounts, count_labels
from ..machines import BinaryLoss, Hinge, SquaredHinge, SquaredMargin
from ..validation import Choice, Constraints, Instance, Number, Whole
from ..validation.inputs import check_labels, one_class_error
from ..views.table import Fetch
from .base import KernelMachineEstimator
from .prediction import ScoredAnywhere, wherever_X_is
from .soft_labels import as_class_posteriors, neighbour_posteriors
from .ties import rounding_of, without_ties
from .training import ExactKernels, check_multiclass

_MULTICLASS = ("one-vs-all", "one-vs-one", "joint")
_LOSSES = {"svm": Hinge(), "least-squares": SquaredMargin(), "squared-hinge": SquaredHinge()}


class MKLClassifier(ScoredAnywhere, ClassifierMixin, KernelMachineEstimator):
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
    kernels : list of kernels or (name, kernel), or None
        Callables ``f(A, B)`` count as kernels. None means one `Linear` kernel per view prefix of a data frame's
        columns (``fac__0``, ``fac__1``, ...; columns without a prefix then form the view ``rest``), or one over all
        columns where there are no prefixes. Unnamed kernels are named after their view; parameters are reached as
        ``kernels__<name>__<parameter>``.
    combiner : combiner or None
        How the kernels become one; None means `Mean()`.
    C : float
        Cost of a margin violation.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of each kernel, with constants from the training samples: to k(x, x) = 1 for each sample, to 1 on
        average over the training samples, or around their mean.
    multiclass : {"one-vs-all", "one-vs-one", "joint"}
        For more than two classes; two classes are always one binary machine. One machine per class is the cheapest and
        serves many and rare classes; the joint machine is often a little more accurate, but its time grows steeply with
        the number of classes; one machine per pair of classes pays where columns are few and linear kernels cannot
        separate one class from all others. ``docs/defaults.md`` compares them.
    weights : {"shared", "per-class"}
        Whether all binary machines of a multiclass problem share one combined kernel, or each class (one-vs-all) or
        pair of classes (one-vs-one) has weights of its own: `kernel_weights_` is then a data frame with a row for each,
        and `combiner_.combiners_` holds their combiners.
    machine : {"auto", "svm", "least-squares", "squared-hinge"} or BinaryLoss
        The loss, by name or as an object such as `machines.SquaredHinge()` or one of your own
        (``docs/extending/machine.md``); its parameters are reached as ``machine__<parameter>``. "auto" is "svm", the
        hinge loss, and with an `approximation`, which needs a smooth loss, "squared-hinge"; `machine_` is which. Only
        the support vector machine has soft labels and ``multiclass="joint"``. Least squares stores every training
        sample, the squared hinge most of them.
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
        (`kernelweave.set_config`), and where the combiner, the machine or a kernel needs whole matrices; see
        ``docs/scale.md``. With an `approximation`, "dense" holds the features, "lazy" computes them again in each pass
        over the samples, and "auto" holds them while they take at most 0.6 of the free memory.
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
        normalisation, landmarks) comes from at most max(4000, 20 n_components) samples; see
        ``docs/explicit_features.md``.
    tol : float
        Largest violation of the optimality conditions, as in libsvm.
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
        combined kernel, averaged over the training samples where they differ. For combiners that are no sum over
        kernels, see their docstrings.
    combiner_ : Combiner
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
        the dual is not concave then, the solver stops where no small change improves it (`tol`), and no gap says how
        far that is from the best.
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
    has no row in that kernel; see `combiners.WeightedSum`.

    Probabilities: ``CalibratedClassifierCV(MKLClassifier(...))`` of scikit-learn has `predict_proba`, with missing
    views and precomputed kernels too; see ``docs/probabilities.md``.

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
        C=Number(above=0),
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
        C: float = 1.0,
        normalize: str | None = "unit-diagonal",
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
            Series whose row labels are those of X in another order is an error, and so are such sample weights and
            posteriors.
        sample_weight : array of shape (n_samples,) or str, optional
            Factors of C by sample; a sample of weight 0 is left out. Of an `OpenViews` also the name of a column, which
            is no part of X then.
        posterior : array of shape (n_samples, n_classes) or, for two classes, (n_samples,), optional
            Soft labels: Pr(class|x) with one column for each label, in sorted order or, in a data frame, named by the
            labels in any order; or Pr(second label|x). With two classes a sample whose posterior is within 0.025 of 1/2
            is left out, with a warning: the less certain a sample is, the harder its constraint would be (see
            `machines.PosteriorMachine`).

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, posterior)

    @wherever_X_is
    def decision_function(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """Decision values: (n_samples,) for two classes (positive for ``classes_[1]``), else (n_samples, n_classes).

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            ``fetch(view, rows)`` returns the columns of a view for the samples at these positions. It is called where a
            gate of `Localized` is open and X lacks the view (NaN, or columns absent from a data frame).
        """
        return self._decide(X, fetch)

    @wherever_X_is
    def predict(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """Class labels, those with the largest decision value.

        Of classes whose values differ by no more than rounding, it is the one of larger `class_count_`, whatever other
        samples X holds; decision values say so too, see `estimators.ties`.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            ``fetch(view, rows)`` returns the columns of a view for the samples at these positions. It is called where a
            gate of `Localized` is open and X lacks the view (NaN, or columns absent from a data frame).
        """
        values = self._decide(X, fetch)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def _decide(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        views = self._new_views(X, fetch)
        single = self.dtype != "float64" and not self._place().is_host

        def rounding(rows: np.ndarray) -> np.ndarray:
            return rounding_of(self._kernel, views.rows(rows), self._coefficients(), self.intercept_, single=single)

        weight, by_pairs = vars(self).get("class_count_"), hasattr(self._rule, "pairs")
        return without_ties(self._rule.decision, self._values_of(views), weight, rounding, by_pairs=by_pairs)

    def _check_target(self, y: Any, n_samples: int) -> np.ndarray:
        return check_labels(self, y, n_samples)

    _count = staticmethod(count_labels)

    def _targets(self, counts: LabelCounts) -> ClassTargets:
        self.classes_, self.class_count_ = counts.classes, counts.class_weight
        if len(self.classes_) < 2:
            raise one_class_error(self, self.classes_)
        check_multiclass(self, len(self.classes_))
        by_class = counts.class_weights(self.class_weight)
        costs = float(self.C) * by_class * np.array([[counts.lightest], [counts.heaviest]])
        if not (np.isfinite(costs).all() and (costs > 0).all()):
            raise ValueError("C, class_weight and sample_weight must together give every sample a positive finite cost")
        n_jobs = self.n_jobs if self.approximation is None else None  # explicit features are solved for all classes
        return ClassTargets(self._loss(), self.classes_, float(self.C), by_class, self.multiclass, n_jobs)

    def _posteriors(self, posterior: Any, y: Any, kernels: ExactKernels) -> np.ndarray | None:
        if posterior is not None:
            return as_class_posteriors(posterior, self.classes_)
        if self.soft_labels is None:
            return None
        why = f'soft_labels="{self.soft_labels}" compares all pairs of samples'
        labels = np.searchsorted(self.classes_, y)
        stack = kernels.whole_stack(why, "soft_labels=None")
        return neighbour_posteriors(stack, labels, len(self.classes_), self.n_neighbors)

    _smooth = "squared-hinge", "least-squares"

    def _loss(self) -> BinaryLoss:
        """The loss, with the default resolved."""
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
