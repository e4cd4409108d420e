"""Stacks and machines on explicit features for tests of gates, with all samples as landmarks, and their exact twins."""

import numpy as np

from kernelweave.estimators.samples import rows_in_memory
from kernelweave.estimators.training import on_features
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import KernelStack
from kernelweave.stacks import training
from kernelweave.validation.inputs import check_training_data
from kernelweave.views import Views

ALL = NystroemFeatures(100_000, method="uniform")  # as many landmarks as there are samples


def rows_and_targets(estimator, X, y, n_rows=None):
    """Blocks of `n_rows` samples, and what makes machines of them."""
    views = Views(*check_training_data(estimator, X))
    y = estimator._check_target(y, views.n_samples)
    engine = rows_in_memory(views, y, np.ones(views.n_samples), n_rows)
    return engine, estimator._targets(engine.sum(estimator._count))


def explicit_problem(estimator, X, y, *, n_rows=7):
    """The stack and the machine of an estimator, over blocks of `n_rows` samples."""
    engine, targets = rows_and_targets(estimator, X, y, n_rows)
    return on_features(estimator, engine, len(X), targets, np.random.RandomState(0))[:2]


def exact_problem(estimator, X, y):
    """The stack of Gram matrices and the machine of the same estimator."""
    engine, targets = rows_and_targets(estimator, X, y)
    (rows,) = engine.blocks
    machine, y = targets(rows.y, rows.weight)
    return training(KernelStack(estimator.kernels).fit(rows.views)).for_machine(machine, y), machine
