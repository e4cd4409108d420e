"""The joint multiclass dual on a kernel in parts has the optimum of the whole problem, whatever the working sets do."""

import numpy as np
import pytest

from dense_parts import DenseParts
from kernelweave.solvers import in_parts, joint_in_parts, solve_joint_qp
from kernelweave.solvers.cycles import best_cycle, class_edges, gap_of, mean_biases, sample_ranks
from kernelweave.solvers.joint_in_parts import JointState, solve_joint_in_parts
from kernelweave.solvers.joint_qp import solve_within
from places import in_every_place
from reference_joint import joint_dual, joint_primal, recovered_alpha

N = 240


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    """Working sets of 48 samples, and a look for samples at rest at every other round."""
    monkeypatch.setattr(joint_in_parts, "WORKING_SET", 48)
    monkeypatch.setattr(joint_in_parts, "REST_EVERY", 2)


def gaussian(X, width=4.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / width)


def problem(n=N, n_classes=4, C=1.0, seed=0, soft=False):
    """A kernel and the arguments of a solver after it; soft margins have either sign."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * rng.normal(size=n)
    labels = np.argsort(np.argsort(score)) * n_classes // n
    margins = np.full((n, n_classes), 2.0)
    if soft:
        posterior = rng.dirichlet(np.full(n_classes, 0.7), n)
        margins = 2.0 * (posterior[np.arange(n), labels][:, None] - posterior)
        assert (margins < 0.0).any()
    return gaussian(X), (labels, margins, C * rng.uniform(0.5, 1.5, n))


def sums(image):
    return np.column_stack([each.sums() for each in image])


def slopes_of(K, given, C):
    """dJ / d alpha_i^l, of shape (k, n)."""
    (labels, margins, _), F, every = given, K @ C, np.arange(len(K))
    slope = (margins - F[every, labels][:, None] + F).T.copy()
    slope[labels, every] = 0.0
    return slope


def check(result, K, given, gap_tol=None, tol=None, seen=None):
    """The result is feasible, its certificate is that of the whole matrix and its images are K C (or of `seen`)."""
    labels, margins, bound = given
    C, size = result.solution, max(1.0, abs(result.objective))
    alpha = recovered_alpha(C, labels)
    assert (alpha >= 0.0).all() and (alpha <= bound[:, None]).all()
    np.testing.assert_allclose(C.sum(axis=0), 0.0, atol=1e-12 * max(1.0, np.abs(C).sum()))
    np.testing.assert_allclose(C.sum(axis=1), 0.0, atol=1e-12 * max(1.0, np.abs(C).max()))
    np.testing.assert_allclose(
        sums(result.image), (K if seen is None else seen) @ C, atol=1e-9 * max(1.0, np.abs(C).sum())
    )
    assert result.objective == pytest.approx(joint_dual(K, labels, margins, C), rel=1e-9, abs=1e-9)
    primal = joint_primal(K, labels, margins, bound, C, result.multiplier)
    assert result.gap == pytest.approx(primal - result.objective, abs=1e-8 * size) and result.gap >= 0.0
    assert result.multiplier.mean() == pytest.approx(0.0, abs=1e-9 * size)
    mean, _ = best_cycle(class_edges(alpha.T.copy(), slopes_of(K, given, C), labels, bound)[0])
    assert result.violation == pytest.approx(max(0.0, mean), abs=1e-8 * size)
    if gap_tol is not None:
        assert result.converged and result.gap <= gap_tol * size
    if tol is not None:
        assert result.converged and result.violation <= tol and result.gap <= 10 * tol * size


def same_optimum(first, second):
    """Each optimum lies between the objective and what the gap adds to it, of either result."""
    slack = 1e-9 * max(1.0, abs(first.objective))
    assert first.objective <= second.objective + second.gap + slack
    assert second.objective <= first.objective + first.gap + slack


@in_every_place
@pytest.mark.parametrize("C", [1e-3, 1.0, 5.0])
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
def test_optimum_is_that_of_the_whole_problem(soft, C, place_of):
    K, given = problem(C=C, soft=soft)
    whole = solve_joint_qp(K, *given, gap_tol=1e-9)
    kernel = DenseParts(K, place=place_of())
    result = solve_joint_in_parts(kernel, *given, gap_tol=1e-6)
    check(result, K, given, gap_tol=1e-6)
    same_optimum(result, whole)
    assert result.rounds >= len(kernel.blocks) > 5 and max(map(len, kernel.blocks)) <= 48
    assert result.steps > 0


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_numbers_of_classes_and_the_kkt_tolerance(n_classes):
    K, given = problem(n_classes=n_classes, C=3.0)
    for tol in (1e-1, 1e-3, 1e-6):
        result = solve_joint_in_parts(DenseParts(K), *given, tol=tol)
        check(result, K, given, tol=tol)
        same_optimum(result, solve_joint_qp(K, *given, tol=tol))


@pytest.mark.parametrize("n", [1, 2, 3, 47, 48, 49, 97])
def test_sizes_about_that_of_a_working_set(n):
    K, given = problem(n, 3, C=2.0)
    kernel = DenseParts(K)
    result = solve_joint_in_parts(kernel, *given, gap_tol=1e-7)
    check(result, K, given, gap_tol=1e-7)
    assert len(kernel.blocks) <= 3 or n > 48
    same_optimum(result, solve_joint_qp(K, *given, gap_tol=1e-7))


class TestDifficultProblems:
    @pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
    def test_copies_and_rows_of_zeros(self, soft):
        K, (labels, margins, bound) = problem(80, C=5.0, soft=soft)
        K = np.tile(K, (3, 3))
        K[::7] = K[:, ::7] = 0.0
        labels = np.concatenate([labels, labels[::-1], labels])  # other classes among the copies
        margins = np.full((240, 4), 2.0) if not soft else np.tile(margins, (3, 1))
        given = labels, margins, np.tile(bound, 3)
        result = solve_joint_in_parts(DenseParts(K), *given, gap_tol=1e-6)
        check(result, K, given, gap_tol=1e-6)
        same_optimum(result, solve_joint_qp(K, *given, gap_tol=1e-7))

    def test_a_constant_kernel_says_nothing(self):
        _, given = problem()
        result = solve_joint_in_parts(DenseParts(np.ones((N, N))), *given, gap_tol=1e-6)
        check(result, np.ones((N, N)), given, gap_tol=1e-6)
        same_optimum(result, solve_joint_qp(np.ones((N, N)), *given, gap_tol=1e-6))

    def test_rare_classes_and_samples_without_cost(self):
        K, (_, margins, bound) = problem(C=10.0)
        labels = np.where(np.arange(N) == 17, 1, np.where(np.arange(N) % 100 == 3, 2, 0))  # and none of class 3
        bound[40:80] = 0.0
        given = labels, margins, bound
        result = solve_joint_in_parts(DenseParts(K), *given, gap_tol=1e-7)
        check(result, K, given, gap_tol=1e-7)
        assert not result.solution[40:80].any() and result.solution[17, 1] > 0.0 and not result.solution[:, 3].any()
        same_optimum(result, solve_joint_qp(K, *given, gap_tol=1e-7))

    def test_one_class_only_has_nothing_to_do(self):
        K, (_, margins, bound) = problem()
        kernel = DenseParts(K)
        result = solve_joint_in_parts(kernel, np.ones(N, int), margins, bound)
        assert result.converged and not result.solution.any() and kernel.blocks == []
        assert result.multiplier.argmax() == 1 and result.gap == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize("C", [1e-6, 1e4])
    @pytest.mark.parametrize("rank", [2, 5])
    def test_linear_kernels_at_tiny_and_huge_costs(self, rank, C):
        """Where steps would crawl, an interior point is near the optimum."""
        _, given = problem(C=C)
        X = np.random.default_rng(1).normal(size=(N, rank))
        K = X @ X.T
        result = solve_joint_in_parts(DenseParts(K), *given, gap_tol=1e-5)
        check(result, K, given, gap_tol=1e-5)
        assert result.steps < 50_000
        same_optimum(result, solve_joint_qp(K, *given, gap_tol=1e-5))

    def test_a_kernel_of_float32(self):
        K, given = problem(C=10.0)
        narrow = K.astype(np.float32).astype(float)
        result = solve_joint_in_parts(DenseParts(K.astype(np.float32)), *given, gap_tol=1e-6)
        check(result, narrow, given, gap_tol=1e-6)
        same_optimum(result, solve_joint_qp(narrow, *given, gap_tol=1e-6))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_random_problems(seed):
    rng = np.random.default_rng(seed)
    n, k, rank, C = (
        int(rng.integers(30, 400)),
        int(rng.integers(2, 8)),
        int(rng.integers(1, 8)),
        10 ** rng.uniform(-4, 5),
    )
    X = rng.normal(size=(n, rank))
    X = X[rng.integers(0, max(2, n // 3), n)] if rng.random() < 0.3 else X
    kind = rng.choice(["linear", "gaussian", "polynomial"])
    K = X @ X.T if kind == "linear" else gaussian(X) if kind == "gaussian" else (1.0 + X @ X.T) ** 3
    labels = rng.integers(0, k, n) if rng.random() < 0.5 else np.minimum(rng.geometric(0.6, n) - 1, k - 1)
    posterior = rng.dirichlet(np.full(k, 0.7), n)
    soft = 2.0 * (posterior[np.arange(n), labels][:, None] - posterior)
    margins = soft if rng.random() < 0.4 else np.full((n, k), 2.0)
    bound = C * (rng.exponential(size=n) * (rng.random(n) < 0.9) if rng.random() < 0.5 else np.ones(n))
    goal = [{"tol": 1e-3}, {"gap_tol": 1e-4}, {"gap_tol": 1e-6}][seed % 3]
    whole = solve_joint_qp(K, labels, margins, bound, **goal)
    result = solve_joint_in_parts(DenseParts(K), labels, margins, bound, **goal)
    assert result.converged
    primal = joint_primal(K, labels, margins, bound, result.solution, result.multiplier)
    assert result.gap == pytest.approx(primal - result.objective, abs=1e-7 * max(1.0, primal))
    same_optimum(result, whole)


class TestWarmStarts:
    @in_every_place
    def test_the_solution_needs_no_step(self, place_of):
        K, given = problem()
        kernel = DenseParts(K, place=place_of())
        first = solve_joint_in_parts(kernel, *given, tol=1e-4)
        kernel.columns.clear()
        again = solve_joint_in_parts(kernel, *given, start=first.solution, image=first.image, tol=1e-3)
        assert again.converged and again.steps == 0 and kernel.columns == []
        np.testing.assert_array_equal(again.solution, first.solution)
        other = solve_joint_in_parts(DenseParts(K), *given, start=first.solution, image=first.image, tol=1e-3)
        assert other.steps == 0 and other.objective == pytest.approx(first.objective)
        check(other, K, given, tol=1e-3)

    def test_images_of_each_kernel_serve_other_weights(self):
        X = np.random.default_rng(0).normal(size=(N, 3))
        matrices, (_, given) = np.stack([gaussian(X[:, [k]]) for k in range(3)]), problem()
        kernel = DenseParts(matrices, [1.0, 1.0, 1.0])
        first = solve_joint_in_parts(kernel, *given, gap_tol=1e-5)
        kept = [each.values.copy() for each in first.image]
        other = kernel.with_weights([1.2, 0.7, 1.1])
        kernel.columns.clear()
        second = solve_joint_in_parts(other, *given, start=first.solution, image=first.image, gap_tol=1e-6)
        check(second, other.whole, given, gap_tol=1e-6, seen=matrices.sum(axis=0))
        cold = solve_joint_in_parts(DenseParts(other.whole), *given, gap_tol=1e-6)
        same_optimum(second, cold)
        assert second.steps < cold.steps
        for before, image, now, c in zip(kept, first.image, second.image, second.solution.T, strict=True):
            np.testing.assert_array_equal(image.values, before)  # a start's image is not changed
            np.testing.assert_allclose(now.values, np.stack([k @ c for k in matrices], axis=1), atol=1e-9)

    def test_an_infeasible_start_is_repaired_with_its_images(self):
        K, given = problem()
        kernel = DenseParts(K)
        c = solve_joint_in_parts(kernel, *given).solution
        start = 1.05 * c
        start[:5] += np.random.default_rng(0).normal(size=(5, 4))  # no sums of 0 either
        images = tuple(kernel.zero() for _ in range(4))
        kernel.add_columns(images, np.arange(N), start)
        kernel.zero = None  # images are repaired, not computed afresh
        check(solve_joint_in_parts(kernel, *given, start=start, image=images, gap_tol=1e-6), K, given, gap_tol=1e-6)

    def test_a_useless_start_is_dropped(self):
        K, given = problem(C=30.0)
        start = solve_joint_qp(K, *given).solution * 1e6
        result = solve_joint_in_parts(DenseParts(K), *given, start=start, gap_tol=1e-3)
        cold = solve_joint_in_parts(DenseParts(K), *given, gap_tol=1e-3)
        np.testing.assert_array_equal(result.solution, cold.solution)

    @pytest.mark.parametrize("start", [np.zeros((3, 4)), np.full((N, 4), np.nan)])
    def test_a_start_of_another_shape_is_refused(self, start):
        K, given = problem()
        with pytest.raises(ValueError, match=r"start must hold \(240, 4\) finite coefficients"):
            solve_joint_in_parts(DenseParts(K), *given, start=start)


def random_point(K, given, seed=2):
    """Feasible coefficients with alphas at both bounds and between them; classes are balanced."""
    labels, margins, bound = given
    c = solve_joint_qp(K, *given, tol=0.5).solution
    return c, (np.where(np.eye(4, dtype=bool)[labels], 0.0, -c).T.copy(), labels, margins, bound)


@in_every_place
def test_the_certificate_is_that_of_the_dense_solver(place_of):
    K, given = problem(C=2.0)
    c, (alpha, labels, margins, bound) = random_point(K, given)
    state = JointState(DenseParts(K, place=place_of()), *given)
    state.begin(c)
    slopes = state.slopes()
    slope = slopes_of(K, given, c)
    arrays = (alpha, slope, labels, bound)
    edge, _ = class_edges(*arrays)
    np.testing.assert_allclose(state.place.numpy(slopes.gradient).T, slope, atol=1e-10)
    np.testing.assert_allclose(slopes.edge, edge, rtol=1e-10)
    mean, _ = best_cycle(edge)
    assert slopes.violation == pytest.approx(mean, rel=1e-10)
    assert (edge <= slopes.bias[:, None] - slopes.bias + mean + 1e-9).all()  # the biases violate no more than that
    np.testing.assert_allclose(state.place.numpy(slopes.rank), sample_ranks(*arrays, slopes.bias), rtol=1e-9, atol=1e-9)
    objective, gap, bias = state.certificate(slopes)
    assert objective == pytest.approx(joint_dual(K, labels, margins, c))
    assert gap == pytest.approx(gap_of(*arrays, bias))
    assert gap == pytest.approx(min(gap_of(*arrays, b) for b in (slopes.bias, mean_biases(*arrays, slopes.bias))))


def test_steps_within_a_set_keep_what_its_classes_have():
    K, given = problem(C=2.0)
    c, (_, labels, margins, bound) = random_point(K, given)
    rows = np.arange(0, N, 5)
    part = (K[np.ix_(rows, rows)], labels[rows], bound[rows], c[rows], slopes_of(K, given, c).T[rows])
    new, after, steps = solve_within(*part, 1e-6, 100_000)
    assert steps > 0 and np.abs(c[rows].sum(axis=0)).max() > 0.01  # so that balancing would show
    alpha = recovered_alpha(new, labels[rows]).T.copy()
    assert best_cycle(class_edges(alpha, after.T.copy(), labels[rows], bound[rows])[0])[0] <= 1e-6
    np.testing.assert_allclose(new.sum(axis=0), c[rows].sum(axis=0), atol=1e-12 * np.abs(c).sum())
    moved = c.copy()
    moved[rows] = new
    np.testing.assert_allclose(after, slopes_of(K, given, moved).T[rows], atol=1e-9)
    assert joint_dual(K, labels, margins, moved) > joint_dual(K, labels, margins, c)


def test_working_sets_contain_the_worst_cycle_and_keep_half():
    K, given = problem()
    kernel = DenseParts(K)
    solve_joint_in_parts(kernel, *given, tol=1e-3)
    assert len(kernel.blocks) > 10
    for before, after in zip(kernel.blocks, kernel.blocks[1:], strict=False):
        assert 16 <= len(np.intersect1d(before, after)) < 48 and (np.diff(after) > 0).all()
    c, (alpha, labels, margins, bound) = random_point(K, given)
    state = JointState(kernel, *given)
    state.begin(c)
    slopes = state.slopes()
    edge, sample = class_edges(alpha, slopes_of(K, given, c), labels, bound)
    _, cycle = best_cycle(edge)
    assert set(sample[np.roll(cycle, -1), cycle]) <= set(state.choose(slopes, 48))


@pytest.mark.parametrize("n_kernels", [1, 3])
def test_samples_at_rest_are_not_updated_and_come_back_with_one_update(monkeypatch, n_kernels):
    K, given = problem(C=3.0)
    woken = []
    wake = JointState.wake
    monkeypatch.setattr(JointState, "wake", lambda self: (woken.append(len(self.resting)), wake(self)))
    kernel = DenseParts(np.stack([K / n_kernels] * n_kernels))
    result = solve_joint_in_parts(kernel, *given, tol=1e-4)
    check(result, K, given, tol=1e-4)
    parts = [targets for targets in kernel.targets if targets is not None]
    assert len(parts) > sum(woken) > 0 and min(map(len, parts)) < 0.8 * N
    monkeypatch.setattr(in_parts, "REST_SHARE", 2.0)  # none rests
    plain = DenseParts(K)
    same = solve_joint_in_parts(plain, *given, tol=1e-4)
    assert all(targets is None for targets in plain.targets)
    same_optimum(same, result)


class TestDrift:
    def test_false_images_are_computed_afresh(self):
        K, given = problem(C=10.0)
        rng = np.random.default_rng(0)
        kernel = DenseParts(K, error=lambda rows: 1e-4 * rng.normal(size=len(rows)))
        zeros = []
        kernel.zero = lambda: (zeros.append(1), DenseParts.zero(kernel))[1]
        result = solve_joint_in_parts(kernel, *given, tol=1e-2)
        assert result.converged and len(zeros) >= 8 and kernel.products >= 2
        whole = solve_joint_in_parts(DenseParts(K), *given, start=result.solution, max_steps=0)
        assert whole.violation <= 1.2e-2

    def test_true_images_are_kept(self):
        K, given = problem(C=10.0)
        kernel = DenseParts(K)
        zeros = []
        kernel.zero = lambda: (zeros.append(1), DenseParts.zero(kernel))[1]
        assert solve_joint_in_parts(kernel, *given, gap_tol=1e-2).converged and len(zeros) == 4

    @pytest.mark.parametrize("goal", [{"tol": 1e-6}, {"gap_tol": 1e-9}])
    def test_noise_above_the_tolerance_ends_the_solve(self, goal):
        K, given = problem(C=10.0)
        rng = np.random.default_rng(0)
        kernel = DenseParts(K, error=lambda rows: 1e-3 * rng.normal(size=len(rows)))
        result = solve_joint_in_parts(kernel, *given, **goal)
        assert not result.converged and len(kernel.blocks) < 3000


def test_rounding_ends_progress():
    K, given = problem(C=10.0)
    result = solve_joint_in_parts(DenseParts(K), *given, tol=1e-30)
    assert not result.converged and result.violation < 1e-9
    result = solve_joint_in_parts(DenseParts(K), *given, gap_tol=1e-30)
    assert not result.converged and result.gap < 1e-8


def test_what_rounding_does_to_the_sums_of_classes_is_repaired(monkeypatch):
    def rough(*given):
        new, after, steps = solve_within(*given)
        rows, columns = np.nonzero((new < -1e-3) & (new > 1e-3 - given[2][:, None]))
        if len(rows):
            new[rows[0], columns[0]] += 1e-9  # a lower alpha
            new[rows[0], given[1][rows[0]]] -= 1e-9
        return new, after, steps

    K, given = problem()
    monkeypatch.setattr(joint_in_parts, "solve_within", rough)
    result = solve_joint_in_parts(DenseParts(K), *given, gap_tol=1e-4)
    check(result, K, given, gap_tol=1e-4)


def test_a_budget_of_steps():
    K, given = problem()
    for budget in (0, 1, 30, 200):
        result = solve_joint_in_parts(DenseParts(K), *given, tol=1e-6, max_steps=budget)
        assert not result.converged and result.steps <= budget + 48
        check(result, K, given)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(bad):
    K, given = problem()
    with pytest.raises(ValueError, match="the diagonal of K contains NaN or infinity"):
        solve_joint_in_parts(DenseParts(np.where(np.eye(N, dtype=bool), bad, K)), *given)
    start = solve_joint_qp(K, *given).solution
    K[5:, :5] = K[:5, 5:] = bad
    for first in (None, start):
        with pytest.raises(ValueError, match="K contains NaN or infinity, or overflows"):
            solve_joint_in_parts(DenseParts(K), *given, start=first)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.zeros(3, int)}, "K must be square"),
        ({"margins": np.ones((N, 2))}, "labels must lie in"),
        ({"margins": np.full((N, 4), np.inf)}, "must be finite"),
        ({"bound": np.full(N, -1.0)}, "bound not negative"),
    ],
)
def test_problems_are_checked(changes, message):
    K, given = problem()
    with pytest.raises(ValueError, match=message):
        solve_joint_in_parts(DenseParts(K), **dict(zip(("labels", "margins", "bound"), given, strict=True)) | changes)


@pytest.mark.parametrize("goal", [{"tol": 1e-3}, {"gap_tol": 1e-4}])
def test_progress_rises_to_one(goal):
    K, given = problem(C=10.0)
    kernel, seen = DenseParts(K), []
    kernel.progress = seen.append
    assert solve_joint_in_parts(kernel, *given, **goal).converged
    assert len(seen) > 5 and seen == sorted(seen) and seen[0] < 0.3 and seen[-1] == 1.0
    assert 0.1 < np.median(seen) < 0.9


def test_an_interrupt_passes():
    K, given = problem()
    kernel = DenseParts(K)

    def stop(done):
        raise KeyboardInterrupt

    kernel.progress = stop
    with pytest.raises(KeyboardInterrupt):
        solve_joint_in_parts(kernel, *given)
