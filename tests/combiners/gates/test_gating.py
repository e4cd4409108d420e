"""Gating models and their inputs."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernelweave.combiners import ClusterGate, GaussianGate, InstanceGate, KernelMap, Sigmoid, Softmax
from kernelweave.combiners import inputs as gating_inputs
from kernelweave.combiners.inputs import GatingInputs
from kernelweave.kernels import Gaussian, KernelStack, Linear, Precomputed, Spectrum
from kernelweave.views import Views, stack_views

rng = np.random.default_rng(0)
N, P = 14, 3
Z = rng.normal(size=(N, 4))
PRESENT = np.ones((N, P), dtype=bool)
PRESENT[2, 0] = PRESENT[5, 1:] = False
GATES = {
    "softmax": Softmax(),
    "sigmoid": Sigmoid(),
    "gaussian": GaussianGate(),
    "cluster": ClusterGate(n_clusters=4),
    "instance": InstanceGate(),
}


BOTH = pytest.mark.parametrize("norm", ["unit", "paper"])


def ready(name, inputs=Z, norm="unit"):
    gate = clone(GATES[name]).set_params(norm=norm)
    gate.prepare(inputs, np.random.RandomState(0))
    codes = gate.encode(inputs)
    theta = gate.start(codes, P, np.random.RandomState(1))
    return gate, codes, 50.0 * theta


def size_of(gate, gates):
    """What is 1 for gates that share a length or a sum."""
    return (gates**2).sum(axis=1) if gate.norm == "unit" else gates.sum(axis=1)


@BOTH
@pytest.mark.parametrize("name", GATES)
def test_pullback_is_the_slope_of_the_gates(name, norm):
    gate, codes, theta = ready(name, norm=norm)
    slopes = rng.normal(size=(N, P))
    gradient = gate.pullback(theta, codes, gate.values(theta, codes, PRESENT), slopes)
    assert gradient.shape == theta.shape
    h = 1e-6
    for k in range(len(theta)):
        step = h * (np.arange(len(theta)) == k)
        ahead, behind = (gate.values(point, codes, PRESENT) for point in (theta + step, theta - step))
        assert gradient[k] == pytest.approx(((ahead - behind) * slopes).sum() / (2 * h), rel=1e-5, abs=1e-7)


@BOTH
@pytest.mark.parametrize("name", GATES)
def test_gates_are_weights_of_what_is_present(name, norm):
    gate, codes, theta = ready(name, norm=norm)
    for tol in (0.0, 0.2):
        gates = gate.values(theta, codes, PRESENT, tol)
        assert (gates[~PRESENT] == 0).all() and (gates >= 0).all() and (gates <= 1).all()
        if gate.competes or norm == "unit":
            np.testing.assert_allclose(size_of(gate, gates), 1.0)
            np.testing.assert_array_equal(gates[5] > 0, [True, False, False])
        assert not ((gates > 0) & (gates**2 < tol)).any()  # gate_tol compares squares


@pytest.mark.parametrize("name", GATES)
def test_equal_scores_are_the_mean_of_what_is_present(name):
    gate, codes, theta = ready(name)
    gates = gate.values(0.0 * theta, codes, PRESENT)
    np.testing.assert_allclose(gates**2, PRESENT / PRESENT.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", GATES)
def test_unit_gates_do_not_change_by_scale(name):
    """Whatever the parameters, a kernel on one side of the other kernels cannot gain by scale: the length stays 1."""
    gate, codes, theta = ready(name)
    for factor in (1.0, 10.0, 1000.0):
        np.testing.assert_allclose((gate.values(factor * theta, codes, PRESENT) ** 2).sum(axis=1), 1.0)


def test_formulas():
    V, bias = rng.normal(size=(P, 4)), rng.normal(size=P)
    theta, everybody = np.concatenate([V.ravel(), bias]), np.ones((N, P), dtype=bool)
    scores = Z @ V.T + bias
    softmax = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Softmax("paper").values(theta, Z, everybody), softmax)  # (3.2)
    np.testing.assert_allclose(Softmax().values(theta, Z, everybody) ** 2, softmax)
    sigmoid = 1 / (1 + np.exp(-scores))
    np.testing.assert_allclose(Sigmoid("paper").values(theta, Z, everybody), sigmoid)  # (3.3)
    lengths = np.linalg.norm(sigmoid, axis=1, keepdims=True)
    np.testing.assert_allclose(Sigmoid().values(theta, Z, everybody), sigmoid / lengths)
    sigma = np.exp(bias)
    nearness = np.exp(-((Z[:, None] - V[None]) ** 2).sum(axis=2) / sigma**2)
    nearness /= nearness.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(GaussianGate("paper").values(theta, Z, everybody), nearness, rtol=1e-10)  # (3.4)
    np.testing.assert_allclose(GaussianGate().values(theta, Z, everybody) ** 2, nearness, rtol=1e-10)


@BOTH
@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("size", [1000.0, -1000.0, 1e8])
def test_large_parameters_neither_overflow_nor_give_nan(name, size, norm):
    gate, codes, theta = ready(name, norm=norm)
    theta = size * np.sign(theta)
    with np.errstate(all="raise", under="ignore"):
        gates = gate.values(theta, codes, PRESENT)
        gradient = gate.pullback(theta, codes, gates, rng.normal(size=(N, P)))
    assert np.isfinite(gates).all() and np.isfinite(gradient).all()
    if gate.competes or norm == "unit":
        np.testing.assert_allclose(size_of(gate, gates), 1.0)


@BOTH
def test_gates_that_share_never_close_the_largest(norm):
    everybody = np.ones((N, P), dtype=bool)
    for gate in (Softmax(norm), Sigmoid(norm)) if norm == "unit" else (Softmax(norm),):
        gates = gate.values(np.zeros(5 * P), Z, everybody, tol=0.9)
        np.testing.assert_allclose(size_of(gate, gates), 1.0)
        assert (gates > 0).all()
    assert not Sigmoid("paper").values(np.zeros(5 * P), Z, everybody, tol=0.9).any()


def test_starts_are_random_and_small():
    for name in GATES:
        gate, codes, _ = ready(name)
        first, again, other = (gate.start(codes, P, np.random.RandomState(seed)) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert (first != other).all() and np.abs(first).max() < 0.5


def test_new_samples_take_the_weights_of_the_nearest_region():
    gate, codes, theta = ready("instance")
    np.testing.assert_array_equal(codes, np.arange(N))
    new = Z[[3, 8]] + 1e-3
    everybody = np.ones((N, P), dtype=bool)
    np.testing.assert_array_equal(
        gate.values(theta, gate.encode(new), everybody[:2]), gate.values(theta, codes, everybody)[[3, 8]]
    )
    cluster, codes, _ = ready("cluster")
    centers = np.array([Z[codes == c].mean(axis=0) for c in range(4)])
    np.testing.assert_array_equal(codes, ((Z[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1))


def test_fewer_samples_than_clusters():
    gate = ClusterGate(n_clusters=5)
    gate.prepare(np.repeat([[0.0], [1.0]], 3, axis=0), np.random.RandomState(0))
    assert len(gate.centers_) == 2
    with pytest.raises(ValueError, match="n_clusters of ClusterGate must be a positive whole number, not 0"):
        ClusterGate(n_clusters=0).prepare(Z, np.random.RandomState(0))


A, B = rng.normal(size=(30, 3)) * [1, 10, 100] + 5, rng.normal(size=(30, 2))
FRAME = stack_views({"a": A, "b": B, "c": np.ones((30, 1))})


def inputs_of(selector=None, kernels=None, frame=FRAME, quadratic=False, scaling="standard"):
    stack = KernelStack(kernels or [Linear("a"), Linear("b")]).fit(frame)
    inputs = GatingInputs(selector, quadratic, scaling)
    return inputs, inputs.fit(stack, np.random.RandomState(0))


def test_inputs_are_the_standardised_features_of_all_kernels():
    inputs, values = inputs_of()
    both = np.hstack([A, B])
    expected = (both - both.mean(axis=0)) / both.std(axis=0)
    np.testing.assert_allclose(values, expected)
    np.testing.assert_allclose(inputs.transform(Views(FRAME.iloc[:4])), expected[:4])
    _, copies = inputs_of(kernels=[Linear("a"), Linear("a"), Linear(["a", "b"])])
    np.testing.assert_allclose(copies, expected)  # each column once


@pytest.mark.parametrize(
    ("selector", "chosen"), [("b", [3, 4]), (["b", "a"], [3, 4, 0, 1, 2]), (slice(1, 3), [1, 2]), (["a__1"], [1])]
)
def test_inputs_are_chosen_by_selectors(selector, chosen):
    inputs, values = inputs_of(selector)
    both = np.hstack([A, B])[:, chosen]
    np.testing.assert_allclose(values, (both - both.mean(axis=0)) / both.std(axis=0))
    assert sorted(inputs.columns()) == sorted(chosen)


def test_scaling():
    raw = np.hstack([A, B])
    np.testing.assert_array_equal(inputs_of(scaling=None)[1], raw)
    standard = inputs_of()[1]
    np.testing.assert_allclose(
        inputs_of(scaling="unit-row")[1], standard / np.linalg.norm(standard, axis=1, keepdims=True)
    )
    mean = inputs_of(scaling="unit-mean")[1]
    np.testing.assert_allclose((mean**2).sum(axis=1).mean(), 1.0)
    np.testing.assert_allclose(mean / mean[0, 0], standard / standard[0, 0])
    with pytest.raises(ValueError, match="scaling of .* must be"):
        inputs_of(scaling="unit")


def test_second_order_terms():
    _, values = inputs_of("b", quadratic=True)
    x, y = inputs_of("b")[1].T
    np.testing.assert_allclose(values, np.column_stack([x, y, x * x, x * y, y * y]))


def test_a_constant_input_is_zero():
    for scaling in ("standard", "unit-row", "unit-mean"):
        np.testing.assert_array_equal(inputs_of("c", scaling=scaling)[1], np.zeros((30, 1)))


def test_sample_weights_are_repetitions():
    weight = np.r_[np.full(10, 2.0), np.ones(20)]
    inputs, repeated = GatingInputs(None, False, "unit-mean"), GatingInputs(None, False, "unit-mean")
    inputs.fit(KernelStack([Linear("a")]).fit(FRAME, weight), None)
    repeated.fit(KernelStack([Linear("a")]).fit(FRAME.iloc[np.r_[:10, :30]]), None)
    np.testing.assert_allclose(inputs.mean_, repeated.mean_)
    np.testing.assert_allclose(inputs.spread_, repeated.spread_)
    assert inputs.length_ == pytest.approx(repeated.length_)


def test_missing_inputs_count_as_average():
    gappy = FRAME.copy()
    gappy.loc[[3, 7], ["b__0", "b__1"]] = np.nan
    inputs, values = inputs_of(frame=gappy)
    there = np.setdiff1d(np.arange(30), [3, 7])
    assert (values[[3, 7], 3:] == 0).all()
    np.testing.assert_allclose(values[there, 3:].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(values[:, :3], inputs_of()[1][:, :3])
    with pytest.raises(ValueError, match=r"sample 3 lacks all gating inputs \(b\); impute them"):
        inputs_of("b", frame=gappy)


@pytest.mark.parametrize("kernel", [Precomputed(np.eye(30), "id"), Spectrum("word", k=2)])
def test_kernels_without_features_point_to_the_kernel_map(kernel):
    frame = FRAME.assign(id=np.arange(30), word=["ab", "ba", "aa"] * 10)
    with pytest.raises(ValueError, match="has no features that could be gating inputs; .* KernelMap"):
        inputs_of(kernels=[Linear("a"), kernel], frame=frame)
    assert inputs_of("a", kernels=[Linear("a"), kernel], frame=frame)[1].shape == (30, 3)


def test_wide_sparse_inputs_point_to_the_kernel_map(monkeypatch):
    monkeypatch.setattr(gating_inputs, "WIDEST", 2)
    with pytest.raises(ValueError, match="is sparse, .* KernelMap"):
        inputs_of(kernels=[Linear()], frame=sp.csr_matrix(A))
    _, values = inputs_of(KernelMap(Linear([0, 2])), kernels=[Linear()], frame=sp.csr_matrix(A), scaling=None)
    np.testing.assert_allclose(values, A[:, [0, 2]] @ A[:, [0, 2]].T)


def test_kernel_map():
    inputs, values = inputs_of(KernelMap(Gaussian("a", scale=50.0)), scaling=None)
    distances = ((A[:, None] - A[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(values, np.exp(-distances / 2500.0), atol=1e-10)  # (3.5)
    np.testing.assert_allclose(inputs.transform(Views(FRAME.iloc[5:9])), values[5:9], atol=1e-10)
    assert sorted(inputs.columns()) == [0, 1, 2]
    few, part = inputs_of(KernelMap(Gaussian("a", scale=50.0), n_landmarks=6), scaling=None)
    assert part.shape == (30, 6)
    landmarks = few.source.landmarks_.positions
    np.testing.assert_allclose(part, values[:, landmarks])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (KernelMap("a"), "kernel of KernelMap must be a kernel"),
        (KernelMap(Linear("a"), n_landmarks=0), "n_landmarks of KernelMap must be a positive whole number or None"),
    ],
)
def test_bad_kernel_maps(source, message):
    with pytest.raises(ValueError, match=message):
        inputs_of(source)


def test_kernel_map_of_a_missing_view():
    gappy = FRAME.copy()
    gappy.loc[4, ["b__0", "b__1"]] = np.nan
    with pytest.raises(ValueError, match="sample 4 lacks the view of the gating kernel"):
        inputs_of(KernelMap(Linear("b")), frame=gappy)


def test_frames_of_pandas_are_not_changed():
    before = FRAME.copy()
    inputs_of(scaling="unit-row", quadratic=True)
    pd.testing.assert_frame_equal(FRAME, before)


def test_kernels_of_one_view_can_be_named_as_inputs():
    kernels = [Linear("a"), Gaussian("a"), Linear("b")]  # named a, a-2 and b
    _, values = inputs_of(["a-2", "b"], kernels=kernels)
    np.testing.assert_allclose(values, inputs_of(["a", "b"], kernels=kernels)[1])
    with pytest.raises(ValueError, match="a-3"):
        inputs_of(["a-3"], kernels=kernels)
