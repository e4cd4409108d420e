"""The box QP on a kernel in parts has the optimum of the whole problem, whatever the working sets do."""

import numpy as np
import pytest
from sklearn.svm import SVC

from dense_parts import DenseParts
from kernelweave.solvers import in_parts, solve_box_qp
from kernelweave.solvers.box_qp import certify
from kernelweave.solvers.in_parts import RidgedInParts, State, solve_in_parts
from places import in_every_place

KINDS = ("binary", "regression", "one-class")
N = 300


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    """Working sets of 48 samples, and a look for samples at rest at every other round."""
    monkeypatch.setattr(in_parts, "WORKING_SET", 48)
    monkeypatch.setattr(in_parts, "REST_EVERY", 2)


def samples(n=N, seed=0, columns=4):
    return np.random.default_rng(seed).normal(size=(n, columns))


def gaussian(X, width=4.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / width)


def problem(kind, X, C=1.0, seed=0):
    """The arguments of a solver after the kernel."""
    n, rng = len(X), np.random.default_rng(seed)
    values = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * rng.normal(size=n)
    if kind == "binary":
        y = np.where(values > np.median(values) - 1e-12, 1.0, -1.0)
        return y, np.minimum(C * y, 0.0), np.maximum(C * y, 0.0), 0.0, 0.0
    if kind == "regression":
        return values, np.full(n, -C), np.full(n, C), 0.0, 0.2
    return np.zeros(n), np.zeros(n), np.full(n, max(C, 1.5) * 5.0 / n), 1.0, 0.0


def check(result, K, given, gap_tol, floor=1.0):
    """The result is feasible, its certificate is that of the whole matrix and its image is K c."""
    linear, lower, upper, total, e = given
    c = result.solution
    assert (c >= lower).all() and (c <= upper).all()
    assert c.sum() == pytest.approx(total, abs=1e-9 * max(1.0, np.abs(c).sum()))
    np.testing.assert_allclose(result.image.sums(), K @ c, atol=1e-9 * max(1.0, np.abs(c).sum()))
    objective, gap, b, violation = certify(c, linear - K @ c, linear, lower, upper, e)
    size = max(1.0, abs(objective))
    assert result.objective == pytest.approx(objective, rel=1e-9, abs=1e-10)
    assert result.violation == pytest.approx(violation, abs=1e-8 * size)
    assert result.multiplier == pytest.approx(b, rel=1e-6, abs=1e-6)
    assert result.gap <= gap + 1e-9 * size
    if gap_tol is not None:
        assert result.converged and result.gap <= gap_tol * max(floor, abs(objective))


@in_every_place
@pytest.mark.parametrize("C", [1e-3, 1.0, 5.0])
@pytest.mark.parametrize("kind", KINDS)
def test_optimum_is_that_of_the_whole_problem(kind, C, place_of):
    X = samples()
    K, given = gaussian(X), problem(kind, X, C)
    whole = solve_box_qp(K, *given, gap_tol=1e-9)
    kernel = DenseParts(K, place=place_of())
    result = solve_in_parts(kernel, *given, gap_tol=1e-6)
    check(result, K, given, 1e-6)
    assert result.objective == pytest.approx(whole.objective, abs=2e-6 * max(1.0, abs(whole.objective)))
    assert result.steps > 0 and max(map(len, kernel.blocks)) <= 48


def test_where_few_values_may_be_computed(monkeypatch):
    """Two clouds have few support vectors; where there are many, or too many rows are needed, the solve ends early."""
    monkeypatch.setattr(in_parts, "FEWEST", 32)
    X = samples()
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    given = (y, np.minimum(y, 0.0), np.maximum(y, 0.0), 0.0, 0.0)
    few, many = gaussian(X + 1.2 * y[:, None]), gaussian(X + 0.1 * y[:, None])
    kernel = DenseParts(few)
    result = solve_in_parts(kernel, *given, tol=1e-6, most=0.5)
    check(result, few, given, None)
    assert result.converged and result.violation <= 1e-6 and max(map(len, kernel.blocks)) == 37  # an eighth
    for K, most in ((many, 0.5), (few, 0.05)):
        kernel = DenseParts(K)
        ended = solve_in_parts(kernel, *given, tol=1e-6, most=most)
        assert not ended.converged and np.isinf(ended.gap)
        assert len(kernel.blocks) == 1 if K is many else len(kernel.blocks) < result.rounds
        c = ended.solution
        assert c.any() and c.sum() == pytest.approx(0.0, abs=1e-9) and (given[1] <= c).all() and (c <= given[2]).all()
        again = solve_box_qp(K, *given, start=c, tol=1e-6)
        assert again.converged and again.steps < solve_box_qp(K, *given, tol=1e-6).steps
    few[3] = few[:, 3] = np.inf
    np.fill_diagonal(few, 1.0)
    assert not solve_in_parts(DenseParts(few), *given, most=0.9).converged


