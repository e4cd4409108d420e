"""Response surfaces: a low-order polynomial fitted to measured responses, its design and its minimum in a box.

Thesis section 2.7.1, after Myers and Montgomery, "Response Surface Methodology" (2002). All coordinates are decimal
logarithms of the factors.

====================  ==========================================================
thesis                here
====================  ==========================================================
beta_0                `ResponseSurface.intercept`
beta_m                `ResponseSurface.linear`
beta_mh               `ResponseSurface.quadratic`, symmetric: beta_mh / 2 off the diagonal
LD, columns           points, rows: `koshal_design`
Delta                 delta
====================  ==========================================================
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

# All 3^k faces of the box are tried up to this many factors; beyond it, descents from many starts.
_MOST_FACTORS_BY_FACES = 7
_STARTS = 128
# Singular values below this share of the largest count as zero: directions that the points do not determine.
_RANK_TOLERANCE = 1e-8
# Coefficients and differences below this share of the largest response are rounding.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class ResponseSurface:
    """A quadratic ``r(x) = intercept + linear @ x + x @ quadratic @ x`` over a box, thesis (Gönen 2010), 2.7.1.

    Attributes
    ----------
    intercept : float
    linear : ndarray of shape (n_factors,)
    quadratic : ndarray of shape (n_factors, n_factors)
        Symmetric; zero for a first-order surface.
    low, high : ndarray of shape (n_factors,)
        The box in which the surface is trusted.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection import ResponseSurface
    >>> low, high = np.array([-1.0]), np.array([1.0])
    >>> bowl = ResponseSurface(1.0, np.array([-1.0]), quadratic=np.array([[1.0]]), low=low, high=high)
    >>> bowl.minimum(), bowl.predict([[0.5]])
    (array([0.5]), array([0.75]))
    """

    intercept: float
    linear: np.ndarray
    _: KW_ONLY
    quadratic: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def predict(self, points: Any) -> np.ndarray:
        """The response at points, of shape (n_points,).

        Parameters
        ----------
        points : array of shape (n_points, n_factors)
            Decimal logarithms of the factors.
        """
        points = np.asarray(points, dtype=float)
        return self.intercept + points @ self.linear + np.einsum("ij,jk,ik->i", points, self.quadratic, points)

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """The gradient at a point."""
        return self.linear + 2.0 * self.quadratic @ point

    def minimum(self, anchor: np.ndarray | None = None) -> np.ndarray:
        """The lowest point in the box, for any curvature.

        Up to 7 factors this is exact: the minimum lies inside the box or inside one of its faces, where the surface
        restricted to the face is stationary, so every face is tried. With more factors it is the best end of
        projected quasi-Newton descents from fixed starts.

        Parameters
        ----------
        anchor : ndarray of shape (n_factors,), optional
            Returned where no point is lower, such as on a flat surface; the middle of the box by default.
        """
        anchor = 0.5 * (self.low + self.high) if anchor is None else np.asarray(anchor, dtype=float)
        by_faces = len(self.linear) <= _MOST_FACTORS_BY_FACES
        candidates = np.array([anchor, *(self._face_points() if by_faces else self._descents(anchor))])
        values = self.predict(candidates)
        lowest = int(np.argmin(values))
        return candidates[lowest if values[lowest] < values[0] - _ROUNDING * np.abs(values).max() else 0]

    def _face_points(self) -> list[np.ndarray]:
        """The stationary point inside each face of the box that has one; corners are faces too."""
        points = []
        for chosen in product((0, -1, 1), repeat=len(self.linear)):
            sides = np.array(chosen)
            free, fixed = sides == 0, sides != 0
            point = np.where(sides < 0, self.low, self.high)
            slope = self.linear[free] + 2.0 * self.quadratic[np.ix_(free, fixed)] @ point[fixed]
            curvature = 2.0 * self.quadratic[np.ix_(free, free)]
            if free.any():
                if np.linalg.matrix_rank(curvature) < free.sum():
                    continue  # flat along the face: as low on its rim, which is another face
                point[free] = np.linalg.solve(curvature, -slope)
            if (point >= self.low).all() and (point <= self.high).all():
                points.append(point)
        return points

    def _descents(self, anchor: np.ndarray) -> list[np.ndarray]:
        cube = qmc.Halton(len(self.linear), scramble=False).random(_STARTS)
        starts = [anchor, self.low, self.high, *(self.low + cube * (self.high - self.low))]
        bounds = list(zip(self.low, self.high, strict=True))
        return [
            minimize(lambda x: self.predict(x[None])[0], start, jac=self.gradient, method="L-BFGS-B", bounds=bounds).x
            for start in starts
        ]


def koshal_design(centre: Any, delta: float, *, low: Any, high: Any, order: int = 2) -> np.ndarray:
    """The Koshal design around a centre: as many points as the surface has coefficients (Gönen 2010, 2.7.1).

    Order 2: the centre, a step up and one down along each axis, and a step up along both axes of each pair. Order 1:
    the centre and a step up along each axis. Where the box leaves no room for a step, two steps go the other way.

    Parameters
    ----------
    centre : array of shape (n_factors,)
    delta : float
        Length of a step.
    low, high : array of shape (n_factors,)
        The box.
    order : {1, 2}

    Returns
    -------
    ndarray of shape (n_points, n_factors)

    Examples
    --------
    >>> from kernelweave.model_selection import koshal_design
    >>> koshal_design([0.0, 0.0], 0.3, low=[-1.0, -1.0], high=[1.0, 1.0]).T
    array([[ 0. ,  0.3, -0.3,  0. ,  0. ,  0.3],
           [ 0. ,  0. ,  0. ,  0.3, -0.3,  0.3]])
    """
    centre, low, high = (np.asarray(value, dtype=float) for value in (centre, low, high))
    up, down = centre + delta, centre - delta
    up, down = np.where(up > high, centre - 2 * delta, up), np.where(down < low, centre + 2 * delta, down)
    up, down = np.clip(up, low, high), np.clip(down, low, high)
    axes = np.eye(len(centre), dtype=bool)
    points = [centre]
    for axis in axes:
        points.append(np.where(axis, up, centre))
        if order == 2:
            points.append(np.where(axis, down, centre))
    if order == 2:
        points += [np.where(first | second, up, centre) for first, second in combinations(axes, 2)]
    return np.array(points)


def fit_surface(
    points: Any, responses: Any, *, low: Any, high: Any, order: int = 2, centre: Any = None, delta: float = 1.0
) -> ResponseSurface:
    """Fit a surface to measured responses by least squares.

    Where the points do not determine all coefficients, those of the smallest norm in steps of `delta` from `centre`
    are taken: directions that the points do not determine are flat.

    Parameters
    ----------
    points : array of shape (n_points, n_factors)
        Decimal logarithms of the factors.
    responses : array of shape (n_points,)
        NaN where the measurement failed; such points do not count, but one must be left.
    low, high : array of shape (n_factors,)
        The box of the surface.
    order : {1, 2}
    centre : array of shape (n_factors,), optional
        Where steps are counted from; the middle of the box by default.
    delta : float
        Length of a step.

    Examples
    --------
    >>> from kernelweave.model_selection import fit_surface
    >>> surface = fit_surface([[-1.0], [0.0], [1.0]], [4.0, 1.0, 0.0], low=[-2.0], high=[2.0])
    >>> surface.linear, surface.quadratic
    (array([-2.]), array([[1.]]))
    """
    points, low, high = (np.asarray(value, dtype=float) for value in (points, low, high))
    responses = np.asarray(responses, dtype=float)
    centre = 0.5 * (low + high) if centre is None else np.asarray(centre, dtype=float)
    n_factors = points.shape[1]
    measured = np.isfinite(responses)
    steps = (points[measured] - centre) / delta
    pairs = [(i, j) for i in range(n_factors) for j in range(i, n_factors)] if order == 2 else []
    terms = np.column_stack([np.ones(len(steps)), steps, *(steps[:, i] * steps[:, j] for i, j in pairs)])
    base = responses[measured].mean()
    coefficients = np.linalg.lstsq(terms, responses[measured] - base, rcond=_RANK_TOLERANCE)[0]
    coefficients[np.abs(coefficients) < _ROUNDING * np.abs(responses[measured]).max()] = 0.0
    quadratic = np.zeros((n_factors, n_factors))
    for (i, j), coefficient in zip(pairs, coefficients[1 + n_factors :], strict=True):
        quadratic[i, j] += 0.5 * coefficient / delta**2
        quadratic[j, i] += 0.5 * coefficient / delta**2
    slope = coefficients[1 : 1 + n_factors] / delta
    # From steps around the centre to the logarithms themselves.
    linear = slope - 2.0 * quadratic @ centre
    intercept = base + coefficients[0] - slope @ centre + centre @ quadratic @ centre
    return ResponseSurface(float(intercept), linear, quadratic=quadratic, low=low, high=high)
