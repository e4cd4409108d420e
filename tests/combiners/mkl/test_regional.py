"""Weights of regions: certified against a cone program and a grid, one region is `LpMKL`, and all stacks agree."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import device_problem
from cases import each
from explicit_problem import CASES, Twin, some_missing
from explicit_problem import X as MORE
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import ConvexLocalized, FitControl, KernelMap, LpMKL
from kernelweave.engines.device import blocks_on_device
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, KernelStack, Linear, Precomputed
from kernelweave.stacks.explicit import Features
from kernelweave.stacks.regional import in_copies
from localized_problem import KERNELS, LABELS, MACHINES, MISSING, NEW, SIGNS, TARGET, N, X
from places import STRICT
from reference_mkl import group_optimum, small_problem
from three_stacks import stack_on

MATRICES, REFERENCES, _ = small_problem(24)
P, SOME = len(MATRICES), 24
SHARES = np.random.default_rng(1).dirichlet([0.4, 0.4], size=SOME)
SHARES[:6] = [1.0, 0.0]  # samples of one region only
COSTS = np.array([1.0, 0.7, 1.5, 1.0, 2.0])
TOL = 3e-6
# With missing views the last solve scales rows by the learned weights, of which its optimum is no minimum.
CLOSE = {True: 1e-6, False: 2e-5}


def fitted(combiner, machine, form="matrices", samples=X, kernels=KERNELS, tol=1e-8):
    return combiner.fit(stack_on(form, kernels, samples, machine), machine, FitControl(tol=tol))


def expanded(matrices, c):
    """c_j(x) k_m(x, z) c_j(z), kernel by kernel, and the region of each."""
    both = [np.outer(own, own) * K for K in matrices for own in c.T]
    return np.array(both), np.tile(np.arange(c.shape[1]), len(matrices))


def regional_optimum(programs, matrices, c, p):
    """The dual of all samples: the sum over regions of the dual norms of the forms."""
    both, regions = expanded(matrices, c)
    return group_optimum(programs, both, regions, p, separate=True)


@each(("machine", "p"), [(name, p) for name in REFERENCES for p in (2.0, 1.4) if p == 2.0 or name == "binary"])
def test_the_optimum_is_that_of_the_cone_program(machine, p):
    kernels = [(f"k{m}", Precomputed(K, [0])) for m, K in enumerate(MATRICES)]
    samples = np.column_stack([np.arange(SOME), SHARES])
    stack = KernelStack(kernels, normalize=None).fit(samples)
    costs = COSTS if machine == "binary" else None
    found = ConvexLocalized([1, 2], p, costs=costs).fit(stack, REFERENCES[machine], FitControl(tol=TOL))
    matrices = MATRICES if costs is None else MATRICES / costs[:, None, None] ** 2
    expected = regional_optimum(REFERENCES[machine].programs(), matrices, np.sqrt(SHARES), p)
    size = abs(expected)
    assert found.solution.objective == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert 0.0 <= found.solution.gap <= 2.0 * TOL * size + 1e-9
    assert found.solution.objective - found.solution.gap <= expected + 1e-7 * size  # the certificate holds
    x = found.beta * (1.0 if costs is None else costs[:, None] ** 2)
    np.testing.assert_allclose(np.linalg.norm(x, p, axis=0), 1.0)
    both, _ = expanded(MATRICES, np.sqrt(SHARES))
    K = np.tensordot(found.beta.ravel(), both, axes=1)
    np.testing.assert_allclose(found.gram(), K, atol=1e-12 * np.abs(K).max())


def test_sparse_weights_are_those_of_the_best_point_of_a_grid():
    """Two kernels and two regions have two free weights with p = 1; every one is tried, and J is that of the sum."""
    machine, c = MACHINES["binary"], np.sqrt(np.column_stack([X[:, 3] > 0, X[:, 3] <= 0]) * 0.8 + 0.1)
    samples = np.column_stack([X, c**2])
    found = fitted(ConvexLocalized([4, 5], 1), machine, samples=samples, kernels=KERNELS[:2])
    both, _ = expanded(KernelStack(KERNELS[:2]).fit(X).matrices(), c)
    values = {}
    for first in np.linspace(0.0, 1.0, 21):
        for second in np.linspace(0.0, 1.0, 21):
            beta = np.array([first, second, 1.0 - first, 1.0 - second])
            values[first, second] = machine.solve(np.tensordot(beta, both, axes=1), gap_tol=1e-8).objective
    best = min(values.values())
    assert best - 1e-3 * best < found.solution.objective <= best * (1.0 + 1e-6)
    assert found.solution.objective - found.solution.gap <= best
    nearest = min(values, key=values.get)
    np.testing.assert_allclose(found.beta[0], nearest, atol=0.05)
    assert max(values.values()) > 1.05 * best  # the weights matter here
    np.testing.assert_allclose(found.beta.sum(axis=0), 1.0)


@each(
    ("machine", "form", "p"),
    [(machine, form, p) for machine in MACHINES for form, p in (("matrices", 2.0), ("tiles", 1.0), ("tiles", np.inf))],
)
def test_one_region_is_lp_mkl(machine, form, p):
    for samples in (X, MISSING):
        kernels = KERNELS if samples is X else KERNELS[:2]
        mine, theirs = (
            fitted(combiner, MACHINES[machine], form, samples, kernels)
            for combiner in (ConvexLocalized(1, p), LpMKL(p))
        )
        assert mine.solution.objective == pytest.approx(theirs.solution.objective, rel=CLOSE[samples is X])
        # a relative gap of 1e-8 leaves weights and coefficients open to about its root
        np.testing.assert_allclose(mine.beta[:, 0], theirs.theta, atol=1e-3)
        new = KernelStack(kernels).fit(NEW).support
        np.testing.assert_allclose(mine.sample_weights(new), theirs.sample_weights(new), atol=1e-3)
        values = theirs.values(new, theirs.solution.coef)
        found = mine.values(new, mine.solution.coef)
        np.testing.assert_allclose(found, values, atol=5e-3 * max(1.0, np.abs(values).max()))


@each(
    ("machine", "combiner"),
    [(machine, ConvexLocalized(3)) for machine in MACHINES]
    + [("binary", ConvexLocalized(2, 1, softness=0)), ("joint", ConvexLocalized(2, np.inf, softness=0.3))],
)
def test_tiles_and_matrices_agree(machine, combiner):
    for samples, kernels in ((X, KERNELS), (MISSING, KERNELS[:2])):
        whole, tiles = (fitted(combiner, MACHINES[machine], form, samples, kernels) for form in ("matrices", "tiles"))
        assert tiles.solution.objective == pytest.approx(whole.solution.objective, rel=CLOSE[samples is X])
        np.testing.assert_allclose(tiles.beta, whole.beta, atol=1e-3)
        np.testing.assert_allclose(tiles.weights(), whole.weights(), atol=1e-3)


@pytest.mark.parametrize("case", CASES)
def test_features_and_matrices_agree(case):
    """Blocks have the views of their samples, of which gating inputs are read, only in `three_stacks`."""
    for samples in (MORE, some_missing(MORE)):
        twin = Twin(case, X=samples)
        twin.explicit.engine = twin.explicit.engine.replace(WithViews(twin.dense.support))
        exact, found = twin.check(lambda: ConvexLocalized(2, inputs=[2, 3]), tol=1e-10, allowed=2e-5)
        np.testing.assert_allclose(found.beta, exact.beta, atol=2e-5)
        assert found.solution.gap <= 1e-6 * found.solution.objective


@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_blocks_on_a_device_give_the_same(storage):
    rows, preparation = device_problem.problem(device_problem.KERNELS["mixed"])
    on_device, _ = blocks_on_device(rows.blocks, device_problem.N, preparation, STRICT, storage)
    machine = preparation.machine_of(np.array([0, 1]), np.ones(2))[0]
    found = []
    for engine in (rows.replace(preparation), on_device):
        stack = Features(preparation.stack, preparation.maps, engine, device_problem.N)
        found.append(ConvexLocalized(2, inputs=[3, 4]).fit(stack, machine, FitControl(tol=1e-8)))
    host, device = found
    assert device.solution.objective == pytest.approx(host.solution.objective, rel=CLOSE[False])
    np.testing.assert_allclose(device.beta, host.beta, atol=1e-3)
    np.testing.assert_allclose(device.mean_weights, host.mean_weights, atol=1e-3)


def test_what_goes_to_the_blocks_can_be_sent():
    twin = Twin("squared-hinge")
    twin.explicit.engine = twin.explicit.engine.replace(WithViews(twin.dense.support))
    kernel = ConvexLocalized(2).fit(twin.explicit, twin.machine)
    own = kernel.stack.amplitudes(kernel.beta.ravel(), kernel.scaling())
    there = pickle.loads(pickle.dumps((own, in_copies)))
    assert there[1] is in_copies
    block, rows = kernel.stack.engine.blocks[0], slice(0, 5)
    np.testing.assert_array_equal(there[0].values(np.empty(0), block, rows), own.values(np.empty(0), block, rows))


class WithViews:
    """Blocks with the views of their samples."""

    def __init__(self, views):
        self.views = views

    def __call__(self, block):
        return replace(block, views=self.views.rows(slice(block.first, block.first + block.n_samples)))


def test_hard_regions_have_nothing_in_common():
    shares = np.column_stack([X[:, 0] > 0, (X[:, 0] <= 0) & (X[:, 1] > 0), (X[:, 0] <= 0) & (X[:, 1] <= 0)])
    samples = np.column_stack([X, shares])
    for form in ("matrices", "tiles"):
        kernel = fitted(ConvexLocalized([4, 5, 6]), MACHINES["binary"], form, samples)
        K = kernel.rows(np.arange(N))
        np.testing.assert_array_equal(K[:, :] != 0.0, shares @ shares.T)


class TestClusters:
    def test_memberships_have_unit_length_and_follow_the_softness(self):
        machine = MACHINES["binary"]
        gaps = {}
        for softness in (0, 0.5, 2.0):
            c = fitted(ConvexLocalized(3, inputs=[0, 1], softness=softness), machine).memberships
            assert c.shape == (N, 3)
            np.testing.assert_allclose((c**2).sum(axis=1), 1.0)
            gaps[softness] = c
        assert set(np.unique(gaps[0])) == {0.0, 1.0}
        for softness in (0.5, 2.0):
            best, second = np.sort(gaps[softness] ** 2, axis=1)[:, [-1, -2]].T
            assert np.array_equal(gaps[softness].argmax(axis=1), gaps[0].argmax(axis=1))
            with np.errstate(divide="ignore"):
                ratios = np.log(best / second)
            if np.isfinite(ratios).all():  # none is closed: the mean is what the softness says
                assert ratios.mean() == pytest.approx(1.0 / softness)

    def test_new_samples_have_the_memberships_of_their_place(self):
        kernel = fitted(ConvexLocalized(3, inputs=[0, 1]), MACHINES["binary"])
        np.testing.assert_allclose(kernel.new_memberships(kernel.stack.support), kernel.memberships)

    def test_no_more_clusters_than_different_samples(self):
        twice = np.repeat(X[:2], 6, axis=0)
        model = MKLClassifier(KERNELS, ConvexLocalized(5), random_state=0).fit(twice, np.repeat([0, 1], 6))
        assert model.region_weights_.shape == (2, 3)

    def test_identical_samples_are_one_region(self):
        same = np.ones((8, 4))
        model = MKLClassifier(KERNELS, ConvexLocalized(3), random_state=0).fit(same, np.repeat([0, 1], 4))
        assert model.region_weights_.shape == (1, 3)
        assert np.isfinite(model.decision_function(same)).all()

    def test_a_region_without_samples_and_one_of_a_single_class(self):
        """Weights that nothing depends on are those of the start, and the optimum is certified."""
        shares = np.zeros((N, 3))
        shares[:10, 0] = shares[10:, 1] = 1.0
        y = np.where(np.arange(N) < 10, 1, SIGNS)
        for p, even in ((1, 1.0 / 3.0), (2, 3.0**-0.5)):
            model = MKLClassifier(KERNELS, ConvexLocalized([4, 5, 6], p), tol=1e-6).fit(np.column_stack([X, shares]), y)
            np.testing.assert_allclose(model.region_weights_.iloc[2], even)
            assert 0.0 <= model.duality_gap_ <= 2e-6 * model.objective_

    def test_clusters_of_kernel_values(self):
        combiner = ConvexLocalized(2, inputs=KernelMap(Gaussian([0, 1], scale=1.0), 5))
        assert not combiner.needs()
        assert "all pairs" in ConvexLocalized(2, inputs=KernelMap(Gaussian())).needs()["gram"]
        assert not ConvexLocalized([0], inputs=KernelMap(Gaussian())).needs()
        kernel = fitted(combiner, MACHINES["binary"], "tiles")
        assert kernel.memberships.shape == (N, 2)


class TestModels:
    KERNELS = (("a", Gaussian("a")), ("b", Linear("b")))

    def frame(self, shares=None):
        views = {"a": X[:, :2], "b": X[:, 2:]}
        return stack_views(views if shares is None else {**views, "site": shares})

    def test_weights_of_samples_are_means_over_regions(self):
        shares = np.abs(X[:, [0, 3]])
        frame = self.frame(shares)
        model = MKLClassifier(self.KERNELS, ConvexLocalized("site"), C=2.0).fit(frame, SIGNS)
        beta = model.region_weights_
        assert beta.columns.tolist() == ["a", "b"] and beta.index.tolist() == [0, 1]
        expected = (shares / shares.sum(axis=1, keepdims=True)) @ beta.to_numpy()
        np.testing.assert_allclose(model.kernel_weights(frame), expected)
        np.testing.assert_allclose(model.gates(frame) ** 2, expected)
        np.testing.assert_allclose(model.kernel_weights_, expected.mean(axis=0))
        assert model.region(frame).tolist() == np.array(["a", "b"])[expected.argmax(axis=1)].tolist()
        summary = model.gating_summary_.query("samples == 'training' and `class` == 'all'")
        np.testing.assert_allclose(summary["weight"], expected.mean(axis=0))
        parts = model.contributions(frame)
        np.testing.assert_allclose(parts.sum(axis=1), model.decision_function(frame))

    def test_a_sample_that_lacks_views_is_scaled_in_each_region(self):
        """What the weights of a region are divided by is what its present kernels have of them."""
        shares = np.abs(X[:, [0, 3]])
        frame = self.frame(shares)
        model = MKLRegressor(self.KERNELS, ConvexLocalized("site")).fit(frame, TARGET)
        beta, lacking = model.region_weights_.to_numpy(), frame.copy()
        lacking[["b__0", "b__1"]] = np.nan
        shares = shares / shares.sum(axis=1, keepdims=True)
        weights = model.kernel_weights(lacking)
        np.testing.assert_allclose(weights["a"], shares @ beta.sum(axis=1))
        assert not weights["b"].any()

    def test_features_show_the_weights_of_all_samples(self):
        frame = self.frame(np.abs(X[:, [0, 3]]))
        options = {"machine": "squared-hinge", "random_state": 0, "C": 3.0, "tol": 1e-6}
        combiner = ConvexLocalized("site")
        exact = MKLClassifier(self.KERNELS, combiner, **options).fit(frame, LABELS > 0)
        found = MKLClassifier(self.KERNELS, combiner, approximation=NystroemFeatures(1000), **options)
        found.fit(frame, LABELS > 0)
        np.testing.assert_allclose(found.kernel_weights_, exact.kernel_weights_, atol=1e-3)
        pd.testing.assert_frame_equal(
            found.gating_summary_.query("samples == 'training'"),
            exact.gating_summary_.query("samples == 'training'"),
            atol=1e-3,
            check_dtype=False,
        )
        assert {name: len(coef) for name, coef in found.feature_coef_.items()}["b"] == 2 * 2  # for each region

    def test_one_class(self):
        model = MKLOneClass(self.KERNELS, ConvexLocalized(2), nu=0.2, random_state=0).fit(self.frame())
        assert 0.0 <= model.duality_gap_ <= 2e-3 * abs(model.objective_)
        values = model.decision_function(self.frame())
        assert (values < -1e-6).mean() <= 0.2  # nu limits the share that is rejected
        assert np.abs(np.sort(values)[: len(model.support_)]).max() < np.abs(values).max()

    def test_a_view_without_weight_in_every_region_of_a_sample(self):
        """Its prediction is the bias alone, which is said at the fit and of new samples."""
        rng = np.random.default_rng(0)
        A = rng.normal(size=(60, 2))
        region = np.repeat([[1.0, 0.0], [0.0, 1.0]], 30, axis=0)
        y = np.where(region[:, 0] == 1.0, A[:, 0], A[:, 1]) > 0
        frame = stack_views({"a": A[:, :1], "b": A[:, 1:], "site": region})
        kernels = [("a", Linear("a")), ("b", Linear("b"))]
        model = MKLClassifier(kernels, ConvexLocalized("site", p=1), C=0.1, normalize="unit-trace").fit(frame, y)
        np.testing.assert_allclose(model.region_weights_, np.eye(2), atol=1e-6)
        new = frame.iloc[[0, 59]].copy()
        new.iloc[0, 0] = np.nan  # in the first region, where only a has a weight
        with pytest.warns(UserWarning, match="has none of the views whose kernels have a weight"):
            values = model.decision_function(new)
        assert values[0] == pytest.approx(float(model.intercept_[0])) and values[1] != values[0]


class TestRefusals:
    def fit(self, regions=2, samples=X, **options):
        return MKLClassifier(KERNELS, ConvexLocalized(regions, **options)).fit(samples, SIGNS)

    @each(
        ("options", "message"),
        [
            ({"regions": 0}, "regions of ConvexLocalized must be a number of clusters, at least 1, .* not 0"),
            ({"regions": 2.5}, "columns of memberships, not 2.5"),
            ({"regions": True}, "columns of memberships, not True"),
            ({"regions": None}, "columns of memberships, not None"),
            ({"p": 0.5}, "p of ConvexLocalized"),
            ({"softness": -1.0}, "softness of ConvexLocalized"),
            ({"scaling": "none"}, "scaling of ConvexLocalized"),
            ({"regions": "site"}, "regions of ConvexLocalized cannot be used"),
            ({"regions": [0, 1]}, "memberships that `regions` of ConvexLocalized selects must be at least 0"),
            ({"costs": 0.0}, "costs must be positive"),
        ],
    )
    def test_parameters(self, options, message):
        with pytest.raises(ValueError, match=message):
            self.fit(**options)

    def test_memberships_of_new_samples(self):
        model = self.fit([0, 1], np.abs(X))
        wrong = np.abs(NEW)
        wrong[3, :2] = 0.0
        with pytest.raises(ValueError, match=r"one of each sample positive; those of a sample are \[0.0, 0.0\]"):
            model.predict(wrong)

    def test_completed_views(self):
        with pytest.raises(ValueError, match="completes kernels, and ConvexLocalized reads the views"):
            MKLClassifier(KERNELS, ConvexLocalized(), missing="complete").fit(X, SIGNS)
