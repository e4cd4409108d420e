"""The spaces in which a model with learned projections can be drawn, with the model's values on a grid of their points.

==============================  =================================================================
SLDR                            here
==============================  =================================================================
projected gating space T' x^G   `gating_space`, with gates on the grid
projection space of region m    `region_spaces`, with f(z) = sum_i c_i eta_m(x_i) k_m(z_i, z) + b
thesis Figures 4.3(b), 5.14     `joint_space`, eta_m(x) W_m' x of two regions, with f
==============================  =================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.ndimage import distance_transform_edt

from ..estimators.local_methods import decision_at, gates_at, is_linear_in_projections

_MARGIN = 0.08  # of the range of the samples, on both sides


@dataclass(frozen=True)
class DrawnSpace:
    """Samples along a line or in a plane, and values of the model there.

    Attributes
    ----------
    title : str
        What the space is; for that of a region, the name of its kernel.
    rows : ndarray of int, shape (n_rows,)
        Which of the given samples lie here.
    points : ndarray of shape (n_rows, 1) or (n_rows, 2)
        Where they lie.
    names : tuple of str
        Names of the one or two axes.
    grid : tuple of ndarray
        Coordinates of the grid along each axis; empty where no values are known.
    values : ndarray or None
        Gates or decision values on the grid, of shape (len(grid[1]), len(grid[0]), ...) or (len(grid[0]), ...).
    """

    title: str
    rows: np.ndarray
    points: np.ndarray
    names: tuple[str, ...]
    grid: tuple[np.ndarray, ...] = ()
    values: Any = None


def gating_space(model: Any, X: Any, resolution: int) -> DrawnSpace | None:
    """The projected gating space with the gates in it; None where the model's gates read whole inputs."""
    if not hasattr(model, "gating_space"):
        return None
    codes = model.gating_space(X).to_numpy()
    return _space(
        "gating space", np.arange(len(codes)), codes, "gating component", partial(gates_at, model), resolution
    )


def region_spaces(model: Any, X: Any, gates: pd.DataFrame, resolution: int) -> list[DrawnSpace]:
    """The projection space of every kernel that has the largest gate of some sample, with those samples.

    Without a gating model all samples lie in the space of every kernel. Only a kernel whose gate is 1 has decision
    values that depend on its space alone, so there are none where several kernels share every sample evenly.
    """
    projected = model.project(X, by_kernel=True)
    values, names = gates.to_numpy(), list(gates.columns)
    shared = model.combiner_.gating is None
    spaces = []
    for name, points in projected.items():
        m = names.index(name)
        chosen = (values[:, m] > 0.0) & (shared | (values.argmax(axis=1) == m))
        rows = np.flatnonzero(chosen)
        if len(rows):
            decide = None if shared and len(names) > 1 else _decision(model, name)
            spaces.append(_space(name, rows, points.to_numpy()[rows], "component", decide, resolution))
    return spaces


def joint_space(model: Any, X: Any, components: Sequence[str] | None, resolution: int) -> DrawnSpace:
    """Two gated components against each other; decision values where linear kernels depend on nothing else."""
    gated = model.project(X)
    by_kernel = {name: list(model.projections_[name].columns) for name in model.active_kernels_}
    columns = [column for names in by_kernel.values() for column in names]
    chosen = columns if components is None else list(components)
    if len(chosen) != 2 or not set(chosen) <= set(columns):
        raise ValueError(f"components must be two of {columns} for kind='joint', not {components!r}")
    points = gated[chosen].to_numpy()

    def decide(grid: np.ndarray) -> np.ndarray:
        places = {name: grid[:, [chosen.index(column) for column in names]] for name, names in by_kernel.items()}
        return decision_at(model, places)

    shows_all = len(columns) == 2 and is_linear_in_projections(model)
    space = _space("", np.arange(len(points)), points, "", decide if shows_all else None, resolution)
    of = {column: name if len(names) == 1 else column for name, names in by_kernel.items() for column in names}
    names = tuple(f"gated projection of {of[column]}" for column in chosen)
    return DrawnSpace("gated projections", space.rows, space.points, names, space.grid, space.values)


def crossings(grid: np.ndarray, values: np.ndarray, level: float = 0.0) -> np.ndarray:
    """Where the broken line through values on a grid meets a level; several values: where the largest one changes."""
    if values.ndim == 2:
        largest = values.argmax(axis=1)
        at = np.flatnonzero(np.diff(largest))
        left = values[at, largest[at]] - values[at, largest[at + 1]]
        right = values[at + 1, largest[at]] - values[at + 1, largest[at + 1]]
    else:
        above = values > level
        at = np.flatnonzero(above[1:] != above[:-1])
        left, right = values[at] - level, values[at + 1] - level
    step = left - right
    share = np.divide(left, step, out=np.zeros(len(at)), where=step != 0.0)
    return grid[at] + share * (grid[at + 1] - grid[at])


def label_places(space: DrawnSpace, positions: np.ndarray, strongest: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Where the name of each region fits: far from its border and from samples, and more so sideways."""
    if space.values is None:
        for m in np.unique(strongest):
            yield m, np.median(positions[strongest == m], axis=0)
        return
    regions = space.values.argmax(axis=-1)
    if len(space.grid) == 1:
        top = positions[:, 1].max() + 0.3
        for part in np.split(np.arange(len(regions)), np.flatnonzero(np.diff(regions)) + 1):
            yield regions[part[0]], np.array([space.grid[0][part].mean(), top])
        return
    taken = np.zeros(regions.shape, dtype=bool)
    cells = [np.searchsorted(axis, positions[:, k]) for k, axis in enumerate(space.grid)]
    taken[cells[1], cells[0]] = True
    for m in np.unique(regions):
        free = np.pad((regions == m) & ~taken, 1)
        room = distance_transform_edt(free, sampling=(3.0, 1.0))[1:-1, 1:-1]
        row, column = np.unravel_index(room.argmax(), room.shape)
        yield m, np.array([space.grid[0][column], space.grid[1][row]])


def _decision(model: Any, name: str) -> Callable[[np.ndarray], np.ndarray]:
    return lambda points: decision_at(model, {name: points})


def _space(
    title: str, rows: np.ndarray, points: np.ndarray, axis: str, evaluate: Callable | None, resolution: int
) -> DrawnSpace:
    """A space of these points, with values of a function on a grid; more than two dimensions lose the latter."""
    n_components = points.shape[1]
    if n_components > 2:
        names = tuple(f"principal axis {k + 1} of {n_components} {axis}s" for k in range(2))
        return DrawnSpace(title, rows, _principal(points), names)
    names = tuple(f"{axis} {k + 1}" for k in range(n_components))
    if evaluate is None:
        return DrawnSpace(title, rows, points, names)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = _MARGIN * np.where(high > low, high - low, 1.0)
    count = resolution if n_components == 2 else 10 * resolution
    grid = tuple(np.linspace(a, b, count) for a, b in zip(low - margin, high + margin, strict=True))
    places = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, n_components)
    values = evaluate(places)
    shape = (count,) if n_components == 1 else (count, count)
    return DrawnSpace(title, rows, points, names, grid, values.reshape(*shape, *values.shape[1:]))


def _principal(points: np.ndarray) -> np.ndarray:
    centered = points - points.mean(axis=0)
    return centered @ np.linalg.eigh(centered.T @ centered)[1][:, :-3:-1]
