"""`FeatureSpaceMeasure`: the spread of the classes against the distance of their centres, thesis 2.3.2.

FSM(K) = (s_+ + s_-) / ||m_+ - m_-||, where s is the standard deviation of a class along the line between the two
centres (Nguyen and Ho, 2008). With g = <phi(x_i), m_+ - m_->, which takes only mean kernel values by class,

    s = std(g) / ||m_+ - m_-||     and     ||m_+ - m_-||^2 = mean_+(g) - mean_-(g),

so that FSM = (std_+(g) + std_-(g)) / (mean_+(g) - mean_-(g)) and g_eta = sum_m eta_m g_m. For two classes this is a
convex function over a positive linear one, of which every stationary point is a minimum. (Measured in all directions,
the spread would make sqrt-concave functions of eta, whose minimum is always a single kernel.)

========  =========================================================  ==============
thesis    here                                                       name
========  =========================================================  ==============
s, m      through mean kernel values to each class                   `ClassMoments`
FSM       mean over pairs of classes                                 `_measure`
========  =========================================================  ==============
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...solvers import minimize_scale_free
from ...stacks.base import ClassMoments
from ..weighted.sums import ChosenWeights
from .inner_products import n_classes_of

# Of the squared distance of two centres, relative to the mean diagonal: less is no distance.
_NO_DISTANCE = 1e-12


class FeatureSpaceMeasure(ChosenWeights):
    """Weights that make classes narrow against the distance of their centres.

    Minimises ``FSM(K_eta) = (s_+ + s_-) / ||m_+ - m_-||`` over eta >= 0, sum(eta) = 1, where m are the class centres in
    feature space and s the standard deviations of the classes along the line between them (Nguyen and Ho, 2008; Tanabe
    et al., 2008). More than two classes: the mean of the measure over all pairs of classes; the minimum found, from
    equal weights, is then a local one.

    It helps with a few kernels in which each class is one cloud. It underrates kernels in which a class has several
    clusters, and among hundreds of kernels it overrates those that separate the classes by chance. It uses sums of the
    kernels only, in time proportional to their size. For classification only. A sample without a view counts as a zero
    row of that kernel.

    Attributes
    ----------
    measure_ : float
        FSM of the combined kernel.
    measures_ : Series
        FSM of each kernel by itself; infinite where two of its class centres coincide.

    Notes
    -----
    Multiplying all kernels by one constant changes nothing. Memory: one n x n matrix at a time; none with
    ``storage="lazy"``.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import FeatureSpaceMeasure
    >>> from kernelweave.kernels import Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Linear("zer")], FeatureSpaceMeasure()).fit(X[::10], y[::10])
    >>> model.kernel_weights_.round(2)
    fou    0.54
    zer    0.46
    dtype: float64
    """

    def choose(self, stack, machine, control):
        """The minimiser of the measure on the simplex."""
        found = stack.class_moments(n_classes_of(stack, machine, self))
        pairs = _pairs(found)
        largest = float(np.abs(found.inner).max())
        least = _NO_DISTANCE * max(largest, np.finfo(float).tiny)

        def alone(m: int) -> float:
            corner = np.eye(stack.n_kernels)[m]
            return _measure(corner, pairs)[0] if min(d[m] for _, _, d in pairs) > least else np.inf

        measures = np.array([alone(m) for m in range(stack.n_kernels)])
        self.measures_ = pd.Series(measures, index=stack.names)
        start = np.full(stack.n_kernels, 1.0 / stack.n_kernels)
        if min(start @ distances for _, _, distances in pairs) <= least:
            raise ValueError(
                "FeatureSpaceMeasure finds two classes with the same centre in every kernel; use Mean, or kernels that "
                "tell the classes apart"
            )
        result = minimize_scale_free(lambda eta: _measure(eta, pairs), start)
        if not result.converged:
            warn(
                f"FeatureSpaceMeasure stopped after {result.steps} steps with a violation of {result.violation:.2g}",
                ConvergenceWarning,
            )
        self.measure_ = result.objective
        return result.solution, 0


def _pairs(found: ClassMoments) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each pair of classes the covariances of g_1 .. g_P within each, and squared distances of centres."""
    inner, spread = found.inner, found.spread
    pairs = []
    for a, b in combinations(range(inner.shape[1]), 2):
        own = [
            spread[c][:, a, :, a] - spread[c][:, a, :, b] - spread[c][:, b, :, a] + spread[c][:, b, :, b]
            for c in (a, b)
        ]
        pairs.append((own[0], own[1], inner[:, a, a] - inner[:, a, b] - inner[:, b, a] + inner[:, b, b]))
    return pairs


def _measure(eta: np.ndarray, pairs: list) -> tuple[float, np.ndarray]:
    """Mean FSM over the pairs of classes and its gradient."""
    value, gradient = 0.0, np.zeros_like(eta)
    for first, second, distances in pairs:
        distance = distances @ eta
        for covariance in (first, second):
            image = covariance @ eta
            spread = np.sqrt(max(eta @ image, 0.0))
            value += spread / distance  # thesis 2.3.2: s / ||m_+ - m_-||
            slope = image / spread if spread > 0 else np.zeros_like(eta)
            gradient += slope / distance - spread * distances / distance**2
    return value / len(pairs), gradient / len(pairs)
