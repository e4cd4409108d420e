"""What decides: the parts of decision values that kernels add.

A combined kernel that is a sum over terms, k = sum_t k_t, gives decision values that are sums too:

    f(x) = sum_t sum_i c_i k_t(x, x_i) + b

`contributions` has each term's part. A term is a kernel, with its weight or with the gates of both samples, or a
product of kernels where the combiner has products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ..views import Views
from ..views.fetched import Fetch


class Explanations:
    """Mixin of estimators: decision values by kernel."""

    kernel_names_: list[str]
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    combiner_: Any
    _kernel: Any
    _new_views: Callable[..., Views]
    _values_per_sample: Callable[[], int]
    _output_names: Callable[[], list[Any]]

    def contributions(self, X: Any, fetch: Fetch | None = None) -> pd.DataFrame:
        """What each kernel adds to the decision value of each sample; with the intercept, the parts add up to it.

        The part of kernel m is ``sum_i c_i eta_m k_m(x, x_i)`` with one weight for each kernel, and
        ``sum_i c_i eta_m(x) k_m(x, x_i) eta_m(x_i)`` with gates. It is exactly 0 for a kernel without weight, for a
        closed gate, and for a view that the sample lacks.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            As in `predict`.

        Returns
        -------
        DataFrame
            One row for each sample, with the row labels of X. Columns are the kernel names and ``"intercept"``; each
            row adds up to the value of `decision_function` (of `predict` for a regressor). Where the machine has
            several outputs, columns are pairs of output and kernel name, and the columns of one output add up to its
            decision value. Outputs are the classes or, with ``multiclass="one-vs-one"``, the pairs of classes: a pair
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
        coef = self.dual_coef_.T
        shares = views.in_blocks(self._values_per_sample(), lambda part: self._kernel.shares(part, coef))
        intercept = np.broadcast_to(self.intercept_[:, None], (*shares.shape[:2], 1))
        parts, names = np.concatenate([shares, intercept], axis=2), [*self._kernel.terms, "intercept"]
        columns = pd.Index(names)
        if parts.shape[1] > 1:
            columns = pd.MultiIndex.from_product([self._output_names(), names], names=["output", "kernel"])
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(parts.reshape(len(parts), -1), columns=columns, index=index)