@in_every_place
@pytest.mark.parametrize("kind", KINDS)
def test_a_diagonal_beside_the_kernel(kind, place_of):
    X, rows = samples(), np.array([7, 2, 40])
    ridge = np.linspace(0.1, 2.0, N)
    K, given = gaussian(X), problem(kind, X)
    whole = K + np.diag(ridge)
    kernel = RidgedInParts(DenseParts(K, place=place_of()), ridge)
    result = solve_in_parts(kernel, *given, gap_tol=1e-6)
    expected = solve_box_qp(whole, *given, gap_tol=1e-9)
    assert result.converged and result.objective == pytest.approx(expected.objective, rel=2e-6, abs=2e-6)
    np.testing.assert_allclose(result.image.sums(), K @ result.solution, atol=1e-9)  # an image is that of K alone
    again = solve_in_parts(
        RidgedInParts(kernel.kernel, 1.01 * ridge), *given, start=result.solution, image=result.image
    )
    assert again.converged and again.steps < result.steps
    for part, among in ((kernel, whole), (kernel.subset(rows), whole[np.ix_(rows, rows)])):
        some = np.arange(3)
        np.testing.assert_allclose(part.diagonal, np.diag(among))
        np.testing.assert_allclose(part.block(some), among[:3, :3])
        np.testing.assert_allclose(part.product(some, some[1:], np.ones((2, 1)))[:, 0], among[:3, 1:3].sum(axis=1))


@pytest.mark.parametrize("kind", KINDS)
def test_kkt_tolerance(kind):
    X = samples()
    K, given = gaussian(X), problem(kind, X, 10.0)
    for tol in (1e-1, 1e-3, 1e-6):
        result = solve_in_parts(DenseParts(K), *given, tol=tol)
        check(result, K, given, None)
        assert result.converged and result.violation <= tol
        assert result.gap <= 10 * tol * max(1.0 if given[0].any() else 0.0, abs(result.objective))


