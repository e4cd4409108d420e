"""Probabilities of classifiers: `calibrated` wraps one into scikit-learn's `CalibratedClassifierCV`."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from ..validation import shown

#: What `MKLClassifier` answers where it is asked for probabilities.
HOW = """\
{} has no {}: a support vector machine gives decision values. Two lines give probabilities, and \
kernelweave.calibrated(model) is the model of the second:

    from sklearn.calibration import CalibratedClassifierCV
    model = CalibratedClassifierCV(model, ensemble=False).fit(X, y)"""


def calibrated(model: Any, *, method: str = "sigmoid", cv: Any = 5) -> Any:
    """Wrap a classifier into one that has `predict_proba`, which is to be fitted.

    The result is scikit-learn's ``CalibratedClassifierCV(model, ensemble=False)``. Its `fit` maximises the likelihood
    of a sigmoid of decision values that samples have under models of the folds they were not in, and fits one model to
    all samples, of which it calibrates the decision values.

    Parameters
    ----------
    model : classifier
        `MKLClassifier`, or a pipeline or search that ends in one. Fitted or not, it is not changed: a copy is fitted. A
        fitted model that is to stay is a ``FrozenEstimator(model)``; `fit` takes new samples then.
    method : str
        How decision values become probabilities, as in `CalibratedClassifierCV`: "sigmoid", "isotonic" (for thousands
        of samples) or, in newer versions of scikit-learn, "temperature".
    cv : int, splitter or iterable
        The folds.

    Returns
    -------
    CalibratedClassifierCV
        Not fitted.

    Notes
    -----
    `report` takes the fitted result, `save` does not: `recipes.CohortModel` has probabilities in files.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, calibrated, datasets
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = calibrated(MKLClassifier()).fit(X[::10], y[::10])
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """
    from sklearn.calibration import CalibratedClassifierCV  # slow to import

    if isinstance(model, type) or not hasattr(model, "fit") or not is_classifier(model):
        raise ValueError(f"calibrated needs a classifier, such as MKLClassifier(), not {shown(model)}")
    return CalibratedClassifierCV(model, method=method, cv=cv, ensemble=False)
