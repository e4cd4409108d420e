import numpy as np
import pandas as pd
import pytest

from kernelweave.kernels import Gaussian, KernelStack, Linear, MemoryWarning, Polynomial, Precomputed, Repair
from kernelweave.kernels import resources as memory_module
from kernelweave.kernels import stack as stack_module
from kernelweave.views import Views

rng = np.random.default_rng(0)
X = rng.normal(size=(9, 5))
NEW = Views(rng.normal(size=(4, 5)))
KERNELS = [Linear([0, 1]), Gaussian(), Polynomial([2, 3, 4])]
PRESENT = np.ones(4, dtype=bool)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_cross_with_the_training_samples_is_gram(normalize):
    stack = KernelStack(KERNELS, normalize).fit(X)
    for m, K in enumerate(stack.matrices()):
        np.testing.assert_allclose(K, stack.gram(m), atol=1e-12)
        np.testing.assert_allclose(K, stack.cross(m, Views(X), np.ones(9, dtype=bool)), atol=1e-12)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_restricting_keeps_columns(normalize):
    stack = KernelStack(KERNELS, normalize).fit(X)
    stack.matrices()
    rows = np.array([7, 2])
    lean = stack.restrict(rows)
    assert lean.reference.n_samples == (9 if normalize == "center" else 2)
    for m in range(3):
        np.testing.assert_allclose(lean.cross(m, NEW, PRESENT), stack.cross(m, NEW, PRESENT)[:, rows], atol=1e-12)


def test_restricting_drops_what_inactive_kernels_use():
    stack = KernelStack(KERNELS).fit(X)
    stack.matrices()
    lean = stack.restrict(np.array([7, 2, 4]), np.array([True, False, True])).restrict(np.array([1, 0]))
    assert [columns.tolist() for columns, _ in lean.reference.X.blocks] == [[0, 1, 2, 3, 4]]
    lean = stack.restrict(np.array([7, 2, 4]), np.array([True, False, False]))
    assert [columns.tolist() for columns, _ in lean.reference.X.blocks] == [[0, 1]]
    assert len(lean.normalizers[0].factor_) == 3 and not hasattr(lean.normalizers[1], "factor_")
    np.testing.assert_allclose(lean.cross(0, NEW, PRESENT), stack.cross(0, NEW, PRESENT)[:, [7, 2, 4]], atol=1e-12)


def test_matrices_are_computed_once():
    calls = []

    def counted(A, B):
        calls.append(len(A))
        return A @ B.T

    stack = KernelStack([counted, Linear()]).fit(X)
    assert stack.matrices() is stack.matrices()
    assert calls == [9]


def test_float32_on_request():
    stack = KernelStack(KERNELS, dtype="float32").fit(X)
    assert stack.matrices().dtype == np.float32
    np.testing.assert_allclose(stack.matrices(), KernelStack(KERNELS).fit(X).matrices(), rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match='dtype must be "float64" or "float32"'):
        KernelStack(KERNELS, dtype="float16")


def test_memory_is_told_before_it_runs_out(monkeypatch):
    monkeypatch.setattr(stack_module, "SMALL_BYTES", 0)
    monkeypatch.setattr(memory_module, "available_memory", lambda: 9 * 9 * 8 * 4 - 1)
    with pytest.warns(MemoryWarning, match="a stack of 3 kernels needs about .* GiB .4 matrices of 9 x 9 float64"):
        KernelStack(KERNELS).fit(X).matrices()


def test_memory_is_not_mentioned_where_there_is_enough(monkeypatch, recwarn):
    monkeypatch.setattr(stack_module, "SMALL_BYTES", 0)
    monkeypatch.setattr(memory_module, "available_memory", lambda: 9 * 9 * 8 * 4)
    KernelStack(KERNELS).fit(X).matrices()
    assert not recwarn.list


def test_matrices_of_few_samples_are_made_without_a_look(monkeypatch):
    looks = []
    monkeypatch.setattr(memory_module, "available_memory", lambda: looks.append(1) or 10**9)
    KernelStack(KERNELS).fit(X).matrices()
    assert not looks
    monkeypatch.setattr(stack_module, "SMALL_BYTES", 0)
    KernelStack(KERNELS).fit(X).matrices()
    assert looks


