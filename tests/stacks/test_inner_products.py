"""Inner products of kernels with targets and with each other, of whole matrices and of tiles."""

import numpy as np
import pytest

from kernelweave import stack_views
from kernelweave.kernels import Constant, Gaussian, KernelStack, Linear, Polynomial
from kernelweave.stacks import dense, tiles, training

rng = np.random.default_rng(0)
X = rng.normal(size=(21, 4))
KERNELS = [Linear([0, 1]), Gaussian(), Polynomial([2, 3])]
SIGNS = np.where(X[:, 0] > 0.2, 1.0, -1.0)
STORAGES = pytest.mark.parametrize("storage", ["dense", "lazy"])


def similarities(stack, Z, centered, pairs):
    """Inner products with Z Z'."""
    return training(stack).inner_products(lambda y, weight: Z, mean=False, centered=centered, pairs=pairs)


def brute_force(dense, T, weight, present, centered):
    """Inner products of explicitly centred and weighted n x n matrices."""
    W = np.sqrt(np.outer(weight, weight))
    prepared = []
    for K, here in zip(dense, present.T, strict=True):
        p = weight * here / (weight * here).sum()
        H = np.diag(here * 1.0) - np.outer(here, p)
        prepared.append(W * (H @ K @ H.T if centered else K))
    if centered:
        H = np.eye(len(T)) - np.outer(np.ones(len(T)), weight / weight.sum())
        T = H @ T @ H.T
    prepared = np.array(prepared)
    return (
        np.einsum("mij,ij->m", prepared, W * T),
        np.einsum("mij,hij->mh", prepared, prepared),
        np.linalg.norm(W * T),
    )


@pytest.mark.parametrize("block", [2**17, 40])
@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@STORAGES
def test_inner_products(storage, centered, weighted, block, monkeypatch):
    monkeypatch.setattr(dense, "_BLOCK_VALUES", block)
    monkeypatch.setattr(tiles, "_TILE_VALUES", block)
    monkeypatch.setattr(tiles, "_LEAST_ROWS", 4)
    weight = rng.integers(1, 4, size=21).astype(float) if weighted else np.ones(21)
    stack = KernelStack(KERNELS, normalize=None, storage=storage).fit(X, weight)
    whole = KernelStack(KERNELS, normalize=None).fit(X, weight).matrices()
    Z = rng.normal(size=(21, 2))
    to_target, between, target_norm = brute_force(whole, Z @ Z.T, weight, stack.present, centered)
    for pairs in (True, False):
        found = similarities(stack, Z, centered, pairs)
        np.testing.assert_allclose(found.to_target, to_target, rtol=1e-10)
        np.testing.assert_allclose(found.norms, np.sqrt(np.diag(between)), rtol=1e-10)
        assert found.target_norm == pytest.approx(target_norm)
        np.testing.assert_allclose(found.alignments, to_target / np.sqrt(np.diag(between)) / target_norm, rtol=1e-10)
    np.testing.assert_allclose(similarities(stack, Z, centered, True).between, between, rtol=1e-10)


@pytest.mark.parametrize("centered", [True, False])
def test_a_weight_of_two_is_a_sample_twice(centered):
    weight = np.where(np.arange(21) < 6, 2.0, 1.0)
    again = np.repeat(np.arange(21), weight.astype(int))
    one = similarities(KernelStack(KERNELS).fit(X, weight), SIGNS[:, None], centered, True)
    two = similarities(KernelStack(KERNELS).fit(X[again]), SIGNS[again][:, None], centered, True)
    # the width of the Gaussian kernel is learned from weighted samples, too
    np.testing.assert_allclose(one.between, two.between, rtol=1e-10)
    np.testing.assert_allclose(one.to_target, two.to_target, rtol=1e-10)


@pytest.mark.parametrize("centered", [True, False])
@STORAGES
def test_absent_samples_are_zero_rows(storage, centered):
    frame = stack_views({"a": X[:, :2], "b": X[:, 2:]})
    frame.loc[[1, 4, 5], ["a__0", "a__1"]] = np.nan
    whole, stack = (
        KernelStack([Linear("a"), Gaussian("b")], normalize=None, storage=each).fit(frame)
        for each in ("dense", storage)
    )
    T = np.outer(SIGNS, SIGNS)
    to_target, between, _ = brute_force(whole.matrices(), T, np.ones(21), stack.present, centered)
    for pairs in (True, False):
        found = similarities(stack, SIGNS[:, None], centered, pairs)
        np.testing.assert_allclose(found.to_target, to_target, rtol=1e-10)
        np.testing.assert_allclose(found.norms**2, np.diag(between), rtol=1e-10)
    np.testing.assert_allclose(similarities(stack, SIGNS[:, None], centered, True).between, between, rtol=1e-10)


@STORAGES
def test_a_constant_kernel_is_nothing_once_centred(storage):
    stack = KernelStack([Constant(3.0), Linear()], normalize=None, storage=storage).fit(X)
    for pairs in (True, False):
        found = similarities(stack, SIGNS[:, None], True, pairs)
        assert found.norms[0] == 0 and found.alignments[0] == 0 and found.alignments[1] > 0


@STORAGES
def test_single_precision_is_added_up_in_double(storage):
    wide = KernelStack([Gaussian(scale=30.0)], dtype="float32", storage=storage).fit(X)
    exact = KernelStack([Gaussian(scale=30.0)]).fit(X)
    found = similarities(wide, SIGNS[:, None], True, False)
    np.testing.assert_allclose(found.alignments, similarities(exact, SIGNS[:, None], True, False).alignments, atol=1e-3)
