"""The margins of `EasyMKL` on explicit features.

The hard-margin machine on (1 - lam) K + lam I is, up to the scale of its coefficients, the squared-hinge machine on K
at C = (1 - lam) / lam, the same for every sample. Blocks keep their features and get its losses; a kernel's weight is
its share in ||F'c||^2. At lam = 1 coefficients are those of the class means: 1/n of each class.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...engines.block import Block
from ...engines.losses import losses_of
from ...engines.moments import pulled_by
from ...engines.training.machine import certified_descent
from ...engines.training.primal import Primal
from ...machines import SquaredHinge
from ..base import FitControl
from ..explicit.amplitudes import WeightAmplitudes


def explicit_margins(stack: Any, machine: Any, lam: float, control: FitControl) -> tuple[np.ndarray, int]:
    """The weights, averaged over the machine's binary problems, and the number of these.

    Parameters
    ----------
    stack : ExplicitStack
    machine : ExplicitMachine
        Of classes.
    lam : float
    control : FitControl
    """
    q, P = machine.n_outputs, stack.n_kernels
    if lam == 1.0:
        counts = stack.engine.sum(_counts, q)
        vectors = pulled_by(stack.engine, stack.n_features, _class_means, counts)
    else:
        # every sample counts alike, and rows of samples that lack views are not scaled, as in the exact path
        amplitudes = WeightAmplitudes(np.full(P, 1.0 / P), np.zeros(P))
        blocks = stack.engine.replace(_margins, q, (1.0 - lam) / lam)
        primal = Primal(blocks, amplitudes, stack.n_features, q)
        start = np.zeros((stack.n_features + 1) * q)
        solution, _ = certified_descent(primal, start, control.tol, control.max_steps)
        if not solution.converged:
            warn(
                f"EasyMKL's margin problem stopped after {solution.steps} passes; raise max_iter or lam",
                ConvergenceWarning,
            )
        vectors = solution.image
    forms = np.stack([stack.norms(column[:, None]) for column in vectors.T])
    sizes = forms.sum(axis=1, keepdims=True)
    shares = np.divide(forms, sizes, out=np.full(forms.shape, 1.0 / P), where=sizes > 0.0)
    return shares.mean(axis=0), q


def signs_of(block: Block, n_outputs: int) -> np.ndarray:
    """Labels +1 and -1 of each binary problem: one, or each class against the others; of shape (n_samples, q)."""
    chosen = np.arange(n_outputs) if n_outputs > 1 else np.ones(1, dtype=int)
    return np.where(np.asarray(block.y)[:, None] == chosen, 1.0, -1.0)


def _margins(block: Block, n_outputs: int, C: float) -> Block:
    """The same samples with the squared hinge."""
    labels = np.asarray(block.y)
    bound = np.full(len(labels), C)
    if n_outputs == 1:
        losses = losses_of(SquaredHinge().for_targets(2.0 * labels - 1.0, bound))
    else:
        losses = losses_of(SquaredHinge().one_vs_all(labels, bound, n_classes=n_outputs))
    return dataclasses.replace(block, losses=losses)


def _counts(block: Block, n_outputs: int) -> np.ndarray:
    """Samples on the positive and on the negative side of each problem, of shape (2, n_outputs)."""
    positive = (signs_of(block, n_outputs) > 0.0).sum(axis=0)
    return np.stack([positive, block.n_samples - positive])


def _class_means(block: Block, counts: np.ndarray) -> np.ndarray:
    """The signs, each divided by the samples of its side."""
    signs = signs_of(block, counts.shape[1])
    return np.where(signs > 0.0, 1.0 / counts[0], -1.0 / counts[1])