@pytest.mark.parametrize("n", [1, 2, 3, 47, 48, 49, 97])
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_about_that_of_a_working_set(kind, n):
    X = samples(n)
    K, given = gaussian(X), problem(kind, X, 2.0)
    if kind == "one-class":
        given = (*given[:2], np.full(n, 1.0), *given[3:])
    kernel = DenseParts(K)
    result = solve_in_parts(kernel, *given, gap_tol=1e-7)
    check(result, K, given, 1e-7)
    assert len(kernel.blocks) <= 3 or n > 48
    assert result.objective == pytest.approx(solve_box_qp(K, *given, gap_tol=1e-9).objective, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_and_rows_of_zeros(kind):
    X = samples(100)
    X = np.concatenate([X, X, X])  # with opposite labels among them
    K, given = gaussian(X), problem(kind, X, 5.0)
    K[::7] = K[:, ::7] = 0.0
    result = solve_in_parts(DenseParts(K), *given, gap_tol=1e-6)
    check(result, K, given, 1e-6)
    assert result.objective == pytest.approx(solve_box_qp(K, *given, gap_tol=1e-9).objective, rel=1e-5, abs=1e-6)


def test_one_sample_of_a_class_and_samples_without_width():
    X = samples()
    y = np.where(np.arange(N) == 17, 1.0, -1.0)
    upper = np.maximum(10.0 * y, 0.0)
    lower = np.minimum(10.0 * y, 0.0)
    lower[40:80] = 0.0
    given = (y, lower, upper, 0.0, 0.0)
    K = gaussian(X)
    result = solve_in_parts(DenseParts(K), *given, gap_tol=1e-7)
    check(result, K, given, 1e-7)
    assert not result.solution[40:80].any() and result.solution[17] > 0.0


def test_one_class_only_has_nothing_to_do():
    X = samples()
    given = (np.ones(N), np.zeros(N), np.ones(N), 0.0, 0.0)
    kernel = DenseParts(gaussian(X))
    result = solve_in_parts(kernel, *given)
    assert result.converged and not result.solution.any() and result.multiplier == 1.0 and kernel.blocks == []


def test_a_linear_kernel_of_low_rank_and_huge_bounds():
    X = samples(200, columns=3)
    K = X @ X.T
    y = np.where(X @ np.array([1.0, -2.0, 0.5]) > 0.1, 1.0, -1.0)
    for C in (1e-6, 1e4):
        given = (y, np.minimum(C * y, 0.0), np.maximum(C * y, 0.0), 0.0, 0.0)
        result = solve_in_parts(DenseParts(K), *given, gap_tol=1e-5)
        check(result, K, given, 1e-5)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_coefficients_are_those_of_libsvm(C):
    X = samples()
    K, given = gaussian(X), problem("binary", X, C)
    result = solve_in_parts(DenseParts(K), *given, tol=1e-5)
    model = SVC(C=C, kernel="precomputed", tol=1e-5).fit(K, given[0])
    expected = np.zeros(N)
    expected[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(result.solution, expected, atol=2e-3 * C)
    assert result.multiplier == pytest.approx(model.intercept_[0], abs=1e-4)


class TestWarmStarts:
    X = samples()

    @in_every_place
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_solution_needs_no_step(self, kind, place_of):
        K, given = gaussian(self.X), problem(kind, self.X)
        kernel = DenseParts(K, place=place_of())
        first = solve_in_parts(kernel, *given, tol=1e-4)
        kernel.columns.clear()
        again = solve_in_parts(kernel, *given, start=first.solution, image=first.image, tol=1e-3)
        assert again.converged and again.steps == 0 and kernel.columns == []
        np.testing.assert_array_equal(again.solution, first.solution)
        other = solve_in_parts(DenseParts(K), *given, start=first.solution, image=first.image, tol=1e-3)
        assert other.steps == 0 and other.objective == pytest.approx(first.objective)
        check(other, K, given, None)

    @pytest.mark.parametrize("kind", KINDS)
    def test_images_of_each_kernel_serve_other_weights(self, kind):
        matrices = np.stack([gaussian(self.X[:, [k]]) for k in range(3)])
        kernel, given = DenseParts(matrices, [1.0, 1.0, 1.0]), problem(kind, self.X)
        first = solve_in_parts(kernel, *given, gap_tol=1e-5)
        kept = first.image.values.copy()
        other = kernel.with_weights([1.2, 0.7, 1.1])
        second = solve_in_parts(other, *given, start=first.solution, image=first.image, gap_tol=1e-6)
        cold = solve_in_parts(DenseParts(other.whole), *given, gap_tol=1e-6)
        assert second.converged and second.objective == pytest.approx(cold.objective, abs=2e-6 * abs(cold.objective))
        assert second.steps < cold.steps
        np.testing.assert_array_equal(first.image.values, kept)  # a start's image is not changed
        np.testing.assert_allclose(
            second.image.values, np.stack([k @ second.solution for k in matrices], axis=1), atol=1e-9
        )

    def test_an_infeasible_start_is_repaired_with_its_image(self):
        K, given = gaussian(self.X), problem("binary", self.X)
        kernel = DenseParts(K)
        c = solve_in_parts(kernel, *given).solution
        start = 1.05 * c
        image = kernel.zero()
        kernel.add(image, np.arange(N), start)
        kernel.zero = None  # the image is repaired, not computed afresh
        check(solve_in_parts(kernel, *given, start=start, image=image, gap_tol=1e-6), K, given, 1e-6)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_useless_start_is_dropped(self, kind):
        K, given = gaussian(self.X), problem(kind, self.X)
        lower, upper = given[1], given[2]
        start = np.random.default_rng(3).uniform(lower, upper) if given[3] == 0.0 else np.eye(N)[0]
        if kind != "one-class":
            start = (
                np.where(given[0] > 0, lower, upper) if kind == "regression" else np.where(given[0] > 0, upper, lower)
            )
            K = 30.0 * K
        result = solve_in_parts(DenseParts(K), *given, start=start, gap_tol=1e-3)
        cold = solve_in_parts(DenseParts(K), *given, gap_tol=1e-3)
        check(result, K, given, 1e-3)
        if kind != "one-class":
            np.testing.assert_array_equal(result.solution, cold.solution)

    def test_a_start_of_another_length_is_refused(self):
        with pytest.raises(ValueError, match="300 finite coefficients"):
            solve_in_parts(DenseParts(gaussian(self.X)), *problem("binary", self.X), start=np.zeros(3))


def test_working_sets_contain_the_worst_pair_and_keep_half():
    X = samples()
    K, given = gaussian(X), problem("binary", X)
    kernel = DenseParts(K)
    solve_in_parts(kernel, *given, tol=1e-3)
    assert len(kernel.blocks) > 10
    for before, after in zip(kernel.blocks, kernel.blocks[1:], strict=False):
        assert 16 <= len(np.intersect1d(before, after)) < 48 and (np.diff(after) > 0).all()
    state = State(kernel, *given[:3], 0.0)
    state.begin(np.zeros(N))
    slopes = state.slopes()
    y = given[0]
    assert slopes.violation == 2.0
    chosen = state.choose(slopes, 48)
    assert {int(np.argmax(y)), int(np.argmin(y))} <= set(chosen) and 0.3 < np.mean(y[chosen] > 0) < 0.7


@pytest.mark.parametrize("n_kernels", [1, 3])
@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_samples_at_rest_are_not_updated_and_come_back_with_one_update(monkeypatch, kind, n_kernels):
    X = samples()
    matrices = np.stack([gaussian(X, width) / n_kernels for width in (4.0, 2.0, 9.0)[:n_kernels]])
    K, given = matrices.sum(axis=0), problem(kind, X, 3.0)
    woken = []
    wake = State.wake
    monkeypatch.setattr(State, "wake", lambda self: (woken.append([len(t) for t, _ in self.resting]), wake(self)))
    kernel = DenseParts(matrices)
    result = solve_in_parts(kernel, *given, tol=1e-4)
    check(result, K, given, None)
    assert result.converged and woken
    groups = sum(map(len, woken))
    parts = [targets for targets in kernel.targets if targets is not None]
    assert len(parts) > groups > 0 and min(map(len, parts)) < 0.8 * N
    everywhere = sum(targets is None for targets in kernel.targets)
    assert everywhere + len(parts) == len(kernel.columns)
    monkeypatch.setattr(in_parts, "REST_SHARE", 2.0)  # none rests
    plain = DenseParts(matrices)
    same = solve_in_parts(plain, *given, tol=1e-4)
    assert all(targets is None for targets in plain.targets)
    assert same.objective == pytest.approx(result.objective, rel=1e-6)


class TestDrift:
    X = samples()

    def test_a_false_image_is_computed_afresh(self):
        K, given = gaussian(self.X), problem("binary", self.X, 10.0)
        rng = np.random.default_rng(0)
        kernel = DenseParts(K, error=lambda rows: 1e-4 * rng.normal(size=len(rows)))
        original = DenseParts.zero
        zeros = []
        kernel.zero = lambda: (zeros.append(1), original(kernel))[1]
        result = solve_in_parts(kernel, *given, tol=1e-2)
        assert result.converged and len(zeros) >= 2 and kernel.products >= 2
        _, _, _, violation = certify(result.solution, given[0] - K @ result.solution, *given[:3], 0.0)
        assert violation <= 1.2e-2

    def test_a_true_image_is_kept(self):
        K, given = gaussian(self.X), problem("binary", self.X, 10.0)
        kernel = DenseParts(K)
        zeros = []
        kernel.zero = lambda: (zeros.append(1), DenseParts.zero(kernel))[1]
        assert solve_in_parts(kernel, *given, tol=1e-4).converged and len(zeros) == 1 and kernel.products == 1

    @pytest.mark.parametrize("goal", [{"tol": 1e-6}, {"gap_tol": 1e-9}])
    @pytest.mark.parametrize("kind", KINDS)
    def test_noise_above_the_tolerance_ends_the_solve(self, kind, goal):
        K, given = gaussian(self.X), problem(kind, self.X, 10.0)
        rng = np.random.default_rng(0)
        kernel = DenseParts(K, error=lambda rows: 1e-3 * rng.normal(size=len(rows)))
        result = solve_in_parts(kernel, *given, **goal)
        assert not result.converged and len(kernel.blocks) < 3000


def test_rounding_ends_progress():
    X = samples()
    K, given = gaussian(X), problem("binary", X, 10.0)
    result = solve_in_parts(DenseParts(K), *given, tol=1e-30)
    assert not result.converged and result.violation < 1e-9
    result = solve_in_parts(DenseParts(K.astype(np.float32)), *given, gap_tol=1e-30)
    assert not result.converged and result.gap < 1e-9


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_what_all_slopes_share_is_no_rise_of_the_objective(kind):
    """As changes add up to 0 but for rounding, which times a large shared slope hides small true rises."""
    X = samples()
    K, (linear, *given) = gaussian(X), problem(kind, X, 10.0)
    plain, raised = (solve_in_parts(DenseParts(K), linear + b, *given, tol=1e-7) for b in (0.0, 1e6))
    assert plain.converged and raised.converged
    c, e = raised.solution, given[-1]
    objective = linear @ c - e * np.abs(c).sum() - 0.5 * c @ K @ c
    assert abs(objective - plain.objective) <= plain.gap + raised.gap + 1e-9 * np.abs(c).sum()


def test_a_budget_of_steps():
    X = samples()
    K, given = gaussian(X), problem("binary", X)
    for budget in (0, 1, 30, 200):
        result = solve_in_parts(DenseParts(K), *given, tol=1e-6, max_steps=budget)
        assert not result.converged and result.steps <= budget + 48
        check(result, K, given, None)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(bad):
    X = samples()
    given = problem("binary", X)
    K = gaussian(X)
    K[3, 3] = bad
    with pytest.raises(ValueError, match="the diagonal of K contains NaN or infinity"):
        solve_in_parts(DenseParts(K), *given)
    K = gaussian(X)
    K[5:, :5] = bad
    K[:5, 5:] = bad
    with pytest.raises(ValueError, match="K contains NaN or infinity, or overflows"):
        solve_in_parts(DenseParts(K), *given)
    with pytest.raises(ValueError, match="K contains NaN or infinity, or overflows"):
        solve_in_parts(DenseParts(K), *given, start=0.5 * given[2] + 0.5 * given[1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"linear": np.ones(3)}, "K must be square"),
        ({"insensitivity": -1.0}, "insensitivity"),
        ({"total": 1e9}, "no feasible point"),
        ({"lower": np.full(N, 2.0)}, "lower must not exceed upper"),
        ({"upper": np.full(N, np.inf)}, "must be finite"),
    ],
)
def test_problems_are_checked(changes, message):
    X = samples()
    given = dict(zip(("linear", "lower", "upper", "total", "insensitivity"), problem("binary", X), strict=True))
    with pytest.raises(ValueError, match=message):
        solve_in_parts(DenseParts(gaussian(X)), **given | changes)


