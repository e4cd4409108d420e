"""The properties that every machine has, as one function: for the machines of the package and for those of users.

``check_machine(machine)`` solves the machine on a Gaussian kernel and asserts what the docstring of
``kernelweave.machines.base`` promises: the certificate, weak and strong duality between `loss` and `conjugate`, slopes,
terms, Danskin's gradient, the program behind the dual, restarts, subsets, independent outputs, and decisions without
samples.
"""

from dataclasses import replace

import numpy as np
import pytest

GAP = 1e-9


def gaussian_kernel(n, seed=0):
    """A positive definite matrix of n samples."""
    X = np.random.default_rng(seed).standard_normal((n, 4))
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 4) + 0.1 * np.eye(n)


def check_machine(machine, K=None):
    """Assert every property of a machine on a Gram matrix K of its samples."""
    K = gaussian_kernel(machine.n_samples) if K is None else K
    solution = machine.solve(K, gap_tol=GAP)
    check_certificate(machine, K, solution)
    check_loss(machine, solution)
    check_terms(machine)
    check_gradient(machine, K, solution)
    check_programs(machine, solution)
    check_starts(machine, K, solution)
    check_subset(machine, K)
    check_outputs(machine, K, solution)
    check_decision(machine, K @ solution.coef + solution.intercept)


def bends(K, coef):
    """1/2 sum_r c_r' K c_r."""
    return 0.5 * float((coef * (K @ coef)).sum())


def check_certificate(machine, K, solution):
    """The dual value is J, the primal value is J plus the gap, and columns have their total."""
    n, q = machine.n_samples, machine.n_outputs
    assert solution.coef.shape == (n, q) and solution.intercept.shape == (q,)
    size = max(1.0, abs(solution.objective))
    assert solution.converged and 0.0 <= solution.gap <= GAP * size * q
    if machine.is_separable:
        dual = -machine.conjugate(solution.coef) - bends(K, solution.coef)
    else:  # Fenchel and Young at c = -slope, where the conjugate is known
        f = K @ solution.coef
        c = -machine.slope(f)
        dual = float((c * f).sum()) + machine.loss(f) - bends(K, c)
    assert solution.objective == pytest.approx(dual, rel=1e-9, abs=1e-10)
    np.testing.assert_allclose(
        solution.coef.sum(axis=0), machine.total, atol=1e-9 * max(1.0, np.abs(solution.coef).sum())
    )
    values = K @ solution.coef + solution.intercept
    primal = bends(K, solution.coef) + machine.loss(values) + machine.total * solution.intercept.sum()
    # The reported gap may belong to a better bias than the one returned; both are of the size of the tolerance.
    assert -1e-10 * size <= primal - dual <= solution.gap + 1e-7 * size
    other = K @ (0.9 * solution.coef) + solution.intercept + 0.1  # weak duality at another primal point
    bound = 0.81 * bends(K, solution.coef) + machine.loss(other) + machine.total * (solution.intercept + 0.1).sum()
    assert bound >= solution.objective


def check_loss(machine, solution):
    """The slope is the derivative of the loss, and loss and conjugate obey Fenchel and Young."""
    rng = np.random.default_rng(0)
    shape = (machine.n_samples, machine.n_outputs)
    for scale in (0.5, 3.0):
        values, direction = scale * rng.standard_normal(shape), rng.standard_normal(shape)
        loss, slope = machine.loss(values), machine.slope(values)
        assert isinstance(loss, float) and (loss >= 0.0 or not machine.is_separable) and slope.shape == shape
        h = 1e-7
        change = (machine.loss(values + h * direction) - machine.loss(values - h * direction)) / (2 * h)
        assert change == pytest.approx(float((slope * direction).sum()), rel=1e-4, abs=1e-4)
        ahead = machine.loss(values + direction)
        assert ahead >= loss + (slope * direction).sum() - 1e-9 * max(1.0, ahead)  # convex
        if not machine.is_separable:
            continue
        size = max(1.0, loss)
        assert loss + machine.conjugate(-slope) == pytest.approx(
            float((slope * values).sum()), rel=1e-9, abs=1e-9 * size
        )
        assert loss + machine.conjugate(solution.coef) >= -(solution.coef * values).sum() - 1e-9 * size


def check_terms(machine):
    """The terms state the loss of each sample and output: those of some samples, and of one output, are a part."""
    terms = machine.terms
    assert machine.is_smooth == (terms is not None and terms.is_smooth) or not machine.is_separable
    if terms is None:
        return
    assert terms.n_outputs == machine.n_outputs and terms.total == machine.total
    values = np.random.default_rng(4).standard_normal((machine.n_samples, machine.n_outputs))
    losses, c = terms.respond(values)
    assert losses.shape == (machine.n_outputs,) and losses.sum() == pytest.approx(machine.loss(values), rel=1e-9)
    np.testing.assert_allclose(c, -machine.slope(values))
    rows, out = np.array([5, 1]), np.arange(machine.n_samples) < 9
    np.testing.assert_array_equal(terms.of(rows).coefficients(values[rows]), c[rows])
    np.testing.assert_array_equal(terms.column(0).coefficients(values[:, :1]), c[:, :1])
    joined = terms.of(slice(0, 9)).followed_by([terms.of(slice(9, None))])
    np.testing.assert_array_equal(joined.coefficients(values), c)
    np.testing.assert_array_equal(terms.without(out).coefficients(values), np.where(out[:, None], 0.0, c))
    if machine.is_smooth:
        h = 1e-7
        bend = (terms.coefficients(values - h) - terms.coefficients(values + h)) / (2 * h)
        np.testing.assert_allclose(terms.curvature(values), bend, rtol=1e-5, atol=1e-5)


