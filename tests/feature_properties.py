"""The properties that explicit features of every kernel have."""

import pickle
import warnings

import numpy as np
from numpy.testing import assert_allclose

from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Constant, IndefiniteKernelWarning, KernelStack
from kernelweave.kernels.normalization import NORMALIZATIONS
from kernelweave.views import as_views


def fitted_stack(kernel, X, normalize, weight=None):
    """A kernel, and one that every sample has, over X."""
    return KernelStack([kernel, Constant(1.0)], normalize).fit(as_views(X), weight)


def features_of(found, stack, views=None):
    """What a map gives for samples of a stack, or for others."""
    views = stack.support if views is None else views
    return found.transform(views, stack.presence(views)[:, 0])


def check_features(kernel, X, tolerance=1e-7):
    """With all samples as landmarks features have the exact values, whatever the normalisation; and they are copied.

    Parameters
    ----------
    kernel : Kernel
        Positive semidefinite, or to be clipped.
    X : array, DataFrame or sparse matrix
        A few dozen samples; some may lack the kernel's view.
    tolerance : float
        Relative to the largest value.
    """
    views = as_views(X)
    n = views.n_samples
    weight = np.linspace(0.5, 2.0, n)
    for normalize in NORMALIZATIONS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            K = fitted_stack(kernel, views, normalize, weight).gram(0)
            stack = fitted_stack(kernel, views, normalize, weight)
            found = NystroemFeatures(n).fit_map(stack, 0, np.random.RandomState(0), dtype=np.dtype("float64"))
        phi = features_of(found, stack)
        close = {"rtol": 0.0, "atol": tolerance * max(1.0, np.abs(K).max())}
        assert phi.shape == (n, found.n_features) and phi.dtype == np.float64
        assert_allclose(phi @ phi.T, K, **close, err_msg=f"{normalize}: features are not those of the kernel")
        assert found.trace_share <= 1.0 and abs(found.trace_share - 1.0) < 1e-6
        assert not phi[~stack.present[:, 0]].any(), "samples without the view have features"
        check_map(found, stack, phi, close)
        check_fewer(stack, weight, np.trace(K))


def check_map(found, stack, phi, close):
    """Features of some samples, in any order, are theirs; a copy has them too; and weights can be folded."""
    order = np.random.RandomState(0).permutation(len(phi))[: len(phi) // 2]
    part = stack.support.rows(order)
    assert_allclose(features_of(found, stack, part), phi[order], **close, err_msg="features of some samples")
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(features_of(again, stack, part), features_of(found, stack, part))
    raw = found.raw(stack.support, stack.present[:, 0])
    assert raw.shape[1] == found.n_raw and not raw[~stack.present[:, 0]].any()
    w = np.random.RandomState(1).normal(size=(found.n_features, 2))
    scores = phi @ w
    loose = {"rtol": 1e-6, "atol": 1e-6 * max(1.0, np.abs(scores).max())}
    assert_allclose(raw @ found.fold(w), scores, **loose, err_msg="folded weights")
    assert_allclose(found.unfold(raw.T @ scores), phi.T @ scores, **loose, err_msg="unfolded sums")


def check_fewer(stack, weight, trace):
    """A few landmarks in float32: features have the trace of the kernel, and no more of the trace than there is."""
    found = NystroemFeatures(4).fit_map(stack, 0, np.random.RandomState(0), dtype=np.dtype("float32"))
    present = stack.present[:, 0]
    phi = features_of(found, stack)
    assert found.n_features <= 4 and 0.0 <= found.trace_share <= 1.0
    is_estimated = stack.normalizers[0].method == "center" or stack.kernels[0].repair is not None
    if trace > 1e-9 and not is_estimated:
        mean, wanted = (weight[present] @ each for each in ((phi[present] ** 2).sum(axis=1), diagonal(stack)))
        assert abs(mean - wanted) <= 1e-6 * wanted, "features do not have the trace of the kernel"


def diagonal(stack):
    """The normalised k(x, x) of the samples that have the view."""
    return np.diagonal(stack.gram(0))[stack.present[:, 0]]