def test_nothing_is_repaired_where_kernels_are_positive_semidefinite_by_construction(monkeypatch):
    stack = KernelStack(KERNELS).fit(X)
    expected = stack.matrices()[1], stack.restrict(np.arange(4)).cross(1, NEW, PRESENT)
    for name in ("gram", "cross", "gram_rows", "gram_diagonal", "needs_all_samples"):
        monkeypatch.setattr(Repair, name, property(lambda self: pytest.fail("looked at the repair")))
    again = KernelStack(KERNELS).fit(X)
    np.testing.assert_array_equal(again.gram(1), expected[0])
    np.testing.assert_array_equal(again.restrict(np.arange(4)).cross(1, NEW, PRESENT), expected[1])
    assert all(type(repair) is Repair for repair in again.repairs)  # they are saved


@pytest.mark.parametrize("with_matrices", [True, False])
def test_a_subset_is_a_stack_over_those_samples(with_matrices):
    stack = KernelStack(KERNELS, "center", dtype="float32").fit(X, np.arange(1.0, 10.0))
    if with_matrices:
        stack.matrices()
    rows = np.array([7, 2, 5])
    part = stack.subset(rows)
    assert part.names is stack.names and part.kernels is stack.kernels and part.dtype == np.float32
    np.testing.assert_array_equal(part.weight, stack.weight[rows])
    np.testing.assert_array_equal(part.support.positions, rows)
    if with_matrices:  # with the constants of all samples
        np.testing.assert_array_equal(part.gram(0), stack.gram(0)[np.ix_(rows, rows)])
    else:
        alone = KernelStack(stack.kernels, "center").fit(X[rows], stack.weight[rows])
        np.testing.assert_allclose(part.gram(0), alone.gram(0), atol=1e-6)  # a linear kernel has no other constants


def test_available_memory_is_known_here():
    assert memory_module.available_memory() > 2**20


def test_presence_and_samples_without_any_view():
    A = X.copy()
    A[3, :2] = np.nan
    stack = KernelStack([Linear([0, 1]), Linear([2, 3])]).fit(A)
    np.testing.assert_array_equal(stack.present[:, 0], np.arange(9) != 3)
    assert stack.present[:, 1].all()
    A[3, 2:4] = np.nan
    with pytest.raises(ValueError, match=r"sample 3 has no view at all.*linear, linear-2"):
        KernelStack([Linear([0, 1]), Linear([2, 3])]).fit(A)


def test_views_of_inactive_kernels_are_not_read():
    frame = pd.DataFrame(X, columns=list("abcde"))
    stack = KernelStack([Linear("a"), Linear("b")]).fit(frame)
    broken = Views(frame.assign(b=np.inf))
    np.testing.assert_array_equal(stack.presence(broken, np.array([True, False])), [[True, False]] * 9)
    with pytest.raises(ValueError, match="view 'b' contains infinity"):
        stack.presence(broken)


def test_overflow_names_the_kernel():
    with (
        pytest.raises(ValueError, match="kernel 'polynomial' gives NaN, infinite or overflowing"),
        np.errstate(all="ignore"),
    ):
        KernelStack([Polynomial(degree=9)]).fit(X * 1e60).matrices()


def test_users_kernels_stay_unfitted():
    kernel = Gaussian()
    KernelStack([kernel]).fit(X)
    assert not hasattr(kernel, "scale_")


def test_replace_needs_the_same_training_values():
    K = X @ X.T
    kernel = Precomputed(K)
    stack = KernelStack([kernel, Linear()]).fit(np.arange(9.0)[:, None])
    stack.replace(0, kernel.extend(K[:1], [1.0]))
    assert stack.kernels[0].diagonal([[9]]) == 1.0
    with pytest.raises(ValueError, match="other values among the training samples"):
        stack.replace(0, Precomputed(2 * K))
    with pytest.raises(ValueError, match="only a Precomputed kernel"):
        stack.replace(1, kernel)
