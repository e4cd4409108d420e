"""The properties that every combined kernel and every family has; for those of the package and those of users.

``check_combined_kernel(kernel, views, new)`` asserts what the docstring of ``kernelweave.combiners.combined`` promises,
and ``check_family(family, machine, theta)`` what that of ``kernelweave.combiners.descent`` does. Both take what
is over whole matrices, in tiles or over explicit features.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.kernels import Kernel, LazyStorageError
from kernelweave.machines import Solution
from kernelweave.stacks.descent import Start
from kernelweave.views import Views
from reference_qp import exactly


def check_combined_kernel(kernel, views, new, tolerance=1e-9, *, cross_is_gram=True):
    """Check a combined kernel; an `AssertionError` tells which property fails.

    Parameters
    ----------
    kernel : CombinedKernel
        Over training samples; it is not changed.
    views, new : Views
        The training samples, and others.
    tolerance : float
        What rounding may do to kernel values, relative to the largest.
    cross_is_gram : bool
        Whether training samples that are passed as new ones have the rows of `gram`. They do not where the kernel of
        training samples has more than their features: labels (`KernelDifference`), or a shifted diagonal (`Repair`).
    """
    assert kernel.n_samples == views.n_samples and new.n_samples >= 3
    K = matrix_of(kernel, views)
    close = {"rtol": 0.0, "atol": tolerance * max(1.0, np.abs(K).max())}
    assert K.shape == (kernel.n_samples,) * 2 and np.issubdtype(K.dtype, np.floating) and np.isfinite(K).all()
    assert_allclose(K, K.T, **close, err_msg="gram is not symmetric")
    assert np.linalg.eigvalsh(K).min() > -len(K) * close["atol"], "an eigenvalue is negative"
    if kernel.of_samples:
        (check_whole if isinstance(kernel.operand(), np.ndarray) else check_tiles)(kernel, K, close)
        check_parts(kernel, K, close)
    if cross_is_gram and kernel.of_samples:
        assert_allclose(kernel.cross(views), K, **close, err_msg="cross of the training samples is not gram")
    check_new(kernel, new, close)
    check_weights(kernel, views, new, close)
    check_shares(kernel, new, close)
    check_use(kernel, new)
    check_restricted(kernel, new, close)


def matrix_of(kernel, views):
    """K of the training samples: whole, from rows in tiles, or from explicit features of theirs."""
    if not kernel.of_samples:
        features = kernel.cross(views)
        return features @ features.T
    is_whole = isinstance(kernel.operand(), np.ndarray)
    return kernel.gram() if is_whole else kernel.rows(np.arange(kernel.n_samples))


def check_whole(kernel, K, close):
    """A matrix: a new one each time, or `out`."""
    before, out = K.copy(), np.full(K.shape, np.nan, K.dtype)
    assert kernel.gram(out) is out, "gram must return out"
    assert_allclose(out, before, **close, err_msg="gram(out) has other values")
    out[...] = -1.0
    kernel.gram()[...] = -2.0
    assert_allclose(kernel.gram(), before, **close, err_msg="gram must be a new array each time")


def check_tiles(kernel, K, close):
    """No matrix: blocks and images, at all samples or at some of them."""
    with pytest.raises(LazyStorageError, match='storage="dense"'):
        kernel.gram()
    operand, n = kernel.operand(), len(K)
    assert operand.n_samples == n
    assert_allclose(operand.diagonal, K.diagonal(), **close)
    for index in (np.array([n - 1, 0, n // 2]), np.arange(n), np.empty(0, dtype=int)):
        assert_allclose(operand.block(index), K[np.ix_(index, index)], **close)
    some = np.arange(1, n, 3)
    check_image(operand, K, np.arange(n), n * close["atol"])
    check_image(operand.subset(some), K, some, n * close["atol"])


def check_image(operand, K, samples, atol):
    """Images follow the coefficients."""
    place, coef = operand.place, np.random.RandomState(1).normal(size=len(samples))
    image, half = operand.zero(), len(samples) // 2
    rows, targets = np.arange(len(samples)), np.arange(half)
    operand.add(image, rows[:half], coef[:half])
    operand.add(image, rows[half:], coef[half:], targets=targets)
    value = place.numpy(operand.value(image, place.asarray(coef)))
    assert_allclose(value[targets], (K[np.ix_(samples, samples)] @ coef)[targets], rtol=0.0, atol=atol)
    assert operand.reuses(image) and not operand.reuses(None)
    both, columns = [operand.zero(), operand.copy(image)], np.column_stack([coef, -2.0 * coef])  # by one product
    operand.add_columns(both, rows[half:], columns[half:])
    operand.add_columns(both, rows[:half], columns[:half], targets=targets)
    for own, column in zip(both, (coef, -coef), strict=True):
        value = place.numpy(operand.value(own, place.asarray(column)))
        assert_allclose(value[targets], (K[np.ix_(samples, samples)] @ column)[targets], rtol=0.0, atol=2.0 * atol)


def check_parts(kernel, K, close):
    """Rows, blocks and products are those of the whole matrix."""
    n, rng = kernel.n_samples, np.random.RandomState(0)
    for index in (np.array([n - 1, 0, n // 2]), np.arange(0, n, 4), np.empty(0, dtype=int)):
        assert_allclose(kernel.rows(index), K[index], **close, err_msg="rows is not gram[index]")
        assert_allclose(kernel.block(index), K[np.ix_(index, index)], **close, err_msg="block is not part of gram")
        for coef in (rng.normal(size=len(index)), rng.normal(size=(len(index), 2))):
            product = kernel.product(index, coef)
            assert product.shape == (n, *coef.shape[1:]), "product has another shape"
            assert_allclose(product, K[:, index] @ coef, rtol=0.0, atol=n * close["atol"], err_msg="product")
    kernel.rows(np.array([0, 1]))[...] = -1.0
    kernel.block(np.array([0, 1]))[...] = -1.0
    assert_allclose(kernel.rows(np.arange(n)), K, **close, err_msg="rows and block must be new arrays")


def check_new(kernel, new, close):
    """Each new sample is compared by itself, and values are products of `cross`."""
    K, rng = kernel.cross(new), np.random.RandomState(1)
    assert K.shape == (new.n_samples, n_coefficients(kernel)) and np.isfinite(K).all()
    some = np.array([2, 0])
    assert_allclose(kernel.cross(new.rows(some)), K[some], **close, err_msg="cross depends on the other new samples")
    check_values(kernel, new, K, rng.normal(size=(K.shape[1], 2)), close)


def n_coefficients(kernel):
    """Number of coefficients: those of training samples, or of explicit features."""
    return kernel.n_samples if kernel.of_samples else kernel.stack.n_features


def check_values(kernel, new, K, coef, close):
    """K times coefficients, of which some are 0."""
    coef[::3] = 0.0
    values = kernel.values(new, coef)
    assert values.shape == (new.n_samples, coef.shape[1])
    atol = close["atol"] * max(1.0, np.abs(coef).sum())
    assert_allclose(values, K @ coef, rtol=0.0, atol=atol, err_msg="values is not cross @ coef")
    sizes = np.abs(K) @ np.abs(coef)
    assert_allclose(kernel.sizes(new, coef), sizes, rtol=0.0, atol=atol, err_msg="sizes is not |cross| @ |coef|")


def check_shares(kernel, new, close):
    """What terms add to values: all of it, and nothing where a term has no weight or the sample lacks its view."""
    coef = np.random.RandomState(4).normal(size=(n_coefficients(kernel), 2))
    if not kernel.is_sum:
        with pytest.raises(ValueError, match="no sum over kernels"):
            kernel.shares(new, coef)
        return
    terms, shares = kernel.terms, kernel.shares(new, coef)
    assert len(set(terms)) == len(terms) and shares.shape == (new.n_samples, 2, len(terms))
    atol = close["atol"] * max(1.0, np.abs(coef).sum())
    values = kernel.values(new, coef)
    assert_allclose(shares.sum(axis=2), values, rtol=0.0, atol=atol, err_msg="shares do not add up to values")
    present = kernel.stack.presence(new, kernel.active)
    for term, share in zip(terms, np.moveaxis(shares, 2, 0), strict=True):
        factors = [kernel.names.index(factor.partition("^")[0]) for factor in term.split("*")]
        assert not share[~present[:, factors].all(axis=1)].any(), "a share of a view that a sample lacks"
        assert kernel.active[factors].all() or not share.any(), "a share of a kernel that is not active"
    whole = np.flatnonzero(present[:, kernel.active].all(axis=1))
    for m, base in enumerate(kernel.stack.kernels):
        vectors = kernel.feature_weights(m, coef) if base.is_linear and kernel.active[m] else None
        if vectors is not None and kernel.stack.normalizers[0].method is None:
            added, place = base.read(new.rows(whole))[0] @ vectors, terms.index(kernel.names[m])
            assert_allclose(added, shares[whole, :, place], rtol=0.0, atol=atol, err_msg="feature_weights")
    some = np.array([2, 0])
    assert_allclose(kernel.shares(new.rows(some), coef), shares[some], rtol=0.0, atol=atol, err_msg="shares of some")
    index = np.arange(1, kernel.n_samples, 2)
    coef[::2] = 0.0
    lean, expected = kernel.restrict(index), kernel.shares(new, coef)
    assert lean.is_sum and lean.terms == terms
    found = lean.shares(new, coef[index] if kernel.of_samples else coef)
    assert_allclose(found, expected, rtol=0.0, atol=atol, err_msg="restrict changes shares")


def check_weights(kernel, views, new, close):
    """One weight for each kernel, overall and for each sample, where the two agree."""
    P, weights, of_new = kernel.n_kernels, kernel.weights(), kernel.sample_weights(new)
    assert P == len(kernel.names) == len(set(kernel.names)) and all(isinstance(name, str) for name in kernel.names)
    assert weights.shape == (P,) and np.isfinite(weights).all()
    assert of_new.shape == (new.n_samples, P) and np.isfinite(of_new).all()
    assert not of_new[:, ~kernel.active].any(), "a kernel that is not active has a weight"
    of_training = kernel.training_weights()
    if of_training is None and not kernel.of_samples and hasattr(kernel, "gate"):
        of_training = kernel.sample_weights(views)  # samples in blocks, whose weights depend on the sample
    if of_training is not None:
        assert of_training.shape == (kernel.n_samples, P)
        assert_allclose(kernel.sample_weights(views), of_training, **close, err_msg="training_weights")
        assert_allclose(of_training.mean(axis=0), weights, **close, err_msg="weights is not the mean of samples")
    else:
        lacking = (of_new == 0.0) & (weights != 0.0)  # views that the sample lacks
        whole = ~lacking.any(axis=1)
        assert_allclose(of_new[whole], np.tile(weights, (whole.sum(), 1)), **close, err_msg="sample_weights")


def check_use(kernel, new):
    """What prediction takes, what is shown, and what the fit leaves."""
    P, coef = kernel.n_kernels, np.ones((n_coefficients(kernel), 1))
    assert kernel.active.shape == (P,) and kernel.active.dtype == bool and kernel.active.any()
    assert np.issubdtype(kernel.reads().dtype, np.integer) and kernel.reads().ndim == 1
    check_columns(kernel, new)
    assert all(isinstance(able, bool) for able in (kernel.has_cheap_blocks, kernel.takes_fetch, kernel.is_sum))
    assert kernel.theta.ndim == 1 and kernel.theta.dtype == np.float64 and np.isfinite(kernel.theta).all()
    assert set(kernel.attributes()) <= set(kernel.shows), "attributes that are not in shows"
    assert kernel.values_per_sample(coef) >= 1
    for found in kernel.lookups():
        base, ids = found
        assert isinstance(base, Kernel) and np.ndim(ids) == 1
    solution, history = kernel.solution, getattr(kernel, "history", None)
    mine = Solution(coef, np.zeros(1), 0.0, 0.0, 0.0, 0, True)
    try:
        assert kernel.solved(mine, [{"objective": 0.0}]) is kernel
        assert kernel.solution is mine and kernel.history == [{"objective": 0.0}]
    finally:
        kernel.solution = solution
        if history is not None:
            kernel.history = history


def check_columns(kernel, new):
    """New samples are compared by the columns that are listed, and by no others."""
    columns = kernel.columns()
    assert np.issubdtype(columns.dtype, np.integer) and columns.ndim == 1 and set(kernel.reads()) <= set(columns)
    if isinstance(new.X, np.ndarray):
        other = new.X + 1e3 * (~np.isin(np.arange(new.X.shape[1]), columns))
        assert_array_equal(
            kernel.cross(Views(other)), kernel.cross(Views(new.X)), "columns that are not listed are read"
        )


def check_restricted(kernel, new, close):
    """Over some training samples, in ascending order: their columns for new samples, and nothing else changes.

    What `gram` and its like are after `restrict` is not promised: prediction does not read them.
    """
    n, K = kernel.n_samples, kernel.cross(new)
    if not kernel.of_samples:  # features are those of all samples
        check_maps(kernel, new, K, close)
        return
    index = np.arange(1, n, 2)
    shown = set(kernel.attributes())
    lean = kernel.restrict(index)
    assert lean is not kernel and kernel.n_samples == n, "restrict must make another kernel"
    assert lean.n_samples == len(index) and lean.names == kernel.names and lean.solution is None
    assert_array_equal(lean.active, kernel.active)
    assert_array_equal(lean.theta, kernel.theta)
    assert_allclose(lean.cross(new), K[:, index], **close, err_msg="restrict changes values of new samples")
    check_values(lean, new, K[:, index], np.random.RandomState(2).normal(size=(len(index), 3)), close)
    assert_allclose(lean.sample_weights(new), kernel.sample_weights(new), **close, err_msg="restrict changes weights")
    assert set(lean.attributes()) == shown, "restrict changes what is shown"
    check_cost(lean, np.ones((len(index), 2)))
    assert_allclose(kernel.cross(new), K, **close, err_msg="restrict changes the kernel itself")
    again = lean.restrict(np.arange(len(index)))
    assert_allclose(again.cross(new), K[:, index], **close, err_msg="restrict is not idempotent")
    part = np.arange(0, len(index), 3)
    assert_allclose(again.restrict(part).cross(new), K[:, index[part]], **close, err_msg="restrict of a restriction")
    nothing = kernel.restrict(np.empty(0, dtype=int))
    assert nothing.values(new, np.empty((0, 2))).shape == (new.n_samples, 2), "a model without support vectors"


def check_maps(kernel, new, K, close):
    """With explicit features no training sample is kept, whichever are asked for."""
    coef = np.random.RandomState(2).normal(size=(K.shape[1], 3))
    lean = kernel.restrict(np.arange(1, kernel.n_samples, 2))
    assert lean is not kernel and lean.names == kernel.names and lean.solution is None and not lean.of_samples
    assert_array_equal(lean.active, kernel.active)
    assert_array_equal(lean.theta, kernel.theta)
    for own in (lean, lean.restrict(np.empty(0, dtype=int))):
        assert_allclose(own.cross(new), K, **close, err_msg="restrict changes values of new samples")
        check_values(own, new, K, coef.copy(), close)
    assert_allclose(lean.sample_weights(new), kernel.sample_weights(new), **close, err_msg="restrict changes weights")
    assert set(lean.attributes()) == set(kernel.attributes()), "restrict changes what is shown"
    check_cost(lean, coef)


def check_cost(lean, coef):
    """Counts of what a prediction takes, after `restrict`."""
    evaluations = lean.evaluations(coef)
    assert evaluations.shape == (lean.n_kernels,) and (evaluations >= 0.0).all()
    gating = getattr(
        getattr(lean, "inputs", None), "reads_features", False
    )  # a gate reads values of closed kernels too
    assert gating or not evaluations[~lean.active].any(), "kernels that are not active are evaluated"
    assert lean.values_per_sample(coef) >= 1 and isinstance(lean.values_per_sample(coef), int)


def check_family(family, machine, theta, *, h=1e-5, n_directions=3):
    """Check a kernel family at theta, a position of its domain where J is smooth.

    Parameters
    ----------
    family : KernelFamily
    machine : Machine
        Over the same samples.
    theta : ndarray
    """
    domain, kernel = family.domain(), family.at(theta)
    theta = theta.copy()
    assert_array_equal(kernel.theta, theta)
    assert_allclose(domain.enter(theta), theta, atol=1e-9, err_msg="theta is not in the domain")
    assert kernel.n_samples == machine.n_samples
    first, again = (family.start(machine, np.random.RandomState(0)) for _ in range(2))
    assert_array_equal(first, again)
    assert first.shape == theta.shape and first.dtype == np.float64
    assert_allclose(domain.enter(first), first, atol=1e-9, err_msg="start is not in the domain")
    check_slopes(family, machine, theta, domain, h, n_directions)
    finished = family.finish(theta)
    assert_array_equal(finished.theta, theta)
    assert finished.n_samples == machine.n_samples and machine.solve(finished.operand()).converged
    blocks = family.blocks()
    if blocks is not None:
        covered = np.concatenate([np.arange(len(theta))[part] for part, _ in blocks])
        assert_array_equal(np.sort(covered), np.arange(len(theta)))


def gradients_of(family, machine, kernel, solution):
    """dJ/dtheta at a solution, each way that the family has it."""
    if kernel.of_samples:
        return family.pullback(kernel, solution.coef), family.gradient(kernel, solution)
    primal = family.joint(machine, Start(kernel.theta, solution)).primal  # of weight vectors, biases and theta
    value, gradient, _ = primal(primal.join(solution.coef, solution.intercept, kernel.theta))
    penalty, slope = family.penalty(kernel.theta)
    assert_allclose(value, solution.objective + penalty, rtol=1e-7, err_msg="the function of a joint descent")
    by_weights, by_biases, by_theta = primal.parts(gradient)
    scale = max(1.0, np.abs(by_theta).max(initial=0.0))
    assert np.abs(by_weights).max() < 1e-3 * scale and np.abs(by_biases).max() < 1e-3 * scale
    return (by_theta - slope,)


def check_slopes(family, machine, theta, domain, h, n_directions):
    """`pullback` is the derivative of J through the machine solved anew, and the penalty has its own gradient."""
    kernel = family.at(theta)
    solution = exactly(machine, kernel.operand())
    gradients = gradients_of(family, machine, kernel, solution)
    penalty, slope = family.penalty(theta)
    assert all(each.shape == theta.shape for each in (*gradients, slope)) and np.isfinite(penalty)
    scale = max(1.0, abs(solution.objective))
    directions = [*np.random.RandomState(3).normal(size=(n_directions, len(theta)))]
    for part, _ in family.blocks() or []:  # each by itself: a large slope of another block would hide its errors
        directions.append(np.zeros(len(theta)))
        directions[-1][part] = directions[0][part]
    for direction in directions:
        direction = domain.tangent(theta, direction)
        ahead, behind = (domain.move(theta, direction, t)[0] for t in (h, -h))
        rise = family.penalty(ahead)[0] - family.penalty(behind)[0]
        assert_allclose(slope @ direction, rise / (2 * h), rtol=1e-5, atol=1e-7, err_msg="gradient of the penalty")
        optima = [exactly(machine, family.at(point).operand(), solution).objective for point in (ahead, behind)]
        found = (optima[0] - optima[1]) / (2 * h)
        for gradient in gradients:
            assert_allclose(gradient @ direction, found, rtol=1e-3, atol=1e-5 * scale, err_msg="pullback")
    assert_array_equal(family.at(theta).theta, theta)
