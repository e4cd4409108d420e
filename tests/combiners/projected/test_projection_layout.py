"""The parts of theta, their domains and the numbers of components."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave.combiners.projected import Layout, component_counts
from kernelweave.solvers import Space, Sphere, Stiefel

SHAPES = [(4, 2), (3, 1)]


@pytest.mark.parametrize("gating_shape", [None, (5, 2)])
@pytest.mark.parametrize("n_gating", [0, 6])
@pytest.mark.parametrize("constraint", ["orthonormal", "norm", "penalty"])
def test_parts_come_back(gating_shape, n_gating, constraint):
    layout = Layout(n_gating, gating_shape, SHAPES, constraint)
    size = n_gating + (0 if gating_shape is None else 10) + 11
    theta = np.random.default_rng(0).normal(size=size)
    V, T = layout.gating(theta)
    matrices = layout.projections(theta)
    assert len(V) == n_gating and [W.shape for W in matrices] == SHAPES
    assert_array_equal(layout.join(V, T, matrices), theta)
    matrices[1][:] = 7.0  # a view of theta
    assert (theta[-3:] == 7.0).all()
    blocks = layout.blocks()
    assert sorted(place for part, _ in blocks for place in range(size)[part]) == list(range(size))
    assert [part.start for part, _ in blocks] == sorted((part.start for part, _ in blocks), reverse=True)  # W, T, V
    whole = layout.domain().enter(theta)
    for part, domain in blocks:
        np.testing.assert_allclose(whole[part], domain.enter(theta[part]))


def test_domains():
    theta = np.random.default_rng(0).normal(size=6 + 10 + 11)
    for constraint, kind in (("orthonormal", Stiefel), ("norm", Sphere), ("penalty", Space)):
        layout = Layout(6, (5, 2), SHAPES, constraint)
        entered = layout.domain().enter(theta)
        V, T = layout.gating(entered)
        assert_array_equal(V, theta[:6])
        np.testing.assert_allclose(T.T @ T, np.eye(2), atol=1e-12)
        domain = layout.blocks()[0][1]
        if kind is Space:
            assert isinstance(domain, Space)
            continue
        assert all(isinstance(part, kind) for _, part in domain.parts)
        for W in layout.projections(entered):
            assert np.linalg.norm(W) == pytest.approx(np.sqrt(W.shape[1]))  # the norm of orthonormal columns, too


def test_one_number_is_a_limit():
    assert component_counts(3, ["a", "b"], [5, 2]) == [3, 2]
    assert component_counts(np.array(3), ["a", "b"], [5, 2]) == [3, 2]
    assert component_counts(np.int32(1), ["a"], [5]) == [1]


@pytest.mark.parametrize("value", [[3, 2], (3, 2), np.array([3, 2]), {"b": 2, "a": 3}])
def test_one_number_for_each_kernel(value):
    assert component_counts(value, ["a", "b"], [5, 2]) == [3, 2]
    with pytest.raises(ValueError, match=r"n_components of the kernel 'b' is 2, but it has only 1 feature\(s\)"):
        component_counts(value, ["a", "b"], [5, 1])


@pytest.mark.parametrize("value", [None, 0, 1.0, False, "ab", np.array([1.0, 2.0]), {1, 2}, [1, [2]], {"a": 1}])
def test_bad_numbers_are_named(value):
    with pytest.raises(ValueError, match="n_components"):
        component_counts(value, ["a", "b"], [5, 2])


def test_auto_is_one_fewer_than_there_are_classes_and_at_least_ten():
    counts = [component_counts("auto", ["a", "b"], [99, 3], n_classes) for n_classes in (0, 2, 11, 12, 27)]
    assert counts == [[10, 3], [10, 3], [10, 3], [11, 3], [26, 3]]
