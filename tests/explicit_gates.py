"""Stacks and machines on explicit features for tests of gates, with all samples as landmarks, and their exact twins."""

import numpy as np

from kernelweave.estimators.explicit.fitting import explicit_stack
from kernelweave.estimators.explicit.samples import rows_in_memory
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import KernelStack
from kernelweave.validation.inputs import check_training_data
from kernelweave.views import Views

ALL = NystroemFeatures(100_000, method="uniform")  # as many landmarks as there are samples


def explicit_problem(estimator, X, y, *, n_rows=7, sample_weight=None):
    """The stack and the machine of an estimator, over blocks of `n_rows` samples."""
    views = Views(*check_training_data(estimator, X))
    weight = np.ones(views.n_samples) if sample_weight is None else sample_weight
    engine = rows_in_memory(views, estimator._check_target(y, views.n_samples), weight, n_rows)
    targets = estimator._targets(engine.sum(estimator._count))
    return explicit_stack(estimator, engine, views.n_samples, targets, np.random.RandomState(0))[:2]


def exact_problem(estimator, X, y):
    """The stack of Gram matrices and the machine of the same estimator."""
    views = Views(*check_training_data(estimator, X))
    y = estimator._check_target(y, views.n_samples)
    weight = np.ones(views.n_samples)
    return KernelStack(estimator.kernels).fit(views), estimator._machine(y, weight, None, None)[0]
