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
from ...stacks.descent import Start
from ...stacks.held_out import BlockPart, ExactPart, LossSums
from ..descent.family import Learner
from ..gates.base import SMALL

if TYPE_CHECKING:
    from .family import GatedFamily

PATH = (np.inf, 0.3, 0.1, 0.03, 0.01, 0.003)


class ChosenL2(NamedTuple):
    """The penalty that was chosen.

    Attributes
    ----------
    l2 : float
    starts : list of Start
        What was learned with this penalty from each part of the samples.
    path : DataFrame
        For each penalty (index) the held-out ``risk``, its ``difference`` from the smallest and the standard ``error``
        of that.
    """

    l2: float
    starts: list[Start]
    path: pd.DataFrame


def choose_l2(
    family: GatedFamily, machine: Machine, theta: np.ndarray, rng: np.random.RandomState, learner: Learner
) -> ChosenL2:
    """Follow the path from theta on parts of the samples, and choose.

    Parameters
    ----------
    family : GatedFamily
        Over all samples.
    machine : Machine
    theta : ndarray
        Where the descent at the strongest finite penalty begins.
    rng : RandomState
    learner : callable
        ``learner(family, machine)`` minimises over some of the samples, see `DescentRun`.
    """
    parts = family.stack.parts(machine, rng)
    noise = SMALL * rng.normal(size=(len(parts), len(PATH), len(theta)))
    found = in_threads(
        lambda k: follow(family, theta, parts[k], noise[k], learner), range(len(parts)), family.options.n_jobs
    )
    sums: LossSums | None = None
    for _, losses in found:
        sums = losses if sums is None else sums + losses
    if sums is None or sums.count == 0:  # no class has a second sample
        return ChosenL2(np.inf, [], pd.DataFrame(columns=["risk", "difference", "error"], dtype=float))
    chosen, risk, difference, error = sums.strongest()
    table = {"risk": risk, "difference": difference, "error": error}
    return ChosenL2(
        PATH[chosen], [starts[chosen] for starts, _ in found], pd.DataFrame(table, pd.Index(PATH, name="l2"))
    )


def follow(
    family: GatedFamily, theta: np.ndarray, part: ExactPart | BlockPart, noise: np.ndarray, learner: Learner
) -> tuple[list[Start], LossSums]:
    """What is learned along the path without the samples that a part holds out, and the losses of those."""
    own, machine = family.over(part.stack), part.machine
    scale = own.mean_optimum(machine)
    run, learned = learner(own, machine), list[Start]()
    for k, l2 in enumerate(PATH):
        own.strength = l2 * scale
        end = run.descend(Start(np.zeros_like(theta) if np.isinf(l2) else theta + noise[k]))
        theta = theta if np.isinf(l2) else end.solution
        learned.append(Start(end.solution, end.detail))
    run.counted(part.passes)
    return learned, part.losses(family, [(start.theta, start.solution) for start in learned])
