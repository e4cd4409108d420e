"""Explanations of a fitted model: parts of decision values, weights of features, gates and projections of samples.

A combined kernel that is a sum over terms, k = sum_t k_t, gives decision values that are sums too:

    f(x) = sum_t sum_i c_i k_t(x, x_i) + b

`contributions` has each term's part. For a linear kernel of one weight the part is linear in the sample, <w_m, x_m>
with w_m = eta_m sum_i c_i x_im: `feature_weights` and `coef_`.

The other methods are for combiners with learned projections or gates:

=============================  =====================================================
SLDR                           here
=============================  =====================================================
z^m = W_m' x^m                 `project`
W_m                            `projections_`
T                              `gating_projection_`
T' x^G                         `gating_space`
T v_m, v_m0                    `gating_coef_`, `gating_intercept_`
regions of the gating model    `region`
=============================  =====================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..combiners.named import combiner_named
from ..combiners.projected import component_names
from ..kernels import KernelStack
from ..kernels.components import Origin
from ..machines import Machine
from ..validation import shown
from ..views import Views
from ..views.table import Fetch
from .fitted import FittedKernels
from .samples import by_blocks

INTERCEPT = "intercept"


def part_names(terms: Iterable[str]) -> list[str]:
    """Columns of `contributions`, all different: the terms of a sum, and last the intercept, which keeps its name."""
    return [*(f"{term} (view)" if term == INTERCEPT else term for term in terms), INTERCEPT]


def labelled(values: np.ndarray, columns: list[str], outputs: list[Any], X: Any) -> pd.DataFrame:
    """Values (n_samples, n_columns), or (n_samples, n_outputs, n_columns), with the row labels of X if it has any."""
    index = pd.Index(columns)
    if values.ndim == 3:
        index = pd.MultiIndex.from_product([outputs, index], names=["output", "kernel"])
        values = values.reshape(len(values), -1)
    return pd.DataFrame(values, columns=index, index=X.index if isinstance(X, pd.DataFrame) else None)


def _offered(name: str, remedy: str) -> Callable[[Any], bool]:
    """Whether the combiner of an estimator supports a method, for `available_if`; see `Combiner.methods`."""

    def check(estimator: Any) -> bool:
        if not hasattr(estimator, "combiner"):
            raise AttributeError(f"{type(estimator).__name__} has no {name}, which needs {remedy}")
        combiner = getattr(estimator, "combiner_", combiner_named(estimator.combiner))
        if name in getattr(combiner, "methods", ()):
            return True
        raise AttributeError(f"{name} needs {remedy}, not {combiner!r:.80}")

    return check


class Explanations(FittedKernels):
    """Mixin of estimators: decision values by kernel and by feature, gates and projections."""

    active_kernels_: list[str]
    combiner_: Any
    intercept_: np.ndarray
    kernel_weights: Callable[..., pd.DataFrame]
    _coefficients: Callable[[], np.ndarray]
    _kernel: Any
    _labelled: Callable[..., pd.DataFrame]
    _new_views: Callable[..., Views]
    _output_names: Callable[[], list[Any]]
    _rule: Machine
    _values_per_sample: Callable[[], int]

    @by_blocks(dask=False)
    def contributions(self, X: Any, fetch: Fetch | None = None) -> pd.DataFrame:
        """What each kernel adds to the decision value of each sample; with the intercept, the parts add up to it.

        The part of kernel m is ``sum_i c_i eta_m k_m(x, x_i)`` with one weight for each kernel, and
        ``sum_i c_i eta_m(x) k_m(x, x_i) eta_m(x_i)`` with gates. It is exactly 0 for a kernel without weight, for a
        closed gate, and for a view that the sample lacks; with ``missing="complete"`` such a view has a part, which
        comes from the sample's other views. Of a `ColumnBoostingClassifier` it is the sum over the columns of kernel m.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            As in `predict`.

        Returns
        -------
        DataFrame
            One row for each sample, with the row labels of X. Columns are the kernel names and, last, ``"intercept"``
            (a kernel of that name has the column ``"intercept (view)"``); each row adds up to the value of
            `decision_function` (of `predict` for a regressor). Where the machine has several outputs, columns are pairs
            of output and kernel name, and the columns of one output add up to its decision value. Outputs are the
            targets of a regression or the classes or, with ``multiclass="one-vs-one"``, the pairs of classes: a pair
            "a vs b" has a decision value of its own, which votes for b where it is positive and for a otherwise, and
            `decision_function` counts the votes.

        Raises
        ------
        ValueError
            If the combined kernel is no sum (`Product`, `KernelDifference`, ``GeneralizedMKL("product")``):
            `model_selection.view_report` compares models with and without each view then.

        Notes
        -----
        `PolynomialMKL` is a sum over products of kernels, which are columns such as ``"rna"``, ``"rna^2"`` and
        ``"rna*protein"``. Parts are relative to a decision value of 0, not to that of an average sample: a kernel whose
        values are about equal for all samples can have a large part that the intercept cancels. It costs about as much
        as a prediction; for `PolynomialMKL` it costs one matrix product for each term.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelweave import MKLRegressor
        >>> from kernelweave.kernels import Linear
        >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
        >>> kernels = [("first", Linear([0])), ("second", Linear([1]))]
        >>> model = MKLRegressor(kernels, normalize=None, C=100.0, epsilon=0.0).fit(X, [3.0, 2.0, 4.0, 6.0])
        >>> model.contributions(X[3:]).round(2)
           first  second  intercept
        0    4.0     1.0        1.0
        >>> model.predict(X[3:]).round(2)
        array([6.])
        """
        views = self._new_views(X, fetch)
        if not self._kernel.is_sum:
            raise ValueError(
                f"contributions needs a sum over kernels, and {self.combiner_!r:.80} is none: no part of a decision "
                "value belongs to one kernel. model_selection.view_report(model, X, y) compares the model with and "
                "without each view"
            )
        coef = self._coefficients()
        shares = views.in_blocks(self._values_per_sample(), lambda part: self._kernel.shares(part, coef))
        intercept = np.broadcast_to(self.intercept_[:, None], (*shares.shape[:2], 1))
        parts = np.concatenate([shares, intercept], axis=2)
        return self._labelled(_of_outputs(parts), X, part_names(self._kernel.terms))

    def feature_weights(self, view: str) -> pd.Series | pd.DataFrame:
        """The weight of each feature of a linear kernel: the vector w_m, whose product with a sample is its part.

        A model whose kernels are linear and have one weight each decides by ``f(x) = sum_m <w_m, x_m> + b``, where x_m
        are the normalised features of view m: ``x_m / ||x_m||`` with ``normalize="unit-diagonal"`` (the default),
        features less their mean over the training samples with "center", and the features themselves with "unit-trace"
        or None. ``<w_m, x_m>`` is what the kernel adds to `contributions`.

        Parameters
        ----------
        view : str
            The name of a kernel, or the view of a linear kernel.

        Returns
        -------
        Series, or DataFrame of shape (n_features, n_outputs)
            By the names of columns (their positions where X has no names) or, if the kernel has a transformer, by what
            that calls its features. Where its last step is `PCA` or `TruncatedSVD`, weights are carried back to the
            columns before it, ``w = V' w_components`` with the components as the rows of V: in units of these columns
            as that step gets them, standard deviations behind a `StandardScaler`. A data frame if the machine has
            several outputs, one column for each class or pair of classes. All 0 for a kernel without weight.

        Raises
        ------
        ValueError
            If the kernel is not linear, or if the model has no single vector: where gates weigh each sample
            differently, or kernels are multiplied. `model_selection.view_importance` is for every model: by how much
            the score falls if the values of a view, or of some columns, are permuted.

        Notes
        -----
        Behind principal components x_m is less its mean, and it is the components whose length normalises a sample. The
        vector is that of samples with all views; parts of others are larger by a factor, see `combiners.WeightedSum`.

        Examples
        --------
        >>> import pandas as pd
        >>> from kernelweave import MKLRegressor
        >>> from kernelweave.kernels import Linear
        >>> X = pd.DataFrame({"a__x": [1.0, 0.0, 1.0, 2.0], "a__y": [0.0, 1.0, 1.0, 1.0], "b__x": [1.0, 2.0, 3.0, 3.0]})
        >>> kernels = [Linear("a"), Linear("b")]
        >>> model = MKLRegressor(kernels, normalize=None, C=100.0, epsilon=0.0).fit(X, [2.0, -1.0, 1.0, 3.0])
        >>> model.feature_weights("a").round(2)
        a__x    2.0
        a__y   -1.0
        Name: a, dtype: float64
        """
        check_is_fitted(self)
        m = self._linear_kernel(view)
        name, origin = self.kernel_names_[m], self._origin(m)
        weights = self._feature_weights(m)
        if weights is None:
            raise ValueError(
                f"with {self.combiner_!r:.80} there is no single vector of weights for the features of the kernel "
                f"{name!r}: kernels are multiplied, or weighted differently for each sample. contributions(X) has the "
                "parts of each sample where the model is a sum, model_selection.view_importance(model, X, y) by how "
                "much permuted columns lower the score"
            )
        weights = origin.carried(weights)
        if weights.shape[1] == 1:
            return pd.Series(weights[:, 0], origin.names, name=name)
        return pd.DataFrame(weights, origin.names, pd.Index(self._output_names(), name="output"))

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the columns of X: ``X @ coef_.T + intercept_`` is `decision_function` (`predict` of a regressor).

        An array of shape (n_outputs, n_features), with 0 for columns that no kernel with a weight reads. It is
        there only where that holds for all samples that have all views: every kernel with a weight is `Linear` without
        transformer, ``normalize`` is None or "unit-trace", weights do not depend on the sample, and decision values are
        no votes (``multiclass="one-vs-one"``).
        """
        found = self._coef_or_reason()
        if isinstance(found, str):
            raise AttributeError(f"this {type(self).__name__} has no coef_: {found}")
        return found

    def _coef_or_reason(self) -> np.ndarray | str:
        if not hasattr(self, "intercept_"):
            return "it is not fitted"
        active = self._kernel.active
        for name, kernel, is_active in zip(self.kernel_names_, self.kernels_, active, strict=True):
            if is_active and (not kernel.is_linear or hasattr(kernel, "transformer_")):
                return f"the kernel {name!r} is not linear in the columns of X"
            if not is_active and getattr(kernel, "takes_text", False):
                return f"the view of the kernel {name!r} may be text"
        values = np.random.RandomState(0).normal(size=(4, len(self.intercept_)))
        decided = self._rule.decision(values)
        if decided.size != values.size or not np.array_equal(decided.reshape(values.shape), values):
            return "decision_function counts votes"
        coef = np.zeros((len(self.intercept_), self.n_features_in_))
        for m in np.flatnonzero(active).tolist():
            weights = self._feature_weights(m)
            if weights is None:
                return f"{type(self.combiner_).__name__} does not give each kernel one weight"
            normalize = self._stack().normalizers[m].method
            if normalize not in (None, "unit-trace"):
                return f"samples are normalised (normalize={normalize!r}), see feature_weights"
            np.add.at(coef.T, self.kernels_[m].columns(), weights)
        return coef

    def _feature_weights(self, m: int) -> np.ndarray | None:
        coef = self._coefficients()
        if len(coef) == 0 or not self._kernel.active[m]:
            origin = self._origin(m)
            n_features = len(origin.names) if origin.loadings is None else origin.loadings.shape[0]
            return np.zeros((n_features, coef.shape[1]))
        return self._kernel.feature_weights(m, coef)

    def _origin(self, m: int) -> Origin:
        kernel: Any = self.kernels_[m]
        names = getattr(self, "feature_names_in_", None)
        if hasattr(kernel, "transformer_"):
            return kernel.preparation_.origin(kernel.columns())
        return Origin(kernel.columns().tolist() if names is None else names[kernel.columns()].tolist())

    def _linear_kernel(self, view: str) -> int:
        names, kernels = self.kernel_names_, self.kernels_
        if view in names and kernels[names.index(view)].is_linear:
            return names.index(view)
        views = [getattr(kernel, "view", None) for kernel in kernels]
        over = [m for m, own in enumerate(views) if isinstance(own, str) and own == view]
        linear = [m for m in over if kernels[m].is_linear]
        if len(linear) == 1:
            return linear[0]
        if linear:
            raise ValueError(f"several linear kernels read the view {view!r}: name one of {[names[m] for m in linear]}")
        if not over and view not in names:
            raise ValueError(f"no kernel, and no view of a kernel, is named {shown(view)}; the kernels are {names}")
        m = names.index(view) if view in names else over[0]
        raise ValueError(
            f"the kernel {names[m]!r} ({type(kernels[m]).__name__}) is not linear, so its features have no weights; "
            "model_selection.view_importance(model, X, y) has by how much permuted columns lower the score"
        )

    @available_if(_offered("project", "a combiner that learns projections, such as Projected"))
    @by_blocks(dask=False)
    def project(self, X: Any, by_kernel: bool = False) -> pd.DataFrame | dict[str, pd.DataFrame]:
        """Samples in the learned low-dimensional spaces; for the combiner `Projected`.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        by_kernel : bool
            Whether to return the projection of every active kernel by itself, without its gate.

        Returns
        -------
        DataFrame of shape (n_samples, n_components), or dict of them by kernel name
            eta_m(x) W_m' x^m of all kernels side by side, columns ``name__0``, ``name__1``, ...; the decision function
            of linear kernels is linear in them. A kernel that leaves the model, or whose view a sample lacks, is 0
            there. By kernel, only active ones are there and a sample that lacks the view has NaN.
        """
        views = self._new_views(X)

        def compute(part: Views) -> np.ndarray:
            gates, points = self._kernel.project(part)
            return np.hstack([gates, *points])

        table, kernels = views.in_blocks(self._values_per_sample(), compute), self.kernel_names_
        ends = np.cumsum([count for _, count in self._kernel.layout.shapes])[:-1]
        gates, points = table[:, : len(kernels)], np.split(table[:, len(kernels) :], ends, axis=1)
        frames = {
            name: self._labelled(Z, X, component_names(name, Z.shape[1]))
            for name, Z in zip(kernels, points, strict=True)
        }
        if by_kernel:
            return {name: frame for name, frame in frames.items() if name in self.active_kernels_}
        gated = [frame.mul(gates[:, m], axis=0).fillna(0.0) for m, frame in enumerate(frames.values())]
        return pd.concat(gated, axis=1)

    @available_if(_offered("gating_space", "the combiner Projected with gating_components set"))
    @by_blocks(dask=False)
    def gating_space(self, X: Any) -> pd.DataFrame:
        """Samples in the learned space in which regions are divided; for `Projected` with `gating_components`.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        DataFrame of shape (n_samples, n_gating_components)
            T' x^G, columns ``gating__0``, ``gating__1``, ...
        """
        codes = self._kernel.codes_of(self._new_views(X))
        return self._labelled(codes, X, component_names("gating", codes.shape[1]))

    @available_if(_offered("region", "a combiner with a gating model, such as Localized()"))
    @by_blocks(dask=False)
    def region(self, X: Any) -> np.ndarray:
        """The name of the kernel with the largest gate for each sample; for combiners with a gating model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of object, shape (n_samples,)
            None for a sample whose gates are all closed.
        """
        weights = self.kernel_weights(X).to_numpy()
        names = np.asarray(self.kernel_names_, dtype="O")[weights.argmax(axis=1)]
        names[weights.max(axis=1) == 0.0] = None
        return names

    @available_if(_offered("gates", "a combiner with gates, such as Localized()"))
    @by_blocks(dask=True)
    def gates(self, X: Any, fetch: Fetch | None = None) -> pd.DataFrame:
        """How open each kernel is for each sample: g_m(x), whose squares are `kernel_weights`.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            As in `predict`.

        Returns
        -------
        DataFrame of shape (n_samples, n_kernels)
            Columns as in `kernel_weights`. Squares sum to 1, unless the gating model has ``norm="paper"``.
        """
        return np.sqrt(self.kernel_weights(X, fetch))

    @available_if(_offered("local_values", "a combiner with gates, such as Localized()"))
    @by_blocks(dask=False)
    def local_values(self, X: Any) -> pd.DataFrame:
        """The decision values of each sample if one kernel's gate were 1 and all others 0.

        These are the local models that gates choose from: ``<w_m, phi_m(x)> + b``. Weighted by the gates, their parts
        without b add up to the decision value less b.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        DataFrame of shape (n_samples, n_kernels)
            Columns are kernel names, or pairs of output and kernel name with several outputs; NaN without the view.
        """
        views = self._new_views(X)
        coef = self._coefficients()
        values = views.in_blocks(self._values_per_sample(), lambda part: self._kernel.local_values(part, coef))
        return self._labelled(_of_outputs(values + self.intercept_[:, None]), X)