def check_gradient(machine, K, solution):
    """Danskin: dJ along dK, through the machine solved anew, is -1/2 sum_r c_r' dK c_r."""
    D = np.random.default_rng(1).standard_normal(K.shape) / len(K)
    D = D + D.T
    h = 1e-4
    exact, ahead, behind = (machine.solve(K + t * D, start=solution, gap_tol=1e-10) for t in (0.0, h, -h))
    assert exact.converged and ahead.converged and behind.converged
    expected = -bends(D, exact.coef)
    assert (ahead.objective - behind.objective) / (2 * h) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def check_programs(machine, solution):
    """The written out program has the machine's coefficients, and the linear and quadratic terms of its dual."""
    terms, coef = 0.0, np.zeros_like(solution.coef)
    if not machine.is_separable:
        with pytest.raises(ValueError, match="cone program"):
            machine.programs()
        return
    for program in machine.programs():
        z = program.variables(solution.coef)
        terms += program.linear @ z - 0.5 * program.quadratic @ z**2
        for column, sign in ((program.plus, 1.0), (program.minus, -1.0)):
            has = column >= 0
            np.add.at(coef, (program.sample[has], column[has]), sign * z[has])
        assert program.total == machine.total
    np.testing.assert_allclose(coef, solution.coef, atol=1e-9 * max(1.0, np.abs(coef).max()))
    assert terms == pytest.approx(-machine.conjugate(solution.coef), rel=1e-9, abs=1e-10)


def check_starts(machine, K, solution):
    """A start at the solution needs no steps, whether it is passed or part of the machine."""
    again = machine.solve(K, start=solution, tol=1e-5)
    default = machine.starting_at(solution.coef)
    assert machine.start is None and type(default) is type(machine)
    for found in (again, default.solve(K, tol=1e-5)):
        assert found.steps == 0 and found.objective == pytest.approx(solution.objective, rel=1e-8, abs=1e-10)
    assert machine.starting_at(np.zeros((1, 1))) is machine  # of another shape
    rough = machine.solve(K, tol=0.1)
    fine = machine.refine(K, rough, 1e-6)
    assert min(fine.violation, fine.gap / abs(fine.objective)) <= 1e-6
    assert fine.objective == pytest.approx(solution.objective, rel=1e-4, abs=1e-6)
    early = [replace(part, converged=False) for part in solution.outputs]
    found = machine.refine(K, replace(solution, converged=False, outputs=tuple(early)), 1e-5)
    assert found.converged and found.steps == 0  # whatever was wanted of the solve that found it


def check_subset(machine, K):
    """Positions and masks choose the same machine, which is solved on their part of K."""
    mask = np.arange(machine.n_samples) % 5 > 0
    rows = np.flatnonzero(mask)
    by_mask, by_position = machine.subset(mask), machine.subset(rows)
    assert by_mask.n_samples == len(rows) == len(by_mask.bound) and type(by_mask) is type(machine)
    assert (by_mask.strata is None) == (machine.strata is None)
    first, second = (part.solve(K[np.ix_(rows, rows)], gap_tol=GAP) for part in (by_mask, by_position))
    np.testing.assert_array_equal(first.coef, second.coef)


def check_outputs(machine, K, solution):
    """Independent outputs, solved alone, have the columns of the solution, and their optima add up to J."""
    try:
        outputs = machine.outputs()
    except ValueError as error:  # solved together
        assert "solved together" in str(error)
        return
    total = 0.0
    for column, (rows, part) in enumerate(outputs):
        alone = part.solve(K[np.ix_(rows, rows)], gap_tol=GAP)
        total += alone.objective
        np.testing.assert_allclose(alone.coef[:, 0], solution.coef[rows, column], atol=1e-3)
    assert total == pytest.approx(solution.objective, rel=1e-7)


def check_decision(machine, values):
    """Decisions need no samples, and losses judge each sample."""
    decision = machine.decision(values)
    rule = machine.without_samples()
    np.testing.assert_array_equal(rule.decision(values[:3]), decision[:3])
    assert decision.shape[0] == machine.n_samples and rule.n_outputs == machine.n_outputs
    assert not any(np.size(value) >= machine.n_samples for value in vars(rule).values())
    for rows, signs in machine.two_class_problems():
        assert len(rows) == len(signs) and set(signs) <= {-1.0, 1.0}
    assert bool(machine.two_class_problems()) == (machine.strata is not None)
    losses = machine.losses(values)
    assert losses.shape == (machine.n_samples,) and (losses >= 0.0).all() and machine.risk(values) >= 0.0
    if machine.strata is not None:
        assert losses.mean() < 0.5
