"""Similarities that are not positive semidefinite: found, reported, repaired, also for new samples."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.svm import SVC

from kernelweave import MKLClassifier, stack_views
from kernelweave.combiners import BestSingle
from kernelweave.kernels import (
    Distance,
    Function,
    Gaussian,
    IndefiniteKernelWarning,
    KernelStack,
    Linear,
    Pairwise,
    Precomputed,
    Repair,
)
from kernelweave.kernels.normalization import approximate_smallest
from kernelweave.views import Views

rng = np.random.default_rng(0)
A = rng.normal(size=(30, 6))
SIGNS = np.array([1.0, 1.0, 1.0, 1.0, -0.3, -0.2])
S = A @ np.diag(SIGNS) @ A.T  # four positive and two negative directions
TRAIN, NEW = np.arange(20), np.arange(20, 30)
ALL = np.ones(20, dtype=bool)
K = S[:20, :20]


def ids(index):
    return Views(np.asarray(index, dtype=float)[:, None])


def clipped(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0)) @ vectors.T


class TestDetection:
    @pytest.mark.parametrize("n_samples", [50, 600])
    def test_finds_the_smallest_eigenvalue(self, n_samples):
        P = rng.normal(size=(n_samples, 10))
        K = np.exp(-(np.abs(P[:, None] - P[None]).sum(axis=2) ** 2) / 400)
        exact = np.linalg.eigvalsh(K)[0]
        assert exact < -0.05
        assert approximate_smallest(K) == pytest.approx(exact, rel=0.1)
        assert approximate_smallest(K) == approximate_smallest(K)

    def test_finds_one_small_negative_direction_among_many(self):
        P, u = rng.normal(size=(500, 5)), rng.normal(size=500)
        K = Gaussian(scale=8.0).fit(P).gram(P) - 1e-4 * np.outer(u, u)
        assert approximate_smallest(K) == pytest.approx(np.linalg.eigvalsh(K)[0], rel=0.05)

    @pytest.mark.parametrize("n_samples", [0, 1, 40, 500])
    def test_positive_semidefinite_kernels_pass(self, n_samples, recwarn):
        P = rng.normal(size=(n_samples, 3))
        for kernel in (P @ P.T, np.eye(n_samples), np.zeros((n_samples, n_samples)), (P @ P.T).astype(np.float32)):
            repair = Repair("clip", "k")
            before = kernel.astype(float)
            repaired = repair.gram(before.copy(), np.ones(n_samples, dtype=bool), np.ones(n_samples))
            np.testing.assert_array_equal(repaired, before)
            assert repair.smallest_ is None and not repair.needs_all_samples
        assert not recwarn.list

    def test_warns_once_by_name_with_the_eigenvalue(self):
        stack = KernelStack([("dna", Precomputed(S, [0])), ("line", Linear([1]))], None)
        stack.fit(np.column_stack([TRAIN, A[:20, 0]]))
        lowest = np.linalg.eigvalsh(K)[0]
        with pytest.warns(IndefiniteKernelWarning, match="kernel 'dna' is not positive semidefinite") as record:
            for _ in range(3):
                np.testing.assert_array_equal(stack.gram(0), K)
                stack.gram(1)
        assert len(record) == 1
        assert f"about {lowest:.3g}" in str(record[0].message) and 'repair="clip"' in str(record[0].message)
        assert stack.repairs[0].smallest_ == pytest.approx(lowest)

    def test_one_warning_for_a_model_that_looks_often(self):
        frame = stack_views({"id": TRAIN, "x": A[:20]})
        y = np.tile([0, 1], 10)
        with pytest.warns(IndefiniteKernelWarning) as record:
            MKLClassifier([Precomputed(S, "id"), Linear("x")], BestSingle(cv=2), normalize=None).fit(frame, y)
        assert len(record) == 1

    def test_nobody_looks_at_kernels_that_cannot_be_indefinite(self, monkeypatch):
        monkeypatch.setattr("kernelweave.kernels.normalization.approximate_smallest", lambda K: 1 / 0)
        for kernel in (
            Linear(),
            Linear() + Gaussian(),
            2.0 * Distance(),
            Pairwise(Linear(), first=[0, 1], second=[2, 3]),
        ):
            KernelStack([kernel]).fit(A).gram(0)
        for kernel in (
            Distance("l1"),
            Linear() * Distance("l1"),
            Pairwise(Distance("l1"), first=[0, 1], second=[2, 3]),
        ):
            with pytest.raises(ZeroDivisionError):
                KernelStack([kernel]).fit(A).gram(0)


class TestClip:
    def repaired(self, weight=None):
        repair = Repair("clip", "k")
        return repair, repair.gram(K.copy(), ALL, np.ones(20) if weight is None else weight)

    def test_projects_onto_the_positive_eigenspace(self):
        repair, gram = self.repaired()
        np.testing.assert_allclose(gram, clipped(K), atol=1e-10)
        assert repair.smallest_ == pytest.approx(np.linalg.eigvalsh(K)[0])

    def test_training_samples_that_come_again_are_as_before(self):
        repair, gram = self.repaired()
        again, diagonal = repair.cross(K.copy(), np.diagonal(K), slice(None))
        np.testing.assert_allclose(again, gram, atol=1e-10)
        np.testing.assert_allclose(diagonal, np.diagonal(gram), atol=1e-10)

    def test_new_samples_lie_in_the_same_space(self):
        repair, gram = self.repaired()
        new, diagonal = repair.cross(S[20:, :20].copy(), np.diagonal(S)[20:], slice(None))
        for i in range(10):  # one new sample beside the training samples is still positive semidefinite
            joint = np.block([[gram, new[i][:, None]], [new[i][None], diagonal[i]]])
            assert np.linalg.eigvalsh(joint)[0] > -1e-9 * np.trace(joint)
        values, vectors = np.linalg.eigh(K)
        plus = vectors[:, values > 1e-8]
        np.testing.assert_allclose(new, S[20:, :20] @ plus @ plus.T, atol=1e-10)
        coordinates = S[20:, :20] @ plus
        np.testing.assert_allclose(diagonal, (coordinates**2 / values[values > 1e-8]).sum(axis=1))

    def test_weights_count_as_repetitions(self):
        weight = rng.integers(1, 4, size=20)
        copies = np.repeat(np.arange(20), weight)
        first = np.cumsum(weight) - weight
        whole = Repair("clip", "k")
        gram = whole.gram(K[np.ix_(copies, copies)], np.ones(len(copies), dtype=bool), np.ones(len(copies)))
        repair, weighted = self.repaired(weight.astype(float))
        np.testing.assert_allclose(weighted, gram[np.ix_(first, first)], atol=1e-9)
        new, diagonal = repair.cross(S[20:, :20].copy(), np.diagonal(S)[20:], np.array([3, 7]))
        new_whole, diagonal_whole = whole.cross(S[20:][:, copies], np.diagonal(S)[20:], first[[3, 7]])
        np.testing.assert_allclose(new, new_whole, atol=1e-9)
        np.testing.assert_allclose(diagonal, diagonal_whole, atol=1e-9)

    def test_a_negative_kernel_has_nothing_left(self):
        with pytest.raises(ValueError, match="kernel 'k' has no positive eigenvalue"):
            Repair("clip", "k").gram(-np.eye(3), np.ones(3, dtype=bool), np.ones(3))


def test_shift_raises_the_diagonal_only():
    repair = Repair("shift", "k")
    gram = repair.gram(K.copy(), ALL, np.ones(20))
    lowest = np.linalg.eigvalsh(K)[0]
    np.testing.assert_allclose(gram, K - lowest * np.eye(20))
    assert np.linalg.eigvalsh(gram)[0] == pytest.approx(0.0, abs=1e-10)
    new, diagonal = repair.cross(S[20:, :20].copy(), np.diagonal(S)[20:], slice(None))
    np.testing.assert_array_equal(new, S[20:, :20])
    np.testing.assert_allclose(diagonal, np.diagonal(S)[20:] - lowest)
    assert not repair.needs_all_samples


@pytest.mark.parametrize("method", ["clip", "shift"])
def test_absent_samples_take_no_part(method):
    present = np.arange(20) % 5 != 2
    repair, alone = Repair(method, "k"), Repair(method, "k")
    gram = repair.gram(K.copy(), present, np.ones(20))
    part = alone.gram(K[np.ix_(present, present)], np.ones(16, dtype=bool), np.ones(16))
    np.testing.assert_allclose(gram[np.ix_(present, present)], part, atol=1e-10)
    new, diagonal = repair.cross(S[20:, :20].copy(), np.diagonal(S)[20:], slice(None))
    new_alone, diagonal_alone = alone.cross(S[20:, :20][:, present], np.diagonal(S)[20:], slice(None))
    np.testing.assert_allclose(new[:, present], new_alone, atol=1e-10)
    np.testing.assert_allclose(diagonal, diagonal_alone, atol=1e-10)


@pytest.mark.parametrize("method", ["clip", "shift"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
class TestInTheStack:
    def stack(self, method, normalize):
        X = Views(np.column_stack([TRAIN, A[:20]]))
        return KernelStack([Precomputed(S, [0], repair=method), Linear([1, 2])], normalize).fit(X)

    def test_the_result_is_positive_semidefinite_without_a_warning(self, method, normalize, recwarn):
        gram = self.stack(method, normalize).gram(0)
        assert np.linalg.eigvalsh(gram)[0] > -1e-9 * np.trace(gram)
        assert not recwarn.list

    def test_restricting_keeps_columns(self, method, normalize):
        stack = self.stack(method, normalize)
        stack.matrices()
        rows, present = np.array([7, 2]), np.ones(10, dtype=bool)
        lean = pickle.loads(pickle.dumps(stack.restrict(rows)))
        assert lean.reference.n_samples == (20 if method == "clip" or normalize == "center" else 2)
        new = Views(np.column_stack([NEW, A[20:]]))
        for m in range(2):
            np.testing.assert_allclose(lean.cross(m, new, present), stack.cross(m, new, present)[:, rows], atol=1e-12)

    def test_repair_comes_before_normalisation(self, method, normalize):
        repaired = Repair(method, "k")
        whole = repaired.gram(K.copy(), ALL, np.ones(20))
        rows, diagonal = repaired.cross(S[20:, :20].copy(), np.diagonal(S)[20:], slice(None))
        plain = KernelStack([Precomputed(whole).extend(rows, diagonal)], normalize).fit(ids(TRAIN))
        stack = self.stack(method, normalize)
        np.testing.assert_allclose(stack.gram(0), plain.gram(0), atol=1e-10)
        np.testing.assert_allclose(
            stack.cross(0, Views(np.column_stack([NEW, A[20:]])), np.ones(10, dtype=bool)),
            plain.cross(0, ids(NEW), np.ones(10, dtype=bool)),
            atol=1e-10,
        )


@pytest.mark.parametrize("method", ["clip", "shift"])
def test_a_model_agrees_with_scikit_learn_on_the_repaired_matrix(method):
    y = np.where(A[:, 0] + A[:, 4] > 0, 1, 0)
    model = MKLClassifier([Precomputed(S, repair=method)], normalize=None, C=1.0, tol=1e-6)
    model.fit(TRAIN[:, None], y[:20])
    repair = Repair(method, "k")
    rival = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(repair.gram(K.copy(), ALL, np.ones(20)), y[:20])
    new = repair.cross(S[20:, :20].copy(), np.diagonal(S)[20:], slice(None))[0]
    np.testing.assert_allclose(model.decision_function(NEW[:, None]), rival.decision_function(new), atol=1e-4)


def test_distances_and_functions_are_repaired_too():
    P = rng.normal(size=(40, 10))
    for kernel in (Distance("l1", scale=20.0), Function(lambda A, B: np.tanh(A @ B.T - 1.0))):
        with pytest.warns(IndefiniteKernelWarning):
            KernelStack([kernel], None).fit(P).gram(0)
        for method in ("clip", "shift"):
            kernel.set_params(repair=method)
            gram = KernelStack([kernel], None).fit(P).gram(0)
            assert np.linalg.eigvalsh(gram)[0] > -1e-9 * np.trace(gram)


def test_sums_products_and_pairs_are_repaired_as_a_whole():
    P = rng.normal(size=(40, 10))
    bad = Function(lambda A, B: np.tanh(A @ B.T - 1.0), repair="clip")
    for kernel in (Linear() * bad, bad + 0.1 * Gaussian(), Pairwise(bad, first=slice(0, 5), second=slice(5, 10))):
        assert kernel.repair == "clip" and not kernel.positive_semidefinite
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            stack = KernelStack([kernel], None).fit(P)
            gram = stack.gram(0)
        assert stack.repairs[0].smallest_ < -0.1
        assert np.linalg.eigvalsh(gram)[0] > -1e-9 * np.trace(gram)
    with pytest.raises(ValueError, match=r"parts of the kernel 'lambda\+precomputed' have different repairs"):
        KernelStack([bad + Precomputed(S, [0], repair="shift")]).fit(np.column_stack([TRAIN, A[:20]]))


@pytest.mark.parametrize(
    "kernel", [Precomputed(S, repair="flip"), Distance(repair="flip"), Function(np.dot, repair="flip")]
)
def test_unknown_repair_names_the_kernel(kernel):
    with pytest.raises(ValueError, match="repair of the kernel 'dna' must be .*not 'flip'"):
        KernelStack([("dna", kernel)]).fit(TRAIN[:, None].astype(float))


def test_precomputed_keeps_its_repair():
    kernel = Precomputed(S, repair="clip")
    assert kernel.fit([[0], [1]]).repair == kernel.extend(S[:1], [1.0]).repair == "clip"
    with pytest.raises(AttributeError, match="cannot be changed"):
        kernel.set_params(repair=None)


def test_negative_diagonal_points_to_the_remedy():
    with pytest.raises(ValueError, match='negative diagonal entry.*repair="clip"'), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        KernelStack([Precomputed(S - 4 * np.eye(30))]).fit(TRAIN[:, None]).gram(0)
    gram = KernelStack([Precomputed(S - 4 * np.eye(30), repair="clip")]).fit(TRAIN[:, None]).gram(0)
    np.testing.assert_allclose(np.diagonal(gram), 1.0)


def test_clipping_a_negative_kernel_leaves_nothing():
    A = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="kernel 'x' has no positive eigenvalue"):
        Repair("clip", "x").gram(-(A @ A.T), np.ones(30, dtype=bool), np.ones(30))