def _of_outputs(values: np.ndarray) -> np.ndarray:
    return values if values.shape[1] > 1 else values[:, 0]


def terms_of(model: Any) -> list[str] | None:
    return list(model._kernel.terms) if model._kernel.is_sum else None


def gates_at(model: Any, codes: np.ndarray) -> np.ndarray:
    return model._kernel.gates_at(codes)


def decision_at(model: Any, points: Mapping[str, np.ndarray]) -> np.ndarray:
    values = sum(
        model._kernel.values_at(model.kernel_names_.index(name), Z, model._coefficients()) for name, Z in points.items()
    )
    return model._rule.decision(values + model.intercept_)


def is_linear_in_projections(model: Any) -> bool:
    return model._kernel.is_linear


def weights_in_typical_samples(model: Any, m: int) -> tuple[list[Any], np.ndarray] | None:
    """Names, and by how much the decision values of a typical sample change with what a linear kernel reads.

    These are `feature_weights`, of shape (n_names, n_outputs), divided by the average length of the training samples
    that are kept (1 where the model does not hold it). Where gates weigh samples differently, they are those of the
    local model times the root mean square of its gate. None where there are no such weights.
    """
    weights, combined = model._feature_weights(m), model._kernel
    if weights is None:
        weights = combined.local_weights(m, model._coefficients()) if hasattr(combined, "local_weights") else None
        if weights is None:
            return None
        weights = weights * np.sqrt(model.kernel_weights_.iloc[m])
    stack, origin = model._stack(), model._origin(m)
    factors: Any = getattr(stack.normalizers[m], "factor_", 1.0) if isinstance(stack, KernelStack) else 1.0
    known = factors[stack.rows] if model._kernel.active[m] and np.ndim(factors) else np.ones(1)
    known = known[known > 0.0]  # 1 / ||x||, with normalize="unit-diagonal"
    return origin.names, origin.carried(weights) * (float(known.mean()) if len(known) else 1.0)
