"""`StackedViews`: late integration, a kernel machine for each view and a regression on their decision values.

With f_v(x) the decision values of the machine of view v, and mean_v their mean over training samples that the machine
was not fitted to, the model decides by

    g(x) = b + sum_v <w_v, f_v(x) - mean_v>

where w and b are those of a logistic (multinomial) or ridge regression, fitted to cross-fitted decision values. A view
that a sample lacks adds 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...estimators import MKLClassifier, MKLRegressor
from ...estimators.fitted import extension, lookups_of, n_compared
from ...validation import Constraints, Number, Seed, Whole, check_parameters, shown
from ...validation.columns import SEPARATOR
from ...validation.inputs import check_new_data, check_row_labels, check_training_data, unchanged_on_failure
from ..folds import balanced_folds
from .decisions import Decisions


class StackedViews(Decisions):
    """A kernel machine for each view, and a logistic or ridge regression on their decision values.

    Each machine is fitted to the samples that have its view. The regression is fitted to decision values of samples
    that the machines were not fitted to: those of `cv` folds. It minimises
    ``C sum_i loss(y_i, b + sum_v <w_v, f_v(x_i)>) + 1/2 sum_v ||w_v||^2`` over centred decision values f_v, scaled so
    that the largest standard deviation is 1, with the logistic loss, or half the squared error of a regression.

    Parameters
    ----------
    machines : list of (view, MKLClassifier) or of (view, MKLRegressor)
        Unfitted, over the columns of their view: those named ``view__...``, or the column of that name.
    C : float
        Cost of errors in the regression on decision values.
    cv : int
        Number of folds that decision values are computed by.
    random_state : int, RandomState or None
        For the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        For a classification.
    machines_ : list of MKLClassifier or MKLRegressor or None
        Fitted to all training samples that have the view; None for a view that too few of them have, or samples of one
        class only.
    views_ : list of str
    coef_ : ndarray of shape (n_outputs, n_views, n_values)
        What decision values are multiplied by; a machine of more than two classes has one value for each class.
    means_ : ndarray of shape (n_views, n_values)
        What is subtracted from decision values before.
    intercept_ : ndarray of shape (n_outputs,)
    n_stored_ : int
        Number of training samples that are support vectors of some machine.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.recipes.rivals import StackedViews
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = StackedViews([("fac", MKLClassifier()), ("kar", MKLClassifier())], random_state=0)
    >>> model.fit(X[::10], y[::10]).contributions(X[:1]).columns.tolist()
    ['fac', 'kar', 'intercept']
    """

    _constraints = Constraints(C=Number(above=0), cv=Whole(2), random_state=Seed())

    def __init__(self, machines: Any, *, C: float = 1.0, cv: int = 3, random_state: Any = None):
        self.machines = machines
        self.C = C
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> StackedViews:
        """Fit the machines and the regression on their decision values.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
            Columns are named by view.
        y : array of shape (n_samples,)
            Class labels, or numbers.
        groups : array of shape (n_samples,), optional
            Samples of one group are in one fold.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            machines = self._checked_machines()
            check_row_labels(X, y=y, groups=groups)
            X, _ = check_training_data(self, X)
            self.views_ = [view for view, _ in machines]
            self.task_ = self._task()
            targets = self._targets(y, len(X))
            labels = targets if self.task_ == "classification" else np.zeros(len(X), dtype=int)
            folds = balanced_folds(_as_groups(groups, len(X)), labels, given.cv, given.random_state)
            there = self._presence(X)
            values = np.full((len(X), len(machines), self._n_values()), np.nan)
            self.machines_ = []
            support, landmarks = np.zeros(len(X), dtype=bool), 0
            for place, (view, machine) in enumerate(machines):
                own, rows = _columns(X, view), np.flatnonzero(there[:, place])
                for fold in range(given.cv):
                    train, test = rows[folds[rows] != fold], rows[folds[rows] == fold]
                    fitted = self._fitted(machine, own, targets, train)
                    if fitted is not None and len(test):
                        values[test, place] = self._values_of(fitted, own.iloc[test])
                fitted = self._fitted(machine, own, targets, rows)
                self.machines_.append(fitted)
                if fitted is not None and hasattr(fitted, "support_"):
                    support[rows[fitted.support_]] = True
                elif fitted is not None:
                    landmarks += n_compared(fitted)
            self.n_stored_ = int(support.sum()) + landmarks
            self._fit_regression(values, targets, given.C)
        return self

    def _checked_machines(self) -> list[tuple[str, Any]]:
        kinds = (MKLClassifier, MKLRegressor)
        entries = self.machines if isinstance(self.machines, list | tuple) else []
        right = all(
            isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], kinds)
            for entry in entries
        )
        if not entries or not right or len({type(machine) for _, machine in entries}) > 1:
            raise ValueError(
                "machines of StackedViews must be a list of pairs of a view's name and an MKLClassifier, or of such "
                f"pairs with MKLRegressor, not {shown(self.machines)}"
            )
        names = [view for view, _ in entries]
        repeated = [view for view in names if names.count(view) > 1]
        if repeated:
            raise ValueError(f"machines of StackedViews has the view {repeated[0]!r} twice")
        return list(entries)

    def _n_values(self) -> int:
        """How many decision values a machine gives a sample."""
        return len(self._outputs())

    def _fitted(self, machine: Any, own: pd.DataFrame, targets: np.ndarray, rows: np.ndarray) -> Any:
        """The machine fitted to these samples, which have the view; None where they are too few, or of one class."""
        is_classification = self.task_ == "classification"
        if len(rows) < 2 or (is_classification and len(np.unique(targets[rows])) < 2):
            return None
        # Labels are positions among all classes, so that machines that saw fewer can be put beside others.
        return clone(machine).fit(own.iloc[rows], targets[rows])

    def _values_of(self, machine: Any, own: pd.DataFrame) -> np.ndarray:
        """Decision values of shape (n_samples, n_values), NaN for classes that the machine was not fitted to."""
        if self.task_ == "regression":
            return machine.predict(own).reshape(-1, 1)
        values = machine.decision_function(own)
        if self._n_values() == 1:
            return values.reshape(-1, 1)
        if values.ndim == 1:
            values = np.column_stack([-values, values])
        found = np.full((len(values), self._n_values()), np.nan)
        found[:, machine.classes_] = values
        return found

    def _fit_regression(self, values: np.ndarray, targets: np.ndarray, C: float) -> None:
        from sklearn.linear_model import LogisticRegression, Ridge

        known = ~np.isnan(values)
        n_known = np.maximum(known.sum(axis=0), 1)
        self.means_ = np.where(known, values, 0.0).sum(axis=0) / n_known
        centred = np.where(known, values - self.means_, 0.0)
        # One scale for all views: values that hardly vary are noise, which is not to be as large as the others.
        scale = float(np.sqrt((centred**2).sum(axis=0) / n_known).max())
        scale = scale if scale > 0.0 else 1.0
        table = (centred / scale).reshape(len(values), -1)
        if self.task_ == "regression":
            model: Any = Ridge(alpha=1.0 / C).fit(table, targets)
        else:
            model = LogisticRegression(C=C, max_iter=5000).fit(table, targets)
        coef = np.reshape(model.coef_, (-1, *self.means_.shape))
        self.coef_ = np.array(coef / scale, dtype=np.float64, order="C")
        self.intercept_ = np.array(np.ravel(model.intercept_), dtype=np.float64)

    @property
    def views(self) -> list[str]:
        """The names of the views."""
        check_is_fitted(self)
        return list(self.views_)

    def contributions(self, X: Any) -> pd.DataFrame:
        """What each view adds to the decision value of each sample; with the intercept, the parts add up to it.

        The part of a view is ``<w_v, f_v(x) - mean_v>``: coefficients times decision values of its machine, less their
        means over the training samples. It is exactly 0 for a view that the sample lacks.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)

        Returns
        -------
        DataFrame
            One row for each sample, with the row labels of X. Columns are the views and ``"intercept"``, pairs of class
            and view where there are more than two classes.
        """
        check_is_fitted(self)
        return self._as_contributions(self._parts(X), self.views_, X)

    def _task(self) -> str:
        machines = self.machines if isinstance(self.machines, list | tuple) else []
        is_regression = any(isinstance(part, MKLRegressor) for pair in machines for part in pair)
        return "regression" if is_regression else "classification"

    def _n_terms(self) -> int:
        return 1 + self.coef_[0].size

    def _decided(self, X: Any) -> np.ndarray:
        return self._parts(X).sum(axis=2)

    def _parts(self, X: Any) -> np.ndarray:
        """Contributions of views, and the intercept, of shape (n_samples, n_outputs, n_views + 1)."""
        X, _ = check_new_data(self, X, self._used())
        if not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X, columns=self.feature_names_in_)
        there = self._presence(X)
        parts = np.zeros((len(X), len(self.coef_), len(self.machines_) + 1))
        parts[:, :, -1] = self.intercept_
        for place, (view, machine) in enumerate(zip(self.views_, self.machines_, strict=True)):
            rows = np.flatnonzero(there[:, place])
            if machine is None or not len(rows):
                continue
            centred = self._values_of(machine, _columns(X, view).iloc[rows]) - self.means_[place]
            parts[rows, :, place] = np.where(np.isnan(centred), 0.0, centred) @ self.coef_[:, place].T
        return parts

    def _used(self) -> np.ndarray:
        """Positions of the columns of all views."""
        names = self.feature_names_in_
        return np.flatnonzero([any(_is_of(name, view) for view in self.views_) for name in names])

    def _presence(self, X: Any) -> np.ndarray:
        """Which samples have which views, of shape (n_samples, n_views)."""
        if not isinstance(X, pd.DataFrame):
            raise ValueError("StackedViews needs a data frame with columns named by view (see stack_views)")
        return np.column_stack([_columns(X, view).notna().to_numpy().any(axis=1) for view in self.views_])

    def extend_kernels(self, blocks: Any, diagonal: Any = None) -> pd.DataFrame:
        """Give precomputed kernels new samples, and return these as an X to predict, as `MKLClassifier` does.

        Parameters
        ----------
        blocks : dict from view or kernel name to DataFrame
            By the name of a precomputed kernel in some machine, or of the view where its machine has one such kernel.
        diagonal : dict from name to Series, array or number, or one of these for all kernels, or None
            As in `MKLClassifier.extend_kernels`.

        Returns
        -------
        DataFrame of shape (n_new, n_features_in_)
            The new samples, in the order in which they first occur; columns that are no ids are missing.
        """
        check_is_fitted(self)
        if not isinstance(blocks, Mapping) or not blocks:
            raise ValueError(f"extend_kernels needs a dict from names of kernels to blocks, not {shown(blocks)}")
        by_name = {name: self._place_of(name) for name in blocks}
        if isinstance(diagonal, Mapping):
            for name in diagonal:
                self._place_of(name)
        calls = []
        for machine in dict.fromkeys(place for place, _ in by_name.values()):
            own = {kernel: blocks[name] for name, (place, kernel) in by_name.items() if place == machine}
            given = diagonal
            if isinstance(diagonal, Mapping):
                places = {name: self._place_of(name) for name in diagonal}
                given = {kernel: diagonal[name] for name, (place, kernel) in places.items() if place == machine}
            calls.append((self.machines_[machine], own, given))
        for fitted, own, given in calls:  # raises before any machine is changed
            extension(fitted.kernel_names_, fitted.kernels_, lookups_of(fitted), own, given)
        found = [fitted.extend_kernels(own, diagonal=given) for fitted, own, given in calls]
        index = found[0].index
        for part in found[1:]:
            index = index.append(part.index[~part.index.isin(index)])
        X = pd.DataFrame(np.nan, index=index, columns=list(self.feature_names_in_), dtype=object)
        for part in found:
            X.loc[part.index, part.columns] = part.astype(object)
        return X.infer_objects()

    @property
    def matrices(self) -> dict[str, Any]:
        """The kernels that look samples up by id, fitted, by the names that `extend_kernels` takes."""
        check_is_fitted(self)
        found = {name: (self.machines_[place], kernel) for name, (place, kernel) in self._lookups_by_name().items()}
        return {
            name: machine.kernels_[machine.kernel_names_.index(kernel)] for name, (machine, kernel) in found.items()
        }

    def _lookups_by_name(self) -> dict[str, tuple[int, str]]:
        """Machine and kernel that look samples up, by the name of the kernel and, where it is alone, of its view."""
        taking: dict[str, tuple[int, str]] = {}
        for place, (view, machine) in enumerate(zip(self.views_, self.machines_, strict=True)):
            own = [] if machine is None else zip(machine.kernel_names_, machine.kernels_, strict=True)
            kernels = [kernel for kernel, each in own if each.reads_ids]
            taking |= {kernel: (place, kernel) for kernel in kernels}
            if len(kernels) == 1:
                taking[view] = place, kernels[0]
        return taking

    def _place_of(self, name: Any) -> tuple[int, str]:
        taking = self._lookups_by_name()
        if name not in taking:
            raise ValueError(
                f"extend_kernels got {shown(name)}, but no kernel that is looked up by id is called so; those are "
                f"{list(taking)}"
            )
        return taking[name]

    def _lookups(self) -> list[tuple[Any, np.ndarray]]:
        """The precomputed matrices that the machines look new samples up in."""
        return [found for machine in self.machines_ if machine is not None for found in lookups_of(machine)]


def _columns(X: pd.DataFrame, view: str) -> pd.DataFrame:
    """The columns of a view."""
    chosen = [place for place, name in enumerate(X.columns) if _is_of(name, view)]
    if not chosen:
        raise ValueError(f"the view {view!r} of StackedViews matches no column of X")
    return X.iloc[:, chosen]


def _is_of(name: Any, view: str) -> bool:
    return isinstance(name, str) and (name == view or name.startswith(view + SEPARATOR))


def _as_groups(groups: Any, n_samples: int) -> np.ndarray:
    if groups is None:
        return np.arange(n_samples)
    found = np.asarray(groups)
    if found.shape != (n_samples,):
        raise ValueError(f"groups must have one entry for each of the {n_samples} samples, not shape {found.shape}")
    if pd.isna(found).any():
        raise ValueError("groups has missing entries; give such samples a group of their own")
    return pd.factorize(found)[0]
