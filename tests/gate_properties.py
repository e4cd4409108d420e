"""The properties that every gating model has; for those of the package and those of users.

``check_gate(gate)`` asserts what ``kernelweave.combiners.gates`` promises, for both norms if the gate has them.
"""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

N, P = 14, 3
STEP = 1e-6


def check_gate(gate, inputs=None, spread=20.0):
    """Check an unfitted gating model; an `AssertionError` tells which property fails.

    Parameters
    ----------
    gate : Gate
    inputs : ndarray of shape (n_samples, n_inputs), optional
        Gating inputs of at least 14 training samples.
    spread : float
        By what `start` is multiplied, so that gates differ between samples.
    """
    inputs = np.random.RandomState(0).normal(size=(N, 4)) if inputs is None else inputs
    norms = ("unit", "paper") if "norm" in gate.get_params() else (gate.norm,)
    for norm in norms:
        own = clone(gate).set_params(norm=norm) if "norm" in gate.get_params() else clone(gate)
        check_prepared(own, inputs, spread)


def check_prepared(gate, inputs, spread):
    """Check a gating model of one norm."""
    before = gate.get_params()
    gate.prepare(inputs, np.random.RandomState(0))
    assert gate.get_params() == before, "prepare changed a parameter"
    codes = gate.encode(inputs)
    assert len(codes) == len(inputs)
    some = np.array([3, 0])
    assert_array_equal(gate.encode(inputs[some]), codes[some], "encode reads samples one by one")
    assert len(gate.encode(inputs[:2] + 0.1)) == 2, "encode takes new samples"
    present = np.ones((len(inputs), P), dtype=bool)
    present[2, 0] = present[5, 1:] = present[7] = False
    theta = check_start(gate, codes, spread)
    for point in (0.0 * theta, theta, 1e3 * theta):
        check_values(gate, point, codes, present)
    check_closing(gate, theta, codes, present)
    check_pullback(gate, theta, codes, present)
    if gate.codes_pullback is not None or gate.coefficients(theta, P) is not None:
        assert_array_equal(codes, inputs, "slopes by the inputs are promised, so the codes must be the inputs")
    check_codes_pullback(gate, theta, codes)
    check_coefficients(gate, theta, codes)


def check_start(gate, codes, spread):
    """Small and random, and all kernels alike at 0; returns a theta whose gates differ from sample to sample."""
    first, again, other = (gate.start(codes, P, np.random.RandomState(seed)) for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert first.ndim == 1 and first.dtype == np.float64 and np.abs(first).max(initial=0.0) < 1.0, "start is not small"
    assert gate.learns == (len(first) > 0) == (not np.array_equal(first, other)), "start is not random"
    everybody = np.ones((len(codes), P), dtype=bool)
    even = gate.values(0.0 * first, codes, everybody)
    assert_allclose(even, np.broadcast_to(even[:, :1], even.shape), err_msg="theta = 0 is not the mean of the kernels")
    return spread * first


def check_values(gate, theta, codes, present):
    """Gates of length or sum 1, or each from 0 to 1; 0 where a view is missing."""
    scores = gate.scores(theta, codes, P)
    assert scores.shape == present.shape and np.isfinite(scores).all()
    gates = gate.values(theta, codes, present)
    assert gates.shape == present.shape and np.isfinite(gates).all()
    assert (gates >= 0.0).all() and (gates <= 1.0 + 1e-12).all()
    assert not gates[~present].any(), "a view that is missing has a gate"
    check_size(gate, gates, present)
    some = np.array([4, 1])
    assert_allclose(gate.values(theta, codes[some], present[some]), gates[some], err_msg="samples depend on each other")


def check_size(gate, gates, present):
    """What the norm promises of samples that have a view."""
    has = present.any(axis=1)
    if gate.norm == "unit":
        assert_allclose((gates[has] ** 2).sum(axis=1), 1.0, err_msg="squares do not sum to 1")
    elif gate.competes:
        assert_allclose(gates[has].sum(axis=1), 1.0, err_msg="gates do not sum to 1")


def check_closing(gate, theta, codes, present):
    """A tolerance closes gates of small squares; of gates that share, the largest stays and takes their part."""
    whole = gate.values(theta, codes, present)
    for tol in (1e-3, 0.2, 0.9):
        gates = gate.values(theta, codes, present, tol)
        shares = gate.norm == "unit" or gate.competes
        limits = np.minimum(tol, (whole**2).max(axis=1, keepdims=True)) if shares else tol
        assert_array_equal(gates > 0.0, (whole**2 >= limits) & (whole > 0.0), "tol closes other gates")
        if shares:
            check_size(gate, gates, present)


def check_pullback(gate, theta, codes, present):
    """The slope by theta is that of finite differences, and samples add up."""
    rng = np.random.RandomState(3)
    slopes, gates = rng.normal(size=present.shape), gate.values(theta, codes, present)
    gradient = gate.pullback(theta, codes, gates, slopes)
    assert gradient.shape == theta.shape
    for direction in rng.normal(size=(5, len(theta))):
        ahead, behind = (gate.values(theta + t * direction, codes, present) for t in (STEP, -STEP))
        found = ((ahead - behind) * slopes).sum() / (2 * STEP)
        assert_allclose(gradient @ direction, found, rtol=1e-5, atol=1e-6, err_msg="pullback")
    parts = [gate.pullback(theta, codes[k::2], gates[k::2], slopes[k::2]) for k in (0, 1)]
    assert_allclose(parts[0] + parts[1], gradient, atol=1e-10 * (1.0 + np.abs(gradient).max(initial=0.0)))


def check_codes_pullback(gate, theta, codes):
    """The slope by the codes, for gates whose inputs can be projected."""
    if gate.codes_pullback is None:
        return
    rng = np.random.RandomState(4)
    slopes = rng.normal(size=(len(codes), P))
    pulled = gate.codes_pullback(theta, codes, slopes)
    assert pulled.shape == codes.shape
    for direction in rng.normal(size=(5, *codes.shape)):
        ahead, behind = (gate.scores(theta, codes + t * direction, P) for t in (STEP, -STEP))
        found = ((ahead - behind) * slopes).sum() / (2 * STEP)
        assert_allclose((pulled * direction).sum(), found, rtol=1e-5, atol=1e-6, err_msg="codes_pullback")


def check_coefficients(gate, theta, codes):
    """Slopes and biases, for gates whose scores are linear in the codes."""
    found = gate.coefficients(theta, P)
    if found is not None:
        slopes, biases = found
        assert_allclose(codes @ slopes.T + biases, gate.scores(theta, codes, P), atol=1e-9, err_msg="coefficients")