@pytest.mark.parametrize("goal", [{"tol": 1e-3}, {"gap_tol": 1e-4}])
def test_progress_rises_to_one(goal):
    X = samples()
    kernel, seen = DenseParts(gaussian(X)), []
    kernel.progress = seen.append
    assert solve_in_parts(kernel, *problem("binary", X, 10.0), **goal).converged
    assert len(seen) > 5 and seen == sorted(seen) and seen[0] < 0.3 and seen[-1] == 1.0
    assert 0.1 < np.median(seen) < 0.9


def test_an_interrupt_passes():
    X = samples()
    kernel = DenseParts(gaussian(X))

    def stop(done):
        raise KeyboardInterrupt

    kernel.progress = stop
    with pytest.raises(KeyboardInterrupt):
        solve_in_parts(kernel, *problem("binary", X))


@in_every_place
@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_is_that_of_the_dense_solver(kind, place_of):
    X = samples()
    K, given = gaussian(X), problem(kind, X)
    linear, lower, upper, _, e = given
    rng = np.random.default_rng(2)
    c = np.clip(rng.normal(size=N) * upper.max(), lower, upper)
    c[rng.random(N) < 0.3] = 0.0
    c = np.clip(c, lower, upper)
    kernel = DenseParts(K, place=place_of())
    state = State(kernel, linear, lower, upper, e)
    state.begin(c)
    slopes = state.slopes()
    objective, gap, b = state.certificate(slopes)
    expected = certify(c, linear - K @ c, linear, lower, upper, e)
    np.testing.assert_allclose([objective, gap, b, slopes.violation], expected, rtol=1e-10)
