"""Models with explicit features that are fitted and predict on a device are those of the host."""

import numpy as np
import pytest

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, MKLSurvival, load, open_views, save
from kernelweave.arrays import HOST, torch_place
from kernelweave.combiners import ConvexMKL, Localized, LpMKL, Mean, Sigmoid
from kernelweave.engines.device import OnDevice
from kernelweave.estimators import base, classifier, samples, training
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.kernels import Gaussian, Linear
from kernelweave.survival import outcome
from places import has_cuda, needs_torch

pytestmark = needs_torch
KERNELS = [Gaussian(slice(0, 3)), Gaussian(slice(3, 6), scale=2.0)]
GATED = Localized(l2=0.1, inputs=slice(0, 3))
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
X[:40, 3:] = np.nan
y = (X[:, 0] * X[:, 1] + np.nan_to_num(X[:, 3]) > 0).astype(int)


@pytest.fixture(autouse=True)
def torch_in_the_place_of_cuda(monkeypatch):
    """Without a CUDA device torch on the CPU is one."""
    if not has_cuda():
        for module in (base, classifier, training, samples):
            monkeypatch.setattr(module, "chosen_place", lambda name: HOST if name == "cpu" else torch_place("cpu"))


def pair(estimator, X, y, **options):
    """The model fitted on the host and on the device.

    One may take Newton's steps where the other takes L-BFGS: decision values differ by the root of what is left of P.
    """
    made = [estimator(KERNELS, dtype="float64", random_state=0, **options) for _ in range(2)]
    made[1].set_params(device="cuda")
    return [model.fit(X, y) for model in made]


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize(
    "combiner",
    [
        Mean(),
        ConvexMKL(),
        LpMKL(p=2.0),
        Localized(l2=0.1, inputs=slice(0, 3)),
        Localized(Sigmoid(), l2=0.1, inputs=[0]),
    ],
    ids=["mean", "convex", "lp", "softmax", "sigmoid"],
)
def test_classifiers(combiner, storage):
    options = {"combiner": combiner, "approximation": NystroemFeatures(30), "tol": 1e-12, "storage": storage}
    host, device = pair(MKLClassifier, X, y, **options)
    assert device.storage_ == storage
    assert device.objective_ == pytest.approx(host.objective_, rel=1e-5)
    np.testing.assert_allclose(device.decision_function(X), host.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(device.kernel_weights_, host.kernel_weights_, atol=1e-5)


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_every_normalisation(normalize, storage):
    options = {"normalize": normalize, "storage": storage, "approximation": NystroemFeatures(30), "tol": 1e-12}
    host, device = pair(MKLClassifier, X, y, **options)
    assert device.storage_ == storage
    np.testing.assert_allclose(device.decision_function(X), host.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(
    "y", [np.arange(400) % 3, np.nan_to_num(X[:, 0]) + np.arange(400) % 2], ids=["three", "numbers"]
)
def test_several_outputs_and_regression(y):
    estimator = MKLClassifier if y.dtype.kind == "i" else MKLRegressor
    host, device = pair(estimator, X, y, approximation=NystroemFeatures(30), tol=1e-12)
    decide = "decision_function" if estimator is MKLClassifier else "predict"
    np.testing.assert_allclose(getattr(device, decide)(X), getattr(host, decide)(X), atol=1e-5)


def test_novelty():
    made = [MKLOneClass(KERNELS, approximation=NystroemFeatures(30), dtype="float64", random_state=0, device=device)
            for device in ("cpu", "cuda")]  # fmt: skip
    host, device = (model.fit(X[40:]) for model in made)
    np.testing.assert_allclose(device.decision_function(X[40:]), host.decision_function(X[40:]), atol=1e-3)


@pytest.mark.parametrize("approximation", [FourierFeatures(40), ExactFeatures()], ids=["fourier", "exact"])
def test_other_features_are_held(approximation):
    kernels = [Linear(slice(0, 3)), Linear(slice(3, 6))] if isinstance(approximation, ExactFeatures) else KERNELS
    models = [
        MKLClassifier(kernels, approximation=approximation, dtype="float64", tol=1e-12, random_state=0, device=device)
        for device in ("cpu", "cuda")
    ]
    host, device = (model.fit(X, y) for model in models)
    np.testing.assert_allclose(device.decision_function(X), host.decision_function(X), atol=1e-5)


def test_features_of_views_that_are_completed():
    lacking = X.copy()
    lacking[360:, :3] = np.nan
    options = {"approximation": NystroemFeatures(30), "tol": 1e-12, "missing": "complete"}
    host, device = pair(MKLClassifier, lacking, y, **options)
    np.testing.assert_allclose(device.decision_function(lacking), host.decision_function(lacking), atol=1e-5)
    with pytest.raises(ValueError, match='needs kernels that are computed there .* and missing="native"'):
        device.set_params(storage="lazy").fit(lacking, y)


def test_float32_is_the_default_and_the_host_predicts_the_same(tmp_path):
    model = MKLClassifier(KERNELS, approximation=NystroemFeatures(30), device="cuda", random_state=0).fit(X, y)
    exact = MKLClassifier(KERNELS, approximation=NystroemFeatures(30), random_state=0).fit(X, y)
    assert (model.predict(X) == exact.predict(X)).mean() > 0.98
    save(model, tmp_path / "model.kw")
    values = model.decision_function(X)
    for device in ("cpu", "cuda") if has_cuda() else ("cpu",):
        np.testing.assert_allclose(load(tmp_path / "model.kw", device=device).decision_function(X), values, atol=1e-9)


def test_held_out_samples_and_the_chosen_penalty():
    options = {"approximation": NystroemFeatures(20), "storage": "dense", "tol": 1e-8}
    for combiner in (Localized(inputs=slice(0, 3)), Localized(inputs=slice(0, 3), l2=0.1, validation_fraction=0.2)):
        host, device = pair(MKLClassifier, X, y, combiner=combiner, **options)
        np.testing.assert_allclose(device.decision_function(X), host.decision_function(X), atol=1e-2)


def test_samples_in_files_are_those_in_memory(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "new.npy", X[:150])
    table = open_views({"x": tmp_path / "x.npy"}, y, block_size=64)
    new = open_views({"x": tmp_path / "new.npy"}, block_size=64)
    kernels = [Gaussian(["x__0", "x__1", "x__2"]), Gaussian(["x__3", "x__4", "x__5"], scale=2.0)]
    for combiner, storage in ((Mean(), "lazy"), (GATED, "dense")):
        options = {"approximation": NystroemFeatures(30), "dtype": "float64", "tol": 1e-12, "random_state": 0}
        device = MKLClassifier(kernels, combiner, device="cuda", storage=storage, **options).fit(table)
        memory = MKLClassifier(KERNELS, combiner, **options).fit(X, y)
        assert device.storage_ == storage
        np.testing.assert_allclose(device.decision_function(new), memory.decision_function(X[:150]), atol=1e-5)


def test_gates_are_summarised_as_on_the_host():
    host, device = pair(MKLClassifier, X, y, combiner=GATED, approximation=NystroemFeatures(30), tol=1e-12)
    frames = [model.gating_summary_ for model in (device, host)]
    numbers = [frame.select_dtypes("number").to_numpy(dtype=float) for frame in frames]
    np.testing.assert_allclose(numbers[0], numbers[1], atol=1e-4)


def test_the_blocks_of_a_fit_are_on_the_device(monkeypatch):
    seen = []
    original = OnDevice.__init__
    monkeypatch.setattr(OnDevice, "__init__", lambda self, *given: (seen.append(1), original(self, *given))[1])
    MKLClassifier(KERNELS, approximation=NystroemFeatures(20), device="cuda", random_state=0).fit(X, y)
    assert seen


@pytest.mark.parametrize("loss", ["cox", "ranking"])
def test_survival_in_tiles(loss):
    """Scores are gathered from the device and slopes put there; on explicit features a device is refused."""
    outcomes = outcome(np.exp(y + rng.normal(size=400)), rng.random(400) < 0.7)
    for combiner in (LpMKL(), Localized(l2=0.1, inputs=slice(0, 3))):
        options = {"combiner": combiner, "loss": loss, "C": 0.3, "tol": 1e-6}
        host, device = pair(MKLSurvival, X, outcomes, **options)
        assert device.storage_ == "lazy" and device.objective_ == pytest.approx(host.objective_, rel=1e-5)
        np.testing.assert_allclose(device.predict(X), host.predict(X), atol=1e-2)
    with pytest.raises(ValueError, match='use device="cpu"'):
        MKLSurvival(KERNELS, device="cuda", approximation="nystroem").fit(X, outcomes)
