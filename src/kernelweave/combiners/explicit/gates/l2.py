"""`l2="auto"` on explicit features: the penalty is chosen on held-out samples, as in `localized.l2_path`.

The path of penalties is followed on at most `ENOUGH` samples, which are copied where there are more.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from ....engines.base import Engine
from ...descent.held_out import MANY, N_FOLDS
from ...gates.base import SMALL
from ...localized.l2_path import PATH, TIE
from .amplitudes import GateAmplitudes
from .descent import GatedProblem, Position, Watch
from .held_out import Judge, LossSums, Split, count_classes, divided

ENOUGH = 40_000  # samples on which a penalty is chosen


@dataclass(frozen=True)
class ChosenPenalty:
    """The penalty, positions learned with it (one for each part of the samples), and how it was chosen."""

    l2: float
    starts: list[Position]
    path: pd.DataFrame


def splits(engine: Engine, n_classes: int, seed: int, edges: np.ndarray, share: float) -> list[Split]:
    """Parts of the samples to hold out, between edges of the range of keys; every class keeps a training sample."""
    found = [Split(seed, share, low, high) for low, high in pairwise(edges)]
    if n_classes < 2:
        return found
    whole = np.array([0.0, *edges, 1.0])  # samples before, between and after the edges
    counts: np.ndarray = engine.sum(count_classes, found[0], whole, n_classes)
    total = counts.sum(axis=1)
    exempt = [counts[:, 1 + k] >= total for k in range(len(found))]
    return [
        Split(seed, share, split.low, split.high, own)
        for k, (split, own) in enumerate(zip(found, exempt, strict=True))
        if counts[~own, 1 + k].any()
    ]


def choose_l2(
    problem: GatedProblem, engine: Engine, theta: np.ndarray, n_classes: int, rng: np.random.RandomState
) -> ChosenPenalty:
    """Follow the path from theta on parts of the samples, and choose the strongest penalty that is as good as the best.

    Parameters
    ----------
    problem : GatedProblem
    engine : Engine
        Over all samples.
    theta : ndarray
        Where the descent at the strongest finite penalty begins.
    n_classes : int
        0 where there are none.
    rng : RandomState
    """
    n = problem.machine.n_samples
    n_parts = 1 if n >= MANY else N_FOLDS
    edges = np.linspace(0.0, 1.0, N_FOLDS + 1)[: n_parts + 1]
    parts = splits(engine, n_classes, int(rng.randint(2**31)), edges, min(1.0, ENOUGH / n))
    noise = SMALL * rng.normal(size=(len(parts), len(PATH), len(theta)))
    followed = [follow(problem, engine.replace(divided, part), theta, noise[k]) for k, part in enumerate(parts)]
    sums: LossSums | None = None
    for judged in followed:
        sums = judged[1] if sums is None else sums + judged[1]
    if sums is None or sums.count == 0:
        return ChosenPenalty(np.inf, [], pd.DataFrame(columns=["risk", "difference", "error"], dtype=float))
    risk, errors = sums.compared()
    best = int(np.argmax(risk <= risk.min() + TIE))  # the strongest of equals
    difference, error = risk - risk[best], errors[:, best]
    table = pd.DataFrame({"risk": risk, "difference": difference, "error": error}, index=pd.Index(PATH, name="l2"))
    chosen = int(np.argmax(difference <= error))
    return ChosenPenalty(PATH[chosen], [positions[chosen] for positions, _ in followed], table)


def follow(
    problem: GatedProblem, engine: Engine, theta: np.ndarray, noise: np.ndarray
) -> tuple[list[Position], LossSums]:
    """Positions along the path, learned without the held-out samples, and the losses of those."""
    mean = problem.mean_solution(engine)
    scale = scale_of(mean.objective)
    even = problem.solution_at(engine, np.zeros_like(theta), mean)
    last = Position(even.coef, even.intercept, theta)
    positions = [Position(even.coef, even.intercept, np.zeros_like(theta))]
    for k, l2 in enumerate(PATH[1:], start=1):
        start = Position(last.weights, last.intercept, last.theta + noise[k])
        last = problem.descend(engine, l2 * scale, start).position
        positions.append(last)
    sums: LossSums = engine.sum(judge_of(problem, positions))
    problem.passes += 1
    return positions, sums


def judge_of(problem: GatedProblem, positions: list[Position]) -> Judge:
    """What judges some solutions by held-out samples."""
    return Judge(
        GateAmplitudes(problem.gate, problem.active, problem.n_parameters),
        np.hstack([position.weights for position in positions]),
        np.stack([position.intercept for position in positions]),
        np.stack([position.theta for position in positions]),
        problem.machine.strata is not None,
    )


def watch_of(problem: GatedProblem, engine: Engine) -> Watch:
    """The risk of a position on held-out samples."""

    def risk(weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> float:
        sums: LossSums = engine.sum(judge_of(problem, [Position(weights, intercept, theta)]))
        return float(sums.risks()[0])

    return risk


def scale_of(objective: float) -> float:
    """J0, in which penalties are measured: the size of an optimum, or 1 if that is 0."""
    return abs(objective) if objective != 0.0 else 1.0
