"""Losses: what a user chooses as ``machine=``; each makes the machine for given targets and costs.

A loss is an object with parameters, as scikit-learn's estimators have them (`get_params`, `clone`), and without data.
Its method ``for_targets(y, bound)`` returns the `Machine` of samples with targets y and costs ``bound``: a
`LossMachine`, made of the loss' own `terms`, unless the loss has a faster one. So a new machine is a class with
`__init__` and `terms`, from which all else follows. A loss whose dual has other terms overrides `for_targets` and
returns a `Machine` of its own.

Two classes are coded as +1 and -1. Over more than two classes a `BinaryLoss` is used one-vs-all or one-vs-one; several
targets are a machine of a `RegressionLoss` for each of them.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from ..validation import Constraints, Number, check_parameters
from .base import DualTerms, Machine, PlainMachine, as_bound, columns, wrong_sides
from .binary import BinaryMachine, PosteriorMachine
from .multiclass import JointMachine, OneVsAllMachine, OneVsOneMachine
from .regression import LeastSquaresClassMachine, LeastSquaresMachine, RegressionMachine, TargetsMachine


class Loss(BaseEstimator):
    """A loss with its parameters; the base of `BinaryLoss` and `RegressionLoss`.

    Attributes
    ----------
    has_classes : bool
        Whether targets are the classes +1 and -1, else numbers.
    by_pairs : bool
        Whether a dual with quadratic terms and finite bounds is solved pair by pair and not by Newton's method: sooner
        where costs are small and a rough solution is enough. The diagonal is added to K itself for the time of the
        solve, so that nothing else may read K then.
    """

    has_classes = by_pairs = False

    def terms(self, y: np.ndarray, bound: np.ndarray) -> DualTerms:
        """Return the terms of the dual for samples of targets y and costs bound, all of which are positive."""
        raise NotImplementedError(f"{type(self).__name__} needs a method terms(y, bound), or for_targets(y, bound)")

    def for_targets(self, y: np.ndarray, bound: float | np.ndarray) -> Machine:
        """Return the machine that minimises this loss.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Targets: +1 and -1, or numbers.
        bound : float or ndarray of shape (n_samples,)
            Cost of each sample (C times its weight).
        """
        return LossMachine(self, y, bound)


class BinaryLoss(Loss):
    """A loss for two classes, +1 and -1; a subclass states its `terms`.

    Examples
    --------
    The hinge, rounded off where it has its kink:

    >>> import numpy as np
    >>> from kernelweave.machines import BinaryLoss, DualTerms
    >>> class HuberHinge(BinaryLoss):
    ...     def __init__(self, width=0.5):
    ...         self.width = width
    ...     def terms(self, y, bound):
    ...         ends = bound * y
    ...         return DualTerms(y, np.minimum(ends, 0.0), np.maximum(ends, 0.0), quadratic=self.width / bound)
    >>> machine = HuberHinge(width=1.0).for_targets(np.array([1.0, -1.0]), bound=2.0)
    >>> machine.loss(np.array([0.5, -3.0])), machine.solve(np.eye(2)).converged
    (0.25, True)
    """

    has_classes = True

    def for_posteriors(self, posterior: np.ndarray, bound: np.ndarray, y: np.ndarray) -> PosteriorMachine:
        """Return the machine for soft labels Pr(+1|x), where there is one; y holds the hard labels."""
        raise ValueError(f'soft labels need machine="svm": {type(self).__name__} has hard labels only')

    def joint(self, labels: np.ndarray, bound: np.ndarray, posterior: np.ndarray | None = None) -> Machine:
        """Return the machine that trains all classes at once, where there is one."""
        raise ValueError(
            f'multiclass="joint" needs machine="svm": {type(self).__name__} is for two classes; use "one-vs-all" or '
            '"one-vs-one"'
        )

    def one_vs_all(
        self, labels: np.ndarray, bound: np.ndarray, n_jobs: int | None = None, n_classes: int | None = None
    ) -> Machine:
        """Return one machine for each class against all others; labels are 0 .. n_classes - 1."""
        return OneVsAllMachine(labels, bound, n_classes=n_classes, binary=self, n_jobs=n_jobs)

    def one_vs_one(self, labels: np.ndarray, bound: np.ndarray, n_jobs: int | None = None) -> Machine:
        """Return one machine for each pair of classes; labels are 0 .. n_classes - 1."""
        return OneVsOneMachine(labels, bound, binary=self, n_jobs=n_jobs)


class RegressionLoss(Loss):
    """A loss for numbers; a subclass states its `terms`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.machines import DualTerms, RegressionLoss
    >>> class AbsoluteError(RegressionLoss):
    ...     def terms(self, y, bound):
    ...         return DualTerms(y, -bound, bound)
    >>> AbsoluteError().for_targets(np.array([1.0, 5.0]), bound=2.0).loss(np.array([0.0, 2.0]))
    8.0
    >>> AbsoluteError().several_targets(np.array([[1.0, 0.0], [5.0, 1.0]]), bound=2.0).loss(np.array([[0.0, 0.0]] * 2))
    14.0
    """

    def several_targets(self, y: np.ndarray, bound: float | np.ndarray, n_jobs: int | None = None) -> Machine:
        """Return the machine of several targets under one kernel: one of `for_targets` for each of them, by default.

        Parameters are those of `TargetsMachine`.
        """
        return TargetsMachine(self, y, bound, n_jobs=n_jobs)


class LossMachine(PlainMachine):
    """The machine of a `Loss`: its dual is made of the loss' terms.

    Parameters
    ----------
    loss : Loss
    y : ndarray of shape (n_samples,)
        Labels +1 and -1 for a `BinaryLoss`, numbers otherwise.
    bound : float or ndarray of shape (n_samples,)
        Cost of each sample; a sample of cost 0 has the coefficient 0.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.machines import SquaredHinge
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> machine = SquaredHinge().for_targets(np.sign(x), bound=2.0)
    >>> type(machine).__name__, np.round(machine.solve(np.outer(x, x)).coef[:, 0], 6)
    ('LossMachine', array([ 0. , -0.4,  0.4,  0. ]))
    """

    def __init__(self, loss: Loss, y: np.ndarray, bound: float | np.ndarray):
        self.loss_kind, self.by_pairs = loss, loss.by_pairs
        self.y = np.asarray(y, dtype=np.float64)
        self.n_samples = len(self.y)
        self.bound = as_bound(bound, self.n_samples)
        self.has_classes = loss.has_classes
        self.n_classes = 2 if loss.has_classes else 0
        if self.y.ndim != 1 or not np.isfinite(self.y).all():
            raise ValueError("y must be one-dimensional and finite")
        if self.has_classes and not np.isin(self.y, (-1.0, 1.0)).all():
            raise ValueError(f"y of {type(loss).__name__}, a loss for two classes, must hold +1 and -1 only")
        self.strata = self.y if self.has_classes else None

    @property
    def has_box_dual(self) -> bool:
        return not self.terms.quadratic.any()

    @property
    def kind(self) -> str:
        return f"machine of the loss {type(self.loss_kind).__name__}"

    def problem(self) -> dict:
        """Return the terms of the dual; samples of cost 0 have a box without width."""
        used = self.bound > 0.0
        terms = self.loss_kind.terms(self.y[used], self.bound[used])
        if not isinstance(terms, DualTerms):
            raise TypeError(f"{type(self.loss_kind).__name__}.terms must return DualTerms, not {type(terms).__name__}")
        if terms.quadratic.any() and not terms.is_smooth:
            raise ValueError(f"the quadratic terms of {type(self.loss_kind).__name__} must be all positive or all zero")

        def everywhere(values: np.ndarray, elsewhere: float) -> np.ndarray:
            filled = np.full(self.n_samples, elsewhere)
            filled[used] = values
            return filled

        found = {
            "linear": everywhere(terms.linear, 0.0),
            "lower": everywhere(terms.lower, 0.0),
            "upper": everywhere(terms.upper, 0.0),
            "total": terms.total,
            "insensitivity": terms.insensitivity,
        }
        return found | {"quadratic": everywhere(terms.quadratic, 1.0)} if terms.quadratic.any() else found

    def subset(self, index: np.ndarray) -> LossMachine:
        return LossMachine(self.loss_kind, self.y[index], self.bound[index])

    def losses(self, values: np.ndarray) -> np.ndarray:
        if self.has_classes:
            return wrong_sides(values, self.y)
        return (columns(values, 1, self.n_samples)[:, 0] - self.y) ** 2


def _unbounded(y: np.ndarray, bound: np.ndarray, insensitivity: float = 0.0) -> DualTerms:
    everywhere = np.full(len(y), np.inf)
    return DualTerms(y, -everywhere, everywhere, quadratic=1.0 / bound, insensitivity=insensitivity)


class Hinge(BinaryLoss):
    """``C_i max(0, 1 - y_i f(x_i))``, the loss of support vector machines: ``machine="svm"``.

    Examples
    --------
    >>> import numpy as np
    >>> type(Hinge().for_targets(np.array([1.0, -1.0]), bound=1.0)).__name__
    'BinaryMachine'
    """

    def terms(self, y: np.ndarray, bound: np.ndarray) -> DualTerms:
        ends = bound * y
        return DualTerms(y, np.minimum(ends, 0.0), np.maximum(ends, 0.0))

    def for_targets(self, y: np.ndarray, bound: float | np.ndarray) -> BinaryMachine:
        return BinaryMachine(y, bound)

    def for_posteriors(self, posterior: np.ndarray, bound: np.ndarray, y: np.ndarray) -> PosteriorMachine:
        return PosteriorMachine(posterior, bound, y_signed=y)

    def joint(self, labels: np.ndarray, bound: np.ndarray, posterior: np.ndarray | None = None) -> JointMachine:
        return JointMachine(labels, bound, posterior=posterior)


class SquaredHinge(BinaryLoss):
    """``1/2 C_i max(0, 1 - y_i f(x_i))^2``: ``machine="squared-hinge"``.

    In signed coefficients the dual is ``max y'c - 1/2 c'(K + diag(1/C_i))c`` with ``sum(c) = 0`` and ``c_i y_i >= 0``:
    the hard margin under the kernel plus a diagonal. The loss is smooth, so more samples have coefficients than under
    the hinge.

    Examples
    --------
    >>> import numpy as np
    >>> machine = SquaredHinge().for_targets(np.array([1.0, -1.0]), bound=2.0)
    >>> machine.loss(np.array([0.0, 0.0])), machine.loss(np.array([1.0, -3.0]))
    (2.0, 0.0)
    """

    def terms(self, y: np.ndarray, bound: np.ndarray) -> DualTerms:
        return DualTerms(y, np.where(y > 0.0, 0.0, -np.inf), np.where(y > 0.0, np.inf, 0.0), quadratic=1.0 / bound)


class SquaredMargin(BinaryLoss):
    """``1/2 C_i (y_i - f(x_i))^2`` with y of +1 and -1: ``machine="least-squares"`` of a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredMargin().for_targets(np.array([1.0, -1.0]), bound=2.0).loss(np.array([0.0, 1.0]))
    5.0
    """

    def terms(self, y: np.ndarray, bound: np.ndarray) -> DualTerms:
        return _unbounded(y, bound)

    def for_targets(self, y: np.ndarray, bound: float | np.ndarray) -> LeastSquaresClassMachine:
        return LeastSquaresClassMachine((np.asarray(y) > 0.0).astype(int), bound, n_classes=2)

    def one_vs_all(
        self, labels: np.ndarray, bound: np.ndarray, n_jobs: int | None = None, n_classes: int | None = None
    ) -> LeastSquaresClassMachine:
        """Return all classes as columns of one machine, which factorises the kernel once for all of them."""
        return LeastSquaresClassMachine(labels, bound, n_classes=n_classes)


class EpsilonInsensitive(RegressionLoss):
    """``C_i max(0, |y_i - f(x_i)| - epsilon)``: ``machine="svm"`` of a regressor.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube inside which errors are free.

    Examples
    --------
    >>> import numpy as np
    >>> type(EpsilonInsensitive(epsilon=0.5).for_targets(np.array([1.0, 2.0]), bound=1.0)).__name__
    'RegressionMachine'
    """

    _constraints = Constraints(epsilon=Number(low=0))

    def __init__(self, *, epsilon: float = 0.1):
        self.epsilon = epsilon

    def terms(self, y: np.ndarray, bound: np.ndarray) -> DualTerms:
        return DualTerms(y, -bound, bound, insensitivity=check_parameters(self).epsilon)

    def for_targets(self, y: np.ndarray, bound: float | np.ndarray) -> RegressionMachine:
        return RegressionMachine(y, bound, epsilon=check_parameters(self).epsilon)


class SquaredEpsilonInsensitive(RegressionLoss):
    """``1/2 C_i max(0, |y_i - f(x_i)| - epsilon)^2``: ``machine="squared-epsilon-insensitive"``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube inside which errors are free.

    Examples
    --------
    >>> import numpy as np
    >>> machine = SquaredEpsilonInsensitive(epsilon=0.5).for_targets(np.array([1.0, 2.0]), bound=2.0)
    >>> machine.loss(np.array([1.2, 0.5]))
    1.0
    """

    _constraints = Constraints(epsilon=Number(low=0))

    def __init__(self, *, epsilon: float = 0.1):
        self.epsilon = epsilon

    def terms(self, y: np.ndarray, bound: np.ndarray) -> DualTerms:
        return _unbounded(y, bound, check_parameters(self).epsilon)


class SquaredError(RegressionLoss):
    """``1/2 C_i (y_i - f(x_i))^2``: ``machine="least-squares"`` of a regressor.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredError().for_targets(np.array([1.0, 2.0]), bound=2.0).loss(np.array([0.0, 2.0]))
    1.0
    """

    def terms(self, y: np.ndarray, bound: np.ndarray) -> DualTerms:
        return _unbounded(y, bound)

    def for_targets(self, y: np.ndarray, bound: float | np.ndarray) -> LeastSquaresMachine:
        return LeastSquaresMachine(y, bound)

    def several_targets(
        self, y: np.ndarray, bound: float | np.ndarray, n_jobs: int | None = None
    ) -> LeastSquaresMachine:
        """Return all targets as columns of one machine, which factorises the kernel once for all of them."""
        return LeastSquaresMachine(y, bound)
