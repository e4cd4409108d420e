"""`l2="auto"`: how strongly to hold gates to the mean kernel, chosen on held-out samples.

Gates have many parameters, and J, which they minimise, falls even where they overfit. So the penalty is taken from a
path, in units of J0 (the optimum of the same machine under the mean kernel):

    inf (the mean kernel itself), 0.3, 0.1, 0.03, 0.01, 0.003

Along it gates are learned from a part of the samples, each from the last with a little noise (V = 0 is stationary for
copies of one kernel), and judged by the loss on the others, `held_out_parts`: 0-1 for classes, squared for numbers,
weighted as the samples are. The strongest penalty wins whose loss is within one standard error, of paired differences,
of the smallest. The hinge loss would be smoother, but prefers penalties that are too weak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ...machines import Machine
from ...machines.independent import in_threads
from ..descent.family import Learner
from ..descent.held_out import held_out_parts
from ..gates.base import SMALL

if TYPE_CHECKING:
    from .family import GatedFamily

TIE = 1e-12
PATH = (np.inf, 0.3, 0.1, 0.03, 0.01, 0.003)


class ChosenL2(NamedTuple):
    """The penalty that was chosen.

    Attributes
    ----------
    l2 : float
    starts : list of ndarray
        Parameters learned with it, one for each part of the samples.
    path : DataFrame
        For each l2 its mean loss on held-out samples, how much more that is than the least, and the standard error of
        the difference.
    """

    l2: float
    starts: list[np.ndarray]
    path: pd.DataFrame


def choose_l2(
    family: GatedFamily, machine: Machine, theta: np.ndarray, rng: np.random.RandomState, learner: Learner
) -> ChosenL2:
    """Follow the path from theta on parts of the samples, and choose.

    Parameters
    ----------
    family : GatedFamily
    machine : Machine
    theta : ndarray
        Where the descent at the strongest finite penalty begins.
    rng : RandomState
    learner : callable
        See `KernelFamily.starts`.
    """
    splits = held_out_parts(machine, rng)
    noise = SMALL * rng.normal(size=(len(splits), len(PATH), len(theta)))
    found = in_threads(
        lambda k: follow(family, machine, theta, splits[k], noise[k], learner),
        range(len(splits)),
        family.options.n_jobs,
    )
    if not found:  # no class has a second sample
        return ChosenL2(np.inf, [], pd.DataFrame(columns=["risk", "difference", "error"], dtype=float))
    losses = np.vstack([losses for _, losses in found])
    chosen, path = one_standard_error(losses, machine.bound[np.concatenate(splits)])
    return ChosenL2(PATH[chosen], [thetas[chosen] for thetas, _ in found], path)


def follow(
    family: GatedFamily,
    machine: Machine,
    theta: np.ndarray,
    held_out: np.ndarray,
    noise: np.ndarray,
    learner: Learner,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Parameters along the path, learned without some samples, and the losses of those: (n_held_out, n_path)."""
    training = np.setdiff1d(np.arange(machine.n_samples), held_out)
    part, its_machine, judge = family.subset(training), machine.subset(training), machine.subset(held_out)
    scale = part.mean_optimum(its_machine)
    run, thetas, losses = learner(part, its_machine), [], []
    for k, l2 in enumerate(PATH):
        part.strength = l2 * scale
        begin = np.zeros_like(theta) if np.isinf(l2) else theta + noise[k]
        end = run.descend(begin)
        theta = theta if np.isinf(l2) else end.solution
        thetas.append(end.solution)
        losses.append(judge.losses(family.held_out_values(end.solution, end.detail, training, held_out)))
    return thetas, np.column_stack(losses)


def one_standard_error(losses: np.ndarray, weight: np.ndarray) -> tuple[int, pd.DataFrame]:
    """The strongest penalty that is within one standard error of the best, and the table of all.

    Parameters
    ----------
    losses : ndarray of shape (n_samples, n_path)
    weight : ndarray of shape (n_samples,)
        How much each sample counts.
    """
    share = weight / weight.sum()
    risk = share @ losses
    best = np.argmax(risk <= risk.min() + TIE)  # the strongest of equals
    paired = losses - losses[:, [best]]
    difference = share @ paired
    n_samples = len(losses)
    error = np.sqrt(share**2 @ (paired - difference) ** 2 * n_samples / max(1, n_samples - 1))
    path = pd.DataFrame({"risk": risk, "difference": difference, "error": error}, index=pd.Index(PATH, name="l2"))
    return int(np.argmax(difference <= error)), path
